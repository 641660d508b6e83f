"""Forms that servers ask people to fill in: MCP's flat schemas, and what was filled in. No I/O.

A requested schema is an object of plain values: texts, numbers, booleans, choices, and lists of choices
(https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#requested-schema). It comes from a third
party and goes to whatever draws forms, so it is written anew from what is known of such schemas: what is not known is
left out, what makes it another kind of schema is refused, and so is one in whose names and choices something hides:
there it cannot be taken out. What a person fills in is checked against it before it is sent.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pegboard_mcp.client._plain import is_number
from pegboard_mcp.texts import clean as without_hidden

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_FIELDS = 50
MAX_CHOICES = 500
MAX_NAME = 100
MAX_ANSWER = 20_000
"""Characters of one text that is sent back."""

FORMATS = ("date", "date-time", "email", "uri")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")


_SECRET = re.compile(
    r"""pass[ -]?(?:word|phrase|code)|\bp(?:wd|asswd|in)\b|api[ _-]?key|(?:access|secret|private|security)[ _-]?key
    |secret|token|credential|\b(?:otp|2fa|mfa|cvv|cvc|seed\ phrase)\b|(?:security|verification|one[ -]time)\ code
    |credit\ card|passwort|kennwort|mot\ de\ passe|contrase.a|\bsenha\b|parola|пароль|密码|密碼|パスワード|비밀번호""",
    re.I | re.X,
)


class FormError(ValueError):
    """A requested schema is not a form; the text says where and why."""


def form_of(raw: Any, clean: Callable[[str], str]) -> dict[str, Any]:
    """The form that a server asks for, as a schema that holds nothing but what MCP's forms have.

    Args:
        raw: the server's `requestedSchema`.
        clean: makes a text fit to be shown.

    Raises:
        FormError: it is not a flat object of plain values, or larger than a form may be.
    """
    fields = raw.get("properties", {}) if isinstance(raw, Mapping) else None
    if not isinstance(fields, Mapping) or raw.get("type", "object") != "object":
        raise FormError("requestedSchema: expected an object schema with properties")
    if len(fields) > MAX_FIELDS:
        raise FormError(f"requestedSchema: {len(fields)} fields, at most {MAX_FIELDS} make a form")
    form: dict[str, Any] = {"type": "object", "properties": {}}
    optional = set()
    for name, field in fields.items():
        if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME or not name.isprintable():
            raise FormError("requestedSchema: a field's name is 1 to 100 printable characters")
        _require_shown(name, "the name of a field")
        plain, may_be_null = _without_null(field)
        if may_be_null:
            optional.add(name)
        form["properties"][name] = _field_of(name, plain, clean)
    required = raw.get("required", [])
    if not isinstance(required, list):
        raise FormError("requestedSchema.required: expected a list")
    form["required"] = [name for name in form["properties"] if name in required and name not in optional]
    return form


def filled_in(form: Mapping[str, Any], answer: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """What a person filled in, with the defaults of fields that were left out; and what is wrong with it.

    Args:
        form: what `form_of` gave.
        answer: values by field.
    """
    fields = form["properties"]
    content = {name: field["default"] for name, field in fields.items() if "default" in field}
    content |= {name: value for name, value in answer.items() if value is not None}
    faults = [f"{str(name)[:MAX_NAME]}: there is no such field" for name in content if name not in fields]
    faults += [f"{name}: a value is needed" for name in form["required"] if name not in content]
    for name in fields.keys() & content.keys():
        content[name], fault = _checked(fields[name], content[name])
        if fault:
            faults.append(f"{name}: expected {fault}")
    return content, sorted(faults)


def secret_fields(form: Mapping[str, Any], message: str) -> list[str]:
    """The fields that look as if they asked for a password or a key, or "the message" where that does.

    No form of a server may ask for one (the specification's "Elicitation", security considerations), and a person who
    is asked should hear of it first. It looks at words; a server that uses others is not found out.
    """
    from pegboard.config import looks_secret

    def is_one(name: str, field: Mapping[str, Any]) -> bool:
        labels = " ".join(str(field.get(key, "")) for key in ("title", "description"))
        return looks_secret(name) or looks_secret(str(field.get("title", ""))) or _SECRET.search(labels) is not None

    found = [name for name, field in form["properties"].items() if is_one(name, field)]
    return found or (["the message"] if form["properties"] and _SECRET.search(message) else [])


def _without_null(field: Any) -> tuple[Any, bool]:
    """A field that may also be null, as some servers write what is optional, is that field and optional."""
    kinds = field.get("anyOf") if isinstance(field, Mapping) and "type" not in field else None
    if not isinstance(kinds, list):
        return field, False
    rest = [kind for kind in kinds if kind != {"type": "null"}]
    if len(rest) != 1 or not isinstance(rest[0], Mapping):
        return field, False
    own = {key: value for key, value in field.items() if key not in ("anyOf", "default") or value is None}
    own |= {"default": field["default"]} if field.get("default") is not None else {}
    return {**rest[0], **{key: value for key, value in own.items() if value is not None}}, len(kinds) > 1


def _field_of(name: str, field: Any, clean: Callable[[str], str]) -> dict[str, Any]:
    kind = field.get("type") if isinstance(field, Mapping) else None
    made: dict[str, Any] = {"type": kind}
    if kind == "string":
        made |= _choices(field, "enum", "oneOf", name, clean) or _text_bounds(field)
    elif kind in ("number", "integer"):
        made |= {key: field[key] for key in ("minimum", "maximum") if is_number(field.get(key))}
    elif kind == "array":
        items = field.get("items")
        choices = _choices(items, "enum", "anyOf", name, clean) if isinstance(items, Mapping) else {}
        if not choices:
            raise FormError(f"requestedSchema.{name}: a list in a form is one of choices")
        made["items"] = {"type": "string", **choices}
        made |= {key: field[key] for key in ("minItems", "maxItems") if _is_count(field.get(key))}
    elif kind != "boolean":
        raise FormError(f"requestedSchema.{name}: expected a text, number, boolean or choice; forms are flat")
    for key in ("title", "description"):
        if isinstance(field.get(key), str):
            made[key] = clean(field[key])
    default = field.get("default")
    if "default" in field and not _checked(made, default)[1] and not (isinstance(default, str) and _hides(default)):
        made["default"] = default
    return made


def _hides(text: str) -> bool:
    return without_hidden(text)[0] != text


def _require_choice(value: str, name: str, clean: Callable[[str], str]) -> None:
    clean(value)  # refuses what is too long to be shown
    _require_shown(value, f"a choice of {name}")


def _require_shown(text: str, what: str) -> None:
    """Refuse a text that has to stay as it is, where a person sees another."""
    if _hides(text):
        raise FormError(f"requestedSchema: something hides in {what}")


def _choices(
    field: Mapping[str, Any], plain: str, titled: str, name: str, clean: Callable[[str], str]
) -> dict[str, Any]:
    """The choices of a field in the form they came in: plain, plain with names beside them, or each with its title."""
    listed, each = field.get(plain), field.get(titled)
    if listed is None and each is None:
        return {}
    many = listed if listed is not None else each
    if not isinstance(many, list) or not 0 < len(many) <= MAX_CHOICES:
        raise FormError(f"requestedSchema.{name}: expected 1 to {MAX_CHOICES} choices")
    if listed is not None:
        if not all(isinstance(one, str) for one in listed):
            raise FormError(f"requestedSchema.{name}: choices are texts")
        for one in listed:
            _require_choice(one, name, clean)
        named = field.get("enumNames")
        fits = isinstance(named, list) and len(named) == len(listed) and all(isinstance(one, str) for one in named)
        return {plain: list(listed)} | ({"enumNames": [clean(one) for one in named]} if named and fits else {})
    made = []
    for one in many:
        if not isinstance(one, Mapping) or not isinstance(one.get("const"), str):
            raise FormError(f"requestedSchema.{name}: a choice is a text with a title")
        _require_choice(one["const"], name, clean)
        title = one.get("title")
        made.append({"const": one["const"], "title": clean(title if isinstance(title, str) else one["const"])})
    return {titled: made}


def _text_bounds(field: Mapping[str, Any]) -> dict[str, Any]:
    made = {key: field[key] for key in ("minLength", "maxLength") if _is_count(field.get(key))}
    return made | ({"format": field["format"]} if field.get("format") in FORMATS else {})


def _checked(field: Mapping[str, Any], value: Any) -> tuple[Any, str | None]:
    """The value as it is sent, and what was expected instead; None where it fits."""
    kind = field["type"]
    if kind == "boolean":
        return value, None if isinstance(value, bool) else "yes or no"
    if kind in ("number", "integer"):
        return _checked_number(field, value)
    if kind == "array":
        choices = _values(field["items"])
        if not isinstance(value, (list, tuple)) or not all(isinstance(one, str) and one in choices for one in value):
            return value, f"some of {_shown(choices)}"
        least, most = field.get("minItems", 0), field.get("maxItems", MAX_CHOICES)
        return list(value), None if least <= len(value) <= most else f"{least} to {most} of them"
    if not isinstance(value, str):
        return value, "a text"
    return value, next(_text_faults(field, value), None)


def _checked_number(field: Mapping[str, Any], value: Any) -> tuple[Any, str | None]:
    if not is_number(value):
        return value, "a number"
    if field["type"] == "integer":
        if value != int(value):
            return value, "a whole number"
        value = int(value)
    if value < field.get("minimum", value) or value > field.get("maximum", value):
        return value, f"a number from {field.get('minimum', 'any')} to {field.get('maximum', 'any')}"
    return value, None


def _text_faults(field: Mapping[str, Any], value: str) -> Iterator[str]:
    choices = _values(field)
    if choices and value not in choices:
        yield f"one of {_shown(choices)}"
    least, most = field.get("minLength", 0), min(field.get("maxLength", MAX_ANSWER), MAX_ANSWER)
    if not least <= len(value) <= most:
        yield f"{least} to {most} characters"
    if (form := field.get("format")) and not _has_format(form, value):
        yield {"date": "a date, as 2026-07-28", "date-time": "a date and time, as 2026-07-28T12:00:00Z"}.get(
            form, f"an address ({form})"
        )


def _has_format(form: str, value: str) -> bool:
    try:
        if form == "date":
            return len(value) == 10 and bool(datetime.date.fromisoformat(value))
        if form == "date-time":
            return len(value) > 10 and bool(datetime.datetime.fromisoformat(value))
    except ValueError:
        return False
    return bool((_EMAIL if form == "email" else _URI).fullmatch(value))


def _values(field: Mapping[str, Any]) -> list[str]:
    each = field.get("oneOf") or field.get("anyOf") or ()
    return list(field.get("enum") or (one["const"] for one in each))


def _shown(choices: list[str]) -> str:
    shown = ", ".join(choices[:10])
    return f"{shown[:200]}, ..." if len(choices) > 10 or len(shown) > 200 else shown


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0
