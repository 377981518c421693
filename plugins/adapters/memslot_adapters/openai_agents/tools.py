"""Tools of memslot as the SDK's function tools."""

from __future__ import annotations

from typing import Any

from agents import AgentBase, FunctionTool, RunContextWrapper
from agents.tool_context import ToolContext
from memslot import Session, Tool

from memslot_adapters.tools import ChatType, Source, Toolbox


def memory_tools(
    source: Source, *, session: str | Session | None = None, chat_type: ChatType | None = None
) -> list[FunctionTool]:
    """The tools of a host or of a run, for `Agent(tools=…)`.

    Inside `remembering` they belong to that run, and a group chat has only those that a group may use. A tool that
    fails answers the model with the reason.
    """
    toolbox = Toolbox(source, session, chat_type)
    return [_function_tool(toolbox, tool) for tool in toolbox.possible_tools]


def _function_tool(toolbox: Toolbox, tool: Tool) -> FunctionTool:
    async def invoke(ctx: ToolContext[Any], arguments: str) -> str:
        return (await toolbox.acall(tool.name, arguments)).text

    def is_enabled(ctx: RunContextWrapper[Any], agent: AgentBase[Any]) -> bool:
        return toolbox.has(tool.name)

    schema = tool.schema
    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=schema,
        on_invoke_tool=invoke,
        strict_json_schema=fits_strict_mode(schema),
        is_enabled=is_enabled,
    )


def fits_strict_mode(schema: Any) -> bool:
    """Whether a schema means the same in strict mode, where all properties are required and no others allowed.

    In strict mode an optional argument would have to be sent every time, and its default would be unreachable.
    """
    if isinstance(schema, list):
        return all(map(fits_strict_mode, schema))
    if not isinstance(schema, dict):
        return True
    if "properties" in schema or schema.get("type") == "object":
        is_closed = schema.get("additionalProperties") is False
        if not is_closed or set(schema.get("required", ())) != set(schema.get("properties", {})):
            return False
    return all(map(fits_strict_mode, schema.values()))
