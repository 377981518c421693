"""An MCP server over a host: tools, the prompt section as instructions, notes as resources, recall as a prompt."""

from __future__ import annotations

import contextlib
import json
import uuid
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import anyio
import mcp_types as types
from mcp.server import NotificationOptions, Server, ServerRequestContext
from mcp.server.models import InitializationOptions
from mcp.server.session import ServerSession
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from memslot import Host, Hosts, MemoryItem, MemslotError, Session, ToolResult, Workers, __version__, config_stamp

from memslot_mcp_server.server.resources import TEMPLATE, has_notes, list_notes, path_of, read_note, uri_of
from memslot_mcp_server.server.stderr import warn

WATCH_SECONDS = 1.0
PAGE = 200
REMEMBERED_CLIENTS = 128
"""Maximum clients of the handshake versions to notify of changes; they do not sign off, so the oldest are dropped."""
RECALL = "recall"
MAX_PROMPT_CHARS = 10_000
_NOTIFY_SECONDS = 5.0
_RESOURCE_NOT_FOUND = -32002

Context = ServerRequestContext[Any, Any]


@dataclass(frozen=True)
class Offer:
    """What a host offers to clients; comparing two tells whether it has changed."""

    tools: tuple[dict[str, Any], ...]
    instructions: str
    has_notes: bool

    @classmethod
    def of(cls, host: Host) -> Offer:
        tools = tuple(tool.to_mcp() for tool in host.tools("direct"))
        return cls(tools, host.system_prompt("direct"), has_notes(host))


