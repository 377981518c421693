"""What can go wrong between a provider and its server."""

from __future__ import annotations

import dataclasses
import email.utils
import math
import time
from typing import TYPE_CHECKING, Any

from memslot_wire import answer as ways
from memslot_wire.answer import Answer

if TYPE_CHECKING:
    from memslot_wire.server import Seen, WireServer

PAGE = b"<html><head><title>502 Bad Gateway</title></head><body><h1>Bad Gateway</h1></body></html>"
STATUSES = {"408", "409", "429", "500", "503", "402", "403", "404", "413", "418"}
VECTORS = {"wrong-dims", "nan", "null", "words", "wrong-count", "no-vectors", "wrong-order"}
WAYS = {"slow", "hang", "drip", "half", "reset", "huge", "huge-error"}
NAMED = {"429-wait", "429-date", "quota", "401-echo", "404-model", "too-large"}
PAGES = {"html", "html-200", "bad-json", "redirect", "redirect-here"}
FAULTS = STATUSES | VECTORS | WAYS | NAMED | PAGES


def spoil(fault: str, answer: Answer, server: WireServer, seen: Seen, speech: Any) -> Answer:
    """The answer as this fault would have it."""
    if fault in VECTORS:
        return dataclasses.replace(answer, tree=_spoil_vectors(fault, answer.tree, speech))
    if fault in WAYS:
        return _spoil_way(fault, answer, server)
    if fault in PAGES:
        return _page(fault, server, seen)
    if fault in STATUSES:
        return speech.error(int(fault), "something is wrong here")
    if fault == "429-wait":
        return dataclasses.replace(speech.error(429, "too many requests"), headers={"Retry-After": "7"})
    if fault == "429-date":
        date = email.utils.formatdate(time.time() + 30, usegmt=True)
        return dataclasses.replace(speech.error(429, "too many requests"), headers={"Retry-After": date})
    if fault == "401-echo":
        key = seen.headers.get("authorization", seen.headers.get("x-goog-api-key", "no key"))
        return speech.error(401, f"Incorrect API key provided: {key}; {key[:-4]}, {key[4:]}. Find yours elsewhere.")
    return speech.named(fault)


def _spoil_vectors(fault: str, tree: Any, speech: Any) -> Any:
    rows = speech.vectors(tree)
    if fault == "wrong-count":
        rows = rows[:-1] if len(rows) > 1 else []
    elif fault == "wrong-order":
        return speech.reordered(tree)
    elif fault == "no-vectors":
        return {"object": "list"}
    else:
        first = {"nan": math.nan, "null": None, "words": "many"}.get(fault)
        rows = [row[:-1] if fault == "wrong-dims" else [first, *row[1:]] for row in rows]
    return speech.with_vectors(tree, rows)


def _spoil_way(fault: str, answer: Answer, server: WireServer) -> Answer:
    if fault == "slow":
        time.sleep(0.3)
        return answer
    if fault == "hang":
        server.closing.wait(60)
        return answer
    if fault == "huge-error":
        return Answer(500, {}, send=ways.endless)
    return dataclasses.replace(
        answer, send={"drip": ways.drip, "half": ways.half, "reset": ways.reset, "huge": ways.endless}[fault]
    )


def _page(fault: str, server: WireServer, seen: Seen) -> Answer:
    if fault == "bad-json":
        return Answer(200, body=b'{"data": [{"index": 0, "embedding": [0.1, 0.2')
    if fault.startswith("redirect"):
        place = server.elsewhere if fault == "redirect" else server.origin
        return Answer(307, {}, headers={"Location": f"{place}{seen.path}"})
    return Answer(502 if fault == "html" else 200, body=PAGE, headers={"Content-Type": "text/html; charset=utf-8"})
