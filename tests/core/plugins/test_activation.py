from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memslot.plugins.activation import Activation, Rules, decide_activation, environment_rules, members_of
from memslot.plugins.info import PluginInfo

HOST_API = 1


def plugin(plugin_id: str, kind: str | None, **fields: object) -> PluginInfo:
    plain = {"name": plugin_id, "version": "1", "description": "", "entry": "x", "origin": "installed", "root": ""}
    return PluginInfo(id=plugin_id, kind=kind, **{**plain, **fields})  # type: ignore[arg-type]


CORE, RIVAL, EMBEDDER = plugin("core-mem", "memory"), plugin("rival-mem", "memory"), plugin("embedder", "embedder")
INSTALLED = (CORE, RIVAL, EMBEDDER)

IDS = [each.id for each in INSTALLED]

NAMES = st.sampled_from([*IDS, "none", "absent"])
some_ids = st.frozensets(st.sampled_from(IDS))
any_rules = st.builds(
    Rules,
    enabled=st.booleans(),
    allow=some_ids,
    deny=some_ids,
    disabled=some_ids,
    slots=st.one_of(NAMES, st.lists(NAMES, min_size=1)).map(lambda value: {"memory": value}),
    chosen_slots=st.just(frozenset({"memory"})),
)


def running(rules: Rules) -> set[str]:
    return {each.id for each in decide_activation(INSTALLED, rules, host_api=HOST_API).running}


@given(any_rules)
def test_nothing_runs_against_the_rules_and_everything_else_does(rules: Rules) -> None:
    runs = running(rules)
    forbidden = rules.deny | rules.disabled | (frozenset(IDS) - rules.allow if rules.allow else frozenset())
    assert runs & forbidden == set()
    if not rules.enabled:
        assert runs == set()
    else:
        assert runs >= {"embedder"} - forbidden


@given(any_rules)
def test_the_memories_that_run_are_those_in_the_slot_in_its_order(rules: Rules) -> None:
    activation = decide_activation(INSTALLED, rules, host_api=HOST_API)
    memories = [each.id for each in activation.running if each.kind == "memory"]
    members = members_of(rules.slots["memory"])
    assert memories == [each for each in members if each in memories]
    slot = activation.slot("memory")
    assert list(slot.owners) == memories
    assert slot.owner == (memories[0] if memories else None)
    assert slot.owner is not None or slot.error is not None or slot.problem
    assert all(decision.reason for decision in activation.decisions)
    if rules.enabled and slot.error is None:
        assert {*slot.owners, *slot.absent} == set(members), "each one runs or is reported"


@given(any_rules, st.sampled_from(IDS))
def test_denying_one_plugin_changes_nothing_for_the_others(rules: Rules, denied: str) -> None:
    assert running(replace(rules, deny=rules.deny | {denied})) == running(rules) - {denied}


@given(any_rules)
def test_a_slot_that_names_no_memory_is_an_error_unless_plugins_are_off(rules: Rules) -> None:
    error = decide_activation(INSTALLED, rules, host_api=HOST_API).slot("memory").error
    value = rules.slots["memory"]
    is_mixed = not isinstance(value, str) and "none" in value and bool(members_of(value))
    assert (error is not None) == (rules.enabled and (is_mixed or bool({"absent", "embedder"} & {*members_of(value)})))


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"deny": {"core-mem"}, "disabled": {"core-mem"}, "allow": {"embedder"}}, "denied"),
        ({"disabled": {"core-mem"}, "allow": {"embedder"}}, "not-allowed"),
        ({"disabled": {"core-mem"}}, "disabled"),
        ({"enabled": False, "deny": {"core-mem"}}, "plugins-off"),
    ],
)
def test_the_strongest_reason_is_the_one_that_is_told(fields: dict[str, Any], code: str) -> None:
    decisions = decide_activation(INSTALLED, Rules(slots={"memory": "core-mem"}, **fields), host_api=HOST_API).decisions
    assert decisions[0].code == code


