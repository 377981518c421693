"""`memslot remember`."""

from __future__ import annotations

import sys

import click

from memslot.cli.options import agent_option, json_option
from memslot.cli.output import clean, print_json, say_done, say_warning
from memslot.cli.slot import check_memory_id, open_memories, refresh_all


@click.command("remember")
@click.argument("text")
@click.option("--in", "memory_id", metavar="ID", help="Memory to save it to (default: the first that can).")
@agent_option
@json_option
def command(text: str, memory_id: str | None, agent: str | None, as_json: bool) -> None:
    """Save TEXT to memory; `-` reads it from stdin.

    It is on disk when the command returns. Secrets in it are redacted.

    \b
    Examples:
      memslot remember "The release is on 12 May."
      memslot remember "Ada drinks tea." --in memory-lancedb
      git log -1 --format=%B | memslot remember -
    """
    text = _readable(_read_stdin() if text == "-" else text)
    with open_memories(agent) as host:
        kept_in, receipt = host.memories.remember(text, into=check_memory_id(host, memory_id))
        if as_json:
            kept = {"memory": kept_in, "path": receipt.path, "isNew": receipt.is_new, "warning": receipt.warning}
            print_json(kept)
        else:
            word = "remembered in" if receipt.is_new else "already known to"
            say_done(f"{word} {kept_in}: {clean(receipt.path)}")
            if receipt.warning:
                say_warning(clean(receipt.warning))
        refresh_all(host, kept_in)


def _read_stdin() -> str:
    """All of stdin, which is UTF-8 whatever the locale says."""
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig").strip("\r\n")
    except UnicodeDecodeError:
        raise click.ClickException("stdin is not text in UTF-8; nothing was remembered") from None


def _readable(text: str) -> str:
    if not text.strip():
        raise click.UsageError("there is nothing to remember: the text is empty")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # an argument that is not UTF-8 arrives with lone surrogates
        raise click.ClickException("the text is not valid UTF-8; nothing was remembered") from None
    return text
