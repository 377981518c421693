"""The host: loads plugins, fills the memory slot, offers tools and calls hooks."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from memslot.agent.at_exit import close_at_exit, forget
from memslot.agent.delivery import RunEndDelivery
from memslot.agent.hook_results import READERS
from memslot.agent.lifecycle import Lifecycle
from memslot.agent.prompt import PromptMode
from memslot.agent.registries import Registries, refuse_command_clashes
from memslot.agent.run import AgentRun, AsyncAgentRun, in_thread
from memslot.agent.spool import Spool
from memslot.agent.tool_calls import ToolCalls
from memslot.config.model import Config
from memslot.config.paths import Places
from memslot.config.schema import with_defaults
from memslot.config.search_model import MemorySearch
from memslot.diagnostics import Diagnostics, describe_error
from memslot.embeddings.likeness import Likeness
from memslot.embeddings.selection import ProviderRegistry, Selection, plugins_for
from memslot.errors import MemslotError, PluginLoadError, SlotError
from memslot.events import ChatType, MemoryWritten, Message, RunInfo, Session
from memslot.memory.contract import Memory, MemoryStatus
from memslot.memory.stack import MemoryStack
from memslot.plugins.activation import Activation
from memslot.plugins.context import PluginContext
from memslot.plugins.hooks import HookRunner
from memslot.plugins.info import PluginInfo
from memslot.plugins.loaded_config import LoadedConfig
from memslot.plugins.loader import load_plugin
from memslot.plugins.overview import decide_plugins, read_setup
from memslot.plugins.thread_watch import ThreadWatch
from memslot.tools import Tool, ToolResult

if TYPE_CHECKING:
    import click


class Host:
    """Plugins around one agent: its tools, its memory, and the hooks before and after each run.

    with Host.load() as host, host.run("What did we decide about the API?") as run:
        ...
    """

    def __init__(
        self,
        loaded: LoadedConfig,
        places: Places,
        activation: Activation,
        *,
        agent_id: str,
        env: Mapping[str, str],
    ) -> None:
        self.config: Config = loaded.config
        self.places = places
        self.activation = activation
        self.agent_id = agent_id
        self.warnings = loaded.warnings
        self.diagnostics = Diagnostics()
        self._runner = HookRunner(self.diagnostics, env, READERS)
        self._registries = Registries(self._runner, self.diagnostics, ProviderRegistry(env))
        self._tool_calls = ToolCalls(self._runner, self._registries, self.diagnostics)
        self._spool = Spool(places, agent_id, self.config.workspace(agent_id, places))
        delivery = RunEndDelivery(self._runner, self._spool, self.diagnostics)
        likeness = Likeness(self.select_embedder)
        self._lifecycle = Lifecycle(self._runner, self._registries, self.diagnostics, delivery, likeness)
        self._stack = MemoryStack(
            self._runner,
            self.diagnostics,
            self._registries.memories,
            lambda: activation.slot("memory").missing(self._registries.memories, self._failed),
            self._tell_written,
            likeness,
        )
        self._threads = ThreadWatch(self.diagnostics)
        self._failed: dict[str, str] = {}
        self._contexts: dict[str, PluginContext] = {}
        self._waiting = {plugin.id: plugin for plugin in activation.running}
        self._is_filled = False
        self._starting = threading.RLock()
        self._lock = threading.Lock()
        self._closed = False
        close_at_exit(self, self.close)

    @classmethod
    def load(
        cls,
        config: Mapping[str, Any] | None = None,
        *,
        home: str | Path | None = None,
        agent: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Self:
        """Read the config, find the plugins and start those that should run.

        `config` replaces the config files, `home` replaces ~/.memslot. Raises ConfigError, SlotError or NameClashError
        for mistakes in the config; a plugin that fails only causes a diagnostic.
        """
        env = dict(os.environ if env is None else env)
        if home is not None:
            env["MEMSLOT_HOME"] = str(home)
        places = Places.from_env(env)
        if config is None:
            loaded, activation = read_setup(places, env)
        else:
            from memslot.plugins.config_loader import parse_config

            loaded = parse_config(dict(config), places=places, env=env)
            activation = decide_plugins(loaded, env)
        host = cls.prepare(loaded, activation, places, agent=agent, env=env)
        try:
            host._start_all()
        except BaseException:
            host.close()
            raise
        return host

    @classmethod
    def prepare(
        cls,
        loaded: LoadedConfig,
        activation: Activation,
        places: Places,
        *,
        agent: str | None = None,
        env: Mapping[str, str],
    ) -> Self:
        """Create a host that starts each plugin on first use, as the command line does."""
        agent_id = loaded.config.known_agent_id(agent)
        for slot in activation.slots:
            if slot.error is not None:
                raise SlotError(slot.error)
        refuse_command_clashes(activation.running)
        host = cls(loaded, places, activation, agent_id=agent_id, env=env)
        for decision in activation.decisions:
            if decision.code in ("broken", "bad-config"):
                host.diagnostics.add(decision.plugin.id, "activation", decision.reason)
        return host

    # Plugins

    def _start_all(self) -> None:
        with self._starting:
            if self._is_filled or self._closed:
                return
            # Providers first: a memory that is running already may select one in a thread of its own.
            self._start_providers([each.id for each in self.activation.running if each.providers])
            self._is_filled = True  # set first: plugins may use the registries while they register
            self._start(tuple(self._waiting))
            self._registries.fill(plugin for plugin in self.activation.running if plugin.id in self._contexts)

    def _start(self, plugin_ids: Collection[str]) -> None:
        """Load plugins and register their hooks, once."""
        with self._starting:
            wanted = [self._waiting.pop(each) for each in plugin_ids if each in self._waiting]
            if not wanted:
                return
            for plugin in wanted:
                module = self._load_plugin(plugin)
                if module is not None:
                    self._register_hooks(plugin, module)
            self._contexts = {p.id: self._contexts[p.id] for p in self.activation.running if p.id in self._contexts}
            self._runner.arrange(tuple(self._contexts))

    def _start_providers(self, plugin_ids: Collection[str]) -> None:
        """Start plugins, and collect their embedding providers."""
        with self._starting:
            self._start(plugin_ids)
            self._registries.take_providers(each for each in plugin_ids if each in self._contexts)

    def _load_plugin(self, plugin: PluginInfo) -> object | None:
        self._threads.watch(plugin.id, plugin.root)
        try:
            return load_plugin(plugin, self.diagnostics)
        except PluginLoadError as error:
            self._failed[plugin.id] = self.diagnostics.add(plugin.id, "import", str(error)).message
            return None

    def _register_hooks(self, plugin: PluginInfo, module: object) -> None:
        entry = self.config.plugins.entries.get(plugin.id)
        context = PluginContext(
            plugin.id,
            config=with_defaults(plugin.config_schema, dict(entry.config) if entry else {}),
            agent_id=self.agent_id,
            places=self.places,
            host_config=self.config,
            select_embedder=self.select_embedder,
            report=functools.partial(self.diagnostics.add, plugin.id, level="warning"),
            tell_written=self._tell_written,
            # Not `self.memories` while plugins register: it waits for the lock held by the thread that starts them.
            find_memories=lambda: self._stack if self._is_filled or self._registries.asked_memories else self.memories,
            query_rows=self._registries.query_rows,
        )
        try:
            hooks = self._runner.add(module, context, entry.hooks.timeout_ms if entry else None)
        except Exception as error:  # pluggy's validation, or whatever an odd object raises when inspected
            self._failed[plugin.id] = self.diagnostics.add(plugin.id, "hooks", describe_error(error)).message
            return
        if not hooks:
            message = "implements no hook; mark its functions with @memslot.hookimpl"
            self.diagnostics.add(plugin.id, "hooks", message, level="warning")
        self._contexts[plugin.id] = context

    @property
    def plugins(self) -> tuple[str, ...]:
        """Ids of the plugins that are running."""
        self._start_all()
        return tuple(self._contexts)

    def failure(self, plugin_id: str) -> str | None:
        """Why a plugin could not be loaded, or None."""
        return self._failed.get(plugin_id)

    def plugin_commands(self, plugin_id: str) -> Mapping[str, click.Command]:
        """Ask a plugin for its commands, by name."""
        import click

        self._start([plugin_id])
        group = click.Group()
        self._runner.call("register_commands", only=plugin_id, cli=group)
        return dict(group.commands)

    # Memory and embeddings

    @property
    def memories(self) -> MemoryStack:
        """All memories in the slot, in config order; may be empty."""
        with self._starting:
            if not self._is_filled and not self._closed:  # a command needs no other plugins for a search
                self._start(owners := self.activation.slot("memory").owners)
                self._registries.take_memories(owners)
        return self._stack

    def _tell_written(self, written: MemoryWritten) -> None:
        self._start_all()  # any plugin may implement the hook
        self._lifecycle.tell_written(written)

    @property
    def memory(self) -> Memory | None:
        """The memory that owns the slot, or None; then `memory_problem` says why."""
        return next((memory for _, memory in self.memories), None)

    @property
    def memory_owner(self) -> str | None:
        """Id of the plugin that owns the memory slot."""
        return next((plugin_id for plugin_id, _ in self.memories), None)

    @property
    def memory_problem(self) -> str | None:
        """Why there is no memory, in one sentence; None when there is one."""
        slot = self.activation.slot("memory")
        if len(self.memories) or not slot.owners:
            return None if len(self.memories) else slot.problem
        failures = self.memories.absent
        return "; ".join(f'"{each}" owns the memory slot but did not start: {failures[each]}' for each in slot.owners)

    def memory_status(self) -> MemoryStatus:
        """The health of the slot's owner, even if it fails to report it; see `memories.statuses` for all."""
        if self.memory_owner is None:
            return MemoryStatus(backend="none", problems=(self.memory_problem or "there is no memory",))
        return self.memories.statuses()[self.memory_owner]

    @property
    def embedding_providers(self) -> ProviderRegistry:
        self._start_all()
        return self._registries.providers

    def select_embedder(self, settings: MemorySearch | None = None) -> Selection:
        """Select an embedding provider by the agent's `memorySearch` settings, or by those given."""
        settings = settings or self.config.memory_search(self.agent_id)
        if not self._is_filled:
            self._start_providers(plugins_for(settings, self.activation.running))
        return self._registries.providers.select(settings)

    # Tools

    def tools(self, chat_type: ChatType = "direct") -> tuple[Tool, ...]:
        """The tools an agent may use in this type of chat."""
        self._start_all()
        return self._tool_calls.available(chat_type)

    def tool_owner(self, name: str) -> str | None:
        """Id of the plugin that registered a tool."""
        self._start_all()
        return self._registries.tools[name][0] if name in self._registries.tools else None

    def call_tool(self, name: str, args: Any = None, *, session: Session | None = None) -> ToolResult:
        """Call a tool outside a run. Errors of the plugin or the model are in the result, never raised."""
        self._make_ready()
        info = RunInfo(prompt="", session=session if session is not None else Session(self.agent_id))
        return self._tool_calls.call(info, name, args)

    async def acall_tool(self, name: str, args: Any = None, *, session: Session | None = None) -> ToolResult:
        """The async twin of call_tool."""
        return await in_thread(self.call_tool, name, args, session=session)

    # Runs and sessions

    def run(
        self,
        prompt: str,
        *,
        session: str | Session | None = None,
        chat_type: ChatType = "direct",
        messages: Sequence[Message] = (),
        system_prompt: str = "",
        prompt_mode: PromptMode = "full",
        recall_seconds: float | None = None,
    ) -> AgentRun:
        """Begin a run: plugins may add context before the prompt, and are called when it ends.

        `session` is the conversation it belongs to; without one, the run is a conversation of its own.
        `recall_seconds` limits the time plugins have before the prompt.
        """
        self._make_ready()
        place = self._lifecycle.open_session(self.agent_id, session, chat_type)
        info = RunInfo(prompt=prompt, session=place)
        tools = self.tools(place.chat_type)
        prepared = self._lifecycle.prepare(info, messages, system_prompt, prompt_mode, tools, recall_seconds)
        return AgentRun(
            info,
            context=prepared[0],
            system_prompt=prepared[1],
            tools=tools,
            calls=self._tool_calls,
            report_end=functools.partial(self._lifecycle.end_run, info, session is None),
        )

    def arun(self, prompt: str, **arguments: Any) -> AsyncAgentRun:
        """The async twin of run: `async with host.arun(prompt, …) as run:`."""
        return AsyncAgentRun(functools.partial(self.run, prompt, **arguments))

    def system_prompt(self, chat_type: ChatType = "direct") -> str:
        """The sections that plugins add to a system prompt, for callers without a run."""
        self._make_ready()
        info = RunInfo(prompt="", session=Session(self.agent_id, chat_type=chat_type))
        return self._lifecycle.write_prompt(info, "", "full", self.tools(chat_type))

    def before_compaction(self, session: Session, messages: Sequence[Message], tokens: int) -> None:
        """Tell plugins that older messages are about to be summarised away."""
        self._start_all()
        self._runner.call("before_compaction", session=session, messages=tuple(messages), tokens=tokens)

    def end_session(self, session: str | Session) -> None:
        """Tell plugins that a conversation is over, once they have finished with its runs."""
        self._lifecycle.end_session(session if isinstance(session, str) else session.id)

    def undelivered_runs(self) -> Sequence[Path]:
        """Finished runs that could not be delivered to plugins; `memslot doctor` lists them."""
        return self._spool.given_up()

    # Closing

    def _make_ready(self) -> None:
        if self._closed:
            raise MemslotError("this host is closed; load a new one with Host.load()")
        self._start_all()

    def close(self) -> None:
        """Finish background work, end open conversations and close the memories. Idempotent."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        forget(self)
        try:
            self._lifecycle.close()
        finally:  # in strict mode a plugin's last hook may raise
            self._stack.close()
            self._runner.close()

    async def aclose(self) -> None:
        """The async twin of close."""
        await in_thread(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
