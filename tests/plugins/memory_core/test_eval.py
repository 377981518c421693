"""`memslot memory eval`: a person's own questions, asked of their own notes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from memslot import Config, PluginContext, Selection
from memslot.config.paths import Places
from memslot_embed_providers.universal.provider import UniversalProvider
from memslot_memory_core.backend import backend_of
from memslot_memory_core.commands import add_commands

NOTES = {
    "MEMORY.md": "- The gate code is 4411\n- We release on Fridays\n",
    "memory/people.md": "Jana drinks green tea without sugar.\n",
    "memory/house.md": "The boiler is serviced every autumn by Mr. Lindner.\n",
}
UNIVERSAL = Selection(UniversalProvider(), "universal", "in this test")


def run(
    home: Path, *arguments: str, stdin: str | None = None, embedder: Selection = UNIVERSAL, **settings: Any
) -> Result:
    ctx = PluginContext(
        "memory-core",
        config={},
        agent_id="main",
        places=Places(home, home / "memslot.json5"),
        host_config=Config.from_tree({"agents": {"defaults": {"memorySearch": settings}}}),
        select_embedder=lambda _: embedder,
    )
    for path, text in NOTES.items():
        note = ctx.workspace / path
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(text)
    cli = click.Group()
    add_commands(cli, ctx)
    done = CliRunner().invoke(cli, ["memory", "eval", *arguments], input=stdin)
    backend_of(ctx).close()
    return done


@pytest.fixture
def write_questions(tmp_path: Path) -> Any:
    def write(*rows: dict[str, Any] | str) -> str:
        file = tmp_path / "questions.jsonl"
        file.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
        return str(file)

    return write


def test_hits_are_counted_and_the_missed_are_named_with_what_came_first(tmp_path: Path, write_questions: Any) -> None:
    file = write_questions(
        {"question": "gate code", "path": "MEMORY.md", "line": 1},
        {"question": "which hot beverage does she like?", "path": "./memory/people.md"},
        {"question": "what does Jana drink?", "path": "memory/house.md"},
    )

    done = run(tmp_path, file, "-k", "1")

    assert done.exit_code == 0, done.output
    missed, summary = done.stdout.splitlines()[1:]
    assert missed.split("  ")[0] == "what does Jana drink?"
    assert "memory/house.md (result " in missed
    assert missed.endswith("memory/people.md#L1-L1")
    assert "hit@1 0.67, hit@3 1.00, hit@6 1.00; 3 questions, 1 missed" in summary
    assert "hybrid, universal" in summary


def test_a_line_must_be_in_the_passage_that_was_found(tmp_path: Path, write_questions: Any) -> None:
    there, beyond = ({"question": "gate code", "path": "MEMORY.md", "line": line} for line in (2, 99))

    result = json.loads(run(tmp_path, write_questions(there, beyond), "--json").stdout)

    assert result["hit@6"] == 0.5
    (missed,) = result["missed"]
    assert (missed["line"], missed["rank"], missed["indexed"]) == (99, None, False)
    assert missed["first"]["path"] == "MEMORY.md"


def test_a_path_that_is_not_in_the_memory_is_told(tmp_path: Path, write_questions: Any) -> None:
    outside = {"question": "gate code", "path": "../secret.md"}

    done = run(tmp_path, write_questions({"question": "gate code", "path": "MEMROY.md"}, outside))

    assert done.exit_code == 0, done.output
    assert "MEMROY.md (not in the memory)" in done.stdout
    assert "../secret.md (not in the memory)" in done.stdout


def test_bad_lines_are_told_with_their_number_and_the_others_asked(tmp_path: Path, write_questions: Any) -> None:
    good = {"question": "gate code", "path": "MEMORY.md"}
    no_path, zero, no_number = {**good, "path": " "}, {**good, "line": 0}, {**good, "line": True}
    file = write_questions(good, "", "not JSON", "[1]", {"path": "a"}, no_path, zero, no_number, good)

    done = run(tmp_path, file)

    assert done.exit_code == 1
    assert "2 questions, 0 missed" in done.stdout
    told = done.stderr.splitlines()
    for number, reason in (
        (3, "is not JSON"),
        (4, "is not a JSON object"),
        (5, 'has no "question"'),
        (6, 'no "path"'),
        (7, "positive integer"),
    ):
        assert sum(f"line {number} of" in line and reason in line for line in told) == 1, (number, told)
    assert "1 more lines are invalid" in done.stderr


def test_questions_come_from_stdin_and_a_file_without_any_is_an_error(tmp_path: Path) -> None:
    asked = run(tmp_path, "-", "--json", stdin='{"question": "gate code", "path": "MEMORY.md"}')
    assert json.loads(asked.stdout)["hit@1"] == 1.0

    empty = run(tmp_path, "-", stdin="\n")
    assert (empty.exit_code, "- contains no questions" in empty.stderr) == (1, True)
    assert run(tmp_path, str(tmp_path / "none.jsonl")).exit_code == 2


def test_a_search_without_meaning_says_so(tmp_path: Path, write_questions: Any) -> None:
    file = write_questions({"question": "gate code", "path": "MEMORY.md"})

    off = run(tmp_path, file, enabled=False)
    assert (off.exit_code, "disabled" in str(off.exception)) == (1, True)

    words = run(tmp_path, file, embedder=Selection(None, "openai", "there is no key"))
    assert words.exit_code == 0
    assert "mode keywords" in words.stdout
    assert "searched by keywords only: there is no key" in words.stderr
