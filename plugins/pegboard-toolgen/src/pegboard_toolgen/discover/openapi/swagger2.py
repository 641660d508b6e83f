"""Swagger 2 in the words of OpenAPI 3: parameters, bodies, answers and security schemes; schemas stay as they are.

Lenient where real documents are wrong: a parameter may say `schema`, `style` and `explode` as in OpenAPI 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Json = Any

FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"

_STYLES = {
    "csv": ("form", False),
    "ssv": ("spaceDelimited", False),
    "tsv": ("tabDelimited", False),
    "pipes": ("pipeDelimited", False),
    "multi": ("form", True),
}
_OF_THE_PARAMETER = frozenset(
    ("name", "in", "description", "required", "schema", "style", "explode", "collectionFormat", "allowEmptyValue")
)


def parameter_of(parameter: Mapping[str, Json]) -> dict[str, Json]:
    """A parameter that is not a body, as OpenAPI 3 would say it."""
    members = {key: value for key, value in parameter.items() if key not in _OF_THE_PARAMETER}
    schema = parameter.get("schema")
    found = {
        key: parameter[key] for key in ("name", "in", "description", "required", "style", "explode") if key in parameter
    }
    found["schema"] = {**members, **schema} if isinstance(schema, dict) else members
    for key in ("example", "x-example"):
        if key in parameter:
            found["example"] = parameter[key]
    is_list = members.get("type") in ("array", "list")
    if is_list and parameter.get("in") in ("query", "formData"):
        style, explode = _STYLES.get(str(parameter.get("collectionFormat", "csv")), _STYLES["csv"])
        found = {"style": style, "explode": explode, **found}
    return found


def body_of(parameters: Sequence[Mapping[str, Json]], media_types: Sequence[str]) -> dict[str, Json] | None:
    """The parameters that are the body, as a request body of OpenAPI 3; None where there is none."""
    for parameter in parameters:
        if parameter.get("in") == "body":
            content: dict[str, Json] = {"schema": parameter.get("schema", {})}
            for key in ("example", "x-example", "x-examples"):
                if key in parameter and key != "x-examples":
                    content["example"] = parameter[key]
            body: dict[str, Json] = {
                "content": dict.fromkeys(media_types or ["application/json"], content),
                "required": parameter.get("required") is True,
            }
            if isinstance(parameter.get("description"), str):
                body["description"] = parameter["description"]
            return body
    fields = [
        parameter
        for parameter in parameters
        if parameter.get("in") == "formData" and isinstance(parameter.get("name"), str)
    ]
    return _form(fields, media_types) if fields else None


def _form(fields: Sequence[Mapping[str, Json]], media_types: Sequence[str]) -> dict[str, Json]:
    properties: dict[str, Json] = {}
    encoding: dict[str, Json] = {}
    for parameter in fields:
        name = parameter["name"]
        part = parameter_of(parameter)
        schema = {**part["schema"]}
        if isinstance(part.get("description"), str):
            schema["description"] = part["description"]
        if "example" in part:
            schema["example"] = part["example"]
        properties[name] = schema
        if "style" in part:
            encoding[name] = {"style": part["style"], "explode": part.get("explode", True)}
    has_file = any(schema.get("type") == "file" for schema in properties.values())
    media_type = MULTIPART if has_file or (MULTIPART in media_types and FORM not in media_types) else FORM
    required = [parameter["name"] for parameter in fields if parameter.get("required") is True]
    schema = {"type": "object", "properties": properties, "required": required}
    return {"content": {media_type: {"schema": schema, "encoding": encoding}}, "required": bool(required)}


def answer_of(answer: Mapping[str, Json], media_types: Sequence[str]) -> dict[str, Json]:
    """A response, as OpenAPI 3 would say it."""
    found: dict[str, Json] = {"description": answer.get("description", "")}
    examples = answer.get("examples")
    examples = examples if isinstance(examples, dict) else {}
    schema = answer.get("schema")
    # Without a schema the answer may well have a body, of the types that the operation says it produces.
    content: dict[str, Json] = {}
    for media_type in media_types or ["application/json"]:
        content[media_type] = {"schema": schema} if isinstance(schema, dict) else {}
        if media_type in examples:
            content[media_type]["example"] = examples[media_type]
    found["content"] = content
    return found


def scheme_of(scheme: Mapping[str, Json]) -> dict[str, Json]:
    """A security scheme, as OpenAPI 3 would say it."""
    if scheme.get("type") == "basic":
        return {**scheme, "type": "http", "scheme": "basic"}
    return dict(scheme)
