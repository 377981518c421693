"""llm: `embed-multi` and `similar`."""

from __future__ import annotations

from environments import python_environment
from peer import EMBEDDING_MODEL, SCRIPTS, Command, Peer, Place


def sync(place: Place) -> Command:
    files = ["--files", str(place.notes), "**/*.md"]
    return [place.environment.command("llm"), "embed-multi", "notes", *files, "-m", EMBEDDING_MODEL, "--store"]


def search(place: Place, question: str) -> Command:
    return [place.environment.command("llm"), "similar", "notes", "-c", question]


def answer(place: Place) -> Command:
    database = place.home / "llm" / "embeddings.db"
    return [place.environment.command("python"), str(SCRIPTS / "llm_answers.py"), str(database)]


PEER = Peer(
    id="llm",
    title="llm",
    searches="vectors",
    remark="`embed-multi --store`, `similar`: one vector for a whole file",
    install=lambda folder: python_environment(folder, ["llm"], "llm"),
    sync=sync,
    search=search,
    answer=answer,
)
