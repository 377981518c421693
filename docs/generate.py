"""Writes what the code already knows: parts of the documentation, the JSON Schemas, and what the packages share.

    python docs/generate.py            write them
    python docs/generate.py --check    write nothing; name what is stale and end with 1

In a page, a generated part stands between `<!-- generated: name -->` and `<!-- end -->`; everything
around it is written by hand and stays.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from memslot.plugins.manifest import MANIFEST_NAME, manifest_json_schema
from parts import api, commands, hooks, packages, rooms, settings

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
SCHEMAS = ROOT / "plugin-schema"
MEMORY_CORE = ROOT / "plugins" / "memory_core" / "memslot_memory_core" / MANIFEST_NAME

PARTS: Mapping[str, Callable[[], str]] = {
    "settings": settings.render,
    "hook-table": hooks.render_table,
    "hooks": hooks.render,
    "commands": commands.render,
    "plugin-commands": lambda: commands.render_of_plugins(ROOT / "plugins"),
    "api": api.render,
    "retrieval-api": api.render_retrieval,
    "rooms": rooms.render_table,
}
_PART = re.compile(r"(<!-- generated: (?P<name>[a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def wanted_files() -> dict[Path, str]:
    """Every file that is wholly or partly generated, with the text it should have."""
    files = {
        SCHEMAS / "plugin.schema.json": _json(manifest_json_schema()),
        **packages.render(ROOT),
        **{DOCS / "images" / name: drawing for name, drawing in rooms.render_maps().items()},
        SCHEMAS / "config.schema.json": _json(settings.schema()),
        MEMORY_CORE: _json({**json.loads(MEMORY_CORE.read_text(encoding="utf-8")), "sections": settings.sections()}),
    }
    used: set[str] = set()
    for page in sorted(DOCS.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        names = [match["name"] for match in _PART.finditer(text)]
        if names:
            files[page] = _PART.sub(lambda match: f"{match[1]}{PARTS[match['name']]().strip()}\n{match[3]}", text)
            used.update(names)
    unused = PARTS.keys() - used
    if unused:
        raise SystemExit(f"no page has a place for: {', '.join(sorted(unused))}")
    return files


def stale_files() -> dict[Path, str]:
    """The files that differ from what they should be, with the text they should have."""
    return {path: text for path, text in wanted_files().items() if _read(path) != text}


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def _json(tree: Mapping[str, Any]) -> str:
    return json.dumps(tree, indent=2, ensure_ascii=False) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the generated parts of the documentation.")
    parser.add_argument("--check", action="store_true", help="write nothing; end with 1 if something is stale")
    check: bool = parser.parse_args().check
    stale = stale_files()
    for path, text in stale.items():
        name = path.relative_to(ROOT)
        if check:
            print(f"{name} is stale; run: make docs", file=sys.stderr)
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"wrote {name}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
