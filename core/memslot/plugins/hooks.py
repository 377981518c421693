"""Calls hooks: each implementation by itself, within its budget, in order of priority."""

from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pluggy

from memslot import hookspecs
from memslot.config.spelling import nearest
from memslot.diagnostics import Diagnostics, describe_error
from memslot.errors import HookError
from memslot.plugins.isolation import own_copy
from memslot.plugins.lanes import Call, Lane, NotStarted, OutOfTime

if TYPE_CHECKING:
    from memslot.plugins.context import PluginContext

Accept = Callable[[Any], str | None]
"""Looks at what an implementation returned; gives the reason why it cannot be used, or None."""


def expect(kind: type[Any]) -> Accept:
    """A check that an implementation returned an instance of `kind`."""

    def accept(value: Any) -> str | None:
        if isinstance(value, kind):
            return None
        return f"returned {type(value).__name__} where {kind.__name__} was due"

    return accept


class _Unusable(Exception):
    """An implementation returned something that cannot be used."""


def _check(accept: Accept | None, value: Any) -> Any:
    """Look at an answer in the plugin's own thread: it may be a generator, or anything else that runs code."""
    if accept is not None and value is not None and (reason := accept(value)) is not None:
        raise _Unusable(reason)
    return value


@dataclass(frozen=True)
class Answer:
    """What one plugin's implementation returned."""

    plugin: str
    value: Any


@dataclass(frozen=True)
class _Pending:
    plugin: str
    hook: str
    call: Call
    budget: float


