"""A client that writes what it likes to a server over pipes."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator
from typing import Any

from tests.plugins.mcp_server.conftest import World

WAIT = 60


class Talk:
    """A client that writes what it likes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        assert process.stdin is not None
        assert process.stdout is not None
        self.stdin, self.stdout = process.stdin, process.stdout

    def send(self, *messages: dict[str, Any] | bytes) -> None:
        lines = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in messages]
        self.stdin.write(b"".join(line + b"\n" for line in lines))
        self.stdin.flush()

    def receive(self) -> dict[str, Any]:
        line = self.stdout.readline()
        assert line, "the server said nothing more"
        found: dict[str, Any] = json.loads(line)
        return found

    def ask(self, number: int, method: str, **params: Any) -> dict[str, Any]:
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        while (answer := self.receive()).get("id") != number:
            pass
        return answer

    def shake_hands(self, version: str = "2024-11-05") -> dict[str, Any]:
        client = {"name": "test", "version": "1"}
        answer = self.ask(0, "initialize", protocolVersion=version, capabilities={}, clientInfo=client)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        result: dict[str, Any] = answer["result"]
        return result

    def call(self, number: int, name: str, **arguments: Any) -> dict[str, Any]:
        return self.ask(number, "tools/call", name=name, arguments=arguments)

    def close(self) -> tuple[int, bytes]:
        """End as a good client does; gives the exit code and what else was written."""
        self.stdin.close()
        rest = self.stdout.read()
        return self.process.wait(WAIT), rest


@contextlib.contextmanager
def talking(world: World) -> Iterator[Talk]:
    process = world.start("mcp", stderr=(world.folder / "stderr.txt").open("wb"))
    try:
        yield Talk(process)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(WAIT)
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                assert pipe is not None
                pipe.close()
