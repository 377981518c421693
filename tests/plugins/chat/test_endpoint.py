"""Every way in which an endpoint fails is one clear sentence, and no key is in it."""

from __future__ import annotations

import json
import logging
import re
import socket
import traceback
from collections.abc import Callable
from typing import Any

import pytest
from memslot_chat import endpoint as endpoint_module
from memslot_chat.endpoint import Endpoint
from memslot_chat.errors import (
    BrokenReplyError,
    ContextFullError,
    EndpointError,
    ToolsRefusedError,
)
from memslot_chat.reply import ReplyBuilder, Usage

Make = Callable[..., Endpoint]
ASK = [{"role": "user", "content": "hi"}]


def test_the_answer_comes_as_it_is_said(server: Any, wire: Any, endpoint: Make, key: str) -> None:
    server.script(wire.say("Hel", "lo"))
    heard: list[str] = []

    reply = endpoint().ask(ASK, on_text=heard.append)

    assert heard == ["Hel", "lo"]
    assert (reply.text, reply.usage, reply.finish) == ("Hello", Usage(100, 10), "stop")
    request = server.seen[0]
    assert request.headers["authorization"] == f"Bearer {key}"
    assert request.body["stream"] is True
    assert request.body["model"] == "echo-1"


def test_without_a_key_none_is_sent(server: Any, wire: Any, endpoint: Make) -> None:
    server.script(wire.say("ok"))

    endpoint(key=None).ask(ASK)

    assert "authorization" not in server.seen[0].headers


def test_the_environment_of_the_sdk_sends_nothing_along(
    server: Any, wire: Any, endpoint: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-7")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-7")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another-service")
    server.script(wire.say("ok"))

    endpoint(key=None).ask(ASK)

    sent = server.seen[0].headers
    assert not {"authorization", "openai-organization", "openai-project"} & sent.keys()
    assert "sk-of-another-service" not in str(sent)


def test_halves_of_characters_are_replaced_in_what_is_sent(server: Any, wire: Any, endpoint: Make) -> None:
    server.script(wire.say("ok"))

    endpoint().ask([{"role": "user", "content": "a\ud800b"}])

    assert server.seen[0].texts == [("user", "a?b")]


def test_characters_that_are_cut_by_the_network_are_whole(server: Any, wire: Any, endpoint: Make) -> None:
    told = {"choices": [{"delta": {"content": "日本 🜁 naïve"}, "finish_reason": "stop"}]}
    body = b"data: " + json.dumps(told, ensure_ascii=False).encode() + b"\r\n\r\ndata: [DONE]\r\n\r\n"
    server.script(wire.raw(bytes([each]) for each in body))

    assert endpoint().ask(ASK).text == "日本 🜁 naïve"


def test_an_endpoint_that_does_not_stream_is_understood(server: Any, wire: Any, endpoint: Make) -> None:
    message = {"role": "assistant", "content": "whole"}
    body = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": {"prompt_tokens": 5}}
    server.script(wire.raw([json.dumps(body).encode()], "application/json"))

    reply = endpoint().ask(ASK)

    assert (reply.text, reply.usage) == ("whole", Usage(5, 0))


def test_blank_events_and_comments_mean_nothing(server: Any, wire: Any, endpoint: Make) -> None:
    answer = b'data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}\n\n'
    server.script(wire.raw([b": wait\n\n", b"data:\n\n", answer, b"data: [DONE]\n\n"]))

    assert endpoint().ask(ASK).text == "x"


def test_the_last_event_may_lack_its_blank_line(server: Any, wire: Any, endpoint: Make) -> None:
    server.script(wire.raw([b'data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}']))

    assert endpoint().ask(ASK).text == "x"


def test_a_stream_without_done_is_whole_if_it_says_why_it_ends(server: Any, wire: Any, endpoint: Make) -> None:
    server.script(wire.raw([b'data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}\n\n']))

    assert endpoint().ask(ASK).text == "x"


def test_a_server_that_knows_no_usage_is_asked_without(server: Any, wire: Any, endpoint: Make) -> None:
    server.script(wire.refuse(400, "extra fields not permitted"), wire.say("ok"), wire.say("ok"))
    made = endpoint()

    assert made.ask(ASK).text == "ok"
    assert made.ask(ASK).text == "ok"
    assert ["stream_options" in each.body for each in server.seen] == [True, False, False]


