"""The chat endpoint: requests through the openai SDK, with streamed answers."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

import httpx2
import openai
from memslot import one_line

from memslot_chat.errors import BrokenReplyError, EndpointError, failure_in_stream, failure_of, message_of, parse_json
from memslot_chat.interrupts import Interrupts
from memslot_chat.reply import Reply, ReplyBuilder
from memslot_chat.settings import Service

if TYPE_CHECKING:
    from memslot import Message, Tool

CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 300.0
"""A model on a slow machine may take minutes to its first token."""
RETRIES = 2
_MAX_REPLY = 16 * 1024 * 1024
_MAX_CALLS = 256
_PROXY = (
    "cannot be reached: the proxy in HTTP_PROXY, HTTPS_PROXY or ALL_PROXY is unusable; "
    "use one that starts with http://, or add this host to NO_PROXY"
)

OnText = Callable[[str], None]
OnRetry = Callable[[str], None]
"""Called with the reason before a retry."""


class Endpoint:
    """A chat endpoint. Every failure is an EndpointError with a clear message and no key in it."""

    def __init__(
        self,
        service: Service,
        interrupts: Interrupts,
        *,
        silence: float = SILENCE_SECONDS,
        on_retry: OnRetry | None = None,
    ) -> None:
        self.service = service
        self._interrupts = interrupts
        self._silence = silence
        self._on_retry = on_retry
        self._client: openai.OpenAI | None = None
        self._counts_usage: bool | None = None
        """Whether it accepts `stream_options`; None until the first answer."""

    def close(self) -> None:
        """Close the connections."""
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
        """Request an answer to a conversation; `on_text` gets its text as it streams.

        `into` keeps what arrived before a failure or a Ctrl-C. Only requests that fail before their first byte are
        retried.
        """
        builder = into if into is not None else ReplyBuilder([tool.name for tool in tools])
        body: dict[str, Any] = {"model": self.service.model, "messages": list(messages), "stream": True}
        if tools:
            body["tools"] = [tool.to_openai() for tool in tools]
        with closing(self._open(body)) as stream:
            for chunk in self._chunks(stream):
                for text in builder.add(chunk):
                    if on_text is not None:
                        on_text(text)
                if builder.size > _MAX_REPLY:
                    raise self._too_long()
                if builder.call_count > _MAX_CALLS:
                    raise BrokenReplyError(
                        f"the model called more than {_MAX_CALLS} tools at once; none was called, ask for less"
                    )
        return builder.reply

    # The request

    def _open(self, body: Mapping[str, Any]) -> _Stream:
        """Request token counts too; servers that reject `stream_options` are asked again without it."""
        if self._counts_usage is False:
            return self._send(body)
        try:
            stream = self._send({**body, "stream_options": {"include_usage": True}})
        except EndpointError as error:
            if self._counts_usage or type(error) is not EndpointError or error.status not in (400, 422):
                raise
        else:
            self._counts_usage = True
            return stream
        stream = self._send(body)
        self._counts_usage = False
        return stream

    def _send(self, body: Mapping[str, Any]) -> _Stream:
        client = self._opened_client()
        # Encoded here because a transcript may contain lone surrogates, which the SDK can't encode.
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        # The SDK would send every endpoint the organization and project of OPENAI_ORG_ID and OPENAI_PROJECT_ID.
        left_out = ["OpenAI-Organization", "OpenAI-Project", *([] if self.service.key else ["Authorization"])]
        try:
            with self._interrupts.waiting():
                return client.post(
                    self.service.chat_url,
                    cast_to=object,
                    content=content,
                    options={"headers": dict.fromkeys(left_out, openai.Omit())},
                    stream=True,
                    stream_cls=_Stream,
                )
        except openai.APIStatusError as error:
            failure = failure_of(self.service, error.status_code, error.response.headers, error.response.text)
        except openai.APIConnectionError as error:
            failure = self._transport_failure(error.__cause__ or error, began=False)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            failure = self._transport_failure(error, began=False)
        except UnicodeError:  # from the lookup of an invalid host name
            failure = EndpointError(f"{self.service} cannot be reached: its host name is invalid")
        # Outside the except block: the SDK's error, which may contain a key, must not be chained.
        raise failure

    def _opened_client(self) -> openai.OpenAI:
        if self._client is None:
            try:
                http = _HttpClient(
                    timeout=httpx2.Timeout(self._silence, connect=CONNECT_SECONDS),
                    trust_env=not self.service.is_local,
                    event_hooks={"response": [self._tell_retry]},
                )
            except (ValueError, ImportError):  # its message shows the proxy's password
                raise EndpointError(f"{self.service} {_PROXY}") from None
            self._client = openai.OpenAI(
                api_key=self.service.key or "none",  # the SDK requires one
                base_url=self.service.base_url,
                max_retries=RETRIES,
                http_client=http,
            )
        return self._client

    def _tell_retry(self, response: httpx2.Response) -> None:
        is_last = response.request.headers.get("x-stainless-retry-count") == str(RETRIES)
        if self._on_retry is not None and not is_last and (response.status_code in (408, 409, 429, 500, 502, 503, 504)):
            self._on_retry(f"{self.service} cannot answer now (HTTP {response.status_code})")

    # The answer

    def _chunks(self, stream: _Stream) -> Iterator[Mapping[str, Any]]:
        kind = stream.response.headers.get("content-type", "").split(";")[0].strip().lower()
        if kind == "application/json":  # from an endpoint that doesn't stream
            tree = parse_json("".join(self._received(stream.text())))
            if not isinstance(tree, Mapping):
                raise BrokenReplyError(f"{self.service} sent an incomplete answer; ask again")
            yield self._checked(tree)
            return
        if kind.startswith("text/html"):
            raise EndpointError(f"{self.service} answered with a web page; check agents.defaults.baseUrl")
        is_over = False
        try:
            for tree in self._received(stream):
                chunk = self._checked(tree)
                is_over = is_over or _has_finish_reason(chunk)
                yield chunk
        except BrokenReplyError:
            if not is_over:  # else the answer is complete, and the failure came after it
                raise
        if not is_over and not stream.is_done:
            raise BrokenReplyError(f"{self.service} broke off in the middle of the answer; ask again")

    def _received(self, pieces: Iterator[Any]) -> Iterator[Any]:
        """Yield the SDK's chunks; any parse failure becomes a BrokenReplyError."""
        failure: EndpointError
        while True:
            try:
                with self._interrupts.waiting():
                    piece = next(pieces)
            except StopIteration:
                return
            except openai.APIError as error:
                failure = failure_in_stream(self.service, error.body or error.message)
                break
            except (httpx2.HTTPError, httpx2.StreamError) as error:
                failure = self._transport_failure(error, began=True)
                break
            except _OverlongError:
                failure = self._too_long()
                break
            except (ValueError, RecursionError) as error:
                said = self.service.hide(one_line(str(getattr(error, "doc", "")), 80))
                failure = BrokenReplyError(f"{self.service} sent a malformed answer: {said}")
                break
            yield piece
        raise failure

    def _checked(self, tree: Any) -> Mapping[str, Any]:
        if not isinstance(tree, Mapping):
            raise BrokenReplyError(f"{self.service} sent a malformed answer; ask again")
        if tree.get("error"):  # of an endpoint that doesn't stream
            raise failure_in_stream(self.service, tree["error"])
        if "choices" not in tree and tree.get("object") == "error":  # vLLM
            raise failure_in_stream(self.service, message_of(tree))
        return tree

    def _too_long(self) -> BrokenReplyError:
        return BrokenReplyError(f"{self.service} sent too long an answer; the rest was ignored")

    def _transport_failure(self, error: BaseException, *, began: bool) -> EndpointError:
        said = self.service.hide(one_line(str(error), 200))
        if isinstance(error, httpx2.ConnectTimeout):
            return EndpointError(f"{self.service} cannot be reached: it did not answer in {CONNECT_SECONDS:g} s")
        if isinstance(error, httpx2.TimeoutException | openai.APITimeoutError):
            return BrokenReplyError(
                f"{self.service} sent nothing for {self._silence:g} s; try again or use a smaller model"
            )
        if isinstance(error, httpx2.InvalidURL | httpx2.UnsupportedProtocol | httpx2.LocalProtocolError):
            return EndpointError(f"{self.service} cannot be reached: the address or the key is invalid")
        if "SSL" in said or "certificate" in said.lower():
            return EndpointError(f"{self.service} cannot be reached safely: {said}; check https:// in the base URL")
        if isinstance(error, httpx2.ConnectError | httpx2.ProxyError):
            return EndpointError(f"{self.service} cannot be reached: {said}; is it running?")
        if began:
            return BrokenReplyError(f"{self.service} broke off in the middle of the answer ({said}); ask again")
        return EndpointError(f"{self.service} closed the connection: {said}")