def test_none_turns_memory_off_without_an_error() -> None:
    activation = decide_activation(INSTALLED, Rules(slots={"memory": "none"}), host_api=HOST_API)
    assert activation.slot("memory").error is None
    assert [p.id for p in activation.running] == ["embedder"]


def test_unknown_owner_is_an_error_with_the_plugins_that_fit_and_the_install_command() -> None:
    rules = Rules(slots={"memory": "absent"}, chosen_slots=frozenset({"memory"}))
    error = (
        decide_activation(INSTALLED, rules, host_api=HOST_API, install_hint=lambda i: f"pip install {i}!")
        .slot("memory")
        .error
    )
    assert error is not None
    for part in ('"absent"', "not installed", "core-mem", "rival-mem", "pip install absent!"):
        assert part in error


def test_default_owner_that_is_not_installed_is_no_error_because_nobody_asked_for_it() -> None:
    slot = decide_activation((EMBEDDER,), Rules(slots={"memory": "core-mem"}), host_api=HOST_API).slot("memory")
    assert slot.error is None
    assert slot.problem is not None
    assert "memslot plugins install PACKAGE" in slot.problem


def test_owner_of_another_kind_is_an_error_that_names_both_kinds() -> None:
    rules = Rules(slots={"memory": "embedder"}, chosen_slots=frozenset({"memory"}))
    error = decide_activation(INSTALLED, rules, host_api=HOST_API).slot("memory").error
    assert error is not None
    assert '"embedder"' in error
    assert 'not "memory"' in error
    assert "memslot config set plugins.slots.memory core-mem" in error


@pytest.mark.parametrize(
    ("rules", "word"),
    [
        (Rules(slots={"memory": "core-mem"}, deny=frozenset({"core-mem"})), "plugins.deny"),
        (Rules(slots={"memory": "core-mem"}, disabled=frozenset({"core-mem"})), "enabled is false"),
        (Rules(slots={"memory": "core-mem"}, allow=frozenset({"embedder"})), "plugins.allow"),
        (Rules(slots={"memory": "core-mem"}, broken_entries={"core-mem": "entry is bad"}), "entry is bad"),
    ],
)
def test_owner_that_may_not_run_leaves_the_slot_empty_and_says_why(rules: Rules, word: str) -> None:
    slot = decide_activation(INSTALLED, rules, host_api=HOST_API).slot("memory")
    assert slot.owner is None
    assert slot.error is None
    assert slot.problem is not None
    assert word in slot.problem


def test_rival_is_never_asked_about_its_settings() -> None:
    asked: list[str] = []

    def fault(what: PluginInfo) -> str | None:
        asked.append(what.id)
        return None

    decide_activation(INSTALLED, Rules(slots={"memory": "core-mem"}), host_api=HOST_API, find_setting_fault=fault)
    assert asked == ["core-mem", "embedder"]


def test_settings_that_do_not_fit_stop_only_their_own_plugin() -> None:
    activation = decide_activation(
        INSTALLED,
        Rules(slots={"memory": "core-mem"}),
        host_api=HOST_API,
        find_setting_fault=lambda p: "x is 3: must be string" if p.id == "embedder" else None,
    )
    codes = {d.plugin.id: d.code for d in activation.decisions}
    assert codes == {"core-mem": "slot-owner", "rival-mem": "slot-rival", "embedder": "bad-config"}


def test_plugin_that_needs_a_newer_host_does_not_run() -> None:
    new = plugin("new", "tool", min_host_api=HOST_API + 1)
    decision = decide_activation([new], Rules(slots={"memory": "none"}), host_api=HOST_API).decisions[0]
    assert not decision.runs
    assert "upgrade memslot" in decision.reason


def test_overridden_plugin_is_listed_and_does_not_run() -> None:
    second = plugin("embedder", "embedder", overridden_by="somewhere")
    activation = decide_activation([EMBEDDER, second], Rules(slots={"memory": "none"}), host_api=HOST_API)
    assert [d.code for d in activation.decisions] == ["enabled", "overridden"]
    assert "somewhere" in activation.decisions[1].reason


