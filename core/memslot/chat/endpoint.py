"""Asks a chat endpoint and reads its answer as it comes."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from memslot.chat.failures import (
    BrokenReplyError,
    EndpointBusyError,
    EndpointError,
    failure_in_stream,
    failure_of,
    message_of,
    parsed,
)
from memslot.chat.interrupts import Interrupts
from memslot.chat.reply import Reply, ReplyBuilder
from memslot.chat.service import Service
from memslot.chat.sse import OverlongEvent, read_events
from memslot.text import one_line

if TYPE_CHECKING:
    import httpx2

    from memslot.agent.events import Message
    from memslot.tools import Tool

CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 300.0
"""A model on a slow machine reads a long conversation for minutes before its first word."""
TRIES = 3
LONGEST_WAIT = 60.0
_ERROR_BYTES = 64 * 1024
_LONGEST_REPLY = 16 * 1024 * 1024
_MOST_CALLS = 256
_DONE = "[DONE]"

OnText = Callable[[str], None]
OnWait = Callable[[str, float], None]
"""Takes why the endpoint is asked again, and in how many seconds."""


class Endpoint:
    """One chat endpoint. Every failure is an EndpointError that says what happened and shows no key."""

    def __init__(
        self,
        service: Service,
        interrupts: Interrupts,
        *,
        silence: float = SILENCE_SECONDS,
        on_wait: OnWait | None = None,
    ) -> None:
        self.service = service
        self._interrupts = interrupts
        self._silence = silence
        self._on_wait = on_wait
        self._client: httpx2.Client | None = None
        self._counts_usage: bool | None = None
        """Whether it takes the wish for a count of the tokens; not known before the first answer."""

    def close(self) -> None:
        """Let the connections go."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def ask(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        on_text: OnText | None = None,
        into: ReplyBuilder | None = None,
    ) -> Reply:
        """The model's answer to a conversation, told to `on_text` while it comes.

        What came before a failure or a Ctrl-C is in `into`. Tried again is only what failed before its first byte.
        """
        builder = into if into is not None else ReplyBuilder([tool.name for tool in tools])
        body: dict[str, Any] = {"model": self.service.model, "messages": list(messages), "stream": True}
        if tools:
            body["tools"] = [tool.to_openai() for tool in tools]
        response = self._open(body)
        with closing(response):
            for chunk in self._chunks(response):
                for text in builder.add(chunk):
                    if on_text is not None:
                        on_text(text)
                if builder.size > _LONGEST_REPLY:
                    raise BrokenReplyError(f"{self.service} sent more than any answer needs; the rest was not read")
                if builder.call_count > _MOST_CALLS:
                    raise BrokenReplyError(
                        f"the model called more than {_MOST_CALLS} tools at once; none was called, ask for less"
                    )
        return builder.reply

    # Opening

    def _open(self, body: Mapping[str, Any]) -> httpx2.Response:
        failures = 0
        while True:
            try:
                return self._open_counting(body)
            except EndpointBusyError as error:
                failures += 1
                wait = _wait_after(error, failures)
                if wait is None:
                    raise
                if self._on_wait is not None:
                    self._on_wait(str(error), wait)
                with self._interrupts.waiting():
                    time.sleep(wait)

    def _open_counting(self, body: Mapping[str, Any]) -> httpx2.Response:
        """Ask for the tokens' count too; servers that know no such wish refuse it, and are asked without."""
        if self._counts_usage is False:
            return self._send(body)
        try:
            response = self._send({**body, "stream_options": {"include_usage": True}})
        except EndpointError as error:
            if self._counts_usage or type(error) is not EndpointError or error.status not in (400, 422):
                raise
        else:
            self._counts_usage = True
            return response
        response = self._send(body)
        self._counts_usage = False
        return response

    def _send(self, body: Mapping[str, Any]) -> httpx2.Response:
        import httpx2

        client = self._opened_client()
        failure: EndpointError
        response = None
        try:
            content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
            request = client.build_request("POST", self.service.chat_url, content=content)
            with self._interrupts.waiting():
                response = client.send(request, stream=True, follow_redirects=False)
            if response.is_success:
                return response
            with self._interrupts.waiting(), closing(response):
                failure = failure_of(self.service, response.status_code, response.headers, _beginning_of(response))
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
            failure = self._transport_failure(error, began=response is not None)
        except UnicodeError:  # from looking up a name that cannot be one
            failure = EndpointError(f"{self.service} cannot be asked: its name is not valid")
        except BaseException:
            if response is not None:
                response.close()
            raise
        # Raised here, where the client's own error is not its context: that one may show a key.
        raise failure

    def _opened_client(self) -> httpx2.Client:
        import httpx2

        if self._client is None:
            headers = {"Content-Type": "application/json", "Accept": "text/event-stream, application/json"}
            if self.service.key:
                headers["Authorization"] = f"Bearer {self.service.key}"
            timeout = httpx2.Timeout(self._silence, connect=CONNECT_SECONDS)
            try:
                self._client = httpx2.Client(headers=headers, timeout=timeout, trust_env=not self.service.is_local)
            except (ValueError, ImportError):  # which would show the proxy's password
                raise EndpointError(
                    f"{self.service} cannot be asked: the proxy that HTTP_PROXY, HTTPS_PROXY or ALL_PROXY names is of "
                    "no kind that can be used; name one that begins with http://, or add this host to NO_PROXY"
                ) from None
        return self._client

    # Reading

    def _chunks(self, response: httpx2.Response) -> Iterator[Mapping[str, Any]]:
        kind = response.headers.get("content-type", "").split(";")[0].strip().lower()
        pieces = self._pieces(response)
        if kind == "application/json":
            yield self._whole(b"".join(_limited(pieces)))
            return
        if kind.startswith("text/html"):
            raise EndpointError(f"{self.service} answered with a web page; check agents.defaults.baseUrl")
        is_over = False
        try:
            for data in read_events(pieces):
                if data.strip() == _DONE:
                    return
                if not data.strip():  # some servers keep the connection alive like this
                    continue
                chunk = self._event(data)
                is_over = is_over or _says_why_it_ends(chunk)
                yield chunk
        except OverlongEvent:
            raise BrokenReplyError(f"{self.service} sent more than any answer needs") from None
        except BrokenReplyError:
            if not is_over:  # else the answer is whole, and what broke came after it
                raise
        if not is_over:
            raise BrokenReplyError(f"{self.service} broke off in the middle of the answer; ask again")

    def _pieces(self, response: httpx2.Response) -> Iterator[bytes]:
        import httpx2

        iterator = response.iter_bytes()
        failure: EndpointError | None = None
        while failure is None:
            try:
                with self._interrupts.waiting():
                    piece = next(iterator, None)
            except (httpx2.HTTPError, httpx2.StreamError) as error:
                failure = self._transport_failure(error, began=True)
            else:
                if piece is None:
                    return
                yield piece
        raise failure

    def _whole(self, body: bytes) -> Mapping[str, Any]:
        """An answer in one piece, from an endpoint that does not stream."""
        tree = parsed(body.decode("utf-8", "replace"))
        if not isinstance(tree, Mapping):
            raise BrokenReplyError(f"{self.service} sent an answer that is not whole; ask again")
        return self._checked(tree)

    def _event(self, data: str) -> Mapping[str, Any]:
        tree = parsed(data)
        if not isinstance(tree, Mapping):
            said = self.service.hide(one_line(data, 80))
            raise BrokenReplyError(f"{self.service} sent what cannot be read as an answer: {said}")
        return self._checked(tree)

    def _checked(self, tree: Mapping[str, Any]) -> Mapping[str, Any]:
        if tree.get("error"):
            raise failure_in_stream(self.service, tree["error"])
        if "choices" not in tree and tree.get("object") == "error":  # vLLM
            raise failure_in_stream(self.service, message_of(tree))
        return tree

    def _transport_failure(self, error: Exception, *, began: bool) -> EndpointError:
        import httpx2

        said = self.service.hide(one_line(str(error), 200))
        if isinstance(error, httpx2.ConnectTimeout):
            return EndpointBusyError(f"{self.service} cannot be reached: it did not answer in {CONNECT_SECONDS:g} s")
        if isinstance(error, httpx2.TimeoutException):
            # Not asked again: it may still be working on the request, and would have two.
            return BrokenReplyError(f"{self.service} was silent for {self._silence:g} s; ask again, or a smaller model")
        if isinstance(error, httpx2.InvalidURL | httpx2.UnsupportedProtocol | httpx2.LocalProtocolError):
            return EndpointError(f"{self.service} cannot be asked: the address or the key is not valid")
        if "SSL" in said or "certificate" in said.lower():
            return EndpointError(f"{self.service} cannot be reached safely: {said}; check https:// in the base URL")
        if isinstance(error, httpx2.ConnectError | httpx2.ProxyError):
            return EndpointBusyError(f"{self.service} cannot be reached: {said}; is it running?")
        if began:
            return BrokenReplyError(f"{self.service} broke off in the middle of the answer ({said}); ask again")
        return EndpointBusyError(f"{self.service} closed the connection: {said}")


def _wait_after(error: EndpointBusyError, failures: int) -> float | None:
    """Seconds until the next try; None where there is to be none."""
    if failures >= TRIES:
        return None
    if error.retry_after is not None:
        # Who asks for more than a minute will not answer now: better to say so than to look dead.
        return error.retry_after if error.retry_after <= LONGEST_WAIT else None
    return 0.5 * 2.0 ** (failures - 1) * (1 + random.random() * 0.2)


def _says_why_it_ends(chunk: Mapping[str, Any]) -> bool:
    choices = chunk.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return isinstance(first, Mapping) and bool(first.get("finish_reason"))


def _beginning_of(response: httpx2.Response) -> str:
    body = b""
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) >= _ERROR_BYTES:
            break
    return body.decode("utf-8", "replace")


def _limited(pieces: Iterable[bytes]) -> Iterator[bytes]:
    read = 0
    for piece in pieces:
        read += len(piece)
        if read > _LONGEST_REPLY:
            return
        yield piece
