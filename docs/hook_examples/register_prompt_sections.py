"""once, when the plugin is activated. A section's text, if it is a function, is asked for at each run."""

from memslot import PluginContext, PromptSection, hookimpl


@hookimpl
def register_prompt_sections(ctx: PluginContext) -> list[PromptSection]:
    return [
        PromptSection("Time", "Ask current_time before you speak of dates.", requires_tools=("current_time",)),
        PromptSection("Conversation", lambda run: f"This is a {run.session.chat_type} chat.", in_minimal=True),
    ]
