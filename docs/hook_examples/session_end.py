"""in the background when the program calls `host.end_session(…)`, when a run without a session of its own ends, and
for every open conversation when the host closes; after the plugin's earlier background calls."""

from memslot import PluginContext, Session, hookimpl


@hookimpl
def session_end(ctx: PluginContext, session: Session) -> None:
    ctx.logger.info("conversation %s is over", session.id)
