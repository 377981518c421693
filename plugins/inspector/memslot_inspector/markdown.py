"""Renders Markdown of untrusted notes as HTML: no raw HTML, no images, only web links, which show their target."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from memslot import visible

from memslot_inspector.markup import Markup, escape

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererProtocol
    from markdown_it.token import Token

MOST_CHARS = 100_000
"""Maximum length of a note to render; a longer one is shown as source. Rows of brackets take two seconds then."""

_ALIGNMENTS = ("left", "center", "right")


def render_markdown(text: str) -> Markup | None:
    """The note as HTML; None if it is too long."""
    if len(text) > MOST_CHARS:
        return None
    return Markup(visible(_renderer().render(visible(text))))  # twice: `&#x202e;` is a character only when rendered


@cache
def _renderer() -> MarkdownIt:
    from markdown_it import MarkdownIt

    made = MarkdownIt("commonmark", {"html": False, "maxNesting": 20}).enable("table").disable(["html_block"])
    made.validateLink = _is_web  # type: ignore[method-assign]
    made.add_render_rule("image", _image)
    made.add_render_rule("link_open", _link)
    for name in ("heading_open", "heading_close"):  # the page has its own h1
        made.add_render_rule(name, _heading)
    for name in ("th_open", "td_open"):
        made.add_render_rule(name, _cell)
    return made


def _is_web(url: str) -> bool:
    return url.startswith(("https://", "http://"))


def _image(renderer: RendererProtocol, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """Images are not loaded: that would tell their server that the note was read."""
    return f'<span class="image">image: {escape(tokens[index].content or "without a name")}</span>'


def _link(renderer: RendererProtocol, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    url = escape(str(tokens[index].attrs.get("href", "")))
    return f'<a href="{url}" title="{url}" rel="noopener noreferrer nofollow" target="_blank">'


def _heading(renderer: RendererProtocol, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    level = min(6, int(tokens[index].tag[1:]) + 1)
    return f"<h{level}>" if tokens[index].nesting > 0 else f"</h{level}>"


def _cell(renderer: RendererProtocol, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """The alignment of a column as a class: the policy of the page allows no style."""
    align = str(tokens[index].attrs.get("style", "")).removeprefix("text-align:")
    return f'<{tokens[index].tag} class="{align}">' if align in _ALIGNMENTS else f"<{tokens[index].tag}>"
