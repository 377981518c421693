"""What an agent reads when a conversation begins, in private and before an audience."""

from __future__ import annotations

import html
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memslot import Host, fence, visible
from memslot_memory_core.recall import RECALL_CHARS
from memslot_memory_core.session_notes import SessionNotes, read_session_notes

TODAY = date(2026, 3, 5)
FENCE_CHARS = 400


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    (folder / "memory").mkdir(parents=True)
    return folder


def write(workspace: Path, **notes: str) -> None:
    names = {
        "lasting": "MEMORY.md",
        "today": "memory/2026-03-05.md",
        "yesterday": "memory/2026-03-04.md",
        "before": "memory/2026-03-03.md",
    }
    for name, text in notes.items():
        (workspace / names[name]).write_text(text, encoding="utf-8")


def read(workspace: Path, *, private: bool = True, max_chars: int = 4000) -> list[str]:
    lines, taken = read_session_notes(workspace, private=private, today=TODAY, max_chars=max_chars)
    assert taken <= max_chars
    return lines


def test_lasting_notes_and_the_last_two_days_are_read_newest_last(workspace: Path) -> None:
    write(workspace, lasting="We use metres.", today="Gate painted.", yesterday="Gate bought.", before="Gate broken.")

    assert read(workspace) == [
        "From MEMORY.md:",
        "We use metres.",
        "From memory/2026-03-04.md:",
        "Gate bought.",
        "From memory/2026-03-05.md:",
        "Gate painted.",
    ]


def test_before_an_audience_the_lasting_notes_stay_closed(workspace: Path) -> None:
    write(workspace, lasting="My pin is in the drawer.", today="Gate painted.", yesterday="Gate bought.")

    assert [line for line in read(workspace, private=False) if not line.startswith("From")] == [
        "Gate bought.",
        "Gate painted.",
    ]


def test_nothing_is_read_where_there_is_nothing(workspace: Path, tmp_path: Path) -> None:
    assert read(workspace) == []
    assert read(tmp_path / "nowhere") == []
    write(workspace, lasting="# Memory\n\n## Preferences\n\n## Decisions\n", today="\n\n")
    assert read(workspace) == []


def test_markers_of_lists_and_empty_sections_are_left_out(workspace: Path) -> None:
    text = "# Memory\n\n## Empty\n\n## Preferences\n- tea\n  * green\n1. early\n\n### Deeper\n\n## Also empty\n"
    write(workspace, lasting=text)

    assert read(workspace)[1:] == ["# Memory", "## Preferences", "tea", "green", "early"]


def test_a_wrapped_list_item_is_one_line(workspace: Path) -> None:
    item = "- The billing service stays\n  on PostgreSQL,\n  for the reports.\n"
    write(workspace, lasting=f"{item}- Deploy with:\n  ```\n  make ship\n  ```\nAna\n likes tea\n")

    assert read(workspace)[1:] == [
        "The billing service stays on PostgreSQL, for the reports.",
        "Deploy with:",
        "```",
        "make ship",
        "```",
        "Ana",
        "likes tea",
    ]


def test_a_wrapped_sentence_is_one_line_but_code_tables_and_short_lines_stay(workspace: Path) -> None:
    start = "The billing service stays on PostgreSQL 16, as a move was turned down"
    code = "cat one.txt two.txt three.txt four.txt five.txt six.txt seven.txt"
    lines = [start, "because of the reports.", "", code[:19], "rm it", "```", code, "rm it", "```", f"| {code} |", "so"]
    write(workspace, lasting="\n".join(lines))

    assert read(workspace)[1:] == [f"{start} because of the reports.", *lines[3:]]


def test_a_note_in_lower_case_counts_where_the_other_is_missing(workspace: Path) -> None:
    (workspace / "memory.md").write_text("small letters")

    assert read(workspace) == ["From memory.md:", "small letters"]


def test_secrets_and_recalled_text_are_taken_out(workspace: Path) -> None:
    write(
        workspace,
        lasting="key sk-abcdefghijklmnop12345678\n",
        today="before\n<relevant-memories>\n- old\n</relevant-memories>\nafter\n",
    )
    text = "\n".join(read(workspace))

    assert "sk-abc" not in text
    assert "[redacted]" in text
    assert "old" not in text.split("\n")
    assert "after" in text


def test_links_are_not_followed(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("outside")
    (workspace / "memory" / "2026-03-05.md").symlink_to(tmp_path / "outside.md")

    assert read(workspace) == []


def test_when_not_all_fits_the_end_of_a_day_and_the_beginning_of_the_lasting_notes_stay(workspace: Path) -> None:
    write(
        workspace,
        lasting="\n".join(f"lasting {number}" for number in range(200)),
        today="\n".join(f"today {number}" for number in range(200)),
        yesterday="\n".join(f"yesterday {number}" for number in range(200)),
    )
    lines = read(workspace, max_chars=1000)

    assert lines[-1] == "today 199"
    assert "lasting 0" in lines
    assert "yesterday 199" in lines
    assert "today 0" not in lines
    assert "lasting 199" not in lines
    gone = [line for line in lines if "omitted" in line]
    assert [line.split(" of ")[1].split()[0] for line in gone] == [
        "MEMORY.md",
        "memory/2026-03-04.md",
        "memory/2026-03-05.md",
    ]
    for line, name in zip(gone, ("lasting", "yesterday", "today"), strict=True):
        kept = sum(each.startswith(f"{name} ") for each in lines)
        assert int(line[1:].split()[0]) + kept == 200


def test_a_short_note_leaves_its_room_to_the_others(workspace: Path) -> None:
    write(workspace, lasting="\n".join(["x" * 50] * 60), today="short")

    assert len(read(workspace, max_chars=4000)) == 63, "two names, one line, sixty lines"
    assert read(workspace, max_chars=4000)[-1] == "short"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=900), max_size=12),
    st.lists(st.text("<&\"'- #", max_size=300), max_size=12),
    st.integers(0, 3000),
)
def test_the_budget_holds_in_the_fence_whatever_the_notes_hold(
    tmp_path_factory: pytest.TempPathFactory, one: list[str], other: list[str], max_chars: int
) -> None:
    workspace = tmp_path_factory.mktemp("workspace")
    (workspace / "memory").mkdir()
    (workspace / "MEMORY.md").write_text("\n".join(one), encoding="utf-8")
    (workspace / "memory" / "2026-03-05.md").write_text("\n".join(other), encoding="utf-8")
    lines, taken = read_session_notes(workspace, private=True, today=TODAY, max_chars=max_chars)

    assert taken <= max_chars
    whole = fence(lines, max_chars=100_000)
    empty = len(fence(["x"], max_chars=100_000)) - len("- x\n")
    assert len(whole) <= (empty + taken if lines else 0)
    assert all(html.escape(visible(line), quote=True) in whole for line in lines)


