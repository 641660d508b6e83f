"""An input that fits a schema, with words that make sense: for tools whose source gives no example.

A sample is made of what the schema offers itself (`const`, `examples`, `default`, `enum`), then of the parameter's
name, then of the type with its bounds; only what is required is in it. Whatever comes out was held against the whole
schema by a validator: it fits, or there is no sample. All of it is a function of the schema, and bounded in depth, size
and tries.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pegboard.limits import SAMPLE_LEVELS
from pegboard_toolgen._patterns import text_for

Json = Any
MAX_DEPTH = SAMPLE_LEVELS
MAX_VALUES = 2_000
"""Values that one sample may hold."""
MAX_TRIES = 24
MAX_ITEMS = 50
MAX_TEXT = 5_000

FORMATS = {
    "date": "2024-01-31", "date-time": "2024-01-31T12:00:00Z", "time": "12:00:00Z", "duration": "P1D",
    "email": "ada@example.com", "idn-email": "ada@example.com", "hostname": "example.com",
    "idn-hostname": "example.com",
    "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "uri": "https://example.com/", "uri-reference": "/example",
    "iri": "https://example.com/", "iri-reference": "/example",
    "uri-template": "/example/{id}", "url": "https://example.com/",
    "uuid": "123e4567-e89b-12d3-a456-426614174000", "json-pointer": "/name", "relative-json-pointer": "0/name",
    "regex": "^a", "byte": "aGVsbG8=", "password": "example",
}  # fmt: skip
"""A text of each format."""

WORDS: Sequence[tuple[str, str]] = (
    (r"e?mails?", "ada@example.com"), (r"urls?|uri|link|href|homepage|website", "https://example.com/"),
    (r"hosts?|hostname|domain", "example.com"), (r"ip|address", "192.0.2.1"),
    (r"timestamp|datetime|(created|updated|modified)?_?at|since|until|before|after", "2024-01-31T12:00:00Z"),
    (r"dates?|day", "2024-01-31"), (r"timezone|tz|zone", "Europe/Berlin"), (r"lang(uage)?|locale", "en"),
    (r"currency", "EUR"), (r"country", "DE"), (r"sql|query_sql", "select 1"),
    (r"db|database|db_?path|db_?file|database_?path", "data.db"), (r"csv|csv_?file|input_?csv", "data.csv"),
    (r"(input|output|in|out|src|dst|source|dest(ination)?|target)?_?(file(name)?s?|paths?)", "data.txt"),
    (r"dir(ectory)?|folder", "."), (r"tables?|table_?name", "items"), (r"columns?|fields?|keys?|pk", "id"),
    (r"query|q|search|term|keyword", "example"), (r"title|subject|label", "Example"),
    (r"(user_?)?name|user|login|owner|author|full_?name", "ada"), (r"colou?r", "blue"), (r"encoding|charset", "utf-8"),
    (r"format|type|kind", "text"), (r"version", "1.0.0"), (r"delimiter|separator|sep", ","),
    (r"pattern|regex", "a"), (r".*_?id|identifier|uuid|number|num|n", "1"), (r"tags?|topics?", "example"),
    (r"text|string|str|s|word|message|msg|body|content|description|comment|value|data|input", "hello"),
)  # fmt: skip
"""What a text parameter of such a name is given; the first that fits the whole name."""
_WORDS = [(re.compile(pattern), word) for pattern, word in WORDS]
_PLAIN = ("example", "1", "a", "2024-01-31", "2024-01-31T12:00:00Z", "https://example.com/", "0", "true", "")
_NUMBERS: Sequence[tuple[re.Pattern[str], int]] = (
    (re.compile(r"port"), 8080), (re.compile(r"limit|per_?page|page_?size|size|count|max.*"), 10),
    (re.compile(r"offset|skip|start|index"), 0), (re.compile(r"year"), 2024),
    (re.compile(r"status(_?code)?|codes?"), 200),
)  # fmt: skip
_EDGES = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NOTHING: Any = object()


class NoSampleError(ValueError):
    """No input was found that fits; the message says why."""


class Checker:
    """Whether a value fits a schema, by a validator that holds all of 2020-12."""

    def __init__(self, schema: Mapping[str, Any], defs: Mapping[str, Any]) -> None:
        import jsonschema_rs

        from pegboard_manifest import ProjectionError, project

        try:
            self.schema: Mapping[str, Any] = project(schema, defs)
            self._validator = jsonschema_rs.Draft202012Validator(dict(self.schema), validate_formats=True)
        except (ProjectionError, jsonschema_rs.ValidationError, ValueError) as problem:
            raise NoSampleError(f"the schema cannot be used: {str(problem)[:200]}") from None

    def fits(self, value: Json) -> bool:
        """Whether it fits."""
        try:
            return bool(self._validator.is_valid(value))
        except (ValueError, TypeError):  # halves of characters
            return False

    def why_not(self, value: Json) -> str:
        """What is wrong first, in a few words."""
        for problem in self._validator.iter_errors(value):
            place = "/".join(map(str, problem.instance_path))
            return f"{place or 'the input'}: {problem.message}"[:300]
        return ""


def samples_of(schema: Mapping[str, Any], defs: Mapping[str, Any] | None = None, most: int = 4) -> list[dict[str, Any]]:
    """Different inputs that fit an object schema, the most sensible first; none where none was found.

    .. versionadded:: 0.1
    """
    try:
        checker = Checker(schema, defs or {})
    except NoSampleError:
        return []
    found: list[dict[str, Any]] = []
    for value in itertools.islice(_Sampler(checker.schema).tries(), MAX_TRIES):
        if isinstance(value, dict) and value not in found and checker.fits(value):
            found.append(value)
            if len(found) == most:
                break
    return found


def sample_of(schema: Mapping[str, Any], defs: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """An input that fits an object schema.

    Raises:
        NoSampleError: none was found within the bounds.

    .. versionadded:: 0.1
    """
    checker = Checker(schema, defs or {})
    sampler = _Sampler(checker.schema)
    for value in itertools.islice(sampler.tries(), MAX_TRIES):
        if isinstance(value, dict) and checker.fits(value):
            return value
    raise NoSampleError("no example that fits the input schema was found")


class _Sampler:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._defs = root.get("$defs", {})
        self._left = MAX_VALUES
        self._turn = 0
        self._extra = False

    def tries(self) -> Iterator[Json]:
        """Ever other values: other branches and other texts, then optional members too."""
        for extra in (False, True):
            for turn in range(MAX_TRIES // 2):
                self._left, self._turn, self._extra = MAX_VALUES, turn, extra
                value = self._value(self._root, "", 0)
                if value is not _NOTHING:
                    yield value

    def _value(self, schema: Json, name: str, depth: int) -> Json:
        self._left -= 1
        if schema is True:
            return "example"
        if not isinstance(schema, Mapping) or depth > MAX_DEPTH or self._left < 0:
            return _NOTHING
        whole = self._flat(schema, 0)
        if "const" in whole:
            return whole["const"]
        offered = [value for value in self._offered(whole) if _may_be(value, whole)]
        if offered and (depth or "properties" not in whole):
            return offered[self._turn % len(offered)]
        kind = self._type_of(whole, name)
        if kind == "object":
            return self._object(whole, depth)
        if kind == "array":
            return self._array(whole, name, depth)
        if kind == "string":
            return self._text(whole, name)
        if kind in ("integer", "number"):
            return self._number(whole, name, kind)
        return None if kind == "null" else True

    def _flat(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        """One schema of this, what it refers to, its `allOf` and one of its branches."""
        whole = {key: value for key, value in schema.items() if key not in ("$ref", "allOf", "anyOf", "oneOf", "$defs")}
        if depth > MAX_DEPTH:
            return whole
        parts = []
        reference = schema.get("$ref")
        if isinstance(reference, str):
            target = self._root if reference == "#" else self._defs.get(_last_step(reference))
            parts.append(target)
        parts += [part for part in schema.get("allOf", ()) if isinstance(part, Mapping)]
        for key in ("oneOf", "anyOf"):
            branches = [branch for branch in schema.get(key, ()) if isinstance(branch, Mapping)]
            if branches:
                parts.append(branches[self._turn % len(branches)])
        for part in parts:
            if isinstance(part, Mapping):
                _merge_into(whole, self._flat(part, depth + 1))
        return whole

    def _offered(self, whole: Mapping[str, Any]) -> list[Json]:
        offered: list[Json] = list(whole["examples"]) if isinstance(whole.get("examples"), list) else []
        if isinstance(whole.get("enum"), list):
            return [*(value for value in offered if value in whole["enum"]), *whole["enum"]]
        default = whole.get("default")
        return offered + ([default] if default not in (None, "", [], {}) else [])

    def _type_of(self, whole: Mapping[str, Any], name: str) -> str:
        declared = whole.get("type")
        if isinstance(declared, list) and declared:
            choices = [kind for kind in declared if kind != "null"] or ["null"]
            return str(choices[self._turn % len(choices)])
        if isinstance(declared, str):
            return declared
        if {"properties", "required", "additionalProperties", "minProperties"} & whole.keys():
            return "object"
        if {"items", "prefixItems", "minItems", "contains"} & whole.keys():
            return "array"
        if {"minimum", "maximum", "multipleOf"} & whole.keys():
            return "number"
        if {"pattern", "format", "minLength", "maxLength"} & whole.keys():
            return "string"
        words = _EDGES.sub("_", name).lower()
        kinds: list[str] = ["string", "number"]
        if any(pattern.fullmatch(words) for pattern, _ in _NUMBERS):
            kinds.reverse()
        return kinds[self._turn % 2]

    def _object(self, whole: Mapping[str, Any], depth: int) -> Json:
        properties = whole.get("properties")
        properties = properties if isinstance(properties, Mapping) else {}
        required = [key for key in whole.get("required", ()) if isinstance(key, str)]
        least = _whole_number(whole.get("minProperties"), 0)
        names = list(dict.fromkeys(required))
        if self._extra and depth == 0:
            names += [key for key in list(properties)[:MAX_ITEMS] if key not in names]
        names += [key for key in properties if key not in names][: max(0, min(least, MAX_ITEMS) - len(names))]
        found = {}
        for key in names:
            inside = properties.get(key, whole.get("additionalProperties", True))
            value = self._value(inside, key, depth + 1)
            if value is _NOTHING:
                if key in required:
                    return _NOTHING
                continue
            found[key] = value
        inside = whole.get("additionalProperties", True)
        while len(found) < min(least, MAX_ITEMS) and inside is not False:
            value = self._value(inside, "", depth + 1)
            if value is _NOTHING:
                return _NOTHING
            found[f"key_{len(found) + 1}"] = value
        return found

    def _array(self, whole: Mapping[str, Any], name: str, depth: int) -> Json:
        first = whole.get("prefixItems")
        schemas = list(first[:MAX_ITEMS]) if isinstance(first, list) else []
        least = min(_whole_number(whole.get("minItems"), 0), MAX_ITEMS)
        most = _whole_number(whole.get("maxItems"), MAX_ITEMS)
        inside = whole.get("items", whole.get("contains", True))
        wished = max(least, 1 if inside is not False and most >= 1 and depth < MAX_DEPTH // 2 else 0)
        schemas += [inside] * max(0, wished - len(schemas))
        items: list[Json] = []
        for index, schema in enumerate(schemas):
            value = self._value(schema, name.removesuffix("s"), depth + 1)
            if value is _NOTHING:
                return items if index >= least else _NOTHING
            if whole.get("uniqueItems") is True and value in items:
                value = _another(value, schema, items)
            items.append(value)
        return items

    def _text(self, whole: Mapping[str, Any], name: str) -> Json:
        least = _whole_number(whole.get("minLength"), 0)
        most = _whole_number(whole.get("maxLength"), MAX_TEXT)
        if least > MAX_TEXT:
            return _NOTHING
        proposals = [FORMATS[whole["format"]]] if whole.get("format") in FORMATS else []
        words = _EDGES.sub("_", name).lower().replace("-", "_")
        proposals += [word for pattern, word in _WORDS if pattern.fullmatch(words)][:1] or []
        pattern = whole.get("pattern")
        if isinstance(pattern, str):
            made = text_for(pattern, least)
            proposals = [*([made] if made is not None else []), *proposals, *_PLAIN]
        else:
            proposals.append("example")
        proposals = [text if len(text) <= most else text[:most] for text in proposals]
        proposals = [
            text if len(text) >= least else (text or "a") * (-(-least // max(1, len(text)))) for text in proposals
        ]
        return proposals[self._turn % len(proposals)][: max(most, 0)]

    def _number(self, whole: Mapping[str, Any], name: str, kind: str) -> Json:
        low = max(_numbers(whole, "minimum", "exclusiveMinimum"), default=None)
        high = min(_numbers(whole, "maximum", "exclusiveMaximum"), default=None)
        step = _number(whole.get("multipleOf"))
        words = _EDGES.sub("_", name).lower()
        wished = [value for pattern, value in _NUMBERS if pattern.fullmatch(words)]
        proposals: list[float] = [*wished[:1], 1, 10, 0]
        for bound in (low, high):
            if bound is not None:
                proposals += [bound, bound + 1, bound - 1]
        if low is not None and high is not None:
            proposals.append((low + high) / 2)
        if step:
            proposals = [math.ceil(value / step) * step for value in proposals if abs(value) < 1e15]
        if kind == "integer":
            proposals = [round(value) for value in proposals if abs(value) < 1e18]
        fitting = [value for value in proposals if _is_within(value, whole)]
        proposals = fitting or proposals or [1]
        value = proposals[self._turn // 2 % len(proposals)]
        return int(value) if kind == "integer" or float(value).is_integer() else value


def _merge_into(whole: dict[str, Any], part: Mapping[str, Any]) -> None:
    for key, value in part.items():
        if key == "properties" and isinstance(whole.get(key), dict) and isinstance(value, dict):
            both = {name: {"allOf": [whole[key][name], value[name]]} for name in value.keys() & whole[key].keys()}
            whole[key] = {**value, **whole[key], **both}
        elif key == "required" and isinstance(whole.get(key), list) and isinstance(value, list):
            whole[key] = [*whole[key], *(one for one in value if one not in whole[key])]
        elif key in ("minimum", "minLength", "minItems", "exclusiveMinimum") and _number(whole.get(key)) is not None:
            whole[key] = max(whole[key], value)
        elif key in ("maximum", "maxLength", "maxItems", "exclusiveMaximum") and _number(whole.get(key)) is not None:
            whole[key] = min(whole[key], value)
        else:
            whole.setdefault(key, value)


_KINDS: Mapping[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "object": (dict,),
    "array": (list,), "null": (type(None),),
}  # fmt: skip


def _may_be(value: Json, whole: Mapping[str, Any]) -> bool:
    """Whether an offered value has the type and the length; whether it fits is seen when all are put together."""
    if isinstance(value, str):
        least, most = (_number(whole.get(key)) for key in ("minLength", "maxLength"))
        if (least is not None and len(value) < least) or (most is not None and len(value) > most):
            return False
    declared = whole.get("type")
    kinds = [declared] if isinstance(declared, str) else declared if isinstance(declared, list) else []
    if not kinds:
        return True
    return any(
        isinstance(value, _KINDS.get(kind, ())) and (kind == "boolean" or not isinstance(value, bool)) for kind in kinds
    )


def _another(value: Json, schema: Json, taken: Sequence[Json]) -> Json:
    if isinstance(schema, Mapping) and isinstance(schema.get("enum"), list):
        return next((one for one in schema["enum"] if one not in taken), value)
    for number in range(1, MAX_ITEMS + 2):
        other = (
            f"{value}{number}" if isinstance(value, str) else value + number if _number(value) is not None else value
        )
        if other not in taken:
            return other
    return value


def _is_within(value: float, whole: Mapping[str, Any]) -> bool:
    return (
        all(value >= bound for bound in _numbers(whole, "minimum"))
        and all(value <= bound for bound in _numbers(whole, "maximum"))
        and all(value > bound for bound in _numbers(whole, "exclusiveMinimum"))
        and all(value < bound for bound in _numbers(whole, "exclusiveMaximum"))
    )


def _numbers(whole: Mapping[str, Any], *keys: str) -> list[float]:
    return [bound for key in keys if (bound := _number(whole.get(key))) is not None]


def _number(value: Json) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_number and -1e300 < value < 1e300 else None


def _whole_number(value: Json, otherwise: int) -> int:
    number = _number(value)
    return otherwise if number is None else max(0, int(number))


def _last_step(reference: str) -> str:
    return reference.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
