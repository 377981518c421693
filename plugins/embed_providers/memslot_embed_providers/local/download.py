"""Downloads a model with huggingface_hub: resumable, locked, verified, atomic.

Not with `hf_hub_download`, which deletes partial files and checks no digest: a background download during short
commands would restart with each of them.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import ipaddress
import logging
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from memslot import FileBusyError, ProviderBusyError, ProviderError, extra_install_command, file_lock, make_private_dir

from memslot_embed_providers.local.model_source import HubFile

DEFAULT_ENDPOINT = "https://huggingface.co"
Progress = Callable[[int, int | None], None]
_LOCK_SECONDS = 3600.0
_TALKATIVE = ("huggingface_hub.file_download", "huggingface_hub.utils._http", "httpx2", "httpcore2.http11")
_SHA256 = re.compile(r"[0-9a-f]{64}")


def download(
    source: HubFile, folder: Path, *, env: Mapping[str, str], logger: logging.Logger, progress: Progress | None = None
) -> Path:
    """The file's local path, downloaded if necessary."""
    target = source.path_in(folder)
    try:
        if not target.is_file():
            make_private_dir(target.parent)
            with file_lock(target.with_name(f"{target.name}.lock"), seconds=_LOCK_SECONDS, what=source):
                if not target.is_file():
                    _download(source, target, env, logger, progress or (lambda done, total: None))
    except FileBusyError:
        raise ProviderBusyError(f"another process has been downloading {source} for an hour; try again later") from None
    except OSError as error:
        raise _storage_error(error, target.parent) from None
    return _checked(target, source)


def _download(
    source: HubFile, target: Path, env: Mapping[str, str], logger: logging.Logger, progress: Progress
) -> None:
    endpoint = env.get("HF_ENDPOINT") or DEFAULT_ENDPOINT
    check_address(endpoint)
    token = usable_token(endpoint, env)
    if env.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        raise ProviderError(f"HF_HUB_OFFLINE is set and {source} is not downloaded yet; unset it and try again")
    try:
        import httpx2
        from huggingface_hub import errors, get_hf_file_metadata
        from huggingface_hub.file_download import http_get
    except ImportError:
        raise ProviderError(f"downloading a model needs huggingface_hub: {extra_install_command('local')}") from None

    # Its own user agent would reveal the calling agent and the version of torch.
    headers = {"user-agent": "memslot", "accept-encoding": "identity"}
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    host = urlsplit(endpoint).hostname
    url = source.address(endpoint)
    part: Path | None = None
    try:
        with _silenced_logging():
            found = get_hf_file_metadata(url, token=False, headers=headers, endpoint=endpoint)
            location = urljoin(url, found.location)
            if _origin(location) != _origin(url):
                headers.pop("authorization", None)  # a signed URL of the storage server
            # Named after the content: parts of two versions never mix.
            part = target.with_name(
                f"{target.name}.{hashlib.sha256((found.etag or '').encode()).hexdigest()[:16]}.part"
            )
            if found.etag is None or (found.size is not None and _size(part) > found.size):
                part.unlink(missing_ok=True)
            _check_space(part, found.size)
            logger.info("downloading %s from %s", source, host)
            while True:
                had = _size(part)
                try:
                    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
                        file.seek(had)
                        http_get(
                            location,
                            file,
                            resume_size=had,
                            headers=headers,
                            expected_size=found.size,
                            displayed_filename=source.name,
                            tqdm_class=_progress_bar(progress),
                        )
                    break
                except httpx2.RequestError:
                    if _size(part) <= had:
                        raise
    except errors.HfHubHTTPError as error:
        raise _refusal(error.response.status_code, source, host) from None
    except errors.OfflineModeIsEnabled:
        raise ProviderError(
            f"HF_HUB_OFFLINE is set and {source} is not downloaded yet; unset it and try again"
        ) from None
    except (httpx2.RequestError, httpx2.InvalidURL) as error:
        reason = str(error) if isinstance(error, httpx2.RequestError) and str(error) else type(error).__name__
        raise _incomplete(source, host, reason, part) from None
    except OSError as error:
        if error.errno is None:  # huggingface_hub's complaint about the length
            raise _incomplete(source, host, "the connection ended early", part) from None
        raise
    _finish(part, target, source, host, found.etag)


