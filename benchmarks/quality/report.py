"""How figures are told: open half, kept half and both, with intervals, beside their goals."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from question_sets import LANGUAGES, NOTE_SETS
from ratios import machine
from series import DRAWS, HALVES, SEED, Estimate, Series, difference

GOALS: Mapping[str, float] = {
    "locomo hit@1": 0.72,
    "locomo hit@6": 0.92,
    "locomo seen@6": 0.86,
    "longmemeval all@5": 0.92,
    "longmemeval all shown": 0.85,
    "paraphrases hit@3": 0.85,
    "paraphrases-among hit@3": 0.75,
    "lists hit@3": 0.85,
    "lists-among hit@3": 0.50,
    **{f"paraphrases-{language} hit@3": 0.80 for language in LANGUAGES},
    "cross hit@3": 0.65,
    **{f"{name} hit@6": 0.95 for name in NOTE_SETS},
    "prompts evidence": 0.80,
    "recall evidence": 0.80,
    "recall relevant": 0.50,
    "recall-lancedb evidence": 0.60,
    "recall-lancedb relevant": 0.40,
}
"""Shares that are to be reached."""
LIMITS: Mapping[str, float] = {
    "off-topic far": 0.10,
    "off-topic near": 0.25,
    "off-topic-locomo far": 0.10,
    "off-topic-among far": 0.10,
    "off-topic-among near": 0.25,
    "recall-lancedb off-topic far": 0.10,
}
"""Shares that are not to be exceeded."""


def print_heading(system: str) -> None:
    columns = "".join(f"{half:>22}" for half in HALVES)
    print(f"\n{system:<34}{columns}    n  goal", flush=True)


def print_series(series: Series) -> None:
    figures = {half: series.estimate(half) for half in HALVES}
    cells = "".join(f"{_shown(each):>22}" for each in figures.values())
    print(f"{series.key:<34}{cells} {len(series.items):4}  {verdict(series)}".rstrip(), flush=True)


def print_differences(title: str, ours: Sequence[Series], theirs: Sequence[Series]) -> None:
    """Where intervals of pairs do not hold 0 the difference is marked."""
    there = {each.key: each for each in theirs}
    print(f"\n{title}")
    for series in ours:
        found = difference(series, there[series.key]) if series.key in there else None
        if found is not None:
            mark = "*" if found.low > 0 or found.high < 0 else ""
            print(f"{series.key:<34} {found.value:+.3f} [{found.low:+.3f}, {found.high:+.3f}]{mark}")


def verdict(series: Series) -> str:
    """Whether the share over both halves is good enough; empty where there is no goal."""
    whole = series.estimate()
    if whole is None:
        return ""
    for goals, sign in ((GOALS, ">="), (LIMITS, "<=")):
        if series.key in goals:
            goal = goals[series.key]
            met = whole.value >= goal if sign == ">=" else whole.value <= goal
            return f"{sign} {goal:.2f} {'met' if met else 'MISSED'}"
    return ""


def write_json(file: Path, measured: Mapping[str, Sequence[Series]], options: Mapping[str, Any]) -> None:
    systems: dict[str, Any] = {}
    for system, many in measured.items():
        for series in many:
            systems.setdefault(system, {}).setdefault(series.set, {})[series.measure] = series.to_json()
    whole = {"machine": machine(), "bootstrap": {"draws": DRAWS, "seed": SEED}, **options, "systems": systems}
    file.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")


def read_json(file: Path) -> dict[str, list[Series]]:
    """What `write_json` wrote, by system."""
    tree = json.loads(file.read_text(encoding="utf-8"))
    return {
        system: [
            Series.from_json(of_set, measure, each)
            for of_set, measures in sets.items()
            for measure, each in measures.items()
        ]
        for system, sets in tree["systems"].items()
    }


def _shown(estimate: Estimate | None) -> str:
    return "-" if estimate is None else f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"
