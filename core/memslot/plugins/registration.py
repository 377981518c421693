"""What active plugins registered: their tools, providers, prompt sections and the memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from memslot.agent.prompt import PromptSection
from memslot.diagnostics import Diagnostics
from memslot.embeddings.contract import EmbeddingProviderSpec
from memslot.embeddings.selection import ProviderRegistry
from memslot.errors import NameClashError, ToolError
from memslot.memory.contract import Memory, misfit
from memslot.plugins.activation import SLOT_KINDS
from memslot.plugins.hooks import HookRunner
from memslot.plugins.info import PluginInfo
from memslot.tools import Tool

MAX_PER_PLUGIN = 100
"""More of anything from one plugin is a mistake: no model can choose between so many tools."""


class Registries:
    """Filled once, when plugins are activated; read by everything after that."""

    def __init__(self, runner: HookRunner, diagnostics: Diagnostics, providers: ProviderRegistry) -> None:
        self._runner = runner
        self._diagnostics = diagnostics
        self.tools: dict[str, tuple[str, Tool]] = {}
        self.sections: list[tuple[str, PromptSection]] = []
        self.providers = providers
        self.memory: Memory | None = None
        self.memory_owner: str | None = None

    def take(self, plugin: PluginInfo) -> None:
        """Ask one plugin what it brings. Raises NameClashError; everything else becomes a diagnostic."""
        for tool in self._items(plugin, "register_tools", Tool):
            self._take_tool(plugin, tool)
        specs = self._items(plugin, "register_embedding_providers", EmbeddingProviderSpec)
        own = {spec.id: spec for spec in specs}
        if len(own) < len(specs):
            message = "registers the same embedding provider twice, of which the last is taken"
            self._diagnostics.add(plugin.id, "register_embedding_providers", message)
        self.providers.add(plugin.id, own.values())
        for section in self._items(plugin, "register_prompt_sections", PromptSection):
            self.sections.append((plugin.id, section))
        self._take_memory(plugin)

    def _items(self, plugin: PluginInfo, hook: str, kind: type[Any]) -> list[Any]:
        # `accept` runs in the plugin's thread, so that a generator is under its budget too.
        items: list[Any] = []

        def accept(value: Any) -> str | None:
            if isinstance(value, str | bytes) or not isinstance(value, Iterable):
                return f"returned {type(value).__name__} where a list of {kind.__name__} was due"
            items.extend(itertools.islice(value, MAX_PER_PLUGIN + 1))
            if len(items) > MAX_PER_PLUGIN:
                items.clear()
                return f"returned more than {MAX_PER_PLUGIN} items, of which none was taken"
            wrong = sorted({type(item).__name__ for item in items if not isinstance(item, kind)})
            if wrong:
                items.clear()
                return f"returned {', '.join(wrong)} where {kind.__name__} was due"
            return None

        self._runner.call_one(plugin.id, hook, accept=accept)
        return items

    def _take_tool(self, plugin: PluginInfo, tool: Tool) -> None:
        try:
            tool.check_schema()
        except ToolError as error:
            self._diagnostics.add(plugin.id, "register_tools", str(error))
            return
        if tool.name in self.tools:
            other = self.tools[tool.name][0]
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
        self.tools[tool.name] = (plugin.id, tool)

    def _take_memory(self, plugin: PluginInfo) -> None:
        if plugin.kind != SLOT_KINDS["memory"]:
            return
        answer = self._runner.call_one(plugin.id, "register_memory", accept=misfit)
        if answer is not None:
            self.memory, self.memory_owner = answer.value, plugin.id


def refuse_command_clashes(plugins: Iterable[PluginInfo]) -> None:
    """Raise a NameClashError where two plugins claim one command."""
    owners: dict[str, str] = {}
    for plugin in plugins:
        for command in plugin.commands:
            other = owners.setdefault(command.name, plugin.id)
            if other != plugin.id:
                raise NameClashError(
                    f'{other} and {plugin.id} both register the command "{command.name}"; '
                    f"disable one with: memslot plugins disable {plugin.id}"
                )
