"""Anthropic for Pegboard: the messages API as a model and as a dialect.

Importing this imports neither trio nor httpx2; the first model that is opened does.
"""

__version__ = "0.1.0"
