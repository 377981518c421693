"""The chat's errors; messages are one sentence without keys.

ChatError
├── ChatSettingsError    no model or address is configured, or an invalid one
└── EndpointError        the endpoint failed to answer
    ├── ContextFullError    the conversation exceeds the context window: compact it
    ├── ToolsRefusedError   the model does not support tools: retry without
    └── BrokenReplyError    the answer was cut off or is malformed
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

_MAX_CHARS = 300
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
    """The chat cannot continue as requested."""


class ChatSettingsError(ChatError):
    """No model or address is configured, or an invalid one."""


class EndpointError(ChatError):
    """The endpoint failed to answer."""

    status: int | None = None
    """The HTTP status of a refusal, if any."""


class ContextFullError(EndpointError):
    """The conversation exceeds the context window."""


class ToolsRefusedError(EndpointError):
    """The model does not support tools."""


class BrokenReplyError(EndpointError):
    """The answer was cut off or is malformed."""


def failure_of(service: Service, status: int, headers: Mapping[str, str], body: str) -> EndpointError:
    """Return the error for an unsuccessful response."""
    failure = _failure_of(service, status, headers, body)
    failure.status = status
    return failure


def _failure_of(service: Service, status: int, headers: Mapping[str, str], body: str) -> EndpointError:
    tree = parse_json(body)
    said = service.hide(one_line(_message(tree, body), _MAX_CHARS))
    words = f"{said} {_codes(tree)}"
    tail = f"(HTTP {status}){': ' + said if said else ''}"
    if 300 <= status < 400:
        place = service.hide(one_line(urlsplit(headers.get("location", "")).hostname or "another address"))
        return EndpointError(f"{service} redirects to {place}, which is not followed; correct {_SETTING}.baseUrl")
    if status in (401, 403):
        return EndpointError(
            f"{service} refused the key {tail}; check {_SETTING}.apiKey or OPENAI_API_KEY"
            if service.key
            else f"{service} requires a key {tail}; set OPENAI_API_KEY, or {_SETTING}.apiKey"
        )
    if status == 402 or (status == 429 and _QUOTA.search(words)):
        return EndpointError(f"{service} reports that the quota or credit is used up {tail}")
    if is_about_context(status, words):
        return ContextFullError(f"{service} rejects a conversation of this length {tail}")
    if status == 404:
        if _MODEL.search(words):
            return EndpointError(
                f'{service} does not know the model "{service.model}" {tail}; name another with --model'
            )
        return EndpointError(
            f"{service} has no chat API there {tail}; check {_SETTING}.baseUrl, which often ends in /v1"
        )
    if status < 500 and _TOOLS.search(words):
        return ToolsRefusedError(f"{service} says that the model does not support tools {tail}")
    if status in _BUSY or status >= 500:
        return EndpointError(f"{service} cannot answer now {tail}")
    return EndpointError(f"{service} did not accept the request {tail}")


def is_about_context(status: int, words: str) -> bool:
    """Whether a refusal means that the conversation is too long; rate limits mention tokens too."""
    if status == 413:
        return True
    return status in (400, 422, 500) and bool(_CONTEXT.search(words)) and not _RATE.search(words)


def failure_in_stream(service: Service, error: Any) -> EndpointError:
    """Return the error for a failure reported inside a stream."""
    said = service.hide(one_line(message_of(error) or "without saying why", _MAX_CHARS))
    if _CONTEXT.search(f"{said} {_codes({'error': error})}"):
        return ContextFullError(f"{service} rejects a conversation of this length: {said}")
    return BrokenReplyError(f"{service} cut off the answer: {said}")


def parse_json(body: str) -> Any:
    """Parse a JSON text; None if it is invalid."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def message_of(tree: Any) -> str:
    """Return the server's error message, wherever it is in the response."""
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
    if "<" in body:  # an HTML page
        title = re.search(r"<title[^>]*>([^<]{1,200})", body, re.IGNORECASE)
        return title[1] if title else ""
    return body[:2000]


def _codes(tree: Any) -> str:
    error = tree.get("error") if isinstance(tree, dict) else None
    if not isinstance(error, dict):
        return ""
    return " ".join(word for word in (error.get("code"), error.get("type")) if isinstance(word, str))
