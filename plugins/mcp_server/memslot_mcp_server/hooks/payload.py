"""The JSON that a coding agent sends to a hook on stdin."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

MAX_BYTES = 16 * 1024 * 1024
MAX_PROMPT_CHARS = 20_000
_PLAIN_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")
_HOOK_CONTEXT = re.compile(r"<hook_context>.*?</hook_context>", re.DOTALL)
"""What Gemini CLI puts before the first prompt: the context that a hook gave at the start."""


class PayloadError(ValueError):
    """The input is not what the agent sends."""


@dataclass(frozen=True)
class Payload:
    """The fields of a hook's input that are used."""

    session_id: str
    prompt: str = ""
    transcript: Path | None = None
    last_reply: str = ""
    goes_on: bool = False
    """Whether a stop hook sent the agent back to work, so that this stop was reported before."""
    client: str = "claude-code"
    their_id: str = ""
    """The conversation's id in the agent's own files."""
    trigger: str = ""
    """What triggered a compaction: "manual" or "auto"."""


def read_payload(stream: BinaryIO, client: str = "claude-code") -> Payload:
    """Parse a hook's input; raises a PayloadError if it is malformed."""
    data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise PayloadError(f"the payload is larger than {MAX_BYTES // 1024**2} MB")
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise PayloadError(f"the payload is not JSON: {error}") from None
    if not isinstance(tree, dict):
        raise PayloadError("the payload is not a JSON object")
    their_id = _text(tree, "session_id")
    return Payload(
        session_id=_session_id(client, their_id),
        prompt=_HOOK_CONTEXT.sub("", _text(tree, "prompt")).strip()[:MAX_PROMPT_CHARS],
        transcript=_path(_text(tree, "transcript_path")),
        # Gemini CLI has another name for it.
        last_reply=_text(tree, "last_assistant_message") or _text(tree, "prompt_response"),
        goes_on=tree.get("stop_hook_active") is True,
        client=client,
        their_id=their_id,
        trigger=_text(tree, "trigger"),
    )


def _text(tree: dict[str, Any], key: str) -> str:
    value = tree.get(key, "")
    if value is None:
        return ""
    if not isinstance(value, str):
        raise PayloadError(f"{key} is not text")
    return value.encode("utf-8", "replace").decode("utf-8")


def _path(given: str) -> Path | None:
    if not given or "\0" in given:
        return None
    try:
        return Path(given).expanduser()
    except RuntimeError:  # ~name of an unknown user
        return None


def _session_id(client: str, given: str) -> str:
    """An id that is safe in a file name, and the one that the conversation gets when it is imported."""
    if not given:
        raise PayloadError("session_id is missing")
    plain = given if _PLAIN_ID.fullmatch(given) else hashlib.sha256(given.encode()).hexdigest()[:32]
    return f"{client}-{plain}"
