"""How well memories find: memslot as it comes, with single parts taken out, and the reference's rules.

    python benchmarks/quality/run.py                              the sets of this project, as memslot comes
    python benchmarks/quality/run.py --conversations FILE         LoCoMo, too, and the sets that need it
    python benchmarks/quality/run.py --longmemeval FILE           LongMemEval, too
    python benchmarks/quality/run.py --set lists --set cross      only these sets
    python benchmarks/quality/run.py --system all                 all systems, and their differences from the first
    python benchmarks/quality/run.py --sample 50 --seed 1         at most 50 questions of each set
    python benchmarks/quality/run.py --json new.json --compare old.json    write figures; compare with an earlier run

A result is right when its lines hold a line that answers. hit@k: a right one among the first k. seen@6: such a line can
be read whole in the six snippets. off-topic: the share of questions about something else that get results without the
word that they are weak. evidence: a line that answers stands in what is put before a prompt. relevant: the share of the
items put there that hold one. all@5, any@5, all shown: the conversations that answer are among the first five, or among
the six results.

Each set has an open half, which was looked at while rules were chosen, and a kept one. Intervals are 95 % by bootstrap
over questions, differences between systems by bootstrap over pairs. Systems that only search differently share an
index.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import question_sets
import report
import stages
import systems
from question_sets import Question
from series import Series
from stages import Pick

Drawn = TypeVar("Drawn")
Measured = dict[str, list[Series]]


def main() -> None:
    parser = _parser()
    options = parser.parse_args()
    sets: list[str] = options.set or [
        *stages.COMMITTED,
        *(stages.WITH_CONVERSATIONS if options.conversations else ()),
        *((stages.LONGMEMEVAL,) if options.longmemeval else ()),
    ]
    for needed, option in ((stages.WITH_CONVERSATIONS, "conversations"), ((stages.LONGMEMEVAL,), "longmemeval")):
        asking, file = next((name for name in sets if name in needed), None), getattr(options, option)
        if asking is not None and (file is None or not file.is_file()):
            parser.error(f"the set {asking} is not part of this project; name its file with --{option}")
    names = list(systems.NAMES) if "all" in (options.system or ()) else options.system or ["default"]
    measured: Measured = {name: [] for name in names}
    try:
        _measure_and_print(measured, sets, names, options)
    finally:  # what was measured before something failed is not lost
        if options.json:
            report.write_json(options.json, measured, {"sample": options.sample, "seed": options.seed})
    for name in names[1:]:
        report.print_differences(f"{name}, minus {names[0]}", measured[name], measured[names[0]])
    if options.compare:
        before = report.read_json(options.compare)
        for name in measured:
            report.print_differences(f"{name}, minus {options.compare}", measured[name], before.get(name, []))


def _measure_and_print(
    measured: Measured, sets: Sequence[str], names: Sequence[str], options: argparse.Namespace
) -> None:
    shown = None
    with tempfile.TemporaryDirectory(prefix="memslot-quality-") as folder:
        for name, many in _measure(sets, names, options, Path(folder)):
            measured.setdefault(name, []).extend(many)
            if name != shown:
                report.print_heading(name)
                shown = name
            for series in many:
                report.print_series(series)


def _measure(
    sets: Sequence[str], names: Sequence[str], options: argparse.Namespace, folder: Path
) -> Iterator[tuple[str, list[Series]]]:
    """The figures of each system on each workspace, as they come."""

    def pick(questions: Sequence[Question]) -> Sequence[Question]:
        return _draw(questions, options.sample, options.seed)

    listed = [*stages.committed_stages(pick)]
    if options.conversations:
        listed += stages.conversation_stages(options.conversations, pick)
    for stage in (each.only(sets) for each in listed):
        for name in names if stage.asks else ():
            with systems.opened(name, stage.files, folder / stage.folder) as memory:
                yield name, [series for ask in stage.asks.values() for series in ask(memory)]
    if "recall-lancedb" in sets and "default" in names:
        yield "memory-lancedb", _lancedb(options, pick, folder)
    if stages.LONGMEMEVAL in sets:
        import transcripts

        haystacks = _draw(transcripts.read_haystacks(options.longmemeval), options.sample, options.seed)
        for name in names:
            if name in systems.SYSTEMS:
                yield name, transcripts.ask_haystacks(name, haystacks, folder / "longmemeval")


def _lancedb(options: argparse.Namespace, pick: Pick, folder: Path) -> list[Series]:
    import long_term_memory

    asked = question_sets.conversations(options.conversations)
    some = _draw(asked.questions, options.sample or long_term_memory.SAMPLE, options.seed)
    return long_term_memory.ask_lancedb(replace(asked, questions=some), pick, folder / "lancedb")


def _draw(listed: Sequence[Drawn], most: int | None, seed: int) -> Sequence[Drawn]:
    """At most so many of them, by chance and in their order."""
    if most is None or len(listed) <= most:
        return listed
    return [listed[index] for index in sorted(random.Random(seed).sample(range(len(listed)), most))]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Measure how well memories find.")
    parser.add_argument(
        "--set",
        choices=stages.NAMES,
        action="append",
        metavar="NAME",
        help=f"only this set; may be repeated: {', '.join(stages.NAMES)}",
    )
    parser.add_argument(
        "--system",
        choices=("all", *systems.NAMES),
        action="append",
        metavar="NAME",
        help=f"measure this system instead of the default; may be repeated: all, {', '.join(systems.NAMES)}",
    )
    parser.add_argument("--conversations", type=Path, metavar="FILE", help="LoCoMo, which is not part of this project")
    parser.add_argument(
        "--longmemeval", type=Path, metavar="FILE", help="LongMemEval, which is not part of this project"
    )
    parser.add_argument("--sample", type=int, metavar="N", help="ask at most N questions of each set, drawn by chance")
    parser.add_argument("--seed", type=int, default=0, help="for --sample")
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write all figures and what each question gave to FILE"
    )
    parser.add_argument("--compare", type=Path, metavar="FILE", help="show the differences from an earlier --json FILE")
    return parser


if __name__ == "__main__":
    main()
