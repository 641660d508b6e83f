"""What an operation answers with: a schema of the data, what to accept, and the errors that the document names.

Answers are held against their schema when they come, so a document that is wrong must not break the call: the schema is
loosened (see `pegboard_toolgen.schemas.loosen`). What the data looks like follows the binding's reader: an object is the data,
anything else comes as `{"result": value}`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import attrs

from pegboard_toolgen.discover.openapi.bodies import description_of, is_json, is_text, media_type_of
from pegboard_toolgen.discover.openapi.parameters import examples_of
from pegboard_toolgen.discover.openapi.references import Schemas
from pegboard_toolgen.discover.openapi.swagger2 import answer_of
from pegboard_toolgen.schemas import UnusableError, canonical, fit, loosen, plain

Json = Any

ANYTHING: dict[str, Json] = {"type": "object"}
MAX_ERRORS = 30

CODES = {
    "400": "INVALID_INPUT",
    "422": "INVALID_INPUT",
    "401": "UNAUTHORIZED",
    "403": "FORBIDDEN",
    "404": "NOT_FOUND",
    "410": "NOT_FOUND",
    "409": "CONFLICT",
    "412": "CONFLICT",
    "408": "TIMEOUT",
    "504": "TIMEOUT",
    "429": "RATE_LIMITED",
}
"""The table that every binding has; what it leaves open follows."""
MORE_CODES = {
    "402": "FORBIDDEN",
    "407": "UNAUTHORIZED",
    "411": "INVALID_INPUT",
    "413": "INVALID_INPUT",
    "414": "INVALID_INPUT",
    "416": "INVALID_INPUT",
    "423": "CONFLICT",
    "428": "CONFLICT",
    "431": "INVALID_INPUT",
    "451": "FORBIDDEN",
}
_STATUS = re.compile(r"[1-5]([0-9][0-9]|XX)")


@attrs.frozen
class Answers:
    """The answers of one operation, converted; `schema_of` waits until all schemas are."""

    parts: list[Json]
    accept: str | None
    parser: str | None
    errors: list[dict[str, Json]]
    statuses: dict[str, str]
    examples: dict[str, Json]


def code_of(status: str) -> str:
    """The code of an error status."""
    if status in CODES or status in MORE_CODES:
        return CODES.get(status) or MORE_CODES[status]
    return "UPSTREAM_ERROR"


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
    errors: list[dict[str, Json]] = []
    examples: dict[str, Json] = {}
    for status, answer in sorted(_by_status(said).items()):
        try:
            answer = document.follow(answer)
        except UnusableError as problem:
            notes.append(f"The answer {status} is not described: {problem}.")
            answer = {}
        if status == "default" or status[0] in "45":
            errors.append(_error(status, answer))
        elif status[0] == "2":
            content = _content(answer, media_types, is_swagger_2=document.is_swagger_2, status=status)
            parts += [_part(media_type, part, schemas, notes) for media_type, part in content.items()] or [_NOTHING]
            offered |= dict.fromkeys(content)
            examples = examples or _examples(content, schemas)
    if method == "HEAD":
        return Answers([_NOTHING], None, "none", errors[:MAX_ERRORS], _statuses(errors), {})
    parser = "none" if parts and all(part is _NOTHING for part in parts) else None
    return Answers(parts, _accept(list(offered)), parser, errors[:MAX_ERRORS], _statuses(errors), examples)


_NOTHING = {"type": "null"}


def _by_status(said: Json) -> dict[str, Json]:
    found = {}
    for status, answer in said.items() if isinstance(said, dict) else ():
        status = str(status).upper() if status != "default" else "default"
        if status == "default" or _STATUS.fullmatch(status):
            found[status] = answer
    return found


def _content(answer: Mapping[str, Json], produces: list[str], *, is_swagger_2: bool, status: str) -> dict[str, Json]:
    if is_swagger_2:
        answer = answer_of(answer, produces) if status not in ("204", "205") else {}
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
    kept = [media_type for media_type in offered if "*" not in media_type]
    if not kept or "application/json" in kept or len(kept) < len(offered):
        return None
    text = ", ".join([*kept[:4], "*/*;q=0.5"])
    return text if len(text) <= 256 else None


def _error(status: str, answer: Mapping[str, Json]) -> dict[str, Json]:
    text = description_of(answer.get("description"), 300)
    which = "Any other status" if status == "default" else f"HTTP {status}"
    return {"code": code_of(status), "when": f"{which}: {' '.join(text.split())}" if text else f"{which}."}


def _statuses(errors: list[dict[str, Json]]) -> dict[str, str]:
    """What the binding has to say, as the table that it has does not."""
    found = {}
    for error in errors:
        status = error["when"].removeprefix("HTTP ")[:3]
        if status in MORE_CODES:
            found[status] = error["code"]
    return found


# The schema ------------------------------------------------------------------------------------------------------------


def schema_of(parts: list[Json], defs: Mapping[str, Json], budget: int, *, is_strict: bool) -> tuple[dict[str, Json], list[str]]:
    """The schema of the result's data, from what each success may answer with.

    Args:
        parts: converted schemas; none means that nothing is known.
        defs: of the answers.
        budget: bytes of the whole schema.
        is_strict: hold answers to what the document says, as far as it fits.
    """
    if not parts:
        return dict(ANYTHING), ["Nothing is said of the answer; any is taken."]
    shrink = fit if is_strict else loosen
    share = max(400, budget // len(parts) - 60)
    notes: list[str] = []
    shapes: dict[str, Json] = {}
    for part in parts:
        schema, said = shrink(part, defs, share)
        notes += [note for note in said if note not in notes]
        for shape in _shapes(schema, plain(part, defs)):
            shapes[canonical(shape)] = shape
    if not is_strict and any(part not in ({}, _NOTHING) for part in parts):
        notes.insert(0, "Answers are held to names and types alone: nothing is required, null is taken, other fields pass.")
    found = list(shapes.values())
    if len(found) == 1:
        return found[0], notes
    if ANYTHING in found or len(found) > 8:
        return dict(ANYTHING), notes
    return {"type": "object", "anyOf": [_bare(shape) for shape in found]}, notes


def _bare(shape: dict[str, Json]) -> dict[str, Json]:
    return {key: value for key, value in shape.items() if key != "type"}


def _shapes(schema: Json, said: Json) -> list[dict[str, Json]]:
    """The data that a value of this schema becomes: itself where it is an object, `{"result": value}` where not."""
    types = said.get("type") if isinstance(said, dict) else None
    types = [types] if isinstance(types, str) else types
    if not isinstance(schema, dict) or not types:
        return [_of_unknown(schema)]
    others = [name for name in types if name != "object"]
    found = []
    if "object" in types:
        found.append({**schema, "type": "object"})
    if others == ["null"]:
        found.append({"type": "object", "properties": {"result": {"type": "null"}}})
    elif others:
        found.append({"type": "object", "properties": {"result": schema}})
    if len(found) == 2 and others == ["null"]:
        found = found[:1]  # an object that requires nothing takes {"result": null}
    return found


def _of_unknown(schema: Json) -> dict[str, Json]:
    """A schema that says no type is only followed where it is a choice of objects."""
    if isinstance(schema, dict):
        for key in ("anyOf", "allOf"):
            parts = schema.get(key)
            if isinstance(parts, list) and parts and all(_is_object(part) for part in parts):
                return {**schema, "type": "object"}
        if "properties" in schema:
            return {**schema, "type": "object"}
    return dict(ANYTHING)


def _is_object(schema: Json) -> bool:
    types = schema.get("type") if isinstance(schema, dict) else None
    return types == "object" or types == ["object", "null"]
