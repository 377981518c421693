"""The hooks of anthropic-memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memslot import CanKeepFiles, Memory, MemslotError, PluginContext, Session, Tool, ToolCall, ToolResult, hookimpl

from memslot_anthropic_memory.tool import COMMANDS, MemoryTool

PARAMETERS: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["command"],
    "properties": {
        "command": {"enum": list(COMMANDS), "description": "What to do."},
        "path": {"type": "string", "description": "A file or directory under /memories; for all commands but rename."},
        "view_range": {
            "type": "array",
            "items": {"type": "integer"},
            "minItems": 2,
            "maxItems": 2,
            "description": "For view: the first and the last line, -1 for the end.",
        },
        "file_text": {"type": "string", "description": "For create: the whole text."},
        "old_str": {"type": "string", "description": "For str_replace: a text that occurs exactly once in the file."},
        "new_str": {"type": "string", "description": "For str_replace: its replacement."},
        "insert_line": {
            "type": "integer",
            "minimum": 0,
            "description": "For insert: the line to insert after; 0 is the top.",
        },
        "insert_text": {"type": "string", "description": "For insert: the text."},
        "old_path": {"type": "string", "description": "For rename."},
        "new_path": {"type": "string", "description": "For rename."},
    },
}
_WRITES = {"create": "file_text", "str_replace": "new_str", "insert": "insert_text"}
"""The commands that write something new, each with the argument that holds it."""
DESCRIPTION = (
    "View, create, edit, delete and rename your notes: files under /memories that outlast this conversation. "
    "View /memories before you begin, and write down what a later conversation will need."
)


@hookimpl
def register_tools(ctx: PluginContext) -> list[Tool]:
    if not ctx.config.get("tool"):
        return []

    def note_memory() -> tuple[str | None, Any]:
        """The first memory in the slot that keeps note files; the owner if none does, which is then refused."""
        found = ctx.memories.first(CanKeepFiles) if ctx.memories is not None else None
        return found or (None, ctx.memory)

    def tell_written(text: str, session: Session) -> None:
        ctx.tell_written(text, session=session, memory_id=note_memory()[0])

    return [make_tool(lambda: note_memory()[1], tell_written)]


def make_tool(
    find_memory: Callable[[], Memory | CanKeepFiles | None],
    tell_written: Callable[[str, Session], None] = lambda text, session: None,
) -> Tool:
    """The memory tool as a tool of the host, for the agent's private conversations."""

    def execute(command: dict[str, Any], call: ToolCall) -> ToolResult:
        try:
            memory = MemoryTool(find_memory())
        except MemslotError as error:
            return ToolResult(f"Error: {error}", is_error=True)
        answer = memory.handle(command)
        written = command.get(_WRITES.get(command["command"], ""))
        if written and not answer.is_error:
            tell_written(written, call.session)
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
