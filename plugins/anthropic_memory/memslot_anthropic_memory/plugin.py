"""The hooks of anthropic-memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memslot import CanKeepFiles, Memory, MemslotError, PluginContext, Tool, ToolResult, hookimpl

from memslot_anthropic_memory.tool import COMMANDS, MemoryTool

PARAMETERS: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["command"],
    "properties": {
        "command": {"enum": list(COMMANDS), "description": "What to do."},
        "path": {"type": "string", "description": "A file or directory under /memories; for all but rename."},
        "view_range": {
            "type": "array",
            "items": {"type": "integer"},
            "minItems": 2,
            "maxItems": 2,
            "description": "For view: the first and the last line, -1 for the end.",
        },
        "file_text": {"type": "string", "description": "For create: the whole text."},
        "old_str": {"type": "string", "description": "For str_replace: a text that is in the file once."},
        "new_str": {"type": "string", "description": "For str_replace: what takes its place."},
        "insert_line": {"type": "integer", "minimum": 0, "description": "For insert: behind this line; 0 is the top."},
        "insert_text": {"type": "string", "description": "For insert: the lines."},
        "old_path": {"type": "string", "description": "For rename."},
        "new_path": {"type": "string", "description": "For rename."},
    },
}
DESCRIPTION = (
    "View, create, edit, delete and rename your notes: files under /memories that outlast this conversation. "
    "View /memories before you begin, and write down what a later conversation will need."
)


@hookimpl
def register_tools(ctx: PluginContext) -> list[Tool]:
    if not ctx.config.get("tool"):
        return []
    return [make_tool(lambda: ctx.memory)]


def make_tool(find_memory: Callable[[], Memory | CanKeepFiles | None]) -> Tool:
    """The memory tool as a tool of the host, for the agent's private conversations."""

    def execute(command: dict[str, Any]) -> ToolResult:
        try:
            memory = MemoryTool(find_memory())
        except MemslotError as error:
            return ToolResult(f"Error: {error}", is_error=True)
        answer = memory.handle(command)
        return ToolResult(answer.text, is_error=answer.is_error)

    return Tool(
        name="memory",
        description=DESCRIPTION,
        parameters=PARAMETERS,
        execute=execute,
        title="Memory",
        destructive=True,
        chat_types=("direct",),
    )
