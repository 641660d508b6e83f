"""OpenAI for Pegboard: chat completions, responses, and any compatible server.

Importing this imports neither trio nor httpx2; the first model that is opened does.
"""

__version__ = "0.1.0"
