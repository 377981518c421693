"""Every fault of a server becomes the right error, in one sentence, without the key."""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable
from typing import Any

import pytest
from memslot import InputTooLargeError, ProviderBusyError, ProviderError, ProviderRefusedError

REMOTE = ["openai", "gemini", "voyage", "ollama"]
EXPECTED: dict[str, type[ProviderError]] = {
    "408": ProviderBusyError,
    "409": ProviderBusyError,
    "429": ProviderBusyError,
    "429-wait": ProviderBusyError,
    "429-date": ProviderBusyError,
    "500": ProviderBusyError,
    "503": ProviderBusyError,
    "html": ProviderBusyError,
    "half": ProviderBusyError,
    "reset": ProviderBusyError,
    "bad-json": ProviderBusyError,
    "huge-error": ProviderBusyError,
    "quota": ProviderRefusedError,
    "402": ProviderRefusedError,
    "403": ProviderRefusedError,
    "401-echo": ProviderRefusedError,
    "404-model": ProviderRefusedError,
    "too-large": InputTooLargeError,
    "413": InputTooLargeError,
    "404": ProviderError,
    "418": ProviderError,
    "html-200": ProviderError,
    "redirect": ProviderError,
    "huge": ProviderError,
    "wrong-dims": ProviderError,
    "wrong-count": ProviderError,
    "no-vectors": ProviderError,
    "words": ProviderError,
}


def _fails(action: Callable[[], Any]) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        action()
    return caught.value


def _everything_told(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)) + repr(error) + repr(error.__cause__) + repr(error.__context__)


@pytest.mark.parametrize("fault", EXPECTED)
@pytest.mark.parametrize("name", REMOTE)
@pytest.mark.parametrize("way", ["documents", "query"])
def test_a_fault_is_the_right_error_and_shows_no_key(
    name: str, fault: str, way: str, wire: Any, make: Any, key: str
) -> None:
    server = wire(name)
    provider = make(name, base_url=server.url)
    server.fail(fault)

    ask = (
        (lambda: provider.embed_documents(["one", "two"])) if way == "documents" else lambda: provider.embed_query("q")
    )
    error = _fails(ask)

    assert type(error) is EXPECTED[fault], error
    assert str(error).startswith(f"{provider.service.name} at http://127.0.0.1:"), error
    assert "\n" not in str(error)
    assert len(str(error)) < 500
    told = _everything_told(error)
    assert not [key[i : i + 8] for i in range(len(key) - 7) if key[i : i + 8] in told]
    assert error.__context__ is None, "the client's own error may show what ours hides"
    assert len(server.seen) == 1, "retrying is the host's business"


@pytest.mark.parametrize("name", REMOTE)
def test_no_more_is_read_than_an_answer_can_need(name: str, wire: Any, make: Any) -> None:
    server = wire(name)
    server.fail("huge")
    with pytest.raises(ProviderError, match=r"sent more than 1310720 bytes"):
        make(name, base_url=server.url).embed_query("q")


@pytest.mark.parametrize("name", REMOTE)
def test_the_server_s_own_words_are_passed_on(name: str, wire: Any, make: Any) -> None:
    server = wire(name)
    server.fail("503")
    assert "something is wrong here" in str(_fails(lambda: make(name, base_url=server.url).embed_query("q")))


@pytest.mark.parametrize("name", REMOTE)
def test_a_provider_works_again_after_a_fault(name: str, wire: Any, make: Any) -> None:
    server = wire(name)
    provider = make(name, base_url=server.url)
    for fault in ("reset", "half", "huge", "500"):
        server.fail(fault)
        _fails(lambda: provider.embed_query("q"))
        server.fail()
        assert len(provider.embed_query("q")) == 64


@pytest.mark.parametrize("name", REMOTE)
def test_it_waits_as_long_as_the_server_asks(name: str, wire: Any, make: Any) -> None:
    server = wire(name)
    provider = make(name, base_url=server.url)

    def wait(fault: str) -> float | None:
        server.fail(fault)
        error = _fails(lambda: provider.embed_query("q"))
        assert isinstance(error, ProviderBusyError)
        return error.retry_after

    assert wait("429-wait") == 7
    assert wait("429-date") == pytest.approx(30, abs=3)
    assert wait("429") is None


@pytest.mark.parametrize("fault", ["hang", "drip"])
@pytest.mark.parametrize("name", REMOTE)
def test_an_answer_that_does_not_come_or_does_not_end_is_given_up(name: str, fault: str, wire: Any, make: Any) -> None:
    server = wire(name)
    provider = make(name, base_url=server.url)
    provider.query_timeout = 0.4
    server.fail(fault)

    error = _fails(lambda: provider.embed_query("q"))

    assert type(error) is ProviderBusyError
    assert "did not answer in time" in str(error)


