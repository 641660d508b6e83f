"""The prompts: plain, with arguments, with an embedded resource, with an image, and one that asks the person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard import BinaryContent, ImageContent, TextContent
from pegboard_conformance.samples import RED_PIXEL
from pegboard_mcp.capabilities import Message, Prompt, PromptArgument

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pegboard.session import Session


async def _simple(session: Session, arguments: Mapping[str, str]) -> str:
    return "This is a simple prompt for testing."


async def _with_arguments(session: Session, arguments: Mapping[str, str]) -> str:
    return f"Prompt with arguments: arg1='{arguments['arg1']}', arg2='{arguments['arg2']}'"


async def _complete(session: Session, argument: str, value: str, others: Mapping[str, str]) -> Sequence[str]:
    return [word for word in ("paris", "park", "party", "test", "testing") if word.startswith(value)]


async def _with_resource(session: Session, arguments: Mapping[str, str]) -> Sequence[Message]:
    embedded = BinaryContent(b"Embedded resource content for testing.", "text/plain", arguments["resourceUri"])
    return [
        Message("user", embedded),
        Message("user", TextContent("Please process the embedded resource above.")),
    ]


async def _with_image(session: Session, arguments: Mapping[str, str]) -> Sequence[Message]:
    return [
        Message("user", ImageContent(RED_PIXEL, "image/png")),
        Message("user", TextContent("Please analyze the image above.")),
    ]


async def _asking(session: Session, arguments: Mapping[str, str]) -> str:
    from pegboard_conformance.asking import form
    from pegboard_mcp.server.peer import peer_of

    peer = peer_of(session)
    answer = None if peer is None else await peer.elicit(**form("What context should the prompt use?", "context"))
    context = answer["content"]["context"] if answer and answer["action"] == "accept" else "none"
    return f"The context is: {context}"


PROMPTS = (
    Prompt(name="test_simple_prompt", get=_simple, description="One message of text."),
    Prompt(
        name="test_prompt_with_arguments",
        get=_with_arguments,
        description="A message made of two arguments.",
        arguments=(PromptArgument("arg1", "the first", True), PromptArgument("arg2", "the second", True)),
        complete=_complete,
    ),
    Prompt(
        name="test_prompt_with_embedded_resource",
        get=_with_resource,
        description="A message that embeds a resource.",
        arguments=(PromptArgument("resourceUri", "the resource to embed", True),),
    ),
    Prompt(name="test_prompt_with_image", get=_with_image, description="A message with an image."),
    Prompt(name="test_input_required_result_prompt", get=_asking, description="Asks the person before it answers."),
)
