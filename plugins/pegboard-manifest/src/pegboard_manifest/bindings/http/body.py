"""What a request carries: JSON, a form, a form with files, text or bytes, from typed arguments. No I/O.

The bytes depend on the arguments alone, the boundary of a multipart body included, so that a golden test can hold them.
NUL is refused in texts of every kind; bytes that come as base64 are nobody's text.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import TYPE_CHECKING, Any

import attrs

from pegboard_manifest.bindings.http.styles import encode, json_text, query_pairs, refuse, scalar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pegboard_manifest.bindings.http.styles import Where

FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
WITHOUT_BODY = frozenset({"GET", "HEAD", "DELETE", "OPTIONS", "TRACE"})
"""Methods whose requests have no body unless there is something to put into it."""
MAX_REFS = 16


@attrs.frozen
class Field:
    """One field of a form or of a JSON object.

    Args:
        parameter: the argument's name.
        name: on the wire.
        style: of a form's value; None: lists are repeated, objects are JSON.
        explode: see OpenAPI.
        is_file: sent as a file, with a file name.
        is_base64: the argument is bytes in base64.
        media_type: of its part.
    """

    parameter: str
    name: str
    style: str | None = None
    explode: bool = True
    is_file: bool = False
    is_base64: bool = False
    media_type: str | None = None


@attrs.frozen
class Body:
    """How a body is made: of one argument, or of fields.

    Args:
        media_type: as the request says it.
        parameter: the argument that is the whole body; None: `fields` are it.
        is_base64: that argument is bytes in base64.
        fields: in their order.
        is_required: whether there is a body where no field is given.
    """

    media_type: str
    parameter: str | None = None
    is_base64: bool = False
    fields: tuple[Field, ...] = ()
    is_required: bool = True

    @classmethod
    def of(cls, body: Mapping[str, Any], schema: Mapping[str, Any] | None, defs: Mapping[str, Any] | None) -> Body:
        """What a binding's `body` says; the schema says which texts are base64."""
        parameter = body.get("parameter")
        return cls(
            body["media_type"],
            parameter,
            parameter is not None and is_base64(schema, defs, parameter),
            tuple(
                Field(
                    field["parameter"],
                    field["name"],
                    field.get("style"),
                    field.get("explode", field.get("style", "form") == "form"),
                    field.get("file", False),
                    is_base64(schema, defs, field["parameter"]),
                    field.get("media_type"),
                )
                for field in body.get("fields", ())
            ),
            body.get("required", True),
        )

    def content(self, method: str, arguments: Mapping[str, Any]) -> tuple[str, bytes] | None:
        """Media type and bytes; None: the request has no body.

        Raises:
            ToolError: INVALID_INPUT: a value that this media type cannot carry.
        """
        essence = essence_of(self.media_type)
        if self.parameter is not None:
            if self.parameter not in arguments:
                return None
            return self._whole(essence, arguments[self.parameter])
        given = [field for field in self.fields if field.parameter in arguments]
        if not given and (method in WITHOUT_BODY or not self.is_required):
            return None
        if essence == FORM:
            return self.media_type, "&".join(_form_pairs(given, arguments)).encode("ascii")
        if essence == MULTIPART:
            return _multipart([part for field in given for part in _parts_of(field, arguments[field.parameter])])
        value = {field.name: arguments[field.parameter] for field in given}
        return self.media_type, _json_bytes(value, (), self.fields)

    def _whole(self, essence: str, value: Any) -> tuple[str, bytes]:
        assert self.parameter is not None
        where = (self.parameter,)
        if is_json(essence):
            return self.media_type, _json_bytes(value, where)
        if essence in (FORM, MULTIPART):
            if not isinstance(value, dict):
                refuse(where, "an object, whose members are the fields of a form", value)
            fields = [Field(key, key) for key in value]
            if essence == FORM:
                return self.media_type, "&".join(_form_pairs(fields, value, where)).encode("ascii")
            return _multipart([part for field in fields for part in _parts_of(field, value[field.name], where)])
        return self.media_type, _bytes_of(value, where, self.is_base64)


def essence_of(media_type: str) -> str:
    """`type/subtype` in lower case, without parameters."""
    return media_type.partition(";")[0].strip().lower()


def is_json(essence: str) -> bool:
    """Whether a media type is JSON (RFC 6839, section 3.1)."""
    return essence in ("application/json", "text/json") or essence.endswith("+json")


