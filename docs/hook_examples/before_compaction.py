"""when the program calls `host.before_compaction(…)`, and the program waits; all plugins at the same time."""

from collections.abc import Sequence

from memslot import Message, PluginContext, Session, hookimpl


@hookimpl
def before_compaction(ctx: PluginContext, session: Session, messages: Sequence[Message], tokens: int) -> None:
    ctx.logger.info("%d messages (%d tokens) of %s will be summarised", len(messages), tokens, session.id)
