"""The part of a memory's contract for those that embed: what they do when the embedding provider misbehaves."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest

from memslot.embeddings.circuit import circuits
from memslot.embeddings.contract import EmbeddingProvider
from memslot.errors import MemslotError
from memslot.memory.contract import Memory
from memslot.testing.memory_checks import FACTS, check_status, finds
from memslot.testing.optional_tests import keep_if_overridden
from memslot.testing.providers import (
    FailingProvider,
    HangingProvider,
    HashingProvider,
    NaNProvider,
    WrongDimsProvider,
)
from memslot.testing.threads import within

Value = TypeVar("Value")
_FAULTS: dict[str, type[HashingProvider]] = {
    "wrong dims": WrongDimsProvider,
    "NaN": NaNProvider,
    "failing": FailingProvider,
    "hanging": HangingProvider,
}
_TESTS = (
    "test_it_works_with_a_provider",
    "test_it_is_written_with_a_faulty_provider",
    "test_it_is_searched_with_a_faulty_provider",
)
_REPAIRED = {"NaN"}
"""A pipeline silently makes such vectors finite, so a memory need not know."""
_ADVISED_SECONDS = 0.2
"""The hanging provider's own time-out, so that a memory that respects it finishes soon."""
_LONGEST_SENTENCE = 500


class FaultyProviderTests:
    """Tests that are there once `make_memory_with_provider` is overridden."""

    patience_seconds = 30.0
    """The longest that one call may take, whatever the provider does; raise it, or give the memory short time-outs."""

    def make_memory_with_provider(self, folder: Path, agent_id: str, provider: EmbeddingProvider) -> Memory:
        """As `make_memory`, but the memory embeds with this provider."""
        raise NotImplementedError

    def remember(self, memory: Memory, text: str) -> None:
        raise NotImplementedError

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        keep_if_overridden(cls, FaultyProviderTests, "make_memory_with_provider", _TESTS)

    def test_it_works_with_a_provider(self, tmp_path: Path) -> None:
        memory = self.make_memory_with_provider(tmp_path, "main", _named(HashingProvider(), uuid.uuid4().hex))
        for fact in FACTS.values():
            self.remember(memory, fact)
        for question, fact in FACTS.items():
            assert finds(memory, question, fact), f"with a provider that works, {question!r} did not find {fact!r}"
        status = check_status(memory)
        assert status.is_healthy, f"the provider works, but the status reports: {list(status.problems)}"
        memory.close()

    @pytest.mark.parametrize("fault", _FAULTS)
    def test_it_is_written_with_a_faulty_provider(self, tmp_path: Path, fault: str) -> None:
        """Text is taken or refused in one sentence; what was taken is found, also once the provider works again."""
        model = uuid.uuid4().hex
        provider = _named(_FAULTS[fault](), model)
        try:
            memory = self._open(tmp_path, provider, fault)
            taken = {}
            for question, fact in FACTS.items():
                if self._try(f"remember with a provider that is {fault}", partial(self._keep, memory, fact)):
                    taken[question] = fact
            self._check_faulty(memory, taken, fault)
            within(self.patience_seconds, "close", memory.close)
        finally:
            _release(provider)
        circuits.clear()  # as after the minute for which a provider that refused is not called
        memory = self._open(tmp_path, _named(HashingProvider(), model), "good again")
        for question, fact in taken.items():
            assert self._try("search", partial(finds, memory, question, fact)), (
                f"{fact!r} was taken while the provider was {fault}, and is not found now that it works"
            )
        memory.close()

    @pytest.mark.parametrize("fault", _FAULTS)
    def test_it_is_searched_with_a_faulty_provider(self, tmp_path: Path, fault: str) -> None:
        """A provider that worked no longer does: search answers by words, or refuses in one sentence."""
        model = uuid.uuid4().hex
        memory = self._open(tmp_path, _named(HashingProvider(), model), "good")
        for fact in FACTS.values():
            self.remember(memory, fact)
        memory.close()
        provider = _named(_FAULTS[fault](), model)
        try:
            memory = self._open(tmp_path, provider, fault)
            self._check_faulty(memory, FACTS, fault)
            within(self.patience_seconds, "close", memory.close)
        finally:
            _release(provider)

    # Parts

    def _open(self, folder: Path, provider: HashingProvider, state: str) -> Memory:
        what = f"opening the memory with a provider that is {state}"
        return within(self.patience_seconds, what, lambda: self.make_memory_with_provider(folder, "main", provider))

    def _keep(self, memory: Memory, text: str) -> bool:
        self.remember(memory, text)
        return True

    def _check_faulty(self, memory: Memory, facts: dict[str, str], fault: str) -> None:
        for question, fact in facts.items():
            found = self._try(f"search with a provider that is {fault}", partial(finds, memory, question, fact))
            assert found is not False, (
                f"with a provider that is {fault}, {question!r} did not find {fact!r}: "
                "search by words, or raise MemslotError with one sentence"
            )
        status = within(self.patience_seconds, f"status with a provider that is {fault}", lambda: check_status(memory))
        if fault in _REPAIRED:
            return
        assert any(problem.strip() for problem in status.problems), (
            f"the provider is {fault}, and status().problems does not say so"
        )

    def _try(self, what: str, call: Callable[[], Value]) -> Value | None:
        """Return the result of a call; None if it raised a readable MemslotError."""
        try:
            return within(self.patience_seconds, what, call)
        except MemslotError as error:
            _check_one_sentence(what, str(error))
            return None


def _named(provider: HashingProvider, model: str) -> HashingProvider:
    """The provider under a unique model name, so that nothing cached for one test's provider reaches another's."""
    provider.model = model
    if isinstance(provider, HangingProvider):
        provider.query_timeout = provider.batch_timeout = _ADVISED_SECONDS
    return provider


def _release(provider: HashingProvider) -> None:
    if isinstance(provider, HangingProvider):
        provider.release()


def _check_one_sentence(what: str, said: str) -> None:
    assert said.strip(), f"{what} raised an error that says nothing"
    assert len(said) <= _LONGEST_SENTENCE, f"{what} raised more than one sentence: {said[:200]!r}…"
    assert "\n" not in said.strip(), f"{what} raised more than one sentence: {said!r}"
