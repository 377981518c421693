"""The part of an agent's system prompt that plugins write."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Literal

from memslot.events import RunInfo

PromptMode = Literal["full", "minimal"]
"""`minimal` is for sub-agents with a narrow job: sections are left out unless they ask to stay."""


@dataclass(frozen=True)
class PromptSection:
    """A headed piece of the system prompt; left out where one of the tools it speaks of is missing."""

    heading: str
    text: str | Callable[[RunInfo], str]
    requires_tools: tuple[str, ...] = ()
    in_minimal: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.heading, str) or not (isinstance(self.text, str) or callable(self.text)):
            raise TypeError("a PromptSection has a heading and a text, or a function that writes it")
        if not isinstance(self.requires_tools, list | tuple):
            raise TypeError("PromptSection.requires_tools is a tuple of tool names")

    def applies(self, mode: PromptMode, tools: Collection[str]) -> bool:
        return (mode == "full" or self.in_minimal) and all(name in tools for name in self.requires_tools)


def join_prompt(base: str, sections: Iterable[tuple[str, str]]) -> str:
    """The base prompt followed by the sections that have something to say."""
    parts = [base.strip(), *(f"## {heading}\n{text.strip()}" for heading, text in sections if text.strip())]
    return "\n\n".join(part for part in parts if part)
