"""Calls hooks: pluggy dispatches to stand-ins, which run each plugin's function isolated and within its budget.

A stand-in starts the function in its plugin's own executor and returns a handle; the runner then collects the
handles. So pluggy decides who is called, with what and in which order, and the plugins still work at the same time.
"""

from __future__ import annotations

import contextvars
import functools
import inspect
import math
import os
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pluggy

from memslot import hookspecs
from memslot.config.spelling import nearest
from memslot.diagnostics import Diagnostics, describe_error
from memslot.errors import HookError
from memslot.plugins.executor import Call, NotStarted, OutOfTime, PluginExecutor
from memslot.plugins.isolation import own_copy

if TYPE_CHECKING:
    from memslot.plugins.context import PluginContext

Reader = Callable[[Any], Any]
"""Reads what an implementation returned; raises UnusableResult if it doesn't fit the hook."""
Ended = Callable[[str, bool], None]
"""Called when a plugin's implementation has ended, with whether it succeeded."""
_ended: contextvars.ContextVar[Ended | None] = contextvars.ContextVar("ended", default=None)
_at_most: contextvars.ContextVar[float | None] = contextvars.ContextVar("at_most", default=None)


class UnusableResult(Exception):
    """An implementation returned something that the host cannot use; the message says what."""


@dataclass(frozen=True)
class Answer:
    """What one plugin's implementation returned."""

    plugin: str
    value: Any


@dataclass(frozen=True)
class _Handle:
    """A call that is under way."""

    plugin: str
    hook: str
    call: Call
    ended: Ended | None


class _StandIn:
    """Registered with pluggy in a plugin's place; holds one function for each of the plugin's implementations."""


