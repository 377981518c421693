"""The tools an agent gets: search the notes, then read the lines that matter."""

from __future__ import annotations

from typing import Any

from memslot import Tool, ToolCall, redact
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from memslot_memory_core.memory import NotesMemory
from memslot_memory_core.notes import find_note, read_lines

MAX_LINES = 2000


class _Arguments(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")


class SearchArguments(_Arguments):
    query: str = Field(min_length=1, max_length=10_000, description="What to look for, in plain words.")
    max_results: int | None = Field(None, ge=1, le=50, description="How many results at most; 6 unless told.")


class GetArguments(_Arguments):
    path: str = Field(min_length=1, max_length=1000, description="A path as memory_search gave it.")
    from_line: int = Field(1, alias="from", ge=1, description="The first line, counted from 1.")
    lines: int = Field(200, ge=1, le=MAX_LINES, description="How many lines at most.")


def make_tools(memory: NotesMemory) -> list[Tool]:
    def search(args: SearchArguments, call: ToolCall) -> dict[str, Any]:
        outcome = memory.search(args.query, max_results=args.max_results, private=call.session.is_private)
        results = [
            {
                "path": hit.path,
                "startLine": hit.start_line,
                "endLine": hit.end_line,
                "score": hit.score,
                "snippet": hit.snippet,
                "source": hit.source,
                "citation": hit.citation,
            }
            for hit in outcome.hits
        ]
        return {"results": results, "mode": outcome.mode}

    def get(args: GetArguments, call: ToolCall) -> dict[str, Any]:
        note = find_note(memory.workspace, args.path, private=call.session.is_private)
        lines = read_lines(note) if note is not None else []
        start = args.from_line - 1
        part = lines[start : start + args.lines]
        result: dict[str, Any] = {
            "path": args.path,
            "text": redact("\n".join(part)),
            "from": args.from_line,
            "lines": len(part),
            "truncated": start + len(part) < len(lines),
        }
        if result["truncated"]:
            result["nextFrom"] = args.from_line + len(part)
        return result

    return [
        Tool(
            name="memory_search",
            description=(
                "Search the notes in MEMORY.md and memory/*.md. Use it before answering anything about earlier "
                "work, decisions, dates, people, preferences or open tasks."
            ),
            parameters=SearchArguments,
            execute=search,
            title="Search memory",
            read_only=True,
        ),
        Tool(
            name="memory_get",
            description="Read lines of a note that memory_search found. Ask for the lines you need only.",
            parameters=GetArguments,
            execute=get,
            title="Read memory",
            read_only=True,
        ),
    ]
