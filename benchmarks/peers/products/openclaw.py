"""The reference: `openclaw memory index` and `search`."""

from __future__ import annotations

import json
from pathlib import Path

from environments import Environment, node_environment
from peer import EMBEDDING_MODEL, SCRIPTS, Command, Peer, Place

PACKAGE = "openclaw"


def install(folder: Path) -> Environment:
    return node_environment(folder, PACKAGE)


def config_file(place: Place) -> Path:
    return place.home / ".openclaw" / "openclaw.json"


def configure(place: Place) -> None:
    remote = {"baseUrl": place.url, "apiKey": "none"}
    config = {
        "agents": {"defaults": {"workspace": str(place.workspace)}},
        "memory": {"search": {"provider": "openai", "model": EMBEDDING_MODEL, "remote": remote}},
    }
    config_file(place).parent.mkdir(parents=True)
    config_file(place).write_text(json.dumps(config), encoding="utf-8")


def sync(place: Place) -> Command:
    return [place.environment.command("openclaw"), "memory", "index"]


def search(place: Place, question: str) -> Command:
    return [place.environment.command("openclaw"), "memory", "search", question]


def answer(place: Place) -> Command:
    package = place.environment.bin.parent / PACKAGE
    return ["node", str(SCRIPTS / "openclaw_answers.mjs"), str(package), str(config_file(place))]


PEER = Peer(
    id="openclaw",
    title="openclaw (the reference)",
    searches="hybrid",
    remark="warm: its search manager, which no command of it keeps running",
    install=install,
    configure=configure,
    sync=sync,
    search=search,
    answer=answer,
)
