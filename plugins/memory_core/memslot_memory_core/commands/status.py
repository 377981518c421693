"""`memslot memory status`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
from memslot import MemoryStatus, PluginContext, clean_lines, print_json, print_pairs

from memslot_memory_core.backend import backend_of
from memslot_memory_core.search_output import age, pluralize


def make_status_command(ctx: PluginContext) -> click.Command:
    @click.command()
    @click.option("--deep", is_flag=True, help="Also check the whole index and call the embedding provider.")
    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    def status(deep: bool, as_json: bool) -> None:
        """Show what is indexed, how fresh it is, and any problems.

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
            print_pairs(_builtin_pairs(now.counts, now.details) if now.backend == "builtin" else _qmd_pairs(now))
            _print_remarks(now)
        if not now.is_healthy:
            raise click.exceptions.Exit(1)

    return status


def _builtin_pairs(counts: Mapping[str, int], details: Mapping[str, Any]) -> list[tuple[str, str]]:
    embedding: dict[str, Any] = details.get("embedding") or {}
    if embedding.get("provider"):
        by = f"{embedding['provider']} ({embedding['model']}, {embedding['dims']} numbers): {embedding['reason']}"
    else:
        by = f"none, keywords only: {embedding.get('reason', '')}"
    engine = f"{details['engine']}: {details['engineReason']}" if details.get("engine") else ""
    return [
        ("Backend", "builtin"),
        ("Workspace", details.get("workspace", "")),
        ("Index", f"{details.get('indexFile', '')} ({details.get('indexBytes', 0) / 1e6:.1f} MB)"),
        ("Sources", ", ".join(details.get("sources", ()))),
        ("Files", _files(counts.get("files", 0), details.get("linksSkipped", 0))),
        ("Chunks", f"{counts.get('chunks', 0)} chunks, {counts.get('words', 0)} with words, "
         f"{counts.get('vectors', 0)} with vectors"),
        ("Synced", _synced(details.get("syncedAt"), details.get("changedSince", 0))),
        *(("Unfinished", f"{work}; run: memslot memory index") for work in details.get("unfinished", ())),
        ("Embeddings", by),
        ("Vectors", engine),
        *((f"Probe {name}", fault or "works") for name, fault in (details.get("probes") or {}).items()),
    ]  # fmt: skip


def _qmd_pairs(now: MemoryStatus) -> list[tuple[str, str]]:
    """QMD's own status and, during an outage, that of its fallback."""
    details = now.details
    collections = (f"{each['name']} ({each['root']}, {each['pattern']})" for each in details.get("collections", ()))
    fallback: dict[str, Any] = details.get("fallback") or {}
    return [
        ("Backend", now.backend),
        ("Program", " ".join(str(part) for part in (details.get("program"), details.get("version")) if part)),
        ("Mode", details.get("mode", "")),
        ("Home", details.get("home", "")),
        ("Collections", "; ".join(collections) or "none"),
        ("Updated", details.get("updatedAt") or "never; run: memslot memory index"),
        *([("Embedded", details["embeddedAt"])] if details.get("embeddedAt") else []),
        *([("Instead", f"{fallback['backend']} since {fallback['since']}")] if fallback else []),
        *(_builtin_pairs(now.counts, fallback["details"])[1:] if fallback.get("details") else []),
    ]


def _print_remarks(now: MemoryStatus) -> None:
    for remark in now.details.get("remarks", ()):
        click.echo(click.style("Note: ", fg="yellow") + clean_lines(remark), err=True)
    for problem in now.problems:
        click.echo(click.style("Problem: ", fg="red") + clean_lines(problem), err=True)


def _files(count: int, links: int) -> str:
    return f"{count}; {pluralize(links, 'link')} not followed" if links else str(count)


def _synced(moment: float | None, changed: int) -> str:
    if moment is None:
        return "never; run: memslot memory index"
    return f"{age(moment)}; {pluralize(changed, 'file')} changed since" if changed else age(moment)
