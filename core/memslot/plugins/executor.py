"""Runs each plugin's code in its own threads, so that it can block no one else.

Each plugin has one executor. A call gets a daemon thread; a coroutine goes to the executor's event loop,
which is the same for every call, so that a plugin can keep an async client between two hooks.
A call that outlives its budget is abandoned: Python cannot stop a thread, but it can stop waiting.
"""

from __future__ import annotations

import contextlib
import contextvars
import inspect
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from memslot.threads import start_thread

if TYPE_CHECKING:
    import asyncio

logger = logging.getLogger("memslot.plugins")

_MAX_LEFT_BEHIND = 4
_SECOND_CHANCE = 1.0
"""Seconds that a call may take while an earlier one of its kind hangs, so that callers do not wait for each in full."""
_LOOP_ANSWERS_WITHIN = 0.25


class OutOfTime(Exception):
    """A call did not finish within its budget, as the message says."""


class NotStarted(Exception):
    """A call was not started; the message says why."""


class Call:
    """A call of a plugin's function, running in a thread."""

    def __init__(
        self,
        executor: PluginExecutor,
        function: Callable[[], Any],
        budget: float,
        kind: str,
        convert: Callable[[Any], Any] | None,
    ) -> None:
        self._executor = executor
        self._function = function
        self._convert = convert
        self.kind = kind
        self.budget = budget
        self._blocked_loop: threading.Thread | None = None
        self._done = threading.Event()
        self._value: Any = None
        self._error: BaseException | None = None
        self._finished_at = 0.0
        self.started_at = time.perf_counter()
        context = contextvars.copy_context()
        start_thread(lambda: context.run(self._work), f"memslot {executor.plugin_id} {kind}")

    def _work(self) -> None:
        try:
            value = self._function()
            if inspect.iscoroutine(value):
                value = self._executor.run_coroutine(value, self.budget)
            self._value = value if self._convert is None else self._convert(value)
        except BaseException as error:  # a plugin may even call sys.exit
            self._error = error
        finally:
            self._finished_at = time.perf_counter()
            self._done.set()

    def result(self) -> Any:
        """Return the value or raise, waiting until the budget, counted from the start, is used up."""
        left = self.budget - (time.perf_counter() - self.started_at)
        # Also where the call's own thread was the first to stop waiting: its coroutine may still block the loop.
        if not self._done.wait(max(0.0, left)) or isinstance(self._error, OutOfTime):
            self._executor.abandon(self)
            raise OutOfTime(f"did not finish within {self.budget:g} s")
        if self._error is not None:
            raise self._error
        return self._value

    @property
    def is_done(self) -> bool:
        return self._done.is_set()

    @property
    def hangs(self) -> bool:
        """Whether it still holds a thread: its own, or that of a loop which its coroutine blocks."""
        return not self.is_done or (self._blocked_loop is not None and self._blocked_loop.is_alive())

    def blocks(self, loop: threading.Thread | None) -> None:
        self._blocked_loop = loop

    @property
    def has_succeeded(self) -> bool:
        return self.is_done and self._error is None

    @property
    def duration_ms(self) -> float:
        return ((self._finished_at if self.is_done else time.perf_counter()) - self.started_at) * 1000


