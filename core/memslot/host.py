"""The host: finds plugins, lets one own the memory slot, hands out tools and calls hooks."""

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
from memslot.agent.lifecycle import END_BUDGET_SECONDS, Lifecycle
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
from memslot.embeddings.selection import AUTO, NONE, ProviderRegistry, Selection, without_replaced
from memslot.errors import MemslotError, PluginLoadError, SlotError
from memslot.events import ChatType, Message, RunInfo, Session
from memslot.memory.contract import Memory, MemoryStatus
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
        self._lifecycle = Lifecycle(self._runner, self._registries, self.diagnostics, delivery)
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

        `config` takes the place of the config files, `home` of ~/.memslot. Raises ConfigError, SlotError or
        NameClashError for what a person must repair; a plugin that does not work is a diagnostic instead.
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
        """A host that starts a plugin when something of it is needed first; the command line uses it."""
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
            self._is_filled = True  # first: while they register, plugins may ask for what is there already
            self._start(tuple(self._waiting))
            self._registries.fill(plugin for plugin in self.activation.running if plugin.id in self._contexts)

    def _start(self, plugin_ids: Collection[str]) -> None:
        """Load plugins and register their hooks, if that has not been done."""
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

    def _start_providers(self, settings: MemorySearch) -> None:
        """Start the plugins that a choice of provider may need; a manifest says which providers a plugin has."""
        if self._is_filled or settings.provider == NONE:
            return
        running = self.activation.running
        owners = {name: plugin.id for plugin in running for name in plugin.providers}
        settings = without_replaced(settings, owners)
        names = {settings.provider, settings.fallback} - {NONE}
        if names <= owners.keys():
            needed = [owners[name] for name in names]
        elif settings.provider == AUTO:
            needed = [plugin.id for plugin in running if plugin.providers or plugin.kind == "embedder"]
        else:  # a name that no manifest tells
            needed = [plugin.id for plugin in running]
        with self._starting:
            self._start(needed)
            self._registries.take_providers(each for each in needed if each in self._contexts)

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
            report=functools.partial(self._take_report, plugin.id),
            find_memory=lambda: self._registries.memory if self._is_filled else self.memory,
        )
        try:
            hooks = self._runner.add(module, context, entry.hooks.timeout_ms if entry else None)
        except Exception as error:  # pluggy's validation, and whatever a strange object raises when looked at
            self._failed[plugin.id] = self.diagnostics.add(plugin.id, "hooks", describe_error(error)).message
            return
        if not hooks:
            message = "implements no hook; mark its functions with @memslot.hookimpl"
            self.diagnostics.add(plugin.id, "hooks", message, level="warning")
        self._contexts[plugin.id] = context

    def _take_report(self, plugin_id: str, stage: str, message: str) -> None:
        self.diagnostics.add(plugin_id, stage, message, level="warning")

    @property
    def plugins(self) -> tuple[str, ...]:
        """Ids of the plugins that are running."""
        self._start_all()
        return tuple(self._contexts)

    def failure(self, plugin_id: str) -> str | None:
        """Why a plugin that should run does not, if its code could not be loaded."""
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
    def memory(self) -> Memory | None:
        """The owner of the memory slot, or None; `memory_problem` then says why."""
        self._start_all()
        return self._registries.memory

    @property
    def memory_owner(self) -> str | None:
        """Id of the plugin whose memory is in the slot."""
        self._start_all()
        return self._registries.memory_owner

    @property
    def memory_problem(self) -> str | None:
        """Why there is no memory, in one sentence; None when there is one."""
        slot = self.activation.slot("memory")
        if self.memory is not None:
            return None
        if slot.owner is None:
            return slot.problem
        failure = self._failed.get(slot.owner, "it registers no memory")
        return f'"{slot.owner}" owns the memory slot but did not start: {failure}'

    def memory_status(self) -> MemoryStatus:
        """How the memory is, also where it cannot say so itself."""
        if self.memory is None or self.memory_owner is None:
            return MemoryStatus(backend="none", problems=(self.memory_problem or "there is no memory",))
        status, error, _ = self._runner.call_function(
            self.memory_owner, "status", self.memory.status, budget=END_BUDGET_SECONDS
        )
        if isinstance(status, MemoryStatus):
            return status
        said = describe_error(error) if error else f"returned {type(status).__name__}, not a MemoryStatus"
        return MemoryStatus(backend=self.memory_owner, problems=(f"its status cannot be had: {said}",))

    @property
    def embedding_providers(self) -> ProviderRegistry:
        self._start_all()
        return self._registries.providers

    def select_embedder(self, settings: MemorySearch | None = None) -> Selection:
        """Choose an embedding provider by the agent's `memorySearch` settings, or by other ones."""
        settings = settings or self.config.memory_search(self.agent_id)
        self._start_providers(settings)
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
        """Call a tool outside a run. Never raises for what a plugin or a model did: the result says it."""
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
    ) -> AgentRun:
        """Begin a run: plugins may put context before the prompt, and hear of its end.

        `session` is the id of the conversation it belongs to; without one the run is a conversation of its own.
        """
        self._make_ready()
        place = self._lifecycle.open_session(self.agent_id, session, chat_type)
        info = RunInfo(prompt=prompt, session=place)
        tools = self.tools(place.chat_type)
        context, full_prompt = self._lifecycle.prepare(info, messages, system_prompt, prompt_mode, tools)
        return AgentRun(
            info,
            context=context,
            system_prompt=full_prompt,
            tools=tools,
            calls=self._tool_calls,
            report_end=functools.partial(self._lifecycle.end_run, info, session is None),
        )

    def arun(self, prompt: str, **arguments: Any) -> AsyncAgentRun:
        """The async twin of run: `async with host.arun(prompt, …) as run:`."""
        return AsyncAgentRun(functools.partial(self.run, prompt, **arguments))

    def system_prompt(self, chat_type: ChatType = "direct") -> str:
        """The sections that plugins add to a system prompt, for callers that have no run to begin."""
        self._make_ready()
        info = RunInfo(prompt="", session=Session(self.agent_id, chat_type=chat_type))
        return self._lifecycle.write_prompt(info, "", "full", self.tools(chat_type))

    def before_compaction(self, session: Session, messages: Sequence[Message], tokens: int) -> None:
        """Tell plugins that older messages are about to be summarised away."""
        self._start_all()
        self._runner.call("before_compaction", session=session, messages=tuple(messages), tokens=tokens)

    def end_session(self, session: str | Session) -> None:
        """Tell plugins that a conversation is over; what they still do for its runs comes first."""
        self._lifecycle.end_session(session if isinstance(session, str) else session.id)

    def undelivered_runs(self) -> Sequence[Path]:
        """Finished runs that were set aside because plugins could not be told of them; `memslot doctor` names them."""
        return self._spool.given_up()

    # Closing

    def _make_ready(self) -> None:
        if self._closed:
            raise MemslotError("this host is closed; load a new one with Host.load()")
        self._start_all()

    def close(self) -> None:
        """Wait for background work, end open conversations, let the memory go. Calling it twice is fine."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        forget(self)
        try:
            self._lifecycle.close()
        finally:  # in strict mode a plugin's last word may raise
            self._close_memory()
            self._runner.close()

    def _close_memory(self) -> None:
        memory, owner = self._registries.memory, self._registries.memory_owner
        if memory is None or owner is None:
            return
        _, error, seconds = self._runner.call_function(owner, "close", memory.close, budget=END_BUDGET_SECONDS)
        if error is not None:
            self.diagnostics.add(owner, "close", describe_error(error), duration_ms=seconds * 1000)

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
