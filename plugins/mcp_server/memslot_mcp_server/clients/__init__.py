"""The config files of MCP clients."""
