"""Memory tools for Pegboard: `remember`, `search_memory` and `forget_memory`."""
