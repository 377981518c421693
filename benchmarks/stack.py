"""Two memories in the slot beside each of them alone: what they find, what they recall, what is said twice, and time.

    python benchmarks/stack.py --conversations FILE                 LoCoMo, which is not part of this project
    python benchmarks/stack.py --conversations FILE --sample 100    at most 100 questions, drawn by chance
    python benchmarks/stack.py --conversations FILE --halves        each memory has half of the conversations
    python benchmarks/stack.py --conversations FILE --json OUT      write the figures, too

The conversations are notes in memory-core, and each of their lines is a memory in memory-lancedb. A result is right
when its lines hold a line that answers, or when it is that line. hit@k: a right one among the first k. evidence: a line
that answers stands in what is put before a prompt. twice: recalls in which a line stands in two items. The three hosts
share one home and take turns, each with another question; the ratio of times is formed within each round, and the
median is reported.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent / "quality"))
from long_term_memory import import_lines
from measures import items_in
from question_sets import Question, QuestionSet, conversations, plain, write_files
from ratios import Ratio, median_ratio, publish
from series import Item, Series

CORE, LANCEDB = "memory-core", "memory-lancedb"
SLOTS: Mapping[str, str | Sequence[str]] = {CORE: CORE, LANCEDB: LANCEDB, "stack": (CORE, LANCEDB)}
DEPTHS = (1, 3, 6)
SLOWER = 1.3
"""How much longer than the slower memory alone the stack may take before a run."""
_LETTERS = 20
"""Shorter lines, such as "Thanks!", are said often."""


@dataclass
class Figures:
    """What one setting of the slot gave, question by question."""

    found: dict[int, list[Item]] = field(default_factory=lambda: {depth: [] for depth in DEPTHS})
    evidence: list[Item] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    chars: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    processor_seconds: list[float] = field(default_factory=list)
    standing_tokens: int = 0
    """About how many tokens the tools' descriptions and the prompt section take in every request."""

    def series(self) -> list[Series]:
        found = [Series("stack", f"hit@{depth}", items) for depth, items in self.found.items()]
        return [*found, Series("stack", "evidence", self.evidence)]


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure two memories in the slot beside each of them alone.")
    parser.add_argument("--conversations", type=Path, metavar="FILE", required=True, help="LoCoMo")
    parser.add_argument("--sample", type=int, metavar="N", help="ask at most N questions, drawn by chance")
    parser.add_argument("--seed", type=int, default=0, help="for --sample")
    parser.add_argument("--slot", action="append", choices=list(SLOTS), help="only this; may be repeated")
    parser.add_argument("--halves", action="store_true", help="every other conversation as notes, the rest as memories")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    options = parser.parse_args()
    asked = conversations(options.conversations)
    questions = draw(asked.questions, options.sample, options.seed)
    names = options.slot or list(SLOTS)
    with tempfile.TemporaryDirectory(prefix="memslot-stack-") as folder:
        notes, memories = halves(asked) if options.halves else (asked, asked)
        figures = measure(notes, memories, replace(asked, questions=questions), Path(folder), names)
    report(figures, options.json)


def draw(questions: Sequence[Question], most: int | None, seed: int) -> Sequence[Question]:
    if most is None or len(questions) <= most:
        return questions
    return [questions[index] for index in sorted(random.Random(seed).sample(range(len(questions)), most))]


def halves(asked: QuestionSet) -> tuple[QuestionSet, QuestionSet]:
    """Every other conversation, and the rest."""
    folders = sorted({path.rpartition("/")[0] for path in asked.files})
    first = {path: lines for path, lines in asked.files.items() if folders.index(path.rpartition("/")[0]) % 2 == 0}
    rest = {path: lines for path, lines in asked.files.items() if path not in first}
    return replace(asked, files=first), replace(asked, files=rest)


