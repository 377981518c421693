"""in the background when a run ends, in the order in which runs end. Closing the host waits for it."""

from collections.abc import Sequence

from memslot import Message, PluginContext, RunInfo, hookimpl, message_text, redact, strip_recalled


@hookimpl
async def agent_end(ctx: PluginContext, run: RunInfo, messages: Sequence[Message], success: bool) -> None:
    if not success or not run.session.is_private:
        return
    said = [strip_recalled(message_text(message)) for message in messages if message.get("role") == "user"]
    with (ctx.state_dir() / "said.txt").open("a", encoding="utf-8") as file:
        file.writelines(redact(text) + "\n" for text in said)
