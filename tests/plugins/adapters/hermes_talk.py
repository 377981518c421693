"""Run inside an environment with the real hermes-agent: talks to its real agent, and prints what happened as JSON."""

from __future__ import annotations

import json
import sys
from typing import Any


def make_agent(url: str) -> Any:
    from run_agent import AIAgent  # type: ignore[import-not-found]

    return AIAgent(
        base_url=url,
        api_key="not-a-key",
        model="m",
        session_id="talk",
        quiet_mode=True,
        skip_context_files=True,
        enabled_toolsets=["memory"],
    )


def converse(url: str, *notes: str) -> dict[str, Any]:
    """Ask the same in each turn, and remember a note after it."""
    agent, history = make_agent(url), None
    for number, note in enumerate(notes):
        prompt = f"Question {number}: which fruit does Ana like in the morning?"
        history = agent.run_conversation(prompt, conversation_history=history)["messages"]
        agent._memory_manager.flush_pending(60)
        agent._memory_manager.on_memory_write("add", "memory", note, metadata={"tool_name": "memory"})
    agent._memory_manager.shutdown_all()
    return {}


def main(url: str, *prompts: str) -> dict[str, Any]:
    from agent.memory_manager import MemoryManager  # type: ignore[import-not-found]
    from agent.memory_provider import MemoryProvider  # type: ignore[import-not-found]
    from plugins.memory import discover_memory_providers, load_memory_provider  # type: ignore[import-not-found]

    told: dict[str, Any] = {"found": [each for each in discover_memory_providers() if each[0] == "memslot"]}
    agent = make_agent(url)
    answers, history = [], None
    for prompt in prompts:
        done = agent.run_conversation(prompt, conversation_history=history)
        history = done["messages"]
        answers.append(done["final_response"])
        agent._memory_manager.flush_pending(60)
    told["answers"] = answers
    agent._memory_manager.shutdown_all()

    # The same calls that the agent makes in rarer moments.
    provider = load_memory_provider("memslot")
    told["is provider"] = isinstance(provider, MemoryProvider)
    manager = MemoryManager()
    manager.add_provider(provider)
    manager.initialize_all(session_id="rare", platform="cli", agent_context="primary")
    told["tools"] = sorted(manager.get_all_tool_names())
    told["tool"] = json.loads(manager.handle_tool_call("memory_search", {"query": "which fruit does Ana like?"}))
    told["bad tool"] = json.loads(manager.handle_tool_call("memory_search", {"no": "query"}))
    told["prompts"] = len({manager.build_system_prompt() for _ in range(3)})
    manager.on_memory_write("add", "user", "Prefers quince jam on toast.", metadata={"tool_name": "memory"})
    manager.on_memory_write("remove", "memory", "", metadata={"old_text": "x"})
    told["mirrored"] = manager.prefetch_all("what does the user prefer on toast?")
    told["summary"] = manager.on_pre_compress([{"role": "user", "content": "Long ago."}])
    manager.on_session_switch("rare-2", parent_session_id="rare", reset=True)
    manager.on_session_end([])
    told["backup"] = provider.backup_paths()
    manager.shutdown_all()

    group = load_memory_provider("memslot")
    group.initialize("team", platform="telegram", chat_type="group")
    told["group"] = group.prefetch("Which fruit does Ana like in the morning?")
    group.shutdown()
    return told


if __name__ == "__main__":
    result = converse(*sys.argv[2:]) if sys.argv[1] == "--converse" else main(*sys.argv[1:])
    print("\n" + json.dumps(result))
