"""Request bodies: which of the offered types is sent, and what of it becomes a parameter.

An object that names its properties, and a form, are a parameter for each of them: `title=x` says more than a text of
JSON. It stays one parameter, `body`, where that would lose something: where a property has the name of another
parameter, or there are properties that the document does not name, choices of several objects, too many of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import attrs

from pegboard_toolgen._prose import shown
from pegboard_toolgen.discover.openapi.parameters import (
    FIT_NAME,
    MAX_PARAMETERS,
    Field,
    converted_or_text,
    described,
    examples_of,
)
from pegboard_toolgen.discover.openapi.references import object_behind, properties_of
from pegboard_toolgen.discover.openapi.swagger2 import FORM, MULTIPART
from pegboard_toolgen.schemas import LostReferenceError, UnusableError, is_clean, untitled

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from pegboard_toolgen.discover.openapi.references import Document, Schemas

Json = Any

_MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+*-]{1,60}/[A-Za-z0-9!#$&^_.+*-]{1,60}")
_BASE64: dict[str, Json] = {"type": "string", "contentEncoding": "base64"}
_BINARY = ("image/", "audio/", "video/", "font/")
MAX_SPREAD = 64
"""An object of more properties stays one parameter."""
_MANY_OBJECTS = frozenset(("allOf", "anyOf", "oneOf", "discriminator", "patternProperties", "unevaluatedProperties"))
_TOGETHER = frozenset(
    ("not", "if", "dependentRequired", "dependentSchemas", "dependencies", "minProperties", "maxProperties",
    "propertyNames")
)  # fmt: skip


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
    """What an operation sends: the fields that a caller gives, and the binding's body without their names.

    Args:
        media_type: of the body.
        fields: one that is the whole body, or one for each of its members.
        is_whole: which of the two.
        needed: fields that a body needs that may be left out: nothing is sent where no field is given.
        description: of a body whose fields are parameters.
    """

    media_type: str
    fields: list[Field]
    is_whole: bool
    needed: tuple[str, ...] = ()
    description: Json = None


def body_of(declared: Json, schemas: Schemas, notes: list[str], taken: Collection[str] = ()) -> Body | None:
    """The request body of an operation; None where there is nothing to send.

    Args:
        declared: `requestBody`.
        schemas: converts its schema.
        notes: what was lost or guessed.
        taken: names of the operation's parameters.

    Raises:
        UnusableError: it has to be sent and cannot be.
    """
    try:
        body = schemas.document.follow(declared)
    except LostReferenceError as problem:
        return Body("application/json", [_any_object({}, problem, notes)], True)
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
    if is_json(media_type) and (spread := _spread(body, part, media_type, schemas, notes, taken)) is not None:
        return spread
    return Body(media_type, [_whole(body, part, media_type, schemas, notes)], True)


def _any_object(body: Mapping[str, Json], problem: LostReferenceError, notes: list[str]) -> Field:
    notes.append(f"Nothing says what the body is, for {problem}; any object is taken.")
    schema = described({"type": "object"}, body.get("description"))
    return Field(place="body", wire="body", schema=schema, is_required=body.get("required") is True)


def _spread(
    body: Mapping[str, Json], part: Mapping[str, Json], media_type: str, schemas: Schemas, notes: list[str],
    taken: Collection[str],
) -> Body | None:  # fmt: skip
    """A JSON object as a parameter for each property; None where it has to stay one."""
    is_required = body.get("required") is True
    try:
        whole = object_behind(schemas.document, _without_null(schemas.document, part.get("schema"), is_required))
    except LostReferenceError:
        return None
    known = {name: _behind_or_nothing(schemas.document, schema) for name, schema in properties_of(whole).items()}
    names = [name for name, plain in known.items() if plain.get("readOnly") is not True]
    required = whole.get("required")
    required = set(map(str, required)) if isinstance(required, list) else set()
    fits = all(FIT_NAME.fullmatch(name) and name not in taken for name in names)
    if not (0 < len(names) <= MAX_SPREAD and fits and required <= known.keys() and _is_one_object(whole, is_required)):
        return None
    if whole.keys() & _TOGETHER:
        notes.append("What the body says of its fields together is not checked.")
    shown_whole = examples_of(schemas.document, {**part, "schema": whole})
    fields = []
    for name in names:
        examples = {key: value[name] for key, value in shown_whole.items() if isinstance(value, dict) and name in value}
        field = Field(
            place="form",
            wire=name,
            schema=described(untitled(name, _converted_or_any(name, whole["properties"][name], schemas, notes)), None),
            is_required=is_required and name in required,
            examples=examples or examples_of(schemas.document, {"schema": known[name]}),
        )
        fields.append(field)
    needed = () if is_required else tuple(name for name in names if name in required)
    return Body(media_type, fields, False, needed, body.get("description", whole.get("description")))


def _is_one_object(whole: Mapping[str, Json], is_required: bool) -> bool:
    """Whether a schema is an object of the named properties and nothing else; null too, where nothing may be sent."""
    types = whole.get("type", "object")
    types = set(types) if isinstance(types, list) and all(isinstance(one, str) for one in types) else {types}
    may_be_null = "null" in types or whole.get("nullable") is True or whole.get("x-nullable") is True
    return (
        types - {"null"} == {"object"}
        and not (may_be_null and is_required)
        and not whole.keys() & _MANY_OBJECTS
        and whole.get("additionalProperties") in (None, False)
    )


def _without_null(document: Document, schema: Json, is_required: bool) -> Json:
    """What a body may be beside null, where it may as well be left out."""
    said = document.follow(schema)
    for key in ("anyOf", "oneOf"):
        members = said.get(key)
        if not is_required and isinstance(members, list) and len(members) == 2:
            rest = [member for member in members if document.follow(member).get("type") != "null"]
            if len(rest) == 1:
                return rest[0]
    return schema


def _converted_or_any(name: str, schema: Json, schemas: Schemas, notes: list[str]) -> Json:
    try:
        return schemas.convert(schema, notes)
    except LostReferenceError as problem:
        notes.append(f"Nothing says what {shown(name)} is, for {problem}; any value is taken.")
        return {}


def _whole(
    body: Mapping[str, Json], part: Mapping[str, Json], media_type: str, schemas: Schemas, notes: list[str]
) -> Field:
    declared = part.get("schema", {})
    if is_json(media_type):
        try:
            schemas.document.follow(declared)
            schema = described(schemas.convert(declared, notes), body.get("description"))
        except LostReferenceError as problem:
            return _any_object(body, problem, notes)
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
    try:
        body = object_behind(schemas.document, part.get("schema"))
    except LostReferenceError as problem:
        notes.append(f"Nothing says what the form is, for {problem}.")
        return None
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
        plain = _behind_or_nothing(schemas.document, schema)
        if plain.get("readOnly") is True:
            continue
        how = encoding.get(name)
        how = how if isinstance(how, dict) else {}
        field = _form_field(name, schema, plain, how, schemas, notes, is_multipart, name in required)
        if field is None:
            continue
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
    is_required: bool,
) -> Field | None:
    binding: dict[str, Json] = {}
    media_type = media_type_of(str(how.get("contentType", "")).split(",")[0])
    if is_multipart and is_file(plain):
        binding["file"] = True
        kept = described(dict(_BASE64), plain.get("description"))
    elif is_multipart and is_file(object_behind(schemas.document, plain.get("items"))):
        binding["file"] = True
        kept = described({"type": "array", "items": dict(_BASE64)}, plain.get("description"))
    else:
        converted = converted_or_text(schema, name, schemas, notes, is_required=is_required)
        if converted is None:
            return None
        kept = described(converted, None)
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


def _behind_or_nothing(document: Document, schema: Json) -> dict[str, Json]:
    try:
        return object_behind(document, schema)
    except LostReferenceError:
        return {}
