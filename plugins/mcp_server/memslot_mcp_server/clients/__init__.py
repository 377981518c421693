"""The config files of MCP clients, changed with care."""
