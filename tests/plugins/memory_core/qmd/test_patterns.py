"""Patterns mean what they mean to QMD; the same table is held against the real program in test_real_program.py."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memslot_memory_core.qmd.patterns import literal, matches

FILES = (
    *("a.md", "b.txt", "MEMORY.md", "x.mdx", "sub/a.md", "sub/deep/a.md", "sub/b.txt", "sub.md/c.md"),
    *("a,b.md", "[x].md", "{y}.md", "(z).md", "a b.md", "ü.md", ".hidden.md", ".dir/a.md", "sub/.h.md"),
    *("node_modules/a.md", "sub/dist/a.md", "build.md", "a1.md", "a2.md", "a+b.md", "!n.md"),
)
TABLE = {
    "**/*.md": {
        *("a.md", "MEMORY.md", "sub/a.md", "sub/deep/a.md", "sub.md/c.md", "a,b.md", "[x].md", "{y}.md", "(z).md"),
        *("a b.md", "ü.md", "build.md", "a1.md", "a2.md", "a+b.md", "!n.md"),
    },
    "*.txt": {"b.txt"},
    "MEMORY.md,memory.md,USER.md": {"MEMORY.md"},
    "{a,MEMORY}.md": {"a.md", "MEMORY.md"},
    "sub/**": {"sub/a.md", "sub/deep/a.md", "sub/b.txt"},
    "sub/**/*.{md,txt}": {"sub/a.md", "sub/deep/a.md", "sub/b.txt"},
    "*/a.md": {"sub/a.md"},
    "a?.md": {"a1.md", "a2.md"},
    "a[13].md": {"a1.md"},
    "a[!1-9].md": set(),
    "*.@(txt|mdx)": {"b.txt", "x.mdx"},
    "./a.md": {"a.md"},
    "../*.md": set(),
    "**/b.txt": {"b.txt", "sub/b.txt"},
}


@pytest.mark.parametrize("pattern", TABLE)
def test_pattern_matches_these_and_no_others(pattern: str) -> None:
    assert {file for file in FILES if matches(pattern, file)} == TABLE[pattern]


@given(st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1))
def test_literal_pattern_matches_its_name_only(name: str) -> None:
    assert matches(literal(name), name) is not name.startswith(".")
    assert not matches(literal(name), f"{name}x")
    assert not matches(literal(name), f"sub/{name}")


@given(st.text(), st.text())
def test_no_pattern_lets_a_path_out(pattern: str, path: str) -> None:
    assert not matches(pattern, f"../{path}")
    assert not matches(pattern, f"/{path}")
    assert not matches(pattern, f"sub/../{path}")
    assert not matches(pattern, f"sub//{path}")
