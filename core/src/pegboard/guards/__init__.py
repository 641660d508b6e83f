"""The guards and observers that come with the core, each a plugin on the public API."""
