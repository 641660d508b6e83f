"""The board as a client: one tool source for each MCP server."""
