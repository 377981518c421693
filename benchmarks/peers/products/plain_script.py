"""Commands of a library that knows no files: a short script in its environment (see scripts/plain_store.py)."""

from __future__ import annotations

from collections.abc import Callable

from peer import SCRIPTS, Command, Place


def sync_with(script: str) -> Callable[[Place], Command]:
    return lambda place: [*_start(place, script, "sync"), str(place.notes)]


def search_with(script: str) -> Callable[[Place, str], Command]:
    return lambda place, question: [*_start(place, script, "search"), question]


def answer_with(script: str) -> Callable[[Place], Command]:
    return lambda place: _start(place, script, "answer")


def _start(place: Place, script: str, verb: str) -> Command:
    return [place.environment.command("python"), str(SCRIPTS / script), verb, str(place.home)]
