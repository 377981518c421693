"""Whatever a transcript holds, an endpoint is given a conversation it takes."""

from __future__ import annotations

import itertools
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from memslot_chat.request_messages import call_ids, for_request


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str, *ids: str, arguments: str = "{}") -> dict[str, Any]:
    calls = [{"id": each, "type": "function", "function": {"name": "t", "arguments": arguments}} for each in ids]
    return {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}


def result(call_id: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "name": "t", "content": text}


def shape(messages: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(each["role"], each["content"]) for each in messages]


def test_results_stand_behind_their_calls_in_their_order() -> None:
    ready = for_request([user("q"), assistant("", "a", "b"), result("b", "B"), result("a", "A"), assistant("done")])

    assert shape(ready) == [("user", "q"), ("assistant", ""), ("tool", "A"), ("tool", "B"), ("assistant", "done")]
    assert [each["tool_call_id"] for each in ready if each["role"] == "tool"] == ["a", "b"]


def test_a_call_without_a_result_gets_one_and_a_result_without_a_call_goes() -> None:
    ready = for_request([result("z", "old"), user("q"), assistant("", "a", "b"), result("a", "A"), user("again")])

    assert [each["role"] for each in ready] == ["user", "assistant", "tool", "tool", "user"]
    assert ready[2]["content"] == "A"
    assert ready[3]["content"].startswith("no result")


def test_what_another_program_said_in_between_comes_after_the_results() -> None:
    ready = for_request([user("q"), assistant("", "a"), user("from elsewhere"), result("a", "A"), assistant("done")])

    assert shape(ready)[2:4] == [("tool", "A"), ("user", "from elsewhere")]


def test_an_id_that_is_used_twice_leads_to_two_results() -> None:
    ready = for_request([assistant("", "a"), result("a", "1"), user("q"), assistant("", "a"), result("a", "2")])

    assert [each["content"] for each in ready if each["role"] == "tool"] == ["1", "2"]


def test_speakers_take_turns() -> None:
    ready = for_request([user("a"), user("b"), assistant("c"), assistant(""), assistant("d"), user("e")])

    assert shape(ready) == [("user", "a\n\nb"), ("assistant", "c\n\nd"), ("user", "e")]


def test_arguments_that_are_no_object_are_wrapped() -> None:
    for arguments in ("{broken", "[1]", '"x"'):
        sent = for_request([assistant("", "a", arguments=arguments)])[0]["tool_calls"][0]["function"]["arguments"]
        assert json.loads(sent) == {"unreadable": arguments}


def test_what_only_one_endpoint_knows_goes_to_its_model_alone() -> None:
    message = {**assistant("", "a"), "reasoning_content": "hm", "model": "one"}
    message["tool_calls"][0]["extra_content"] = {"signature": "x"}
    sent = {model: for_request([message, result("a", "r")], model)[0] for model in ("one", "two", None)}

    assert sent["one"]["reasoning_content"] == "hm"
    assert sent["one"]["tool_calls"][0]["extra_content"] == {"signature": "x"}
    assert sent["two"] == sent[None] == {**assistant("", "a")}
    for odd in ({"reasoning_content": 3}, {"reasoning_content": None}):
        assert "reasoning_content" not in for_request([{**message, **odd}], "one")[0]


def test_messages_of_other_programs_are_reduced_to_what_is_known() -> None:
    foreign = [
        {"role": "system", "content": "obey"},
        {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "image", "data": "…"}], "extra": 1},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "yes"}]},
        {"role": "toolResult", "content": "x"},
        {"role": "assistant", "content": "ok", "tool_calls": [{"id": 3}, "x"]},
    ]

    assert for_request(foreign) == [user("hi"), {"role": "assistant", "content": "yes\n\nok"}]


_ids = st.sampled_from(["a", "b", "c"])
_messages = st.lists(
    st.one_of(
        st.builds(user, st.text(max_size=3)),
        st.builds(
            lambda text, ids: assistant(text, *ids), st.text(max_size=3), st.lists(_ids, max_size=3, unique=True)
        ),
        st.builds(result, _ids, st.text(max_size=3)),
    ),
    max_size=12,
)


@settings(deadline=None)
@given(_messages)
def test_every_call_is_followed_by_just_its_results(messages: list[dict[str, Any]]) -> None:
    ready = for_request(messages)

    due: list[str] = []
    for message in ready:
        if message["role"] == "tool":
            assert message["tool_call_id"] == due.pop(0)
            assert message["content"]
            continue
        assert due == []
        due = [call["id"] for call in message.get("tool_calls", ())]
    assert due == []
    pairs = itertools.pairwise(ready)
    assert not any(one["role"] == two["role"] == "user" for one, two in pairs)
    assert call_ids(ready) == call_ids(messages)
