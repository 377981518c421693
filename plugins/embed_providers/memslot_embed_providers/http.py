"""A small HTTP client. It imports httpx2, so import it only to send a request."""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import httpx2
from memslot import ProviderBusyError, ProviderError

from memslot_embed_providers.error_mapping import cut_short, error_for_response
from memslot_embed_providers.service import Service

CONNECT_SECONDS = 10.0
_ERROR_BYTES = 64 * 1024
_SMALL_BYTES = 1024 * 1024


class BoundedClient(httpx2.Client):
    """Follows no redirects, applies one deadline to the whole response, and reads only the start of an error."""

    def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
        options["follow_redirects"] = False
        seconds = request.extensions.get("timeout", {}).get("read")
        deadline = None if seconds is None else time.monotonic() + seconds
        response = super().send(request, stream=True, **options)
        assert isinstance(response.stream, httpx2.SyncByteStream)
        cap = _ERROR_BYTES if response.status_code >= 300 else None
        response.stream = _Bounded(response.stream, request, deadline, cap)
        if not stream:
            try:
                response.read()
            finally:
                response.close()
        return response


class _Bounded(httpx2.SyncByteStream):
    def __init__(
        self, stream: httpx2.SyncByteStream, request: httpx2.Request, deadline: float | None, cap: int | None
    ) -> None:
        self._stream, self._request, self._deadline, self._cap = stream, request, deadline, cap

    def __iter__(self) -> Iterator[bytes]:
        read = 0
        for chunk in self._stream:
            if self._deadline is not None and time.monotonic() > self._deadline:
                raise httpx2.ReadTimeout("the response did not end", request=self._request)
            yield chunk
            read += len(chunk)
            if self._cap is not None and read >= self._cap:
                return

    def close(self) -> None:
        self._stream.close()


def limits(seconds: float) -> httpx2.Timeout:
    return httpx2.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS))


class Api:
    """JSON calls to one service; every failure is a ProviderError without secrets."""

    def __init__(self, service: Service, headers: Mapping[str, str], *, use_proxies: bool = True) -> None:
        self._service = service
        sent = httpx2.Headers(headers)
        sent.update(service.headers)  # the user's headers win, whatever their case
        # Loading certificates takes 30 ms. Without them an https address, where none is expected, is refused.
        is_plain = service.base_url.startswith("http://")
        verify = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if is_plain else True
        self._client = BoundedClient(headers=sent, trust_env=use_proxies, verify=verify)

    def post(self, url: str, body: Any, *, seconds: float, room: int = _SMALL_BYTES) -> Any:
        content = json.dumps(body, ensure_ascii=False).encode()
        return self.call(
            "POST", url, seconds=seconds, room=room, content=content, headers={"Content-Type": "application/json"}
        )

    def get(self, url: str, *, seconds: float) -> Any:
        return self.call("GET", url, seconds=seconds)

    def call(self, method: str, url: str, *, seconds: float, room: int = _SMALL_BYTES, **sent: Any) -> Any:
        """Send a request, return JSON."""
        with self._open(method, url, seconds, sent) as reply:
            return read_json(self._service, reply.headers, reply.read(room))

    def headers_of(self, url: str, *, seconds: float, **sent: Any) -> Mapping[str, str]:
        """Post a request, return only the response headers."""
        with self._open("POST", url, seconds, sent) as reply:
            return reply.headers

    def lines(self, url: str, *, seconds: float) -> Iterator[str]:
        """Stream the lines of a large response."""
        with self._open("GET", url, seconds, {}) as reply:
            yield from reply.lines()

    def _open(self, method: str, url: str, seconds: float, sent: Mapping[str, Any]) -> Reply:
        outcome: httpx2.Response | ProviderError
        try:
            request = self._client.build_request(method, url, timeout=limits(seconds), **sent)
            outcome = self._client.send(request, stream=True)
            if not outcome.is_success:
                outcome.read()
                outcome = error_for_response(self._service, outcome.status_code, outcome.headers, outcome.text)
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
            outcome = error_for_transport(self._service, error)
        # Raised outside the handler, so that the client's error, which may contain a key, is not its context.
        if isinstance(outcome, ProviderError):
            raise outcome
        return Reply(self._service, outcome.headers, outcome)


class Reply:
    """A successful response whose body has not been read yet."""

    def __init__(self, service: Service, headers: Mapping[str, str], response: Any) -> None:
        self._service, self.headers, self._response = service, headers, response

    def __enter__(self) -> Reply:
        return self

    def __exit__(self, *error: object) -> None:
        self._response.close()

    def read(self, room: int) -> bytes:
        body = bytearray()
        for chunk in self._guarded(self._response.iter_bytes()):
            body += chunk
            if len(body) > room:
                raise ProviderError(f"{self._service} sent more than {room} bytes")
        return bytes(body)

    def lines(self) -> Iterator[str]:
        return self._guarded(self._response.iter_lines())

    def _guarded(self, parts: Iterable[Any]) -> Iterator[Any]:
        iterator = iter(parts)
        failure: ProviderError | None = None
        while failure is None:
            try:
                part = next(iterator)
            except StopIteration:
                return
            except (httpx2.HTTPError, httpx2.StreamError) as error:
                failure = error_for_transport(self._service, error)
            else:
                yield part
        raise failure


def read_json(service: Service, headers: Mapping[str, str], body: bytes) -> Any:
    """Parse a JSON response; other content means a wrong address, invalid JSON a truncated response."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        kind = headers.get("content-type", "").split(";")[0].strip().lower()
    if kind.endswith("json"):
        raise ProviderBusyError(f"{service} sent a truncated response")
    named = service.hide(kind) or "something unnamed"
    raise ProviderError(f"{service} returned {named} instead of JSON; check remote.baseUrl")


def error_for_transport(service: Service, error: BaseException) -> ProviderError:
    """The error for a request without a response."""
    if isinstance(error, httpx2.TimeoutException):
        return cut_short(service, "did not answer in time")
    if isinstance(error, httpx2.InvalidURL | httpx2.UnsupportedProtocol | httpx2.LocalProtocolError):
        return ProviderError(f"{service} cannot be called: the address or a header is invalid")
    if isinstance(error, httpx2.ConnectError | httpx2.ProxyError):
        return cut_short(service, f"cannot be reached: {error}")
    return cut_short(service, f"dropped the connection: {error}")
