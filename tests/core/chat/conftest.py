"""The endpoint that the chat's parts are tried against."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from memslot.chat.endpoint import Endpoint
from memslot.chat.interrupts import Interrupts
from memslot.chat.service import Service

KEY = "sk-chat-7Hq2mXv9Lp4TzR8bNc6Kd1"


def _load_wire() -> Any:
    """tests/wire/chat.py; tests have no packages of their own (import mode importlib)."""
    if "memslot_wire_chat" not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            "memslot_wire_chat", Path(__file__).parents[2] / "wire" / "chat.py"
        )
        assert spec is not None
        assert spec.loader is not None
        sys.modules["memslot_wire_chat"] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules["memslot_wire_chat"]


@pytest.fixture
def wire() -> Any:
    """The steps of a script."""
    return _load_wire()


@pytest.fixture
def server(wire: Any) -> Iterator[Any]:
    with wire.ChatServer() as started:
        yield started


@pytest.fixture
def endpoint(server: Any) -> Iterator[Callable[..., Endpoint]]:
    """Makes an endpoint that speaks to the server: `endpoint(silence=0.5)`."""
    with ExitStack() as opened:

        def make(base_url: str | None = None, *, key: str | None = KEY, **options: Any) -> Endpoint:
            made = Endpoint(Service(base_url or server.url, "echo-1", key), Interrupts(), **options)
            opened.callback(made.close)
            return made

        yield make


@pytest.fixture
def key() -> str:
    return KEY
