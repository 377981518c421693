"""How well search finds the evidence: memslot as it comes, single legs, and the reference's rules, on the same notes.

    python benchmarks/quality/run.py                        long conversations, all systems
    python benchmarks/quality/run.py --set zh               notes in Chinese; ja, ko, mixed
    python benchmarks/quality/run.py --system default       one system; may be repeated
    python benchmarks/quality/run.py --sample 100 --seed 1  fewer questions, drawn by chance
    python benchmarks/quality/run.py --json FILE            write the numbers, too

A result is right when its lines hold a line that answers. `hit@k`: a right one among the first k; `recall@k`: the share
of answering lines that the first k hold; `seen@6`: an answering line can be read whole in the six snippets that are
shown; `off-topic`: the share of questions about something else that get any result at all. The defaults of ranking were
chosen on `locomo` with these off-topic questions, and what concerns scripts without spaces on `zh`, `ja`, `ko` and
`mixed` themselves: none of these figures comes from questions that were kept aside. The conversations are not part of
the project: `--conversations` says where they are.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import question_sets
import systems
from measures import SHOWN, Answer, measure
from off_topic import off_topic_questions
from question_sets import QuestionSet
from ratios import machine
from systems import System

DEEPEST = 20
GOALS: Mapping[str, Mapping[str, float]] = {
    "locomo": {"hit@6": 0.90, "hit@1": 0.65, "seen@6": 0.81, "off-topic": 0.05},
    "zh": {"hit@6": 0.95},
    "ja": {"hit@6": 0.95},
    "ko": {"hit@6": 0.95},
    "mixed": {"hit@6": 0.95},
}
COLUMNS = ("hit@1", "hit@3", "hit@6", "hit@10", "hit@20", "recall@6", "MRR", "NDCG@10", "seen@6", "off-topic")


@dataclass(frozen=True)
class Row:
    """One system's measures, and the milliseconds of its middle search."""

    system: str
    measures: Mapping[str, float]
    milliseconds: float


def ask_all(system: System, asked: QuestionSet) -> tuple[dict[str, Sequence[Answer]], float]:
    """The answers to all questions, first as many as are shown by default, then what follows when asked for more."""
    answers: dict[str, Sequence[Answer]] = {}
    taken = []
    for question in asked.questions:
        start = time.perf_counter()
        shown = list(system.ask(question.text))
        taken.append(time.perf_counter() - start)
        answers[question.id] = [*shown, *system.ask(question.text, DEEPEST)[len(shown) :]] if shown else []
    return answers, median(taken) * 1000


def evaluate(name: str, asked: QuestionSet) -> Row:
    with tempfile.TemporaryDirectory(prefix="memslot-quality-") as folder:
        system = systems.make_system(name, asked, Path(folder))
        try:
            answers, milliseconds = ask_all(system, asked)
            strange = off_topic_questions(asked.id)
            answered = sum(bool(system.ask(each)) for each in strange) / len(strange)
        finally:
            system.close()
    return Row(name, {**measure(asked, answers), "off-topic": answered}, milliseconds)


def print_rows(rows: Sequence[Row], goals: Mapping[str, float]) -> None:
    width = max(len(row.system) for row in rows)
    print(" ".join(["system".ljust(width), *(column.rjust(9) for column in COLUMNS), "ms".rjust(7)]))
    for row in rows:
        cells = [f"{row.measures[column]:.3f}".rjust(9) for column in COLUMNS]
        print(" ".join([row.system.ljust(width), *cells, f"{row.milliseconds:.1f}".rjust(7)]))
    default = next((row for row in rows if row.system == "default"), None)
    if default is not None:
        print()
        for name, goal in goals.items():
            value, is_most = default.measures[name], name == "off-topic"
            met = value <= goal if is_most else value >= goal
            print(f"{name} {value:.3f}, goal {'<=' if is_most else '>='} {goal:g}: {'met' if met else 'MISSED'}")


def as_json(asked: QuestionSet, rows: Sequence[Row], seed: int) -> dict[str, Any]:
    return {
        "machine": machine(),
        "set": asked.id,
        "n": len(asked.questions),
        "offTopic": len(off_topic_questions(asked.id)),
        "seed": seed,
        "systems": {row.system: {**row.measures, "milliseconds": row.milliseconds} for row in rows},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how well search finds the evidence.")
    parser.add_argument("--set", choices=question_sets.NAMES, default="locomo", help="the notes and questions")
    parser.add_argument("--system", choices=systems.NAMES, action="append", help="only this one; may be repeated")
    parser.add_argument(
        "--conversations", type=Path, default=question_sets.CONVERSATIONS, help="file of the set locomo"
    )
    parser.add_argument("--sample", type=int, metavar="N", help="ask so many questions, drawn by chance")
    parser.add_argument("--seed", type=int, default=0, help="for --sample")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to FILE")
    options = parser.parse_args()
    if options.set == "locomo" and not options.conversations.is_file():
        parser.error(f"{options.conversations} is not there; name the file with --conversations, or another --set")
    asked = question_sets.load_set(options.set, options.conversations)
    if options.sample:
        drawn = random.Random(options.seed).sample(asked.questions, min(options.sample, len(asked.questions)))
        asked = replace(asked, questions=drawn)
    names: Sequence[str] = options.system or systems.NAMES
    rows = [evaluate(name, asked) for name in names]
    where = machine()
    drawn_by = f"drawn with seed {options.seed}" if options.sample else "all of them, so no seed matters"
    print(
        f"{asked.id}: n = {len(asked.questions)} questions ({drawn_by}), {len(asked.files)} files, "
        f"{len(off_topic_questions(asked.id))} off-topic questions; {SHOWN} results are shown; "
        f"{where['system']}, Python {where['python']}\n"
    )
    print_rows(rows, GOALS[asked.id])
    if options.json:
        options.json.write_text(json.dumps(as_json(asked, rows, options.seed), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
