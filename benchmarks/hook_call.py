"""What one call of a hook costs, against the thread that it needs in any case."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from memslot import Session, hookimpl
from memslot.diagnostics import Diagnostics
from memslot.plugins.hooks import HookRunner

BATCHES, CALLS = 25, 20
"""Of each kind in a round; short batches take turns, so that both meet the same moments of the machine."""


class NoOp:
    @hookimpl
    def session_start(self, session: Session) -> None:
        """Do nothing."""


@dataclass(frozen=True)
class HookCall:
    """Seconds of one hook call and of one bare thread, in every round."""

    hooks: list[float]
    threads: list[float]


def measure_hook_call(rounds: int) -> HookCall:
    diagnostics = Diagnostics()
    runner = HookRunner(diagnostics, {})
    context: Any = SimpleNamespace(plugin_id="no-op")
    runner.add(NoOp(), context)
    session = Session("main")

    def call_hook() -> None:
        runner.call("session_start", session=session)

    def run_thread() -> None:
        thread = threading.Thread(target=int, daemon=True)
        thread.start()
        thread.join()

    hooks, threads = [], []
    for _ in range(rounds + 1):
        pairs = [(_seconds_per_call(call_hook), _seconds_per_call(run_thread)) for _ in range(BATCHES)]
        hooks.append(statistics.median(hook for hook, _ in pairs))
        threads.append(statistics.median(thread for _, thread in pairs))
    runner.close()
    if len(diagnostics):
        raise SystemExit(f"the hook did not work: {next(iter(diagnostics))}")
    return HookCall(hooks[1:], threads[1:])


def _seconds_per_call(function: Callable[[], None]) -> float:
    start = time.perf_counter()
    for _ in range(CALLS):
        function()
    return (time.perf_counter() - start) / CALLS