def _finish(part: Path, target: Path, source: HubFile, host: str | None, etag: str | None) -> None:
    """Verify the file and move it into place atomically."""
    with part.open("rb+") as file:
        if file.read(4) != b"GGUF":
            part.unlink()
            raise ProviderError(f"{host} did not send a GGUF file for {source}")
        os.fsync(file.fileno())
    digest = _digest_of(part)
    expected = source.sha256 or (etag if etag and _SHA256.fullmatch(etag) else digest)
    if digest != expected:
        part.unlink()
        raise ProviderError(f"{source} arrived damaged: its SHA-256 is {digest}, not {expected}; try again")
    _write_digest(target, digest)
    part.replace(target)
    for stale in target.parent.glob(f"{target.name}.*.part"):
        stale.unlink(missing_ok=True)


def _checked(target: Path, source: HubFile) -> Path:
    """The file, verified against the `#sha256=` pin."""
    if source.sha256 is None:
        return target
    with contextlib.suppress(OSError):
        if _digest_file(target).read_text(encoding="ascii") == source.sha256:
            return target
    digest = _digest_of(target)
    if digest != source.sha256:
        raise ProviderError(
            f'"{target}" is not the file in local.modelPath: its SHA-256 is {digest}; delete it to download it again'
        )
    with contextlib.suppress(OSError):
        _write_digest(target, digest)
    return target


def check_address(address: str) -> None:
    try:
        parts = urlsplit(address)
        is_usable = parts.scheme in ("http", "https") and parts.hostname and not parts.username and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable:
        raise ProviderError("HF_ENDPOINT must be an address such as https://models.example.org")


def usable_token(address: str, env: Mapping[str, str]) -> str | None:
    """`HF_TOKEN`, unless it would be sent unencrypted to another machine."""
    token = env.get("HF_TOKEN", "").strip()
    if not token:
        return None
    if not re.fullmatch(r"[\x21-\x7e]+", token):
        raise ProviderError("HF_TOKEN contains invalid characters; set it again")
    parts = urlsplit(address)
    host = parts.hostname or ""
    is_loopback = host == "localhost"
    with contextlib.suppress(ValueError):
        is_loopback = is_loopback or ipaddress.ip_address(host).is_loopback
    return token if parts.scheme == "https" or is_loopback else None


@contextlib.contextmanager
def _silenced_logging() -> Iterator[None]:
    """Suppress logs of huggingface_hub and its HTTP client in this thread: they contain signed URLs."""
    thread = threading.get_ident()

    def is_of_another_thread(record: logging.LogRecord) -> bool:
        return record.thread != thread

    loggers = [logging.getLogger(name) for name in _TALKATIVE]
    for each in loggers:
        each.addFilter(is_of_another_thread)
    try:
        yield
    finally:
        for each in loggers:
            each.removeFilter(is_of_another_thread)


def _progress_bar(progress: Progress) -> Any:
    """A tqdm-like class that reports to `progress`."""

    class Bar:
        def __init__(self, *, total: int | None, initial: int, **kwargs: object) -> None:
            self._total, self._done = total, initial

        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *exception: object) -> None:
            pass

        def update(self, count: int) -> None:
            self._done += count
            progress(self._done, self._total)

    return Bar


def _check_space(part: Path, total: int | None) -> None:
    if total is not None and shutil.disk_usage(part.parent).free < total - _size(part):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _refusal(status: int, source: HubFile, host: str | None) -> ProviderError:
    if status == 404:
        return ProviderError(f"{host} has no {source}; check owner, repository and file name")
    if status in (401, 403):
        return ProviderError(
            f"{host} has no such repository, or {source} is restricted; check its name and set HF_TOKEN to a token "
            "that may read it"
        )
    if status in (408, 425, 429) or status >= 500:
        return ProviderBusyError(f"{source} could not be downloaded: {host} answered {status}; try again later")
    return ProviderError(f"{host} answered {status} for {source}")


def _incomplete(source: HubFile, host: str | None, reason: str, part: Path | None) -> ProviderBusyError:
    size = _size(part) if part is not None else 0
    kept = f"; {size / 1e6:.1f} MB are kept, and the next attempt resumes there" if size else "; try again later"
    return ProviderBusyError(f"{source} could not be downloaded from {host} ({reason}){kept}")


def _storage_error(error: OSError, folder: Path) -> ProviderError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return ProviderError(
            f'the disk that holds "{folder}" is full; free some space or set another folder in '
            "memorySearch.local.modelCacheDir; the partial download is kept and resumed"
        )
    return ProviderError(f'the model cannot be stored in "{folder}": {error.strerror or error}')


def _origin(address: str) -> tuple[str, str]:
    parts = urlsplit(address)
    return parts.scheme, parts.netloc


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _digest_file(target: Path) -> Path:
    return target.with_name(f"{target.name}.sha256")


def _write_digest(target: Path, digest: str) -> None:
    _digest_file(target).write_text(digest, encoding="ascii")


def _digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
