"""The part of an agent's system prompt that plugins write."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from memslot.events import RunInfo

PromptMode = Literal["full", "minimal"]
"""`minimal` is for sub-agents with a narrow job: sections are left out unless they ask to stay."""

MEMORY_HEADING = "Memory Recall"
SEVERAL_MEMORIES = (
    "You have several memories. Before answering anything that earlier work or conversations may bear on, search the "
    "one that fits, or all of them if unsure. Keep a statement in one of them only. What they recall by themselves "
    "may precede a prompt, marked as untrusted data. If you searched and are still unsure, say that you looked."
)


@dataclass(frozen=True)
class PromptSection:
    """A section of the system prompt with a heading; omitted if one of the tools it requires is missing.

    `side_by_side` is a memory's text when several share the slot: what this memory is for and its tools, in a
    sentence or two. The host joins these under one heading. Since host API 2.
    """

    heading: str
    text: str | Callable[[RunInfo], str]
    requires_tools: tuple[str, ...] = ()
    in_minimal: bool = False
    side_by_side: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.heading, str) or not (isinstance(self.text, str) or callable(self.text)):
            raise TypeError("a PromptSection needs a heading, and a text or a function that returns one")
        if not isinstance(self.requires_tools, list | tuple):
            raise TypeError("PromptSection.requires_tools must be a tuple of tool names")
        if not isinstance(self.side_by_side, str | None):
            raise TypeError("PromptSection.side_by_side must be text")

    def applies(self, mode: PromptMode, tools: Collection[str]) -> bool:
        return (mode == "full" or self.in_minimal) and all(name in tools for name in self.requires_tools)


def join_sections(
    written: Sequence[tuple[str, PromptSection, str]], memories: Collection[str]
) -> list[tuple[str, str]]:
    """Join sections with their headings; those of memories side by side share one heading.

    `written` has each section's plugin and text; `memories` are the plugins in the memory slot.
    """
    said = [(plugin_id, section, text) for plugin_id, section, text in written if text.strip()]
    own = [each for each in said if each[0] in memories]
    if len({plugin_id for plugin_id, _, _ in own}) < 2:
        return [(section.heading, text) for _, section, text in said]
    lines = [f"- {(section.side_by_side or f'{section.heading}: {text}').strip()}" for _, section, text in own]
    first = said.index(own[0])
    others = [(place, each) for place, each in enumerate(said) if each not in own]
    return [
        *((section.heading, text) for place, (_, section, text) in others if place < first),
        (MEMORY_HEADING, "\n".join([SEVERAL_MEMORIES, *lines])),
        *((section.heading, text) for place, (_, section, text) in others if place > first),
    ]


def join_prompt(base: str, sections: Iterable[tuple[str, str]]) -> str:
    """Return the base prompt followed by all non-empty sections."""
    parts = [base.strip(), *(f"## {heading}\n{text.strip()}" for heading, text in sections if text.strip())]
    return "\n\n".join(part for part in parts if part)
