"""HTML as typed values: every text is escaped, and only `Markup` is not.

So a page cannot forget to escape. Nothing turns text into `Markup` except `Markup` itself, which
only this module and the Markdown renderer use.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass

from memslot import visible

_VOID = frozenset({"br", "hr", "img", "input", "link", "meta"})
_SHOWN = frozenset({"title", "aria-label", "placeholder"})
"""Attributes that are read by people; the others keep every character."""


@dataclass(frozen=True)
class Markup:
    """A piece of HTML."""

    text: str

    def __add__(self, other: Markup) -> Markup:
        return Markup(self.text + other.text)


Child = Markup | str | int | float | None | Iterable["Child"]
Attribute = str | int | float | bool | None
NOTHING = Markup("")


def h(tag: str, /, *children: Child, **attributes: Attribute) -> Markup:
    """An element. `class_` is class and `data_x` is data-x; True is a bare attribute, None and False are left out."""
    shown = "".join(_attribute(name, value) for name, value in attributes.items())
    if tag in _VOID:
        return Markup(f"<{tag}{shown}>")
    return Markup(f"<{tag}{shown}>{join(children).text}</{tag}>")


def join(children: Iterable[Child]) -> Markup:
    """Concatenate pieces, escaping text."""
    return Markup("".join(map(_child, children)))


def escape(text: str) -> str:
    """Escape a text for a page, without invisible characters, such as those that reverse a line."""
    return html.escape(visible(text))


def raw_text(text: str) -> Markup:
    """Escape a text for a form field, keeping every character: saving it must change nothing."""
    return Markup(_escape_all(text))


def _escape_all(text: str) -> str:
    return html.escape(text.encode("utf-8", "replace").decode())  # half of a surrogate pair cannot be sent


def _child(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child.text
    if isinstance(child, str):
        return escape(child)
    if isinstance(child, int | float):
        return str(child)
    return "".join(map(_child, child))


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    name = "viewBox" if name == "viewbox" else name
    if value is True:
        return f" {name}"
    return f' {name}="{escape(str(value)) if name in _SHOWN else _escape_all(str(value))}"'
