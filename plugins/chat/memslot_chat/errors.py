"""The chat's errors, each one sentence that shows no key.

ChatError
├── ChatSettingsError    no model or address is configured, or one that cannot be used
└── EndpointError        the endpoint did not give an answer
    ├── ContextFullError    the conversation is longer than the model takes: worth shortening
    ├── ToolsRefusedError   the model cannot call tools: worth asking without
    └── BrokenReplyError    the answer broke off, or came in a form that cannot be read
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from memslot import MemslotError, one_line

if TYPE_CHECKING:
    from memslot_chat.settings import Service

_LONGEST = 300
_BUSY = {408, 409, 425, 429}
_CONTEXT = re.compile(
    r"context[_ ]?(?:length|size|window)|maximum context|(?:prompt|input) is too long|too many (?:input )?tokens"
    r"|exceed\w*.{0,40}\b(?:context|tokens?)\b|reduce the length",
    re.IGNORECASE,
)
_RATE = re.compile(r"rate.?limit|per min(?:ute)?|tpm|rpm|per day", re.IGNORECASE)
_QUOTA = re.compile(
    r"insufficient_quota|exceeded your current quota|billing"
    r"|(?:insufficient|out of|not enough) (?:credit|balance|fund)",
    re.IGNORECASE,
)
_TOOLS = re.compile(
    r"not support(?:ed)?.{0,40}\b(?:tools?|functions?)\b|\btools?\b.{0,60}(?:not support|unsupported)"
    r"|tool[- _]choice.{0,20}requires|enable-auto-tool-choice",
    re.IGNORECASE,
)
_MODEL = re.compile(r"\bmodel\b|model_not_found", re.IGNORECASE)
_SETTING = "agents.defaults"


class ChatError(MemslotError):
    """The chat cannot go on as asked."""


class ChatSettingsError(ChatError):
    """No model or address is configured, or one that cannot be used."""


class EndpointError(ChatError):
    """The endpoint did not give an answer."""

    status: int | None = None
    """The HTTP status with which it refused, if it did."""


class ContextFullError(EndpointError):
    """The conversation is longer than the model takes."""


class ToolsRefusedError(EndpointError):
    """The model cannot call tools."""


class BrokenReplyError(EndpointError):
    """The answer broke off, or came in a form that cannot be read."""


def failure_of(service: Service, status: int, headers: Mapping[str, str], body: str) -> EndpointError:
    """The error for an answer that is not a success."""
    failure = _failure_of(service, status, headers, body)
    failure.status = status
    return failure


def _failure_of(service: Service, status: int, headers: Mapping[str, str], body: str) -> EndpointError:
    tree = parse_json(body)
    said = service.hide(one_line(_message(tree, body), _LONGEST))
    words = f"{said} {_codes(tree)}"
    tail = f"(HTTP {status}){': ' + said if said else ''}"
    if 300 <= status < 400:
        place = service.hide(one_line(urlsplit(headers.get("location", "")).hostname or "another address"))
        return EndpointError(f"{service} redirects to {place}, which is not followed; correct {_SETTING}.baseUrl")
    if status in (401, 403):
        return EndpointError(
            f"{service} refused the key {tail}; check {_SETTING}.apiKey or OPENAI_API_KEY"
            if service.key
            else f"{service} wants a key {tail}; set OPENAI_API_KEY, or {_SETTING}.apiKey"
        )
    if status == 402 or (status == 429 and _QUOTA.search(words)):
        return EndpointError(f"{service} says that the quota or the credit is used up {tail}")
    if is_about_context(status, words):
        return ContextFullError(f"{service} takes no conversation of this length {tail}")
    if status == 404:
        if _MODEL.search(words):
            return EndpointError(
                f'{service} does not know the model "{service.model}" {tail}; name another with --model'
            )
        return EndpointError(f"{service} has no chat there {tail}; check {_SETTING}.baseUrl, which often ends in /v1")
    if status < 500 and _TOOLS.search(words):
        return ToolsRefusedError(f"{service} says that the model calls no tools {tail}")
    if status in _BUSY or status >= 500:
        return EndpointError(f"{service} cannot answer now {tail}")
    return EndpointError(f"{service} did not accept the request {tail}")


def is_about_context(status: int, words: str) -> bool:
    """Whether a refusal says that the conversation is too long; a limit per minute speaks of tokens too."""
    if status == 413:
        return True
    return status in (400, 422, 500) and bool(_CONTEXT.search(words)) and not _RATE.search(words)


def failure_in_stream(service: Service, error: Any) -> EndpointError:
    """The error for a failure that is told in the middle of an answer."""
    said = service.hide(one_line(message_of(error) or "without saying why", _LONGEST))
    if _CONTEXT.search(f"{said} {_codes({'error': error})}"):
        return ContextFullError(f"{service} takes no conversation of this length: {said}")
    return BrokenReplyError(f"{service} broke off the answer: {said}")


def parse_json(body: str) -> Any:
    """The JSON in a text; None where it is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def message_of(tree: Any) -> str:
    """What a server says went wrong, wherever in its answer it says so."""
    if isinstance(tree, str):
        return tree
    if isinstance(tree, list) and tree:
        return message_of(tree[0])
    if isinstance(tree, dict):
        return next((message_of(tree[name]) for name in ("error", "message", "detail", "msg") if tree.get(name)), "")
    return ""


def _message(tree: Any, body: str) -> str:
    if tree is not None:
        return message_of(tree)
    if "<" in body:  # a page for people
        title = re.search(r"<title[^>]*>([^<]{1,200})", body, re.IGNORECASE)
        return title[1] if title else ""
    return body[:2000]


def _codes(tree: Any) -> str:
    error = tree.get("error") if isinstance(tree, dict) else None
    if not isinstance(error, dict):
        return ""
    return " ".join(word for word in (error.get("code"), error.get("type")) if isinstance(word, str))
