"""qmd by its command line; its models are GGUF files from the Hugging Face hub, so only its keyword part runs."""

from __future__ import annotations

from pathlib import Path

from environments import Environment, node_environment
from peer import SCRIPTS, Command, Peer, Place

PACKAGE = "@tobilu/qmd"


def install(folder: Path) -> Environment:
    return node_environment(folder, PACKAGE)


def first_index(place: Place) -> Command:
    return [place.environment.command("qmd"), "collection", "add", str(place.notes), "--name", "notes"]


def sync(place: Place) -> Command:
    return [place.environment.command("qmd"), "update"]


def search(place: Place, question: str) -> Command:
    return [place.environment.command("qmd"), "search", question]


def answer(place: Place) -> Command:
    package = place.environment.bin.parent / PACKAGE
    index = place.home / ".cache" / "qmd" / "index.sqlite"
    return ["node", str(SCRIPTS / "qmd_answers.mjs"), str(package), str(index)]


PEER = Peer(
    id="qmd",
    title="qmd",
    searches="keywords",
    remark="keyword part only: its models are downloaded GGUF files and it takes no embedding server",
    install=install,
    first_index=first_index,
    sync=sync,
    search=search,
    answer=answer,
)