def is_base64(schema: Mapping[str, Any] | None, defs: Mapping[str, Any] | None, parameter: str) -> bool:
    """Whether an argument is text in base64: its schema, or that of its items, says `contentEncoding`."""
    waiting: list[Any] = [((schema or {}).get("properties") or {}).get(parameter)]
    for _ in range(MAX_REFS):
        if not waiting:
            return False
        one = waiting.pop()
        if not _is_mapping(one):
            continue
        if one.get("contentEncoding") in ("base64", "base64url"):
            return True
        reference = one.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/$defs/"):
            name = reference.removeprefix("#/$defs/")
            waiting.append(((schema or {}).get("$defs") or {}).get(name) or (defs or {}).get(name))
        waiting += [one.get("items"), *(one.get("anyOf") or ()), *(one.get("oneOf") or ())]
    return False


def _is_mapping(value: Any) -> bool:
    from collections.abc import Mapping

    return isinstance(value, Mapping)


def _json_bytes(value: Any, where: Where, fields: Sequence[Field] = ()) -> bytes:
    text = json_text(value, where)
    if "\\u0000" in text:
        _refuse_nul(value, where, {field.name: field.parameter for field in fields})
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        refuse(where, "text without half a surrogate pair", "a lone surrogate")


def _refuse_nul(value: Any, where: Where, names: Mapping[str, str]) -> None:
    if isinstance(value, str):
        if "\x00" in value:
            refuse(where, "text without NUL", value)
    elif isinstance(value, dict):
        for key, item in value.items():
            _refuse_nul(key, where, {})
            _refuse_nul(item, (*where, names.get(key, key)), {})
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            _refuse_nul(item, (*where, index), {})


def _bytes_of(value: Any, where: Where, base64_text: bool) -> bytes:
    if base64_text:
        if not isinstance(value, str):
            refuse(where, "bytes in base64", value)
        return _decoded(value, where)
    text = scalar(value, where, None)
    return b"" if text is None else text.encode("utf-8")


def _decoded(text: str, where: Where) -> bytes:
    plain = "".join(text.split()).translate({ord("-"): "+", ord("_"): "/"})
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        refuse(where, "bytes in base64", text)


def _form_pairs(fields: Sequence[Field], values: Mapping[str, Any], root: Where = ()) -> list[str]:
    pairs: list[str] = []
    for field in fields:
        where = (*root, field.parameter)
        value = values[field.parameter]
        if field.style is None and isinstance(value, dict):
            value = json_text(value, where)
        if value == "":
            pairs.append(f"{encode(field.name)}=")
        else:
            pairs += query_pairs(field.style or "form", field.explode, field.name, value, where, None)
    return pairs


@attrs.frozen
class _Part:
    name: str
    content: bytes
    media_type: str | None
    is_file: bool


def _parts_of(field: Field, value: Any, root: Where = ()) -> list[_Part]:
    """The parts of one field: one an item for a list, none for null."""
    where = (*root, field.parameter)
    if isinstance(value, list | tuple) and not (field.media_type and is_json(essence_of(field.media_type))):
        return [part for index, item in enumerate(value) for part in _parts_of_one(field, item, (*where, index))]
    return _parts_of_one(field, value, where)


def _parts_of_one(field: Field, value: Any, where: Where) -> list[_Part]:
    if value is None:
        return []
    media_type = field.media_type
    if field.is_file:
        default = "application/octet-stream" if field.is_base64 else "text/plain; charset=utf-8"
        return [_Part(field.name, _bytes_of(value, where, field.is_base64), media_type or default, True)]
    if isinstance(value, dict | list | tuple) or (media_type and is_json(essence_of(media_type))):
        return [_Part(field.name, _json_bytes(value, where), media_type or "application/json", False)]
    return [_Part(field.name, _bytes_of(value, where, field.is_base64), media_type, False)]


def _multipart(parts: Sequence[_Part]) -> tuple[str, bytes]:
    """RFC 7578; the boundary is drawn from what it parts, and stands nowhere in it."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part.content).to_bytes(8, "big") + part.content + part.name.encode("utf-8", "replace"))
    boundary = digest.hexdigest()[:32].encode("ascii")
    while any(boundary in part.content for part in parts):
        boundary = hashlib.sha256(boundary).hexdigest()[:32].encode("ascii")
    lines: list[bytes] = []
    for part in parts:
        name = _quoted(part.name)
        file_name = f'; filename="{name}"' if part.is_file else ""
        lines += [b"--" + boundary, f'Content-Disposition: form-data; name="{name}"{file_name}'.encode()]
        if part.media_type:
            lines.append(f"Content-Type: {part.media_type}".encode())
        lines += [b"", part.content]
    lines += [b"--" + boundary + b"--", b""]
    return f"{MULTIPART}; boundary={boundary.decode('ascii')}", b"\r\n".join(lines)


def _quoted(name: str) -> str:
    """As browsers write a name (HTML, multipart/form-data encoding algorithm)."""
    return name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")


def json_or_text(value: Any, media_type: str, where: Where) -> str | None:
    """A parameter with a media type of its own: one text of that type."""
    if value is None or (isinstance(value, str) and not is_json(essence_of(media_type))):
        return value
    return json_text(value, where)
