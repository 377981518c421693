"""before the first run of a conversation that this host has not seen; all plugins at the same time."""

from memslot import PluginContext, Session, hookimpl


@hookimpl
def session_start(ctx: PluginContext, session: Session) -> None:
    ctx.logger.info("%s conversation %s begins", session.chat_type, session.id)
