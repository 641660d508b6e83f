"""Arguments of a call as a person writes them, and what a shell completes them to.

    KEY=VALUE     read by the tool's schema
    KEY:=JSON     JSON
    VALUE         alone: of the one parameter that the tool requires, or of the only one that it has

What stands before the first `=` decides. Is it a word, or the name of a parameter, it is KEY; any other text (`2+2`,
`2 >= 1`, an address with a query) is a VALUE. Who means a VALUE such as `a=1` writes KEY=a=1.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import click

from pegboard.schema.flat import plain_types
from pegboard.schema.jsontext import JsonTextError, loads

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_WORD = re.compile(r"[^\W\d][\w.-]*")
PATHS = frozenset({"path", "file", "filename", "folder", "directory", "dir"})
"""A parameter that is called so, or whose name ends with it, is completed to files."""
MAX_COMPLETED = 500


def read_arguments(texts: Sequence[str], schema: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that these texts are.

    Args:
        texts: as they stand on the command line.
        schema: of the tool's input; `{}` of one that is not there.
        known: arguments that are given otherwise; those of the texts lie over them.

    Raises:
        click.UsageError: a text is not an argument, or a name is given twice.
    """
    if len(texts) == 1 and schema and not _is_pair(texts[0], schema):
        _refuse_all_at_once(texts[0], schema)
        key = _only_parameter(schema, texts[0], known)
        return {**known, key: _read(key, texts[0], schema)}
    values: dict[str, Any] = {}
    for text in texts:
        key, sign, value = text.partition("=")
        is_json = key.endswith(":")
        key = key[:-1] if is_json else key
        if not sign or not key:
            if not schema:
                continue  # of a tool that is not there: the call says so
            raise _no_argument(text, _required(schema) or list(_properties(schema)))
        if key in values:
            raise click.UsageError(f"the argument {key[:60]!r} is given twice")
        values[key] = _read_json(key, value) if is_json else _read(key, value, schema)
    return {**known, **values}


def _is_pair(text: str, schema: Mapping[str, Any]) -> bool:
    key, sign, _ = text.partition("=")
    key = key.removesuffix(":")
    return bool(sign) and (not key or key in _properties(schema) or _WORD.fullmatch(key) is not None)


def _only_parameter(schema: Mapping[str, Any], text: str, known: Mapping[str, Any]) -> str:
    required, every = [key for key in _required(schema) if key not in known], list(_properties(schema))
    if len(required) == 1:
        return required[0]
    if not required and len(every) == 1 and every[0] not in known:
        return every[0]
    raise _no_argument(text, required or every)


def _no_argument(text: str, keys: Sequence[str]) -> click.UsageError:
    if not keys:
        return click.UsageError(f"{text[:60]!r} is not an argument: the tool takes none")
    listed = ", ".join(keys)
    return click.UsageError(
        f"{text[:60]!r} is not an argument; write KEY=VALUE or KEY:=JSON, where KEY is one of {listed}"
    )


def _refuse_all_at_once(text: str, schema: Mapping[str, Any]) -> None:
    """`'{"times": 2}'` is all arguments, and the value of none."""
    if not text.lstrip().startswith("{"):
        return
    try:
        value = loads(text)
    except JsonTextError:
        return
    if isinstance(value, dict) and value and _properties(schema).keys() >= value.keys():
        raise click.UsageError(f"{text[:60]!r} is an object of all arguments; write --args {text[:60]!r}")


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def _required(schema: Mapping[str, Any]) -> list[str]:
    found = schema.get("required")
    return [key for key in found if isinstance(key, str)] if isinstance(found, (list, tuple)) else []


def _read(key: str, text: str, schema: Mapping[str, Any]) -> Any:
    own = _properties(schema).get(key, True)
    if any("\udc80" <= one <= "\udcff" for one in text):  # bytes of the shell that are not text (PEP 383)
        raise click.UsageError(f"{key[:60]}: it is not valid UTF-8")
    if str in plain_types(own):  # most are plain texts, and then nothing has to be looked at
        return text
    from pegboard.schema.repair import read_text

    return read_text(own, text, root=schema)


def _read_json(key: str, text: str) -> Any:
    try:
        return loads(text)
    except JsonTextError as problem:
        raise click.UsageError(f"{key[:60]}: {problem}") from None


# -- completion


def completions(schema: Mapping[str, Any], before: Sequence[str], incomplete: str) -> list[str]:
    """What a word may become: names of parameters with `=`, or the values of one.

    bash takes `=` for a word of its own, so `status=pe` arrives as `status`, `=` and `pe`, and the value alone is to be
    given back; other shells hand over the whole word, and get it back whole.

    Args:
        schema: of the tool's input.
        before: the words between the tool's name and this one.
        incomplete: what there is of the word.
    """
    properties = _properties(schema)
    if before and before[-1] == "=":
        return list(_values_of(before[-2] if len(before) > 1 else "", properties, incomplete))
    if not incomplete and before and before[-1] in properties:
        return list(_values_of(before[-1], properties, ""))
    key, sign, value = incomplete.partition("=")
    if sign:
        return [f"{key}={one}" for one in _values_of(key, properties, value)]
    given = {word.partition("=")[0].removesuffix(":") for word in before}
    required = set(_required(schema))
    names = sorted((name for name in properties if name not in given), key=lambda name: name not in required)
    return [f"{name}=" for name in names if name.startswith(incomplete)]


def _values_of(key: str, properties: Mapping[str, Any], begun: str) -> Iterator[str]:
    one = properties.get(key)
    if not isinstance(one, dict):
        return
    variants = [one, *(part for part in one.get("anyOf", ()) if isinstance(part, dict))]
    for part in variants:
        values = part.get("enum", [part["const"]] if "const" in part else [])
        if part.get("type") == "boolean":
            values = ["true", "false"]
        yield from (str(value) for value in values if str(value).startswith(begun) and "\n" not in str(value))
    if any(part.get("type") == "string" for part in variants) and key.lower().split("_")[-1] in PATHS:
        yield from _paths(begun)


def _paths(begun: str) -> Iterator[str]:
    """Files and folders that begin so, folders with a slash."""
    folder, slash, name = begun.rpartition("/")
    try:
        with os.scandir(f"{folder}{slash}" or ".") as entries:
            found = sorted(
                f"{folder}{slash}{entry.name}{'/' if entry.is_dir() else ''}"
                for entry in entries
                if entry.name.startswith(name) and (name or not entry.name.startswith("."))
            )
    except (OSError, ValueError):
        return
    yield from (path for path in found[:MAX_COMPLETED] if path.isprintable())