def measure(
    notes: QuestionSet, memories: QuestionSet, asked: QuestionSet, folder: Path, names: Iterable[str]
) -> dict[str, Figures]:
    """Fill one home, open a host for each setting of the slot, and ask them in turns."""
    home, workspace = folder / "home", folder / "workspace"
    home.mkdir(parents=True)
    write_files(notes.files, workspace)
    import_lines(memories, home)
    hosts = {name: open_host(home, workspace, SLOTS[name]) for name in names}
    figures = {name: Figures(standing_tokens=standing_tokens(host)) for name, host in hosts.items()}
    lines = {text for rows in asked.files.values() for text in map(plain, rows) if is_telling(text)}
    try:
        for number in range(len(asked.questions)):
            for place, name in enumerate(hosts):
                # A question is quicker the second time, so each host is the first to hear a third of them.
                question = asked.questions[(number + place * len(asked.questions) // len(hosts)) % len(asked.questions)]
                ask(hosts[name], asked, question, lines, figures[name], is_alone=name != "stack")
        for host in hosts.values():
            if problems := [str(event) for event in host.diagnostics]:
                raise SystemExit(f"a memory did not answer: {problems[0]}")
    finally:
        for host in hosts.values():
            host.close()
    return figures


def open_host(home: Path, workspace: Path, slot: str | Sequence[str]) -> Any:
    """A host whose memories are ready: indexed, and with what a first search loads."""
    from memslot import CanRefresh, Host

    quiet = {"sync": {"watch": False, "onSearch": False, "onSessionStart": False}}
    config = {
        "agents": {"defaults": {"workspace": str(workspace), "memorySearch": quiet}},
        "plugins": {"slots": {"memory": slot if isinstance(slot, str) else list(slot)}},
    }
    host = Host.load(config, home=home, env={"HOME": str(home)})
    for memory in [host.memory] if isinstance(slot, str) else [memory for _, memory in host.memories]:
        if isinstance(memory, CanRefresh):
            memory.refresh()
        memory.search("what was said first?")
    with host.run("what was said first?", session="questions"):
        pass
    return host


def standing_tokens(host: Any) -> int:
    from memslot import count_tokens

    tools = "\n".join(json.dumps(tool.to_openai(), ensure_ascii=False) for tool in host.tools())
    return count_tokens((), f"{tools}\n{host.system_prompt()}")


def ask(
    host: Any, asked: QuestionSet, question: Question, lines: set[str], figures: Figures, *, is_alone: bool
) -> None:
    # The run first: what it embeds, the search need not embed again.
    start, used = time.perf_counter(), time.process_time()
    with host.run(question.text, session="questions") as run:
        figures.seconds.append(time.perf_counter() - start)
        figures.processor_seconds.append(time.process_time() - used)
        context = run.context
    facts, items = set(asked.facts(question)), items_in(context)
    figures.chars.append(len(context))
    figures.evidence.append(Item(question.id, question.is_open, float(any(f in i for f in facts for i in items))))
    figures.twice += [f"{question.id}: {line}" for line in said_twice(items, lines)]
    if is_alone:
        hits = host.memory.search(question.text, max_results=max(DEPTHS)).hits
    else:
        hits = [found.hit for found in host.memories.search(question.text, max_results=max(DEPTHS)).hits]
    right = [is_right(hit, question, facts) for hit in hits]
    for depth, found in figures.found.items():
        found.append(Item(question.id, question.is_open, float(any(right[:depth]))))


def is_right(hit: Any, question: Question, facts: set[str]) -> bool:
    """A note is right by its lines, a memory by its text."""
    if hit.start_line is None:
        return " ".join(hit.snippet.split()) in facts
    return any(hit.path == path and hit.start_line <= line <= hit.end_line for path, line in question.gold)


def is_telling(line: str) -> bool:
    return sum(character.isalpha() for character in line) >= _LETTERS


def said_twice(items: Sequence[str], lines: set[str]) -> list[str]:
    """Lines that stand in more than one item, or more than once in one."""
    whole = "\n".join(items)
    return [line for line in lines if whole.count(line) > 1]


def report(figures: Mapping[str, Figures], file: Path | None) -> None:
    from report import print_heading, print_series

    for name, each in figures.items():
        print_heading(name)
        for series in each.series():
            print_series(series)
        print(f"  recalls with a line said twice: {len({row.partition(':')[0] for row in each.twice})}")
        for row in each.twice[:5]:
            print(f"    {row}")
        print(f"  characters before a prompt: {statistics.mean(each.chars):.0f} on average, {max(each.chars)} at most")
        print(f"  tokens of the tools and the prompt section, estimated: {each.standing_tokens}")
        used = statistics.median(each.processor_seconds) * 1000
        print(
            f"  milliseconds to begin a run, medians: {statistics.median(each.seconds) * 1000:.1f}, {used:.1f} of CPU"
        )
    seconds = {name: each.seconds for name, each in figures.items()}
    if seconds.keys() != SLOTS.keys():
        return
    print()
    slower = max(CORE, LANCEDB, key=lambda name: statistics.median(seconds[name]))
    ratios = [
        Ratio(
            f"begin a run, {CORE} and {LANCEDB}",
            f"begin a run, {name}",
            len(seconds[name]),
            f"{statistics.median(seconds['stack']) * 1000:.1f} ms",
            median_ratio(seconds["stack"], seconds[name]),
            SLOWER if name == slower else None,
        )
        for name in (CORE, LANCEDB)
    ]
    publish(ratios, seconds, rounds=len(seconds["stack"]), file=file)
    if file:
        data = json.loads(file.read_text(encoding="utf-8"))
        for name, each in figures.items():
            data[name] = {series.key: series.to_json() for series in each.series()}
            data[name]["twice"] = each.twice
        file.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
