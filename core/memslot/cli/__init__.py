"""The `memslot` command."""

from __future__ import annotations


def main() -> None:
    """Run the command line; the process ends with 0, 1 (failure) or 2 (wrong usage)."""
    import os
    import sys

    from memslot.cli.app import app
    from memslot.errors import MemslotError

    try:
        app.main(prog_name="memslot", color=False if os.environ.get("NO_COLOR") else None)
    except MemslotError as error:
        from memslot.cli.output import say_error

        say_error(str(error))
        sys.exit(1)
