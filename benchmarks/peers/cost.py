"""What a command costs: processor time and memory of its whole process tree, as Linux counts them."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")


class CommandFailed(Exception):
    """A command of a peer ended with an error; the text is one line."""


@dataclass(frozen=True)
class Cost:
    """Seconds of processor time (user and system), seconds of wall time, and the largest resident size in bytes."""

    cpu: float
    wall: float
    rss: int


def run(command: Sequence[str], env: Mapping[str, str], folder: Path) -> tuple[Cost, str]:
    """Run a command to its end; what it cost, and what it printed."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        began = time.perf_counter()
        process = subprocess.Popen(command, env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        printed, complaint = out.read(), err.read()
    if process.returncode != 0:
        raise CommandFailed(last_line(complaint or printed) or f"{command[0]} ended with {process.returncode}")
    return Cost(used.ru_utime + used.ru_stime, wall, used.ru_maxrss * 1024), printed


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""


class Answerer:
    """A process that stays: it reads a question a line, and prints how many results it found."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], folder: Path) -> None:
        self._stderr = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self._process = subprocess.Popen(
            command, env=env, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr, text=True
        )
        self._before = 0.0

    def ask(self, question: str) -> tuple[Cost, int]:
        """Processor time is counted from answer to answer, so that what a peer does after one is not lost."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        began = time.perf_counter()
        self._process.stdin.write(question + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        wall = time.perf_counter() - began
        if not answer.strip().isdigit():
            self._process.wait(timeout=60)
            self._stderr.seek(0)
            raise CommandFailed(last_line(self._stderr.read()) or f"no answer to a question, but {answer!r}")
        tree = process_tree(self._process.pid)
        after = sum(map(cpu_seconds, tree))
        cost = Cost(after - self._before, wall, sum(map(peak_rss, tree)))
        self._before = after
        return cost, int(answer)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._stderr.close()


def process_tree(pid: int) -> list[int]:
    """A process and all that it started and that still run."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found += process_tree(int(child))
    return found


def cpu_seconds(pid: int) -> float:
    """Processor time of a process with all its threads, in nanoseconds' resolution, and of its children that ended."""
    own = time.clock_gettime((~pid << 3) | 2)  # the kernel's clock id of another process, as clock_getcpuclockid(3)
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return own + (int(fields[13]) + int(fields[14])) / TICK


def peak_rss(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0
