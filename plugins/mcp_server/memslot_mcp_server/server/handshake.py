"""The answer to a client's first request, given before the MCP SDK is loaded.

Importing the SDK takes more time than everything else up to the first answer, and clients give up on a server that is
slow to answer. So `initialize` and `server/discover` are answered here if they look as clients usually send them;
anything unusual is left to the SDK. The SDK gets the request in any case, so that it knows the connection's protocol,
and its own answer, which a test holds equal to this one, is dropped.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from memslot import __version__

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Protocol versions that begin with `initialize`."""
MODERN_VERSION = "2026-07-28"
"""The protocol version in which every request stands alone, and `server/discover` tells what a server can do."""
_META = "io.modelcontextprotocol/"
_SERVER = {"name": "memslot", "title": "memslot", "version": __version__}
_CLIENT_KEYS = {"name", "version", "title", "description", "websiteUrl"}
_MAX_ID = 2**53


@dataclass(frozen=True)
class Handshake:
    """An answer to a client's first request."""

    request_id: int | str
    line: bytes


def answer_handshake(line: bytes, instructions: Callable[[], str]) -> Handshake | None:
    """Answer a client's first line, or leave it to the SDK."""
    request = _parse(line)
    if request is None:
        return None
    method, params = request["method"], request["params"]
    if method == "initialize" and _is_initialize(params):
        result = _initialize_result(params["protocolVersion"], instructions())
    elif method == "server/discover" and _is_discover(params):
        result = _discover_result(instructions())
    else:
        return None
    answer = {"jsonrpc": "2.0", "id": request["id"], "result": result}
    return Handshake(request["id"], json.dumps(answer).encode() + b"\n")


def _parse(line: bytes) -> dict[str, Any] | None:
    """A request with an id and parameters, and nothing in it that needs a closer look."""
    if b"\\u" in line:  # may be half of a surrogate pair
        return None
    try:
        tree = json.loads(line.decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None
    if not isinstance(tree, dict) or tree.keys() != {"jsonrpc", "id", "method", "params"} or tree["jsonrpc"] != "2.0":
        return None
    number = tree["id"]
    is_number = type(number) is int and abs(number) < _MAX_ID
    return tree if isinstance(tree["params"], dict) and (is_number or isinstance(number, str)) else None


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _is_initialize(params: dict[str, Any]) -> bool:
    return (
        params.keys() == {"protocolVersion", "capabilities", "clientInfo"}
        and params["protocolVersion"] in HANDSHAKE_VERSIONS
        and _are_capabilities(params["capabilities"])
        and _is_client(params["clientInfo"])
    )


def _is_discover(params: dict[str, Any]) -> bool:
    meta = params.get("_meta")
    if params.keys() != {"_meta"} or not isinstance(meta, dict):
        return False
    required = {f"{_META}protocolVersion", f"{_META}clientInfo", f"{_META}clientCapabilities"}
    return (
        meta.keys() == required
        and meta[f"{_META}protocolVersion"] == MODERN_VERSION
        and _is_client(meta[f"{_META}clientInfo"])
        and _are_capabilities(meta[f"{_META}clientCapabilities"])
    )


def _is_client(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and {"name", "version"} <= value.keys() <= _CLIENT_KEYS
        and all(isinstance(text, str) for text in value.values())
    )


def _are_capabilities(value: Any) -> bool:
    """Whether these are objects all the way down, but for the flag that clients with roots send."""
    if isinstance(value, dict) and isinstance(value.get("roots"), dict):
        roots = value["roots"]
        if isinstance(roots.get("listChanged"), bool):
            value = {**value, "roots": {name: inner for name, inner in roots.items() if name != "listChanged"}}
    return _are_objects(value)


def _are_objects(value: Any) -> bool:
    return isinstance(value, dict) and all(_are_objects(inner) for inner in value.values())


def _initialize_result(version: str, instructions: str) -> dict[str, Any]:
    result = {"protocolVersion": version, "capabilities": _capabilities(subscribe=False), "serverInfo": _SERVER}
    return {**result, "instructions": instructions} if instructions else result


def _discover_result(instructions: str) -> dict[str, Any]:
    result = {
        "resultType": "complete",
        "supportedVersions": [MODERN_VERSION],
        "capabilities": _capabilities(subscribe=True),
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {f"{_META}serverInfo": _SERVER},
    }
    return {**result, "instructions": instructions} if instructions else result


def _capabilities(*, subscribe: bool) -> dict[str, Any]:
    return {
        "prompts": {"listChanged": True},
        "resources": {"listChanged": True, "subscribe": subscribe},
        "tools": {"listChanged": True},
    }
