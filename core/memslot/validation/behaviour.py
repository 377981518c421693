"""Checks that run the plugin: it loads, its hooks match the specs, and it registers what its manifest declares."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

from memslot import hookspecs
from memslot.errors import MemslotError
from memslot.events import CHAT_TYPES
from memslot.host import Host
from memslot.plugins.info import PluginInfo
from memslot.validation.report import Check, Report


def check_behaviour(plugin_id: str, kind: str, settings: dict[str, Any], home: Path) -> list[Check]:
    """Load a plugin through the host and check what it registers."""
    report = Report(plugin_id, "")
    slot = plugin_id if kind == "memory" else "none"
    config = {"plugins": {"entries": {plugin_id: {"config": settings}}, "slots": {"memory": slot}}}
    try:
        with Host.load(config, home=home, env={**os.environ, "MEMSLOT_LOAD_PLUGINS": plugin_id}) as host:
            _inspect(report, host, plugin_id)
    except MemslotError as error:
        report.bad("load", str(error))
    return report.checks


def _inspect(report: Report, host: Host, plugin_id: str) -> None:
    decision = next(d for d in host.activation.decisions if d.plugin.id == plugin_id and d.code != "overridden")
    if plugin_id not in host.plugins:
        why = host.failure(plugin_id) or decision.reason
        hint = "; give settings to try it with: --settings '{…}'" if decision.code == "bad-config" else ""
        report.bad("load", f"{why}{hint}")
        return
    report.good("load", "its code loads, and its hooks match their specs")
    _check_hook_marks(report, decision.plugin)
    _check_registered(report, host, decision.plugin)
    if decision.plugin.kind == "memory" and host.memory_problem is not None:
        report.bad("memory", f"it is of kind memory, but {host.memory_problem}")
    elif decision.plugin.kind == "memory":
        report.good("memory", "it registers a memory for the slot")
    for event in host.diagnostics:
        # `_compare` above reports undeclared registrations more clearly.
        if event.plugin == plugin_id and "which its manifest does not name" not in event.message:
            report.bad(event.stage, event.message)


def _check_hook_marks(report: Report, plugin: PluginInfo) -> None:
    """Report functions named like a hook but not marked: they would silently never be called."""
    module, _, attribute = plugin.entry.partition(":")
    holder: Any = sys.modules[module]
    if attribute:
        holder = getattr(holder, attribute)
    names = [name for name, spec in vars(hookspecs).items() if hasattr(spec, "memslot_budget")]
    for name in names:
        function = getattr(holder, name, None)
        if inspect.isroutine(function) and not hasattr(function, f"{hookspecs.PROJECT}_impl"):
            report.bad("hooks", f"{name} is named like a hook, but is not marked with @memslot.hookimpl")


def _check_registered(report: Report, host: Host, plugin: PluginInfo) -> None:
    tools = {tool.name for chat_type in CHAT_TYPES for tool in host.tools(chat_type)}
    own_tools = [name for name in tools if host.tool_owner(name) == plugin.id]
    _compare(report, "tools", plugin.tools, own_tools)
    _compare(report, "providers", plugin.providers, [spec.id for spec in host.embedding_providers.specs])
    _compare(report, "commands", [command.name for command in plugin.commands], list(host.plugin_commands(plugin.id)))


def _compare(report: Report, what: str, declared: Collection[str], registered: Collection[str]) -> None:
    missing, extra = sorted(set(declared) - set(registered)), sorted(set(registered) - set(declared))
    if missing:
        report.bad(what, f"the manifest's provides.{what} names {', '.join(missing)}, which it does not register")
    if extra:
        report.bad(what, f"it registers {', '.join(extra)}, which the manifest's provides.{what} does not name")
    if declared and not missing and not extra:
        report.good(what, f"it registers the {what} its manifest names: {', '.join(sorted(declared))}")
