"""memslot for MCP clients and coding agents."""