class MemslotServer(Server[Any]):
    """Serves one agent's host; the config may change while clients are connected."""

    def __init__(self, hosts: Hosts, workers: Workers) -> None:
        with hosts.borrow() as host:
            self.offer = Offer.of(host)
        self._hosts = hosts
        self._workers = workers
        self._conversation = f"mcp-{uuid.uuid4().hex}"
        self._bus = InMemorySubscriptionBus()
        self._clients: deque[ServerSession] = deque(maxlen=REMEMBERED_CLIENTS)
        super().__init__(
            "memslot",
            version=__version__,
            title="memslot",
            instructions=self.offer.instructions or None,
            lifespan=_watching_config,
            get_tool_input_schema=self._schema_of,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            on_subscriptions_listen=ListenHandler(self._bus),
        )
        self.add_notification_handler("notifications/initialized", types.NotificationParams, self._remember_client)

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """Announce that lists can change: over HTTP the SDK passes no options, and would deny it."""
        changing = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
        return super().create_initialization_options(
            notification_options or changing, experimental_capabilities, extensions
        )

    # Tools

    def _schema_of(self, name: str) -> dict[str, Any] | None:
        return next((tool["inputSchema"] for tool in self.offer.tools if tool["name"] == name), None)

    async def _list_tools(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool.model_validate(tool) for tool in self.offer.tools])

    async def _call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        return await self._workers.run(self._call, params.name, params.arguments)

    def _call(self, name: str, arguments: dict[str, Any] | None) -> types.CallToolResult:
        with self._hosts.borrow() as host:
            known = [tool.name for tool in host.tools("direct")]
            if name not in known:
                raise MCPError(
                    types.INVALID_PARAMS, f'there is no tool "{name}"; the tools are: {", ".join(known) or "none"}'
                )
            result = host.call_tool(name, arguments, session=self._session(host))
        return types.CallToolResult(
            content=[types.TextContent(text=_plain(result.text))],
            structured_content=_sendable(result),
            is_error=result.is_error,
        )

    def _session(self, host: Host) -> Session:
        return Session(host.agent_id, self._conversation, "direct")

    # Notes

    async def _list_resources(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        notes = await self._workers.run(self._notes)
        start = _page_start(params.cursor if params is not None else None)
        following = start + PAGE
        return types.ListResourcesResult(
            resources=[_resource(note) for note in notes[start:following]],
            next_cursor=str(following) if following < len(notes) else None,
        )

    def _notes(self) -> list[MemoryItem]:
        with self._hosts.borrow() as host:
            return list_notes(host, self._session(host))

    async def _list_templates(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            name="note",
            title="A note or a conversation",
            uri_template=TEMPLATE,
            description="Anything that the memory's search finds, by its path.",
            mime_type="text/markdown",
        )
        return types.ListResourceTemplatesResult(resource_templates=[template] if self.offer.has_notes else [])

    async def _read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        text = await self._workers.run(self._read, uri)
        if text is None:
            raise MCPError(_RESOURCE_NOT_FOUND, f"there is no note {uri}; resources/list names them", {"uri": uri})
        content = types.TextResourceContents(uri=uri, mime_type="text/markdown", text=_plain(text))
        return types.ReadResourceResult(contents=[content])

    def _read(self, uri: str) -> str | None:
        path = path_of(uri)
        if path is None:
            return None
        with self._hosts.borrow() as host:
            return read_note(host, path, self._session(host)) if has_notes(host) else None

    # Recall

    async def _list_prompts(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        prompt = types.Prompt(
            name=RECALL,
            title="Recall",
            description="A question with what the memory recalls about it, as an agent would see it.",
            arguments=[
                types.PromptArgument(name="query", description="What to recall, in plain words.", required=True)
            ],
        )
        return types.ListPromptsResult(prompts=[prompt])

    async def _get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        if params.name != RECALL:
            raise MCPError(types.INVALID_PARAMS, f'there is no prompt "{params.name}"; the only one is "{RECALL}"')
        query = (params.arguments or {}).get("query", "").strip()
        if not query:
            raise MCPError(types.INVALID_PARAMS, "query is missing: say in a few words what to recall")
        if len(query) > MAX_PROMPT_CHARS:
            raise MCPError(types.INVALID_PARAMS, f"query has more than {MAX_PROMPT_CHARS:,} characters")
        text = await self._workers.run(self._recall, query)
        message = types.PromptMessage(role="user", content=types.TextContent(text=_plain(text)))
        return types.GetPromptResult(description="What was recalled, and the question", messages=[message])

    def _recall(self, query: str) -> str:
        with self._hosts.borrow() as host:
            session = self._session(host)
            host.run("", session=session)  # use up what plugins say once, at the start
            with host.run(query, session=session) as run:
                return run.prompt if run.context else f"{query}\n\n(Nothing relevant in memory.)"

    # Upkeep

    async def warm_up(self) -> None:
        """Let plugins do their work at the start of a conversation, such as looking for changes on disk."""
        try:
            await self._workers.run(self._begin_conversation)
        except Exception as error:  # strict plugins raise; the server goes on
            warn(f"plugins could not be warmed up: {error}")

    def _begin_conversation(self) -> None:
        with (
            self._hosts.borrow() as host,
            host.run(""),
        ):  # not the client's session, which begins with its first message
            pass

    async def _remember_client(self, ctx: Context, params: types.NotificationParams) -> None:
        self._clients.append(ctx.session)

    async def watch_config(self) -> None:
        """Reload the host when the config changes, and notify clients."""
        seen = config_stamp()
        while True:
            await anyio.sleep(WATCH_SECONDS)
            now = config_stamp()
            if now == seen:
                continue
            seen = now
            try:
                await self._workers.run(self._hosts.reload)
                offer = await self._workers.run(self._look)
                await self.warm_up()
            except Exception as error:  # clients must not lose their server
                said = str(error) if isinstance(error, MemslotError) else f"{type(error).__name__}: {error}"
                warn(f"the config has changed but cannot be used, so the previous one stays in use: {said}")
                continue
            await self._take_up(offer)

    def _look(self) -> Offer:
        with self._hosts.borrow() as host:
            return Offer.of(host)

    async def _take_up(self, offer: Offer) -> None:
        if offer == self.offer:
            return
        self.offer = offer
        self.instructions = offer.instructions or None
        for event in (ToolsListChanged(), ResourcesListChanged(), PromptsListChanged()):
            await self._bus.publish(event)
        for client in list(self._clients):
            try:
                with anyio.fail_after(_NOTIFY_SECONDS):
                    await client.send_tool_list_changed()
                    await client.send_resource_list_changed()
            except Exception:  # the client is gone, or does not read
                with contextlib.suppress(ValueError):
                    self._clients.remove(client)


@contextlib.asynccontextmanager
async def _watching_config(server: Server[Any]) -> AsyncIterator[dict[str, Any]]:
    assert isinstance(server, MemslotServer)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.watch_config)
        yield {}
        tasks.cancel_scope.cancel()


def _resource(note: MemoryItem) -> types.Resource:
    changed = None if note.changed_at is None else types.Annotations(last_modified=note.changed_at.isoformat())
    return types.Resource(
        uri=uri_of(note), name=note.path, mime_type="text/markdown", size=note.size, annotations=changed
    )


def _page_start(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 9:
        raise MCPError(types.INVALID_PARAMS, "unknown cursor")
    return int(cursor)


def _sendable(result: ToolResult) -> dict[str, Any] | None:
    """A result's data, if the protocol can carry it."""
    if result.is_error or not isinstance(result.data, dict):
        return None
    try:
        json.dumps(result.data, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        return None
    return result.data


def _plain(text: str) -> str:
    """Text without lone surrogates, which cannot be sent."""
    return text.encode("utf-8", "replace").decode("utf-8")