class PluginExecutor:
    """The threads, the event loop and the background queue of one plugin."""

    def __init__(self, plugin_id: str) -> None:
        self.plugin_id = plugin_id
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._loop_thread: threading.Thread | None = None
        self._abandoned: list[Call] = []
        self._queue: deque[Callable[[], None]] = deque()
        self._is_working = False
        self._idle = threading.Condition(self._lock)

    def start(
        self,
        function: Callable[[], Any],
        budget: float,
        kind: str,
        convert: Callable[[Any], Any] | None = None,
        *,
        in_a_hurry: bool = False,
    ) -> Call:
        """Start a call; `Call.result()` waits for it. `convert` is applied to its value in the same thread.

        With `in_a_hurry` it gets at most a second while an earlier call of the same kind hangs.
        """
        with self._lock:
            self._abandoned = [call for call in self._abandoned if call.hangs]
            if len(self._abandoned) >= _MAX_LEFT_BEHIND:
                raise NotStarted("was not called: earlier calls of this plugin never returned")
            if in_a_hurry and any(call.kind == kind for call in self._abandoned):
                budget = min(budget, _SECOND_CHANCE)
        try:
            return Call(self, function, budget, kind, convert)
        except RuntimeError as error:  # no more threads
            raise NotStarted(f"was not called: {error}") from None

    @property
    def hangs(self) -> bool:
        """Whether a call that ran out of time has not come back yet."""
        with self._lock:
            return any(call.hangs for call in self._abandoned)

    def abandon(self, call: Call) -> None:
        """Note a call that ran out of time, and give up the loop if that call blocks it."""
        with self._lock:
            self._abandoned.append(call)
            loop = self._loop
        if loop is not None and not _answers(loop):
            call.blocks(self._retire(loop))

    def run_coroutine(self, coroutine: Any, budget: float) -> Any:
        """Run a coroutine on the executor's loop and wait for it; past the budget it is cancelled."""
        import asyncio  # takes 50 ms, which only plugins with coroutines pay

        try:
            loop = self._running_loop()
        except RuntimeError:  # no thread for it, see start_thread
            return asyncio.run(asyncio.wait_for(coroutine, budget))
        future = asyncio.run_coroutine_threadsafe(coroutine, loop)
        try:
            return future.result(budget)
        except TimeoutError:
            if future.done():  # the plugin's own TimeoutError, not ours
                raise
            future.cancel()
            raise OutOfTime from None

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        """Return the executor's one loop, started on first use."""
        import asyncio

        with self._lock:
            if self._loop is None:
                loop = asyncio.new_event_loop()
                name = f"memslot {self.plugin_id} loop"
                thread = threading.Thread(target=_run_until_stopped, args=(loop,), name=name, daemon=True)
                thread.start()
                self._loop, self._loop_thread = loop, thread
            return self._loop

    def _retire(self, loop: asyncio.AbstractEventLoop) -> threading.Thread | None:
        """Give the next coroutine a new loop; return the thread of this one, which ends once unblocked."""
        with self._lock:
            thread = self._loop_thread if self._loop is loop else None
            if self._loop is loop:
                self._loop = None
        with contextlib.suppress(RuntimeError):  # closed meanwhile
            loop.call_soon_threadsafe(loop.stop)
        return thread

    def enqueue(self, job: Callable[[], None]) -> None:
        """Run a job in the background, after those queued before it.

        Raises NotStarted if no thread can be started; the job stays in the queue.
        """
        with self._lock:
            self._queue.append(job)
        self._begin_work()

    def _begin_work(self) -> None:
        with self._lock:
            if self._is_working or not self._queue:
                return
            self._is_working = True
        try:
            start_thread(self._work_off, f"memslot {self.plugin_id} background")
        except RuntimeError as error:
            with self._lock:
                self._is_working = False
            raise NotStarted(f"waits: {error}") from None

    def _work_off(self) -> None:
        while True:
            with self._lock:
                if not self._queue:
                    self._is_working = False
                    self._idle.notify_all()
                    return
                job = self._queue.popleft()
            try:
                job()
            except Exception:  # jobs report their own errors; whatever else happens, the next one gets its turn
                logger.exception("a background job of %s failed", self.plugin_id)

    def drain(self, deadline: float) -> int:
        """Wait for the background jobs until `deadline` (perf_counter time); return how many are left."""
        with contextlib.suppress(NotStarted):
            self._begin_work()
        with self._idle:
            while self._is_working:
                left = deadline - time.perf_counter()
                if left <= 0 or not self._idle.wait(left):
                    break
            return len(self._queue) + (1 if self._is_working else 0)

    def close(self) -> None:
        """Cancel the loop's tasks and stop it; a blocked loop ends when it can."""
        with self._lock:
            loop = self._loop
        if loop is None:
            return
        import asyncio

        async def cancel_tasks() -> None:
            tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        with contextlib.suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(cancel_tasks(), loop).result(_LOOP_ANSWERS_WITHIN)
        self._retire(loop)


def _answers(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether a loop is responsive, that is, not blocked."""
    answered = threading.Event()
    try:
        loop.call_soon_threadsafe(answered.set)
    except RuntimeError:  # closed meanwhile, so nothing blocks it
        return True
    return answered.wait(_LOOP_ANSWERS_WITHIN)


def _run_until_stopped(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()
