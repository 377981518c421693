"""What is put before a prompt: the passages that its sentences ask for, as whole lines within a budget."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memslot import Host, MemoryHit, RecalledItem, fence
from memslot_memory_core.recall import RECALL_CHARS, recalled_items

BILLING = "The billing service keeps its invoices in PostgreSQL, since the team knows it best."
NOTES = {
    "billing": BILLING,
    "people": "- Ana prefers tea over coffee.\n- Ben repaired the roof of the shed.\n- Ines keeps the gate code.",
    "garden": "We planted roses by the fence.",
    "travel": "Our flight to Oslo leaves at noon.",
    "office": "The printer is out of toner.",
}
CODING = """Please make this function return a sorted list.
```python
def totals(rows):
    return {row.name: sum(row.cells) for row in rows}
```
Which database did we choose for the billing service?
Keep the types as they are."""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    (folder / "memory").mkdir(parents=True)
    for name, text in NOTES.items():
        (folder / "memory" / f"{name}.md").write_text(f"{text}\n")
    return folder


@pytest.fixture
def host(workspace: Path) -> Iterator[Host]:
    config = {"agents": {"defaults": {"memorySearch": {"provider": "universal"}}}}
    with Host.load(config, home=workspace.parent, env={}) as host:
        host.memory.refresh()  # type: ignore[union-attr]  # a run waits seconds at most for the first index
        yield host


def recalled(host: Host, prompt: str, **options: Any) -> str:
    with host.run(prompt, **options) as run:
        return run.context


def test_a_page_of_code_recalls_what_its_one_sentence_asks_for(host: Host) -> None:
    context = recalled(host, CODING)

    assert BILLING in context
    assert "memory/billing.md" in context
    assert "roses" not in context
    assert "toner" not in context


def test_a_fact_in_a_list_is_recalled_by_what_it_means(host: Host) -> None:
    assert "Ana prefers tea over coffee." in recalled(host, "What should I offer Ana to drink?")


@pytest.mark.parametrize(
    "prompt",
    [
        "What is the boiling point of tungsten?",
        "Sort this list of numbers and print the median of them.",
        "Fix the typo in the heading.\n```html\n<h1>Wellcome</h1>\n```\nThen run the linter again.",
        "ok",
    ],
)
def test_nothing_is_recalled_for_a_prompt_about_something_else(host: Host, prompt: str) -> None:
    assert recalled(host, prompt) == ""


@pytest.mark.parametrize("chat_type", ["group", "channel"])
def test_nothing_is_recalled_where_others_listen(host: Host, chat_type: Any) -> None:
    assert recalled(host, CODING, chat_type=chat_type) == ""


def test_what_the_session_start_gave_is_not_recalled_again(host: Host, workspace: Path) -> None:
    (workspace / "MEMORY.md").write_text("# Memory\n\n- The gate is painted green every spring.\n")
    host.memory.refresh()  # type: ignore[union-attr]
    question = "Which colour is the gate?"

    first, second = recalled(host, question, session="one"), recalled(host, question, session="one")

    assert first.count("painted green") == 1
    assert second.count("painted green") == 1, "by now it may be out of sight"


def test_a_long_note_is_recalled_by_whole_lines_around_what_was_asked(host: Host, workspace: Path) -> None:
    lines = [f"- Entry {number} of the log says that pump {number * 7} was checked and oiled." for number in range(120)]
    lines[77] = "- The zeppelin is in the hall behind the station."
    (workspace / "memory" / "log.md").write_text("\n".join(lines) + "\n")
    host.memory.refresh()  # type: ignore[union-attr]

    context = recalled(host, "Where is the zeppelin?")

    assert "The zeppelin is in the hall behind the station." in context
    assert len(context) < RECALL_CHARS + 600
    said = html.unescape(context)
    for number in range(120):
        start = f"Entry {number} of"
        assert start not in said or lines[number].removeprefix("- ") in said, "no line is cut"


def hit(text: str, number: int = 1) -> MemoryHit:
    path = f"memory/{number}.md"
    return MemoryHit(path=path, score=0.9, snippet=text, source="memory", start_line=1, end_line=text.count("\n") + 1)


def lines_of(items: list[RecalledItem]) -> list[str]:
    """The items as the fence shows them."""
    return [" ".join([f"{item.source}:", *item.text.split("\n")]) for item in items]


LINES = st.text(alphabet="abc <&\"'é \t-", max_size=300) | st.sampled_from(["", "# Head", "The gate is green today."])


@given(st.lists(st.lists(LINES, max_size=12).map("\n".join), max_size=8), st.integers(50, 2400))
def test_items_are_whole_lines_that_fit_and_say_something(snippets: list[str], room: int) -> None:
    hits = [hit(text, number) for number, text in enumerate(snippets)]

    items = lines_of(recalled_items(hits, [], room))

    assert sum(len(html.escape(" ".join(item.split()), quote=True)) + 3 for item in items) <= room
    for item in items:
        source, _, text = item.partition(": ")
        assert sum(character.isalpha() for character in text) >= 12
        said = snippets[int(source.split("/")[1].split(".")[0])]
        lines = [line.strip() for line in said.split("\n") if line.strip()]
        assert _is_made_of(text, lines)
    fenced = fence(items, max_chars=room + 400)
    assert fenced == "" or len(fenced) <= room + 400


def _is_made_of(text: str, lines: list[str]) -> bool:
    """Whether a text is some of the lines, in their order."""
    return any(
        text == line or (text.startswith(f"{line} ") and _is_made_of(text[len(line) + 1 :], lines[number + 1 :]))
        for number, line in enumerate(lines)
    )


def test_no_line_is_said_twice_and_none_that_was_told() -> None:
    told = ["The gate is painted green every spring."]
    text = f"{told[0]}\nThe fence is painted white in autumn."

    items = lines_of(recalled_items([hit(text, 1), hit(text, 2), hit(told[0], 3)], told))

    assert items == ["memory/1.md#L1-L2: The fence is painted white in autumn."]


def test_passages_that_follow_each_other_in_a_file_are_one_item() -> None:
    def passage(first: int, text: str) -> MemoryHit:
        return replace(hit(text), start_line=first, end_line=first + text.count("\n"))

    middle, before = (
        passage(4, "The gate is green.\nIt was painted in May."),
        passage(2, "Ana has the key.\n\nThe gate is green."),
    )
    far = passage(9, "The fence is white and has a hole.")

    assert lines_of(recalled_items([middle, before, far], [])) == [
        "memory/1.md#L2-L5: Ana has the key. The gate is green. It was painted in May.",
        "memory/1.md#L9-L9: The fence is white and has a hole.",
    ]


def test_a_passage_is_recalled_with_more_lines_than_a_search_shows(host: Host, workspace: Path) -> None:
    lines = [f"Pump {number} of the zeppelin was checked by Ines and oiled at noon." for number in range(16)]
    (workspace / "memory" / "log.md").write_text("\n\n".join(lines) + "\n")
    host.memory.refresh()  # type: ignore[union-attr]

    context = recalled(host, "Who checked the pumps of the zeppelin?")

    assert 12 < sum(line in context for line in lines) <= 16
