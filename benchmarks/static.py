"""How quickly the zero-key embedder starts and works: ratios to something known, measured in one run.

    python benchmarks/static.py             15 rounds
    python benchmarks/static.py --quick     5 rounds
    python benchmarks/static.py --json FILE write the numbers, too

Two goals: from nothing to the first vector within 5 times `python -c "import numpy"`, and texts per second
and core within 1.3 times the library that brings the weights. The texts are this project's own pages, cut as
an index cuts them. All run one after the other in every round; a ratio is formed within each round, and the
median of all rounds is reported.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ratios import Ratio, median_ratio, publish

ROOT = Path(__file__).resolve().parents[1]
CHUNK_CHARS = 1600
NUMPY, FIRST = 'python -c "import numpy"', "start + first vector"
LIBRARY, NEW_WORDS, KNOWN_WORDS = "wordllama embed", "embed, words never seen", "embed, words seen before"
FIRST_VECTOR = (
    "from memslot_embed_providers.static.provider import StaticProvider\n"
    "StaticProvider().embed_query('what did we decide about the harbour?')"
)
COMPARED: Sequence[tuple[str, str, float | None]] = [
    (FIRST, NUMPY, 5.0),
    (NEW_WORDS, LIBRARY, 1.3),
    (KNOWN_WORDS, LIBRARY, None),
]


def read_chunks() -> list[str]:
    """Every Markdown page of the project, in pieces of about 1600 characters that end with a line."""
    chunks: list[str] = []
    for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]):
        piece = ""
        for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
            if piece and len(piece) + len(line) > CHUNK_CHARS:
                chunks.append(piece)
                piece = ""
            piece += line
        chunks.append(piece)
    return [chunk for chunk in chunks if chunk.strip()]


def load_library() -> Any:
    import wordllama

    return wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)


def measure(rounds: int, texts: list[str]) -> dict[str, list[float]]:
    """Seconds of everything in every round; a round before the first warms caches and is not counted."""
    from memslot_embed_providers.static.model import StaticModel, load_model, unit
    from memslot_embed_providers.static.provider import StaticProvider

    library, provider, model = load_library(), StaticProvider(), load_model()

    def run(code: str) -> Callable[[], object]:
        return lambda: subprocess.run([sys.executable, "-c", code], check=True)

    steps: dict[str, Callable[[], object]] = {
        NUMPY: run("import numpy"),
        FIRST: run(FIRST_VECTOR),
        LIBRARY: lambda: library.embed(texts, norm=True),
        NEW_WORDS: lambda: unit(StaticModel(model._rows, model._tokenizer).sums(texts)),
        KNOWN_WORDS: lambda: provider.embed_documents(texts),
    }
    taken: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(rounds + 1):
        for name, step in steps.items():
            start = time.perf_counter()
            step()
            if number:
                taken[name].append(time.perf_counter() - start)
    return taken


def report(taken: dict[str, list[float]], texts: int) -> list[Ratio]:
    def measured(name: str) -> str:
        median = statistics.median(taken[name])
        return f"{median * 1000:.0f} ms" if name == FIRST else f"{texts / median:.0f} texts/s"

    return [
        Ratio(name, base, len(taken[name]), measured(name), median_ratio(taken[name], taken[base]), goal)
        for name, base, goal in COMPARED
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the zero-key embedder, as ratios.")
    parser.add_argument("--quick", action="store_true", help="5 rounds instead of 15")
    parser.add_argument("--rounds", type=int, help="another number of rounds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to FILE")
    options = parser.parse_args()
    rounds: int = options.rounds or (5 if options.quick else 15)
    os.environ["RAYON_NUM_THREADS"] = "1"  # per core: the library's tokenizer would take them all
    texts = read_chunks()
    taken = measure(rounds, texts)
    ratios = report(taken, len(texts))
    remark = f"; {len(texts)} texts of {statistics.mean(map(len, texts)):.0f} characters, one core"
    publish(ratios, taken, rounds=rounds, file=options.json, remark=remark)


if __name__ == "__main__":
    main()
