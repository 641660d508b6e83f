"""One MCP server as whoever looks after it wants to know it: `McpSource.describe`.

What it says of itself is a third party's: it is cleaned, without its secrets, and bounded. Prompts, resources and
templates are opened as anybody opens them, so that what a person has to accept first stays closed here too.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from pegboard import ErrorCode, ToolError, ToolResult
from pegboard.sources import SourceDetails, SourceOffer
from pegboard.text import clean_value
from pegboard_mcp.client._plain import masked
from pegboard_mcp.texts import clean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pegboard import Session
    from pegboard.sources import SourceMessage
    from pegboard_mcp.client._errors import LinkError
    from pegboard_mcp.client.catalogue import Catalogue
    from pegboard_mcp.client.negotiation import Agreement
    from pegboard_mcp.prompts_and_resources import Prompt, Resource, ResourceTemplate

MAX_OFFERS = 2_000
"""Prompts, resources and templates of one server that are told."""
MAX_INSTRUCTIONS = 20_000
MAX_SAID = 50_000
"""What a server may say of itself, in characters of JSON; more is left out."""
_EXPRESSION = re.compile(r"\{[+#./;?&]?([^{}]{1,200})\}")
_VARIABLE = re.compile(r"(?<![^,])[\w.%]+")
"""A variable of an expression, without what says how it is written: `:3`, `*`."""


def describe(
    catalogue: Catalogue,
    *,
    starts: int,
    trouble: LinkError | None,
    agreed: Agreement | None,
    log: tuple[SourceMessage, ...],
) -> SourceDetails:
    """The server of a catalogue."""
    definition, listing = catalogue.definition, catalogue.listing
    told: dict[str, Any] = {}
    if agreed is not None:
        told = {
            "protocol": agreed.version,
            "server": _said(catalogue, agreed.server_info),
            "capabilities": _said(catalogue, agreed.capabilities),
            "instructions": _words(catalogue, agreed.instructions),
        }
    return SourceDetails(
        location=definition.shown,
        transport=definition.transport,
        starts=starts,
        last_words=None if trouble is None else trouble.explanation,
        left_out={} if listing is None else {clean(name)[0]: why for name, why in listing.left_out.items()},
        log=log,
        offers=_offers(catalogue, completes=agreed is not None and "completions" in agreed.capabilities),
        **told,
    )


def _said(catalogue: Catalogue, value: dict[str, Any]) -> dict[str, Any]:
    """What the server says of itself, as JSON."""
    if len(json.dumps(value)) > MAX_SAID:
        return {"left out": f"it says more than {MAX_SAID:,} characters of this"}
    said: dict[str, Any] = clean_value(masked(value, catalogue.definition.mask))[0]
    return said


def _words(catalogue: Catalogue, text: str | None) -> str | None:
    return None if text is None else clean(catalogue.definition.mask(text))[0][:MAX_INSTRUCTIONS]


def _offers(catalogue: Catalogue, *, completes: bool) -> tuple[SourceOffer, ...]:
    listing = catalogue.listing
    if listing is None:
        return ()
    from pegboard_mcp.prompts_and_resources import Resource

    offers = [_prompt_offer(one, completes=completes) for one in catalogue.prompts(listing)]
    for one in catalogue.resources(listing)[: MAX_OFFERS - len(offers)]:
        offers.append(_resource_offer(one) if isinstance(one, Resource) else _template_offer(one, completes=completes))
    return tuple(offers[:MAX_OFFERS])


def _prompt_offer(prompt: Prompt, *, completes: bool) -> SourceOffer:
    async def get(session: Session, arguments: Mapping[str, Any]) -> ToolResult:
        messages = await prompt.get(session, {name: _text(value) for name, value in arguments.items()})
        if isinstance(messages, str):
            return ToolResult.text(messages)
        data = {"messages": [{"role": one.role, "content": one.content.to_json()} for one in messages]}
        return ToolResult(content=tuple(one.content for one in messages), data=data)

    properties = {
        one.name: {"type": "string", "description": one.description, **({"title": one.title} if one.title else {})}
        for one in prompt.arguments
    }
    return SourceOffer(
        kind="prompt",
        name=prompt.name,
        open=get,
        title=prompt.title,
        description=prompt.description,
        complete=prompt.complete if completes else None,
        input_schema=_object(properties, [one.name for one in prompt.arguments if one.required]),
    )


def _resource_offer(resource: Resource) -> SourceOffer:
    async def read(session: Session, arguments: Mapping[str, Any]) -> ToolResult:
        return _shown(await resource.read(session, resource.uri))

    return SourceOffer(kind="resource", name=resource.uri, open=read, **_labels(resource))


def _template_offer(template: ResourceTemplate, *, completes: bool) -> SourceOffer:
    form = template.uri_template

    async def read(session: Session, arguments: Mapping[str, Any]) -> ToolResult:
        from mcp.shared.uri_template import InvalidUriTemplate, UriTemplate  # not before a server is reached

        try:
            uri = UriTemplate.parse(form).expand({name: _text(value) for name, value in arguments.items()})
        except (InvalidUriTemplate, ValueError, TypeError) as problem:
            why = f"the template {form[:200]!r} cannot be filled in: {str(problem)[:200]}"
            raise ToolError(ErrorCode.INVALID_INPUT, why) from None
        return _shown(await template.read(session, uri))

    names = list(dict.fromkeys(name for inside in _EXPRESSION.findall(form) for name in _VARIABLE.findall(inside)))
    schema = _object({name: {"type": "string"} for name in names}, names)
    complete = template.complete if completes else None
    return SourceOffer(
        kind="template", name=form, open=read, complete=complete, input_schema=schema, **_labels(template)
    )


def _labels(one: Resource | ResourceTemplate) -> dict[str, Any]:
    return {"title": one.title or one.name, "description": one.description, "mime_type": one.mime_type}


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any] | None:
    if not properties:
        return None
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _shown(given: Any) -> ToolResult:
    return ToolResult.text(given) if isinstance(given, str) else ToolResult(content=tuple(given))


def _text(value: Any) -> str:
    """Arguments of prompts and of templates are texts."""
    return value if isinstance(value, str) else json.dumps(value)
