"""Tools of memslot as LangChain tools."""

from __future__ import annotations

from typing import Any, Literal

from langchain_core.tools import BaseTool, ToolException
from memslot import Session, ToolResult
from pydantic import PrivateAttr

from memslot_adapters.tools import ChatType, Source, Toolbox


def memory_tools(
    source: Source, *, session: str | Session | None = None, chat_type: ChatType | None = None
) -> list[BaseTool]:
    """The tools of a host or of a run, for `bind_tools`, `ToolNode` and agents that are made of both.

    Inside `remembering` they belong to that run. The list itself is made once: for a group chat say so here, or the
    model is told of tools that the group refuses.
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
    """A tool of memslot; `artifact` of its message is the result as data. A failure is a message of status `error`."""

    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    handle_tool_error: Any = True
    _toolbox: Toolbox = PrivateAttr()

    def __init__(self, toolbox: Toolbox, **fields: Any) -> None:
        super().__init__(**fields)
        self._toolbox = toolbox

    # Nothing is named here but `self`, so that an argument of a tool may have any name.
    def _run(self, /, **arguments: Any) -> tuple[str, Any]:
        return _given(self._toolbox.call(self.name, arguments))

    async def _arun(self, /, **arguments: Any) -> tuple[str, Any]:
        return _given(await self._toolbox.acall(self.name, arguments))


def _given(result: ToolResult) -> tuple[str, Any]:
    if result.is_error:
        raise ToolException(result.text)
    return result.text, result.data
