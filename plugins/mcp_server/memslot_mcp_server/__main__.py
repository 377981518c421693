"""`memslot-mcp-server`: the same as `memslot mcp`, for programs that start a package by its name."""

from __future__ import annotations

import runpy
import sys


def main() -> None:
    """Serve over stdin and stdout."""
    sys.argv = ["memslot", "mcp", *sys.argv[1:]]
    runpy.run_module("memslot", run_name="__main__")


if __name__ == "__main__":
    main()
