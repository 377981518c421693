"""A Markdown text is cut into its blocks while it comes, however long it is and however it is cut."""

from __future__ import annotations

import itertools
import time

from hypothesis import given, settings
from hypothesis import strategies as st
from memslot_chat.live_screen import Blocks

ANSWER = """# Title

A paragraph
of two lines.

- one

  still one
- two

```python
a = 1

b = 2
```

The end."""


def split(*pieces: str) -> list[str]:
    blocks = Blocks()
    whole = [block for piece in pieces for block in blocks.add(piece)]
    return [*whole, blocks.take_rest()]


def test_blocks_end_at_blank_lines_outside_of_code_and_lists() -> None:
    assert [block.split("\n")[0] for block in split(ANSWER)] == [
        "# Title",
        "A paragraph",
        "- one",
        "```python",
        "The end.",
    ]
    assert split("- one\n\n  still one") == ["- one\n\n  still one"]
    assert split("```\nx\n\ny") == ["```\nx\n\ny"]
    assert split("````\n```\n\nx\n````\n\ny")[1:] == ["y"]
    assert split("") == [""]


@settings(deadline=None)
@given(st.lists(st.integers(0, len(ANSWER)), max_size=8))
def test_pieces_change_nothing(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(ANSWER)]

    assert split(*(ANSWER[begin:end] for begin, end in itertools.pairwise(places))) == split(ANSWER)


def test_the_next_text_is_not_in_the_code_of_the_last() -> None:
    blocks = Blocks()
    blocks.add("```\nbroken off")

    assert blocks.take_rest() == "```\nbroken off"
    assert blocks.add("one\n\ntwo") == ["one\n\n"]


def test_the_end_of_long_code_is_still_code() -> None:
    blocks = Blocks()
    blocks.add("```python\n" + "# a remark\n" * 5000)

    assert blocks.coming.startswith("```python\n# a remark\n")
    assert len(blocks.coming) < 9000


def test_a_piece_costs_the_same_however_long_the_block_is() -> None:
    def seconds(number: int) -> float:
        blocks = Blocks()
        blocks.add("```\n")
        began = time.process_time()
        for _ in range(number):
            blocks.add("x = 1\n")
        return time.process_time() - began

    # Ten times as much takes a hundred times as long where all is looked at again with each piece.
    # A busy machine may spoil one measurement, but not three.
    assert any(seconds(20_000) < 40 * max(seconds(2_000), 0.002) for _ in range(3))
