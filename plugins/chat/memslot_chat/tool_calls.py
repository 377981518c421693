"""Runs the tool calls of one answer, several at a time."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from memslot import ToolResult

from memslot_chat.interrupts import Interrupts
from memslot_chat.reply import RequestedCall

AT_ONCE = 8
_POLL_SECONDS = 0.2
"""How soon a signal is noticed if it can't interrupt a wait, as on Windows."""


@dataclass(frozen=True)
class CallOutcome:
    """A tool call and its result; `text` is what the model gets."""

    call: RequestedCall
    text: str
    is_error: bool
    seconds: float


def run_calls(
    calls: Sequence[RequestedCall],
    call_tool: Callable[[str, str], ToolResult],
    interrupts: Interrupts,
    *,
    longest: int,
) -> Iterator[CallOutcome]:
    """Yield outcomes as they arrive, in any order.

    A Ctrl-C raises Cancelled: running calls are abandoned, waiting ones are not started.
    """
    waiting = deque(calls)
    arrived: queue.SimpleQueue[CallOutcome] = queue.SimpleQueue()
    stopped = threading.Event()

    def work() -> None:
        while not stopped.is_set():
            try:
                call = waiting.popleft()
            except IndexError:
                return
            arrived.put(_run_call(call, call_tool, longest))

    try:
        for number in range(min(AT_ONCE, len(calls))):
            threading.Thread(target=work, name=f"memslot chat tools {number}", daemon=True).start()
        for _ in calls:
            yield _next(arrived, interrupts)
    finally:
        stopped.set()


def _next(arrived: queue.SimpleQueue[CallOutcome], interrupts: Interrupts) -> CallOutcome:
    while True:
        with interrupts.waiting():
            try:
                return arrived.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                continue


def _run_call(call: RequestedCall, call_tool: Callable[[str, str], ToolResult], longest: int) -> CallOutcome:
    began = time.perf_counter()
    try:
        result = call_tool(call.name, call.arguments)
        text, is_error = result.text, result.is_error
    except Exception as error:  # strict mode, or a host that was closed meanwhile
        text, is_error = f"{call.name} failed: {type(error).__name__}: {error}", True
    seconds = time.perf_counter() - began
    if len(text) > longest:
        note = f"\n[cut: {len(text)} characters, {longest} shown; ask for less at once]"
        text = text[: longest - len(note)] + note
    return CallOutcome(call, text, is_error, seconds)
