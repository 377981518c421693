"""In which chats QMD answers: `memory.qmd.scope`.

A session has a chat type and an id. Ids of chats that come through a channel begin with its name, as in
`discord:group:42`, and may carry the agent before that, as in `agent:main:discord:group:42`. So `channel` is compared
with the first part of the id, and `keyPrefix` with its beginning, with and without the agent.
"""

from __future__ import annotations

from memslot import Session

from memslot_memory_core.qmd.settings import Scope, ScopeRule


def allowed(scope: Scope, session: Session | None) -> bool:
    """Whether QMD may answer there; without a session it is the person themselves who asks."""
    if session is None:
        return True
    for rule in scope.rules:
        if _matches(rule, session):
            return rule.action == "allow"
    return scope.default == "allow"


def _matches(rule: ScopeRule, session: Session) -> bool:
    """Whether every condition that the rule names holds; a rule without any always matches."""
    agent = f"agent:{session.agent_id}:"
    key = session.id.removeprefix(agent)
    if rule.chat_type is not None and rule.chat_type != session.chat_type:
        return False
    if rule.channel is not None and rule.channel.casefold() != _channel(key):
        return False
    return rule.key_prefix is None or key.startswith(rule.key_prefix) or (agent + key).startswith(rule.key_prefix)


def _channel(key: str) -> str | None:
    parts = key.split(":")
    if parts[0] == "channel" and len(parts) > 1:
        return parts[1].casefold()
    return parts[0].casefold() if len(parts) > 1 else None
