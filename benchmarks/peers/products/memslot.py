"""memslot from this checkout: with the embedding server that all use, and with its built-in model."""

from __future__ import annotations

import json
from pathlib import Path

from environments import Environment, python_environment
from peer import EMBEDDING_MODEL, SCRIPTS, Command, Peer, Place

ROOT = Path(__file__).resolve().parents[3]


def install(folder: Path, extra: str = "") -> Environment:
    parts = ("core", "plugins/memory_core", f"plugins/embed_providers{extra}", "plugins/importers", "")
    return python_environment(folder, [], "memslot", ours=[f"{ROOT}/{part}" for part in parts])


def configure(place: Place, **search: object) -> None:
    folder = place.home / ".memslot"
    folder.mkdir(parents=True)
    config = {"agents": {"defaults": {"workspace": str(place.workspace), "memorySearch": search}}}
    (folder / "memslot.json5").write_text(json.dumps(config), encoding="utf-8")


def configure_remote(place: Place) -> None:
    configure(place, provider="openai", model=EMBEDDING_MODEL, remote={"baseUrl": place.url})


def configure_built_in(place: Place) -> None:
    configure(place, provider="universal")


def sync(place: Place) -> Command:
    return [place.environment.command("memslot"), "memory", "index"]


def search(place: Place, question: str) -> Command:
    return [place.environment.command("memslot"), "memory", "search", question]


def answer(place: Place) -> Command:
    return [place.environment.command("python"), str(SCRIPTS / "memslot_answers.py")]


REMOTE = Peer(
    id="memslot",
    title="memslot",
    searches="hybrid",
    remark="`memslot memory index` and `search`; warm: `host.memory.search`",
    install=lambda folder: install(folder, "[openai]"),
    configure=configure_remote,
    sync=sync,
    search=search,
    answer=answer,
)
BUILT_IN = Peer(
    id="memslot-built-in",
    title="memslot, built-in model",
    searches="hybrid",
    remark="as above, but the model runs in the process and its time is counted",
    install=install,
    configure=configure_built_in,
    sync=sync,
    search=search,
    answer=answer,
)
