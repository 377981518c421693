"""memslot for the Claude Agent SDK: an in-process MCP server, and options with recall and capture."""

from __future__ import annotations

from memslot_adapters.optional_imports import requires_extra

with requires_extra("claude-agent", "claude_agent_sdk", "mcp", "mcp_types"):
    from memslot_adapters.claude_agent.options import with_memory
    from memslot_adapters.claude_agent.server import allowed_tools, memory_mcp_config, memory_server

__all__ = ["allowed_tools", "memory_mcp_config", "memory_server", "with_memory"]
