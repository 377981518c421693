"""The tools an agent gets: search the memory, read the lines that matter, write a note."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memslot import MemoryText, Session, Tool, ToolCall, ToolResult, find_secrets, strip_recalled

from memslot_memory_core.backend import Backend
from memslot_memory_core.note_reader import MAX_LINES, NotInMemoryError, text_json
from memslot_memory_core.search_output import does_cite, outcome_json
from memslot_memory_core.sources.roots import MAX_NOTE_CHARS

if TYPE_CHECKING:
    from memslot_memory_core.search_output import Citations

_MOST_CHARS = 24_000
"""Of what is read at once. A tool may give twice as much, and JSON has to escape some of it."""
_CUT = " … [the rest of this line is left out]"


_SEARCH = {
    "type": "object",
    "additionalProperties": False,
    "required": ["query"],
    "properties": {
        "query": {
            "type": "string",
            "minLength": 1,
            "maxLength": 10_000,
            "description": "What to look for, in plain words.",
        },
        "maxResults": {
            "type": ["integer", "null"],
            "minimum": 1,
            "maximum": 50,
            "description": "How many results at most (default: 6).",
        },
        "minScore": {
            "type": ["number", "null"],
            "minimum": 0,
            "maximum": 1,
            "description": "Leave out results below this score; best left to the settings.",
        },
    },
}
_GET = {
    "type": "object",
    "additionalProperties": False,
    "required": ["path"],
    "properties": {
        "path": {
            "type": "string",
            "minLength": 1,
            "maxLength": 1000,
            "description": "A path as memory_search gave it.",
        },
        "from": {"type": "integer", "minimum": 1, "default": 1, "description": "The first line, counted from 1."},
        "lines": {
            "type": "integer",
            "minimum": 1,
            "maximum": MAX_LINES,
            "default": 200,
            "description": "How many lines at most.",
        },
    },
}
_WRITE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["text"],
    "properties": {
        "text": {
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_NOTE_CHARS,
            "description": "What to remember, as Markdown.",
        },
        "target": {
            "type": "string",
            "enum": ["daily", "memory"],
            "default": "daily",
            "description": "daily: today's note, for what happened; memory: MEMORY.md, for what stays true.",
        },
        "section": {
            "type": ["string", "null"],
            "minLength": 1,
            "maxLength": 200,
            "description": "A heading to write below; made if it is not there.",
        },
    },
}


def _readable_part(backend: Backend, path: str, start_line: int, max_lines: int, session: Session) -> MemoryText:
    """As many of the lines as a tool's result can hold; of a single line that is longer, its beginning."""
    while True:
        part = backend.read(path, start_line=start_line, max_lines=max_lines, session=session)
        if len(part.text) <= _MOST_CHARS:
            return part
        if max_lines == 1:
            return replace(part, text=part.text[:_MOST_CHARS] + _CUT)
        max_lines = max(1, min(max_lines - 1, max_lines * _MOST_CHARS // len(part.text)))


def _redaction_note(text: str) -> dict[str, Any]:
    """Says that secrets were taken out of a text before it was written."""
    count = len(find_secrets(strip_recalled(text)))
    return {"redacted": count, "notice": "secrets were replaced by [redacted]; notes do not keep them"} if count else {}


def make_tools(backend: Callable[[], Backend], citations: Citations, workspace: Path) -> list[Tool]:
    """The tools of one agent; the memory behind them is opened at the first call."""

    # JSON Schema takes 3.0 for an integer.
    def search(args: Mapping[str, Any], call: ToolCall) -> dict[str, Any]:
        wanted = args.get("maxResults")
        outcome = backend().search(
            args["query"],
            max_results=None if wanted is None else int(wanted),
            min_score=args.get("minScore"),
            session=call.session,
        )
        return outcome_json(outcome, cites=does_cite(citations, call.session))

    def get(args: Mapping[str, Any], call: ToolCall) -> dict[str, Any] | ToolResult:
        start_line, max_lines = int(args.get("from", 1)), int(args.get("lines", 200))
        try:
            return text_json(_readable_part(backend(), args["path"], start_line, max_lines, call.session))
        except NotInMemoryError as refusal:
            # The model's mistake, not a fault of this plugin: it is told, and nothing is noted in the diagnostics.
            return ToolResult(f"memory_get: {refusal}", is_error=True)

    def write(args: Mapping[str, Any]) -> dict[str, Any]:
        from memslot_memory_core.note_writer import append_note

        path = append_note(workspace, args["text"], args.get("target", "daily"), args.get("section"))
        backend().request_sync()
        return {"path": path, "written": True, **_redaction_note(args["text"])}

    return [
        Tool(
            name="memory_search",
            description=(
                "Search MEMORY.md, the notes in memory/ and, where they are indexed, earlier conversations, by meaning "
                "and by word. Use it before answering anything about earlier work, decisions, dates, people, "
                "preferences or open tasks. Gives passages with path and lines; read more with memory_get. If the "
                "answer says that the memory is unavailable or stale, tell the person."
            ),
            parameters=_SEARCH,
            execute=search,
            title="Search memory",
            read_only=True,
        ),
        Tool(
            name="memory_get",
            description=(
                "Read lines of a note or conversation that memory_search found. Ask for the lines you need only; "
                "`nextFrom` says where to go on."
            ),
            parameters=_GET,
            execute=get,
            title="Read memory",
            read_only=True,
        ),
        Tool(
            name="memory_write",
            description=(
                "Append to the notes what should outlive this conversation: decisions, preferences, facts about the "
                "person, open tasks. Use it when somebody asks you to remember something, and when you have no other "
                "way to write files. Search first, so that nothing is written twice."
            ),
            parameters=_WRITE,
            execute=write,
            title="Write a note",
            chat_types=("direct",),
        ),
    ]
