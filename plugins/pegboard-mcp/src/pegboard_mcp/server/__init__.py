"""The board as a server: `pegboard serve`."""
