"""The contract of a tool, as tests: called as a model would call it, through a real host."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memslot.config.schema import schema_validator
from memslot.hookspecs import hookimpl
from memslot.host import Host
from memslot.testing.hosts import HostOpener, InlinePlugin
from memslot.testing.samples import LONE_SURROGATE, SCRIPTS
from memslot.testing.threads import THREADS, all_at_once
from memslot.tools import Tool, ToolResult

_UNKNOWN = "no_such_argument"
_WRONG: tuple[Any, ...] = ({"wrong": ["type"]}, [["wrong", "type"]], 0.5, "wrong type", True)
_SMALL = 120


@dataclasses.dataclass(frozen=True)
class _Answer:
    """What a call gave, and the exception that the host had to catch for it, if there was one."""

    result: ToolResult
    crash: str | None = None


def _with_text(good: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The text in place of every text among good arguments."""
    return {name: text for name, value in good.items() if isinstance(value, str)}


class ToolContract:
    """Subclass it, override `make_tool` and `good_arguments`, and pytest checks the rest."""

    def make_tool(self) -> Tool:
        """The tool, with whatever it needs behind it."""
        raise NotImplementedError(f"{type(self).__name__} must override make_tool")

    def good_arguments(self) -> Mapping[str, Any]:
        """Arguments that work, as a model would send them; name as many of the tool's parameters as you can."""
        raise NotImplementedError(f"{type(self).__name__} must override good_arguments")

    @pytest.fixture(autouse=True)
    def _open_hosts(self, tmp_path: Path) -> Iterator[None]:
        with HostOpener(tmp_path / "memslot-home") as self._opener:
            yield

    # What it says of itself

    def test_its_schema_is_valid(self) -> None:
        tool = self.make_tool()
        assert isinstance(tool, Tool), f"make_tool gave a {type(tool).__name__}"
        tool.check_schema()

    def test_it_can_be_exported_to_every_api(self) -> None:
        tool = self.make_tool()
        for shape in (tool.to_openai(), tool.to_anthropic(), tool.to_mcp()):
            assert tool.name in json.dumps(shape, allow_nan=False)

    def test_it_cannot_be_harmless_and_destructive(self) -> None:
        tool = self.make_tool()
        assert not (tool.read_only and tool.destructive), "read_only and destructive cannot both be true"

    # Good calls

    def test_good_arguments_work(self) -> None:
        self._check_good(self._call(self.make_tool(), dict(self.good_arguments())).result)

    def test_good_arguments_work_as_json_text(self) -> None:
        self._check_good(self._call(self.make_tool(), json.dumps(self.good_arguments())).result)

    def test_the_result_is_plain_and_within_its_limit(self) -> None:
        tool = self.make_tool()
        result = self._call(tool, dict(self.good_arguments())).result
        assert len(result.text) <= tool.max_result_chars, f"{len(result.text)} characters came back"
        result.text.encode("utf-8")
        data = json.dumps(result.data, ensure_ascii=False)
        assert len(data) <= tool.max_result_chars, f"data of {len(data)} characters came back beside a shorter text"

    def test_a_smaller_limit_is_honoured(self) -> None:
        tool = dataclasses.replace(self.make_tool(), max_result_chars=_SMALL)
        result = self._call(tool, dict(self.good_arguments())).result
        assert len(result.text) <= _SMALL, f"{len(result.text)} characters came back where {_SMALL} are allowed"

    def test_it_works_many_times_at_once(self) -> None:
        tool = self.make_tool()
        host = self._host(tool)
        calls = [partial(host.call_tool, tool.name, dict(self.good_arguments())) for _ in range(THREADS)]
        for result in all_at_once(calls):
            self._check_good(result)

    # Bad calls: a model must be told what to change

    def test_missing_arguments_are_a_readable_error(self) -> None:
        tool = self.make_tool()
        host = self._host(tool)
        nothing: tuple[Any, ...] = (None, {}, "")
        for arguments in nothing:
            answer = self._ask(host, tool, arguments)
            if tool.schema.get("required"):
                self._check_refused(answer, tool.schema["required"][0])
            else:
                self._check_no_crash(answer)

    def test_what_is_no_object_is_a_readable_error(self) -> None:
        tool = self.make_tool()
        host = self._host(tool)
        no_objects: tuple[Any, ...] = ("not JSON", "[1, 2]", ["a", "list"], 7, True)
        for arguments in no_objects:
            self._check_refused(self._ask(host, tool, arguments), "")

    def test_an_unknown_argument_is_a_readable_error(self) -> None:
        """A misspelt name that is passed over looks to the model as if it had worked."""
        answer = self._call(self.make_tool(), {**self.good_arguments(), _UNKNOWN: 1})
        assert answer.result.is_error, (
            f"an argument that the tool does not have was taken, and gave {answer.result.text[:200]!r}; "
            'set "additionalProperties": false in the schema, or extra="forbid" in the model\'s ConfigDict'
        )
        self._check_refused(answer, _UNKNOWN)

    def test_wrong_types_are_a_readable_error(self) -> None:
        tool = self.make_tool()
        host, good = self._host(tool), self.good_arguments()
        fits = schema_validator(tool.schema).is_valid
        for name in tool.schema["properties"]:
            wrong = next((value for value in _WRONG if not fits({**good, name: value})), None)
            if wrong is not None:
                self._check_refused(self._ask(host, tool, {**good, name: wrong}), name)

    # Every writing system

    def test_unicode_arguments(self) -> None:
        tool = self.make_tool()
        host, good = self._host(tool), self.good_arguments()
        crashes = {}
        for script, text in SCRIPTS.items():
            answer = self._ask(host, tool, {**good, **_with_text(good, text)})
            answer.result.text.encode("utf-8")
            if answer.crash is not None:
                crashes[script] = answer.crash
        assert not crashes, f"the tool raised instead of saying what is wrong: {crashes}"

    def test_a_lone_surrogate_does_no_harm(self) -> None:
        tool = self.make_tool()
        good = self.good_arguments()
        self._call(tool, {**good, **_with_text(good, LONE_SURROGATE)})

    # Parts

    def _host(self, tool: Tool) -> Host:
        class Hooks:
            @hookimpl
            def register_tools(self) -> list[Tool]:
                return [tool]

        return self._opener(InlinePlugin(Hooks(), manifest={"provides": {"tools": [tool.name]}}))

    def _call(self, tool: Tool, arguments: Any) -> _Answer:
        return self._ask(self._host(tool), tool, arguments)

    def _ask(self, host: Host, tool: Tool, arguments: Any) -> _Answer:
        # An error that a tool returns may say anything; only what the host had to catch is in its diagnostics.
        before = len(host.diagnostics)
        result = host.call_tool(tool.name, arguments)
        crashes = [event.message for event in list(host.diagnostics)[before:] if event.stage == f"tool {tool.name}"]
        return _Answer(result, crashes[0] if crashes else None)

    def _check_good(self, result: ToolResult) -> None:
        assert not result.is_error, f"good arguments gave an error: {result.text}"
        assert result.text.strip(), "good arguments gave an empty text; say at least that it is done"

    def _check_no_crash(self, answer: _Answer) -> None:
        """An error that the tool returns is fine; an unhandled exception is not."""
        assert answer.crash is None, f"the tool raised instead of saying what is wrong: {answer.crash}"

    def _check_refused(self, answer: _Answer, named: str) -> None:
        result = answer.result
        assert result.is_error, f"wrong arguments were taken, and gave {result.text[:200]!r}"
        self._check_no_crash(answer)
        assert named in result.text, f"the error does not name {named!r}: {result.text}"
        assert len(result.text) < 2000, "the error is too long for a model to read"
