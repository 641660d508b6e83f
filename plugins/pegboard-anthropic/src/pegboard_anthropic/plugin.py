"""The hooks of pegboard-anthropic. Nothing here imports trio or httpx2: the first model that is opened does."""
