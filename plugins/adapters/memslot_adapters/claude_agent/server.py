"""memslot's tools as an in-process MCP server, and the config for an external one."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mcp_types as types
from claude_agent_sdk import McpSdkServerConfig
from claude_agent_sdk.types import McpStdioServerConfig
from mcp.server import Server, ServerRequestContext
from memslot import Host, Session, __version__

from memslot_adapters.tools import ActiveRun, ChatType, Source, Toolbox, active_run

SERVER = "memslot"
"""The server's name, which is part of its tools' names."""


def memory_server(
    source: Source,
    *,
    session: str | Session | None = None,
    chat_type: ChatType | None = None,
    follow: Callable[[], ActiveRun | None] = active_run,
) -> McpSdkServerConfig:
    """The tools of a host or a run, for `ClaudeAgentOptions(mcp_servers={"memslot": …})`.

    `create_sdk_mcp_server` is not used, because it would validate arguments before plugins see them.
    """
    toolbox = Toolbox(source, session, chat_type, follow=follow)

    async def list_tools(
        ctx: ServerRequestContext[Any, Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool.model_validate(tool.to_mcp()) for tool in toolbox.tools])

    async def call_tool(
        ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        result = await toolbox.acall(params.name, params.arguments)
        text = result.text.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate cannot be sent
        return types.CallToolResult(content=[types.TextContent(text=text)], is_error=result.is_error)

    server: Server[Any] = Server(SERVER, version=__version__, on_list_tools=list_tools, on_call_tool=call_tool)
    return McpSdkServerConfig(type="sdk", name=SERVER, instance=server)


def allowed_tools(source: Source, *, chat_type: ChatType | None = None, server: str = SERVER) -> list[str]:
    """Claude's names for the tools, for `ClaudeAgentOptions(allowed_tools=…)`."""
    return [f"mcp__{server}__{tool.name}" for tool in Toolbox(source, chat_type=chat_type).tools]


def memory_mcp_config(host: Host | None = None) -> McpStdioServerConfig:
    """`memslot mcp` as a server that Claude starts, for `ClaudeAgentOptions(mcp_servers={"memslot": …})`.

    It reads the config files itself, those of the host's home and agent if given, and serves private chats. It needs
    memslot's MCP server: pip install "memslot[mcp]".
    """
    script = Path(sys.executable).with_name("memslot.exe" if sys.platform == "win32" else "memslot")
    command = [str(script)] if script.is_file() else [sys.executable, "-m", "memslot"]
    carried = {name: os.environ[name] for name in ("MEMSLOT_HOME", "MEMSLOT_CONFIG") if os.environ.get(name)}
    if host is not None:
        command += ["--agent", host.agent_id]
        carried = {"MEMSLOT_HOME": str(host.places.home), "MEMSLOT_CONFIG": str(host.places.config_file)}
    return McpStdioServerConfig(type="stdio", command=command[0], args=[*command[1:], "mcp"], env=carried)
