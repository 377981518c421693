"""The contract of a memory, as tests."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from memslot.diagnostics import describe_error
from memslot.errors import MemslotError
from memslot.memory.contract import Memory, misfit
from memslot.testing.memory_capabilities import MemoryCapabilityTests
from memslot.testing.memory_checks import FACTS, ask, check_clear, check_status, finds, search
from memslot.testing.memory_faults import FaultyProviderTests
from memslot.testing.samples import HOSTILE_QUERIES, LONE_SURROGATE
from memslot.testing.threads import THREADS, all_at_once

_SECRET_WORD = "heliotrope"
_REMEDY = "raise MemslotError or report it in status().problems"
_SCRIPTS = {
    "chinese": ("我们决定把会议改到星期四下午", "会议"),
    "japanese": ("会議は木曜日の午後に変更しました", "木曜日"),
    "korean": ("회의를 목요일 오후로 옮겼습니다", "목요일"),
    "russian": ("Встреча перенесена на четверг", "четверг"),
    "arabic": ("تم نقل الاجتماع إلى يوم الخميس", "الخميس"),
    "combining": ("We met at the Cafe\u0301 Zo\u0308lle", "Cafe\u0301 Zo\u0308lle"),
    "beyond the first plane": ("The rune 𐍈 and the character 𠮷野家 are carved there", "𠮷野家"),
}
"""A text and a word inside it, by script. CJK has no spaces: the word must be found all the same."""


class MemoryContract(FaultyProviderTests, MemoryCapabilityTests):
    """Subclass it, override `make_memory` and `remember`, and pytest checks the rest.

    Override `make_memory_with_provider` too where a memory embeds: then the tests with providers that
    misbehave are there as well. Declare in `capabilities` what it can do beyond searching.
    """

    keeps_files = True
    """False for a memory whose store is not in its folder; the test that spoils files then finds nothing to do."""

    def make_memory(self, folder: Path, agent_id: str) -> Memory:
        """The memory of one agent, with all its files below `folder`, which other agents share."""
        raise NotImplementedError(f"{type(self).__name__} must override make_memory")

    def remember(self, memory: Memory, text: str) -> None:
        """Put a text into a memory as the plugin's own way of writing does; it can be found when this returns."""
        raise NotImplementedError(f"{type(self).__name__} must override remember")

    def store_files(self, folder: Path) -> list[Path]:
        """The files that a crash or a full disk could spoil: everything below the folder, unless you say otherwise."""
        return sorted(path for path in folder.rglob("*") if path.is_file())

    # What it is

    def test_it_has_everything_a_memory_has(self, tmp_path: Path) -> None:
        fault = misfit(self.make_memory(tmp_path, "main"))
        assert fault is None, fault

    # Finding

    def test_it_finds_what_was_remembered(self, tmp_path: Path) -> None:
        memory = self._filled(tmp_path)
        for question, fact in FACTS.items():
            hits = search(memory, question).hits
            assert hits, f"{question!r} found nothing"
            assert fact in hits[0].snippet, f"{question!r} found {hits[0].snippet!r} before {fact!r}"

    def test_an_empty_memory_finds_nothing(self, tmp_path: Path) -> None:
        memory = self.make_memory(tmp_path, "main")
        assert not search(memory, "anything at all").hits, "a memory with nothing in it found something"
        check_status(memory)

    def test_best_hits_come_first(self, tmp_path: Path) -> None:
        hits = search(self._filled(tmp_path), "the orchid in the harbour office, and the violin").hits
        scores = [hit.score for hit in hits]
        assert scores == sorted(scores, reverse=True), f"scores must go down: {scores}"

    def test_max_results_is_honoured(self, tmp_path: Path) -> None:
        memory = self.make_memory(tmp_path, "main")
        for number in range(12):
            self.remember(memory, f"Orchid number {number} stands on shelf {number}.")
        for wanted in (1, 3):
            found = len(search(memory, "orchid shelf", max_results=wanted).hits)
            assert 1 <= found <= wanted, f"max_results={wanted} of 12 that fit gave {found}"

    @pytest.mark.parametrize("script", _SCRIPTS)
    def test_every_script_is_found(self, tmp_path: Path, script: str) -> None:
        text, word = _SCRIPTS[script]
        memory = self._filled(tmp_path)
        self.remember(memory, text)
        assert finds(memory, word, text), f"{word!r} did not find {text!r}"

    # Odd questions

    @pytest.mark.parametrize("query", ["", "   \n\t"])
    def test_an_empty_query_is_no_accident(self, tmp_path: Path, query: str) -> None:
        """It gives no hits, or a ValueError or MemslotError that says so."""
        outcome = ask(lambda: search(self._filled(tmp_path), query))
        assert outcome is None or not outcome.hits, "an empty query found something"

    @pytest.mark.parametrize("trap", HOSTILE_QUERIES)
    def test_a_hostile_query_does_no_harm(self, tmp_path: Path, trap: str) -> None:
        """It gives hits or none, or a ValueError or MemslotError; the memory is as it was."""
        memory = self._filled(tmp_path)
        ask(lambda: search(memory, HOSTILE_QUERIES[trap]))
        self._check_facts(memory, "after the query")

    def test_a_text_that_is_no_unicode_does_no_harm(self, tmp_path: Path) -> None:
        memory = self._filled(tmp_path)
        ask(lambda: self.remember(memory, LONE_SURROGATE))
        self._check_facts(memory, "after a text with a lone surrogate")

    # Agents

    def test_agents_do_not_see_each_other(self, tmp_path: Path) -> None:
        first, second = self.make_memory(tmp_path, "first"), self.make_memory(tmp_path, "second")
        self.remember(first, f"The orchid's name is {_SECRET_WORD}.")
        self.remember(second, "The orchid needs water on Mondays.")
        assert finds(first, f"orchid {_SECRET_WORD}", _SECRET_WORD), "the first agent lost its own text"
        for query in (f"The orchid's name is {_SECRET_WORD}.", "orchid", f"first {_SECRET_WORD}"):
            leaked = [hit.snippet for hit in search(second, query).hits if _SECRET_WORD in hit.snippet]
            assert not leaked, f"the second agent found a text of the first: {leaked[0]!r}"

    # Life and death

    def test_a_restart_forgets_nothing(self, tmp_path: Path) -> None:
        self._filled(tmp_path).close()
        self._check_facts(self.make_memory(tmp_path, "main"), "after a restart")

    def test_closing_twice_is_fine(self, tmp_path: Path) -> None:
        memory = self._filled(tmp_path)
        memory.close()
        memory.close()

    def test_a_memory_that_was_never_used_can_be_closed(self, tmp_path: Path) -> None:
        self.make_memory(tmp_path, "main").close()

    def test_status_is_healthy_when_all_is_well(self, tmp_path: Path) -> None:
        status = check_status(self._filled(tmp_path))
        assert status.is_healthy, f"a memory in good order reports problems: {list(status.problems)}"

    def test_it_works_from_many_threads_at_once(self, tmp_path: Path) -> None:
        memory = self._filled(tmp_path)
        texts = [f"Shelf {number} holds the {number}th jar of marmalade." for number in range(THREADS)]
        all_at_once([partial(self._write_and_search, memory, text) for text in texts])
        for text in texts:
            assert finds(memory, text, text), f"{text!r} was remembered by one of {THREADS} threads and is lost"
        self._check_facts(memory, f"after {THREADS} threads")

    def _write_and_search(self, memory: Memory, text: str) -> None:
        self.remember(memory, text)
        search(memory, text)
        check_status(memory)

    @pytest.mark.parametrize("damage", ["garbage", "cut off"])
    def test_a_spoiled_store_is_repaired_or_reported(self, tmp_path: Path, damage: str) -> None:
        """What was lost may be lost, but not in silence: an error, a problem in the status, or a warning says so."""
        self._filled(tmp_path).close()
        files = self.store_files(tmp_path)
        assert files or not self.keeps_files, "store_files found no file; set keeps_files = False if there is none"
        for file in files:
            data = file.read_bytes()
            file.write_bytes(b"\x00\xff garbage \xfe" * 500 if damage == "garbage" else data[: len(data) // 2])
        try:
            self._check_spoiled(tmp_path)
        except MemslotError as error:
            check_clear(error)
        except AssertionError:
            raise
        except Exception as error:
            pytest.fail(f"a damaged store gave {describe_error(error)}: {_REMEDY}")

    def _check_spoiled(self, folder: Path) -> None:
        memory = self.make_memory(folder, "main")
        told = [*check_status(memory).problems]
        for question, fact in FACTS.items():
            outcome = search(memory, question)
            told += [outcome.warning] if outcome.warning else []
            if not any(fact in hit.snippet for hit in outcome.hits):
                told += check_status(memory).problems
                if not told:
                    pytest.fail(f"{fact!r} is lost, and nothing says so: {_REMEDY}")
        memory.close()

    # Parts

    def _filled(self, folder: Path) -> Memory:
        memory = self.make_memory(folder, "main")
        for fact in FACTS.values():
            self.remember(memory, fact)
        return memory

    def _check_facts(self, memory: Memory, when: str) -> None:
        for question, fact in FACTS.items():
            assert finds(memory, question, fact), f"{when}, {question!r} no longer finds {fact!r}"
