"""Request bodies: which of the offered types is sent, and what of it becomes a parameter.

A JSON body is one parameter, `body`, always; a form is a parameter a field. A rule that looked at the schema (spread
a small object, keep a large one) would change a tool's schema whenever a field is added, and could not tell a body
that is left out from an empty one. A form is a flat list of named fields already, as its Swagger 2 parameters are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import attrs

from pegboard_toolgen._prose import shown
from pegboard_toolgen.discover.openapi.parameters import MAX_PARAMETERS, Field, described, examples_of
from pegboard_toolgen.discover.openapi.swagger2 import FORM, MULTIPART
from pegboard_toolgen.schemas import UnusableError, is_clean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pegboard_toolgen.discover.openapi.references import Document, Schemas

Json = Any

_MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+*-]{1,60}/[A-Za-z0-9!#$&^_.+*-]{1,60}")
_BASE64: dict[str, Json] = {"type": "string", "contentEncoding": "base64"}
_BINARY = ("image/", "audio/", "video/", "font/")


def media_type_of(text: Json) -> str | None:
    """A media type without its parameters, in small letters; None where it is not one."""
    bare = text.split(";")[0].strip().lower() if isinstance(text, str) else ""
    return bare if _MEDIA_TYPE.fullmatch(bare) else None


def is_json(media_type: str) -> bool:
    """Whether a media type is JSON (RFC 6839, section 3.1), or any type at all."""
    return media_type in ("application/json", "text/json", "*/*", "application/*") or media_type.endswith("+json")


def is_text(media_type: str) -> bool:
    """Whether a body of this type is text as it is."""
    return media_type.startswith("text/") or media_type.endswith(
        ("+xml", "/xml", "yaml", "/graphql", "/sql", "/x-ndjson")
    )


def _rank(media_type: str) -> tuple[int, str]:
    kinds = (
        media_type == "application/json",
        is_json(media_type) and "*" not in media_type,
        is_json(media_type),
        media_type == FORM,
        media_type == MULTIPART,
        media_type == "text/plain",
        is_text(media_type),
        True,
    )
    return kinds.index(True), media_type


@attrs.frozen
class Body:
    """What an operation sends: the fields that a caller gives, and the binding's body without their names."""

    media_type: str
    fields: list[Field]
    is_whole: bool


def body_of(declared: Json, schemas: Schemas, notes: list[str]) -> Body | None:
    """The request body of an operation; None where there is nothing to send.

    Raises:
        UnusableError: it has to be sent and cannot be.
    """
    body = schemas.document.follow(declared)
    content = body.get("content")
    content = content if isinstance(content, dict) else {}
    offered = {media_type: key for key in content if (media_type := media_type_of(key))}
    if not offered:
        if body.get("required") is True:
            raise UnusableError("its body is required and of no known type")
        return None
    media_type = min(offered, key=_rank)
    part = content[offered[media_type]]
    part = part if isinstance(part, dict) else {}
    others = sorted(offered.keys() - {media_type})
    if others:
        notes.append(f"The body is sent as {media_type}; the server also takes {', '.join(others[:5])}.")
    if "*" in media_type:
        media_type = "application/json"
    if media_type in (FORM, MULTIPART):
        fields = _form(part, schemas, notes, is_multipart=media_type == MULTIPART)
        if fields is not None:
            return Body(media_type, fields, False) if fields else None
    return Body(media_type, [_whole(body, part, media_type, schemas, notes)], True)


def _whole(
    body: Mapping[str, Json], part: Mapping[str, Json], media_type: str, schemas: Schemas, notes: list[str]
) -> Field:
    declared = part.get("schema", {})
    if is_json(media_type):
        schema = described(schemas.convert(declared, notes), body.get("description"))
    elif media_type in (FORM, MULTIPART):
        schema = described({"type": "object"}, body.get("description"))
        notes.append("The fields of the form are not described.")
    elif is_text(media_type):
        schema = described({"type": "string"}, body.get("description"))
        if not media_type.startswith("text/"):
            notes.append(f"The body is {media_type}, given as text.")
    else:
        schema = described(dict(_BASE64), body.get("description"))
        notes.append(f"The body is {media_type}, given in base64.")
    return Field(
        place="body",
        wire="body",
        schema=schema,
        is_required=body.get("required") is True,
        examples=examples_of(schemas.document, part),
    )


