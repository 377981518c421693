"""Calls tools for a model: validates arguments, runs hooks, turns every failure into a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memslot.agent.registries import Registries
from memslot.diagnostics import Diagnostics
from memslot.errors import ToolArgumentsError
from memslot.events import ChatType, RunInfo, ToolCallVerdict
from memslot.plugins.hooks import HookRunner, describe_failure
from memslot.plugins.isolation import own_copy
from memslot.text import one_line
from memslot.tools import Tool, ToolCall, ToolResult


class ToolCalls:
    """The tools of all active plugins, ready to be called."""

    def __init__(self, runner: HookRunner, registries: Registries, diagnostics: Diagnostics) -> None:
        self._runner = runner
        self._registries = registries
        self._diagnostics = diagnostics

    def available(self, chat_type: ChatType) -> tuple[Tool, ...]:
        """The tools an agent may use in this type of chat."""
        tools = (tool for _, tool in self._registries.tools.values())
        return tuple(tool for tool in tools if tool.chat_types is None or chat_type in tool.chat_types)

    def call(self, run: RunInfo, name: str, args: Any) -> ToolResult:
        """Call a tool. Never raises for errors of the plugin or the model."""
        allowed = {tool.name: tool for tool in self.available(run.session.chat_type)}
        tool = allowed.get(name)
        if tool is None:
            text = f'there is no tool "{name}" here; the tools are: {", ".join(allowed) or "none"}'
            return ToolResult(text, is_error=True)
        try:
            given: Mapping[str, Any] = own_copy(tool.read_arguments(args))
            self._parse(tool, given)
            given, refusal = self._ask_plugins(run, name, given)
            if refusal is not None:
                return ToolResult(f"{name} was refused: {refusal}", is_error=True)
            parsed = self._parse(tool, given)
        except ToolArgumentsError as error:
            return ToolResult(str(error), is_error=True)
        result, seconds = self._execute(tool, parsed, run)
        self._runner.call(
            "after_tool_call", run=run, tool=name, args=given, result=own_copy(result), duration_seconds=seconds
        )
        return result

    def _parse(self, tool: Tool, args: Mapping[str, Any]) -> Any:
        """Parse the arguments in the plugin's executor, since validators are plugin code."""
        plugin_id = self._registries.tools[tool.name][0]
        value, error, seconds = self._runner.call_function(
            plugin_id, tool.name, lambda: tool.parse_arguments(own_copy(args)), budget=tool.timeout_seconds
        )
        if error is None:
            return value
        if isinstance(error, ToolArgumentsError):
            raise error
        said = describe_failure(error)
        event = self._diagnostics.add(plugin_id, f"tool {tool.name}", said, duration_ms=seconds * 1000)
        raise ToolArgumentsError(f"{tool.name} failed: {event.message}")

    def _ask_plugins(self, run: RunInfo, name: str, args: Mapping[str, Any]) -> tuple[Mapping[str, Any], str | None]:
        """Call `before_tool_call` hooks in turn; return the arguments to use, and a refusal if there was one."""
        for plugin_id in self._runner.implementers("before_tool_call"):
            for answer in self._runner.call("before_tool_call", only=plugin_id, run=run, tool=name, args=args):
                verdict: ToolCallVerdict = answer.value
                if verdict.block is not None:
                    return args, one_line(verdict.block) or "no reason was given"
                if verdict.args is not None:
                    args = dict(verdict.args)
        return args, None

    def _execute(self, tool: Tool, parsed: Any, run: RunInfo) -> tuple[ToolResult, float]:
        plugin_id = self._registries.tools[tool.name][0]
        result, error, seconds = self._runner.call_function(
            plugin_id,
            tool.name,
            lambda: tool.invoke(parsed, ToolCall(run.session)),
            budget=tool.timeout_seconds,
            convert=tool.render,
        )
        if error is None:
            return result, seconds
        said = describe_failure(error)
        event = self._diagnostics.add(plugin_id, f"tool {tool.name}", said, duration_ms=seconds * 1000)
        return ToolResult(f"{tool.name} failed: {event.message}", is_error=True), seconds