@pytest.mark.parametrize(
    ("status", "message", "kind", "sentence"),
    [
        (401, "Incorrect API key", EndpointError, r"refused the key \(HTTP 401\): Incorrect.*OPENAI_API_KEY"),
        (403, "no", EndpointError, "refused the key"),
        (402, "pay", EndpointError, "quota or credit"),
        (404, "The model `echo-1` does not exist", EndpointError, 'does not know the model "echo-1".*--model'),
        (404, "", EndpointError, "has no chat API there.*baseUrl"),
        (400, "This model's maximum context length is 8192 tokens", ContextFullError, "of this length"),
        (400, "the request exceeds the available context size", ContextFullError, "of this length"),
        (413, "", ContextFullError, "of this length"),
        (400, "gemma does not support tools", ToolsRefusedError, "does not support tools"),
        (400, '"auto" tool choice requires --enable-auto-tool-choice', ToolsRefusedError, "does not support tools"),
        (400, "bad temperature", EndpointError, r"did not accept the request \(HTTP 400\): bad temperature"),
        (307, "", EndpointError, "redirects to evil.example, which is not followed"),
        (429, "You exceeded your current quota", EndpointError, "quota or credit"),
    ],
)
def test_refusals(
    status: int, message: str, kind: type[EndpointError], sentence: str, server: Any, wire: Any, endpoint: Make
) -> None:
    server.script(*[wire.refuse(status, message, Location="https://evil.example/v1", Retry_After="0.01")] * 3)

    with pytest.raises(kind, match=sentence) as caught:
        endpoint().ask(ASK)

    assert type(caught.value) is kind
    assert len(str(caught.value).splitlines()) == 1
    # A plain 400 may be a refusal of `stream_options`, and the SDK retries every 429.
    assert len(server.seen) == (2 if "did not accept" in sentence else 3 if status == 429 else 1)


def test_a_limit_of_tokens_per_minute_is_not_a_full_window(server: Any, wire: Any, endpoint: Make) -> None:
    server.script(*[wire.refuse(429, "Rate limit: too many tokens per minute", Retry_After="0.01")] * 3)

    with pytest.raises(EndpointError, match="cannot answer now") as caught:
        endpoint().ask(ASK)
    assert type(caught.value) is EndpointError


def test_a_busy_server_is_asked_again(server: Any, wire: Any, endpoint: Make) -> None:
    server.script(
        wire.refuse(429, "slow down", Retry_After="0.01"), wire.refuse(503, Retry_After="0.05"), wire.say("ok")
    )
    told: list[str] = []

    assert endpoint(on_retry=told.append).ask(ASK).text == "ok"
    assert [each.partition("(")[2] for each in told] == ["HTTP 429)", "HTTP 503)"]


def test_a_busy_server_is_not_asked_for_ever(server: Any, wire: Any, endpoint: Make) -> None:
    server.script(*[wire.refuse(500, "boom", Retry_After="0.01")] * 4)
    told: list[str] = []

    with pytest.raises(EndpointError, match=r"cannot answer now \(HTTP 500\): boom"):
        endpoint(on_retry=told.append).ask(ASK)
    assert len(server.seen) == 3
    assert len(told) == 2, "nothing is said of a retry that does not come"


def test_nobody_listens(endpoint: Make) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]

    with pytest.raises(EndpointError, match=rf"127.0.0.1:{port}/v1 cannot be reached: .*is it running\?"):
        endpoint(f"http://127.0.0.1:{port}/v1").ask(ASK)


