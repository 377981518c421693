"""The pieces that pages are made of, each for itself."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memslot import MemslotError, visible
from memslot_inspector import hit_count
from memslot_inspector.app import MOST_AT_ONCE, Turns
from memslot_inspector.forms import Field, fields_of, read, render
from memslot_inspector.markdown import MOST_CHARS, render_markdown
from memslot_inspector.markup import Markup, h
from memslot_inspector.pages.diff import diff, diff_of
from memslot_inspector.pages.growth import grid_lines
from memslot_inspector.projection import name_regions, project
from memslot_inspector.visit import Page

from tests.plugins.inspector.test_pages import read as read_page


class _Texts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.values: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.values += [value for _, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


@given(st.text())
def test_a_text_stays_a_text(text: str) -> None:
    found = _Texts()
    found.feed(h("p", text, title=text.replace("\r", "")).text)
    found.close()
    assert found.tags == ["p"]
    assert found.text.replace("\r\n", "\n").replace("\r", "\n") == visible(text).replace("\r\n", "\n").replace(
        "\r", "\n"
    )


@given(st.text(alphabet="<>&\"'`[]()!*_#-| \n\\abcs:/=javriptonhx\u202e", max_size=200))
def test_rendered_markdown_has_no_markup_of_its_own(text: str) -> None:
    found = render_markdown(text)
    assert found is not None
    assert read_page(found.text).faults == []


def test_links_lead_to_the_web_only_and_images_are_not_loaded() -> None:
    text = (
        "[a](https://x.example) [b](javascript:alert(1)) [c](file:///etc/passwd) [d](//x.example) ![e](https://x/y.png)"
    )
    found = render_markdown(text)
    assert found is not None
    assert found.text.count("<a ") == 1
    assert "<img" not in found.text
    assert 'rel="noopener' in found.text


def test_neither_entities_nor_attributes_bring_back_what_is_invisible() -> None:
    found = render_markdown("Pay &#x202e;txt.exe&#8236; a&ZeroWidthSpace;b ![&#x202e;c](x)\n\n`&#x202e;`")
    assert found is not None
    assert "Pay txt.exe ab" in found.text
    assert "\u202e" not in found.text
    shown = h("a", title="x\u202ey", aria_label="x\u202ey", placeholder="x\u202ey", href="/x\u202ey\ud800").text
    assert shown == '<a title="xy" aria-label="xy" placeholder="xy" href="/x\u202ey?"></a>', "an address stays itself"


def test_columns_of_a_table_are_aligned_without_a_style() -> None:
    found = render_markdown("|a|b|c|\n|:-:|--:|---|\n|1|2|3|")
    assert found is not None
    assert read_page(found.text).faults == []
    assert '<td class="center">1</td>\n<td class="right">2</td>\n<td>3</td>' in found.text


def test_of_the_requests_that_a_tab_waits_for_only_the_latest_is_answered() -> None:
    release = threading.Event()
    done: list[str] = []

    def work(name: str) -> Page:
        release.wait(60)
        done.append(name)
        return Page(name, Markup(""))

    async def ask() -> list[object]:
        turns = Turns()
        busy = [asyncio.create_task(turns.take(None, lambda: work("busy"))) for _ in range(MOST_AT_ONCE)]
        await asyncio.sleep(0.05)
        typed = [asyncio.create_task(turns.take("tab", lambda n=n: work(f"typed {n}"))) for n in range(20)]
        other = asyncio.create_task(turns.take("other tab", lambda: work("other")))
        await asyncio.sleep(0.05)
        release.set()
        await asyncio.gather(*busy)
        return [*await asyncio.gather(*typed), await other]

    answers = asyncio.run(ask())
    # The first had its turn before the others came; it waits for a free thread like everybody.
    assert [answer is None for answer in answers] == [False] + [True] * 18 + [False, False]
    assert sorted(set(done)) == ["busy", "other", "typed 0", "typed 19"]


def test_a_tab_has_one_search_at_a_time_however_quickly_somebody_types() -> None:
    at_work, most = 0, 0
    lock = threading.Lock()
    has_begun, may_end = threading.Event(), threading.Event()

    def work() -> Page:
        nonlocal at_work, most
        with lock:
            at_work += 1
            most = max(most, at_work)
        has_begun.set()
        may_end.wait(60)
        with lock:
            at_work -= 1
        return Page("", Markup(""))

    async def type_in() -> list[object]:
        turns = Turns()
        typed = [asyncio.create_task(turns.take("tab", work))]
        await asyncio.to_thread(has_begun.wait, 60)
        for _ in range(39):
            typed.append(asyncio.create_task(turns.take("tab", work)))
            await asyncio.sleep(0)
        may_end.set()
        return list(await asyncio.gather(*typed))

    answers = asyncio.run(type_in())
    assert most == 1
    assert [answer is not None for answer in answers] == [True] + [False] * 38 + [True], "the last one is answered"


def test_work_that_hangs_is_given_up_and_makes_room() -> None:
    release = threading.Event()

    def hang() -> Page:
        release.wait(60)
        return Page("too late", Markup(""))

    async def ask() -> list[object]:
        turns = Turns(seconds=0.05)
        late = await asyncio.gather(*(turns.take(None, hang) for _ in range(2 * MOST_AT_ONCE)))
        return [*late, await turns.take("tab", hang)]

    answers = asyncio.run(ask())
    release.set()
    assert [isinstance(answer, Page) and answer.status for answer in answers] == [504] * (2 * MOST_AT_ONCE + 1)


@pytest.mark.parametrize(
    "pattern", ["[", "![", "[a](", "*a _b ", "a**b", "> ", "- ", "`" * 7 + " ", "<", "&#", "a|b\n-|-\n", "[x]: <", "\\"]
)
def test_markdown_that_is_made_to_be_slow_takes_as_long_as_it_is_long(pattern: str) -> None:
    begun = time.process_time()
    rendered = render_markdown((pattern * MOST_CHARS)[: MOST_CHARS // 4])
    assert rendered is not None
    assert time.process_time() - begun < 10, "its square would be minutes"


def test_a_text_that_is_too_long_is_not_rendered() -> None:
    assert render_markdown("a" * (MOST_CHARS + 1)) is None


def test_a_diff_has_a_sign_for_each_line_and_marks_the_words_that_differ() -> None:
    shown = diff(diff_of("same\n---\nI prefer tea today\n", "same\nI prefer cocoa today\n<script>\n")).text
    assert '<span class="gutter">-</span><span>---' in shown, "a line of dashes is not the head of a file"
    assert "I prefer <del>tea</del> today" in shown
    assert "I prefer <ins>cocoa</ins> today" in shown
    assert "&lt;script&gt;" in shown


@given(st.lists(st.text("ab-+@ \n", max_size=8)), st.lists(st.text("ab-+@ \n", max_size=8)))
def test_a_diff_shows_every_line_of_both(before: list[str], after: list[str]) -> None:
    lines = diff_of("\n".join(before), "\n".join(after))
    found = _Texts()
    found.feed(diff(lines).text)
    found.close()
    shown = sorted(line for line in found.text.split("\n")[:-1])
    assert shown == sorted(
        line if line[:1] != "@" else f" line {line.split()[1].lstrip('-').partition(',')[0]}" for line in lines[2:]
    )


@pytest.mark.parametrize(
    ("most", "lines"), [(1, [0, 1]), (4, [0, 1, 2, 3, 4]), (7, [0, 2, 4, 6, 8]), (100, [0, 50, 100])]
)
def test_a_curve_has_round_numbers_beside_it(most: int, lines: list[int]) -> None:
    assert grid_lines(most) == lines


def name_texts(texts: list[str], name: str) -> set[str]:
    """The texts that have all the words of a name."""
    return {text for text in texts if set(name.split(" · ")) <= set(text.split()) - {"the", "are"}}


def test_parts_of_a_map_are_named_by_what_is_said_there_and_not_elsewhere() -> None:
    texts = ["the crane crew waits"] * 6 + ["the tide tables are late"] * 6 + ["the harbour office"] * 6
    places = [(10.0 * (number // 6) + number % 6 * 0.1, 0.0) for number in range(18)]
    named = name_regions(places, texts)
    assert [(round(x), name_texts(texts, name)) for x, _, name in sorted(named)] == [
        (0, {"the crane crew waits"}),
        (10, {"the tide tables are late"}),
        (20, {"the harbour office"}),
    ]
    assert name_regions([], []) == []


def test_no_two_parts_of_a_map_have_the_same_name_or_one_of_stop_words() -> None:
    texts = ["About the Cranes: the crane crew waits, 9 m up"] * 6 + ["About the Cranes: the crane crew rests late"] * 6
    places = [(10.0 * (number // 6) + number % 6 * 0.1, 0.0) for number in range(12)]
    words = [word for _, _, name in name_regions(places, texts) for word in name.split(" · ")]
    assert len(words) == 4
    assert len(set(words)) == len(words)
    assert not {"about", "the", "m"} & set(words)


SCHEMA = {
    "properties": {
        "on": {"type": "boolean", "default": False},
        "mode": {"enum": ["a", "b"], "default": "a"},
        "many": {"type": "array", "items": {"enum": ["x", "y"]}, "default": ["x"]},
        "words": {"type": "array", "items": {"type": "string"}},
        "share": {"type": "number"},
        "inner": {"type": "object", "properties": {"key": {"type": "string"}, "free": {"type": "object"}}},
    }
}
HINTS = {"inner.key": {"label": "Key", "sensitive": True}, "mode": {"label": "Mode", "advanced": True}}


def field(name: str) -> Field:
    return next(each for each in fields_of(SCHEMA, HINTS) if each.name == name)


def test_every_setting_of_a_schema_has_a_field() -> None:
    kinds = {each.name: each.kind for each in fields_of(SCHEMA, HINTS)}
    assert kinds == {
        "on": "boolean",
        "mode": "choice",
        "many": "choices",
        "words": "lines",
        "share": "number",
        "inner.key": "text",
        "inner.free": "json",
    }
    assert field("inner.key").is_secret
    assert field("mode").is_advanced


@pytest.mark.parametrize(
    ("name", "sent", "value"),
    [
        ("on", ["true"], True),
        ("on", [""], None),
        ("mode", ["b"], "b"),
        ("many", ["", "y", "x"], ["x", "y"]),
        ("many", [""], []),
        ("words", ["one\r\n two \n\n"], ["one", "two"]),
        ("share", ["0.5"], 0.5),
        ("inner.free", ['{"a": 1}'], {"a": 1}),
    ],
)
def test_a_filled_form_gives_typed_values(name: str, sent: list[str], value: object) -> None:
    assert read(field(name), {f"set.{name}": sent}, None) == value


def test_a_field_that_was_not_sent_changes_nothing() -> None:
    assert read(field("share"), {}, 0.25) == 0.25
    assert read(field("inner.key"), {"set.inner.key": [""]}, "secret") == "secret"
    assert read(field("inner.key"), {"clear.inner.key": ["yes"]}, "secret") is None
    assert read(field("many"), {"set.many": ["", "x"]}, None) is None, "the default needs not be written"


def test_a_refused_secret_is_not_repeated() -> None:
    hidden = Field(("key",), {"type": "integer"}, {"sensitive": True})
    with pytest.raises(MemslotError) as caught:
        read(hidden, {"set.key": ["hunter2"]}, None)
    assert "hunter2" not in str(caught.value)


def test_a_field_never_holds_a_secret() -> None:
    assert "hunter2" not in render(field("inner.key"), "hunter2").text
    assert "${MY_KEY}" in render(field("inner.key"), "${MY_KEY}").text


@pytest.mark.parametrize("count", [0, 1, 2, 3, 40])
def test_vectors_become_points_in_the_unit_square(count: int) -> None:
    vectors = [[math.sin(number), math.cos(number), number % 3, 0.0] for number in range(count)]
    points = project(vectors)
    assert len(points) == count
    assert all(0 <= x <= 1 and 0 <= y <= 1 for x, y in points)


def test_alike_vectors_are_drawn_near_each_other() -> None:
    one, other = [1.0, 0.0, 0.1], [0.0, 1.0, 0.1]
    near = [[1.0, 0.02 * number, 0.1] for number in range(5)]
    points = project([one, other, *near])

    def distance(a: int, b: int) -> float:
        return math.dist(points[a], points[b])

    assert max(distance(0, 2 + number) for number in range(5)) < distance(0, 1)


@pytest.mark.parametrize("vectors", [[[0.0] * 4] * 5, [[float("nan")] * 3] * 4, [[1.0]] * 6])
def test_odd_vectors_are_drawn_all_the_same(vectors: list[list[float]]) -> None:
    assert all(0 <= x <= 1 and 0 <= y <= 1 for x, y in project(vectors))


def test_counts_add_up_and_survive_a_damaged_file(tmp_path: Path) -> None:
    file = tmp_path / "hits.json"
    assert not hit_count.read(file)
    hit_count.add(file, ["m:a", "m:b"])
    hit_count.add(file, ["m:a"])
    assert hit_count.read(file) == {"m:a": 2, "m:b": 1}
    assert file.stat().st_mode & 0o077 == 0
    file.write_text('{"m:a": "x", "m:c": -1, "m:d": 4', encoding="utf-8")
    assert not hit_count.read(file)
    hit_count.add(file, ["m:a"])
    assert hit_count.read(file) == {"m:a": 1}
