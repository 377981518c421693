"""What memories recall before a run, as one block."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from memslot import AgentStart, RecalledItem, fence
from memslot.memory.recall import join_recalled

TEA = "Ana prefers tea over coffee."
ROOF = "Ben repaired the roof of the shed."


def start(*items: RecalledItem, chars: int = 1000) -> AgentStart:
    return AgentStart(recalled=items, recall_chars=chars)


def lines(block: str) -> list[str]:
    return [line.removeprefix("- ") for line in block.split("\n")[2:-1]]


def test_nothing_recalled_is_no_block() -> None:
    assert join_recalled({}) == ""
    assert join_recalled({"a": AgentStart(prepend_context="else"), "b": start()}) == ""


def test_one_memory_alone_gives_the_block_that_its_own_fence_would() -> None:
    block = join_recalled({"facts": start(RecalledItem(TEA, 0.4), RecalledItem(ROOF, 0.6))})
    assert block == fence([TEA, ROOF])
    notes = join_recalled({"notes": start(RecalledItem("Ana prefers tea.\nBen, too.", 0.4, "a.md#L1-L2"))})
    assert lines(notes) == ["a.md#L1-L2: Ana prefers tea. Ben, too."]


def test_items_of_two_memories_are_ranked_together_and_name_their_source() -> None:
    block = join_recalled(
        {
            "notes": start(
                RecalledItem("From MEMORY.md:", 1, ""), RecalledItem("Cats sleep a lot.", 0.5, "a.md#L1-L1")
            ),
            "facts": start(RecalledItem(ROOF, 0.9), RecalledItem("The sea is blue.", 0.1)),
        }
    )
    assert lines(block) == [
        "From MEMORY.md:",
        f"facts: {ROOF}",
        "a.md#L1-L1: Cats sleep a lot.",
        "facts: The sea is blue.",
    ]


def test_a_memory_of_a_stack_is_named_also_where_the_others_recall_nothing() -> None:
    assert lines(join_recalled({"facts": start(RecalledItem(TEA))}, side_by_side=True)) == [f"facts: {TEA}"]


def test_the_same_is_said_once() -> None:
    block = join_recalled(
        {
            "notes": start(RecalledItem(f"{TEA}\n{ROOF}", 0.5, "a.md#L1-L2")),
            "facts": start(RecalledItem("ana prefers tea over coffee", 0.9), RecalledItem("Cats sleep a lot.", 0.6)),
        }
    )
    assert lines(block) == [f"a.md#L1-L2: {TEA} {ROOF}", "facts: Cats sleep a lot."]


def test_the_largest_room_counts_and_each_memory_keeps_to_its_own() -> None:
    many = [RecalledItem(f"Fact {number} of forty, which is quite long.", 0.9) for number in range(40)]
    few = [RecalledItem(f"Line {number} of the notes, some words.", 0.5) for number in range(40)]
    alone = join_recalled({"facts": start(*many, chars=400)}, side_by_side=True)
    block = join_recalled({"facts": start(*many, chars=400), "notes": start(*few, chars=900)})
    assert len(alone) <= 400
    assert 800 < len(block) <= 900
    assert lines(alone) == [line for line in lines(block) if line.startswith("facts:")]


def test_a_text_that_does_not_fit_gives_the_lines_that_do() -> None:
    text = "\n".join(f"line {number} of the list" for number in range(100))
    block = join_recalled({"facts": start(RecalledItem(text), chars=400)})
    assert len(block) <= 400
    assert "…" not in block
    assert lines(block)[0].startswith("line 0 of the list line 1 of the list")
    assert lines(block)[0].endswith("of the list")


def test_a_single_line_that_is_too_long_is_cut() -> None:
    block = join_recalled({"facts": start(RecalledItem("word " * 500), chars=400)})
    assert len(block) <= 400
    assert lines(block)[0].endswith("…")


texts = st.text(alphabet="ab <&\n-", max_size=200)
items = st.lists(st.builds(RecalledItem, texts, st.floats(0, 1), st.sampled_from([None, "", "a.md"])), max_size=6)


@given(st.dictionaries(st.sampled_from("xyz"), st.tuples(items, st.integers(0, 2000))))
def test_no_block_is_longer_than_the_largest_room_or_leaves_its_fence(
    given_: dict[str, tuple[list[RecalledItem], int]],
) -> None:
    starts = {each: AgentStart(recalled=own, recall_chars=room) for each, (own, room) in given_.items()}
    block = join_recalled(starts)
    assert len(block) <= max((room for _, room in given_.values()), default=0)
    assert not block or (block.count("<") == 2 and block.endswith("</relevant-memories>"))
