"""What redaction costs: its CPU time as a ratio to reading and decoding the same text.

    python benchmarks/redaction.py             15 rounds
    python benchmarks/redaction.py --quick     5 rounds
    python benchmarks/redaction.py --json FILE write the numbers, too

Three texts of the same size: this project's pages, prose without any name of a secret, and `key:` over and over, the
worst case known. All are read and redacted in every round; the median of the rounds' ratios is reported.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from memslot import redact
from ratios import Ratio, median_ratio, publish

ROOT = Path(__file__).resolve().parents[1]
CHARACTERS = 100_000
READ = "read and decode"


def texts() -> dict[str, str]:
    pages = "\n".join(path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("docs/*.md")))
    made = {"pages": pages, "prose": "We met on Monday and talked about the harbour. ", "`key:` repeated": "key:"}
    return {name: (text * (CHARACTERS // len(text) + 1))[:CHARACTERS] for name, text in made.items()}


def measure(rounds: int, folder: Path) -> dict[str, list[float]]:
    """CPU seconds of every step; a round before the first compiles the patterns and isn't counted."""
    files = {name: folder / f"{number}.md" for number, name in enumerate(texts())}
    for name, text in texts().items():
        files[name].write_text(text, encoding="utf-8")
    taken: dict[str, list[float]] = {}
    for number in range(rounds + 1):
        for name, file in files.items():
            begun = time.process_time()
            for _ in range(20):  # one read is shorter than the clock's step
                text = file.read_text(encoding="utf-8")
            read = (time.process_time() - begun) / 20
            begun = time.process_time()
            redact(text)
            if number:
                taken.setdefault(f"{READ}: {name}", []).append(read)
                taken.setdefault(f"redact: {name}", []).append(time.process_time() - begun)
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure redaction, as ratios to reading.")
    parser.add_argument("--quick", action="store_true", help="5 rounds instead of 15")
    parser.add_argument("--rounds", type=int, help="another number of rounds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to FILE")
    options = parser.parse_args()
    rounds: int = options.rounds or (5 if options.quick else 15)
    with tempfile.TemporaryDirectory() as folder:
        taken = measure(rounds, Path(folder))
    ratios = []
    for name in texts():
        cost, base = taken[f"redact: {name}"], taken[f"{READ}: {name}"]
        each = f"{statistics.median(cost) / CHARACTERS * 1e9:.0f} ns/character"
        ratios.append(Ratio(f"redact, {name}", READ, rounds, each, median_ratio(cost, base)))
    publish(ratios, taken, rounds=rounds, file=options.json, remark=f"; {CHARACTERS} characters, CPU time")


if __name__ == "__main__":
    main()
