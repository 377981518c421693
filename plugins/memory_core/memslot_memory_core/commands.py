"""`memslot memory`: the notes on the command line."""

from __future__ import annotations

import json

import click

from memslot_memory_core.memory import NotesMemory


def make_command(memory: NotesMemory) -> click.Group:
    @click.group(name="memory")
    def group() -> None:
        """Search and read the agent's notes.

        \b
        Examples:
          memslot memory search "release date"
          memslot memory status --json
        """

    @group.command()
    @click.argument("query")
    @click.option("-n", "--max-results", type=click.IntRange(1, 200), help="How many; the config's number unless told.")
    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    def search(query: str, max_results: int | None, as_json: bool) -> None:
        """Find passages that share words with QUERY, best first."""
        outcome = memory.search(query, max_results=max_results)
        if as_json:
            hits = [
                {
                    "path": h.path,
                    "startLine": h.start_line,
                    "endLine": h.end_line,
                    "score": h.score,
                    "snippet": h.snippet,
                }
                for h in outcome.hits
            ]
            click.echo(json.dumps({"mode": outcome.mode, "results": hits}, ensure_ascii=False, indent=2))
            return
        for hit in outcome.hits:
            click.echo(click.style(f"{hit.citation}  {hit.score:.2f}", bold=True))
            click.echo(_printable(hit.snippet) + "\n")
        if not outcome.hits:
            click.echo(f"Nothing in {memory.workspace} shares a word with that.", err=True)

    @group.command()
    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    def status(as_json: bool) -> None:
        """Say where the notes are and how many there are."""
        now = memory.status()
        if as_json:
            data = {"backend": now.backend, "healthy": now.is_healthy, "problems": list(now.problems)}
            click.echo(json.dumps({**data, "counts": dict(now.counts), **now.details}, indent=2))
        else:
            files = now.counts["files"]
            click.echo(f"{files} {'note' if files == 1 else 'notes'} in {memory.workspace}, searched by word")
            for problem in now.problems:
                click.echo(f"Problem: {problem}", err=True)
        if not now.is_healthy:
            raise click.exceptions.Exit(1)

    return group


def _printable(text: str) -> str:
    """A note's text without what would move the cursor or colour the screen."""
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text)
