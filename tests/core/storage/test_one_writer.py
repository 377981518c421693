"""Every file is replaced by the storage room, and nowhere else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
MOVES = {
    "core/memslot/agent/spool.py": "sets an entry aside, unread",
    "core/memslot/sessions/registry.py": "sets a damaged registry aside",
    "plugins/anthropic_memory/memslot_anthropic_memory/tool.py": "the model's rename command, under the note's lock",
    "plugins/embed_providers/memslot_embed_providers/local/download.py": "a resumed download, fsynced and checked",
    "plugins/mcp_server/memslot_mcp_server/server/hook_socket.py": "a socket, found by hooks once it listens",
    "plugins/memory_core/memslot_memory_core/index/connection.py": "sets a damaged index aside",
}
"""Modules that may move a file, and why no content is written by it."""
FORBIDDEN = {"rename", "renames", "mkstemp", "NamedTemporaryFile", "move"}


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for folder in (ROOT / "core" / "memslot", *ROOT.glob("plugins/*/memslot_*")):
        for module in folder.rglob("*.py"):
            name = module.relative_to(ROOT).as_posix()
            if not name.startswith("core/memslot/storage/") and "templates" not in module.parts:
                yield name, ast.parse(module.read_text(encoding="utf-8"), name)


def _moves(tree: ast.AST) -> bool:
    """Whether a file is given another name here. `replace` with one argument is a path's: a text's takes two."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.ImportFrom)
            and node.module in ("os", "tempfile", "shutil")
            and {alias.name for alias in node.names} & (FORBIDDEN | {"replace"})
        ):
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner, method = node.func.value, node.func.attr
            if isinstance(owner, ast.Name) and (owner.id, method) == ("os", "replace"):
                return True
            if method == "replace" and len(node.args) == 1 and not node.keywords:
                return True
            if method in FORBIDDEN:
                return True
    return False


def test_no_other_module_replaces_files() -> None:
    found = {name for name, tree in _modules() if _moves(tree)}
    assert found == set(MOVES), "write with memslot.write_file or atomic_file; a move needs its reason in MOVES"


def test_the_look_finds_each_way() -> None:
    ways = [
        "os.replace(a, b)",
        "Path(a).replace(b)",
        "a.rename(b)",
        "from tempfile import mkstemp",
        "shutil.move(a, b)",
    ]
    assert all(_moves(ast.parse(way)) for way in ways)
    assert not _moves(ast.parse("text.replace('a', 'b'); dataclasses.replace(a, b=1)"))
