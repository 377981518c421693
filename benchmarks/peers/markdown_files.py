"""Real Markdown: the documentation that well-known projects put into their sdists, and questions from its headings."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

# Pinned, so that every run reads the same files. Together they hold about 1,100 that qualify.
SDISTS = (
    "aiogram==3.31.0",
    "black==26.10.1",
    "flax==0.12.8",
    "griffe==2.4.1",
    "hatch==1.18.2",
    "inspect-ai==0.3.285",
    "instructor==1.17.0",
    "jupyter-book==2.1.7",
    "jupyterhub==6.1.1",
    "outlines==1.3.3",
    "pip==26.3",
    "pydantic-ai-slim==2.66.0",
    "pymdown-extensions==13.1",
    "scikit-build-core==1.1.1",
    "starlette==1.10.0",
)
SMALLEST, LARGEST = 300, 100_000
"""Bytes of a file: less is a stub, more is generated."""
HEADING = re.compile(r"^#{2,4} +(.+)$", re.MULTILINE)
QUESTION_WORDS = range(3, 9)


@dataclass(frozen=True)
class Page:
    """A Markdown file of a project: `name` is its path with dashes, as tools skip folders such as build or .github."""

    project: str
    name: str
    text: bytes

    @property
    def digest(self) -> str:
        return sha256(self.text).hexdigest()


def download(folder: Path) -> list[Path]:
    """The sdists by pip, each once."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for pin in SDISTS:
        name, version = pin.split("==")
        pattern = f"{name.replace('-', '_')}-{version}.tar.gz"
        if not (folder / pattern).exists():
            print(f"downloading {pin}", file=sys.stderr)
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-binary", ":all:", "--no-deps"]
            subprocess.run([*command, "--dest", str(folder), pin], check=True)
        files.append(folder / pattern)
    return files


def pages_of(sdist: Path) -> Iterator[Page]:
    """The Markdown files of an sdist that are text of a usual size."""
    project = sdist.name.rsplit("-", 1)[0]
    with tarfile.open(sdist) as archive:
        for member in archive:
            if not (member.isfile() and member.name.endswith(".md") and SMALLEST <= member.size <= LARGEST):
                continue
            source = archive.extractfile(member)
            assert source is not None
            text = source.read()
            if is_text(text):
                yield Page(project, "-".join(Path(member.name).parts[1:]).lstrip("."), text)


def is_text(content: bytes) -> bool:
    try:
        return "\0" not in content.decode("utf-8")
    except UnicodeDecodeError:
        return False


def choose(pages: Iterable[Page], count: int) -> list[Page]:
    """As many as asked for, by the hash of their contents: a fair sample, the same each time, without duplicates."""
    unique = {page.digest: page for page in sorted(pages, key=lambda page: (page.project, page.name), reverse=True)}
    chosen = [page for _, page in sorted(unique.items())[:count]]
    if len(chosen) < count:
        raise SystemExit(f"the sdists hold {len(chosen)} files that qualify, not {count}")
    return sorted(chosen, key=lambda page: (page.project, page.name))


def write(pages: Iterable[Page], folder: Path) -> None:
    for page in pages:
        file = folder / page.project / page.name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(page.text)


def questions(pages: Iterable[Page], count: int) -> list[str]:
    """Headings of three to eight words, evenly spread over the pages."""
    headings: dict[str, None] = {}
    for page in pages:
        for heading in HEADING.findall(page.text.decode("utf-8")):
            plain = " ".join(re.findall(r"\w+", re.sub(r"\]\(.*?\)|\{.*?\}|<.*?>", " ", heading)))
            if len(plain.split()) in QUESTION_WORDS and plain.isascii() and not re.search(r"\d", plain):
                headings.setdefault(plain)
    every = list(headings)
    if len(every) < count:
        raise SystemExit(f"the pages hold {len(every)} headings that can be asked for, not {count}")
    return [every[number * len(every) // count] for number in range(count)]
