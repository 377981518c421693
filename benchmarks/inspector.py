"""How the inspector answers while somebody types, on a large memory.

    python benchmarks/inspector.py                 10,000 chunks
    python benchmarks/inspector.py --chunks 1000   fewer
    python benchmarks/inspector.py --json FILE     write the numbers, too

The notes are invented, from seed 7, and embedded by hashing, so that the time is the memory's and the inspector's own.
Measured against `host.memory.search` with explanations, in this process, with the same questions.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from memslot import Host  # noqa: E402

from benchmarks.ratios import Ratio, publish  # noqa: E402
from tests.inspected_home import serving  # noqa: E402
from tests.plugins.inspector.conftest import Browser, opened  # noqa: E402

CHUNKS_A_NOTE = 10
KEY_SECONDS = 0.08
"""Between two keys, as a quick typist's."""


def write_notes(workspace: Path, chunks: int, rng: random.Random) -> list[str]:
    """Notes of ten chunks each; gives the words that they are made of."""
    words = ["".join(rng.choices("abcdefghilmnoprstuv", k=rng.randint(3, 9))) for _ in range(5000)]
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    (workspace / "memory").mkdir(parents=True)
    for number in range(max(1, chunks // CHUNKS_A_NOTE)):
        paragraphs = [" ".join(rng.choices(words, weights, k=20)) + "." for _ in range(CHUNKS_A_NOTE * 10)]
        (workspace / "memory" / f"note-{number:05}.md").write_text("\n\n".join(paragraphs) + "\n", encoding="utf-8")
    return words


def part_of(browser: Browser, query: str, tab: str) -> int:
    """What the script asks for while somebody types; the status says whether it was answered."""
    path = str(browser.client.build_request("GET", "/", params={"q": query}).url.raw_path, "ascii")
    return browser.get(path, **{"X-Memslot-Part": tab}).status_code


def type_in(browser: Browser, query: str) -> tuple[int, int, float]:
    """Send a request for each key, as the page does; gives how many, how many got results, and the wait at the end."""
    answers: list[tuple[int, float]] = []
    threads = []
    prefixes = [query[:end] for end in range(3, len(query) + 1)]
    for prefix in prefixes:
        begun = time.perf_counter()

        def ask(prefix: str = prefix, begun: float = begun) -> None:
            answers.append((part_of(browser, prefix, "tab"), time.perf_counter() - begun))

        threads.append(threading.Thread(target=ask))
        threads[-1].start()
        time.sleep(KEY_SECONDS)
    last = time.perf_counter() - KEY_SECONDS
    for thread in threads:
        thread.join()
    return len(prefixes), sum(status == 200 for status, _ in answers), time.perf_counter() - last


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    rng = random.Random(7)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        home.mkdir(mode=0o700)
        words = write_notes(home / "workspace", options.chunks, rng)
        config = {
            "plugins": {"load": {"paths": [str(ROOT / "examples" / "embed_hashing")]}},
            "agents": {"defaults": {"memorySearch": {"provider": "hashing"}}},
        }
        (home / "memslot.json5").write_text(json.dumps(config), encoding="utf-8")
        questions = [" ".join(rng.choices(words, k=4)) for _ in range(options.rounds)]
        taken: dict[str, list[float]] = {"search": [], "part": [], "typed": []}
        asked = answered = 0
        with Host.load(home=home) as host:
            host.memory.refresh()  # type: ignore[union-attr]
            held = host.memory_status().counts
            with serving(home) as server, opened(server) as browser:
                for question in ["warm up", *questions]:
                    begun = time.perf_counter()
                    host.memory.search(question, explain=True)  # type: ignore[union-attr, call-arg]
                    taken["search"].append(time.perf_counter() - begun)
                    begun = time.perf_counter()
                    assert part_of(browser, question, "one") == 200
                    taken["part"].append(time.perf_counter() - begun)
                    sent, got, wait = type_in(browser, question)
                    asked, answered = asked + sent, answered + got
                    taken["typed"].append(wait)
        taken = {name: seconds[1:] for name, seconds in taken.items()}
        base = statistics.median(taken["search"])
        ratios = [
            Ratio(
                name,
                "host.memory.search",
                options.rounds,
                f"{statistics.median(taken[key]) * 1000:.0f} ms",
                statistics.median(taken[key]) / base,
            )
            for name, key in (("results in the page", "part"), ("from the last key to results", "typed"))
        ]
        remark = f"; {held}; of {asked} keys {answered} got results of their own, the others were overtaken"
        publish(ratios, taken, rounds=options.rounds, file=options.json, remark=remark)


if __name__ == "__main__":
    main()