class _HttpClient(httpx2.Client):
    """Follows no redirects, which would leak the key; requests that time out are not retried."""

    def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        try:
            return super().send(request, **{**options, "follow_redirects": False})
        except httpx2.ConnectTimeout:
            raise
        except httpx2.TimeoutException:
            # The SDK retries httpx2's timeouts, but the server may still be working on this request.
            raise openai.APITimeoutError(request=request) from None


class _OverlongError(Exception):
    """The endpoint's response is too long."""


class _Stream(openai.Stream[object]):
    """The SDK's stream, more lenient: allows blank keep-alive events and a last event without its blank line."""

    is_done = False
    _pending = 0
    """Bytes received since the last event."""

    def text(self) -> Iterator[str]:
        """The raw body."""
        return (piece.decode("utf-8", "replace") for piece in self._limited())

    def _iter_events(self) -> Iterator[Any]:
        for event in self._decoder.iter_bytes(itertools.chain(self._limited(), [b"\n\n"])):
            self._pending = 0
            self.is_done = self.is_done or event.data.startswith("[DONE]")
            if event.data.strip():
                yield event

    def _limited(self) -> Iterator[bytes]:
        for piece in self.response.iter_bytes():
            self._pending += len(piece)
            if self._pending > _MAX_REPLY:
                raise _OverlongError
            yield piece


def _has_finish_reason(chunk: Mapping[str, Any]) -> bool:
    choices = chunk.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return isinstance(first, Mapping) and bool(first.get("finish_reason"))