@pytest.mark.parametrize("name", REMOTE)
def test_a_slow_answer_is_waited_for(name: str, wire: Any, make: Any) -> None:
    server = wire(name)
    server.fail("slow")
    assert len(make(name, base_url=server.url).embed_query("q")) == 64


@pytest.mark.parametrize("fault", ["nan", "null"])
@pytest.mark.parametrize("name", REMOTE)
def test_what_is_not_finite_becomes_zero(name: str, fault: str, wire: Any, make: Any) -> None:
    server = wire(name)
    provider = make(name, base_url=server.url)
    whole = provider.embed_documents(["one", "two"])
    server.fail(fault)
    for got, want in zip(provider.embed_documents(["one", "two"]), whole, strict=True):
        assert got[0] == 0
        assert list(got[1:]) == list(want[1:])
        assert all(map(math.isfinite, got))


@pytest.mark.parametrize("name", ["openai", "voyage"])
def test_rows_in_another_order_are_sorted(name: str, wire: Any, make: Any) -> None:
    server = wire(name)
    provider = make(name, base_url=server.url)
    texts = [f"text {i}" for i in range(5)]
    whole = provider.embed_documents(texts)
    server.fail("wrong-order")
    assert provider.embed_documents(texts) == whole


@pytest.mark.parametrize("name", REMOTE)
def test_no_redirect_is_followed(name: str, wire: Any, make: Any) -> None:
    server, other = wire(name), wire(name)
    server.elsewhere = other.origin
    provider = make(name, base_url=server.url, headers={"X-Own-Token": "my-own-token-12345"})
    for fault in ("redirect", "redirect-here"):
        server.fail(fault)
        error = _fails(lambda: provider.embed_query("q"))
        assert "redirects to 127.0.0.1" in str(error)
    assert other.seen == []
    assert len(server.seen) == 2


@pytest.mark.parametrize("name", REMOTE)
def test_nobody_listening_is_worth_another_try(name: str, make: Any) -> None:
    error = _fails(lambda: make(name, base_url="http://127.0.0.1:1").embed_query("q"))
    assert type(error) is ProviderBusyError
    assert "cannot be reached" in str(error)


def test_google_s_limit_per_minute_is_no_end_of_the_quota(wire: Any, make: Any, monkeypatch: Any) -> None:
    from memslot_embed_providers.error_mapping import error_for_response

    service = make("gemini", base_url="http://127.0.0.1:1").service
    body = (
        '{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "You exceeded your current quota, please '
        'check your plan and billing details.", "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", '
        '"retryDelay": "22.5s"}]}}'
    )
    error = error_for_response(service, 429, {}, body)
    assert type(error) is ProviderBusyError
    assert error.retry_after == 22.5


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (400, "Invalid 'input': maximum 300000 tokens per request.", InputTooLargeError),
        (400, "The batch size limit is 1000. Your batch size is 1200.", InputTooLargeError),
        (400, "* BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch", InputTooLargeError),
        (400, "input is too long: reduce your prompt", InputTooLargeError),
        (500, "the input length exceeds the context length", InputTooLargeError),
        (400, "API key not valid. Please pass a valid API key.", ProviderRefusedError),
        (400, "dimensions must be at most 3072 for this model", ProviderError),
        (400, "input_type is not valid", ProviderError),
        (429, "You have not yet added your payment method in the billing page; limits are 3 RPM.", ProviderBusyError),
        (529, "overloaded", ProviderBusyError),
        (404, "page not found", ProviderError),
    ],
)
def test_messages_of_servers(status: int, message: str, kind: type[ProviderError], make: Any) -> None:
    from memslot_embed_providers.error_mapping import error_for_response

    service = make("voyage", base_url="http://127.0.0.1:1").service
    assert type(error_for_response(service, status, {}, f'{{"detail": "{message}"}}')) is kind


@pytest.mark.parametrize(
    "body", ["", "[]", "null", "[1]", '"x"', '{"error": []}', '{"detail": [{"msg": 1}]}', "[" * 99999]
)
def test_no_body_of_an_error_is_too_odd(body: str, make: Any) -> None:
    from memslot_embed_providers.error_mapping import error_for_response

    service = make("gemini", base_url="http://127.0.0.1:1").service
    assert "HTTP 429" in str(error_for_response(service, 429, {"retry-after": "soon"}, body))
