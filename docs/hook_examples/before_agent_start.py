"""at the start of each run, before the model sees the prompt; all plugins at the same time, and the run waits."""

from memslot import AgentStart, PluginContext, RunInfo, fence, hookimpl


@hookimpl(tryfirst=True)
def before_agent_start(ctx: PluginContext, run: RunInfo) -> AgentStart | None:
    if not run.session.is_private or "deploy" not in run.prompt:
        return None
    return AgentStart(prepend_context=fence(["Deploys happen on Tuesdays only."]))
