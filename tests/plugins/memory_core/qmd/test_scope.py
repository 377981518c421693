"""Scope rules decide in which chats QMD answers."""

from __future__ import annotations

from typing import Any

import pytest
from memslot import Session
from memslot_memory_core.qmd.settings import Scope, ScopeRule, is_allowed


def session(chat_type: Any = "direct", key: str = "0a1b2c") -> Session:
    return Session(agent_id="main", id=key, chat_type=chat_type)


def test_default_is_direct_chats_and_the_person_themselves() -> None:
    assert is_allowed(Scope(), session())
    assert is_allowed(Scope(), None)
    assert not is_allowed(Scope(), session("group"))
    assert not is_allowed(Scope(), session("channel"))


def test_first_rule_that_matches_decides() -> None:
    scope = Scope("allow", (ScopeRule("deny", channel="discord"), ScopeRule("allow"), ScopeRule("deny")))

    assert not is_allowed(scope, session("group", "discord:group:42"))
    assert is_allowed(scope, session("group", "slack:group:42"))


def test_without_a_matching_rule_the_default_decides() -> None:
    rules = (ScopeRule("allow", chat_type="channel"),)

    assert is_allowed(Scope("allow", rules), session("group"))
    assert not is_allowed(Scope("deny", rules), session("group"))


def test_all_conditions_of_a_rule_must_hold() -> None:
    scope = Scope("deny", (ScopeRule("allow", chat_type="group", channel="discord", key_prefix="discord:group:4"),))

    assert is_allowed(scope, session("group", "discord:group:42"))
    assert not is_allowed(scope, session("direct", "discord:group:42"))
    assert not is_allowed(scope, session("group", "slack:group:42"))
    assert not is_allowed(scope, session("group", "discord:group:52"))


@pytest.mark.parametrize(
    ("rule", "key", "matches"),
    [
        (ScopeRule("allow", channel="Discord"), "discord:42", True),
        (ScopeRule("allow", channel="discord"), "agent:main:discord:42", True),
        (ScopeRule("allow", channel="rest"), "channel:rest:7", True),
        (ScopeRule("allow", channel="discord"), "discord", False),
        (ScopeRule("allow", channel="discord"), "discordant:42", False),
        (ScopeRule("allow", channel="discord"), "agent:other:discord:42", False),
        (ScopeRule("allow", key_prefix="discord:"), "agent:main:discord:42", True),
        (ScopeRule("allow", key_prefix="agent:main:discord:"), "discord:42", True),
        (ScopeRule("allow", key_prefix="agent:other:"), "discord:42", False),
        (ScopeRule("allow", key_prefix=""), "anything", True),
    ],
)
def test_channel_and_prefix_are_read_from_the_session_id(rule: ScopeRule, key: str, matches: bool) -> None:
    assert is_allowed(Scope("deny", (rule,)), session("group", key)) is matches
