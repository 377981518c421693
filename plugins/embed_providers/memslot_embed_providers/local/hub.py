"""One request for a part of a file, with its redirects followed and the token kept where it belongs."""

from __future__ import annotations

import http.client
import ipaddress
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from email.message import Message
from typing import IO, Any
from urllib.parse import urlsplit

from memslot import ProviderError

SILENCE_SECONDS = 30.0
_MOST_REDIRECTS = 8
_TOTAL = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass
class Reply:
    """An open answer: where its bytes begin, how long the whole file is, and how to recognise it."""

    status: int
    body: http.client.HTTPResponse | None = field(repr=False)
    start: int = 0
    total: int | None = None
    sha256: str | None = None
    etag: str | None = None
    content_type: str = ""

    def close(self) -> None:
        if self.body is not None:
            self.body.close()


class BadReplyError(ProviderError):
    """The server contradicts itself."""


def ask(address: str, *, start: int, token: str | None) -> Reply:
    """Ask for the bytes from `start` on. Connection errors and time-outs rise as OSError."""
    check_address(address)
    hops: list[Message] = []
    request = urllib.request.Request(address, headers={"User-Agent": "memslot", "Accept-Encoding": "identity"})
    if start:
        request.add_header("Range", f"bytes={start}-")
    if token:
        _add_token(request, token)
    try:
        body = urllib.request.build_opener(_Redirects(hops, token)).open(request, timeout=SILENCE_SECONDS)
    except urllib.error.HTTPError as error:
        error.close()
        etag, sha256 = _recognise([*hops, error.headers])
        return Reply(error.code, None, total=_range_of(error.headers)[1], etag=etag, sha256=sha256)
    except urllib.error.URLError as error:
        # Its own text shows a Python object; the reason is what a person can use.
        raise ConnectionError(str(getattr(error.reason, "strerror", None) or error.reason)) from None
    except http.client.HTTPException as error:
        raise ConnectionError(f"the server does not speak HTTP ({type(error).__name__})") from None
    hops.append(body.headers)
    return _read_reply(body, hops, start)


def _read_reply(body: Any, hops: list[Message], start: int) -> Reply:
    headers = body.headers
    reply = Reply(body.status, body, content_type=headers.get_content_type())
    length = _number(headers.get("Content-Length"))
    if body.status == 206:
        first, reply.total = _range_of(headers)
        reply.start = start if first is None else first
        if reply.total is not None and length is not None and reply.start + length > reply.total:
            raise BadReplyError("the server sends more bytes than it says the file has")
    else:
        reply.total = length
    # Of a large file the first server knows the digest and the size; the one it redirects to has the bytes.
    linked = next((size for hop in hops if (size := _number(hop.get("X-Linked-Size"))) is not None), None)
    if linked is not None and reply.total is not None and linked != reply.total:
        raise BadReplyError(f"the server says that the file has {linked} bytes and then that it has {reply.total}")
    reply.total = linked if reply.total is None else reply.total
    reply.etag, reply.sha256 = _recognise(hops)
    return reply


def _recognise(hops: list[Message]) -> tuple[str | None, str | None]:
    """The first tag of all servers on the way, and the first that is a SHA-256."""
    tags = [tag for hop in hops for name in ("X-Linked-Etag", "ETag") if (tag := _plain_tag(hop.get(name)))]
    return (tags[0] if tags else None), next((tag for tag in tags if _SHA256.fullmatch(tag)), None)


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Keeps the headers of every hop; gives the token only to the server it was meant for."""

    max_redirections = _MOST_REDIRECTS

    def __init__(self, hops: list[Message], token: str | None) -> None:
        self._hops = hops
        self._token = token

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        self._hops.append(headers)
        old, new = urlsplit(req.full_url), urlsplit(newurl)
        if new.scheme not in ("http", "https") or (old.scheme == "https" and new.scheme == "http"):
            raise BadReplyError("the server redirects to an address that is not safe to follow")
        request = super().redirect_request(req, fp, code, msg, headers, newurl)
        same_server = (old.scheme, old.netloc) == (new.scheme, new.netloc)
        if request is not None and self._token and same_server and req.has_header("Authorization"):
            _add_token(request, self._token)
        return request


def _add_token(request: urllib.request.Request, token: str) -> None:
    # "Unredirected": urllib would copy an ordinary header to whatever host a redirect names.
    request.add_unredirected_header("Authorization", f"Bearer {token}")


def usable_token(address: str, env: Mapping[str, str]) -> str | None:
    """`HF_TOKEN`, unless it would travel unencrypted to another machine."""
    token = env.get("HF_TOKEN", "").strip()
    if not token:
        return None
    if not re.fullmatch(r"[\x21-\x7e]+", token):
        # http.client would put the whole token into its complaint.
        raise ProviderError("HF_TOKEN has characters that no token has; set it again")
    parts = urlsplit(address)
    return token if parts.scheme == "https" or _is_this_machine(parts.hostname or "") else None


def check_address(address: str) -> None:
    try:
        parts = urlsplit(address)
        port_is_a_number = parts.port is None or parts.port >= 0
    except ValueError:
        port_is_a_number = False
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_a_number or parts.username:
        raise ProviderError("HF_ENDPOINT must be an address such as https://models.example.org")


def _is_this_machine(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def _range_of(headers: Message) -> tuple[int | None, int | None]:
    """The first byte and the whole length that a Content-Range tells."""
    found = _TOTAL.fullmatch(headers.get("Content-Range", ""))
    if found is None:
        return None, None
    return _number(found[1]), _number(found[3])


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch(r"[0-9]{1,18}", text) else None


def _plain_tag(text: str | None) -> str | None:
    return text.removeprefix("W/").strip('"').lower() if text else None
