"""in the background after each tool call, in the order of the calls; also when the tool failed (`result.is_error`)."""

from memslot import PluginContext, RunInfo, ToolResult, hookimpl


@hookimpl
def after_tool_call(ctx: PluginContext, run: RunInfo, tool: str, result: ToolResult, duration_seconds: float) -> None:
    state = "failed" if result.is_error else "worked"
    ctx.logger.info("%s %s after %.0f ms", tool, state, duration_seconds * 1000)
