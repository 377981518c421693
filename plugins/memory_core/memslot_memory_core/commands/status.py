"""`memslot memory status`."""

from __future__ import annotations

from typing import Any

import click
from memslot import MemoryStatus, PluginContext, clean_lines, print_json, print_pairs

from memslot_memory_core.backend import backend_of
from memslot_memory_core.outcome import age, counted


def make_status_command(ctx: PluginContext) -> click.Command:
    @click.command()
    @click.option("--deep", is_flag=True, help="Also read the whole index and try the embedding provider.")
    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    def status(deep: bool, as_json: bool) -> None:
        """Say what is indexed, how fresh it is, and what is wrong with it.

        \b
        Examples:
          memslot memory status
          memslot memory status --deep --json
        """
        now = backend_of(ctx).status(deep=deep)
        if as_json:
            data = {"backend": now.backend, "healthy": now.is_healthy, "problems": list(now.problems)}
            print_json({**data, "counts": dict(now.counts), **now.details})
        else:
            _print(now)
        if not now.is_healthy:
            raise click.exceptions.Exit(1)

    return status


def _print(now: MemoryStatus) -> None:
    counts, details = now.counts, now.details
    embedding: dict[str, Any] = details.get("embedding") or {}
    if embedding.get("provider"):
        by = f"{embedding['provider']} ({embedding['model']}, {embedding['dims']} numbers): {embedding['reason']}"
    else:
        by = f"none, keywords only: {embedding.get('reason', '')}"
    engine = f"{details['engine']}: {details['engineReason']}" if details.get("engine") else ""
    print_pairs(
        [
            ("Backend", now.backend),
            ("Workspace", details.get("workspace", "")),
            ("Index", f"{details.get('indexFile', '')} ({details.get('indexBytes', 0) / 1e6:.1f} MB)"),
            ("Sources", ", ".join(details.get("sources", ()))),
            ("Files", _files(counts.get("files", 0), details.get("linksSkipped", 0))),
            ("Chunks", f"{counts.get('chunks', 0)} chunks, {counts.get('words', 0)} with words, "
             f"{counts.get('vectors', 0)} with vectors"),
            ("Synced", _synced(details.get("syncedAt"), details.get("changedSince", 0))),
            ("Embeddings", by),
            ("Vectors", engine),
            *((f"Probe {name}", fault or "works") for name, fault in (details.get("probes") or {}).items()),
        ]
    )  # fmt: skip
    for remark in details.get("remarks", ()):
        click.echo(click.style("Note: ", fg="yellow") + clean_lines(remark), err=True)
    for problem in now.problems:
        click.echo(click.style("Problem: ", fg="red") + clean_lines(problem), err=True)


def _files(count: int, links: int) -> str:
    return f"{count}; {counted(links, 'link')} not followed" if links else str(count)


def _synced(moment: float | None, changed: int) -> str:
    if moment is None:
        return "never; run: memslot memory index"
    return f"{age(moment)}; {counted(changed, 'file')} changed since" if changed else age(moment)
