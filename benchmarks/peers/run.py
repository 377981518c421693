"""memslot beside what people would pick instead, on the same Markdown files and the same embedding server.

    python benchmarks/peers/run.py                   1,000 files, all peers: about twenty minutes
    python benchmarks/peers/run.py --files 50        a try
    python benchmarks/peers/run.py --only qmd        memslot and one peer; may be given again
    python benchmarks/peers/run.py --json FILE       write the numbers
    python benchmarks/peers/run.py --write           put the tables into benchmarks/README.md

Each peer has an environment of its own below --work, which is kept for the next run. All of them use their default
settings and are measured by their commands; a library is called by a short script. Processor time is that of the
whole process tree without the embedding server. Needs Linux.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import markdown_files as corpus
from cost import Answerer, CommandFailed, Cost, run
from embedding_server import DIMS, ServerProcess
from environments import NotInstalled, disk_usage
from peer import Command, Peer, Place
from products import PEERS
from ratios import machine
from report import BASE, Result, as_json, markdown, middle, percentile, replace_section

ROOT = Path(__file__).resolve().parents[2]
WARM_UP = 10
"""Questions that a process answers before the ones that count."""


@dataclass
class Measured:
    """A peer at work: its place, its result, and the costs of each step so far."""

    peer: Peer
    place: Place
    result: Result
    costs: dict[str, list[Cost]] = field(default_factory=dict)

    def take(self, step: str, command: Command) -> str:
        cost, printed = run(command, self.place.env, self.place.workspace)
        self.costs.setdefault(step, []).append(cost)
        return printed


def install(peer: Peer, result: Result, work: Path, pages: Sequence[corpus.Page], url: str) -> Measured:
    environment = peer.install(work / "environments" / peer.id)
    result.version, result.packages = environment.version, environment.packages
    result.install_size = environment.size
    folder = work / "places" / peer.id
    shutil.rmtree(folder, ignore_errors=True)
    place = Place(environment, folder / "workspace", folder / "home", url)
    corpus.write(pages, place.notes)
    return Measured(peer, place, result)


def measure_index(measured: Measured, server: ServerProcess) -> None:
    """The first index, in an empty home."""
    peer, place = measured.peer, measured.place
    shutil.rmtree(place.home, ignore_errors=True)
    place.home.mkdir(parents=True)
    peer.configure(place)
    before = server.texts()
    measured.take("first index", (peer.first_index or peer.sync)(place))
    measured.result.texts = server.texts() - before
    measured.result.disk = disk_usage(place.home)


def measure_use(measured: Measured, question: str, number: int) -> None:
    """Nothing changed, one file changed, and a search, each in a new process."""
    peer, place = measured.peer, measured.place
    measured.take("nothing changed", peer.sync(place))
    files = sorted(place.notes.rglob("*.md"))
    with files[(number * 37 + 11) % len(files)].open("a", encoding="utf-8") as file:
        file.write(f"\n\nAdded in round {number}: the harbour opens at seven.\n")
    measured.take("one changed file", peer.sync(place))
    if not measured.take("first search", peer.search(place, question)).strip():
        raise CommandFailed(f"nothing was printed for {question!r}")


def measure_warm(measured: Measured, questions: Sequence[str]) -> None:
    """Searches in a process that stays; no question is asked twice, since an answer may be kept."""
    answerer = Answerer(measured.peer.answer(measured.place), measured.place.env, measured.place.workspace)
    answers = []
    try:
        for number, question in enumerate(questions):
            cost, found = answerer.ask(question)
            if number >= WARM_UP:
                measured.costs.setdefault("warm", []).append(cost)
                answers.append(found)
    finally:
        answerer.close()
    measured.result.answered = sum(found > 0 for found in answers) / len(answers)


def summarize(measured: Measured) -> None:
    result = measured.result
    for step, costs in measured.costs.items():
        cpus, walls = [cost.cpu for cost in costs], [cost.wall for cost in costs]
        result.rss[step] = max(cost.rss for cost in costs)
        if step == "warm":
            for name, share in (("warm p50", 0.5), ("warm p95", 0.95)):
                result.cpu[name], result.wall[name] = percentile(cpus, share), percentile(walls, share)
        else:
            result.cpu[step], result.wall[step] = middle(cpus), middle(walls)


def measure(
    peers: Sequence[Peer], pages: Sequence[corpus.Page], questions: Sequence[str], options: argparse.Namespace
) -> list[Result]:
    results = {peer.id: Result(peer.id, peer.title, peer.searches, peer.remark) for peer in peers}
    working: dict[str, Measured] = {}

    def attempt(peer: Peer, what: str, step: Callable[[], None]) -> None:
        """A peer that fails is told in the table, and the others go on."""
        result = results[peer.id]
        if result.failure:
            return
        began = time.monotonic()
        try:
            step()
            print(f"{peer.title}: {what} ({time.monotonic() - began:.1f} s)", file=sys.stderr)
        except (NotInstalled, CommandFailed) as error:
            result.failure = f"{what} failed: {error}"
            print(f"{peer.title}: {result.failure}", file=sys.stderr)

    with ServerProcess() as server:
        for peer in peers:

            def set_up(peer: Peer = peer) -> None:
                working[peer.id] = install(peer, results[peer.id], options.work, pages, server.url)

            attempt(peer, "install", set_up)
        for _ in range(options.index_rounds):
            for peer in peers:
                attempt(peer, "first index", lambda peer=peer: measure_index(working[peer.id], server))  # type: ignore[misc]
        for number in range(options.rounds):
            for peer in peers:
                question = questions[number]
                attempt(peer, "use", lambda peer=peer: measure_use(working[peer.id], question, number))  # type: ignore[misc] # noqa: B023
        for peer in peers:
            attempt(peer, "warm search", lambda peer=peer: measure_warm(working[peer.id], questions[options.rounds :]))  # type: ignore[misc]
    for measured in working.values():
        summarize(measured)
    return list(results.values())


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure memslot beside its peers.")
    parser.add_argument("--files", type=int, default=1000, help="Markdown files to index (default: 1000)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of syncs and first searches (default: 5)")
    parser.add_argument("--index-rounds", type=int, default=3, help="rounds of the first index (default: 3)")
    parser.add_argument("--questions", type=int, default=100, help="questions for the warm search (default: 100)")
    parser.add_argument("--only", action="append", metavar="PEER", choices=[peer.id for peer in PEERS])
    parser.add_argument("--work", type=Path, default=ROOT / ".build" / "peers", help="folder for environments and data")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to FILE")
    parser.add_argument("--write", action="store_true", help="put the tables into benchmarks/README.md")
    options = parser.parse_args()
    options.work = options.work.resolve()

    every = (page for sdist in corpus.download(options.work / "sdists") for page in corpus.pages_of(sdist))
    pages = corpus.choose(every, options.files)
    questions = corpus.questions(pages, options.rounds + WARM_UP + options.questions)
    load = os.getloadavg()[0]
    peers = [peer for peer in PEERS if not options.only or peer.id in {BASE, *options.only}]
    results = measure(peers, pages, questions, options)

    where, size = machine(), sum(len(page.text) for page in pages)
    caption = (
        f"{len(pages):,} Markdown files of {len(corpus.SDISTS)} projects, {size / 1e6:.1f} MB; vectors of {DIMS:,} "
        f"numbers. {where['system']}, {where['cores']} cores, Python {where['python']}, load at the start {load:.1f}. "
        f"Rounds: {options.index_rounds} of the first index, {options.rounds} of the next three, with their median; "
        f"{options.questions} warm questions. In brackets: how many times what memslot takes."
    )
    text = markdown(results, caption)
    print(text)
    if options.json:
        facts = {"machine": where, "load": load, "files": len(pages), "bytes": size, "sdists": corpus.SDISTS}
        options.json.write_text(json.dumps(as_json(results, facts), indent=2) + "\n", encoding="utf-8")
    if options.write:
        page = ROOT / "benchmarks" / "README.md"
        page.write_text(replace_section(page.read_text(encoding="utf-8"), text), encoding="utf-8")


if __name__ == "__main__":
    main()
