"""What the wrapper needs to know about a vendor's wire format: where prompt and answer are."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from memslot import strip_recalled


class Prompt(NamedTuple):
    """The last message with text from the user; `digest` identifies it together with the messages before it."""

    place: int
    text: str
    digest: bytes
    is_last: bool


@dataclass
class Answer:
    """The model's answer; `is_final` is false if it waits for tool results, `error` says why it failed."""

    texts: list[str] = field(default_factory=list)
    is_final: bool = True
    error: str | None = None
    ids: set[str] = field(default_factory=set)
    """By which a later request may refer to what was said instead of repeating it: the answer's, the conversation's."""

    @property
    def text(self) -> str:
        return "".join(self.texts)


class Format(Protocol):
    """One endpoint of a vendor."""

    messages_key: str
    takes_text: bool
    """Whether a string may replace a list with one message."""
    text_types: tuple[str, ...]
    """Types of the parts of a message that hold text."""
    summary_key: str
    """What a request has that asks for a summary of the messages, not for a reply; empty if the vendor has none."""

    def previous(self, body: Mapping[str, Any]) -> str:
        """The id of the answer or conversation that a request continues; empty if it repeats what was said."""

    def read(self, answer: Any) -> Answer:
        """Return the content of a complete answer."""

    def add(self, answer: Answer, event: Any) -> None:
        """Add the content of a stream event."""

    def with_recall(
        self, body: Mapping[str, Any], messages: Sequence[Any], prompt: Prompt, text: str
    ) -> dict[str, Any]:
        """The request's body with recalled text beside the prompt."""


def id_of(thing: Any) -> set[str]:
    """The id of an answer or a conversation, if it has one."""
    found = thing if isinstance(thing, str) else value_of(thing, "id")
    return {found} if found and isinstance(found, str) else set()


def value_of(thing: Any, name: str) -> Any:
    """A field of a dict or of an SDK's object."""
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


def items_of(thing: Any, name: str) -> Sequence[Any]:
    """Return a list field; empty if it is missing."""
    found = value_of(thing, name)
    return found if isinstance(found, list | tuple) else ()


def fields_of(thing: Any) -> dict[str, Any]:
    """A dict or an SDK's object as a dict of our own."""
    return dict(thing if isinstance(thing, Mapping) else thing.model_dump(exclude_unset=True))


def find_prompt(form: Format, messages: Sequence[Any]) -> Prompt | None:
    """Return a request's prompt; None if the user sent no text, or something without text since."""
    texts = [_text(form, message) for message in messages]
    asked = [place for place, message in enumerate(messages) if value_of(message, "role") == "user" and texts[place]]
    if not asked:
        return None
    place = asked[-1]
    if any(value_of(each, "role") == "user" and not _has_tool_result(each) for each in messages[place + 1 :]):
        return None  # such as an image without a word
    digest = hashlib.sha256("\0".join(texts[: place + 1]).encode("utf-8", "surrogatepass")).digest()
    return Prompt(place, texts[place], digest, place == len(messages) - 1)


def messages_of(form: Format, body: Mapping[str, Any]) -> list[Any]:
    """The messages of a request as a list of our own."""
    found = body.get(form.messages_key)
    if isinstance(found, str):
        return [{"role": "user", "content": found}] if form.takes_text else []
    return list(found) if isinstance(found, Iterable) else []


def put_after(message: Any, text: str, part_type: str) -> dict[str, Any]:
    """Append recalled text to a message.

    After its text, not before: later requests contain this message without the recalled text, and the provider's cache
    still matches everything up to there.
    """
    content = value_of(message, "content")
    if isinstance(content, str):
        content = f"{content}\n\n{text}"
    else:
        content = [*content, {"type": part_type, "text": text}]
    return {**fields_of(message), "content": content}


def replaced(messages: Sequence[Any], place: int, message: Any) -> list[Any]:
    """Return the messages with one of them replaced."""
    return [*messages[:place], message, *messages[place + 1 :]]


def _has_tool_result(message: Any) -> bool:
    """Whether a message of the user's is what a tool gave: with Anthropic, such messages have this role, too."""
    return any(value_of(part, "type") == "tool_result" for part in items_of(message, "content"))


def _text(form: Format, message: Any) -> str:
    content = value_of(message, "content")
    return strip_recalled(content if isinstance(content, str) else "\n".join(_parts(form, content))).strip()


def _parts(form: Format, content: Any) -> Iterator[str]:
    for part in content if isinstance(content, list | tuple) else ():
        text = value_of(part, "text")
        if value_of(part, "type") in form.text_types and isinstance(text, str):
            yield text
