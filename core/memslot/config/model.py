"""The config model. Its classes mirror the keys of the file one to one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memslot.config.keypath import KeyPath, lookup
from memslot.config.merge import merged
from memslot.config.paths import AGENT_ID_PATTERN, Places, expand_home
from memslot.config.search_model import Memory, MemorySearch
from memslot.config.section import Section, Text, json_schema, setting
from memslot.errors import ConfigError

DEFAULT_AGENT = "main"
FLUSH_SYSTEM_PROMPT = (
    "The conversation is about to be shortened to make room. Save what should outlive it first. "
    "This turn is not shown to the user; answer NO_REPLY unless they need to see your answer."
)
FLUSH_PROMPT = (
    "Append decisions, preferences and facts worth keeping to memory/YYYY-MM-DD.md (today's date); "
    "create memory/ if it is missing and do not repeat what is already there. "
    "If there is nothing to keep, answer NO_REPLY."
)


class PluginHooks(Section):
    timeout_ms: int | None = setting(
        None, "Time budget of each of this plugin's hooks, in milliseconds.", minimum=1, maximum=600_000
    )


class PluginEntry(Section):
    enabled: bool = setting(True, "Whether the plugin may run.")
    config: dict[str, Any] = setting({}, "The plugin's own settings; its manifest says which.", shown=False)
    hooks: PluginHooks = setting(PluginHooks, "Limits on the plugin's hooks.")


class PluginLoad(Section):
    paths: tuple[Text, ...] = setting((), "Folders with plugins under development.")


class Slots(Section):
    memory: Text | tuple[Text, ...] = setting(
        "memory-core",
        'The memory plugin, or a list of them that run side by side, the owner first; "none" for no memory.',
        minItems=1,
        uniqueItems=True,
    )


class Plugins(Section):
    enabled: bool = setting(True, "False turns all plugins off.")
    allow: tuple[Text, ...] = setting((), "If not empty, only these plugins may run.")
    deny: tuple[Text, ...] = setting((), "These plugins never run, whatever else is configured.")
    load: PluginLoad = setting(PluginLoad, "Plugins that are not installed.")
    slots: Slots = setting(Slots, "Which plugin owns which slot.")
    entries: dict[str, PluginEntry] = setting({}, "Settings of each plugin, by id.")


class MemoryFlush(Section):
    enabled: bool = setting(True, "Ask the agent to save notes before its context is compacted.")
    soft_threshold_tokens: int = setting(
        4000, "Flush this many tokens before the reserve is reached.", minimum=0, maximum=10_000_000
    )
    system_prompt: Text = setting(FLUSH_SYSTEM_PROMPT, "System prompt of the flush turn.")
    prompt: Text = setting(FLUSH_PROMPT, "User message of the flush turn.")


class Compaction(Section):
    reserve_tokens_floor: int = setting(
        20_000, "Tokens of the context window that are always kept free.", minimum=0, maximum=10_000_000
    )
    memory_flush: MemoryFlush = setting(MemoryFlush, "The silent turn before compaction.")


class AgentDefaults(Section):
    workspace: Text | None = setting(
        None,
        "The agent's folder with MEMORY.md; relative to memslot's home, or, in a project's "
        "config, to the project. Default: <home>/workspace.",
    )
    model: Text | None = setting(None, "Chat model of the built-in agent.")
    base_url: Text | None = setting(None, "Address of an OpenAI-compatible chat API.")
    api_key: str | None = setting(None, 'Key of the chat API; prefer "${NAME}", an environment variable.', shown=False)
    context_window: int = setting(
        200_000, "Size of the model's context, in tokens.", minimum=1_000, maximum=100_000_000
    )
    memory_search: MemorySearch = setting(MemorySearch, "How memory is indexed and searched.")
    compaction: Compaction = setting(Compaction, "Behaviour as the context fills up.")


class Agent(Section):
    id: str = setting(
        ...,
        "Letters, digits, _ and -, at most 64; it names files on disk.",
        pattern=AGENT_ID_PATTERN,
        examples=["main"],
    )
    default: bool = setting(False, "The agent to use when none is named.")
    name: Text | None = setting(None, "Display name.")
    workspace: Text | None = setting(None, "This agent's own workspace.")
    model: Text | None = setting(None, "This agent's own chat model.")
    memory_search: MemorySearch = setting(MemorySearch, "Differences from agents.defaults.memorySearch.")


class Agents(Section):
    defaults: AgentDefaults = setting(AgentDefaults, "Settings of every agent.")
    list: tuple[Agent, ...] = setting((), "Agents, each with what differs from the defaults.")


class Config(Section):
    """All settings; every key has a default."""

    schema_: str | None = setting(None, "Address of the JSON Schema of this file, for editors.", alias="$schema")
    plugins: Plugins = setting(Plugins, "Which plugins run, and their settings.")
    agents: Agents = setting(Agents, "The agents whose memory this is.")
    memory: Memory = setting(Memory, "Settings of the memory itself.")

    def agent(self, agent_id: str) -> Agent | None:
        """Return the agent's entry in `agents.list`, if any."""
        return next((agent for agent in self.agents.list if agent.id == agent_id), None)

    def agent_ids(self) -> list[str]:
        """Return all agent ids; there is always at least one."""
        return [agent.id for agent in self.agents.list] or [DEFAULT_AGENT]

    def default_agent_id(self) -> str:
        """Return the agent to use when none is named."""
        chosen = (agent.id for agent in self.agents.list if agent.default)
        return next(chosen, self.agent_ids()[0])

    def known_agent_id(self, agent_id: str | None) -> str:
        """Resolve an agent id; None means the default. Raises ConfigError if it is unknown."""
        known = list(dict.fromkeys([*self.agent_ids(), self.default_agent_id()]))
        if agent_id is not None and agent_id not in known:
            raise ConfigError(f'unknown agent "{agent_id}"; known agents: {", ".join(known)}')
        return self.default_agent_id() if agent_id is None else agent_id

    def memory_search(self, agent_id: str | None = None) -> MemorySearch:
        """Return an agent's search settings: `memory.search`, overlaid by the defaults and the agent's own."""
        layers = [self.memory.search.written(), self.agents.defaults.memory_search.written()]
        agent = self.agent(self.default_agent_id() if agent_id is None else agent_id)
        if agent is not None:
            layers.append(agent.memory_search.written())
        return MemorySearch.from_tree(merged(*layers))

    def workspace(self, agent_id: str | None, places: Places) -> Path:
        """Return the folder of an agent's `MEMORY.md`."""
        agent = self.agent(self.default_agent_id() if agent_id is None else agent_id)
        written = (agent.workspace if agent else None) or self.agents.defaults.workspace
        return places.home / expand_home(written) if written else places.default_workspace