class HookRunner:
    """Calls the implementations of active plugins so that none of them can harm another or the caller."""

    def __init__(self, diagnostics: Diagnostics, env: Mapping[str, str] | None = None) -> None:
        env = os.environ if env is None else env
        self.diagnostics = diagnostics
        self.strict = env.get("MEMSLOT_STRICT_PLUGINS") == "1"
        self.trace = env.get("MEMSLOT_TRACE_PLUGINS") == "1"
        self._manager = pluggy.PluginManager(hookspecs.PROJECT)
        self._manager.add_hookspecs(hookspecs)
        self._contexts: dict[str, PluginContext] = {}
        self._timeouts: dict[str, float] = {}
        self._lanes: dict[str, Lane] = {}
        self._is_closed = False

    def add(self, plugin: object, context: PluginContext, timeout_ms: int | None = None) -> list[str]:
        """Register a plugin's implementations; give the names of the hooks it implements.

        Raises pluggy's PluginValidationError where an implementation does not fit its hook.
        """
        plugin_id = context.plugin_id
        try:
            self._manager.register(plugin, name=plugin_id)
            callers = self._manager.get_hookcallers(plugin) or []
            self._refuse_misfits(plugin, [caller.name for caller in callers])
        except BaseException:
            # A plugin that was refused at its second hook must not stay with its first.
            if self._manager.is_registered(plugin):
                self._manager.unregister(plugin)
            raise
        self._contexts[plugin_id] = context
        self._lanes[plugin_id] = Lane(plugin_id)
        if timeout_ms is not None:
            self._timeouts[plugin_id] = timeout_ms / 1000
        return [caller.name for caller in callers]

    def _refuse_misfits(self, plugin: object, hooks: list[str]) -> None:
        for name in hooks:
            caller: pluggy.HookCaller = getattr(self._manager.hook, name)
            if not caller.has_spec():
                known = [n for n in vars(hookspecs) if hasattr(getattr(hookspecs, n), "memslot_budget")]
                meant = nearest(name, known)
                hint = f'did you mean "{meant}"?' if meant else f"the hooks are {', '.join(known)}"
                raise pluggy.PluginValidationError(plugin, f"there is no hook {name!r}; {hint}")
            for impl in caller.get_hookimpls():
                if impl.plugin is plugin and (impl.hookwrapper or impl.wrapper):
                    message = f"{name} is a wrapper; memslot calls each implementation by itself"
                    raise pluggy.PluginValidationError(plugin, message)

    def budget_of(self, hook: str, plugin_id: str) -> float:
        """How many seconds one call may take: the plugin's own setting for lifecycle hooks, else the hook's."""
        default: float = getattr(hookspecs, hook).memslot_budget
        return default if hook.startswith("register_") else self._timeouts.get(plugin_id, default)

    def implementers(self, hook: str) -> list[str]:
        """Ids of the plugins that implement a hook, in the order in which they are called."""
        return [impl.plugin_name for impl in self._implementations(hook)]

    def _implementations(self, hook: str) -> list[pluggy.HookImpl]:
        impls = getattr(self._manager.hook, hook).get_hookimpls()
        # Sorting is stable: plugins of equal priority keep the order in which they were activated.
        return sorted(impls, key=lambda impl: -getattr(impl.function, "memslot_priority", 0))

    def call_all(self, hook: str, *, accept: Accept | None = None, **arguments: Any) -> list[Answer]:
        """Call all implementations at the same time; give the answers other than None in order of priority."""
        pending = [
            call
            for impl in self._implementations(hook)
            if (call := self._start(hook, impl, arguments, accept)) is not None
        ]
        answers = [self._finish(call) for call in pending]
        return [answer for answer in answers if answer is not None]

    def call_one(self, plugin_id: str, hook: str, *, accept: Accept | None = None, **arguments: Any) -> Answer | None:
        """Call one plugin's implementation, if it has one."""
        for impl in self._implementations(hook):
            if impl.plugin_name == plugin_id and (pending := self._start(hook, impl, arguments, accept)):
                return self._finish(pending)
        return None

    def call_function(
        self,
        plugin_id: str,
        stage: str,
        function: Callable[[], Any],
        *,
        budget: float,
        convert: Callable[[Any], Any] | None = None,
    ) -> tuple[Any, BaseException | None, float]:
        """Run a function that a plugin handed over (a tool, a prompt section) under the same protection.

        Gives the value, the error if there was one, and the duration in seconds; records nothing.
        """
        try:
            call = self._lanes[plugin_id].start(function, budget, stage, convert)
        except NotStarted as error:
            return None, error, 0.0
        try:
            return call.result(), None, call.duration_ms / 1000
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and not call.is_done:
                raise  # the person's Ctrl-C while waiting, not the plugin's doing
            return None, error, call.duration_ms / 1000

    def call_in_background(self, hook: str, **arguments: Any) -> None:
        """Queue all implementations, each behind its own plugin's earlier calls. Strict mode waits for them."""
        if self.strict:
            self.call_all(hook, **arguments)
            return
        for impl in self._implementations(hook):
            if self._is_closed:
                self._report(impl.plugin_name, hook, "was not called: the host is closed", None)
                continue
            job = functools.partial(self._call_quietly, hook, impl, arguments)
            try:
                self._lanes[impl.plugin_name].enqueue(job)
            except NotStarted as error:
                self._report(impl.plugin_name, hook, str(error), None)

    def _call_quietly(self, hook: str, impl: pluggy.HookImpl, arguments: Mapping[str, Any]) -> None:
        pending = self._start(hook, impl, arguments, None)
        if pending is not None:
            self._finish(pending)

    def drain(self, budget: float) -> None:
        """Wait for what runs in the background, at most `budget` seconds in all."""
        deadline = time.perf_counter() + budget
        for plugin_id, lane in self._lanes.items():
            left = lane.drain(deadline)
            if left:
                message = f"{left} background call(s) were still open after {budget:g} s and are lost"
                self.diagnostics.add(plugin_id, "close", message)

    def close(self) -> None:
        """Stop the plugins' loops; what is called after this in the background is refused."""
        self._is_closed = True
        for lane in self._lanes.values():
            lane.close()

    def _start(
        self, hook: str, impl: pluggy.HookImpl, arguments: Mapping[str, Any], accept: Accept | None
    ) -> _Pending | None:
        plugin_id = impl.plugin_name
        given = {**arguments, "ctx": self._contexts[plugin_id]}
        chosen = {name: own_copy(given[name]) for name in impl.argnames if name in given}
        budget = self.budget_of(hook, plugin_id)
        try:
            call = self._lanes[plugin_id].start(
                lambda: impl.function(**chosen), budget, hook, functools.partial(_check, accept)
            )
        except NotStarted as error:
            self._report(plugin_id, hook, str(error), None)
            return None
        return _Pending(plugin_id, hook, call, budget)

    def _finish(self, pending: _Pending) -> Answer | None:
        plugin_id, hook, call = pending.plugin, pending.hook, pending.call
        try:
            value = call.result()
            return None if value is None else Answer(plugin_id, value)
        except _Unusable as error:
            self._report(plugin_id, hook, str(error), call.duration_ms)
        except OutOfTime:
            self._report(plugin_id, hook, f"did not finish within {pending.budget:g} s", call.duration_ms)
        except HookError:
            raise
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and not call.is_done:
                raise
            self._report(plugin_id, hook, describe_error(error), call.duration_ms, error)
        finally:
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
