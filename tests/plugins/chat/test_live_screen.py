"""An answer is printed block by block, and whole at the end."""

from __future__ import annotations

import io
import itertools

from hypothesis import given, settings
from hypothesis import strategies as st
from memslot_chat.live_screen import LiveScreen, markdown
from rich.console import Console

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


@settings(deadline=None)
@given(st.lists(st.integers(0, len(ANSWER)), max_size=8))
def test_however_it_comes_the_same_is_printed(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(ANSWER)]
    pieces = [ANSWER[begin:end] for begin, end in itertools.pairwise(places)]

    assert _shown(*pieces) == _shown(ANSWER)


def _shown(*pieces: str) -> str:
    out = io.StringIO()
    screen = LiveScreen(Console(file=out, width=60, force_terminal=False))
    for piece in pieces:
        screen.text(piece)
    screen.end_text()
    return out.getvalue()


def test_words_in_angle_and_square_brackets_are_shown() -> None:
    out = io.StringIO()
    Console(file=out, width=80).print(markdown("Use Vec<T> and <b>x</b>, [red]not red[/red], [here](http://a.example)"))

    assert "Vec<T> and <b>x</b>, [red]not red[/red], here (http://a.example)" in out.getvalue()


def test_no_link_is_hidden_behind_a_text() -> None:
    out = io.StringIO()
    console = Console(file=out, width=80, force_terminal=True, color_system="truecolor")
    console.print(markdown("[your bank](http://evil.example) <http://b.example>"))

    assert "\x1b]8" not in out.getvalue()
    assert "evil.example" in out.getvalue()