# In a run


@pytest.fixture
def host(workspace: Path) -> Iterator[Host]:
    day = date.today()
    (workspace / "MEMORY.md").write_text("The drawer holds the <pin>.\n")
    (workspace / "memory" / f"{day.isoformat()}.md").write_text("The gate was painted.\n")
    (workspace / "memory" / f"{(day - timedelta(1)).isoformat()}.md").write_text("The gate was bought.\n")
    with Host.load({}, home=workspace.parent, env={"MEMSLOT_LOAD_PLUGINS": "memory-core"}) as made:
        yield made


def test_notes_come_once_in_a_conversation(host: Host) -> None:
    with host.run("hi", session="talk") as run:
        assert "The drawer holds the &lt;pin&gt;." in run.context
        assert run.context.index("drawer") < run.context.index("bought") < run.context.index("painted")
        assert run.context.count("<relevant-memories>") == run.context.count("</relevant-memories>") == 1
    with host.run("hi", session="talk") as run:
        assert run.context == ""
    with host.run("hi", session="another") as run:
        assert "painted" in run.context


def test_group_chats_get_the_days_and_not_the_person(host: Host) -> None:
    for chat_type in ("group", "channel"):
        with host.run("what do you know?", session=chat_type, chat_type=chat_type) as run:  # type: ignore[arg-type]
            assert "painted" in run.context
            assert "drawer" not in run.context


def test_a_conversation_that_has_ended_begins_anew(host: Host) -> None:
    with host.run("hi", session="talk") as run:
        assert "painted" in run.context
    host.end_session("talk")
    host._runner.drain(10)
    with host.run("hi", session="talk") as run:
        assert "painted" in run.context


def test_a_wrapped_item_that_the_notes_gave_is_not_recalled_again(host: Host, workspace: Path) -> None:
    (workspace / "MEMORY.md").write_text("- The billing service stays\n  on PostgreSQL for the reports.\n")
    host.memory.sync()  # type: ignore[union-attr]
    with host.run("which database has the billing service?", session="talk") as run:
        assert run.context.count("billing service") == 1
    with host.run("which database has the billing service?", session="talk") as run:
        assert "MEMORY.md#L1" in run.context


def test_a_passage_that_is_only_a_part_of_what_the_notes_gave_is_recalled(host: Host, workspace: Path) -> None:
    (workspace / "MEMORY.md").write_text("Never deploy the billing service on Fridays.\n")
    (workspace / "memory" / "old.md").write_text("deploy the billing service on Fridays\n")
    host.memory.sync()  # type: ignore[union-attr]
    with host.run("when do we deploy the billing service?", session="talk") as run:
        assert "Never deploy" in run.context
        assert "old.md#L1" in run.context


def test_recalled_passages_come_after_the_notes_within_their_own_budget(host: Host, workspace: Path) -> None:
    (workspace / "memory" / "gates.md").write_text("All gates open inwards. " * 300)
    host.memory.sync()  # type: ignore[union-attr]
    with host.run("do gates open inwards?", session="talk") as run:
        assert "gates.md#L" in run.context
        assert run.context.index("painted") < run.context.index("gates.md#L")
        assert len(run.context) <= 4000 + RECALL_CHARS + FENCE_CHARS
    with host.run("do gates open inwards?", session="talk") as run:
        assert "gates.md#L" in run.context
        assert "drawer" not in run.context
        assert len(run.context) <= RECALL_CHARS + FENCE_CHARS


def test_what_was_given_at_the_start_is_not_recalled_beside_it(host: Host) -> None:
    host.memory.sync()  # type: ignore[union-attr]
    with host.run("what does the drawer hold, which pin?", session="talk") as run:
        assert run.context.count("The drawer holds") == 1
    with host.run("what does the drawer hold, which pin?", session="talk") as run:
        assert run.context.count("The drawer holds") == 1
        assert "MEMORY.md#L" in run.context


def test_conversations_that_nobody_ends_are_forgotten_at_last() -> None:
    notes = SessionNotes()
    assert all(notes.first_time(str(number)) for number in range(10_001))
    assert not notes.first_time("10000")
    assert notes.first_time("0")


def test_nothing_is_read_where_memory_is_off(workspace: Path, host: Host) -> None:
    off = {"agents": {"defaults": {"memorySearch": {"enabled": False}}}}
    with (
        Host.load(off, home=workspace.parent, env={"MEMSLOT_LOAD_PLUGINS": "memory-core"}) as other,
        other.run("hi") as run,
    ):
        assert run.context == ""
