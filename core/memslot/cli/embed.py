"""`memslot embed`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from memslot.cli.options import agent_option, json_option
from memslot.cli.output import clean, print_json, print_pairs, print_table, say_error, say_warning, silence_log

if TYPE_CHECKING:
    from memslot.embeddings.selection import Selection
    from memslot.host import Host

_PROBE = "How do I ask an embedding provider whether it works?"
_SHOWN_NUMBERS = 8


@click.group("embed")
def command() -> None:
    """List and test embedding providers.

    \b
    Examples:
      memslot embed providers
      memslot embed probe
      memslot embed text "the quick brown fox" --json
    """


@command.command()
@agent_option
@json_option
def providers(agent: str | None, as_json: bool) -> None:
    """List embedding providers, and which one is in use.

    Shows what each needs and whether text leaves this machine.

    \b
    Examples:
      memslot embed providers
      memslot embed providers --json | jq -r '.providers[] | select(.ready) | .id'
    """
    with _load(agent) as host:
        reports = host.embedding_providers.report(host.config.memory_search(host.agent_id))
        selection = host.select_embedder()
    chosen = selection.provider.id if selection.provider is not None else None
    passed_over = dict(selection.passed_over)
    # What a provider lacks is known in advance; whether it can be created, only after trying.
    lacks = {each.id: each.lack or (passed_over.get(each.id) if each.id != chosen else None) for each in reports}
    if as_json:
        rows = [
            {
                "id": each.id,
                "plugin": each.plugin,
                "ready": lacks[each.id] is None,
                "missing": lacks[each.id],
                "sendsTextAway": each.sends_text_away,
                "autoOrder": each.auto_order,
                "chosen": each.id == chosen,
            }
            for each in reports
        ]
        print_json({"providers": rows, "selection": selection.to_json()})
        return
    print_table(
        ["", "id", "plugin", "text", "state"],
        [
            [
                "→" if each.id == chosen else "",
                each.id,
                each.plugin,
                "leaves this machine" if each.sends_text_away else "stays here",
                lacks[each.id] or "ready",
            ]
            for each in reports
        ],
    )
    used = f"{chosen} is used" if chosen is not None else "none is used: search goes by keywords only"
    click.echo(f"\n{used} ({clean(selection.reason)}).")


@command.command()
@click.option("--provider", "name", help="Provider to use (default: the one that search uses).")
@agent_option
@json_option
def probe(name: str | None, agent: str | None, as_json: bool) -> None:
    """Make one real call and report the result. Exits with 1 and the reason if it fails.

    \b
    Examples:
      memslot embed probe
      memslot embed probe --provider openai --json | jq .latencyMs
    """
    from memslot.embeddings.pipeline import EmbeddingPipeline
    from memslot.errors import MemslotError

    with _load(agent) as host:
        selection = _select(host, name)
        error = None if selection.provider is not None else selection.reason
        taken = 0.0
        if selection.provider is not None:
            started = time.perf_counter()
            try:
                EmbeddingPipeline(selection.provider).embed_query(_PROBE)
            except MemslotError as failure:
                error = clean(str(failure))
            taken = (time.perf_counter() - started) * 1000
    told = selection.to_json()
    if as_json:
        keys = ("requested", "provider", "model", "dims", "reason", "passedOver")
        known = {key: told[key] for key in keys}
        latency = round(taken, 1) if error is None else None
        print_json({"ok": error is None, **known, "latencyMs": latency, "error": error})
    elif error is None:
        rows = [
            ["provider", f"{told['provider']} ({selection.reason})"],
            ["model", told["model"]],
            ["dims", str(told["dims"])],
            ["latency", f"{taken:.0f} ms"],
        ]
        print_pairs(rows)
    if error is not None:
        if not as_json:
            say_error(error)
        raise click.exceptions.Exit(1)


@command.command()
@click.argument("text")
@click.option("--provider", "name", help="Provider to use (default: the one that search uses).")
@click.option("--as-query", is_flag=True, help="Embed TEXT as a query, not as a document.")
@agent_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with all numbers.")
def text(text: str, name: str | None, as_query: bool, agent: str | None, as_json: bool) -> None:
    """Print the embedding of TEXT.

    \b
    Examples:
      memslot embed text "the quick brown fox"
      memslot embed text "the quick brown fox" --json | jq '.vector | length'
    """
    from memslot.embeddings.pipeline import EmbeddingPipeline

    with _load(agent) as host:
        selection = _select(host, name)
        if selection.provider is None:
            raise click.ClickException(f"no provider is available: {clean(selection.reason)}")
        pipeline = EmbeddingPipeline(selection.provider)
        row = pipeline.embed_query(text) if as_query else pipeline.embed_documents([text])[0]
    numbers = [float(number) for number in row]
    told: dict[str, Any] = {
        "provider": selection.provider.id,
        "model": selection.provider.model,
        "dims": len(numbers),
        "zero": pipeline.is_zero(row),
        "vector": numbers,
    }
    if as_json:
        print_json(told)
        return
    if told["zero"]:
        say_warning("this is a zero vector, which means nothing and is never compared")
    first = "  ".join(f"{number:+.4f}" for number in numbers[:_SHOWN_NUMBERS])
    more = "  …" if len(numbers) > _SHOWN_NUMBERS else ""
    click.echo(f"{first}{more}\n{len(numbers)} dimensions, {told['provider']} ({told['model']})")


def _load(agent: str | None) -> Host:
    from memslot.host import Host

    silence_log()
    host = Host.load(agent=agent)
    for warning in host.warnings:
        say_warning(warning)
    for event in host.diagnostics:
        say_warning(str(event))
    return host


def _select(host: Host, name: str | None) -> Selection:
    """The provider in use, or the one of that name; a name that no active provider has is a usage error."""
    if name is None:
        return host.select_embedder()
    known = sorted(spec.id for spec in host.embedding_providers.specs)
    if name not in known:
        message = f'unknown or inactive provider "{name}"; active: {", ".join(known) or "none"}'
        raise click.BadParameter(message, param_hint="--provider")
    return host.embedding_providers.select_only(name, host.config.memory_search(host.agent_id))
