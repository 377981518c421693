"""The chat as a person sees it."""

from __future__ import annotations

import re
import stat
from typing import Any

import pytest

LONG = "\n\n".join(f"Paragraph {number} of a long answer." for number in range(60))


def test_a_conversation(chat: Any, wire: Any) -> None:
    chat.script(
        wire.call(("keep", {"word": "blue"}), text="Let me write it down."),
        wire.say("# Done\n\nThe **gate** is `blue`: see Vec<T>.\n\n- one\n- two\n"),
    )
    shown = chat.terminal()

    assert "memslot chat · echo-1 at http://127.0.0.1:" in shown.text
    assert "New conversation" in shown.text
    shown.line("which gate?")
    shown.expect("recalled 2 lines from memory", "Let me write it down.")
    shown.expect('keep {"word": "blue"} · ', " s · 4 characters")
    shown.expect("Done", "The gate is blue: see Vec<T>.", "• one", "• two")
    shown.prompt()
    shown.send("\x04")

    assert shown.wait() == 0
    assert b"\x1b[1mgate\x1b[0m" in shown.raw
    assert shown.raw.count(b"\x1b[?25l") <= shown.raw.count(b"\x1b[?25h"), "the cursor stays hidden"


def test_the_next_chat_goes_on_with_the_last_one(chat: Any, wire: Any) -> None:
    chat.script(wire.say("One."), wire.say("Two."), wire.say("Three."))
    first = chat.terminal()
    first.line("a")
    first.expect("One.")
    first.prompt()
    first.line("/quit")
    first.wait()

    second = chat.terminal()
    assert "Resuming " in second.text
    second.line("b")
    second.expect("Two.")
    second.prompt()
    second.line("/quit")
    second.wait()
    third = chat.terminal("--new")
    third.line("c")
    third.expect("Three.")

    assert [len(each.texts) for each in chat.server.seen] == [1, 3, 1]


def test_a_chat_does_not_go_on_with_what_a_script_asked(chat: Any, wire: Any) -> None:
    chat.script(wire.say("One."), wire.say("Two."))
    chat.run("asked every morning")

    dialogue = chat.terminal()
    assert "Resuming " not in dialogue.text
    dialogue.line("hello")
    dialogue.expect("Two.")

    assert [len(each.texts) for each in chat.server.seen] == [1, 1]
    assert len(chat.sessions()) == 2


def test_an_answer_longer_than_the_terminal_is_shown_whole(chat: Any, wire: Any) -> None:
    pieces = [LONG[at : at + 50] for at in range(0, len(LONG), 50)]
    code = "```\n" + "\n".join(f"line {number}" for number in range(80)) + "\n```\n"
    chat.script(wire.say(*pieces), wire.say(*[code[at : at + 20] for at in range(0, len(code), 20)]))
    shown = chat.terminal(rows=12, columns=50)

    shown.line("tell me")
    shown.expect("Paragraph 0 ", "Paragraph 30 ", "Paragraph 59 ")
    shown.prompt()
    shown.line("code")
    shown.prompt()
    shown.line("/quit")
    shown.wait()

    # What is printed for good begins a line; a block that is redrawn may appear more often.
    for number in range(60):
        assert f"Paragraph {number} of a long answer." in shown.text
    last = shown.text[shown.text.rindex("line 0 ") :]
    assert [int(each) for each in re.findall(r"line (\d+)", last)] == list(range(80))


def test_the_terminal_may_change_its_size_meanwhile(chat: Any, wire: Any) -> None:
    chat.script(wire.stall("Before the change.\n\nAnd a line that is ", "still coming"), wire.say(LONG))
    shown = chat.terminal(rows=20, columns=90)

    shown.line("tell me")
    shown.expect("Before the change.", "still coming")
    shown.resize(8, 30)
    shown.send("\x03")
    shown.expect("stopped")
    shown.prompt()
    shown.line("more")
    shown.expect("Paragraph 59 ")
    shown.prompt()
    shown.line("/quit")

    assert shown.wait() == 0
    assert "Traceback" not in shown.text


def test_models_and_tools_cannot_steer_the_terminal(chat: Any, wire: Any) -> None:
    evil = "\x1b]52;c;aGk=\x07\x1b]8;;http://evil.example\x1b\\x\x9b2J\u202e[a](http://evil.example) \x1b]0;pwned\x07"
    chat.script(wire.call(("evil", {"x": evil}), ("evil\x1b]0;", "\x1b]0;pwned\x07")), wire.say(evil, "end of it"))
    shown = chat.terminal()

    shown.line("go")
    shown.expect("end of it")
    shown.prompt()
    shown.line("/sessions")
    shown.prompt()
    shown.line("/quit")
    shown.wait()

    assert b"\x1b]" not in shown.raw
    assert b"\x07" not in shown.raw
    assert "\x9b".encode() not in shown.raw
    assert "\u202e".encode() not in shown.raw


