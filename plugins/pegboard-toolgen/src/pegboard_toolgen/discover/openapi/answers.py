"""What an operation answers with: a schema of the data, what to accept, and the errors that the document names.

Answers are held against their schema when they come, so a document that is wrong must not break the call: the schema is
loosened (see `pegboard_toolgen.schemas.loosen`). What the data looks like follows the binding's reader: an object is
the data, anything else comes as `{"result": value}`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import attrs

from pegboard_manifest import code_of_status
from pegboard_toolgen._prose import line
from pegboard_toolgen.discover.openapi.bodies import is_json, is_text, media_type_of
from pegboard_toolgen.discover.openapi.parameters import examples_of
from pegboard_toolgen.discover.openapi.swagger2 import answer_of
from pegboard_toolgen.schemas import UnusableError, Work, canonical, fit, loosen, or_null, plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pegboard_toolgen.discover.openapi.references import Schemas

Json = Any

ANYTHING: dict[str, Json] = {"type": "object"}
MAX_ERRORS = 30

OWN_CODES = {"402": "FORBIDDEN", "407": "UNAUTHORIZED", "423": "CONFLICT", "428": "CONFLICT", "451": "FORBIDDEN"}
"""What a binding says of statuses where the table that every binding has is coarse."""
_STATUS = re.compile(r"[1-5]([0-9][0-9]|XX)")


@attrs.frozen
class Answers:
    """The answers of one operation, converted; `schema_of` waits until all schemas are."""

    parts: list[Json]
    accept: str | None = None
    parser: str | None = None
    errors: list[dict[str, Json]] = attrs.field(factory=list)
    statuses: dict[str, str] = attrs.field(factory=dict)
    examples: dict[str, Json] = attrs.field(factory=dict)
    redirects: bool = False


def answers_of(said: Json, method: str, media_types: list[str], schemas: Schemas, notes: list[str]) -> Answers:
    """Read the responses of an operation.

    Args:
        said: `responses`.
        method: in capitals.
        media_types: what Swagger 2 produces.
        schemas: converts answers.
        notes: what was guessed.
    """
    document = schemas.document
    parts: list[Json] = []
    offered: dict[str, None] = {}
    errors: dict[str, dict[str, Json]] = {}
    examples: dict[str, Json] = {}
    by_status = _by_status(said)
    for status, answer in by_status.items():
        try:
            answer = document.follow(answer)
        except UnusableError as problem:
            notes.append(f"The answer {status} is not described: {problem}.")
            answer = {}
        if status == "default" or status[0] in "45" or status == "304":
            errors[status] = _error(status, answer)
        elif status in REDIRECTS:
            when = f"HTTP {status} to another origin, which is not followed."
            errors[status] = {"code": "UPSTREAM_ERROR", "when": when}
        elif status in ("204", "205") or (method == "HEAD" and status[0] == "2"):
            parts.append(NOTHING)
        elif status[0] == "2":
            content = _content(answer, media_types, is_swagger_2=document.is_swagger_2)
            parts += [_part(media_type, part, schemas, notes) for media_type, part in content.items()] or [{}]
            offered |= dict.fromkeys(content)
            examples = examples or _examples(content, schemas)
    if method == "HEAD":
        parts, offered = [NOTHING], {}
    return Answers(
        parts,
        _accept(list(offered)),
        "none" if parts and all(part is NOTHING for part in parts) else None,
        list(errors.values())[:MAX_ERRORS],
        {status: OWN_CODES[status] for status in errors if status in OWN_CODES},
        examples,
        any(status in errors for status in REDIRECTS),
    )


NOTHING: dict[str, Json] = {"type": "null"}
REDIRECTS = ("301", "302", "303", "307", "308", "3XX")


def _by_status(said: Json) -> dict[str, Json]:
    found = {}
    for status, answer in said.items() if isinstance(said, dict) else ():
        status = str(status).upper() if status != "default" else "default"
        if status == "default" or _STATUS.fullmatch(status):
            found[status] = answer
    return dict(sorted(found.items()))


def _content(answer: Mapping[str, Json], produces: list[str], *, is_swagger_2: bool) -> dict[str, Json]:
    if is_swagger_2:
        answer = answer_of(answer, produces)
    content = answer.get("content")
    found: dict[str, Json] = {}
    for key, part in content.items() if isinstance(content, dict) else ():
        if media_type := media_type_of(key):
            found[media_type] = part if isinstance(part, dict) else {}
    return dict(sorted(found.items(), key=lambda item: (not is_json(item[0]), item[0] != "application/json")))


def _part(media_type: str, part: Mapping[str, Json], schemas: Schemas, notes: list[str]) -> Json:
    if is_json(media_type):
        return schemas.convert(part.get("schema", {}), [])
    if is_text(media_type):
        return {"type": "string"}
    notes.append(f"An answer of type {media_type} comes as a resource.")
    return {}


def _examples(content: Mapping[str, Json], schemas: Schemas) -> dict[str, Json]:
    for media_type, part in content.items():
        if is_json(media_type):
            return examples_of(schemas.document, part)
    return {}


def _accept(offered: list[str]) -> str | None:
    """What to ask for, where it is not what every binding asks for."""
    if not offered or {"application/json", "*/*", "application/*"} & set(offered):
        return None
    text = ", ".join([*offered[:4], "*/*;q=0.5"])
    return text if len(text) <= 256 else None


def _error(status: str, answer: Mapping[str, Json]) -> dict[str, Json]:
    text = line(answer.get("description"), 300)
    which = "Any other status" if status == "default" else f"HTTP {status}"
    if status == "default":
        code = "UPSTREAM_ERROR"
    else:
        code = OWN_CODES.get(status) or str(code_of_status(int(status.replace("XX", "99"))))
    return {"code": code, "when": f"{which}: {text}" if text else f"{which}."}


# The schema ----------------------------------------------------------------------------------------------------------


def schema_of(
    parts: list[Json], defs: Mapping[str, Json], budget: int, *, is_strict: bool, work: Work | None = None
) -> tuple[dict[str, Json], list[str]]:
    """The schema of the result's data, from what each success may answer with.

    Args:
        parts: converted schemas; none means that nothing is known.
        defs: of the answers.
        budget: bytes of the whole schema.
        is_strict: hold answers to what the document says, as far as it fits.
        work: a bound that all answers share.
    """
    known = list({canonical(part): part for part in parts}.values())
    if not known or {} in known or True in known:
        return dict(ANYTHING), ["Nothing is said of the answer; any is taken."]
    shrink = fit if is_strict else loosen
    share = max(400, budget // len(known) - 60)
    notes: list[str] = []
    shapes: dict[str, Json] = {}
    for part in known:
        schema, said = shrink(part, defs, share, work=work)
        notes += [note for note in said if note not in notes]
        for shape in _shapes(schema, plain(part, defs), is_strict=is_strict):
            shapes[canonical(shape)] = shape
    if not is_strict and any(part.keys() - {"type"} for part in known):
        notes.insert(0, LOOSENED)
    found = list(shapes.values())
    if len(found) == 1:
        return found[0], notes
    if ANYTHING in found or len(found) > 8:
        return dict(ANYTHING), notes
    return {"type": "object", "anyOf": [_without_type(shape) for shape in found]}, notes


LOOSENED = "Answers are held to names and types alone: nothing is required, null is taken, other fields pass."


def _without_type(shape: dict[str, Json]) -> dict[str, Json]:
    return {key: value for key, value in shape.items() if key != "type"}


def _shapes(schema: Json, said: Json, *, is_strict: bool) -> list[dict[str, Json]]:
    """The data that a value of this schema becomes: itself where it is an object, `{"result": value}` where not."""
    types = said.get("type") if isinstance(said, dict) else None
    types = [types] if isinstance(types, str) else types
    if not isinstance(schema, dict) or not types:
        return [_of_unknown(schema, is_strict=is_strict)]
    others = [name for name in types if name != "object"]
    found: list[dict[str, Json]] = []
    if "object" in types:
        found.append({**schema, "type": "object"})
    if others and (is_strict or others != ["null"] or not found):
        result = {"type": "null"} if others == ["null"] else schema if is_strict else or_null(schema)
        wrapped: dict[str, Json] = {"type": "object", "properties": {"result": result}}
        found.append({**wrapped, "required": ["result"], "additionalProperties": False} if is_strict else wrapped)
    return found


def _of_unknown(schema: Json, *, is_strict: bool) -> dict[str, Json]:
    """A schema that says no type is only followed where it is a choice of objects."""
    if isinstance(schema, dict):
        for key in ("anyOf", "oneOf", "allOf"):
            parts = schema.get(key)
            if isinstance(parts, list) and parts and all(_is_object(part) for part in parts):
                return {**schema, "type": "object"}
        if "properties" in schema and not is_strict:
            return {**schema, "type": "object"}
    return dict(ANYTHING)


def _is_object(schema: Json) -> bool:
    types = schema.get("type") if isinstance(schema, dict) else None
    return types in ("object", ["object", "null"])


def as_data(value: Json) -> dict[str, Json]:
    """An answer as the data of a result."""
    return value if isinstance(value, dict) else {"result": value}
