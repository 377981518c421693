"""The agent's tools: memory_search, memory_get, memory_write."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memslot import MemoryText, Session, Tool, ToolCall, ToolResult, find_secrets, strip_recalled

from memslot_memory_core.backend import Backend
from memslot_memory_core.note_reader import MAX_LINES, NotInMemoryError, lines_json
from memslot_memory_core.search_output import cites_sources, outcome_json
from memslot_memory_core.sources.roots import MAX_NOTE_CHARS

if TYPE_CHECKING:
    from memslot_memory_core.search_output import Citations

_MAX_CHARS = 24_000
"""Characters per read. A tool may return twice as much, and JSON escaping needs room."""
_CUT = " … [rest of line omitted]"


_SEARCH = {
    "type": "object",
    "additionalProperties": False,
    "required": ["query"],
    "properties": {
        "query": {
            "type": "string",
            "minLength": 1,
            "maxLength": 10_000,
            "description": "What to search for, in plain words.",
        },
        "maxResults": {
            "type": ["integer", "null"],
            "minimum": 1,
            "maximum": 50,
            "description": "Maximum number of results (default: 6).",
        },
        "minScore": {
            "type": ["number", "null"],
            "minimum": 0,
            "maximum": 1,
            "description": "Minimum score of a result; usually best left unset.",
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
            "description": "A path returned by memory_search.",
        },
        "from": {"type": "integer", "minimum": 1, "default": 1, "description": "First line to read, counted from 1."},
        "lines": {
            "type": "integer",
            "minimum": 1,
            "maximum": MAX_LINES,
            "default": 200,
            "description": "Maximum number of lines.",
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
            "description": "daily: today's note, for events; memory: MEMORY.md, for lasting facts.",
        },
        "section": {
            "type": ["string", "null"],
            "minLength": 1,
            "maxLength": 200,
            "description": "Heading to write below; created if missing.",
        },
    },
}


def _read_within_limit(backend: Backend, path: str, start_line: int, max_lines: int, session: Session) -> MemoryText:
    """As many lines as fit in a tool result; a single longer line is truncated."""
    while True:
        part = backend.read(path, start_line=start_line, max_lines=max_lines, session=session)
        if len(part.text) <= _MAX_CHARS:
            return part
        if max_lines == 1:
            return replace(part, text=part.text[:_MAX_CHARS] + _CUT)
        max_lines = max(1, min(max_lines - 1, max_lines * _MAX_CHARS // len(part.text)))


def _redaction_note(text: str) -> dict[str, Any]:
    """Report that secrets were redacted before writing."""
    count = len(find_secrets(strip_recalled(text)))
    return {"redacted": count, "notice": "secrets were replaced by [redacted]"} if count else {}


def make_tools(
    backend: Callable[[], Backend],
    citations: Citations,
    workspace: Path,
    tell_written: Callable[[str, str, Session], None] = lambda text, path, session: None,
) -> list[Tool]:
    """The tools of one agent; the memory is opened at the first call. `tell_written` is called for each note."""

    # JSON Schema accepts 3.0 as an integer.
    def search(args: Mapping[str, Any], call: ToolCall) -> dict[str, Any]:
        wanted = args.get("maxResults")
        outcome = backend().search(
            args["query"],
            max_results=None if wanted is None else int(wanted),
            min_score=args.get("minScore"),
            session=call.session,
        )
        return outcome_json(outcome, cites=cites_sources(citations, call.session))

    def get(args: Mapping[str, Any], call: ToolCall) -> dict[str, Any] | ToolResult:
        start_line, max_lines = int(args.get("from", 1)), int(args.get("lines", 200))
        try:
            return lines_json(_read_within_limit(backend(), args["path"], start_line, max_lines, call.session))
        except NotInMemoryError as refusal:
            # The model's mistake, not a fault of this plugin: return an error, without a diagnostic.
            return ToolResult(f"memory_get: {refusal}", is_error=True)

    def write(args: Mapping[str, Any], call: ToolCall) -> dict[str, Any]:
        from memslot_memory_core.note_writer import append_note

        path = append_note(workspace, args["text"], args.get("target", "daily"), args.get("section"))
        backend().request_sync()
        tell_written(args["text"], path, call.session)
        return {"path": path, "written": True, **_redaction_note(args["text"])}

    return [
        Tool(
            name="memory_search",
            description=(
                "Search MEMORY.md, the notes in memory/ and, if indexed, earlier conversations, by meaning and by "
                "keyword. Use it before answering anything about earlier work, decisions, dates, people, "
                "preferences or open tasks. Returns passages with path and lines; read more with memory_get. If the "
                "result says that memory is unavailable or stale, tell the user."
            ),
            parameters=_SEARCH,
            execute=search,
            title="Search memory",
            read_only=True,
        ),
        Tool(
            name="memory_get",
            description=(
                "Read lines of a note or conversation that memory_search found. Request only the lines you need; "
                "`nextFrom` says where to continue."
            ),
            parameters=_GET,
            execute=get,
            title="Read memory",
            read_only=True,
        ),
        Tool(
            name="memory_write",
            description=(
                "Append to the notes what should outlast this conversation: decisions, preferences, facts about the "
                "user, open tasks. Use it when asked to remember something, and when you have no other way to write "
                "files. Search first to avoid duplicates."
            ),
            parameters=_WRITE,
            execute=write,
            title="Write a note",
            chat_types=("direct",),
        ),
    ]
