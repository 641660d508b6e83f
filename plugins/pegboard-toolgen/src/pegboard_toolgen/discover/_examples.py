"""Examples that a docstring gives: `>>> naturalsize(3000)` and the line below it, read and never run.

Values are read from syntax: literals, small sums, and the constructors of dates, decimals and paths. A call that
holds anything else is not an example. What is read has to fit the schema of the tool, or it is dropped.
"""

from __future__ import annotations

import ast
import base64
import datetime
import decimal
import fractions
import itertools
import re
import uuid
from pathlib import PurePath, PurePosixPath
from typing import TYPE_CHECKING, Any

import attrs

from pegboard_toolgen.discover._types import MISSING, dotted, to_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MAX_STATEMENTS = 100
MAX_BITS = 512
_PROMPT = re.compile(r"^[ \t]*>>> ?(.*)$")
_MORE = re.compile(r"^[ \t]*\.\.\. ?(.*)$")
_FENCE = re.compile(r"^[ \t]*(```|~~~)")
_UNSURE = re.compile(r"#\s*doctest:|\.\.\.|Traceback")


@attrs.frozen
class Call:
    """A call that an example shows, its arguments as Python's values.

    Args:
        name: dotted, as it is written.
        arguments: by position.
        keywords: by name.
        result: its value as JSON; `MISSING` where the example does not say it.
    """

    name: str
    arguments: tuple[object, ...]
    keywords: Mapping[str, object]
    result: Any = MISSING


def read_examples(text: str) -> list[Call]:
    """The calls that a text shows after `>>>`, in order."""
    names: dict[str, str] = {"dt": "datetime", "datetime": "datetime"}
    values: dict[str, object] = {}
    calls = []
    for source, want in _statements(text):
        try:
            body = ast.parse(source).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        if len(body) != 1:
            continue
        one = body[0]
        if isinstance(one, ast.Import | ast.ImportFrom):
            _remember_import(one, names)
        elif isinstance(one, ast.Assign) and len(one.targets) == 1 and isinstance(one.targets[0], ast.Name):
            name = one.targets[0].id
            values.pop(name, None)
            if (value := _value(one.value, names, values)) is not MISSING:
                values[name] = value
        elif isinstance(one, ast.Expr) and isinstance(one.value, ast.Call):
            call = _call(one.value, names, values, "" if _UNSURE.search(source) else want)
            if call is not None:
                calls.append(call)
    return calls


def _statements(text: str) -> Iterator[tuple[str, str]]:
    lines = text.splitlines()
    position = count = 0
    while position < len(lines) and count < MAX_STATEMENTS:
        found = _PROMPT.match(lines[position])
        position += 1
        if found is None:
            continue
        source = [found[1]]
        while position < len(lines) and (more := _MORE.match(lines[position])):
            source.append(more[1])
            position += 1
        want: list[str] = []
        while position < len(lines) and lines[position].strip() and len(want) < 40:
            if _PROMPT.match(lines[position]) or _FENCE.match(lines[position]):
                break
            want.append(lines[position].strip())
            position += 1
        count += 1
        yield "\n".join(source)[:4_000], "\n".join(want)[:4_000]


def _remember_import(one: ast.Import | ast.ImportFrom, names: dict[str, str]) -> None:
    for name in one.names:
        if isinstance(one, ast.Import):
            names[name.asname or name.name.partition(".")[0]] = (
                name.name if name.asname else name.name.partition(".")[0]
            )
        elif one.module:
            names[name.asname or name.name] = f"{one.module}.{name.name}"


def _call(node: ast.Call, names: Mapping[str, str], values: Mapping[str, object], want: str) -> Call | None:
    name = dotted(node.func)
    if name is None:
        return None
    first, _, rest = name.partition(".")
    name = names.get(first, first) + ("." + rest if rest else "")
    arguments = tuple(_value(one, names, values) for one in node.args)
    keywords = {keyword.arg or "": _value(keyword.value, names, values) for keyword in node.keywords}
    if MISSING in arguments or MISSING in keywords.values() or "" in keywords:
        return None
    return Call(name, arguments, keywords, _result(want))


def _result(want: str) -> Any:
    if not want or _UNSURE.search(want):
        return MISSING
    try:
        value = ast.literal_eval(want)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return MISSING
    return to_json(value)


