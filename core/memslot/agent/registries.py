"""What active plugins registered: their tools, providers, prompt sections and the memory."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping

from memslot.agent.prompt import PromptSection
from memslot.diagnostics import Diagnostics
from memslot.embeddings.contract import EmbeddingProviderSpec
from memslot.embeddings.query_rows import QueryRows
from memslot.embeddings.selection import ProviderRegistry
from memslot.errors import NameClashError, ToolError
from memslot.memory.contract import Memory
from memslot.plugins.activation import SLOT_KINDS
from memslot.plugins.hooks import HookRunner
from memslot.plugins.info import PluginInfo
from memslot.tools import Tool


class Registries:
    """Filled once, when plugins are activated; read by everything after that."""

    def __init__(self, runner: HookRunner, diagnostics: Diagnostics, providers: ProviderRegistry) -> None:
        self._runner = runner
        self._diagnostics = diagnostics
        self._tools: dict[str, tuple[str, Tool]] = {}
        self._unchecked: list[str] = []
        self._checking = threading.Lock()
        self.sections: list[tuple[str, PromptSection]] = []
        self.providers = providers
        self._asked_for_providers: set[str] = set()
        self.query_rows = QueryRows()
        self.asked_memories = False
        self.memories: dict[str, Memory] = {}
        """By plugin, in the order of the slot."""

    @property
    def tools(self) -> Mapping[str, tuple[str, Tool]]:
        """The tools by name, with their plugins. Schemas are compiled on first use."""
        with self._checking:
            while self._unchecked:
                name = self._unchecked.pop()
                plugin_id, tool = self._tools[name]
                try:
                    tool.check_schema()
                except ToolError as error:
                    del self._tools[name]
                    self._diagnostics.add(plugin_id, "register_tools", str(error))
        return self._tools

    def fill(self, plugins: Iterable[PluginInfo]) -> None:
        """Collect what all plugins register. Raises NameClashError; other failures become diagnostics."""
        by_id = {plugin.id: plugin for plugin in plugins}
        for answer in self._runner.call("register_tools"):
            for tool in answer.value:
                self._take_tool(by_id[answer.plugin], tool)
        self.take_providers(by_id)
        for answer in self._runner.call("register_prompt_sections"):
            self.sections.extend((answer.plugin, section) for section in answer.value)
        self.take_memories(plugin.id for plugin in by_id.values() if plugin.kind == SLOT_KINDS["memory"])

    def take_memories(self, plugin_ids: Iterable[str]) -> None:
        """Collect the memories of the slot's plugins, in slot order; each plugin is called once."""
        if self.asked_memories:
            return
        self.asked_memories = True
        owners = list(plugin_ids)
        given = {answer.plugin: answer.value for answer in self._runner.call("register_memory", only=owners)}
        self.memories.update((each, given[each]) for each in owners if each in given)

    def take_providers(self, plugin_ids: Iterable[str]) -> None:
        """Collect the plugins' embedding providers; each plugin is called once."""
        for plugin_id in plugin_ids:
            if plugin_id not in self._asked_for_providers:
                self._asked_for_providers.add(plugin_id)
                for answer in self._runner.call("register_embedding_providers", only=plugin_id):
                    self._take_providers(answer.plugin, answer.value)

    def _take_providers(self, plugin_id: str, specs: list[EmbeddingProviderSpec]) -> None:
        own = {spec.id: spec for spec in specs}
        if len(own) < len(specs):
            message = "registers the same embedding provider twice; the last one is used"
            self._diagnostics.add(plugin_id, "register_embedding_providers", message)
        self.providers.add(plugin_id, own.values())

    def _take_tool(self, plugin: PluginInfo, tool: Tool) -> None:
        if tool.name in self._tools:
            other = self._tools[tool.name][0]
            if other == plugin.id:
                self._diagnostics.add(plugin.id, "register_tools", f'registers the tool "{tool.name}" twice')
                return
            raise NameClashError(
                f'{other} and {plugin.id} both register the tool "{tool.name}"; '
                f"disable one with: memslot plugins disable {plugin.id}"
            )
        if tool.name not in plugin.tools:
            message = f'registers the tool "{tool.name}", which its manifest does not name under provides.tools'
            self._diagnostics.add(plugin.id, "register_tools", message, level="warning")
        self._tools[tool.name] = (plugin.id, tool)
        self._unchecked.append(tool.name)


def refuse_command_clashes(plugins: Iterable[PluginInfo]) -> None:
    """Raise a NameClashError if two plugins claim one command."""
    owners: dict[str, str] = {}
    for plugin in plugins:
        for command in plugin.commands:
            other = owners.setdefault(command.name, plugin.id)
            if other != plugin.id:
                raise NameClashError(
                    f'{other} and {plugin.id} both register the command "{command.name}"; '
                    f"disable one with: memslot plugins disable {plugin.id}"
                )
