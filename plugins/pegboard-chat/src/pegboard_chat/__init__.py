"""Chat with tools: the loop, the conversation, the command, and what bridges to models share.

Importing this imports neither trio nor httpx2; the first model that is opened does.
"""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "AnswerCut": "events",
    "Budget": "budget",
    "CallDelta": "contract",
    "CallEnded": "events",
    "CallStarted": "events",
    "Chat": "loop",
    "ChatEnded": "events",
    "ChatSettings": "settings",
    "Conversation": "conversation",
    "Delta": "contract",
    "Event": "events",
    "Events": "events",
    "ForcedTool": "contract",
    "Message": "conversation",
    "Model": "contract",
    "ModelDialect": "contract",
    "ModelError": "contract",
    "ModelExport": "contract",
    "ModelRequest": "contract",
    "Provider": "contract",
    "Reply": "contract",
    "RoundEnded": "events",
    "Stop": "contract",
    "StreamReader": "contract",
    "TextDelta": "contract",
    "ThinkingDelta": "contract",
    "ToolChoice": "contract",
    "Usage": "conversation",
    "answer": "_answer",
    "open_model": "models",
    "providers_of": "models",
    "settings_of": "loop",
}
"""Where each name lives; a module is imported when one of its names is asked for: every start of a board comes here."""

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
