"""The MCP server and its transports."""
