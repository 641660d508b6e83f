"""The dialects that come with the core, each a plugin on the public API: `text` for people, `json` for programs."""
