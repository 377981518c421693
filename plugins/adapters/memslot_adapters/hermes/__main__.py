"""`python -m memslot_adapters.hermes`: installs the provider into a Hermes home, as a plugin importing this package."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from memslot import MemslotError, make_private_dir, write_file

FILES = {
    "__init__.py": (
        '"""memslot as a memory provider; written by `python -m memslot_adapters.hermes`."""\n\n'
        "from memslot_adapters.hermes import register  # register_memory_provider\n"
    ),
    "plugin.yaml": 'name: memslot\nversion: 0.1.0\ndescription: "memslot: long-term memory in Markdown notes."\n',
}
_MARKS = {"__init__.py": "memslot_adapters.hermes", "plugin.yaml": "name: memslot\n"}
"""What every version of these files contains."""


def install(home: Path) -> Path:
    """Write the plugin's two files, in place of an older version's. Raises a MemslotError if others are there."""
    folder = home / "plugins" / "memslot"
    for each in (folder.parent, folder):
        if each.is_symlink():
            raise MemslotError(f"{each} is a link, and links are not followed")
    for name, mark in _MARKS.items():
        file = folder / name
        if file.is_symlink() or (file.exists() and mark not in file.read_text(encoding="utf-8", errors="replace")):
            raise MemslotError(f"{file} is not ours; remove it, and run this again")
    make_private_dir(folder)
    for name, text in FILES.items():
        write_file(folder / name, text.encode())
    return folder


def main(arguments: list[str]) -> int:
    if len(arguments) > 1 or (arguments and arguments[0].startswith("-")):
        print("usage: python -m memslot_adapters.hermes [HERMES_HOME]", file=sys.stderr)
        return 2
    home = Path(arguments[0] if arguments else os.environ.get("HERMES_HOME") or "~/.hermes").expanduser()
    if not home.is_dir():
        print(f"error: there is no Hermes home at {home}; name it as the argument", file=sys.stderr)
        return 1
    try:
        folder = install(home.absolute())
    except (MemslotError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"wrote {folder}\nnext: hermes config set memory.provider memslot")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
