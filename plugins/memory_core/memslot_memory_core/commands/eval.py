"""`memslot memory eval`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import click
from memslot import MemslotError, PluginContext, clean_lines, print_json, print_table, say_done, say_warning

from memslot_memory_core.backend import Backend, backend_of
from memslot_memory_core.commands.search import FRESH_SECONDS

if TYPE_CHECKING:
    from memslot import MemoryHit, MemorySearchOutcome

DEPTHS = (1, 3, 6)
_FORM = '{"question": "...", "path": "memory/x.md", "line": 3}, where line is optional'
_MAX_BAD_LINES = 5


@dataclass(frozen=True)
class _Question:
    """A question and the file, and optionally the line, that answers it."""

    text: str
    path: str
    line: int | None

    @property
    def place(self) -> str:
        return self.path if self.line is None else f"{self.path}#L{self.line}"

    def is_answered_by(self, hit: MemoryHit) -> bool:
        if hit.path != self.path:
            return False
        if self.line is None or hit.start_line is None or hit.end_line is None:
            return True
        return hit.start_line <= self.line <= hit.end_line


@dataclass(frozen=True)
class _Result:
    """The outcome of a question; `rank` is the rank of the first correct result, if any."""

    question: _Question
    rank: int | None
    first: MemoryHit | None
    is_indexed: bool = True

    def is_found(self, depth: int) -> bool:
        return self.rank is not None and self.rank <= depth

    def to_json(self) -> dict[str, Any]:
        question, first = self.question, self.first
        instead = first and {
            "path": first.path,
            "startLine": first.start_line,
            "endLine": first.end_line,
            "score": first.score,
        }
        return {
            "question": question.text,
            "path": question.path,
            "line": question.line,
            "indexed": self.is_indexed,
            "rank": self.rank,
            "first": instead,
        }


def make_eval_command(ctx: PluginContext) -> click.Command:
    @click.command("eval")
    @click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path, allow_dash=True))
    @click.option(
        "-k",
        "depth",
        type=click.IntRange(1, 50),
        default=3,
        show_default=True,
        help="Count a question as missed without a correct result among the first K.",
    )
    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    def evaluate(file: Path, depth: int, as_json: bool) -> None:
        """Measure search with the questions in FILE (- for stdin).

        Shows how often the right note ranks first, and which questions it misses.

        FILE is JSON Lines: a question, the path of the note that answers it (as search prints it) and, optionally, the
        line. To compare embedders, run it before and after the change.

        \b
        Examples:
          echo '{"question": "when do we release?", "path": "MEMORY.md"}' > questions.jsonl
          memslot memory eval questions.jsonl
          memslot memory eval questions.jsonl -k 1 --json | jq -r '.missed[].question'
        """
        questions, bad = _read_questions(file)
        for sentence in bad[:_MAX_BAD_LINES]:
            say_warning(clean_lines(sentence))
        if len(bad) > _MAX_BAD_LINES:
            say_warning(f"{len(bad) - _MAX_BAD_LINES} more lines are invalid")
        if not questions:
            raise click.ClickException(f"{file} contains no questions; each line is {_FORM}")
        backend = backend_of(ctx)
        outcomes = _search_all(backend, questions, max(depth, *DEPTHS))
        asked = [_judge(backend, question, each) for question, each in zip(questions, outcomes, strict=True)]
        _warn_if_degraded(outcomes)
        if as_json:
            _print_json(asked, depth, outcomes[0], bad)
        else:
            _print(asked, depth, outcomes[0])
        if bad:
            raise click.exceptions.Exit(1)

    return evaluate


def _read_questions(file: Path) -> tuple[list[_Question], list[str]]:
    """The questions of a file, and an error message per invalid line."""
    try:
        data = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise MemslotError(f"{file} is not UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        raise MemslotError(f"{file} cannot be read: {error.strerror or error}") from None
    questions, bad = [], []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            questions.append(_parse(line))
        except ValueError as error:
            bad.append(f"line {number} of {file} {error}; a line is {_FORM}")
    return questions, bad


def _parse(line: str) -> _Question:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError("is not JSON") from None
    if not isinstance(row, dict):
        raise ValueError("is not a JSON object")
    for key in ("question", "path"):
        if not isinstance(row.get(key), str) or not row[key].replace("\0", " ").strip():
            raise ValueError(f'has no "{key}"')
    number = row.get("line")
    if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 1):
        raise ValueError('has a "line" that is not a positive integer')
    return _Question(row["question"], PurePosixPath(row["path"]).as_posix(), number)


def _search_all(backend: Backend, questions: Sequence[_Question], wanted: int) -> list[MemorySearchOutcome]:
    """Search for every question on the same index, synced once before the first."""
    outcomes: list[MemorySearchOutcome] = []
    for question in _with_bar(questions):
        seconds = 0.0 if outcomes else FRESH_SECONDS
        outcome = backend.search(question.text, max_results=wanted, fresh_seconds=seconds)
        if outcome.mode == "unavailable":
            raise MemslotError(f"{outcome.warning}; {outcome.action}")
        outcomes.append(outcome)
    return outcomes


def _with_bar(questions: Sequence[_Question]) -> Iterator[_Question]:
    """The questions, with a progress bar on a terminal."""
    if not sys.stderr.isatty():
        yield from questions
        return
    with click.progressbar(questions, label="Asking", file=sys.stderr) as bar:
        yield from bar


def _judge(backend: Backend, question: _Question, outcome: MemorySearchOutcome) -> _Result:
    hits = outcome.hits
    rank = next((place for place, hit in enumerate(hits, 1) if question.is_answered_by(hit)), None)
    first = hits[0] if hits else None
    return _Result(question, rank, first, rank is not None or _is_indexed(backend, question))


def _is_indexed(backend: Backend, question: _Question) -> bool:
    """Whether the expected path and line are indexed at all; the path may contain a typo."""
    try:
        return bool(backend.read(question.path, start_line=question.line or 1, max_lines=1).lines)
    except MemslotError:
        return False


def _warn_if_degraded(outcomes: Sequence[MemorySearchOutcome]) -> None:
    """Warn, once each, about a stale index and about searches without vectors."""
    stale = next((each.stale for each in outcomes if each.stale), None)
    lack = next((each.warning for each in outcomes if each.mode == "keywords" and each.hits and each.warning), None)
    for sentence in (stale, lack):
        if sentence:
            say_warning(clean_lines(sentence))


def _print(asked: Sequence[_Result], depth: int, outcome: MemorySearchOutcome) -> None:
    missed = [each for each in asked if not each.is_found(depth)]
    if missed:
        print_table(("missed", "expected", "came first instead"), map(_row, missed))
    embedder = f", {outcome.provider} ({outcome.model})" if outcome.provider else ""
    shares = ", ".join(f"hit@{each} {_share(asked, each):.2f}" for each in _depths(depth))
    count = f"{len(asked)} question{'' if len(asked) == 1 else 's'}"
    say_done(f"{shares}; {count}, {len(missed)} missed; mode {outcome.mode}{clean_lines(embedder)}")


def _row(asked: _Result) -> tuple[str, str, str]:
    expected = asked.question.place
    if not asked.is_indexed:
        expected += " (not in the memory)"
    elif asked.rank is not None:
        expected += f" (result {asked.rank})"
    return asked.question.text, expected, asked.first.citation if asked.first else "nothing"


def _print_json(asked: Sequence[_Result], depth: int, outcome: MemorySearchOutcome, bad: Sequence[str]) -> None:
    print_json(
        {
            "questions": len(asked),
            "k": depth,
            **{f"hit@{each}": round(_share(asked, each), 4) for each in _depths(depth)},
            "mode": outcome.mode,
            "provider": outcome.provider,
            "model": outcome.model,
            "missed": [each.to_json() for each in asked if not each.is_found(depth)],
            "badLines": list(bad),
        }
    )


def _depths(depth: int) -> list[int]:
    return sorted({*DEPTHS, depth})


def _share(asked: Sequence[_Result], depth: int) -> float:
    return sum(each.is_found(depth) for each in asked) / len(asked)
