"""Tools of memslot as a toolset of Pydantic AI."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from memslot import Host, Session, Tool
from pydantic_ai import AbstractToolset, RunContext, ToolDefinition, ToolsetTool
from pydantic_ai.exceptions import ToolFailed
from pydantic_core import SchemaValidator, core_schema

from memslot_adapters.tools import ActiveRun, ChatType, Source, Toolbox, active_run

_ANYTHING = SchemaValidator(core_schema.any_schema())
"""The host validates arguments itself."""


class MemoryToolset(AbstractToolset[Any]):
    """The tools of a host or a run, for `Agent(toolsets=[…])`, with the plugins' prompt sections as instructions.

    It does not recall or capture: `Memory` does. A failing tool tells the model why, and the run continues.
    """

    def __init__(
        self,
        source: Source,
        *,
        session: str | Session | None = None,
        chat_type: ChatType | None = None,
        id: str | None = "memslot",
        follow: Callable[[], ActiveRun | None] = active_run,
    ) -> None:
        self._toolbox = Toolbox(source, session, chat_type, follow=follow)
        self._source = source
        self._follow = follow
        self._id = id
        self._guide: str | None = None

    @property
    def id(self) -> str | None:
        return self._id

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """The tools of the current chat."""
        return {tool.name: self._tool(tool) for tool in self._toolbox.tools}

    def _tool(self, tool: Tool) -> ToolsetTool[Any]:
        definition = ToolDefinition(
            name=tool.name,
            description=tool.description,
            parameters_json_schema=tool.schema,
            metadata={"annotations": tool.to_mcp()["annotations"]},
        )
        return ToolsetTool(toolset=self, tool_def=definition, max_retries=1, args_validator=_ANYTHING)

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Call a tool; the model gets its text."""
        result = await self._toolbox.acall(name, tool_args)
        if result.is_error:
            raise ToolFailed(result.text)
        return result.text

    async def get_instructions(self, ctx: RunContext[Any]) -> str | None:
        """What plugins tell the model about these tools."""
        if not isinstance(self._source, Host):
            return self._source.system_prompt or None
        found = self._follow()
        if found is not None and found.host is self._source:
            return found.run.system_prompt or None
        if self._guide is None:
            self._guide = await asyncio.to_thread(self._source.system_prompt)
        return self._guide or None
