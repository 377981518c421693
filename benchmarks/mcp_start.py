"""CPU time of `memslot mcp` up to its first answer and up to its tools, as ratios to importing the protocol's types.

    python benchmarks/mcp_start.py [rounds]

Linux only: CPU time is read from /proc. The lowest of all rounds counts, for both.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}},
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST_TOOLS = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


def cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def server_seconds(home: str) -> tuple[float, float]:
    """CPU seconds when the answer to `initialize` is there, and when the tools are."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "memslot", "mcp"]
    env = {**os.environ, "MEMSLOT_HOME": home}
    with subprocess.Popen(command, env=env, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(_line(HELLO))
        server.stdin.flush()
        assert b"serverInfo" in server.stdout.readline()
        first = cpu_of(server.pid)
        server.stdin.write(_line(READY) + _line(LIST_TOOLS))
        server.stdin.flush()
        assert b"memory_search" in server.stdout.readline()
        return first, cpu_of(server.pid)


def _line(message: dict[str, object]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def import_seconds() -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", "import mcp_types"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as home:
        figures = [server_seconds(home) for _ in range(rounds)]
        types = min(import_seconds() for _ in range(rounds))
    first, tools = (min(each) for each in zip(*figures, strict=True))
    print(
        f"first answer {first:.2f} s CPU ({first / types:.1f}), tools listed {tools:.2f} s ({tools / types:.1f}), "
        f"import mcp_types {types:.2f} s (n={rounds})"
    )


if __name__ == "__main__":
    main()
