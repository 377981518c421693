"""memslot's tools as LangChain tools."""

from __future__ import annotations

from typing import Any, Literal

from langchain_core.tools import BaseTool, ToolException
from memslot import Session, ToolResult
from pydantic import PrivateAttr

from memslot_adapters.tools import ChatType, Source, Toolbox


def memory_tools(
    source: Source, *, session: str | Session | None = None, chat_type: ChatType | None = None
) -> list[BaseTool]:
    """The tools of a host or a run, for `bind_tools`, `ToolNode` and prebuilt agents.

    Inside `remembering` they belong to that run. The list is created once: for a group, pass its chat type here, or the
    model sees tools that the group refuses.
    """
    toolbox = Toolbox(source, session, chat_type)
    return [
        MemoryTool(
            toolbox,
            name=tool.name,
            description=tool.description,
            args_schema=tool.schema,
            metadata={"annotations": tool.to_mcp()["annotations"]},
        )
        for tool in toolbox.tools
    ]


class MemoryTool(BaseTool):
    """A memslot tool. Its message's `artifact` is the result as data; a failure has the status `error`."""

    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    handle_tool_error: Any = True
    _toolbox: Toolbox = PrivateAttr()

    def __init__(self, toolbox: Toolbox, **fields: Any) -> None:
        super().__init__(**fields)
        self._toolbox = toolbox

    # `self` is positional-only, so that a tool's argument may have any name.
    def _run(self, /, **arguments: Any) -> tuple[str, Any]:
        return _given(self._toolbox.call(self.name, arguments))

    async def _arun(self, /, **arguments: Any) -> tuple[str, Any]:
        return _given(await self._toolbox.acall(self.name, arguments))


def _given(result: ToolResult) -> tuple[str, Any]:
    if result.is_error:
        raise ToolException(result.text)
    return result.text, result.data
