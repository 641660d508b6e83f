"""Chat with tools: the loop, the conversation, the command, and the contract of a model.

A program that chats takes `Chat`, `Conversation` and `open_model`; a package that brings a model provider implements
`Provider`, `Model` and `ModelDialect`, with what `pegboard_chat.portable` (tools in the provider's words) and
`pegboard_chat.wire` (HTTP) share. Importing this imports neither trio nor httpx2; the first model that is opened does.

.. versionadded:: 0.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from pegboard_chat._answer import answer
    from pegboard_chat.budget import Budget
    from pegboard_chat.contract import (
        CallDelta,
        Delta,
        ForcedTool,
        Model,
        ModelDialect,
        ModelError,
        ModelExport,
        ModelRequest,
        Provider,
        Reply,
        Stop,
        StreamReader,
        TextDelta,
        ThinkingDelta,
        ToolChoice,
    )
    from pegboard_chat.conversation import Conversation, Message, Usage
    from pegboard_chat.events import AnswerCut, CallEnded, CallStarted, ChatEnded, Event, Events, RoundEnded
    from pegboard_chat.loop import Chat, settings_of
    from pegboard_chat.models import open_model, providers_of
    from pegboard_chat.settings import ChatSettings

__all__ = [
    "AnswerCut",
    "Budget",
    "CallDelta",
    "CallEnded",
    "CallStarted",
    "Chat",
    "ChatEnded",
    "ChatSettings",
    "Conversation",
    "Delta",
    "Event",
    "Events",
    "ForcedTool",
    "Message",
    "Model",
    "ModelDialect",
    "ModelError",
    "ModelExport",
    "ModelRequest",
    "Provider",
    "Reply",
    "RoundEnded",
    "Stop",
    "StreamReader",
    "TextDelta",
    "ThinkingDelta",
    "ToolChoice",
    "Usage",
    "answer",
    "open_model",
    "providers_of",
    "settings_of",
]

_HOMES = {
    "AnswerCut": "pegboard_chat.events",
    "Budget": "pegboard_chat.budget",
    "CallDelta": "pegboard_chat.contract",
    "CallEnded": "pegboard_chat.events",
    "CallStarted": "pegboard_chat.events",
    "Chat": "pegboard_chat.loop",
    "ChatEnded": "pegboard_chat.events",
    "ChatSettings": "pegboard_chat.settings",
    "Conversation": "pegboard_chat.conversation",
    "Delta": "pegboard_chat.contract",
    "Event": "pegboard_chat.events",
    "Events": "pegboard_chat.events",
    "ForcedTool": "pegboard_chat.contract",
    "Message": "pegboard_chat.conversation",
    "Model": "pegboard_chat.contract",
    "ModelDialect": "pegboard_chat.contract",
    "ModelError": "pegboard_chat.contract",
    "ModelExport": "pegboard_chat.contract",
    "ModelRequest": "pegboard_chat.contract",
    "Provider": "pegboard_chat.contract",
    "Reply": "pegboard_chat.contract",
    "RoundEnded": "pegboard_chat.events",
    "Stop": "pegboard_chat.contract",
    "StreamReader": "pegboard_chat.contract",
    "TextDelta": "pegboard_chat.contract",
    "ThinkingDelta": "pegboard_chat.contract",
    "ToolChoice": "pegboard_chat.contract",
    "Usage": "pegboard_chat.conversation",
    "answer": "pegboard_chat._answer",
    "open_model": "pegboard_chat.models",
    "providers_of": "pegboard_chat.models",
    "settings_of": "pegboard_chat.loop",
}
"""Where each name lives; a module is imported when one of its names is asked for: every start of a board comes here."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
