"""A plugin for the chat's tests: tools of all manners, a recall, and notes on what it is told."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

from memslot import AgentStart, Tool, fence, hookimpl

HERE = Path(__file__).parent
ANY = {"type": "object", "properties": {}, "additionalProperties": True}
WORD = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
both_are_here = threading.Barrier(2)
second_is_done = threading.Event()


def meet(args: dict[str, Any]) -> str:
    """Comes back only while another call of it is under way; the first one comes back last."""
    both_are_here.wait(60)
    if args["word"] == "first":
        second_is_done.wait(60)
    else:
        second_is_done.set()
    return f"met as {args['word']}"


def fail(args: dict[str, Any]) -> str:
    raise RuntimeError("the shelf is empty")


def hang(args: dict[str, Any]) -> str:
    (HERE / "hanging").write_text("yes", encoding="utf-8")
    threading.Event().wait(50)
    return "much later"


def keep(args: dict[str, Any]) -> str:
    _note("kept", args["word"])
    return "kept"


@hookimpl
def register_tools() -> list[Tool]:
    return [
        Tool("meet", "Meet another call.", WORD, meet),
        Tool("fail", "Always fails.", ANY, fail),
        Tool("hang", "Never comes back.", ANY, hang, timeout_seconds=55),
        Tool("keep", "Write a note.", WORD, keep),
        Tool("long", "Gives a long text.", ANY, lambda args: "x" * 40_000, read_only=True),
        Tool("evil", "Gives control characters.", ANY, lambda args: fail({}) if args else "\x1b]52;c;aGk=\x07ouch"),
    ]


@hookimpl
def before_agent_start(run: Any) -> AgentStart | None:
    if "slow recall" in run.prompt:
        (HERE / "recalling").write_text("yes", encoding="utf-8")
        threading.Event().wait(14)
    return AgentStart(fence(["the gate is <blue>", "Ines has the key"])) if "gate" in run.prompt else None


@hookimpl
def agent_end(run: Any, messages: Any, success: bool, error: str | None) -> None:
    if "end" in run.prompt:
        (HERE / "ending").write_text("yes", encoding="utf-8")
        threading.Event().wait(25 if "stuck end" in run.prompt else 3)
    time.sleep(0.5)  # whoever does not wait for this loses the line
    said = [(message["role"], message["content"]) for message in messages]
    _note("ends", json.dumps({"prompt": run.prompt, "said": said, "success": success, "error": error}))


@hookimpl
def before_compaction(messages: Any) -> None:
    _note("compactions", str(len(messages)))


def _note(name: str, line: str) -> None:
    with (HERE / name).open("a", encoding="utf-8") as file:
        file.write(line + "\n")
