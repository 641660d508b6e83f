"""The hooks of pegboard-openai. Nothing here imports trio or httpx2: the first model that is opened does."""
