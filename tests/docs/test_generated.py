"""The documentation says what the code does: nothing is stale, nothing is missing, and no link leads nowhere."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import jsonschema_rs
import memslot
import pyjson5
import pytest
from memslot import hookspecs
from memslot.diagnostics import Diagnostics
from memslot.events import Session
from memslot.plugins.config_loader import parse_config
from memslot.plugins.context import PluginContext
from memslot.plugins.hooks import HookRunner
from memslot.testing import HostOpener, InlinePlugin

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted(DOCS.glob("*.md")),
    ROOT / "benchmarks" / "README.md",
    ROOT / "core" / "README.md",
    *sorted(ROOT.glob("plugins/*/README.md")),
    *sorted(ROOT.glob("examples/*/README.md")),
]
HOOKS = [name for name, value in vars(hookspecs).items() if hasattr(value, "memslot_budget")]


def _page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


# Drift


def _generate(*arguments: str, docs: Path = DOCS) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(docs / "generate.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_nothing_that_is_generated_is_stale() -> None:
    done = _generate("--check")

    assert done.returncode == 0, done.stderr


def test_stale_files_are_named_and_written_again(tmp_path: Path) -> None:
    copy = tmp_path / "checkout"
    for path in [*DOCS.rglob("*"), *(ROOT / "plugin-schema").glob("*"), *ROOT.glob("plugins/*/*/memslot.plugin.json")]:
        if path.is_file() and "__pycache__" not in path.parts:
            target = copy / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    page, schema = copy / "docs" / "hooks.md", copy / "plugin-schema" / "config.schema.json"
    original = page.read_text(encoding="utf-8")
    page.write_text("By hand.\n\n" + original.replace("### agent_end\n", "### agent_ends\n"), encoding="utf-8")
    schema.unlink()

    checked = _generate("--check", docs=copy / "docs")
    assert checked.returncode == 1
    assert "docs/hooks.md is stale; run: make docs" in checked.stderr
    assert "plugin-schema/config.schema.json is stale" in checked.stderr
    assert "configuration.md" not in checked.stderr

    assert _generate(docs=copy / "docs").returncode == 0
    assert page.read_text(encoding="utf-8") == "By hand.\n\n" + original
    assert schema.read_bytes() == (ROOT / "plugin-schema" / "config.schema.json").read_bytes()


def test_every_package_has_the_version_of_the_core() -> None:
    files = [ROOT / "pyproject.toml", *ROOT.glob("plugins/*/pyproject.toml")]
    projects = [tomllib.loads(file.read_text(encoding="utf-8"))["project"] for file in files]
    needs = [need for project in projects for need in _needs(project) if need.startswith("memslot-")]

    assert {project["version"] for project in projects} == {memslot.__version__}
    assert {need.partition("==")[2] for need in needs} == {memslot.__version__}


def _needs(project: Mapping[str, Any]) -> list[str]:
    extras = project.get("optional-dependencies", {}).values()
    return [*project["dependencies"], *(need for extra in extras for need in extra)]


# Schemas


SCHEMAS = ["plugin.schema.json", "config.schema.json"]


@pytest.mark.parametrize("name", SCHEMAS)
def test_schema_is_valid_2020_12(name: str) -> None:
    schema = json.loads((ROOT / "plugin-schema" / name).read_text(encoding="utf-8"))

    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema_rs.meta.validate(schema)
    jsonschema_rs.Draft202012Validator(schema)


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_property_of_a_schema_has_a_description(name: str) -> None:
    schema = json.loads((ROOT / "plugin-schema" / name).read_text(encoding="utf-8"))

    bare = [path for path, sub in _properties(schema) if not str(sub.get("description", "")).strip()]

    assert bare == []


def _properties(node: Any, path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    if isinstance(node, dict):
        for name, sub in node.items():
            if name == "properties":
                yield from ((f"{path}.{key}", value) for key, value in sub.items())
            yield from _properties(sub, f"{path}.{name}")
    elif isinstance(node, list):
        for item in node:
            yield from _properties(item, path)


@pytest.mark.parametrize("file", sorted(ROOT.glob("plugins/*/*/**/memslot.plugin.json")), ids=lambda f: f.parent.name)
def test_shipped_manifest_fits_the_published_schema(file: Path) -> None:
    schema = json.loads((ROOT / "plugin-schema" / "plugin.schema.json").read_text(encoding="utf-8"))

    jsonschema_rs.Draft202012Validator(schema).validate(json.loads(file.read_text(encoding="utf-8")))


# Settings and environment variables


def _keys(schema: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for name, sub in schema.get("properties", {}).items():
        key = prefix + name
        yield key
        inside = {key: sub, f"{key}[]": sub.get("items"), f"{key}.<id>": sub.get("additionalProperties")}
        for owner, inner in inside.items():
            yield from _keys(inner, f"{owner}.") if isinstance(inner, dict) else ()


def test_every_setting_is_documented() -> None:
    listed = set(re.findall(r"^\| `([^`]+)` \|", _page("configuration.md"), re.MULTILINE))
    # A key that only holds other keys is there if they are; repeated search settings are one row.
    repeated = tuple(key.removesuffix("*") for key in listed if key.endswith(".*"))

    keys = set(_keys(parse_config({}).schema))
    missing = [
        key
        for key in keys
        if key not in listed
        and not key.startswith(repeated)
        and not any(other.startswith((f"{key}.", f"{key}[")) for other in listed)
    ]

    assert len(keys) > 100
    assert missing == []


def test_every_documented_setting_exists() -> None:
    keys = set(_keys(parse_config({}).schema))
    rows = re.findall(r"^\| `([^`]+)` \| .+ \| .+ \| .+ \|$", _page("configuration.md"), re.MULTILINE)

    assert [key for key in rows if key.removesuffix(".*") not in keys] == []


def test_every_environment_variable_is_documented_and_used() -> None:
    # The variable with an underscore before it belongs to click's shell completion.
    pattern = re.compile(r"(?<![A-Z_])MEMSLOT_[A-Z_]+")
    used = {
        name
        for folder in ("core/memslot", "plugins")
        for file in (ROOT / folder).rglob("*.py")
        for name in pattern.findall(file.read_text(encoding="utf-8"))
    }
    documented = set(re.findall(r"^\| `(MEMSLOT_[A-Z_]+)` \|", _page("configuration.md"), re.MULTILINE))

    assert used
    assert documented == used


# Hooks


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_is_documented(hook: str) -> None:
    page = _page("hooks.md")

    assert f"\n### {hook}\n" in page
    assert f"(#{hook})" in page


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_has_a_test_of_its_own(hook: str) -> None:
    named = re.compile(rf"^\s*(?:async )?def test_\w*hook_{hook}(?![a-z])", re.MULTILINE)

    assert any(named.search(file.read_text(encoding="utf-8")) for file in (ROOT / "tests").rglob("test_*.py"))


def _example(hook: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"example_{hook}", DOCS / "hook_examples" / f"{hook}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("hook", HOOKS)
def test_example_of_a_hook_fits_the_contract(hook: str) -> None:
    context: Any = PluginContext.__new__(PluginContext)
    context.plugin_id = "example"

    assert HookRunner(Diagnostics(), {}).add(_example(hook), context) == [hook]


def test_every_hook_example_belongs_to_a_hook() -> None:
    assert {file.stem for file in (DOCS / "hook_examples").glob("*.py")} == set(HOOKS)


def test_example_tool_call_verdicts_are_what_the_text_says() -> None:
    module = _example("before_tool_call")
    run = type("Run", (), {"session": Session("main", chat_type="group")})

    assert module.before_tool_call(None, run, "memory_get", {}).block
    assert module.before_tool_call(None, run, "memory_search", {"maxResults": 9}).args == {"maxResults": 3}
    assert module.before_tool_call(None, run, "other", {}) is None


# Commands


def _commands() -> list[tuple[str, click.Command, str]]:
    sys.path.insert(0, str(DOCS))
    try:
        parts = importlib.import_module("parts.commands")
    finally:
        sys.path.remove(str(DOCS))
    return [(shown.name, shown.command, shown.help) for shown in parts.list_commands()]


COMMANDS = _commands()


def test_every_command_is_documented_and_explains_itself() -> None:
    for name, command, text in COMMANDS:
        assert re.search(rf"^###+ {name}$", _page("cli.md"), re.MULTILINE), name
        assert (command.help or "").strip(), name
        takes_arguments = any(isinstance(parameter, click.Argument) for parameter in command.params)
        assert "Examples:" in text or not takes_arguments, name


def test_every_command_is_in_its_group_s_list() -> None:
    """Groups list commands without importing them, from lines kept beside their names."""
    for name, _, text in COMMANDS:
        parent = next((text for other, _, text in COMMANDS if other == name.rpartition(" ")[0]), None)
        assert parent is None or re.search(rf"^  {name.rpartition(' ')[2]} +\S", parent, re.MULTILINE), name
        assert all(len(line) <= 100 for line in text.splitlines()), name


# Links and examples in pages


def _without_code(text: str) -> str:
    return re.sub(r"```.*?```", "", text, flags=re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_lead_somewhere(page: Path) -> None:
    text = _without_code(page.read_text(encoding="utf-8"))
    links = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'(?:src|href|srcset)="([^"]+)"', text)

    broken = [link for link in links if not re.match(r"[a-z]+:", link) and not _leads_somewhere(page, link)]

    assert broken == []


def _leads_somewhere(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.exists() or not target.is_relative_to(ROOT):
        return False
    return not anchor or anchor in _anchors(target)


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", _without_code(page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_every_page_is_in_the_table_of_contents(page: Path) -> None:
    assert page.name == "index.md" or f"]({page.name})" in _page("index.md")


class _AnyVariable(dict[str, str]):
    """An environment in which every variable is set."""

    def get(self, key: str, default: Any = None) -> Any:
        return "value"


def _examples(language: str) -> list[tuple[str, str]]:
    pattern = re.compile(rf"^```{language}\n(.*?)^```", re.DOTALL | re.MULTILINE)
    return [
        (f"{page.parent.name}/{page.name}-{number}", text)
        for page in PAGES
        if page.exists()
        for number, text in enumerate(pattern.findall(page.read_text(encoding="utf-8")), start=1)
    ]


JSON5, TOML = _examples("json5"), _examples("toml")


def test_there_are_config_examples() -> None:
    assert len(JSON5) >= 5
    assert TOML


@pytest.mark.parametrize("text", [text for _, text in JSON5], ids=[name for name, _ in JSON5])
def test_json5_example_is_a_valid_config(text: str) -> None:
    loaded = parse_config(pyjson5.decode(text), env=_AnyVariable())

    assert loaded.entry_problems == {}


@pytest.mark.parametrize("text", [text for _, text in TOML], ids=[name for name, _ in TOML])
def test_toml_example_is_a_valid_config(text: str) -> None:
    tree = tomllib.loads(text)
    if "project" not in tree and "build-system" not in tree:  # a page may also show a pyproject.toml
        assert parse_config(tree, env=_AnyVariable()).entry_problems == {}


def test_json5_and_toml_twins_in_the_configuration_page_say_the_same() -> None:
    twins = dict([*JSON5, *((f"toml-{name}", text) for name, text in TOML)])

    assert pyjson5.decode(twins["docs/configuration.md-1"]) == tomllib.loads(twins["toml-docs/configuration.md-1"])


# Public names


def test_every_public_name_is_documented() -> None:
    page = _page("api.md")

    assert [name for name in memslot.__all__ if f"\n### {name}\n" not in page] == []


def _entry(name: str) -> str:
    return _page("api.md").split(f"\n### {name}\n", 1)[1].split("\n### ", 1)[0]


def test_every_public_attribute_of_a_host_and_its_context_is_documented(tmp_path: Path) -> None:
    """Looked up on living objects; the page is made from the source text."""
    contexts: list[PluginContext] = []

    class Hooks:
        @hookspecs.hookimpl
        def session_start(self, ctx: PluginContext) -> None:
            contexts.append(ctx)

    with HostOpener(tmp_path) as opener:
        host = opener(InlinePlugin(Hooks()))
        with host.run("hello") as run:
            living = {"Host": host, "AgentRun": run, "PluginContext": contexts[0], "Session": run.session}
            for name, value in living.items():
                own = {key for key in [*vars(value), *vars(type(value))] if not key.startswith("_")}
                entry = _entry(name)
                assert [
                    key for key in sorted(own) if not re.search(rf"^(- `|    )(await |Host\.)?{key}\b", entry, re.M)
                ] == []


def test_signatures_in_the_api_have_types_and_defaults() -> None:
    host = _entry("Host")
    assert "`config: Config`" in host
    assert 'run(prompt: str, *, session: str | Session | None = None, chat_type: ChatType = "direct"' in host
    assert "- `is_private: bool`" in _entry("Session")
    assert "max_result_chars: int = 50000" in _entry("Tool")
    assert "headers: Mapping[str, str] = {}" in _entry("ProviderOptions")


@pytest.mark.parametrize("hook", HOOKS)
def test_signature_in_the_page_is_the_real_one(hook: str) -> None:
    """The page is made from the source text; this compares it with the function Python sees."""
    entry = _page("hooks.md").split(f"\n### {hook}\n", 1)[1].split("```python no-run\n", 1)[1].split("\n```", 1)[0]
    shown = ast.parse(f"{entry}: ...").body[0]
    assert isinstance(shown, ast.FunctionDef)

    assert [each.arg for each in shown.args.args] == list(inspect.signature(getattr(hookspecs, hook)).parameters)
