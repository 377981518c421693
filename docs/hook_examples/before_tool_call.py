"""after the arguments fit the tool's schema and before the tool is called; one plugin after the other."""

from collections.abc import Mapping
from typing import Any

from memslot import PluginContext, RunInfo, ToolCallVerdict, hookimpl


@hookimpl
def before_tool_call(ctx: PluginContext, run: RunInfo, tool: str, args: Mapping[str, Any]) -> ToolCallVerdict | None:
    if tool == "memory_get" and not run.session.is_private:
        return ToolCallVerdict(block="notes are read in private chats only")
    if tool == "memory_search":
        return ToolCallVerdict(args={**args, "maxResults": min(args.get("maxResults") or 6, 3)})
    return None
