"""`ltm add` and `ltm forget`."""

from __future__ import annotations

import click

from memslot_memory_lancedb.commands.output import clean, memories, print_json, print_table, say, say_done, say_warning
from memslot_memory_lancedb.memory import LanceMemory
from memslot_memory_lancedb.memory_record import CATEGORIES, Category, MemoryRecord
from memslot_memory_lancedb.settings import Settings
from memslot_memory_lancedb.store.purge import purge as purge_store

CANDIDATES = 10


def add_commands(group: click.Group, memory: LanceMemory, settings: Settings) -> None:
    @group.command()
    @click.argument("text")
    @click.option("--importance", type=click.FloatRange(0, 1), default=0.7, show_default=True, help="0 to 1.")
    @click.option("--category", type=click.Choice(CATEGORIES), help="Category (default: detected from the text).")
    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    def add(text: str, importance: float, category: Category | None, as_json: bool) -> None:
        """Add TEXT as a memory, unless it is a duplicate.

        \b
        Examples:
          memslot ltm add "I prefer tea over coffee"
          memslot ltm add "The key is with Ines" --category fact --importance 0.9
        """
        kept = memory.writer.keep(text, importance=importance, category=category)
        if as_json:
            print_json({"action": kept.action, "memory": kept.memory.to_json(), "warning": kept.warning})
            return
        if kept.action == "duplicate":
            say(f"Already known as {kept.memory.id}: {clean(kept.memory.text)}")
            return
        say_done(f"remembered as {kept.memory.id} ({kept.memory.category})")
        if kept.warning:
            say_warning(kept.warning)

    @group.command()
    @click.argument("ids", nargs=-1, metavar="[ID]...")
    @click.option("--query", help="Search, and ask which match to forget.")
    @click.option(
        "--purge",
        is_flag=True,
        default=settings.purge_on_forget,
        help="Erase the text from disk now, with all earlier versions.",
    )
    @click.option("-y", "--yes", is_flag=True, help="Don't ask for confirmation.")
    @click.option("--json", "as_json", is_flag=True, help="Print JSON; needs --yes.")
    def forget(ids: tuple[str, ...], query: str | None, purge: bool, yes: bool, as_json: bool) -> None:
        """Forget memories by ID or by --query.

        Without --purge the text stays on disk in earlier versions until they expire (historyDays) or until `memslot ltm
        optimize`.

        \b
        Examples:
          memslot ltm forget 3f0c6f1e-8f5e-4f0e-9a53-6f5a2f6d8a11
          memslot ltm forget --query "old phone number"
          memslot ltm forget --purge 3f0c6f1e-8f5e-4f0e-9a53-6f5a2f6d8a11
        """
        if bool(ids) == bool(query):
            raise click.UsageError("give one or more IDs, or --query")
        if query and (yes or as_json):
            raise click.UsageError("--query is interactive; with --yes or --json give IDs")
        if as_json and not yes:
            raise click.UsageError("--json does not ask, so it needs --yes")
        chosen = [memory.store.get(each) for each in dict.fromkeys(ids)] or _choose_memory(memory, query or "")
        if not chosen:
            say("Nothing was forgotten.")
            return
        if not yes:
            print_table(["id", "text"], [[each.id, each.text] for each in chosen])
            history = " and all earlier versions, which can't be restored" if purge else ""
            click.confirm(f"Forget {memories(len(chosen))}{history}?", abort=True, err=True)
        removed = memory.forget_all(chosen)
        versions = purge_store(memory.store) if purge else 0
        if as_json:
            print_json({"forgotten": removed, "ids": [each.id for each in chosen], "purged": purge})
        elif purge:
            say_done(
                f"forgot {memories(removed)}; the text and all earlier history were erased from disk "
                f"({versions} versions)"
            )
        else:
            say_done(
                f"forgot {memories(removed)}; the text stays on disk in earlier versions for {settings.history.days} "
                "days, "
                "or until: memslot ltm optimize"
            )


def _choose_memory(memory: LanceMemory, query: str) -> list[MemoryRecord]:
    found = memory.searcher.find(query, CANDIDATES).found
    if not found:
        return []
    rows = [[number, f"{each.score:.3f}", each.memory.text] for number, each in enumerate(found, 1)]
    print_table(["", "score", "text"], rows)
    number = click.prompt("Which one (0 for none)", type=click.IntRange(0, len(found)), default=0, err=True)
    return [found[number - 1].memory] if number else []
