"""Trusted project config files, by path and content."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from memslot.config.admission import Request, Schemas, requests
from memslot.config.paths import Places
from memslot.config.project import ProjectFile, project_file_at, read_project_file
from memslot.config.read import parse_config_bytes, read_config_bytes
from memslot.errors import ConfigError, TrustError
from memslot.storage.atomic import write_file
from memslot.storage.folder import make_private_dir
from memslot.storage.lock import file_lock

_LOCK_SECONDS = 20.0
TrustState = Literal["trusted", "changed", "unknown"]


@dataclass(frozen=True)
class TrustedProject:
    """One trusted file with its content hash."""

    path: Path
    digest: str
    trusted_at: str


@dataclass(frozen=True)
class TrustBook:
    """All records; `warning` says why the trust file is unusable, if so."""

    projects: Mapping[Path, TrustedProject]
    warning: str | None = None

    def state_of(self, project: ProjectFile) -> TrustState:
        record = self.projects.get(project.path)
        if record is None:
            return "unknown"
        return "trusted" if record.digest == project.digest else "changed"


def read_trust(places: Places) -> TrustBook:
    """Read the trust file; if it is unusable, nothing is trusted."""
    try:
        found = read_config_bytes(places.trust_file)
        if found is None:
            return TrustBook({})
        records = json.loads(found[0])["projects"]
        projects = [
            TrustedProject(Path(path), str(record["sha256"]), str(record.get("trustedAt", "")))
            for path, record in records.items()
        ]
    except (ConfigError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return TrustBook(
            {},
            f"{places.trust_file} cannot be read, so no project is trusted; run `memslot trust` in each project again.",
        )
    return TrustBook({project.path: project for project in projects})


def read_requests(path: Path, schemas: Schemas) -> tuple[ProjectFile, list[Request]]:
    """Return a project's config file and every value it sets, for review before trusting it."""
    project = read_project_file(project_file_at(path))
    return project, requests(parse_config_bytes(project.path, project.data).tree, project.root, schemas)


def trust_project(path: Path, places: Places, *, seen: ProjectFile | None = None) -> TrustedProject:
    """Trust a project's config file as it is now, or as it was when reviewed (`seen`).

    `path` is the project folder or the file.
    """
    project = seen or read_project_file(project_file_at(path))
    parse_config_bytes(project.path, project.data)  # only a valid config can have been reviewed
    record = TrustedProject(project.path, project.digest, datetime.now(UTC).isoformat(timespec="seconds"))
    try:
        make_private_dir(places.home)
        with _locked(places):
            _write(places, {**read_trust(places).projects, record.path: record})
    except OSError as error:
        raise TrustError(
            f"{places.trust_file} could not be written ({error.strerror}); nothing was trusted, "
            "check the disk and its permissions."
        ) from None
    return record


def revoke_trust(path: Path, places: Places) -> bool:
    """Revoke trust in a project's config file, which may be deleted; return False if it was not trusted."""
    real = project_file_at(path).resolve()
    if not places.trust_file.exists():
        return False
    try:
        with _locked(places):
            projects = dict(read_trust(places).projects)
            # The file may have had another suffix when it was trusted.
            gone = [each for each in projects if each == real or each.parent.parent == path.resolve()]
            for each in gone:
                del projects[each]
            if gone:
                _write(places, projects)
    except OSError as error:
        raise TrustError(
            f"{places.trust_file} could not be written ({error.strerror}); the project is still trusted, "
            "check the disk and its permissions."
        ) from None
    return bool(gone)


def _locked(places: Places) -> AbstractContextManager[None]:
    file = places.trust_file
    return file_lock(file.with_name(f".{file.name}.lock"), seconds=_LOCK_SECONDS, what=file)


def trusted_projects(places: Places) -> tuple[TrustedProject, ...]:
    """Return all records, sorted by path."""
    return tuple(project for _, project in sorted(read_trust(places).projects.items()))


def _write(places: Places, projects: Mapping[Path, TrustedProject]) -> None:
    content: dict[str, Any] = {
        "version": 1,
        "projects": {
            str(path): {"sha256": project.digest, "trustedAt": project.trusted_at}
            for path, project in sorted(projects.items())
        },
    }
    write_file(places.trust_file, json.dumps(content, indent=2, ensure_ascii=True) + "\n", mode=0o600)
