"""Providers against servers on loopback that speak their language."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from memslot import EmbeddingProvider, ProviderOptions

KEY = "sk-wire-7Hq2mXv9Lp4TzR8bNc6Kd1"
MODELS = {"ollama": "nomic-embed-text"}


def _load_wire() -> None:
    """Make tests/wire importable as `memslot_wire`; tests have no packages of their own (import mode importlib)."""
    if "memslot_wire" not in sys.modules:
        home = Path(__file__).parents[2] / "wire"
        spec = importlib.util.spec_from_file_location(
            "memslot_wire", home / "__init__.py", submodule_search_locations=[str(home)]
        )
        assert spec is not None
        assert spec.loader is not None
        sys.modules["memslot_wire"] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


_load_wire()


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def wire() -> Iterator[Callable[[str], Any]]:
    """Starts a server: `wire("openai")`."""
    from memslot_wire import WireServer

    with ExitStack() as servers:
        yield lambda speaks: servers.enter_context(WireServer(speaks))


@pytest.fixture
def make() -> Callable[..., EmbeddingProvider]:
    """Makes a provider as the host does: `make("openai", base_url=server.url)`; small vectors unless told."""

    def make(name: str, **settings: Any) -> EmbeddingProvider:
        module = importlib.import_module(f"memslot_embed_providers.{name}")
        options = ProviderOptions(**{"api_key": KEY, "dimensions": 64, "model": MODELS.get(name), **settings})
        assert module.missing(options) is None, module.missing(options)
        provider: EmbeddingProvider = module.create(options)
        return provider

    return make


@pytest.fixture
def key() -> str:
    return KEY


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Any:
    """Read everything a test printed and logged, at every level: the key in it fails the test."""
    report: pytest.TestReport = yield
    leaked = [where for where, text in report.sections if KEY in text]
    if leaked and report.passed:
        report.outcome = "failed"
        report.longrepr = f"the key stands in what this test left in: {', '.join(leaked)}"
    return report


@pytest.fixture(autouse=True)
def _log_everything(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(1)
