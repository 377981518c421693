"""`memslot run`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from memslot.cli.options import agent_option, json_option
from memslot.cli.output import clean_lines, echo, print_json, results_apart, say_warning, silence_log
from memslot.cli.slot import ANSWER_SECONDS
from memslot.events import CHAT_TYPES, ChatType

if TYPE_CHECKING:
    from memslot.host import Host
    from memslot.memory.contract import MemoryStatus


@click.command("run")
@click.argument("prompt")
@click.option("--session", help="Session id to run in.")
@click.option(
    "--chat-type", type=click.Choice(CHAT_TYPES), default="direct", show_default=True, help="Kind of conversation."
)
@agent_option
@json_option
def command(prompt: str, session: str | None, chat_type: ChatType, agent: str | None, as_json: bool) -> None:
    """Show what an agent would be given for PROMPT: context, system prompt and tools.

    Calls no model. Plugins are called as in a real run, so this shows what they recall.

    \b
    Examples:
      memslot run "what did we decide about the API?"
      memslot run "hello" --chat-type group --json
    """
    from memslot.host import Host
    from memslot.plugins.activation import members_of

    silence_log()
    with results_apart(), Host.load(agent=agent) as host:
        for warning in host.warnings:
            say_warning(warning)
        if members_of(host.config.plugins.slots.memory):
            for name, status in _memory_statuses(host).items():
                for problem in status.problems:
                    say_warning(f"{name}: {problem}")
        with host.run(prompt, session=session, chat_type=chat_type) as run:
            if as_json:
                print_json(
                    {
                        "agent": host.agent_id,
                        "session": run.session.id,
                        "memory": host.memory_owner,
                        "memories": list(host.memories.ids),
                        "context": run.context,
                        "systemPrompt": run.system_prompt,
                        "prompt": run.info.prompt,
                        "tools": [tool.to_mcp() for tool in run.tools],
                    }
                )
            else:
                _print_part("System prompt", run.system_prompt or "(nothing)")
                _print_part("Context before the prompt", run.context or "(nothing was recalled)")
                _print_part("Prompt", run.info.prompt)
                tools = [f"{tool.name}: {tool.description}" for tool in run.tools]
                _print_part("Tools", "\n".join(tools) or "(none)")
        host.close()  # the run includes what plugins do at its end
        for event in host.diagnostics:
            if event.stage != "status":  # said above
                say_warning(str(event))


def _memory_statuses(host: Host) -> Mapping[str, MemoryStatus]:
    """Return each memory's status by name; a single memory is called "memory"."""
    if not len(host.memories):
        return {"memory": host.memory_status()}
    statuses = host.memories.statuses(seconds=ANSWER_SECONDS)
    return statuses if len(statuses) > 1 else dict(zip(["memory"], statuses.values(), strict=True))


def _print_part(heading: str, text: str) -> None:
    echo(click.style(heading, bold=True, fg="cyan"))
    echo("\n".join(f"  {line}" for line in clean_lines(text).splitlines()) + "\n")
