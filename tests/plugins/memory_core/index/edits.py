"""A workspace that is edited at random, always in the same way for a seed, and what a watcher would tell of it."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import apsw

FOLDERS = ("memory", "memory/deep", "memory/deep/er", "memory/.hidden", "memory/node_modules", "extra", "docs/sub", ".")
NAMES = ("a.md", "B.md", "note one.md", "note-日本.md", ".secret.md", "USER.md", "MEMORY.md", "plain.txt", "x.markdown")
WRITTEN = ("write", "write", "write", "append", "save", "talk", "bring_in")
PLAIN = (*WRITTEN, "delete", "rename", "case", "swap", "move_folder", "send_out")
KINDS = ("file_to_folder", "folder_to_file", "delete_folder")
LINKS = ("link", "link_folder", "hard_link")


class Edits:
    """Each edit gives the paths on the disk that it touched."""

    def __init__(self, workspace: Path, sessions: Path, elsewhere: Path, seed: int) -> None:
        self.workspace, self.sessions, self.elsewhere = workspace, sessions, elsewhere
        self._random = random.Random(seed)
        self._count = 0
        for folder in ("memory/deep/er", "extra", "docs/sub"):
            (workspace / folder).mkdir(parents=True, exist_ok=True)
        sessions.mkdir(parents=True, exist_ok=True)
        elsewhere.mkdir(parents=True, exist_ok=True)

    def make(self, kinds: tuple[str, ...]) -> list[Path]:
        return [*getattr(self, f"_{self._random.choice(kinds)}")()]

    def _write(self) -> list[Path]:
        folder = self.workspace / self._random.choice(FOLDERS)
        if not self._can_hold(folder):
            return []
        made = folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / self._random.choice(NAMES)
        if file.is_dir() or file.is_symlink():
            return []
        file.write_text(self._text())
        return [file] if made else [folder]

    def _append(self) -> list[Path]:
        return self._with_file(lambda file: file.write_text(file.read_text() + self._text()))

    def _delete(self) -> list[Path]:
        return self._with_file(Path.unlink)

    def _rename(self) -> list[Path]:
        file, folder = self._file(), self._folder()
        target = folder / self._random.choice(NAMES)
        if file is None or target.is_dir():
            return []
        file.replace(target)
        return [file, target]

    def _case(self) -> list[Path]:
        file = self._file()
        if file is None or (target := file.with_name(file.name.swapcase())).is_dir():
            return []
        file.replace(target)
        return [file, target]

    def _save(self) -> list[Path]:
        """As editors do it: all into another file, which then takes the place of the first."""
        file = self._file()
        if file is None:
            return []
        other = file.with_name(f".{file.name}.tmp" if self._random.random() < 0.5 else f"{file.stem}-new.md")
        other.write_text(self._text())
        other.replace(file)
        return [other, file]

    def _swap(self) -> list[Path]:
        one, other = self._file(), self._file()
        if one is None or other is None or one == other:
            return []
        third = one.with_name("4913")
        one.replace(third)
        other.replace(one)
        third.replace(other)
        return [one, other, third]

    def _talk(self) -> list[Path]:
        file = self.sessions / f"s{self._random.randrange(3)}.jsonl"
        with file.open("a") as out:
            out.write(json.dumps({"type": "message", "message": {"role": "user", "content": self._text()}}) + "\n")
        return [file]

    def _move_folder(self) -> list[Path]:
        folder = self._folder(movable=True)
        target = self._folder() / f"moved{self._next()}"
        if folder is None or target.is_relative_to(folder):
            return []
        folder.rename(target)
        return [folder, target]

    def _send_out(self) -> list[Path]:
        folder = self._folder(movable=True)
        if folder is None:
            return []
        folder.rename(self.elsewhere / f"out{self._next()}")
        return [folder]

    def _bring_in(self) -> list[Path]:
        source = self.elsewhere / f"in{self._next()}"
        (source / "below").mkdir(parents=True)
        (source / "a.md").write_text(self._text())
        (source / "below" / "b.md").write_text(self._text())
        target = self._folder() / source.name
        source.rename(target)
        return [target]

    def _file_to_folder(self) -> list[Path]:
        def become_folder(file: Path) -> None:
            file.unlink()
            file.mkdir()
            (file / "inside.md").write_text(self._text())

        return self._with_file(become_folder)

    def _folder_to_file(self) -> list[Path]:
        folder = self._folder(movable=True)
        if folder is None:
            return []
        shutil.rmtree(folder)
        folder.write_text(self._text())
        return [folder]

    def _delete_folder(self) -> list[Path]:
        folder = self._folder(movable=True)
        if folder is None:
            return []
        below = [*folder.rglob("*")]
        shutil.rmtree(folder)
        return [*below, folder]

    def _link(self) -> list[Path]:
        return self._with_file(lambda file: self._new(file).symlink_to(file), also=True)

    def _link_folder(self) -> list[Path]:
        link = self._folder() / f"link{self._next()}"
        link.symlink_to(self.workspace / "memory", target_is_directory=True)
        return [link]

    def _hard_link(self) -> list[Path]:
        return self._with_file(lambda file: self._new(file).hardlink_to(file), also=True)

    def _with_file(self, act: Any, *, also: bool = False) -> list[Path]:
        file = self._file()
        if file is None:
            return []
        act(file)
        return [self._newest, file] if also else [file]

    def _new(self, file: Path) -> Path:
        self._newest = file.with_name(f"{self._random.choice('aZ')}{self._next()}.md")
        return self._newest

    def _file(self) -> Path | None:
        files = [each for each in sorted(self.workspace.rglob("*")) if each.is_file() and not each.is_symlink()]
        inside = [each for each in files if self._can_hold(each.parent)]
        return self._random.choice(inside) if inside else None

    def _folder(self, *, movable: bool = False) -> Any:
        top = {self.workspace / name for name in ("memory", "extra", "docs")}
        found = [each for each in sorted(self.workspace.rglob("*")) if each.is_dir() and self._can_hold(each)]
        if movable:
            movables = [each for each in found if each not in top]
            return self._random.choice(movables) if movables else None
        return self._random.choice([each for each in found if each not in {self.workspace / "docs"}])

    def _can_hold(self, folder: Path) -> bool:
        """Not behind a link, and not below a file: `write` would fail there."""
        steps = [folder, *folder.parents]
        inside = steps[: steps.index(self.workspace)] if self.workspace in steps else []
        return not any(step.is_symlink() or step.is_file() for step in inside)

    def _text(self) -> str:
        words = self._random.choices(("lighthouse", "harbour", "windmill", "orchard"), k=self._random.randint(1, 9))
        return f"Line {self._next()}: {' '.join(words)}\n"

    def _next(self) -> int:
        self._count += 1
        return self._count


def content(index: Path) -> list[Any]:
    """All that the index says of files, in an order that does not depend on how it came in."""
    db = apsw.Connection(str(index))
    try:
        number = db.execute("SELECT id FROM generations WHERE state = 'live'").get
        files = db.execute(f"SELECT source, path, hash, private FROM files_{number} ORDER BY source, path").fetchall()
        chunks = db.execute(
            f"SELECT f.path, c.start_line, c.end_line, c.text FROM chunks_{number} c JOIN files_{number} f "
            "ON f.id = c.file_id ORDER BY 1, 2, 3, 4"
        ).fetchall()
        words = db.execute(f"SELECT count(*) FROM fts_{number}_docsize").get
        return [files, chunks, words]
    finally:
        db.close()
