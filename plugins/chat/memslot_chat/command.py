"""The `memslot chat` command."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

import click
from memslot import ChatType, Host, print_json, say_warning

if TYPE_CHECKING:
    from memslot_chat.conversation import Conversation
    from memslot_chat.interrupts import Interrupts
    from memslot_chat.screen import Screen
    from memslot_chat.turn import Agent

_CANCELLED, _TERMINATED = 130, 143
"""The exit codes of shells for a process ended by SIGINT or SIGTERM."""
_SOON = 1.5
_MAX_INPUT_BYTES = 8 * 1024 * 1024
"""Bytes; more than any model reads at once."""


@click.command("chat")
@click.argument("prompt", required=False)
@click.option("--session", metavar="KEY", help="A conversation: its id, a prefix of it, or a name for a new one.")
@click.option("--new", "is_new", is_flag=True, help="Start a new conversation.")
@click.option("--model", help="Model to use (default: agents.defaults.model).")
@click.option("--base-url", metavar="URL", help="Address of the endpoint (default: agents.defaults.baseUrl).")
@click.option("--system", metavar="TEXT", help="System prompt in place of memslot's own.")
@click.option("--chat-type", type=click.Choice(get_args(ChatType)), help="Chat type (default: direct).")
@click.option("--agent", metavar="ID", help="Agent to use (default: the default agent).")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the answer to PROMPT, its tool calls and its usage as JSON."
)
@click.pass_context
def command(
    ctx: click.Context,
    prompt: str | None,
    session: str | None,
    is_new: bool,
    model: str | None,
    base_url: str | None,
    system: str | None,
    chat_type: ChatType | None,
    agent: str | None,
    as_json: bool,
) -> None:
    """Talk with a model that has this memory: recall, tools, sessions.

    Works with every OpenAI-compatible chat endpoint, such as OpenAI's, Ollama's or llama.cpp's. With PROMPT, or with
    text on stdin, it prints one answer and exits; that is a conversation of its own unless --session names one.
    Otherwise it resumes the last conversation. There, /help lists the commands, Ctrl-C stops an answer, and Ctrl-D ends
    the chat.

    \b
    Examples:
      memslot chat
      memslot chat "what did we decide about the API?"
      git diff | memslot chat "review this" --session review
      memslot chat --base-url http://localhost:11434/v1 --model qwen3
    """
    asked = _prompt_and_input(prompt, ctx)
    if asked is None and as_json:
        raise click.UsageError("--json needs a PROMPT, or text on stdin", ctx)
    if is_new and session is not None:
        raise click.UsageError("use --new or --session, not both; an unused KEY starts a new conversation", ctx)
    options = _Options(session, is_new, model, base_url, system, chat_type, agent)
    if os.environ.get("TERM") == "dumb":
        ctx.color = False
    ctx.exit(_run(ctx.find_object(Host), options, asked, as_json))


@dataclass(frozen=True)
class _Options:
    session: str | None
    is_new: bool
    model: str | None
    base_url: str | None
    system: str | None
    chat_type: ChatType | None
    agent: str | None


def _prompt_and_input(prompt: str | None, ctx: click.Context) -> str | None:
    """Return the prompt, the piped text, or both; None at a terminal."""
    parts = [prompt] if prompt is not None else []
    if sys.stdin is not None and sys.stdin.isatty():
        if prompt is None:
            return None
    elif sys.stdin is not None:  # None if the parent closed it
        piped = sys.stdin.buffer.read(_MAX_INPUT_BYTES + 1)
        if len(piped) > _MAX_INPUT_BYTES:
            raise click.UsageError(f"stdin has more than {_MAX_INPUT_BYTES:,} bytes; send less", ctx)
        parts.append(piped.decode("utf-8", "replace"))
    asked = "\n\n".join(part.strip() for part in parts if part.strip())
    if not asked:
        raise click.UsageError("the prompt is empty", ctx)
    return asked


def _run(host: Host | None, options: _Options, asked: str | None, as_json: bool) -> int:
    """Hold a dialogue or answer once; returns the exit code."""
    from memslot_chat.interrupts import Cancelled, Interrupts, Terminated

    with Interrupts() as interrupts:
        try:
            if asked is None:
                return _hold_dialogue(host, options, interrupts)
            return _answer_once(host, options, asked, as_json, interrupts)
        except Cancelled:
            return _CANCELLED
        except Terminated:
            return _TERMINATED


def _hold_dialogue(loaded: Host | None, options: _Options, interrupts: Interrupts) -> int:
    from memslot_chat.terminal import TerminalDialogue, make_screen

    colour = click.get_current_context().color is not False
    with _host(loaded, options, interrupts) as host:
        screen = make_screen(is_terminal=sys.stdout.isatty(), colour=colour)
        with _agent(host, options, screen, interrupts) as agent:
            conversation = _conversation(host, options, resumes=True)
            return TerminalDialogue(agent, conversation, chat_type=options.chat_type, colour=colour).hold()


def _answer_once(loaded: Host | None, options: _Options, prompt: str, as_json: bool, interrupts: Interrupts) -> int:
    from memslot_chat.screen import PlainScreen, say_error

    out = sys.stdout
    screen = PlainScreen(None if as_json else out)
    # stdout is for the answer: plugin output goes to stderr.
    with contextlib.redirect_stdout(sys.stderr), _host(loaded, options, interrupts) as host:
        with _agent(host, options, screen, interrupts) as agent:
            conversation = _conversation(host, options, resumes=False)
            outcome = agent.take_turn(conversation, prompt)
            ended_by = _TERMINATED if interrupts.must_end else _CANCELLED
        if as_json:
            model = agent.endpoint.service.model
            with contextlib.redirect_stdout(out):
                print_json({"agent": host.agent_id, "session": conversation.id, "model": model, **outcome.to_json()})
        _close(host, interrupts)  # let plugins finish their end-of-run work
        for event in host.diagnostics:
            say_warning(str(event))
    if outcome.error is not None:
        say_error(outcome.error)
    return ended_by if outcome.cancelled else 1 if outcome.error is not None else 0


@contextmanager
def _host(loaded: Host | None, options: _Options, interrupts: Interrupts) -> Iterator[Host]:
    """Return the host that the command line loaded, or one for another agent."""
    host = loaded
    if host is None or options.agent not in (None, host.agent_id):
        with interrupts.waiting():
            host = Host.load(agent=options.agent)
        for warning in host.warnings:
            say_warning(warning)
    try:
        yield host
    finally:
        _close(host, interrupts)


def _close(host: Host, interrupts: Interrupts) -> None:
    """Let plugins finish; at a terminal, say why it is idle."""
    notice = threading.Timer(_SOON, lambda: say_warning("plugins are still working; press Ctrl-C to end the chat now"))
    notice.daemon = True
    if sys.stderr is not None and sys.stderr.isatty():
        notice.start()
    try:
        with interrupts.ending():
            host.close()
    finally:
        notice.cancel()


@contextmanager
def _agent(host: Host, options: _Options, screen: Screen, interrupts: Interrupts) -> Iterator[Agent]:
    from memslot_chat.endpoint import Endpoint
    from memslot_chat.settings import chat_settings
    from memslot_chat.turn import Agent

    settings = chat_settings(host.config, host.agent_id, os.environ, model=options.model, base_url=options.base_url)
    endpoint = Endpoint(settings.service, interrupts, on_retry=lambda why: screen.waiting(f"{why}; asking again"))
    try:
        yield Agent(
            host, endpoint, screen, interrupts, context_window=settings.context_window, system_prompt=options.system
        )
    finally:
        endpoint.close()


def _conversation(host: Host, options: _Options, *, resumes: bool) -> Conversation:
    from memslot_chat import conversation

    if options.session is not None:
        session = conversation.find_session(conversation.store_of(host), options.session)
        return conversation.open_conversation(host, session, options.chat_type)
    if not resumes:
        return conversation.new_conversation(host, options.chat_type, conversation.ONCE)
    last = None if options.is_new else conversation.last_conversation(host, options.chat_type or "direct")
    if last is not None:
        return conversation.open_conversation(host, last.id)
    return conversation.new_conversation(host, options.chat_type)
