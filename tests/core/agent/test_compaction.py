"""The memory flush: when it is due, that it happens once, what is said in it and what is not shown of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memslot import CompactionFlush, Config, Places, count_tokens, is_silent_reply
from memslot.agent.compaction import WindowBudget, is_writable
from memslot.config.model import FLUSH_PROMPT

FULL = 176_000


@pytest.fixture
def places(tmp_path: Path) -> Places:
    (tmp_path / "workspace").mkdir()
    return Places.from_env({"MEMSLOT_HOME": str(tmp_path)})


def flush_of(places: Places, *, window: int = 200_000, **compaction: Any) -> CompactionFlush:
    tree = {"agents": {"defaults": {"contextWindow": window, "compaction": compaction}}}
    return CompactionFlush(Config.from_tree(tree), places, "main")


# When


@pytest.mark.parametrize(("tokens", "is_due"), [(0, False), (FULL - 1, False), (FULL, True), (500_000, True)])
def test_flush_is_due_from_the_window_less_reserve_less_threshold(places: Places, tokens: int, is_due: bool) -> None:
    flush = flush_of(places)

    assert (flush.reason_not_due("s", tokens) is None) is is_due
    assert (flush.begin("s", tokens) is not None) is is_due


def test_settings_and_the_models_own_window_move_the_threshold(places: Places) -> None:
    budget = flush_of(
        places, window=100_000, reserveTokensFloor=10_000, memoryFlush={"softThresholdTokens": 5_000}
    ).budget
    assert (budget.flush_at, budget.compact_at) == (85_000, 90_000)
    other = CompactionFlush(Config(), places, "main", context_window=60_000)
    assert (other.budget.flush_at, other.budget.compact_at) == (36_000, 40_000)
    assert other.needs_compaction(40_000)
    assert not other.needs_compaction(39_999)


@given(st.integers(1_000, 10_000_000), st.integers(0, 10_000_000), st.integers(0, 10_000_000))
def test_the_flush_comes_before_the_compaction_and_neither_at_once(window: int, reserve: int, soft: int) -> None:
    compaction = {"reserveTokensFloor": reserve, "memoryFlush": {"softThresholdTokens": soft}}
    config = Config.from_tree({"agents": {"defaults": {"contextWindow": window, "compaction": compaction}}})
    budget = WindowBudget.of(config.agents.defaults)

    assert 0 < budget.flush_at <= budget.compact_at <= window
    if reserve + soft < window:
        assert budget.flush_at == window - reserve - soft
    else:
        assert budget.flush_at >= window // 2


def test_flush_is_held_once_for_each_compaction(places: Places) -> None:
    flush = flush_of(places)

    assert flush.begin("s", FULL) is not None
    assert flush.begin("s", FULL + 1000) is None
    assert flush_of(places).begin("s", FULL) is None, "another process reads the same registry"
    assert "since the last compaction" in str(flush.reason_not_due("s", FULL))
    assert flush.begin("other", FULL) is not None
    flush.store.append_compaction("s", "short")
    assert flush.begin("s", FULL) is not None
    assert flush.begin("s", FULL) is None


def test_flush_is_remembered_in_the_registry(places: Places) -> None:
    flush = flush_of(places)
    flush.store.append_compaction("s", "short")
    flush.begin("s", FULL)
    record = flush.store.record("s")

    assert record is not None
    assert record.memory_flush_at > 1_700_000_000_000
    assert (record.compaction_count, record.memory_flush_compaction_count) == (1, 1)


def test_a_turn_that_could_not_be_held_is_due_again(places: Places) -> None:
    flush = flush_of(places)
    flush.begin("s", FULL)
    flush.make_due_again("s")

    assert flush.begin("s", FULL) is not None
    flush.make_due_again("unknown")
    assert flush.store.record("unknown") is None


def test_flush_can_be_turned_off(places: Places) -> None:
    flush = flush_of(places, memoryFlush={"enabled": False})

    assert flush.reason_not_due("s", FULL) == "the flush is turned off"
    assert flush.begin("s", FULL) is None


def test_flush_is_left_out_where_the_agent_cannot_write(places: Places) -> None:
    flush = flush_of(places)

    assert flush.begin("s", FULL, can_write=False) is None
    assert flush.begin("s", FULL) is not None, "leaving it out does not use it up"


@pytest.fixture
def as_nobody(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Callable[[], bool]], bool]:
    """Ask in a child that is not root: permission bits mean nothing to root."""
    import os

    def ask(question: Callable[[], bool]) -> bool:
        child = os.fork()
        if child == 0:
            code = 2
            try:
                if os.geteuid() == 0:
                    os.setgroups([])
                    os.setgid(65534)
                    os.setuid(65534)
                code = int(question())
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in (0, 1)
        return bool(code)

    return ask


@pytest.mark.parametrize(
    ("mode", "memory_mode", "expected"),
    [(0o777, None, True), (0o777, 0o777, True), (0o555, None, False), (0o777, 0o555, False), (0o555, 0o777, False)],
)
def test_a_read_only_workspace_is_seen(
    as_nobody: Callable[[Callable[[], bool]], bool], mode: int, memory_mode: int | None, expected: bool
) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        workspace = Path(name, "workspace")
        workspace.mkdir()
        if memory_mode is not None:
            (workspace / "memory").mkdir()
            (workspace / "memory").chmod(memory_mode)
        workspace.chmod(mode)
        assert as_nobody(lambda: is_writable(workspace)) is expected
        workspace.chmod(0o755)


def test_a_workspace_that_is_not_there_yet_can_be_written_and_a_file_cannot(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    assert is_writable(tmp_path / "not" / "yet")
    assert not is_writable(tmp_path / "file")


def test_flush_is_left_out_for_a_read_only_workspace(places: Places) -> None:
    (places.home / "workspace").rmdir()
    (places.home / "workspace").write_text("a file in its place")

    assert "cannot be written" in str(flush_of(places).reason_not_due("s", FULL))


# What is said


def test_the_turn_has_the_prompts_with_todays_date(places: Places) -> None:
    turn = flush_of(places).begin("s", FULL, today=date(2026, 3, 4))

    assert turn is not None
    assert "memory/2026-03-04.md" in turn.prompt
    assert "NO_REPLY" in turn.system_prompt
    system, user = turn.messages
    assert (system["role"], user["role"]) == ("system", "user")
    assert (system["content"], user["content"]) == (turn.system_prompt, turn.prompt)
    assert "YYYY-MM-DD" in FLUSH_PROMPT


def test_the_prompts_can_be_other_ones(places: Places) -> None:
    turn = flush_of(places, memoryFlush={"systemPrompt": "Quiet.", "prompt": "Save."}).begin("s", FULL)

    assert turn is not None
    assert (turn.system_prompt, turn.prompt) == ("Quiet.", "Save.")


@pytest.mark.parametrize(
    "text",
    [
        "NO_REPLY",
        "  NO_REPLY\n",
        "**NO_REPLY**",
        "`NO_REPLY`",
        '"NO_REPLY."',
        "NO_REPLY\n\nNothing to store.",
        "NO_REPLY: nothing to store",
        "I saved three notes.\n\nNO_REPLY",
        "I saved three notes. NO_REPLY",
        "Saved.\n`NO_REPLY`\n",
        "Saved. **NO_REPLY**.",
    ],
)
def test_an_answer_that_begins_or_ends_with_the_token_is_silent(text: str) -> None:
    assert is_silent_reply(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I saved three notes.",
        "NO_REPLYING is not a word.",
        "XNO_REPLY",
        "no_reply",
        "I was told to say NO_REPLY when there is nothing, but your deadline is today.",
        'The word would be "NO_REPLY".',
        "`NO_REPLY` is what I answer to the system.",
        "Set reply-to to NO_REPLY@example.com",
        "DO_NO_REPLY",
    ],
)
def test_an_answer_that_only_speaks_of_it_is_shown(text: str) -> None:
    assert not is_silent_reply(text)


# Counting


def test_tokens_grow_with_the_text_and_not_with_a_pictures_encoding() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 400_000}}
    message = {"role": "user", "content": [{"type": "text", "text": "x" * 4000}, picture]}

    assert count_tokens([]) == 0
    assert 1000 <= count_tokens([{"role": "user", "content": "x" * 4000}]) <= 1020
    assert 2000 <= count_tokens([message]) <= 2100
    assert count_tokens([message, message], "y" * 400) == 2 * count_tokens([message]) + 100
    assert (
        count_tokens([{"role": "assistant", "content": None, "tool_calls": [{"function": {"arguments": "z" * 400}}]}])
        > 100
    )


def test_hook_before_compaction_hears_of_it(bench: Any) -> None:
    bench.write(
        "listener",
        """
        @hookimpl
        def before_compaction(session, messages, tokens):
            HEARD.append((session.id, len(messages), tokens))
        """,
    )
    host = bench.load()
    with host.run("hello", session="s") as run:
        host.before_compaction(run.session, [{"role": "user", "content": "hello"}], FULL)

    assert bench.heard("listener") == [("s", 1, FULL)]
