"""Parses `local.modelPath`: a local file, or one to download."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from memslot import PluginContext, ProviderError

EXAMPLE = "hf:ggml-org/embeddinggemma-300m-qat-q8_0-GGUF/embeddinggemma-300m-qat-Q8_0.gguf"
_SCHEME = "hf:"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9 ._+=()-]{0,199}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class HubFile:
    """A file of a model repository: `hf:owner/repo[@revision]/path/file.gguf[#sha256=…]`."""

    owner: str
    repo: str
    revision: str
    parts: tuple[str, ...]
    sha256: str | None = None

    @property
    def name(self) -> str:
        return self.parts[-1]

    def __str__(self) -> str:
        revision = "" if self.revision == "main" else f"@{self.revision}"
        return f"{_SCHEME}{self.owner}/{self.repo}{revision}/{'/'.join(self.parts)}"

    def address(self, base: str) -> str:
        path = "/".join(quote(part) for part in (self.owner, self.repo, "resolve", self.revision, *self.parts))
        return f"{base.rstrip('/')}/{path}"

    def path_in(self, folder: Path) -> Path:
        """Its path in the cache, which includes the full name, so that two model.gguf don't collide."""
        repo = self.repo if self.revision == "main" else f"{self.repo}@{self.revision}"
        return folder.joinpath(self.owner, repo, *self.parts)


def parse_model_path(text: str) -> Path | HubFile:
    """A local path, or a file to download; refuses names that could escape the cache folder."""
    if not text.startswith(_SCHEME):
        return Path(text).expanduser().absolute()
    address, _, checksum = text.removeprefix(_SCHEME).partition("#")
    pieces = address.split("/")
    if len(pieces) < 3:
        raise _refuse(text, f"write it as {EXAMPLE}")
    owner, (repo, at, revision), parts = pieces[0], pieces[1].partition("@"), tuple(pieces[2:])
    if not (_is_plain(_NAME, owner) and _is_plain(_NAME, repo) and (not at or _is_plain(_REVISION, revision))):
        raise _refuse(text, "the owner, the repository or the revision has invalid characters")
    if not all(_is_plain(_PART, part) for part in parts):
        raise _refuse(text, "a part of the file's path is empty, begins with a dot or has unusual characters")
    if not parts[-1].lower().endswith(".gguf"):
        raise _refuse(text, "the file's name must end in .gguf")
    sha256 = checksum.removeprefix("sha256=").lower() if checksum else None
    if sha256 is not None and (not checksum.startswith("sha256=") or not _SHA256.fullmatch(sha256)):
        raise _refuse(text, "after # comes sha256= and 64 hexadecimal digits")
    return HubFile(owner, repo, revision or "main", parts, sha256)


def cache_folder(ctx: PluginContext, named: str | None) -> Path:
    """The download folder: as configured, else this plugin's own."""
    if named:
        return Path(named).expanduser().absolute()
    return ctx.places.plugin_state_dir(ctx.plugin_id) / "models"


def _is_plain(pattern: re.Pattern[str], text: str) -> bool:
    return pattern.fullmatch(text) is not None and ".." not in text and not text.endswith((".", " "))


def _refuse(text: str, why: str) -> ProviderError:
    return ProviderError(f"local.modelPath {text!r} is invalid: {why}")
