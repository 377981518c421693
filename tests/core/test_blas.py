"""Products of a search on one thread of BLAS, whatever the program around it uses."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

NOISE = """
import numpy, threading
from memslot.blas import _openblas_threads
from memslot.retrieval import MeaningScale

count, _ = _openblas_threads()
before, during = count(), set()

class Watched(numpy.ndarray):
    def __matmul__(self, other):
        during.add(count())
        return numpy.asarray(self) @ other

texts = numpy.random.default_rng(1).standard_normal((200, 64)).astype(numpy.float32)
scale = MeaningScale(None, texts)
work = lambda: [scale.noise(texts[0], texts.view(Watched)) for _ in range(100)]
threads = [threading.Thread(target=work) for _ in range(8)]
[each.start() for each in threads]
[each.join() for each in threads]
print(during, count() == before)
"""


@pytest.mark.parametrize(("setting", "during"), [(None, "{1}"), ("2", "{2}")])
def test_blas_has_one_thread_in_a_program_that_sets_nothing(setting: str | None, during: str) -> None:
    if setting and (os.cpu_count() or 1) < 2:
        pytest.skip("OpenBLAS takes no more threads than there are cores")
    env = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    if setting:
        env["OPENBLAS_NUM_THREADS"] = setting
    done = subprocess.run([sys.executable, "-c", NOISE], capture_output=True, text=True, check=False, env=env)
    assert (done.stdout, done.stderr) == (f"{during} True\n", "")
