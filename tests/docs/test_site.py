"""The docs as a site: built from the same Markdown, strict about links, searchable."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = [pytest.mark.install, pytest.mark.timeout(600)]

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / ".build" / "site"


def _make_site(root: Path) -> subprocess.CompletedProcess[str]:
    mkdocs = ROOT / ".build" / "mkdocs"
    command = ["make", "site", f"SITE={mkdocs}"]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


def test_the_site_has_every_page_and_a_search_index() -> None:
    done = _make_site(ROOT)

    assert done.returncode == 0, done.stdout + done.stderr
    pages = {page.stem for page in (ROOT / "docs").glob("*.md")}
    assert pages == {page.stem for page in (SITE / "docs").glob("*.html")}
    index = json.loads((SITE / "search" / "search_index.json").read_text(encoding="utf-8"))
    assert any("recipes" in entry["location"] for entry in index["docs"])


def test_code_with_words_for_the_tests_is_still_code() -> None:
    """mkdocs would show a fence such as ```python no-run as text."""
    assert "```" not in (SITE / "docs" / "hooks.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("broken", ["[a page](nowhere.md)", "[a heading](quickstart.md#nowhere)"])
def test_a_link_that_leads_nowhere_fails(broken: str, tmp_path: Path) -> None:
    skipped = shutil.ignore_patterns(".git", ".venv", ".build", "tests*", "dist", "__pycache__", "memslot*")
    copy = shutil.copytree(ROOT, tmp_path / "checkout", ignore=skipped)
    with (copy / "docs" / "chat.md").open("a", encoding="utf-8") as page:
        page.write(f"\n{broken}\n")

    done = _make_site(copy)

    assert done.returncode != 0
    assert "nowhere" in done.stdout + done.stderr
