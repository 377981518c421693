"""The result of a run as Markdown: costs and ratios, sizes, and the goals."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

BASE = "memslot"
STEPS = ("first index", "one changed file", "nothing changed", "first search", "warm p50", "warm p95")
BEGIN, END = "<!-- begin: make bench-peers -->", "<!-- end: make bench-peers -->"


@dataclass
class Result:
    """What was measured of one peer; `failure` says why something is missing."""

    id: str
    title: str
    searches: str
    remark: str
    version: str = ""
    packages: int = 0
    install_size: int = 0
    disk: int = 0
    texts: int = 0
    answered: float = 0.0
    cpu: dict[str, float] = field(default_factory=dict)
    wall: dict[str, float] = field(default_factory=dict)
    rss: dict[str, int] = field(default_factory=dict)
    failure: str = ""


@dataclass(frozen=True)
class Goal:
    """memslot may take at most `most` of what a peer takes for a step."""

    step: str
    peer: str
    most: float


GOALS = (
    Goal("first index", "openclaw", 1 / 15),
    Goal("first index", "lancedb", 1.0),
    Goal("warm p50", "lancedb", 0.5),
    Goal("nothing changed", "qmd", 1.0),
    Goal("one changed file", "qmd", 1.0),
    *(Goal("first search", peer, 1.0) for peer in ("lancedb", "chroma", "mem0", "llm", "openclaw")),
)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that so many of all do not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def middle(values: Sequence[float]) -> float:
    return statistics.median(values)


def markdown(results: Sequence[Result], caption: str) -> str:
    base = next((result for result in results if result.id == BASE), None)
    return "\n\n".join(
        [
            caption,
            "\n".join(table(("CPU time", "searches by", *STEPS), cost_rows(results, base))),
            "\n".join(table(SIZE_HEAD, size_rows(results))),
            "\n".join(table(("goal: memslot against", "step", "at most", "measured", ""), goal_rows(results))),
            "\n".join(notes(results)),
        ]
    )


def cost_rows(results: Sequence[Result], base: Result | None) -> Iterator[Sequence[str]]:
    for result in results:
        if not result.cpu:
            yield (result.title, result.searches, f"not measured: {result.failure}", *[""] * (len(STEPS) - 1))
            continue
        cells = []
        for step in STEPS:
            taken = result.cpu.get(step)
            if taken is None:
                cells.append("-")
            elif base is None or result is base or step not in base.cpu:
                cells.append(seconds(taken))
            else:
                cells.append(f"{seconds(taken)} ({ratio(taken / base.cpu[step])}×)")
        yield (result.title, result.searches, *cells)


SIZE_HEAD = (
    "beside it",
    "wall: index",
    "one changed",
    "nothing changed",
    "first search",
    "warm p50",
    "p95",
    "disk",
    "memory: index",
    "warm",
    "packages",
    "installed",
    "texts embedded",
)


def size_rows(results: Sequence[Result]) -> Iterator[Sequence[str]]:
    for result in results:
        if not result.version:
            continue
        walls = [seconds(result.wall[step]) if step in result.wall else "-" for step in STEPS]
        memory = [megabytes(result.rss[step]) if step in result.rss else "-" for step in ("first index", "warm")]
        install = (str(result.packages), megabytes(result.install_size))
        disk = megabytes(result.disk) if result.disk else "-"
        yield (f"{result.title} {result.version}", *walls, disk, *memory, *install, f"{result.texts:,}")


def goal_rows(results: Sequence[Result]) -> Iterator[Sequence[str]]:
    of = {result.id: result for result in results}
    for goal in GOALS:
        ours, theirs = (of[id].cpu.get(goal.step) if id in of else None for id in (BASE, goal.peer))
        title = of[goal.peer].title if goal.peer in of else goal.peer
        if ours is None or theirs is None:
            yield (title, goal.step, ratio(goal.most), "-", "not measured")
        else:
            verdict = "met" if ours / theirs <= goal.most else "missed"
            yield (title, goal.step, ratio(goal.most), ratio(ours / theirs), verdict)


def notes(results: Sequence[Result]) -> Iterator[str]:
    for result in results:
        rest = f"; {result.failure}" if result.failure and result.cpu else ""
        answered = f"; {result.answered:.0%} of the questions had results" if result.answered else ""
        yield f"- **{result.title}**: {result.remark}{answered}{rest}."


def table(head: Sequence[str], rows: Iterator[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', '/') for cell in row)} |"


def replace_section(page: str, text: str) -> str:
    """The page with the text between its two marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"the page lacks {BEGIN} or {END}")
    return f"{before}{BEGIN}\n{text}\n{END}{after}"


def as_json(results: Sequence[Result], facts: Mapping[str, object]) -> dict[str, object]:
    return {**facts, "results": [vars(result) for result in results]}


def seconds(value: float) -> str:
    return f"{value * 1000:.0f} ms" if value < 0.9995 else f"{value:.1f} s"


def ratio(value: float) -> str:
    return f"{value:.2f}" if value < 9.95 else f"{value:.0f}"


def megabytes(value: int) -> str:
    return f"{value / 1e6:.0f} MB" if value >= 9.5e6 else f"{value / 1e6:.1f} MB"
