"""Tools from a `tool.manifest.json`: what it binds is run as it says, and no code is generated."""
