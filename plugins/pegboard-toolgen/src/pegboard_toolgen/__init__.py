"""Make and keep a `tool.manifest.json` for an existing program, library or HTTP API."""
