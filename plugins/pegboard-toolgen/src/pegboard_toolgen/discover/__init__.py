"""Discovery: what a program, a library or an HTTP API offers, as drafts of tools."""
