"""One prompt, one answer: as scripts and pipes use the chat."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest


def test_the_answer_goes_to_stdout_and_nothing_else(chat: Any, wire: Any, key: str) -> None:
    chat.script(wire.say("The **gate** ", "is blue.\n\nBye."))

    done = chat.run("what colour is the gate?")

    assert (done.returncode, done.stdout, done.stderr) == (0, "The **gate** is blue.\n\nBye.\n", "")
    (request,) = chat.server.seen
    assert request.headers["authorization"] == f"Bearer {key}"
    assert request.messages[0]["role"] == "system"
    assert request.texts[0][1].endswith("</relevant-memories>\n\nwhat colour is the gate?")
    assert "the gate is &lt;blue&gt;" in request.texts[0][1]
    assert {tool["function"]["name"] for tool in request.body["tools"]} >= {"meet", "fail", "keep"}


def test_what_is_piped_in_is_the_prompt_or_comes_after_it(chat: Any, wire: Any) -> None:
    chat.script(wire.say("1"), wire.say("2"))

    chat.run(text="from the pipe\nin two lines\n")
    chat.run("review this", text="+ a\n- b\n")

    assert [each.texts for each in chat.server.seen] == [
        [("user", "from the pipe\nin two lines")],
        [("user", "review this\n\n+ a\n- b")],
    ]


def test_json_holds_the_answer_the_calls_and_the_session(chat: Any, wire: Any) -> None:
    chat.script(wire.call(("keep", {"word": "blue"}), ("fail", {})), wire.say("Kept\u202e."))

    done = chat.run("remember the gate", "--json", "--session", "colours")
    told = json.loads(done.stdout)

    assert done.returncode == 0
    assert (told["answer"], told["session"], told["agent"], told["model"]) == (
        "Kept\u202e.",
        "colours",
        "main",
        "echo-1",
    )
    assert "\u202e" not in done.stdout
    assert told["usage"] == {"inputTokens": 300, "outputTokens": 30}
    assert "Ines has the key" in told["recalled"]
    calls = {call["name"]: call for call in told["toolCalls"]}
    assert calls["keep"]["result"] == "kept"
    assert calls["fail"]["isError"]
    assert json.loads(calls["keep"]["arguments"]) == {"word": "blue"}


def test_tools_run_at_once_and_their_results_come_in_order(chat: Any, wire: Any) -> None:
    chat.script(wire.call(("meet", {"word": "first"}), ("meet", {"word": "second"})), wire.say("They met."))

    done = chat.run("let them meet")

    assert done.stdout == "They met.\n"
    results = [each for each in chat.server.seen[1].messages if each["role"] == "tool"]
    assert [(each["tool_call_id"], each["content"]) for each in results] == [
        ("call_1", "met as first"),
        ("call_2", "met as second"),
    ]


def test_what_goes_wrong_with_a_tool_is_told_to_the_model(chat: Any, wire: Any) -> None:
    chat.script(
        wire.call(("fail", {}), ("keep", '{"word": '), ("keep", {"wrod": "x"}), ("nothing", {}), ("keep", "[1]")),
        wire.say("I see."),
    )

    assert chat.run("try").stdout == "I see.\n"

    second = chat.server.seen[1]
    results = [each["content"] for each in second.messages if each["role"] == "tool"]
    assert "the shelf is empty" in results[0]
    assert "not valid JSON" in results[1]
    assert "word" in results[2]
    assert 'there is no tool "nothing"' in results[3]
    assert "one JSON object" in results[4]
    sent = [call["function"]["arguments"] for each in second.messages for call in each.get("tool_calls", ())]
    assert all(isinstance(json.loads(arguments), dict) for arguments in sent)
    assert chat.file("kept") == ""


def test_calls_count_also_where_the_answer_says_stop(chat: Any, wire: Any) -> None:
    chat.script(wire.call(("keep", {"word": "a"}), finish="stop"), wire.say("done"))

    assert chat.run("go").stdout == "done\n"
    assert chat.file("kept") == "a\n"


def test_thoughts_and_signatures_go_back_to_the_model_they_came_from(chat: Any, wire: Any) -> None:
    """DeepSeek and Kimi refuse a turn with tools without its thoughts, Gemini a call without its signature."""
    signature = {"google": {"thought_signature": "c2ln"}}
    called = {
        "index": 0,
        "id": "call_1",
        "type": "function",
        "extra_content": signature,
        "function": {"name": "keep", "arguments": '{"word": "a"}'},
    }
    chat.script(
        wire.deltas({"reasoning_content": "I should "}, {"reasoning_content": "write."}, {"tool_calls": [called]}),
        wire.deltas({"reasoning_content": "It is done."}, {"content": "Kept."}),
        wire.deltas({"reasoning_content": "Easy."}, {"content": "You are welcome."}),
        *[wire.say("Bye.")] * 2,
    )
    assert chat.run("keep a", "--session", "s").stdout == "Kept.\n"
    chat.run("thanks", "--session", "s")
    chat.run("bye", "--session", "s")
    chat.run("bye", "--session", "s", "--model", "other-1")

    def thoughts(number: int) -> list[str | None]:
        answers = [each for each in chat.server.seen[number].messages if each["role"] == "assistant"]
        assert all("model" not in each for each in answers)
        return [each.get("reasoning_content") for each in answers]

    def signatures(number: int) -> list[Any]:
        messages = chat.server.seen[number].messages
        return [call.get("extra_content") for each in messages for call in each.get("tool_calls", ())]

    assert [thoughts(number) for number in (1, 2, 3)] == [
        ["I should write."],
        ["I should write.", "It is done."],
        ["I should write.", "It is done.", None],
    ]
    assert [signatures(number) for number in (1, 2, 3)] == [[signature]] * 3
    assert thoughts(4) == [None] * 4
    assert signatures(4) == [None]


def test_long_results_are_cut_with_a_note(chat: Any, wire: Any) -> None:
    chat.configure(contextWindow=10_000)
    chat.script(wire.call(("long", {})), wire.say("long"))

    chat.run("go")

    (result,) = [each["content"] for each in chat.server.seen[1].messages if each["role"] == "tool"]
    assert len(result) == 10_000
    assert result.endswith("[cut: 40000 characters, 10000 shown; ask for less at once]")


def test_a_model_that_only_calls_tools_is_stopped(chat: Any, wire: Any) -> None:
    chat.script(*[wire.call(("keep", {"word": "again"}), first=number) for number in range(40)])

    done = chat.run("go", "--session", "loop")

    assert done.returncode == 1
    assert "called tools 25 times without answering" in done.stderr
    assert len(chat.server.seen) == 25
    assert chat.transcript("loop")[-1]["role"] == "tool"


def test_a_model_without_tools_is_asked_without(chat: Any, wire: Any) -> None:
    chat.script(wire.refuse(400, "gemma does not support tools"), wire.say("fine"))

    done = chat.run("go")

    assert done.stdout == "fine\n"
    assert "continuing without tools" in done.stderr
    assert "tools" not in chat.server.seen[1].body


def test_each_prompt_is_a_conversation_of_its_own_unless_one_is_named(chat: Any, wire: Any) -> None:
    chat.script(*[wire.say(str(number)) for number in range(4)])

    chat.run("one")
    chat.run("two")
    chat.run("three", "--session", "work")
    chat.run("four", "--session", "wor")

    assert [len(each.texts) for each in chat.server.seen] == [1, 1, 1, 3]
    assert len(chat.sessions()) == 3
    assert chat.said("work") == [("user", "three"), ("assistant", "2"), ("user", "four"), ("assistant", "3")]


def test_an_empty_key_names_no_conversation(chat: Any, wire: Any) -> None:
    chat.script(wire.say("one"))
    chat.run("first", "--session", "only")
    done = chat.run("second", "--session", "")

    assert done.returncode == 1
    assert "cannot be empty" in done.stderr
    assert chat.said("only") == [("user", "first"), ("assistant", "one")]


def test_usage_goes_to_the_registry(chat: Any, wire: Any) -> None:
    chat.script(wire.say("a", usage=(100, 10)), wire.say("b", usage=(150, 20)))

    chat.run("one", "--session", "work")
    chat.run("two", "--session", "work")

    record = chat.command.json("sessions", "show", "work")
    assert (record["inputTokens"], record["outputTokens"], record["totalTokens"]) == (250, 30, 280)
    assert (record["channel"], record["chatType"]) == ("chat", "direct")


def test_plugins_hear_of_the_end_without_what_was_recalled(chat: Any, wire: Any) -> None:
    chat.script(wire.call(("keep", {"word": "a"})), wire.say("blue"), wire.refuse(401, "no"))

    chat.run("which gate?")
    chat.run("again")

    first, second = [json.loads(line) for line in chat.file("ends").splitlines()]
    assert first["said"] == [["user", "which gate?"], ["assistant", ""], ["tool", "kept"], ["assistant", "blue"]]
    assert (first["success"], first["error"]) == (True, None)
    assert second["said"] == [["user", "again"]]
    assert second["success"] is False
    assert "refused the key" in second["error"]


def test_the_type_of_chat_is_kept_with_the_conversation(chat: Any, wire: Any) -> None:
    chat.script(wire.say("1"), wire.say("2"))

    chat.run("one", "--session", "team", "--chat-type", "group")
    chat.run("two", "--session", "team")

    assert chat.command.json("sessions", "show", "team")["chatType"] == "group"


def test_agents_have_their_own_model_and_conversations(chat: Any, wire: Any) -> None:
    chat.script(wire.say("1"), wire.say("2"))

    done = chat.command("--agent", "work", "chat", "one")
    assert done.stdout == "1\n", done.stderr
    chat.run("two", "--agent", "work", "--model", "other")

    assert [each.body["model"] for each in chat.server.seen] == ["work-1", "other"]
    assert chat.sessions() == []
    assert len(chat.command.json("sessions", "list", "--agent", "work")["sessions"]) == 2


def test_a_system_prompt_of_ones_own(chat: Any, wire: Any) -> None:
    chat.script(wire.say("Arr."))

    chat.run("hello", "--system", "You are a pirate.")

    assert chat.server.seen[0].messages[0] == {"role": "system", "content": "You are a pirate."}


def test_what_models_say_cannot_steer_the_terminal(chat: Any, wire: Any) -> None:
    chat.script(wire.say("a\x1b]52;c;aGk=\x07b\x1b", "[2Jc\x9b31md\u202ee\rf"))

    assert chat.run("go").stdout == "a]52;c;aGk=b[2Jc31mdef\n"


def test_without_settings_the_commands_are_named(chat: Any) -> None:
    chat.command.write_config("{}")

    done = chat.run("hello")

    assert (done.returncode, done.stdout) == (1, "")
    assert "No model and no base URL" in done.stderr
    assert "memslot config set agents.defaults.baseUrl https://api.openai.com/v1" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "text", "sentence"),
    [
        ([], "", "the prompt is empty"),
        (["  "], "", "the prompt is empty"),
        (["x", "--session", "a", "--new"], "", "not both"),
        (["x", "--chat-type", "crowd"], "", "Invalid value"),
    ],
)
def test_wrong_usage(chat: Any, arguments: list[str], text: str, sentence: str) -> None:
    done = chat.run(*arguments, text=text)

    assert done.returncode == 2
    assert sentence in done.stderr


def test_failures_are_one_sentence_and_the_conversation_goes_on(chat: Any, wire: Any, key: str) -> None:
    chat.script(wire.refuse(401, f"Incorrect API key provided: {key}"), wire.say("there"))

    failed = chat.run("hello?", "--session", "work")
    chat.run("hello again?", "--session", "work")

    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr.startswith("Error: the chat endpoint at http://127.0.0.1:")
    assert len(failed.stderr.splitlines()) == 1
    assert key not in failed.stderr
    assert chat.server.seen[1].texts == [("user", "hello?\n\nhello again?")]
    assert key not in json.dumps(chat.transcript("work"))


def test_an_answer_that_breaks_off_is_kept_as_far_as_it_came(chat: Any, wire: Any) -> None:
    chat.script(
        wire.raw([b'data: {"choices":[{"delta":{"content":"The gate is"}}]}\n\n'], ends=False), wire.say("blue.")
    )

    failed = chat.run("so?", "--session", "work")
    chat.run("go on", "--session", "work")

    assert (failed.returncode, failed.stdout) == (1, "The gate is\n")
    assert "broke off in the middle" in failed.stderr
    assert chat.server.seen[1].texts == [
        ("user", "so?"),
        ("assistant", "The gate is\n\n[interrupted]"),
        ("user", "go on"),
    ]


def test_json_says_an_error_too(chat: Any) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"

    done = chat.run("hello", "--json", "--base-url", url)

    assert done.returncode == 1
    assert "is it running?" in json.loads(done.stdout)["error"]
    assert "is it running?" in done.stderr


def test_a_reader_that_goes_away_ends_it_quietly(chat: Any, wire: Any) -> None:
    chat.script(wire.say(*["line\n"] * 5000))

    process = chat.start("go", "--session", "work")
    assert process.stdout.readline() == "line\n"
    process.stdout.close()

    assert process.wait(60) == 1
    assert "Traceback" not in process.stderr.read()
    assert chat.transcript("work")[-1]["content"].endswith("[interrupted]")


def test_an_answer_that_cannot_be_written(chat: Any, wire: Any) -> None:
    chat.script(wire.say("Hello"))

    done = chat.in_shell("chat go </dev/null >/dev/full")

    assert done.returncode == 1
    assert done.stderr == "Error: the answer cannot be written: No space left on device\n"


def test_an_empty_answer_is_none(chat: Any, wire: Any) -> None:
    chat.script(wire.say(""), wire.deltas({"content": None, "reasoning_content": "hm"}))

    plain, told = chat.run("go"), chat.run("go", "--json")

    assert (plain.returncode, plain.stdout, plain.stderr) == (1, "", "Error: the model returned an empty answer\n")
    assert told.returncode == 1
    assert json.loads(told.stdout)["error"] == "the model returned an empty answer"


def test_json_is_json_also_where_the_output_is_ascii(chat: Any, wire: Any) -> None:
    chat.script(wire.say("naïve 🜁"))

    done = chat.run("go", "--json", PYTHONIOENCODING="ascii")

    assert json.loads(done.stdout)["answer"] == "naïve 🜁"


def test_an_input_that_is_closed_is_no_prompt(chat: Any, wire: Any) -> None:
    chat.script(wire.say("Hello"))

    assert chat.in_shell("chat go <&-").stdout == "Hello\n"
    nothing = chat.in_shell("chat <&-")
    assert nothing.returncode == 2
    assert "the prompt is empty" in nothing.stderr


def test_an_input_without_end_is_not_read_to_it(chat: Any) -> None:
    done = chat.in_shell("chat go </dev/zero")

    assert done.returncode == 2
    assert "stdin has more than 8,388,608 bytes" in done.stderr


def test_help_imports_nothing_heavy(chat: Any) -> None:
    python, *module = chat.command.argv
    chat.command.argv = [python, "-X", "importtime", *module]

    done = chat.command("chat", "--help")

    assert "Examples:" in done.stdout
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "click" in imported
    assert not {"openai", "httpx2", "rich"} & imported