def _form(part: Mapping[str, Json], schemas: Schemas, notes: list[str], *, is_multipart: bool) -> list[Field] | None:
    """The fields of a form, or None where it does not list them."""
    body = object_behind(schemas.document, part.get("schema"))
    properties = body.get("properties")
    if not isinstance(properties, dict):
        return None if body else []
    if not properties and body.get("additionalProperties") not in (None, False):
        return None
    if body.keys() & {"allOf", "anyOf", "oneOf", "not", "if", "dependentRequired"}:
        notes.append("What the form says of its fields together is not checked.")
    required = body.get("required")
    required = set(map(str, required)) if isinstance(required, list) else set()
    encoding = part.get("encoding")
    encoding = encoding if isinstance(encoding, dict) else {}
    whole = examples_of(schemas.document, part)
    found = []
    for name, schema in properties.items():
        if not isinstance(name, str) or not is_clean(name) or not name:
            raise UnusableError(f"the field {shown(name)} cannot be sent")
        plain = object_behind(schemas.document, schema)
        if plain.get("readOnly") is True:
            continue
        how = encoding.get(name)
        field = _form_field(name, schema, plain, how if isinstance(how, dict) else {}, schemas, notes, is_multipart)
        examples = {key: value[name] for key, value in whole.items() if isinstance(value, dict) and name in value}
        found.append(attrs.evolve(field, is_required=name in required, examples=examples or field.examples))
    if len(found) > MAX_PARAMETERS:
        raise UnusableError(f"its form has more than {MAX_PARAMETERS} fields")
    return found


def _form_field(
    name: str,
    schema: Json,
    plain: Mapping[str, Json],
    how: Mapping[str, Json],
    schemas: Schemas,
    notes: list[str],
    is_multipart: bool,
) -> Field:
    binding: dict[str, Json] = {}
    media_type = media_type_of(str(how.get("contentType", "")).split(",")[0])
    if is_multipart and is_file(plain):
        binding["file"] = True
        kept = described(dict(_BASE64), plain.get("description"))
    elif is_multipart and is_file(object_behind(schemas.document, plain.get("items"))):
        binding["file"] = True
        kept = described({"type": "array", "items": dict(_BASE64)}, plain.get("description"))
    else:
        kept = described(schemas.convert(schema, notes), None)
    if is_multipart and media_type and "*" not in media_type:
        binding["media_type"] = media_type
    if not is_multipart:
        binding |= _style(how)
    return Field(
        place="form",
        wire=name,
        schema=kept,
        is_required=False,
        binding=binding,
        examples=examples_of(schemas.document, {"schema": plain}),
    )


def _style(how: Mapping[str, Json]) -> dict[str, Json]:
    """How a list or an object is written in a form, where the document says it (OpenAPI 3.1, 4.8.15)."""
    style, explode = how.get("style"), how.get("explode")
    if style not in (None, "form", "spaceDelimited", "pipeDelimited", "tabDelimited", "deepObject"):
        return {}
    if style is None and not isinstance(explode, bool):
        return {}
    style = style or "form"
    return {"style": style, "explode": explode if isinstance(explode, bool) else style == "form"}


def is_file(schema: Mapping[str, Json]) -> bool:
    """Whether a field of a form is a file, in the words of any version."""
    if schema.get("type") == "file" or (schema.get("type") == "string" and schema.get("format") == "binary"):
        return True
    media_type = schema.get("contentMediaType")
    is_bytes = isinstance(media_type, str) and (
        media_type.startswith(_BINARY) or media_type == "application/octet-stream"
    )
    return is_bytes or ("contentEncoding" in schema and schema.get("contentEncoding") != "identity")


def object_behind(document: Document, schema: Json) -> dict[str, Json]:
    """A schema behind its references, with the properties of what `allOf` names."""
    body = document.follow(schema)
    parts = body.get("allOf")
    if not isinstance(parts, list) or not parts:
        return body
    properties: dict[str, Json] = {}
    required: list[Json] = []
    for part in [*(document.follow(item) for item in parts[:50]), body]:
        inside, needs = part.get("properties"), part.get("required")
        properties |= inside if isinstance(inside, dict) else {}
        required += needs if isinstance(needs, list) else []
    rest = {key: value for key, value in body.items() if key != "allOf"}
    return {**rest, **({"properties": properties} if properties else {}), "required": required}
