"""`memslot ltm …` as a person types it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from memslot import EmbeddingProviderSpec, Host, hookimpl
from memslot.testing import HashingProvider, InlinePlugin

Ltm = Callable[..., Result]
TEA = "I prefer tea over coffee in the morning."
DENTIST = "My dentist is called Dr. Novak."


@pytest.fixture
def host(memslot_host: Any) -> Host:
    opened: Host = memslot_host("memory-lancedb", "embed-universal")
    return opened


@pytest.fixture
def ltm(host: Host) -> Ltm:
    """Run a command; an error that memslot would print on stderr comes out as it would."""

    def run(*arguments: str, answer: str | None = None) -> Result:
        command: click.Command = host.plugin_commands("memory-lancedb")["ltm"]
        return CliRunner().invoke(command, list(arguments), input=answer)

    return run


@pytest.fixture
def ids(ltm: Ltm) -> dict[str, str]:
    return {text: json.loads(ltm("add", text, "--json").output)["memory"]["id"] for text in (TEA, DENTIST)}


def shown(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_every_command_has_help_and_the_reading_ones_json(host: Host) -> None:
    group = host.plugin_commands("memory-lancedb")["ltm"]
    assert isinstance(group, click.Group)
    wanted = {"list", "search", "stats", "explain", "forget", "export", "import", "history", "restore", "optimize"}
    assert wanted | {"doctor", "add"} == set(group.commands)
    for name, command in group.commands.items():
        assert command.help, name
        options = {option for parameter in command.params for option in parameter.opts}
        assert "--json" in options or name in ("export", "restore"), name


def test_an_empty_store_is_said_to_be_empty(ltm: Ltm) -> None:
    for command in (["list"], ["search", "tea"]):
        done = ltm(*command)
        assert (done.exit_code, done.stdout) == (0, "")
        assert "No memories found." in done.stderr


def test_every_command_has_an_example(host: Host) -> None:
    group = host.plugin_commands("memory-lancedb")["ltm"]
    assert isinstance(group, click.Group)
    assert [name for name, command in group.commands.items() if f"memslot ltm {name}" not in (command.help or "")] == []


def test_list(ltm: Ltm, ids: dict[str, str]) -> None:
    plain = ltm("list").output
    assert plain.index(DENTIST) < plain.index(TEA), "newest first"
    told = shown(ltm("list", "--json", "-n", "1"))
    assert (told["total"], told["memories"][0]["id"]) == (2, ids[DENTIST])
    assert shown(ltm("list", "--json", "--offset", "1"))["memories"][0]["id"] == ids[TEA]
    assert shown(ltm("list", "--json", "--category", "preference"))["total"] == 1
    assert "--offset 1" in ltm("list", "-n", "1").stderr


def test_search(ltm: Ltm, ids: dict[str, str]) -> None:
    told = shown(ltm("search", "who is my dentist?", "--json"))
    assert told["results"][0]["id"] == ids[DENTIST]
    assert told["mode"] == "hybrid"
    assert told["results"][0]["relevance"] > told["floor"] > told["results"][1]["relevance"]
    assert DENTIST in ltm("search", "dentist", "-n", "1").stdout


def test_stats(ltm: Ltm, ids: dict[str, str]) -> None:
    told = shown(ltm("stats", "--json"))
    assert (told["memories"], told["indexed"], told["problems"]) == (2, False, [])
    assert told["categories"] == {"preference": 1, "entity": 1}
    assert "memories" in ltm("stats").output


def test_explain(ltm: Ltm) -> None:
    told = shown(ltm("explain", "I prefer dark mode in every editor.", "--json"))
    assert (told["kept"], told["category"], told["autoCapture"]) == (True, "preference", False)
    assert told["reason"]
    refused = shown(ltm("explain", "What is the weather today?", "--json"))
    assert not refused["kept"]
    assert refused["reason"]
    assert "not captured" in ltm("explain", "ok").output
    assert "autoCapture is off" in ltm("explain", "I prefer dark mode.").stderr


def test_explain_without_a_text_shows_the_log(memslot_host: Any) -> None:
    settings = {"plugins": {"entries": {"memory-lancedb": {"config": {"autoCapture": True}}}}}
    host = memslot_host("memory-lancedb", "embed-universal", config=settings)
    with host.run("hello there") as run:
        run.finish([{"role": "user", "content": TEA}])
    result = CliRunner().invoke(host.plugin_commands("memory-lancedb")["ltm"], ["explain", "--json"])
    (decision,) = json.loads(result.stdout)["decisions"]
    assert (decision["kept"], decision["text"]) == (True, TEA)


class TestForget:
    def test_it_asks_first(self, ltm: Ltm, ids: dict[str, str]) -> None:
        assert ltm("forget", ids[TEA], answer="n\n").exit_code == 1
        assert shown(ltm("list", "--json"))["total"] == 2
        assert ltm("forget", ids[TEA], answer="y\n").exit_code == 0
        assert shown(ltm("list", "--json"))["total"] == 1

    def test_without_asking(self, ltm: Ltm, ids: dict[str, str]) -> None:
        assert shown(ltm("forget", ids[TEA], ids[DENTIST], "--yes", "--json"))["forgotten"] == 2

    def test_by_query_one_is_chosen(self, ltm: Ltm, ids: dict[str, str]) -> None:
        assert ltm("forget", "--query", "dentist", answer="1\ny\n").exit_code == 0
        assert [each["id"] for each in shown(ltm("list", "--json"))["memories"]] == [ids[TEA]]
        assert "Nothing was forgotten" in ltm("forget", "--query", "tea", answer="0\n").output

    @pytest.mark.parametrize(
        "arguments", [[], ["x", "--query", "y"], ["--query", "y", "--yes"], ["x", "--json"]], ids=" ".join
    )
    def test_wrong_usage(self, ltm: Ltm, arguments: list[str]) -> None:
        assert ltm("forget", *arguments).exit_code == 2

    def test_an_absent_id_forgets_nothing(self, ltm: Ltm, ids: dict[str, str]) -> None:
        result = ltm("forget", ids[TEA], "nobody", "--yes")
        assert result.exit_code == 1
        assert "there is no memory 'nobody'" in str(result.exception)
        assert shown(ltm("list", "--json"))["total"] == 2


@pytest.mark.parametrize("name", ["out.jsonl", "out.md"])
def test_export_and_import(ltm: Ltm, ids: dict[str, str], tmp_path: Path, name: str) -> None:
    before = shown(ltm("list", "--json"))
    file = tmp_path / name
    assert ltm("export", str(file)).exit_code == 0
    assert "--force" in ltm("export", str(file)).output, "an existing file is not overwritten"
    ltm("forget", *ids.values(), "--yes")
    assert shown(ltm("import", str(file), "--dry-run", "--json"))["dryRun"]
    assert shown(ltm("list", "--json"))["total"] == 0
    assert "2 memories added" in ltm("import", str(file)).output
    assert shown(ltm("list", "--json")) == before
    assert sorted(shown(ltm("import", str(file), "--json"))["unchanged"]) == sorted(ids.values())


def test_export_to_stdout_is_one_json_object_a_line(ltm: Ltm, ids: dict[str, str]) -> None:
    lines = ltm("export").stdout.splitlines()
    assert {json.loads(line)["text"] for line in lines} == {TEA, DENTIST}


def test_history_and_restore(ltm: Ltm, ids: dict[str, str]) -> None:
    versions = shown(ltm("history", "--json"))["versions"]
    assert [each["memories"] for each in versions] == [2, 1, 0]
    assert "+1" in ltm("history").output
    assert ltm("restore", str(versions[1]["version"]), answer="n\n").exit_code == 1
    assert shown(ltm("list", "--json"))["total"] == 2
    assert ltm("restore", str(versions[1]["version"]), "--yes").exit_code == 0
    assert [each["text"] for each in shown(ltm("list", "--json"))["memories"]] == [TEA]
    assert "no version 999" in str(ltm("restore", "999", "--yes").exception)


def test_optimize(ltm: Ltm, ids: dict[str, str], memslot_home: Path) -> None:
    ltm("forget", ids[DENTIST], "--yes")
    told = shown(ltm("optimize", "--json"))
    assert told["purged"]
    files = [each for each in memslot_home.rglob("*") if each.is_file()]
    assert not [each for each in files if b"Novak" in each.read_bytes()]
    assert ltm("optimize", "--purge", "--keep-history").exit_code == 2


class Other:
    """Brings another embedder."""

    @hookimpl
    def register_embedding_providers(self, ctx: Any) -> list[EmbeddingProviderSpec]:
        return [EmbeddingProviderSpec(HashingProvider.id, lambda options: HashingProvider(64), auto_order=1)]


def test_optimize_embeds_anew(ltm: Ltm, ids: dict[str, str], memslot_host: Any) -> None:
    provides = {"provides": {"providers": [HashingProvider.id]}}
    other = memslot_host("memory-lancedb", InlinePlugin(Other(), kind="embedder", manifest=provides))
    command = other.plugin_commands("memory-lancedb")["ltm"]
    assert json.loads(CliRunner().invoke(command, ["optimize", "--json"]).stdout)["embedded"] == 2
    assert "64 dimensions" in CliRunner().invoke(command, ["stats"]).output


def test_an_empty_store_is_no_error(ltm: Ltm) -> None:
    for arguments in (["list"], ["search", "x"], ["stats"], ["history"], ["optimize"], ["doctor"], ["export"]):
        assert ltm(*arguments).exit_code == 0, arguments


def test_a_memory_cannot_colour_the_screen(ltm: Ltm) -> None:
    ltm("add", "I prefer \x1b[31mred\x1b[0m\x07 and\nnew lines")
    for arguments in (["list"], ["search", "red"]):
        plain = ltm(*arguments).stdout
        assert "\x1b" not in plain
        assert "\x07" not in plain


def test_the_command_line_says_what_is_wrong_in_one_sentence(memslot_home: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "a file"
    blocked.write_text("in the way", encoding="utf-8")
    config = {"plugins": {"slots": {"memory": "memory-lancedb"}}}
    config["plugins"]["entries"] = {"memory-lancedb": {"config": {"dbPath": str(blocked)}}}  # type: ignore[assignment]
    (memslot_home / "memslot.json5").write_text(json.dumps(config), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "memslot", "ltm", "add", "I prefer tea."], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ")
    assert "must be a folder" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_help_imports_no_engine(memslot_home: Path) -> None:
    (memslot_home / "memslot.json5").write_text('{plugins: {slots: {memory: "memory-lancedb"}}}', encoding="utf-8")
    for arguments in (["--help"], ["ltm", "--help"], ["ltm", "explain", "I prefer tea."]):
        code = (
            "import atexit, sys\n"
            "heavy = {'lancedb', 'pyarrow', 'numpy'}\n"
            "atexit.register(lambda: print('loaded:', sorted(heavy & set(sys.modules)), file=sys.stderr))\n"
            f"sys.argv = ['memslot', *{arguments!r}]\n"
            "from memslot.cli import main\n"
            "main()\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert "loaded: []" in done.stderr, arguments
        assert "ltm" in done.stdout or "captured" in done.stdout