def _value(node: ast.expr, names: Mapping[str, str], values: Mapping[str, object], depth: int = 12) -> object:
    """The value of an expression that needs no running; `MISSING` for any other."""
    if depth <= 0:
        return MISSING
    if isinstance(node, ast.Constant):
        return node.value if not isinstance(node.value, type(...)) else MISSING
    if isinstance(node, ast.Name):
        return values.get(node.id, MISSING)
    if isinstance(node, ast.UnaryOp | ast.BinOp):
        return _number(node, names, values, depth)
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        items = [_value(one, names, values, depth - 1) for one in node.elts[:200]]
        if MISSING in items:
            return MISSING
        try:
            return {ast.List: list, ast.Tuple: tuple, ast.Set: set}[type(node)](items)
        except TypeError:
            return MISSING
    if isinstance(node, ast.Dict):
        keys = [_value(one, names, values, depth - 1) if one is not None else MISSING for one in node.keys[:200]]
        inner = [_value(one, names, values, depth - 1) for one in node.values[:200]]
        if MISSING in keys or MISSING in inner or not all(isinstance(key, str) for key in keys):
            return MISSING
        return dict(zip(keys, inner, strict=True))
    if isinstance(node, ast.Call):
        return _made(node, names, values, depth)
    return MISSING


def _number(
    node: ast.UnaryOp | ast.BinOp, names: Mapping[str, str], values: Mapping[str, object], depth: int
) -> object:
    if isinstance(node, ast.UnaryOp):
        value = _value(node.operand, names, values, depth - 1)
        if isinstance(value, bool) or not isinstance(value, int | float | complex | datetime.timedelta):
            return MISSING
        return -value if isinstance(node.op, ast.USub) else +value if isinstance(node.op, ast.UAdd) else MISSING
    left, right = (_value(one, names, values, depth - 1) for one in (node.left, node.right))
    if not all(isinstance(one, int | float | complex) for one in (left, right)):
        return MISSING
    if any(isinstance(one, int) and one.bit_length() > MAX_BITS for one in (left, right)):
        return MISSING
    try:
        if isinstance(node.op, ast.Pow):
            is_small = isinstance(right, int) and isinstance(left, int | float) and abs(right) <= 128
            return left**right if is_small else MISSING  # type: ignore[operator]
        if isinstance(node.op, ast.Add):
            return left + right  # type: ignore[operator]
        if isinstance(node.op, ast.Sub):
            return left - right  # type: ignore[operator]
        if isinstance(node.op, ast.Mult):
            return left * right  # type: ignore[operator]
        if isinstance(node.op, ast.Div):
            return left / right  # type: ignore[operator]
    except (ArithmeticError, TypeError):
        return MISSING
    return MISSING


_MAKERS: Mapping[str, Any] = {
    "datetime.timedelta": datetime.timedelta,
    "datetime.date": datetime.date,
    "datetime.datetime": datetime.datetime,
    "datetime.time": datetime.time,
    "datetime": datetime.datetime,
    "timedelta": datetime.timedelta,
    "date": datetime.date,
    "Decimal": decimal.Decimal,
    "decimal.Decimal": decimal.Decimal,
    "Fraction": fractions.Fraction,
    "fractions.Fraction": fractions.Fraction,
    "Path": PurePosixPath,
    "pathlib.Path": PurePosixPath,
    "UUID": uuid.UUID,
    "uuid.UUID": uuid.UUID,
    "float": float,
    "int": int,
    "complex": complex,
    "set": set,
    "frozenset": frozenset,
    "list": list,
    "tuple": tuple,
}


def _made(node: ast.Call, names: Mapping[str, str], values: Mapping[str, object], depth: int) -> object:
    call = _call(node, names, values, "") if depth > 1 else None
    if call is None or (maker := _MAKERS.get(call.name)) is None:
        return MISSING
    if any(isinstance(one, str) and len(one) > 100 for one in call.arguments):
        return MISSING
    try:
        return maker(*call.arguments, **call.keywords)
    except (ArithmeticError, ValueError, TypeError):
        return MISSING


