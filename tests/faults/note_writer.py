"""One writer of notes in a process of its own: `python note_writer.py KIND HOME WORKSPACE COUNT`.

Prints each text after its write was acknowledged.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def make_host(home: Path, workspace: Path) -> Any:
    from memslot import Host

    search = {"provider": "none", "sync": {"watch": False}}
    config = {
        "agents": {"defaults": {"workspace": str(workspace), "memorySearch": search}},
        "plugins": {"entries": {"anthropic-memory": {"enabled": True, "config": {"tool": True}}}},
    }
    return Host.load(config, home=home)


def memory_write(home: Path, workspace: Path) -> Callable[[str], bool]:
    host = make_host(home, workspace)

    def write(text: str) -> bool:
        return not host.call_tool("memory_write", {"text": text, "target": "memory"}).is_error

    return write


def host_tool(home: Path, workspace: Path) -> Callable[[str], bool]:
    host = make_host(home, workspace)

    def write(text: str) -> bool:
        command = {"command": "insert", "path": "/memories/MEMORY.md", "insert_line": 0, "insert_text": text}
        return not host.call_tool("memory", command).is_error

    return write


def standalone_insert(home: Path, workspace: Path) -> Callable[[str], bool]:
    from memslot_anthropic_memory.tool import MemoryTool

    memory = MemoryTool(make_host(home, workspace).memory)

    def write(text: str) -> bool:
        command = {"command": "insert", "path": "/memories/MEMORY.md", "insert_line": 0, "insert_text": text}
        return not memory.handle(command).is_error

    return write


def standalone_replace(home: Path, workspace: Path) -> Callable[[str], bool]:
    from memslot_anthropic_memory.tool import MemoryTool

    memory = MemoryTool(make_host(home, workspace).memory)

    def write(text: str) -> bool:
        command = {"command": "str_replace", "path": "/memories/MEMORY.md", "old_str": "(end)"}
        return not memory.handle({**command, "new_str": f"{text}\n(end)"}).is_error

    return write


def import_over(home: Path, workspace: Path) -> Callable[[str], bool]:
    """Replaces the whole note; what was there is kept beside it as NAME.bak-N."""
    from memslot_memory_core.transfer.placement import place_file

    def write(text: str) -> bool:
        placed = place_file(workspace, "MEMORY.md", f"{text}\n(end)\n".encode(), None, overwrite=True)
        return placed.state == "overwritten"

    return write


def main() -> None:
    kind, home, workspace, count = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])
    write = globals()[kind](home, workspace)
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(count):
        text = f"note {kind} of {home.name} {number}."
        if write(text):
            print(text, flush=True)


if __name__ == "__main__":
    main()