def test_failures_leave_the_chat_open(chat: Any, wire: Any, key: str) -> None:
    chat.script(wire.refuse(401, f"bad key {key}"), wire.refuse(503, "busy", Retry_After="0"), wire.say("There."))
    shown = chat.terminal()

    shown.line("hello?")
    shown.expect("Error: the chat endpoint at", "refused the key")
    shown.prompt()
    shown.line("hello?")
    shown.expect("There.")

    assert key not in shown.text


def test_slash_commands(chat: Any, wire: Any) -> None:
    chat.script(wire.say("One."), wire.say("Slash."))
    shown = chat.terminal("--session", "colours")

    def ask(line: str) -> str:
        shown.line(line)
        shown.expect(line)
        return str(shown.prompt())

    assert "No prompt yet" in ask("/explain")
    shown.line("which gate?")
    shown.expect("One.")
    shown.prompt()
    assert "/memory [QUERY]" in ask("/help")
    assert "memory  none" in ask("/memory")
    tools = ask("/tools")
    assert "Meet another call." in tools
    assert "bench" in tools
    explained = ask("/explain")
    assert "the gate is <blue>" in explained
    assert "Ines has the key" in explained
    listed = ask("/sessions")
    assert "colours" in listed
    assert "which gate?" in listed
    assert "Unknown command /seshuns; did you mean /sessions?" in ask("/seshuns").replace("\n", " ")
    assert "There is no conversation 'nowhere'" in ask("/sessions nowhere")
    assert "New conversation" in ask("/new")
    assert "Resuming colours" in ask("/sessions colours")
    shown.line("//slash is for you")
    shown.expect("Slash.")
    shown.prompt()
    shown.line("/quit")

    assert shown.wait() == 0
    assert chat.server.seen[1].texts[-1] == ("user", "/slash is for you")


def test_tab_completes_commands_and_conversations(chat: Any, wire: Any) -> None:
    chat.script(wire.say("1"))
    chat.run("x", "--session", "colours")
    shown = chat.terminal("--new")

    shown.send("/ses\t")
    shown.expect("/sessions")
    shown.send(" col\t\r")
    shown.expect("Resuming colours")


def test_lines_that_are_remembered_are_the_owners_alone(chat: Any, wire: Any) -> None:
    chat.script(wire.say("One."), wire.say("Two."))
    shown = chat.terminal()
    shown.line("an old question")
    shown.expect("One.")
    shown.prompt()
    shown.line("/quit")
    shown.wait()

    history = chat.command.home / "chat_history"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert "an old question" in history.read_text(encoding="utf-8")
    again = chat.terminal("--new")
    again.send("\x1b[A\x1b[A\r")
    again.expect("Two.")
    assert chat.server.seen[1].texts == [("user", "an old question")]


def test_a_line_may_go_on_in_the_next_and_what_is_pasted_is_one(chat: Any, wire: Any) -> None:
    chat.script(wire.say("One."), wire.say("Two."))
    shown = chat.terminal()

    shown.line("first\\")
    shown.expect("… ")
    shown.line("second")
    shown.expect("One.")
    shown.prompt()
    shown.send("\x1b[200~pasted\nlines\x1b[201~\r")
    shown.expect("Two.")

    assert chat.server.seen[0].texts == [("user", "first\nsecond")]
    assert chat.server.seen[1].texts[-1] == ("user", "pasted\nlines")


def test_a_prompt_on_a_terminal_is_answered_plainly(chat: Any, wire: Any) -> None:
    chat.script(wire.call(("keep", {"word": "a"})), wire.say("The **gate**."))

    code, shown = chat.command.on_a_terminal("chat", "which gate?")

    assert code == 0
    assert "The **gate**." in shown
    assert "recalled 2 lines from memory" in shown
    assert "keep" in shown


def test_no_colours_where_nobody_wants_them(chat: Any, wire: Any) -> None:
    chat.script(wire.say("The **gate**."))
    shown = chat.terminal(NO_COLOR="1")
    shown.line("x")
    shown.expect("The gate.")
    shown.prompt()

    assert not re.search(rb"\x1b\[[0-9;]*3[0-7]m", shown.raw)


def test_nothing_is_drawn_where_the_terminal_cannot(chat: Any, wire: Any) -> None:
    chat.script(wire.say("The **gate**."))
    shown = chat.terminal(TERM="dumb")
    shown.line("x")
    shown.expect("The gate.")
    shown.prompt()
    shown.line("/quit")

    assert shown.wait() == 0
    assert b"\x1b" not in shown.raw


@pytest.mark.parametrize("env", [{"PYTHONIOENCODING": "utf-8:strict"}, {"LC_ALL": "xx_XX.UTF-8"}], ids=str)
def test_what_is_written_may_be_in_any_encoding(chat: Any, wire: Any, env: dict[str, str]) -> None:
    chat.script(wire.say("Coffee."), wire.say("Tea."))
    shown = chat.terminal(**env)

    shown.send_bytes(b"caf\xe9 na\xc3\xafve\r")
    shown.expect("Coffee.")
    shown.prompt()
    shown.line("and now?")
    shown.expect("Tea.")

    assert chat.server.seen[0].texts[0][1].startswith("caf")