def as_argument(value: object) -> Any:
    """A Python value as a caller gives it in JSON; `MISSING` where there is no form."""
    if isinstance(value, datetime.timedelta):
        return _duration(value)
    if isinstance(value, datetime.date | datetime.time):  # a datetime is a date
        return value.isoformat()
    if isinstance(value, decimal.Decimal | fractions.Fraction | uuid.UUID | complex):
        return str(value)
    if isinstance(value, PurePath):
        return value.as_posix()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, set | frozenset):
        items = [as_argument(one) for one in value]
        return MISSING if MISSING in items else sorted(items, key=repr)
    if isinstance(value, list | tuple):
        items = [as_argument(one) for one in value]
        return MISSING if MISSING in items else items
    if isinstance(value, dict):
        pairs = {key: as_argument(one) for key, one in value.items()}
        return MISSING if MISSING in pairs.values() else pairs
    return to_json(value)


def _duration(value: datetime.timedelta) -> Any:
    """ISO 8601, days and seconds; a negative one has no form there that every reader takes."""
    if value < datetime.timedelta():
        return MISSING
    seconds = f"{value.seconds}.{value.microseconds:06}".rstrip("0") if value.microseconds else str(value.seconds)
    if not value.days:
        return f"PT{seconds}S"
    return f"P{value.days}D" + (f"T{seconds}S" if value.seconds or value.microseconds else "")


_KINDS: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}


def fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a value fits one of the schemas that discovery writes; only their keywords are known."""
    if "anyOf" in schema and not any(fits(value, one) for one in schema["anyOf"]):
        return False
    if "enum" in schema and not any(value == one and type(value) is type(one) for one in schema["enum"]):
        return False
    kinds = schema.get("type")
    if kinds is not None and not any(_is_kind(value, one) for one in ([kinds] if isinstance(kinds, str) else kinds)):
        return False
    if isinstance(value, list):
        return _list_fits(value, schema)
    if isinstance(value, dict):
        return _object_fits(value, schema)
    return "format" not in schema or _format_fits(value, schema["format"])


def _is_kind(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _KINDS[kind])


def _list_fits(value: Sequence[Any], schema: Mapping[str, Any]) -> bool:
    if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
        return False
    if schema.get("uniqueItems") and any(one in value[:index] for index, one in enumerate(value)):
        return False
    prefix = schema.get("prefixItems", ())
    return all(fits(one, inner) for one, inner in zip(value, prefix, strict=False)) and all(
        fits(one, schema.get("items", {})) for one in value[len(prefix) :]
    )


def _object_fits(value: Mapping[str, Any], schema: Mapping[str, Any]) -> bool:
    known = schema.get("properties", {})
    rest = schema.get("additionalProperties", {})
    return (
        all(name in value for name in schema.get("required", ()))
        and all(fits(value[name], inner) for name, inner in known.items() if name in value)
        and all(rest is not False and fits(one, rest) for name, one in value.items() if name not in known)
        and all(
            name in value
            for given, needed in schema.get("dependentRequired", {}).items()
            if given in value
            for name in needed
        )
    )


_FORMATS = {
    "date": re.compile(r"\d{4}-\d\d-\d\d"),
    "date-time": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d.*"),
    "time": re.compile(r"\d\d:\d\d.*"),
    "duration": re.compile(r"P(\d+D)?(T[\d.]+S)?"),
    "uuid": re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"),
}


def _format_fits(value: Any, form: str) -> bool:
    pattern = _FORMATS.get(form)
    return pattern is None or not isinstance(value, str) or pattern.fullmatch(value) is not None


_SAID = re.compile(r"^#[ \t]*(?:=>|->|returns?:?)?[ \t]*(.+)$")


def read_readme(text: str) -> list[Call]:
    """The calls that a distribution's page shows: after `>>>`, or as a line of code with its value in a comment below.

    Only calls of dotted names are taken, with their value: a page speaks of much.
    """
    calls = [call for call in read_examples(text) if "." in call.name and call.result is not MISSING]
    lines = text.splitlines()[:5_000]
    for line, below in itertools.pairwise(lines):
        said = _SAID.match(below.strip())
        if said is None or not re.match(r"^[ \t]{0,8}[A-Za-z_]\w*(\.\w+)+\(", line) or len(line) > 500:
            continue
        try:
            node = ast.parse(line.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        call = _call(node, {}, {}, said[1].strip()) if isinstance(node, ast.Call) else None
        if call is not None and call.result is not MISSING:
            calls.append(call)
    return calls[:500]
