"""Downloads a model once: resumed after a break, checked before it is used, put in place in one step."""

from __future__ import annotations

import errno
import http.client
import logging
import os
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from memslot import ProviderBusyError, ProviderError

from memslot_embed_providers.local.hub import BadReplyError, Reply, ask, check_address, usable_token
from memslot_embed_providers.local.source import HubFile
from memslot_embed_providers.local.storage import (
    checked,
    digest_file,
    digest_of,
    make_private_folder,
    storage_error,
    write_private,
)

DEFAULT_ENDPOINT = "https://huggingface.co"
Progress = Callable[[int, int | None], None]
_CHUNK = 1 << 18
_MOST_FAILURES = 5
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 8.0
_LOCK_SECONDS = 3600.0
_MAGIC = b"GGUF"
_sleep = time.sleep


def download(
    source: HubFile,
    folder: Path,
    *,
    env: Mapping[str, str],
    logger: logging.Logger,
    progress: Progress | None = None,
) -> Path:
    """The file's place on this machine; it is downloaded first when it is not there."""
    target = source.place_in(folder)
    if target.is_file():
        return checked(target, source)
    from filelock import FileLock, Timeout

    try:
        make_private_folder(target.parent)
        lock = FileLock(f"{target}.lock", mode=0o600)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            logger.info("another process is downloading %s; waiting for it", source)
            lock.acquire(timeout=_LOCK_SECONDS)
        try:
            if not target.is_file():
                _Download(source, target, env, logger, progress).run()
        finally:
            lock.release()
    except Timeout:
        raise ProviderBusyError(f"another process has been downloading {source} for an hour; try again later") from None
    except OSError as error:
        raise storage_error(error, target.parent) from None
    return checked(target, source)


class _Download:
    """One download, by the one process that holds its lock."""

    def __init__(
        self,
        source: HubFile,
        target: Path,
        env: Mapping[str, str],
        logger: logging.Logger,
        progress: Progress | None,
    ) -> None:
        base = env.get("HF_ENDPOINT") or DEFAULT_ENDPOINT
        check_address(base)
        self._source, self._target, self._logger, self._progress = source, target, logger, progress
        self._address = source.address(base)
        self._host = urlsplit(base).hostname or base
        self._token = usable_token(base, env)
        self._part = target.with_name(f"{target.name}.part")
        self._tag = target.with_name(f"{target.name}.part.etag")
        self._sha256 = source.sha256

    def run(self) -> None:
        furthest, failures = self._size(), 0
        while True:
            try:
                if self._attempt():
                    break
                trouble = "the connection ended early"
            except ProviderBusyError as error:
                trouble = str(error)
            except ProviderError:
                if not self._size():
                    self._forget()
                raise
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO):
                    raise  # of this machine's disk: another try will not help
                trouble = str(error.strerror or error) or type(error).__name__
            size = self._size()
            failures = 0 if size > furthest else failures + 1
            furthest = max(size, furthest)
            if failures >= _MOST_FAILURES:
                raise ProviderBusyError(
                    f"{self._source} could not be downloaded from {self._host} ({trouble}); "
                    f"{_megabytes(size)} are kept, and the next try goes on from there"
                )
            self._logger.info("download of %s: %s at %s; trying again", self._source, trouble, _megabytes(size))
            _sleep(min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**failures))
        self._finish()

    def _attempt(self) -> bool:
        """One request; True when all bytes are there."""
        offset = self._size()
        reply = ask(self._address, start=offset, token=self._token)
        try:
            if reply.status == 416 and offset and reply.total == offset:
                return True
            if reply.status == 416 and offset:
                self._forget()
                raise ProviderBusyError("the file there is another one by now")
            self._check_status(reply)
            if offset and (reply.status != 206 or reply.start != offset or not self._is_same_file(reply)):
                # It sends everything again, or something else: what is here is of no use.
                self._forget()
                if reply.status != 200:
                    raise ProviderBusyError("the file there is another one by now")
                offset = 0
            self._sha256 = self._source.sha256 or reply.sha256
            if reply.total is None and self._sha256 is None:
                raise BadReplyError(f"{self._host} tells neither the length nor the digest of {self._source}")
            self._check_space(reply, offset)
            if reply.etag:
                write_private(self._tag, reply.etag.encode())
            return self._receive(reply, offset)
        finally:
            reply.close()

    def _check_status(self, reply: Reply) -> None:
        what, status = self._source, reply.status
        if status in (200, 206):
            if reply.content_type == "text/html":
                raise ProviderError(f"{self._host} answered with a web page instead of {what}; check the connection")
            return
        if status == 404:
            raise ProviderError(f"{self._host} has no {what}; check owner, repository and file name")
        if status in (401, 403):
            raise ProviderError(f"{self._host} does not give {what} to everybody; set HF_TOKEN to a token that may")
        if status in (408, 425, 429) or status >= 500:
            raise ProviderBusyError(f"{self._host} answered {status}")
        raise ProviderError(f"{self._host} answered {status} when it was asked for {what}")

    def _is_same_file(self, reply: Reply) -> bool:
        with suppress(OSError):
            return reply.etag is None or self._tag.read_text(encoding="utf-8") == reply.etag
        return True

    def _check_space(self, reply: Reply, offset: int) -> None:
        if reply.total is not None and shutil.disk_usage(self._part.parent).free < reply.total - offset:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _receive(self, reply: Reply, offset: int) -> bool:
        assert reply.body is not None
        told = -1
        with os.fdopen(os.open(self._part, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.truncate(offset)
            file.seek(offset)
            while chunk := _read(reply.body):
                if offset == 0 and not chunk.startswith(_MAGIC[: len(chunk)]):
                    raise ProviderError(f"what {self._host} sends as {self._source} is not a GGUF file")
                file.write(chunk)
                offset += len(chunk)
                if self._progress is not None:
                    self._progress(offset, reply.total)
                if reply.total and offset * 10 // reply.total > told:
                    told = offset * 10 // reply.total
                    self._logger.info("%s: %s of %s", self._source, _megabytes(offset), _megabytes(reply.total))
        return reply.total is None or offset == reply.total

    def _finish(self) -> None:
        digest = digest_of(self._part)
        if self._sha256 is not None and digest != self._sha256:
            self._forget()
            raise ProviderError(
                f"{self._source} arrived damaged: its SHA-256 is {digest}, not {self._sha256}; try again"
            )
        with self._part.open("rb+") as file:
            os.fsync(file.fileno())
        write_private(digest_file(self._target), digest.encode())
        self._part.replace(self._target)
        self._tag.unlink(missing_ok=True)

    def _size(self) -> int:
        with suppress(OSError):
            return self._part.stat().st_size
        return 0

    def _forget(self) -> None:
        for path in (self._part, self._tag):
            path.unlink(missing_ok=True)


def _read(body: http.client.HTTPResponse) -> bytes:
    try:
        return body.read(_CHUNK)
    except http.client.HTTPException as error:
        raise ConnectionError(f"the connection ended early ({type(error).__name__})") from None


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.1f} MB"
