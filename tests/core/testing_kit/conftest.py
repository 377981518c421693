"""Runs contract classes with pytest, in a process of their own, and says which tests passed and failed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest

CASES = Path(__file__).parent / "cases"


@dataclass(frozen=True)
class Outcome:
    """The tests of one class, by their names without parameters."""

    passed: frozenset[str]
    failed: frozenset[str]


def run_cases(path: Path, chosen: Sequence[str], folder: Path) -> dict[str, Outcome]:
    """The outcome of each chosen class, or of one test of it: `TestGood`, `TestBad::test_unicode`."""
    xml = folder / "outcome.xml"
    command = [sys.executable, "-m", "pytest", *(f"{path}::{each}" for each in chosen), "-q", f"--junitxml={xml}"]
    # No settings of this project: an author has others.
    command += ["-p", "no:cacheprovider", "-c", os.devnull, f"--rootdir={CASES}", f"--basetemp={folder / 'tmp'}"]
    command += ["--tb=no"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 1, f"{done.stdout}\n{done.stderr}"
    passed, failed = defaultdict(set), defaultdict(set)
    for case in ElementTree.parse(xml).iter("testcase"):
        bad = case.find("failure") is not None or case.find("error") is not None
        (failed if bad else passed)[case.attrib["classname"].split(".")[-1]].add(case.attrib["name"].partition("[")[0])
    return {
        name: Outcome(frozenset(passed[name] - failed[name]), frozenset(failed[name])) for name in {*passed, *failed}
    }


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """The outcomes of the file that the test module names as `CASES`: all classes in it.

    Of a class in BAD that is not in ONLY_THIS, only the test that must fail is run.
    """
    module = request.module
    path = CASES / module.CASES
    classes = re.findall(r"^class (Test\w+)", path.read_text("utf-8"), re.MULTILINE)
    chosen = [
        f"{name}::{module.BAD[name]}" if name in module.BAD and name not in module.ONLY_THIS else name
        for name in classes
    ]
    return run_cases(path, chosen, tmp_path_factory.mktemp("cases"))
