"""Carries out the tool calls of one answer, several at a time."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from memslot.chat.interrupts import Interrupts
from memslot.chat.reply import RequestedCall
from memslot.diagnostics import describe_error
from memslot.plugins.executor import start_thread
from memslot.tools import ToolResult

AT_ONCE = 8
_LOOK_AGAIN = 0.2
"""Where a wait cannot be interrupted, as on Windows, a signal is noticed after this many seconds."""


@dataclass(frozen=True)
class CallOutcome:
    """A tool call and what came of it; `text` is what the model is told."""

    call: RequestedCall
    text: str
    is_error: bool
    seconds: float


def carry_out(
    calls: Sequence[RequestedCall],
    call_tool: Callable[[str, str], ToolResult],
    interrupts: Interrupts,
    *,
    longest: int,
) -> Iterator[CallOutcome]:
    """Outcomes as they arrive, which may be in another order than the calls.

    A Ctrl-C raises Cancelled: calls that run are left behind, and those that wait are not begun.
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
            arrived.put(_carried_out(call, call_tool, longest))

    try:
        for number in range(min(AT_ONCE, len(calls))):
            start_thread(work, f"memslot chat tools {number}")
        for _ in calls:
            yield _next(arrived, interrupts)
    finally:
        stopped.set()


def _next(arrived: queue.SimpleQueue[CallOutcome], interrupts: Interrupts) -> CallOutcome:
    while True:
        with interrupts.waiting():
            try:
                return arrived.get(timeout=_LOOK_AGAIN)
            except queue.Empty:
                continue


def _carried_out(call: RequestedCall, call_tool: Callable[[str, str], ToolResult], longest: int) -> CallOutcome:
    began = time.perf_counter()
    try:
        result = call_tool(call.name, call.arguments)
        text, is_error = result.text, result.is_error
    except Exception as error:  # strict mode, or a host that was closed meanwhile
        text, is_error = f"{call.name} failed: {describe_error(error)}", True
    seconds = time.perf_counter() - began
    if len(text) > longest:
        note = f"\n[cut: {len(text)} characters, {longest} shown; ask for less at once]"
        text = text[: longest - len(note)] + note
    return CallOutcome(call, text, is_error, seconds)
