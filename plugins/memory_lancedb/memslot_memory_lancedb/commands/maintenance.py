"""`ltm history`, `ltm restore`, `ltm optimize` and `ltm doctor`."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import click
from memslot import MemslotError

from memslot_memory_lancedb.commands.output import memories, print_json, print_table, say, say_done, say_warning
from memslot_memory_lancedb.commands.transfer import write_memories
from memslot_memory_lancedb.memory import LanceMemory
from memslot_memory_lancedb.settings import Settings
from memslot_memory_lancedb.store.compaction import optimize as optimize_store
from memslot_memory_lancedb.store.embedder_migration import embed_missing, reembed
from memslot_memory_lancedb.store.recovery import Diagnosis, diagnose
from memslot_memory_lancedb.store.versions import Version, history, restore


def add_commands(group: click.Group, memory: LanceMemory, settings: Settings) -> None:
    @group.command("history")
    @click.option("-n", "--limit", type=click.IntRange(1), default=20, show_default=True, help="How many.")
    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    def show_history(limit: int, as_json: bool) -> None:
        """List earlier versions of the memories, newest first.

        \b
        Examples:
          memslot ltm history
          memslot ltm history --json | jq '.versions[0]'
        """
        versions = history(memory.store)
        changes = dict(zip([each.number for each in versions[1:]], _changes(versions), strict=True))
        shown = versions[::-1][:limit]
        if as_json:
            told = [{"version": v.number, "at": v.at.isoformat(), "memories": v.memories} for v in shown]
            print_json({"total": len(versions), "versions": told})
            return
        print_table(
            ["version", "at", "memories", "change"],
            [
                [each.number, f"{each.at:%Y-%m-%d %H:%M:%S}", each.memories, changes.get(each.number, "")]
                for each in shown
            ],
        )
        if len(versions) > len(shown):
            say(f"{len(shown)} of {len(versions)}; more with -n")

    @group.command("restore")
    @click.argument("version", type=click.IntRange(1))
    @click.option("-y", "--yes", is_flag=True, help="Don't ask for confirmation.")
    def restore_version(version: int, yes: bool) -> None:
        """Restore the memories of VERSION. The current state stays in the history.

        \b
        Examples:
          memslot ltm history
          memslot ltm restore 12
        """
        versions = {each.number: each for each in history(memory.store)}
        if version in versions and not yes:
            now = versions[max(versions)]
            then = versions[version]
            question = (
                f"Go back from {memories(now.memories)} to {memories(then.memories)} of {then.at:%Y-%m-%d %H:%M:%S}?"
            )
            click.confirm(question, abort=True, err=True)
        restored = restore(memory.store, version)
        say_done(f"version {version} is back: {memories(restored.memories)}")

    @group.command()
    @click.option("--keep-history", is_flag=True, help="Keep earlier versions even if something was forgotten.")
    @click.option("--purge", is_flag=True, help="Remove all earlier versions in any case.")
    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    def optimize(keep_history: bool, purge: bool, as_json: bool) -> None:
        """Compact files, build the indices, erase forgotten memories.

        After a change of embedder it also re-embeds every memory. If something was forgotten, earlier versions are
        removed, since they contain it; otherwise only versions older than historyDays.

        \b
        Examples:
          memslot ltm optimize
          memslot ltm optimize --keep-history
        """
        if keep_history and purge:
            raise click.UsageError("--keep-history and --purge are mutually exclusive")
        vectors = _embed_missing(memory)
        asked = True if purge else False if keep_history else None
        identity = memory.embedder.identity
        done = optimize_store(memory.store, identity, keep=settings.history, purge=asked, say=_step)
        if done is None:
            say("Nothing to optimize yet.")
            return
        if as_json:
            print_json(
                {
                    "embedded": vectors,
                    "filesBefore": done.files_before,
                    "filesAfter": done.files_after,
                    "versionsRemoved": done.versions_removed,
                    "purged": done.purged,
                    "indexed": done.indexed,
                    "tablesDropped": done.tables_dropped,
                }
            )
            return
        if vectors:
            say_done(f"{memories(vectors)} embedded")
        say_done(f"{done.files_before} files became {done.files_after}; {done.versions_removed} versions removed")
        if done.purged:
            say_done("forgotten memories are erased from the store's files")
        if done.indexed:
            say_done("the vectors are indexed")

    @group.command()
    @click.option(
        "--save", type=click.Path(dir_okay=False, path_type=Path), help="Save readable memories to this JSONL file."
    )
    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    def doctor(save: Path | None, as_json: bool) -> None:
        """Read every memory, and report damage and what can be saved.

        Changes nothing in the store.

        \b
        Examples:
          memslot ltm doctor
          memslot ltm doctor --save rescued.jsonl
        """
        found = diagnose(memory.store)
        saved = found.memories()
        if save is not None:
            if save.exists():
                raise click.ClickException(f"{save} exists already; choose another file")
            write_memories(saved, save, "jsonl")
        if as_json:
            print_json(_diagnosis_json(found, len(saved), save))
        else:
            _print_diagnosis(memory, found, len(saved), save)
        if not found.is_sound:
            raise click.exceptions.Exit(1)


def _changes(versions: list[Version]) -> list[str]:
    steps = [later.memories - earlier.memories for earlier, later in itertools.pairwise(versions)]
    return [f"{step:+d}" if step else "" for step in steps]


def _step(step: str) -> None:
    if sys.stderr.isatty():
        say(f"… {step}")


def _embed_missing(memory: LanceMemory) -> int:
    """Re-embed after a change of embedder, and embed what lacks vectors; returns how many."""
    shown = sys.stderr.isatty()

    def progress(done: int, total: int) -> None:
        if shown:
            click.echo(f"\rembedding {done} of {total}", nl=done >= total, err=True)

    try:
        return reembed(memory.store, memory.embedder, progress=progress) or embed_missing(
            memory.store, memory.embedder, progress=progress
        )
    except MemslotError as error:
        say_warning(f"vectors are still missing: {error}")
        return 0


def _diagnosis_json(found: Diagnosis, saved: int, file: Path | None) -> dict[str, Any]:
    return {
        "sound": found.is_sound,
        "fault": found.fault,
        "tables": [
            {
                "table": each.name,
                "live": each.is_live,
                "fault": each.fault,
                "readable": len(each.memories),
                "from": each.saved_from if each.fault else None,
            }
            for each in found.tables
        ],
        "savable": saved,
        "savedTo": str(file) if file is not None else None,
    }


def _print_diagnosis(memory: LanceMemory, found: Diagnosis, saved: int, file: Path | None) -> None:
    if found.is_sound:
        say_done(f"every one of {memories(saved)} can be read")
        if file is not None:
            say_done(f"written to {file}")
        return
    if found.fault:
        click.echo(found.fault)
    for table in found.tables:
        state = table.fault or "whole"
        part = f"; {memories(len(table.memories))} can be read, from {table.saved_from}" if table.fault else ""
        click.echo(f"{table.name}: {state}{part}")
    if file is not None:
        say_done(f"{memories(saved)} saved to {file}")
        target = str(file)
    else:
        click.echo(f"{memories(saved)} can be saved with: memslot ltm doctor --save memories.jsonl")
        target = "memories.jsonl"
    place = memory.store.database.location
    say(f"Then move {place} away and import them again with: memslot ltm import {target}")