def test_environment_names_the_only_plugins_to_load() -> None:
    only, all_off = environment_rules({"MEMSLOT_LOAD_PLUGINS": " core-mem , "})
    activation = decide_activation(
        INSTALLED, Rules(slots={"memory": "core-mem"}, only=only, all_off=all_off), host_api=HOST_API
    )
    assert [p.id for p in activation.running] == ["core-mem"]
    assert activation.decisions[2].code == "not-loaded"


def test_environment_turns_everything_off_even_a_mistaken_slot() -> None:
    only, all_off = environment_rules({"MEMSLOT_DISABLE_PLUGINS": "1"})
    rules = Rules(slots={"memory": "absent"}, chosen_slots=frozenset({"memory"}), only=only, all_off=all_off)
    activation = decide_activation(INSTALLED, rules, host_api=HOST_API)
    assert activation.running == ()
    assert activation.slot("memory").error is None


# Several memories in the slot


def decided(slot: list[str], **fields: Any) -> Activation:
    rules = Rules(slots={"memory": slot}, chosen_slots=frozenset({"memory"}), **fields)
    return decide_activation(INSTALLED, rules, host_api=HOST_API)


def test_a_list_runs_all_and_the_reasons_name_their_places() -> None:
    activation = decided(["rival-mem", "core-mem"])
    assert activation.slot("memory").owners == ("rival-mem", "core-mem")
    reasons = {each.plugin.id: (each.code, each.reason) for each in activation.decisions}
    assert reasons["rival-mem"] == ("slot-owner", "owns the memory slot")
    assert reasons["core-mem"] == ("slot-member", "in the memory slot beside rival-mem")
    assert [each.id for each in activation.running] == ["rival-mem", "core-mem", "embedder"]


def test_a_list_of_one_is_as_one_name() -> None:
    assert decided(["core-mem"]) == decide_activation(INSTALLED, Rules(slots={"memory": "core-mem"}), host_api=HOST_API)
    assert decided(["none"]) == decide_activation(INSTALLED, Rules(slots={"memory": "none"}), host_api=HOST_API)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"deny": frozenset({"core-mem"})}, "plugins.deny names it"),
        ({"allow": frozenset({"rival-mem"})}, "plugins.allow is set and does not name it"),
        ({"disabled": frozenset({"core-mem"})}, "plugins.entries.core-mem.enabled is false"),
        ({"broken_entries": {"core-mem": "entry is bad"}}, "entry is bad"),
    ],
)
def test_one_that_does_not_run_is_reported_and_the_next_owns_the_slot(fields: dict[str, Any], reason: str) -> None:
    activation = decided(["core-mem", "rival-mem"], **fields)
    slot = activation.slot("memory")
    assert (slot.owner, slot.owners, slot.error) == ("rival-mem", ("rival-mem",), None)
    assert slot.absent == {"core-mem": reason}
    assert slot.problem == f'"core-mem" is in the memory slot but does not run: {reason}'
    assert {each.plugin.id: each.code for each in activation.decisions}["rival-mem"] == "slot-owner"


@pytest.mark.parametrize(
    ("slot", "sentence"),
    [
        (["core-mem", "none"], 'plugins.slots.memory lists "none" beside "core-mem"'),
        (["core-mem", "rivl-mem"], 'names "rivl-mem", which is not installed; did you mean "rival-mem"?'),
        (["core-mem", "embedder"], 'names "embedder", which is of kind "embedder", not "memory"'),
    ],
)
def test_a_wrong_name_in_a_list_is_an_error_that_names_it(slot: list[str], sentence: str) -> None:
    error = decided(slot).slot("memory").error
    assert error is not None
    assert sentence in error


def test_one_that_is_not_in_the_list_is_told_what_is() -> None:
    third = plugin("third-mem", "memory")
    rules = Rules(slots={"memory": ["core-mem", "rival-mem"]})
    decision = decide_activation([*INSTALLED, third], rules, host_api=HOST_API).decisions[-1]
    assert (decision.code, decision.reason) == ("slot-rival", 'plugins.slots.memory is "core-mem" and "rival-mem"')
