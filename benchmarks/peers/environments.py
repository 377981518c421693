"""Each peer in an environment of its own: a venv, or an npm prefix beside a current Node."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

NODE = "node@24"
"""The `node` package of npm: qmd needs 22, openclaw 24.16."""


class NotInstalled(Exception):
    """A peer cannot be installed here; the text says why, in one line."""


@dataclass(frozen=True)
class Environment:
    """Where the commands of a peer are, and what its install brought: packages beside pip or Node, and their bytes."""

    bin: Path
    version: str
    packages: int
    size: int
    path: str = ""

    def command(self, name: str) -> str:
        return str(self.bin / name)


def python_environment(
    folder: Path, requirements: Sequence[str], product: str, *, ours: Sequence[str] = ()
) -> Environment:
    """A venv with the requirements; `ours` are folders of this checkout, which are installed anew each time."""
    python = folder / "bin" / "python"
    if not _is_ready(folder, [*requirements, *ours]):
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        _install([str(python), "-m", "pip", "install", "--quiet", *requirements, *ours])
        _mark_ready(folder, [*requirements, *ours])
    elif ours:
        plain = [each.partition("[")[0] for each in ours]
        _install([str(python), "-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps", *plain])
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format", "json"], check=True, capture_output=True, text=True
    )
    versions = {each["name"]: each["version"] for each in json.loads(listed.stdout)}
    (library,) = (folder / "lib").glob("python*/site-packages")
    of_pip = [path for name in ("pip", "setuptools") for path in library.glob(f"{name}*")]
    size = disk_usage(library) - sum(map(disk_usage, of_pip))
    return Environment(
        folder / "bin", versions[product], len(versions.keys() - {"pip", "setuptools"}), size, os.environ["PATH"]
    )


def node_environment(folder: Path, package: str) -> Environment:
    """An npm prefix with the package, and a Node that it can run on."""
    if shutil.which("npm") is None:
        raise NotInstalled("npm is not on this machine")
    node = _npm_prefix(folder.parent / "node", NODE) / "node" / "bin"
    path = f"{node}{os.pathsep}{os.environ['PATH']}"
    modules = _npm_prefix(folder, package, path)
    lock = json.loads((modules / ".package-lock.json").read_text(encoding="utf-8"))
    version = json.loads((modules / package / "package.json").read_text(encoding="utf-8"))["version"]
    return Environment(modules / ".bin", version, len(lock["packages"]), disk_usage(modules), path)


def _npm_prefix(folder: Path, package: str, path: str = os.environ["PATH"]) -> Path:
    if not _is_ready(folder, [package]):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        command = ["npm", "install", "--no-audit", "--no-fund", "--loglevel", "error", "--prefix", str(folder), package]
        _install(command, {**os.environ, "PATH": path})
        _mark_ready(folder, [package])
    return folder / "node_modules"


def _install(command: Sequence[str], env: dict[str, str] | None = None) -> None:
    print(f"installing {' '.join(command[-2:])}", file=sys.stderr)
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if "error" in line.lower()] or done.stderr.splitlines()
        raise NotInstalled(lines[0][:200] if lines else f"{command[0]} ended with {done.returncode}")


def _is_ready(folder: Path, wanted: Sequence[str]) -> bool:
    stamp = folder / ".ready"
    return stamp.exists() and json.loads(stamp.read_text(encoding="utf-8")) == list(wanted)


def _mark_ready(folder: Path, wanted: Sequence[str]) -> None:
    (folder / ".ready").write_text(json.dumps(list(wanted)), encoding="utf-8")


def disk_usage(path: Path) -> int:
    """Bytes in a file or folder, without what symbolic links point to."""
    files = [path] if path.is_file() else (file for file in path.rglob("*") if not file.is_symlink() and file.is_file())
    return sum(file.stat().st_size for file in files)
