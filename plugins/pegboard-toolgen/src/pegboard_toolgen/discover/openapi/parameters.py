"""Parameters of an operation, its path's and its own: each becomes a property of the input, and a place in the binding.

A name on the wire is the property's name where every provider of models takes it. Where two of one operation would
share a name, each of them gets its place before it (`query_id`, `path_id`): which comes first never matters.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import attrs

from pegboard_manifest import is_reserved_header, sanitise
from pegboard_toolgen._prose import prose, shown
from pegboard_toolgen.discover.openapi.swagger2 import parameter_of
from pegboard_toolgen.schemas import MAX_TEXT, LostReferenceError, UnusableError, is_clean, untitled

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from pegboard_toolgen.discover.openapi.references import Document, Schemas

Json = Any

MAX_PARAMETERS = 400
PLACES = ("path", "query", "header", "cookie")
_STYLES = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "tabDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}
FIT_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}")
PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


@attrs.frozen(kw_only=True)
class Field:
    """One property of a tool's input, and where it goes.

    Args:
        place: path, query, header, cookie; body, or form for one field of a form or of a JSON object.
        wire: its name there.
        schema: converted.
        is_required: whether every call has to give it.
        binding: what the binding says beside the parameter's name.
        example: what the document gives, or a mark for nothing.
        examples: by their names in the document.
    """

    place: str
    wire: str
    schema: dict[str, Json]
    is_required: bool
    binding: Mapping[str, Json] = attrs.field(factory=dict)
    examples: Mapping[str, Json] = attrs.field(factory=dict)


def merged(document: Document, notes: list[str], *groups: Json) -> list[dict[str, Json]]:
    """The parameters of a path and of an operation; of two with one name and place the later wins.

    One that is only referred to and cannot be found goes with a note: its name and its place stand elsewhere.
    """
    found: dict[tuple[str, str], dict[str, Json]] = {}
    for group in groups:
        if group is None:
            continue
        if not isinstance(group, list):
            raise UnusableError("its parameters are not a list")
        for said in group:
            try:
                parameter = document.follow(said)
            except LostReferenceError as problem:
                notes.append(f"A parameter is not known: {problem}.")
                continue
            name, place = parameter.get("name"), parameter.get("in")
            if not isinstance(name, str) or not isinstance(place, str) or not name:
                raise UnusableError("a parameter says no name or no place")
            found[(place, name.lower() if place == "header" else name)] = parameter
            if len(found) > MAX_PARAMETERS:
                raise UnusableError(f"it has more than {MAX_PARAMETERS} parameters")
    return list(found.values())


def fields_of(
    parameters: Iterable[Mapping[str, Json]],
    path: str,
    schemas: Schemas,
    notes: list[str],
    *,
    secret: Collection[tuple[str, str]] = (),
) -> list[Field]:
    """The parameters that a caller gives.

    Args:
        parameters: merged.
        path: of the operation, with its placeholders.
        schemas: converts theirs.
        notes: what was left out or guessed.
        secret: places and names that the server's auth sends.

    Raises:
        UnusableError: one of them cannot be sent.
    """
    places = placeholders(path)
    found = []
    for parameter in parameters:
        place, name = parameter["in"], parameter["name"]
        if place in ("body", "formData"):
            continue
        if place not in PLACES:
            raise UnusableError(f"nothing can be sent in {shown(place)}")
        if (place, name.lower()) in secret:
            notes.append(f"{_called(name)} is sent with the server's credentials.")
        elif place == "header" and (is_reserved_header(name) or name.lower() == "accept"):
            notes.append(f"The header {_called(name)} belongs to whoever sends the request.")
        elif place == "path" and name not in places:
            notes.append(f"{_called(name)} has no place in the path and was left out.")
        elif place in ("header", "cookie") and not _HEADER_NAME.fullmatch(name):
            raise UnusableError(f"the {place} {shown(name)} cannot be sent")
        elif (field := _field(parameter, schemas, notes)) is not None:
            found.append(field)
    known = {field.wire for field in found if field.place == "path"}
    for name in places:
        if name not in known:
            notes.append(f"{_called(name)} stands in the path and is described nowhere; any text is taken.")
            found.append(Field(place="path", wire=name, schema={"type": "string", "minLength": 1}, is_required=True))
    return found


def placeholders(path: str) -> list[str]:
    """The names in braces of a path, each once."""
    return list(dict.fromkeys(PLACEHOLDER.findall(path)))


def _called(name: str) -> str:
    return sanitise(name, 60, one_line=True) or "A parameter"


def _field(parameter: Mapping[str, Json], schemas: Schemas, notes: list[str]) -> Field | None:
    """A parameter as a field; None for an optional one whose reference cannot be followed."""
    if schemas.document.is_swagger_2:
        parameter = parameter_of(parameter)
    place, name = parameter["in"], parameter["name"]
    if not is_clean(name):
        raise UnusableError(f"the name {shown(name)} cannot be sent")
    binding: dict[str, Json] = {}
    said = parameter.get("schema")
    content = parameter.get("content")
    if said is None and isinstance(content, dict) and content:
        media_type = "application/json" if "application/json" in content else min(content)
        binding["media_type"] = sanitise(media_type, 128, one_line=True)
        part = content[media_type]
        said = part.get("schema") if isinstance(part, dict) else None
        if isinstance(part, dict):
            parameter = {**parameter, **{key: part[key] for key in ("example", "examples") if key in part}}
    else:
        binding |= _style(parameter, place, name, notes)
    is_required = place == "path" or parameter.get("required") is True
    converted = converted_or_text(said, name, schemas, notes, is_required=is_required)
    if converted is None:
        return None
    schema = described(untitled(name, converted), parameter.get("description"))
    if not _says_values(schema):
        notes.append(f"Nothing says what {_called(name)} is; a text is taken.")
        schema = {"type": "string", **schema}
    if (
        place == "path"
        and schema.get("type") == "string"
        and not schema.keys() & {"minLength", "enum", "const", "pattern"}
    ):
        schema["minLength"] = 1
    return Field(
        place=place,
        wire=name,
        schema=schema,
        is_required=is_required,
        binding=binding,
        examples=examples_of(schemas.document, parameter),
    )


def converted_or_text(said: Json, name: str, schemas: Schemas, notes: list[str], *, is_required: bool) -> Json:
    """The schema of a parameter; text or None where its reference cannot be followed: see `_field`."""
    try:
        schemas.document.follow(said)
        return schemas.convert({} if said is None else said, notes)
    except LostReferenceError as problem:
        what = "any text is taken" if is_required else "it is optional and was left out"
        notes.append(f"Nothing says what {_called(name)} is, for {problem}; {what}.")
        return {"type": "string"} if is_required else None


def _says_values(schema: Mapping[str, Json]) -> bool:
    return bool(schema.keys() - {"title", "description", "default", "examples", "deprecated"})


def _style(parameter: Mapping[str, Json], place: str, name: str, notes: list[str]) -> dict[str, Json]:
    """Style and explode, where they are not those that a binding takes without them."""
    default = "simple" if place in ("path", "header") else "form"
    style = parameter.get("style", default)
    if style not in _STYLES[place]:
        notes.append(f"The style of {_called(name)} does not fit its place; {default} is used.")
        style = default
    explode = parameter.get("explode")
    explode = explode if isinstance(explode, bool) else style == "form"
    found: dict[str, Json] = {} if style == default else {"style": style}
    if explode != (style == "form"):
        found["explode"] = explode
    if parameter.get("allowReserved") is True:
        notes.append(f"Reserved characters in {_called(name)} are encoded.")
    return found


def described(schema: Json, description: Json) -> dict[str, Json]:
    """A schema as an object, with the description of what it stands for unless it has its own."""
    if not isinstance(schema, dict):
        schema = {} if schema else {"not": {}}
    said = prose(description, MAX_TEXT)
    return {**schema, "description": said} if said else dict(schema)


def examples_of(document: Document, said: Mapping[str, Json]) -> dict[str, Json]:
    """The examples of a parameter, a media type or a schema, by name; `` for one without."""
    found: dict[str, Json] = {}
    if "example" in said:
        found[""] = said["example"]
    examples = said.get("examples")
    if isinstance(examples, dict):
        for name in sorted(examples)[:5]:
            try:
                example = document.follow(examples[name])
            except UnusableError:
                continue
            if "value" in example:
                found[name] = example["value"]
    schema = said.get("schema")
    if not found and isinstance(schema, dict):
        listed = schema.get("examples")
        if "example" in schema:
            found[""] = schema["example"]
        elif isinstance(listed, list) and listed:
            found[""] = listed[0]
    return found


def named(fields: Sequence[Field]) -> Iterator[tuple[str, Field]]:
    """Each field with the name of its property."""
    wanted = [_wanted(field) for field in fields]
    shared = {name for name, count in Counter(wanted).items() if count > 1}
    placed = [
        f"{field.place}_{name}"[:64] if name in shared else name for name, field in zip(wanted, fields, strict=True)
    ]
    again = {name for name, count in Counter(placed).items() if count > 1}
    for name, field in zip(placed, fields, strict=True):
        if name in again:
            digest = hashlib.sha256(f"{field.place} {field.wire}".encode("utf-8", "replace")).hexdigest()[:6]
            name = f"{name[:57]}_{digest}"
        yield name, field


def _wanted(field: Field) -> str:
    if FIT_NAME.fullmatch(field.wire):
        return field.wire
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", field.wire).strip("_")[:64] or field.place