class HookRunner:
    """Calls the implementations of active plugins so that none of them can harm another or the caller.

    `readers` gives for a hook how its results are read; that runs in the plugin's thread, since a result may be a
    generator or anything else that executes the plugin's code.
    """

    def __init__(
        self,
        diagnostics: Diagnostics,
        env: Mapping[str, str] | None = None,
        readers: Mapping[str, Reader] | None = None,
    ) -> None:
        env = os.environ if env is None else env
        self.diagnostics = diagnostics
        self.strict = env.get("MEMSLOT_STRICT_PLUGINS") == "1"
        self.trace = env.get("MEMSLOT_TRACE_PLUGINS") == "1"
        self._readers = readers or {}
        self._manager = pluggy.PluginManager(hookspecs.PROJECT)
        self._manager.add_hookspecs(hookspecs)
        self._timeouts: dict[str, float] = {}
        self._executors: dict[str, PluginExecutor] = {}
        self._is_closed = False

    def add(self, plugin: object, context: PluginContext, timeout_ms: int | None = None) -> list[str]:
        """Register a plugin's implementations; return the names of the hooks it implements.

        `arrange` puts plugins in order. Raises pluggy's PluginValidationError if an implementation
        does not fit its hook; then none of the plugin's hooks is registered.
        """
        plugin_id = context.plugin_id
        executor = PluginExecutor(plugin_id)
        stand_in = _StandIn()
        for name, hook in self._implementations(plugin):
            setattr(stand_in, name, self._stand_in_for(getattr(plugin, name), hook, context, executor))
        try:
            self._manager.register(stand_in, name=plugin_id)
        except BaseException:  # before 1.7, pluggy keeps the hooks that came before the one it refuses
            if self._manager.is_registered(stand_in):
                self._manager.unregister(stand_in)
            raise
        self._executors[plugin_id] = executor
        if timeout_ms is not None:
            self._timeouts[plugin_id] = timeout_ms / 1000
        return [caller.name for caller in self._manager.get_hookcallers(stand_in) or []]

    def arrange(self, plugin_ids: Sequence[str]) -> None:
        """Call hooks in this order of plugins."""
        for plugin_id in reversed(plugin_ids):  # pluggy calls what was registered last first
            self._manager.register(self._manager.unregister(name=plugin_id), name=plugin_id)

    def _implementations(self, plugin: object) -> Iterable[tuple[str, str]]:
        """The marked functions of a plugin, each with its hook's name."""
        for name in dir(plugin):
            options = self._manager.parse_hookimpl_opts(plugin, name)
            if options is None:
                continue
            hook = options.get("specname") or name
            if options.get("wrapper") or options.get("hookwrapper"):
                message = f"{name} is a wrapper; memslot has none, because implementations of a hook run concurrently"
                raise pluggy.PluginValidationError(plugin, message)
            if hasattr(getattr(hookspecs, hook, None), "memslot_budget"):
                yield name, hook
            elif not options.get("optionalhook"):
                raise pluggy.PluginValidationError(plugin, _no_such_hook(hook))

    def _stand_in_for(
        self, function: Callable[..., Any], hook: str, context: PluginContext, executor: PluginExecutor
    ) -> Callable[..., Any]:
        names = tuple(inspect.signature(function).parameters)
        start = self._enqueue if getattr(hookspecs, hook).memslot_in_background and not self.strict else self._start

        @functools.wraps(function)  # with the function's marks and signature, by which pluggy orders and calls it
        def stand_in(*arguments: Any) -> _Handle | None:
            # Not strict: pluggy leaves out parameters with a default.
            named = zip(names, arguments, strict=False)
            given = [context if name == "ctx" else own_copy(argument) for name, argument in named]
            return start(context.plugin_id, executor, hook, functools.partial(function, *given))

        return stand_in

    def budget_of(self, hook: str, plugin_id: str) -> float:
        """How many seconds one call may take: the plugin's own setting for lifecycle hooks, else the hook's."""
        default: float = getattr(hookspecs, hook).memslot_budget
        return default if hook.startswith("register_") else self._timeouts.get(plugin_id, default)

    def implementers(self, hook: str) -> list[str]:
        """Ids of the plugins that implement a hook, in the order in which they are called."""
        implementations: list[pluggy.HookImpl] = getattr(self._manager.hook, hook).get_hookimpls()
        return list(dict.fromkeys(impl.plugin_name for impl in reversed(implementations)))

    def call(
        self,
        hook: str,
        *,
        only: str | Collection[str] | None = None,
        ended: Ended | None = None,
        at_most: float | None = None,
        **arguments: Any,
    ) -> list[Answer]:
        """Call a hook of all plugins, or of those named; return the answers other than None in pluggy's order.

        Implementations run at the same time. Those of a background hook are queued behind their plugin's earlier
        calls, and there is no answer; strict mode waits for them. `ended` is called for each implementation when it has
        ended, but not for one that was still queued when the host closed. `at_most` cuts budgets to these seconds.
        """
        plugins = self._manager.list_name_plugin() if only is not None else []
        named = (only,) if isinstance(only, str) else only or ()
        others = [stand_in for plugin_id, stand_in in plugins if plugin_id not in named]
        caller = self._manager.subset_hook_caller(hook, others)
        token = _ended.set(ended)
        limit = _at_most.set(at_most)
        try:
            handles: list[_Handle] = caller(ctx=None, **arguments)  # each stand-in passes its own plugin's context
        finally:
            _ended.reset(token)
            _at_most.reset(limit)
        answers = [self._finish(handle) for handle in handles]
        return [answer for answer in answers if answer is not None]

    def call_function(
        self,
        plugin_id: str,
        stage: str,
        function: Callable[[], Any],
        *,
        budget: float,
        convert: Callable[[Any], Any] | None = None,
        in_a_hurry: bool = False,
    ) -> tuple[Any, BaseException | None, float]:
        """Run a function that a plugin registered (a tool, a prompt section) with the same isolation.

        Returns the value, the error if there was one, and the duration in seconds; records nothing.
        """
        functions = {plugin_id: function}
        return self.call_functions(stage, functions, budget, convert, in_a_hurry=in_a_hurry)[plugin_id]

    def call_functions(
        self,
        stage: str,
        functions: Mapping[str, Callable[[], Any]],
        budget: float,
        convert: Callable[[Any], Any] | None = None,
        *,
        in_a_hurry: bool = False,
    ) -> dict[str, tuple[Any, BaseException | None, float]]:
        """The same for functions of several plugins, by their ids: all run at the same time.

        With `in_a_hurry`, a plugin of which an earlier call of this stage hangs has a second at most.
        """
        started: dict[str, Call | NotStarted] = {}
        for plugin_id, function in functions.items():
            try:
                executor = self._executors[plugin_id]
                started[plugin_id] = executor.start(function, budget, stage, convert, in_a_hurry=in_a_hurry)
            except NotStarted as error:
                started[plugin_id] = error
        return {plugin_id: _outcome(call) for plugin_id, call in started.items()}

    def hangs(self, plugin_id: str) -> bool:
        """Whether a call of this plugin that ran out of time has not come back yet."""
        return self._executors[plugin_id].hangs

    def drain(self, budget: float) -> None:
        """Wait for what runs in the background, at most `budget` seconds in all."""
        deadline = time.perf_counter() + budget
        for plugin_id, executor in self._executors.items():
            left = executor.drain(deadline)
            if left:
                message = f"{left} background call(s) were still open after {budget:.3g} s and are lost"
                self.diagnostics.add(plugin_id, "close", message)

    def close(self) -> None:
        """Stop the plugins' loops; later background calls are refused."""
        self._is_closed = True
        for executor in self._executors.values():
            executor.close()

    def _start(
        self, plugin_id: str, executor: PluginExecutor, hook: str, function: Callable[[], Any]
    ) -> _Handle | None:
        budget = min(self.budget_of(hook, plugin_id), at_most if (at_most := _at_most.get()) is not None else math.inf)
        try:
            read = functools.partial(_read, self._readers.get(hook))
            waited_for = not getattr(hookspecs, hook).memslot_in_background
            call = executor.start(function, budget, hook, read, in_a_hurry=waited_for)
        except NotStarted as error:
            if (ended := _ended.get()) is not None:
                ended(plugin_id, False)
            self._report(plugin_id, hook, str(error), None)
            return None
        return _Handle(plugin_id, hook, call, _ended.get())

    def _enqueue(self, plugin_id: str, executor: PluginExecutor, hook: str, function: Callable[[], Any]) -> None:
        if self._is_closed:
            self._report(plugin_id, hook, "was not called: the host is closed", None)
            return

        context = contextvars.copy_context()

        def job() -> None:
            handle = context.run(self._start, plugin_id, executor, hook, function)
            if handle is not None:
                self._finish(handle)

        try:
            executor.enqueue(job)
        except NotStarted as error:
            self._report(plugin_id, hook, str(error), None)

    def _finish(self, handle: _Handle) -> Answer | None:
        plugin_id, hook, call = handle.plugin, handle.hook, handle.call
        try:
            value = call.result()
            return None if value is None else Answer(plugin_id, value)
        except (UnusableResult, OutOfTime) as error:
            self._report(plugin_id, hook, describe_failure(error), call.duration_ms)
        except HookError:
            raise
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and not call.is_done:
                raise
            self._report(plugin_id, hook, describe_error(error), call.duration_ms, error)
        finally:
            if handle.ended is not None:
                handle.ended(plugin_id, call.has_succeeded)
            if self.trace:
                sys.stderr.write(f"memslot trace: {plugin_id} {hook} {call.duration_ms:.1f} ms\n")
        return None

    def _report(
        self,
        plugin_id: str,
        hook: str,
        message: str,
        duration_ms: float | None,
        cause: BaseException | None = None,
    ) -> None:
        event = self.diagnostics.add(plugin_id, hook, message, duration_ms=duration_ms)
        if self.strict:
            raise HookError(str(event)) from cause


def describe_failure(error: BaseException) -> str:
    """Why a call failed: the host's reason if it was stopped or refused, else the error's message."""
    return str(error) if isinstance(error, OutOfTime | NotStarted | UnusableResult) else describe_error(error)


def _outcome(call: Call | NotStarted) -> tuple[Any, BaseException | None, float]:
    if isinstance(call, NotStarted):
        return None, call, 0.0
    try:
        return call.result(), None, call.duration_ms / 1000
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and not call.is_done:
            raise  # the user's Ctrl-C while waiting, not an error of the plugin
        return None, error, call.duration_ms / 1000


def _read(reader: Reader | None, value: Any) -> Any:
    return value if reader is None or value is None else reader(value)


def _no_such_hook(name: str) -> str:
    known = [hook for hook, spec in vars(hookspecs).items() if hasattr(spec, "memslot_budget")]
    meant = nearest(name, known)
    hint = f'did you mean "{meant}"?' if meant else f"the hooks are {', '.join(known)}"
    return f"there is no hook {name!r}; {hint}"
