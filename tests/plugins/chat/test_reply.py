"""Tool calls are put together from whatever pieces endpoints cut them into."""

from __future__ import annotations

from typing import Any

import pytest
from memslot_chat.reply import ReplyBuilder, Usage

TOOLS = ("memory_search", "memory_get")


def build(*deltas: dict[str, Any], known: tuple[str, ...] = ()) -> ReplyBuilder:
    builder = ReplyBuilder(TOOLS, known)
    for delta in deltas:
        for _ in builder.add({"choices": [{"delta": delta}]}):
            pass
    return builder


def piece(index: int | None = None, id: Any = None, name: Any = None, arguments: Any = None) -> dict[str, Any]:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    told = {key: value for key, value in (("index", index), ("id", id)) if value is not None}
    return {"tool_calls": [{**told, "function": function}]}


def calls(builder: ReplyBuilder) -> list[tuple[str, str, str]]:
    return [(call.id, call.name, call.arguments) for call in builder.reply.calls]


A, B = ("a1", "memory_search", '{"query": "x"}'), ("b2", "memory_get", '{"path": "y"}')


@pytest.mark.parametrize(
    "deltas",
    [
        pytest.param(
            [
                piece(0, A[0], A[1], ""),
                piece(1, B[0], B[1], ""),
                piece(0, arguments='{"query"'),
                piece(1, arguments='{"path": '),
                piece(0, arguments=': "x"}'),
                piece(1, arguments='"y"}'),
            ],
            id="interleaved by index",
        ),
        pytest.param([piece(0, *A), piece(0, *B)], id="every call has the index 0"),
        pytest.param([piece(None, *A), piece(None, *B)], id="no index"),
        pytest.param(
            [{"tool_calls": [*piece(None, *A)["tool_calls"], *piece(None, *B)["tool_calls"]]}], id="both in one delta"
        ),
        pytest.param(
            [
                piece(None, A[0], A[1], '{"query"'),
                piece(None, arguments=': "x"}'),
                piece(None, B[0], B[1]),
                piece(None, arguments=B[2]),
            ],
            id="no index, in pieces",
        ),
        pytest.param(
            [
                piece(0, "a", "memory_", '{"query"'),
                piece(0, "1", "search", ': "x"}'),
                piece(1, "b", "memory_"),
                piece(1, "2", "get", B[2]),
            ],
            id="ids and names in pieces",
        ),
        pytest.param(
            [
                piece(0, A[0], A[1], '{"query"'),
                piece(0, A[0], A[1], ': "x"}'),
                piece(1, B[0], B[1], '{"path": '),
                piece(1, B[0], B[1], '"y"}'),
            ],
            id="ids and names in every piece",
        ),
        pytest.param([piece(0, A[0], A[1], {"query": "x"}), piece(1, B[0], B[1], {"path": "y"})], id="objects"),
    ],
)
def test_pieces_become_calls(deltas: list[dict[str, Any]]) -> None:
    assert calls(build(*deltas)) == [A, B]


def test_calls_without_index_and_id_are_told_apart_by_their_names() -> None:
    found = calls(build(piece(None, None, A[1], A[2]), piece(None, None, A[1], A[2]), piece(None, None, B[1])))

    assert [(name, arguments) for _, name, arguments in found] == [A[1:], A[1:], ("memory_get", "{}")]
    assert len({call_id for call_id, _, _ in found}) == 3


def test_an_id_that_another_call_has_is_replaced() -> None:
    found = calls(build(piece(0, "c", *A[1:]), piece(1, "c", *B[1:]), known=("c",)))

    assert len({"c", *(call_id for call_id, _, _ in found)}) == 3


def test_names_that_no_endpoint_would_take_back_are_made_fit() -> None:
    found = calls(build(piece(0, "a", "functions.do it\x1b", "{}"), piece(1, "b", None, '{"x": 1}')))

    assert [name for _, name, _ in found] == ["functions_do_it_", "unnamed"]


def test_odd_chunks_are_passed_over() -> None:
    builder = ReplyBuilder()
    for chunk in ({}, {"choices": []}, {"choices": [None]}, {"choices": [{"delta": None}]}, {"choices": "x"}):
        assert list(builder.add(chunk)) == []
    odd = {"content": 7, "tool_calls": [None, 3, {"function": "x"}, {"index": "0", "id": 5, "function": {"name": 9}}]}
    assert list(builder.add({"choices": [{"delta": odd, "finish_reason": 1}], "usage": "much"})) == []

    for calls in (5, True, "x", {"index": 0}):
        assert list(builder.add({"choices": [{"delta": {"tool_calls": calls}}]})) == []

    assert builder.reply.calls == ()
    assert builder.reply.usage is None


def test_text_comes_as_text_or_as_parts() -> None:
    builder = build({"content": "a"}, {"content": [{"type": "text", "text": "b"}, {"type": "x"}]}, {"refusal": "c"})

    assert builder.text == "abc"
    assert builder.reply.to_message() == {"role": "assistant", "content": "abc"}


def test_usage_is_taken_from_whichever_chunk_has_it() -> None:
    builder = build({"content": "a"})
    list(builder.add({"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 3}}))
    list(builder.add({"choices": [], "usage": None}))

    assert builder.reply.usage == Usage(12, 3)
    assert (Usage(1, 2) + Usage(3, 4)).total == 10
