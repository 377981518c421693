"""Which coding agent wrote a transcript, and what was said in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from memslot.sessions.coding_agents.claude_code import is_claude_code, read_claude_code
from memslot.sessions.coding_agents.codex import is_codex, read_codex
from memslot.sessions.coding_agents.gemini_cli import is_gemini_cli, read_gemini_cli
from memslot.sessions.coding_agents.opencode import is_opencode_export, read_opencode_export
from memslot.sessions.coding_agents.qwen_code import is_qwen_code, read_qwen_code
from memslot.sessions.imports import ForeignSession, RawLine

_READERS: dict[str, Callable[[str, Iterable[RawLine]], ForeignSession]] = {
    "claude-code": read_claude_code,
    "codex": read_codex,
    "gemini": read_gemini_cli,
    "qwen": read_qwen_code,
}
_MARKS: dict[str, Callable[[Mapping[str, Any]], bool]] = {
    "qwen": is_qwen_code,  # before Claude Code, whose lines have the same keys but for one
    "claude-code": is_claude_code,
    "codex": is_codex,
    "gemini": is_gemini_cli,
}


def find_coding_agent(record: Mapping[str, Any]) -> str | None:
    """The program that wrote this line of a transcript; None if the line does not show it."""
    return next((program for program, is_theirs in _MARKS.items() if is_theirs(record)), None)


def read_agent_lines(program: str, name: str, lines: Iterable[RawLine]) -> ForeignSession:
    """The conversation in lines of a transcript; `name` is the file's name without its ending.

    For opencode, which keeps no such files, there is `read_opencode`.
    """
    return _READERS[program](name, lines)


def read_agent_export(name: str, tree: object) -> ForeignSession | None:
    """The conversation in a JSON file that a coding agent wrote; None for any other file."""
    if is_opencode_export(tree):
        return read_opencode_export(tree)
    if isinstance(tree, dict) and is_gemini_cli(tree):
        return read_gemini_cli(name, [(1, b"", tree)])
    return None