@pytest.mark.parametrize("proxy", ["foo://ana:pa55phrase@127.0.0.1", "socks4://ana:pa55phrase@127.0.0.1:1"])
def test_a_proxy_that_cannot_be_used(endpoint: Make, monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(EndpointError, match=r"the proxy in .*ALL_PROXY.* NO_PROXY") as caught:
        endpoint("http://model.invalid/v1").ask(ASK)
    assert "pa55phrase" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("host", ["a..b", "a" * 300])
def test_a_name_that_cannot_be_one(endpoint: Make, host: str) -> None:
    with pytest.raises(EndpointError, match="its host name is invalid"):
        endpoint(f"http://{host}/v1").ask(ASK)


def test_tls_that_is_none(server: Any, endpoint: Make) -> None:
    with pytest.raises(EndpointError, match=r"cannot be reached safely: .*SSL.*https://"):
        endpoint(server.url.replace("http:", "https:")).ask(ASK)


@pytest.mark.parametrize("after", ["cut", "silence"])
def test_what_breaks_after_the_end_of_an_answer_is_no_failure(
    after: str, server: Any, wire: Any, endpoint: Make
) -> None:
    def step(exchange: Any) -> None:
        exchange.begin()
        exchange.delta(content="all of it")
        exchange.delta(finish="stop")
        if after == "cut":
            exchange.cut()
        else:
            exchange.wait_for_hang_up()
            exchange.handler.close_connection = True

    server.script(step)

    assert endpoint(silence=0.3).ask(ASK).text == "all of it"


@pytest.mark.parametrize("before_headers", [True, False])
def test_silence(before_headers: bool, server: Any, wire: Any, endpoint: Make) -> None:
    server.script(wire.stall("so far", before_headers=before_headers))
    into = ReplyBuilder()

    with pytest.raises(BrokenReplyError, match=r"sent nothing for 0.3 s"):
        endpoint(silence=0.3).ask(ASK, into=into)

    assert into.text == ("" if before_headers else "so far")
    assert len(server.seen) == 1
    assert server.hung_up.wait(30), "the connection was kept"


@pytest.mark.parametrize(
    ("pieces", "sentence"),
    [
        ([b'data: {"choices":[{"delta":{"content":"so far"}}]}\n\n'], "broke off in the middle of the answer"),
        ([b'data: {"choices":[{"delta":{"content":"so far"}}]}\n\n', b"data: {oops\n\n"], "malformed answer.*oops"),
        (
            [
                b'data: {"choices":[{"delta":{"content":"so far"}}]}\n\n',
                b'data: {"error":{"message":"gpu fell off"}}\n\n',
            ],
            "cut off the answer: gpu fell off",
        ),
        (
            [b'data: {"choices":[{"delta":{"content":"so far"}}]}\n\n', b"data: [1]\n\n"],
            "malformed answer",
        ),
    ],
)
@pytest.mark.parametrize("ends", [True, False])
def test_what_was_said_before_a_break_is_kept(
    pieces: list[bytes], sentence: str, ends: bool, server: Any, wire: Any, endpoint: Make
) -> None:
    server.script(wire.raw(pieces, ends=ends))
    into = ReplyBuilder()

    with pytest.raises(BrokenReplyError, match=sentence):
        endpoint().ask(ASK, into=into)

    assert into.text == "so far"
    assert len(server.seen) == 1, "what has begun is not asked again"


def test_a_web_page_in_place_of_an_answer(server: Any, wire: Any, endpoint: Make) -> None:
    page = b"<html><title>Welcome</title></html>"
    server.script(wire.raw([page], "text/html; charset=utf-8"), wire.refuse(502, body=page, kind="text/html"))
    server.script(*[wire.refuse(502, body=page, kind="text/html", Retry_After="0.01")] * 2)

    with pytest.raises(EndpointError, match=r"a web page; check agents.defaults.baseUrl"):
        endpoint().ask(ASK)
    with pytest.raises(EndpointError, match=r"\(HTTP 502\): Welcome"):
        endpoint().ask(ASK)


def test_half_a_json_answer(server: Any, wire: Any, endpoint: Make) -> None:
    server.script(wire.raw([b'{"choices": [{"mess'], "application/json"))

    with pytest.raises(BrokenReplyError, match="incomplete answer"):
        endpoint().ask(ASK)


def test_an_error_told_in_the_stream_may_be_about_the_window(server: Any, wire: Any, endpoint: Make) -> None:
    server.script(wire.raw([b'data: {"error": {"message": "context length exceeded"}}\n\n']))

    with pytest.raises(ContextFullError):
        endpoint().ask(ASK)


def test_an_endless_answer_is_ended(server: Any, wire: Any, endpoint: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint_module, "_MAX_REPLY", 1000)
    server.script(wire.say(*["x" * 100] * 20))

    with pytest.raises(BrokenReplyError, match="too long an answer"):
        endpoint().ask(ASK)


def test_an_endless_event_is_ended(server: Any, wire: Any, endpoint: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint_module, "_MAX_REPLY", 1000)
    server.script(wire.raw([b"data: ", *[b"x" * 100] * 20]))

    with pytest.raises(BrokenReplyError, match="too long an answer"):
        endpoint().ask(ASK)


def test_an_endless_tool_call_is_ended(server: Any, wire: Any, endpoint: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint_module, "_MAX_REPLY", 1000)
    server.script(wire.call(("memory_search", {"query": "x" * 2000})))

    with pytest.raises(BrokenReplyError, match="too long an answer"):
        endpoint().ask(ASK)


def test_calls_without_number_are_none(server: Any, wire: Any, endpoint: Make) -> None:
    server.script(wire.call(*[("memory_search", "{}")] * 300))

    with pytest.raises(BrokenReplyError, match="more than 256 tools at once; none was called"):
        endpoint().ask(ASK)


def test_the_key_is_in_nothing_that_is_said(
    server: Any, wire: Any, endpoint: Make, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    said = f"Incorrect API key provided: {key}; {key[:12]}*** and ***{key[-10:]}"
    stream = b"data: " + json.dumps({"error": {"message": said}}).encode() + b"\n\n"
    server.script(
        wire.refuse(401, said), wire.refuse(400, said), wire.raw([stream]), wire.raw([b"data: " + said.encode()])
    )
    made = endpoint()

    for _ in range(4):
        with pytest.raises(EndpointError) as caught:
            made.ask(ASK)
        shown: list[str] = [str(caught.value), repr(caught.value)]
        assert caught.value.__cause__ is None
        for each in (*shown, repr(made), repr(made.service), caplog.text):
            assert not re.search(f"{key}|{key[:12]}|{key[-10:]}", each)
