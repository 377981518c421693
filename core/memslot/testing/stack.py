"""The contract of a memory plugin that shares the slot with others, as tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from memslot.config.merge import merged
from memslot.host import Host
from memslot.memory.capabilities import CanRefresh, CanRemember
from memslot.memory.fence import TAG
from memslot.testing.hosts import HostOpener, InlinePlugin
from memslot.testing.memory_checks import FACTS
from memslot.testing.neighbour import FAULTS, NEIGHBOUR, Neighbour

_QUESTION, _FACT = next(iter(FACTS.items()))
_NEIGHBOURS_FACT = "The plant in the harbour office belongs to Ada."
_BAD_NEIGHBOURS_MS = 1000
_HANG_SECONDS = 8.0
"""Time that a memory has beside one that hangs; long, because the machine may be busy."""


class StackContract:
    """Subclass it, name your plugin, and pytest checks that it works beside another memory.

        class TestStack(StackContract):
            plugin = "my-memory"

    Override `remember` where the memory cannot remember a text by itself.
    """

    plugin: str | Path | InlinePlugin
    """The plugin under test, as `memslot_host` takes it."""
    with_plugins: tuple[str | Path | InlinePlugin, ...] = ()
    """Further plugins that it needs, such as an embedder."""
    beside: tuple[str, ...] = ()
    """Ids of installed memory plugins that it should also share the slot with."""
    config: Mapping[str, Any] = {}
    """Settings of the host."""
    recalls = True
    """False for a memory that puts nothing before a prompt."""

    def remember(self, host: Host, memory_id: str, text: str) -> None:
        """Put a text into the memory under test; it can be found when this returns."""
        memory = host.memories.get(memory_id)
        assert isinstance(memory, CanRemember), f"{memory_id} cannot remember; override `remember`"
        host.memories.remember(text, into=memory_id)
        if isinstance(memory, CanRefresh):
            memory.refresh()

    # Together

    @pytest.mark.parametrize("place", ["first", "second"])
    def test_a_search_finds_what_both_hold(self, stack: _Stacks, place: str) -> None:
        host = stack.open(place=place)
        found = {each.memory_id: each.hit.snippet for each in reversed(host.memories.search(_QUESTION).hits)}
        assert _FACT in found.get(stack.id, ""), f"{_QUESTION!r} did not find {_FACT!r} in {stack.id}: {found}"
        assert found.get(NEIGHBOUR) == _NEIGHBOURS_FACT, f"{_QUESTION!r} found nothing of the neighbour's: {found}"

    @pytest.mark.parametrize("place", ["first", "second"])
    def test_what_both_recall_stands_in_one_block(self, stack: _Stacks, place: str) -> None:
        if not self.recalls:
            return
        context = stack.recall(stack.open(place=place))
        assert _FACT in context, f"{stack.id} recalled nothing for {_QUESTION!r}: {context!r}"
        assert _NEIGHBOURS_FACT in context, f"the neighbour's memory is missing: {context!r}"
        assert context.count(f"<{TAG}>") == 1, f"recalled items go into AgentStart.recalled, not a fence: {context!r}"

    def test_what_both_know_is_said_once(self, stack: _Stacks) -> None:
        host = stack.open(neighbours_fact=_FACT)
        assert stack.recall(host).count(_FACT) <= 1, f"{_FACT!r} is recalled twice"
        hits = [each for each in host.memories.search(_QUESTION).hits if _FACT in each.hit.snippet]
        assert len(hits) == 1, f"{_FACT!r} is found {len(hits)} times"

    def test_its_tools_clash_with_nobody(self, stack: _Stacks) -> None:
        host = stack.open()
        owners = {tool.name: host.tool_owner(tool.name) for tool in host.tools()}
        assert owners[f"{NEIGHBOUR}_look"] == NEIGHBOUR
        for other in self.beside:
            stack.open_beside(other)  # a clash is a NameClashError that names both

    # A bad neighbour

    @pytest.mark.parametrize("fault", FAULTS)
    def test_a_bad_neighbour_costs_it_nothing(self, stack: _Stacks, fault: str) -> None:
        host = stack.open(fault=fault)
        outcome = host.memories.search(_QUESTION, seconds=_HANG_SECONDS)
        found = [each.hit.snippet for each in outcome.hits]
        assert any(_FACT in text for text in found), f"beside a neighbour that {fault}, it finds {found}"
        assert NEIGHBOUR in outcome.problems, f"a neighbour that {fault} is not reported"
        if self.recalls:
            context = stack.recall(host)
            assert _FACT in context, f"beside a neighbour that {fault}, it recalls {context!r}"
        faults = [str(event) for event in host.diagnostics if event.plugin == stack.id]
        assert not faults, f"a neighbour that {fault} made it fail: {faults}"

    # Agents, and what others write

    def test_agents_stay_apart_in_a_stack(self, stack: _Stacks) -> None:
        stack.open(agent="first")
        second = stack.open(agent="second", filled=False)
        found = [each.hit.snippet for each in second.memories.search(_QUESTION).hits]
        assert not any(_FACT in text for text in found), f"the second agent found a text of the first: {found}"
        assert _FACT not in stack.recall(second), "the second agent recalled a text of the first"

    def test_it_hears_what_a_neighbour_keeps_without_harm(self, stack: _Stacks) -> None:
        host = stack.open()
        host.memories.remember("The tractor needs oil.", into=NEIGHBOUR)
        with host.run("The tractor needs oil.") as run:  # strict: the run's end is waited for
            run.finish([{"role": "user", "content": "The tractor needs oil."}])
        found = [each.hit.snippet for each in host.memories.search(_QUESTION, only=stack.id).hits]
        assert any(_FACT in text for text in found), f"after its neighbour kept something, it finds {found}"
        assert host.memories.statuses()[stack.id].is_healthy

    def test_it_is_closed_with_the_others(self, stack: _Stacks) -> None:
        host = stack.open()
        host.close()
        assert stack.neighbours[-1].closed == 1
        assert not list(host.diagnostics), [str(event) for event in host.diagnostics]

    @pytest.fixture
    def stack(self, memslot_host: HostOpener) -> Iterator[_Stacks]:
        stacks = _Stacks(self, memslot_host)
        yield stacks
        for neighbour in stacks.neighbours:
            neighbour.release()


class _Stacks:
    """Hosts in which the memory under test has a neighbour."""

    def __init__(self, contract: StackContract, opener: HostOpener) -> None:
        self._contract = contract
        self._opener = opener
        self.neighbours: list[Neighbour] = []
        self.id = ""

    def open(
        self,
        *,
        place: str = "first",
        fault: str | None = None,
        neighbours_fact: str = _NEIGHBOURS_FACT,
        agent: str | None = None,
        filled: bool = True,
    ) -> Host:
        """A host with both memories, each of which holds a fact if they are to be filled."""
        neighbour = Neighbour(fault)
        self.neighbours.append(neighbour)
        beside = InlinePlugin(neighbour, NEIGHBOUR, "memory", {"provides": {"tools": [f"{NEIGHBOUR}_look"]}})
        pair = (self._contract.plugin, beside) if place == "first" else (beside, self._contract.plugin)
        home = self._opener.home
        agents = [{"id": each, "workspace": str(home / f"workspace-{each}")} for each in ("first", "second")]
        # A good neighbour has the time that every plugin has, since the machine may be busy.
        entries = {NEIGHBOUR: {"hooks": {"timeoutMs": _BAD_NEIGHBOURS_MS}}} if fault is not None else {}
        settings = {"agents": {"list": agents}, "plugins": {"entries": entries}}
        host = self._opener(
            *pair,
            *self._contract.with_plugins,
            config=merged(settings, self._contract.config),
            agent=agent or "first",
            strict=fault is None,
        )
        ids = host.memories.ids
        assert len(ids) == 2, f"both memories should be in the slot, but there is: {ids}; {host.memories.absent}"
        self.id = next(each for each in ids if each != NEIGHBOUR)
        assert ids.index(self.id) == ("first", "second").index(place), f"the slot's order is {ids}"
        if filled:
            neighbour.texts.append(neighbours_fact)
            self._contract.remember(host, self.id, _FACT)
        return host

    def open_beside(self, other: str) -> Host:
        """A host with the memory under test and another plugin's."""
        return self._opener(self._contract.plugin, other, *self._contract.with_plugins, config=self._contract.config)

    def recall(self, host: Host) -> str:
        """What stands before the question."""
        with host.run(_QUESTION) as run:
            return run.context
