"""The pieces that pages are made of, each for itself."""

from __future__ import annotations

import asyncio
import math
import threading
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memslot import MemslotError, visible
from memslot_inspector import hit_count
from memslot_inspector.app import MOST_AT_ONCE, Turns
from memslot_inspector.forms import Field, fields_of, read, render
from memslot_inspector.markdown import render_markdown
from memslot_inspector.markup import Markup, h
from memslot_inspector.projection import project
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


def test_of_the_requests_that_a_tab_waits_for_only_the_latest_is_answered() -> None:
    release = threading.Event()
    done: list[str] = []

    def work(name: str) -> Page:
        release.wait(30)
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
    assert [answer is None for answer in answers] == [True] * 19 + [False, False]
    assert sorted(set(done)) == ["busy", "other", "typed 19"]


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
