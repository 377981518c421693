"""Two chats on one conversation, and the real memory."""

from __future__ import annotations

import threading
from typing import Any


def test_two_chats_on_one_conversation(chat: Any, wire: Any) -> None:
    both_asked = threading.Barrier(2, timeout=60)

    def together(step: Any) -> Any:
        def wait(exchange: Any) -> None:
            both_asked.wait()
            step(exchange)

        return wait

    chat.script(wire.say("Hello."), *[together(wire.call(("keep", {"word": "x"})))] * 2)
    chat.script(wire.say("Answer."), wire.say("Answer."))
    chat.run("hi", "--session", "work")

    both = [chat.start(f"question {number}", "--session", "work") for number in (1, 2)]
    outputs = [each.communicate(timeout=90) for each in both]

    assert outputs == [("Answer.\n", "")] * 2
    for exchange in chat.server.seen[1:]:
        asked = [text for role, text in exchange.texts if role == "user"]
        assert "question" in asked[-1]
        assert len(asked) == 2, "what the other one does meanwhile is for the next turn"
    said = chat.said("work")
    assert len(said) == 2 + 2 * 4
    ids = [call["id"] for each in chat.transcript("work") for call in each.get("tool_calls", ())]
    results = [each["tool_call_id"] for each in chat.transcript("work") if each["role"] == "tool"]
    assert sorted(ids) == sorted(results)

    chat.script(wire.say("All good."))
    chat.run("and?", "--session", "work")
    roles = [role for role, _ in chat.server.seen[-1].texts]
    assert roles.count("tool") == 2
    for place, role in enumerate(roles):
        if role == "tool":
            assert roles[place - 1] in ("assistant", "tool")


def test_the_memory_is_searched_written_and_recalled(chat: Any, wire: Any) -> None:
    chat.configure(memory="memory-core", memorySearch={"provider": "none"})
    workspace = chat.command.home / "workspace"
    workspace.mkdir()
    (workspace / "MEMORY.md").write_text("# People\n\nInes keeps the orchid key.\n", encoding="utf-8")
    chat.script(
        wire.call(("memory_search", {"query": "orchid"}), ("memory_write", {"text": "The orchid blooms."})),
        wire.say("Ines has it."),
    )
    shown = chat.terminal("--session", "garden")

    shown.line("who has the orchid key?")
    shown.expect("from memory", "memory_search", "Ines has it.")
    shown.prompt()
    shown.line("/memory orchid")
    shown.expect("MEMORY.md#L", "Ines keeps the orchid key.")
    shown.prompt()
    shown.line("/explain orchid")
    shown.expect("MEMORY.md#L", "score")
    shown.prompt()
    shown.line("/memory")
    shown.expect("memory-core")
    shown.prompt()

    results = [each["content"] for each in chat.server.seen[1].messages if each["role"] == "tool"]
    assert "Ines keeps the orchid key." in results[0]
    (note,) = (workspace / "memory").glob("*.md")
    assert "The orchid blooms." in note.read_text(encoding="utf-8")


def test_two_memories_are_shown_and_searched_as_one(chat: Any) -> None:
    chat.configure(memory=["memory-core", "memory-lancedb"], memorySearch={"provider": "none"})
    workspace = chat.command.home / "workspace"
    workspace.mkdir()
    (workspace / "MEMORY.md").write_text("Ines keeps the orchid key.\n", encoding="utf-8")
    chat.command.ok("ltm", "add", "Ben waters the orchid on Sundays.")
    shown = chat.terminal("--session", "garden")

    assert "memory-core and memory-lancedb" in shown.text
    shown.line("/memory orchid")
    shown.expect("Ines keeps the orchid key.")
    shown.prompt()
    assert "memory-lancedb ltm/" in shown.text
    assert "Ben waters the orchid on Sundays." in shown.text
    shown.line("/memory")
    shown.expect("memory-core (builtin)", "memory-lancedb (lancedb)")
    shown.prompt()