SECTIONS: Mapping[str, tuple[KeyPath, ...]] = {
    "memorySearch": (
        ("agents", "defaults", "memorySearch"),
        ("agents", "list", 0, "memorySearch"),
        ("memory", "search"),
    ),
    "memory": (("memory",),),
}
"""Sections that plugins describe in their manifests, with their locations in the file."""


def section_places(tree: Any, name: str) -> list[KeyPath]:
    """Return a section's possible locations in a tree, one per agent in its list."""
    agents = lookup(tree, ("agents", "list"))
    count = len(agents) if isinstance(agents, list) else 0
    return [
        tuple(number if step == 0 else step for step in place)
        for place in SECTIONS[name]
        for number in range(count if 0 in place else 1)
    ]


def config_json_schema(described: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the JSON Schema 2020-12 of the config file, with the keys that plugins describe, by section.

    A section that no plugin describes allows any key, so removing a plugin doesn't invalidate its settings.
    """
    from memslot.config.allowed import part_of

    schema = json_schema(Config)
    for name, places in SECTIONS.items():
        for place in places:
            part = part_of(schema, place)
            part["properties"] |= {k: v for k, v in described.get(name, {}).items() if k not in part["properties"]}
            part["additionalProperties"] = name not in described
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "config.schema.json",
        "title": "memslot config",
        **schema,
    }
