"""Chat with tools: the loop, the conversation, the command, and the contract of a model.

A program that chats takes `Chat`, `Conversation` and `open_model`; a package that brings a model provider implements
`Provider`, `Model` and `ModelDialect`, with what `pegboard_chat.portable` (tools in the provider's words) and
`pegboard_chat.wire` (HTTP) share. Importing this imports neither trio nor httpx2; the first model that is opened does.

.. versionadded:: 0.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard.starting import lazy_names

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
    from pegboard_chat.events import (
        AnswerCut,
        CallEnded,
        CallStarted,
        ChatEnded,
        Event,
        Events,
        RoundEnded,
        event_to_json,
    )
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
    "event_to_json",
    "open_model",
    "providers_of",
    "settings_of",
]

__getattr__ = lazy_names(
    __name__,
    {
        "._answer": ("answer",),
        ".budget": ("Budget",),
        ".contract": (
            "CallDelta",
            "Delta",
            "ForcedTool",
            "Model",
            "ModelDialect",
            "ModelError",
            "ModelExport",
            "ModelRequest",
            "Provider",
            "Reply",
            "Stop",
            "StreamReader",
            "TextDelta",
            "ThinkingDelta",
            "ToolChoice",
        ),
        ".conversation": ("Conversation", "Message", "Usage"),
        ".events": (
            "AnswerCut",
            "CallEnded",
            "CallStarted",
            "ChatEnded",
            "Event",
            "Events",
            "RoundEnded",
            "event_to_json",
        ),
        ".loop": ("Chat", "settings_of"),
        ".models": ("open_model", "providers_of"),
        ".settings": ("ChatSettings",),
    },
)
