"""once, when the plugin is activated. The tools are checked and offered to every run from then on."""

from datetime import UTC, datetime

from memslot import PluginContext, Tool, hookimpl


def tell_time(args: dict[str, str]) -> str:
    return datetime.now(UTC).isoformat(timespec="minutes")


@hookimpl
def register_tools(ctx: PluginContext) -> list[Tool]:
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    return [Tool("current_time", "Tell the time in UTC.", schema, tell_time, read_only=True)]
