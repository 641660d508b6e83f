"""The resources: text, bytes, one to subscribe to, and a template."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pegboard_conformance.samples import RED_PIXEL
from pegboard_mcp.capabilities import Resource, ResourceTemplate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pegboard.session import Session


async def _text(session: Session, uri: str) -> str:
    return "This is the content of the static text resource."


async def _bytes(session: Session, uri: str) -> bytes:
    return RED_PIXEL


async def _watched(session: Session, uri: str) -> str:
    return "Watched resource content"


async def _templated(session: Session, uri: str) -> str:
    number = uri.removeprefix("test://template/").removesuffix("/data")
    return json.dumps({"id": number, "templateTest": True, "data": f"Data for ID: {number}"})


async def _complete(session: Session, argument: str, value: str, others: Mapping[str, str]) -> Sequence[str]:
    return [number for number in ("1", "12", "123") if number.startswith(value)]


RESOURCES = (
    Resource(uri="test://static-text", name="static text", read=_text, description="A text.", mime_type="text/plain"),
    Resource(
        uri="test://static-binary", name="static binary", read=_bytes, description="An image.", mime_type="image/png"
    ),
    Resource(
        uri="test://watched-resource",
        name="watched resource",
        read=_watched,
        description="A text to subscribe to.",
        mime_type="text/plain",
    ),
    ResourceTemplate(
        uri_template="test://template/{id}/data",
        name="template",
        read=_templated,
        description="Data by its number.",
        mime_type="application/json",
        complete=_complete,
    ),
)
