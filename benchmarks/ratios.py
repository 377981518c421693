"""How results are told: as ratios to something measured in the same run, with the machine they come from."""

from __future__ import annotations

import json
import os
import platform
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Ratio:
    """One line of the report: `goal` is the highest ratio that is good enough, if there is one."""

    metric: str
    against: str
    n: int
    measured: str
    ratio: float
    goal: float | None = None

    @property
    def verdict(self) -> str:
        if self.goal is None:
            return "-"
        return "met" if self.ratio <= self.goal else "MISSED"


def median_ratio(taken: Sequence[float], base: Sequence[float]) -> float:
    return statistics.median(one / other for one, other in zip(taken, base, strict=True))


def machine() -> dict[str, Any]:
    return {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def print_table(ratios: Sequence[Ratio]) -> None:
    rows = [("metric", "against", "n", "median", "ratio", "goal", "")]
    for each in ratios:
        goal = f"<= {each.goal:g}" if each.goal is not None else "-"
        rows.append((each.metric, each.against, str(each.n), each.measured, f"{each.ratio:.2f}", goal, each.verdict))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def publish(
    ratios: Sequence[Ratio],
    taken: Mapping[str, Sequence[float]],
    *,
    rounds: int,
    file: Path | None,
    remark: str = "",
) -> None:
    """Print the table below a line about the machine; write all numbers to `file` if one is named."""
    where = machine()
    system = f"{where['system']}, {where['cores']} cores, Python {where['python']}"
    print(f"{system}; median of {rounds} interleaved rounds{remark}\n")
    print_table(ratios)
    if file:
        data = {"machine": where, "rounds": rounds, "ratios": [asdict(each) for each in ratios], "seconds": taken}
        file.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
