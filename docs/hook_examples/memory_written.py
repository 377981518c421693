"""in the background after a memory has kept something; of one run, all calls come before its `agent_end`."""

from memslot import MemoryWritten, PluginContext, hookimpl


@hookimpl
def memory_written(ctx: PluginContext, written: MemoryWritten) -> None:
    ctx.logger.info("%s keeps %d characters in %s", written.memory_id, len(written.text), written.path)
