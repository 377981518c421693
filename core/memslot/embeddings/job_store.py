"""Running batch jobs on disk, so a process killed while waiting does not pay for them twice."""

from __future__ import annotations

import hashlib
import json
import logging
import time
from dataclasses import dataclass
from pathlib import Path

from memslot.storage.atomic import write_file
from memslot.storage.folder import make_private_dir

logger = logging.getLogger("memslot.embeddings")
_VERSION = 1
_FORGOTTEN_AFTER = 7 * 24 * 3600.0
"""Providers delete a job's results within days."""


@dataclass(frozen=True)
class StoredJob:
    """A job: the provider's id for it, and the hashes of its texts, which double as request ids."""

    id: str
    hashes: tuple[str, ...]
    submitted_at: float
    expired_before: bool = False
    """Whether an earlier job with these texts expired."""


class JobStore:
    """The jobs of one provider and model, one owner-only file each."""

    def __init__(self, folder: Path, provider_key: str) -> None:
        self._folder = Path(folder)
        self._key = provider_key

    def save(self, job: StoredJob) -> None:
        make_private_dir(self._folder)
        tree = {
            "version": _VERSION,
            "providerKey": self._key,
            "job": job.id,
            "submittedAt": job.submitted_at,
            "expiredBefore": job.expired_before,
            "hashes": list(job.hashes),
        }
        write_file(self._file(job.id), json.dumps(tree), mode=0o600)

    def forget(self, job: StoredJob) -> None:
        try:
            self._file(job.id).unlink(missing_ok=True)
        except OSError as error:
            logger.warning("%s cannot be deleted: %s", self._file(job.id), error)

    def load(self) -> list[StoredJob]:
        """Return the jobs recent enough to resume, oldest first."""
        if not self._folder.is_dir():
            return []
        jobs = []
        for file in sorted(self._folder.glob(f"{self._prefix}*.json")):
            job = self._read(file)
            if job is None:
                continue
            if time.time() - job.submitted_at > _FORGOTTEN_AFTER:
                file.unlink(missing_ok=True)
            else:
                jobs.append(job)
        return sorted(jobs, key=lambda job: job.submitted_at)

    def _read(self, file: Path) -> StoredJob | None:
        try:
            tree = json.loads(file.read_text(encoding="utf-8"))
            if tree["version"] != _VERSION or tree["providerKey"] != self._key:
                return None
            hashes = tuple(str(text_hash) for text_hash in tree["hashes"])
            return StoredJob(str(tree["job"]), hashes, float(tree["submittedAt"]), bool(tree["expiredBefore"]))
        except FileNotFoundError:  # another process just finished this job
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            logger.warning("%s is not a readable batch job, skipping it: %s", file, error)
            return None

    @property
    def _prefix(self) -> str:
        return f"batch-{self._key[:16]}-"

    def _file(self, job_id: str) -> Path:
        # The id comes from a server: never use it as a file name.
        return self._folder / f"{self._prefix}{hashlib.sha256(job_id.encode()).hexdigest()[:16]}.json"
