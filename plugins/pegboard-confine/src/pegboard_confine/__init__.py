"""Programs of others in a sandbox: bubblewrap shows them only what they were given, and nobody answers them but the
hosts that were named.

A library: pegboard-mcp confines servers with it, pegboard-system commands. Importing this is light.
"""
