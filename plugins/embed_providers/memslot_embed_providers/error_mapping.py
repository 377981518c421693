"""Maps HTTP errors to ProviderErrors: retry, give up, or send less. The only place that decides."""

from __future__ import annotations

import email.utils
import json
import re
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from memslot import InputTooLargeError, ProviderBusyError, ProviderError, ProviderRefusedError, one_line

from memslot_embed_providers.service import Service

_MAX_CHARS = 300
_BUSY = {408, 409, 425, 429}
_TOO_LARGE = {400, 413, 422, 500}  # older Ollama servers say 500
_QUOTA = re.compile(
    r"insufficient_quota|billing_hard_limit|billing_not_active|quota (?:has been )?exceeded|exceeded your \w* ?quota"
    r"|(?:insufficient|out of|no remaining) (?:credit|balance|fund)",
    re.IGNORECASE,
)
_SIZE = re.compile(
    r"too (?:long|large|big|many (?:tokens|inputs|texts))|context.{0,3}length|max\w* (?:allowed )?(?:\S+ ){0,3}tokens"
    r"|(?:length|size|tokens?|payload|batch)\b.{0,60}\b(?:exceed|limit|at most)"
    r"|exceed\w*.{0,60}\b(?:tokens?|length|size)"
    r"|at most \d+ (?:requests|inputs|texts|items)|reduce (?:your|the) (?:prompt|input|batch|number of tokens)",
    re.IGNORECASE,
)
_KEY = re.compile(
    r"api[ _]?key\b.{0,20}\b(?:invalid|not valid|expired|not found)|invalid.{0,20}api[ _]?key", re.IGNORECASE
)
_NO_MODEL = re.compile(r"\bmodels?\b|model_not_found", re.IGNORECASE)


def error_for_response(service: Service, status: int, headers: Mapping[str, str], body: str) -> ProviderError:
    """The ProviderError for an unsuccessful response."""
    tree = _parse(body)
    said = service.hide(_message(tree, body))
    words = f"{said} {_codes(tree)}"
    tail = f"(HTTP {status}){': ' + said if said else ''}"
    if 300 <= status < 400:
        place = service.hide(urlsplit(headers.get("location", "")).hostname or "another address")
        return ProviderError(f"{service} redirects to {place}; redirects are not followed, so correct remote.baseUrl")
    if status == 402 or (status == 429 and _is_quota(tree, words, headers)):
        return ProviderRefusedError(f"{service} reports that the quota or credit is used up {tail}")
    if status in (401, 403) or (status == 400 and _KEY.search(words)):
        return ProviderRefusedError(
            f"{service} refused the key {tail}{'; ' + service.key_hint if service.key_hint else ''}"
        )
    if status == 404 and _NO_MODEL.search(words):
        return ProviderRefusedError(f"{service} does not know the model {tail}")
    if status == 413 or (status in _TOO_LARGE and "dimension" not in words and _SIZE.search(words)):
        return InputTooLargeError(f"{service} rejects requests of this size {tail}")
    if status in _BUSY or status >= 500:
        wait = _retry_after(headers, tree)
        return ProviderBusyError(f"{service} is unavailable {tail}", retry_after=wait)
    return ProviderError(f"{service} did not accept the request {tail}")


def cut_short(service: Service, what: str) -> ProviderBusyError:
    """The error for a connection that failed, dropped or timed out."""
    return ProviderBusyError(f"{service} {service.hide(one_line(what, _MAX_CHARS))}")


def message_of(tree: Any) -> str:
    """The error message in a response, wherever it is."""
    if isinstance(tree, list):
        return message_of(tree[0]) if tree else ""
    if not isinstance(tree, dict):
        return tree if isinstance(tree, str) else ""
    for name in ("error", "detail", "message", "msg"):
        if tree.get(name):
            return message_of(tree[name])
    return ""


def _parse(body: str) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _message(tree: Any, body: str) -> str:
    if tree is not None:
        return one_line(message_of(tree), _MAX_CHARS)
    if "<" in body:
        title = re.search(r"<title[^>]*>([^<]{1,200})", body, re.IGNORECASE)
        return one_line(title.group(1), _MAX_CHARS) if title else ""
    return one_line(body[:2000], _MAX_CHARS)


def _codes(tree: Any) -> str:
    """Machine-readable error codes: OpenAI's code and type, Google's status and reasons."""
    error = tree.get("error") if isinstance(tree, dict) else tree[0].get("error") if _is_rows(tree) else None
    if not isinstance(error, dict):
        return ""
    words = [error.get(name) for name in ("code", "type", "status")]
    words += [detail.get("reason") for detail in _details(tree)]
    return " ".join(word for word in words if isinstance(word, str))


def _is_rows(tree: Any) -> bool:
    return isinstance(tree, list) and bool(tree) and isinstance(tree[0], dict)


def _details(tree: Any) -> list[dict[str, Any]]:
    error = tree.get("error") if isinstance(tree, dict) else None
    details = error.get("details") if isinstance(error, dict) else None
    return [detail for detail in details if isinstance(detail, dict)] if isinstance(details, list) else []


def _is_quota(tree: Any, words: str, headers: Mapping[str, str]) -> bool:
    if not _QUOTA.search(words):
        return False
    # Google says "quota" for per-minute limits too, with a retry delay; a daily limit is different.
    daily = any("PerDay" in json.dumps(detail) for detail in _details(tree))
    return daily or "RESOURCE_EXHAUSTED" not in words or _retry_after(headers, tree) is None


def _retry_after(headers: Mapping[str, str], tree: Any) -> float | None:
    """Seconds to wait: from the Retry-After header, or Google's RetryInfo."""
    told = (headers.get("retry-after") or "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d+)?", told):
        return float(told)
    if told:
        try:
            return max(0.0, email.utils.parsedate_to_datetime(told).timestamp() - time.time())
        except (ValueError, OverflowError):
            return None
    for detail in _details(tree):
        delay = re.fullmatch(r"(\d{1,9}(?:\.\d+)?)s", str(detail.get("retryDelay", "")))
        if delay:
            return float(delay.group(1))
    return None
