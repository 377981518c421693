"""The tools an agent gets: search the memory, read the lines that matter, write a note."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from memslot import MemoryText, Session, Tool, ToolCall, ToolResult, find_secrets, strip_recalled
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from memslot_memory_core.backend import Backend
from memslot_memory_core.outcome import does_cite, outcome_json
from memslot_memory_core.reading import MAX_LINES, NotInMemoryError, text_json
from memslot_memory_core.writing_notes import MAX_CHARS, append_note

if TYPE_CHECKING:
    from memslot_memory_core.outcome import Citations

_MOST_CHARS = 24_000
"""Of what is read at once. A tool may give twice as much, and JSON has to escape some of it."""
_CUT = " … [the rest of this line is left out]"


class _Arguments(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")


class SearchArguments(_Arguments):
    query: str = Field(min_length=1, max_length=10_000, description="What to look for, in plain words.")
    max_results: int | None = Field(None, ge=1, le=50, description="How many results at most; 6 unless told.")
    min_score: float | None = Field(
        None, ge=0, le=1, description="Leave out results below this score; best left to the settings."
    )


class GetArguments(_Arguments):
    path: str = Field(min_length=1, max_length=1000, description="A path as memory_search gave it.")
    from_line: int = Field(1, alias="from", ge=1, description="The first line, counted from 1.")
    lines: int = Field(200, ge=1, le=MAX_LINES, description="How many lines at most.")


class WriteArguments(_Arguments):
    text: str = Field(min_length=1, max_length=MAX_CHARS, description="What to remember, as Markdown.")
    target: Literal["daily", "memory"] = Field(
        "daily", description="daily: today's note, for what happened; memory: MEMORY.md, for what stays true."
    )
    section: str | None = Field(
        None, min_length=1, max_length=200, description="A heading to write below; made if it is not there."
    )


def _readable_part(backend: Backend, args: GetArguments, session: Session) -> MemoryText:
    """As many of the lines as a tool's result can hold; of a single line that is longer, its beginning."""
    lines = args.lines
    while True:
        part = backend.read(args.path, start_line=args.from_line, max_lines=lines, session=session)
        if len(part.text) <= _MOST_CHARS:
            return part
        if lines == 1:
            return replace(part, text=part.text[:_MOST_CHARS] + _CUT)
        lines = max(1, min(lines - 1, lines * _MOST_CHARS // len(part.text)))


def _redaction_note(text: str) -> dict[str, Any]:
    """Says that secrets were taken out of a text before it was written."""
    count = len(find_secrets(strip_recalled(text)))
    return {"redacted": count, "notice": "secrets were replaced by [redacted]; notes do not keep them"} if count else {}


def make_tools(backend: Callable[[], Backend], citations: Citations, workspace: Path) -> list[Tool]:
    """The tools of one agent; the memory behind them is opened at the first call."""

    def search(args: SearchArguments, call: ToolCall) -> dict[str, Any]:
        outcome = backend().search(
            args.query, max_results=args.max_results, min_score=args.min_score, session=call.session
        )
        return outcome_json(outcome, cites=does_cite(citations, call.session))

    def get(args: GetArguments, call: ToolCall) -> dict[str, Any] | ToolResult:
        try:
            return text_json(_readable_part(backend(), args, call.session))
        except NotInMemoryError as refusal:
            # The model's mistake, not a fault of this plugin: it is told, and nothing is noted in the diagnostics.
            return ToolResult(f"memory_get: {refusal}", is_error=True)

    def write(args: WriteArguments) -> dict[str, Any]:
        path = append_note(workspace, args.text, args.target, args.section)
        backend().request_sync()
        return {"path": path, "written": True, **_redaction_note(args.text)}

    return [
        Tool(
            name="memory_search",
            description=(
                "Search MEMORY.md, the notes in memory/ and, where they are indexed, earlier conversations, by meaning "
                "and by word. Use it before answering anything about earlier work, decisions, dates, people, "
                "preferences or open tasks. Gives passages with path and lines; read more with memory_get. If the "
                "answer says that the memory is unavailable or stale, tell the person."
            ),
            parameters=SearchArguments,
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
            parameters=GetArguments,
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
            parameters=WriteArguments,
            execute=write,
            title="Write a note",
            chat_types=("direct",),
        ),
    ]
