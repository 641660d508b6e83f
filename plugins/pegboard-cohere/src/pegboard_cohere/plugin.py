"""The hooks of pegboard-cohere. Nothing here imports trio or httpx2: the first model that is opened does."""
