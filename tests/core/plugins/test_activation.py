from __future__ import annotations

import itertools

import pytest
from memslot.plugins.activation import Rules, decide_activation, environment_rules
from memslot.plugins.info import PluginInfo

HOST_API = 1


def plugin(plugin_id: str, kind: str | None, **fields: object) -> PluginInfo:
    plain = {"name": plugin_id, "version": "1", "description": "", "entry": "x", "origin": "installed", "root": ""}
    return PluginInfo(id=plugin_id, kind=kind, **{**plain, **fields})  # type: ignore[arg-type]


CORE, RIVAL, EMBEDDER = plugin("core-mem", "memory"), plugin("rival-mem", "memory"), plugin("embedder", "embedder")
INSTALLED = (CORE, RIVAL, EMBEDDER)

SLOTS = ["core-mem", "rival-mem", "none", "absent", "embedder"]
ALLOW: list[frozenset[str]] = [frozenset(), frozenset({"core-mem"}), frozenset({"rival-mem", "embedder"})]
DENY: list[frozenset[str]] = [frozenset(), frozenset({"core-mem"}), frozenset({"embedder"})]
DISABLED: list[frozenset[str]] = [frozenset(), frozenset({"core-mem"}), frozenset({"embedder"})]
EVERY = list(itertools.product(SLOTS, ALLOW, DENY, DISABLED, [True, False], INSTALLED))


def expected_code(
    slot: str, allow: frozenset[str], deny: frozenset[str], disabled: frozenset[str], on: bool, what: PluginInfo
) -> str:
    """The order of decision, written down a second time."""
    if not on:
        return "plugins-off"
    if what.id in deny:
        return "denied"
    if allow and what.id not in allow:
        return "not-allowed"
    if what.id in disabled:
        return "disabled"
    if what.kind != "memory":
        return "enabled"
    if slot == "none":
        return "slot-off"
    return "slot-owner" if what.id == slot else "slot-rival"


@pytest.mark.parametrize(("slot", "allow", "deny", "disabled", "on", "what"), EVERY)
def test_every_combination_decides_in_the_documented_order(
    slot: str, allow: frozenset[str], deny: frozenset[str], disabled: frozenset[str], on: bool, what: PluginInfo
) -> None:
    rules = Rules(
        enabled=on,
        allow=allow,
        deny=deny,
        disabled=disabled,
        slots={"memory": slot},
        chosen_slots=frozenset({"memory"}),
    )
    activation = decide_activation(INSTALLED, rules, host_api=HOST_API)
    decision = next(d for d in activation.decisions if d.plugin is what)

    wanted = expected_code(slot, allow, deny, disabled, on, what)
    assert decision.code == wanted
    assert decision.runs == (wanted in ("enabled", "slot-owner"))
    assert decision.reason

    found = activation.slot("memory")
    owner_runs = any(d.code == "slot-owner" for d in activation.decisions)
    assert (found.owner is not None) == owner_runs
    assert (found.error is not None) == (on and slot in ("absent", "embedder"))
    if found.owner is None and found.error is None:
        assert found.problem


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
