"""What a type of Python is in JSON: `Shape`, and the tables of those that are known by their name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Mapping

Schema = dict[str, Any]

ANY: Schema = {}
SCALAR: Schema = {"type": ["string", "number", "boolean", "null"]}
TEXT: Schema = {"type": "string"}


@attrs.frozen
class Shape:
    """A type as JSON has it.

    Args:
        schema: of the JSON value.
        coerce: how the value becomes Python's, in the order of trial; empty for as it is.
        items: the coercion is for each item of a list.
        enum: the class for coerce enum, as a dotted path from its package on.
        lacks: what JSON has no form for; None where all is well.
        notes: what was lost.
    """

    schema: Schema
    coerce: tuple[str, ...] = ()
    items: bool = False
    enum: str | None = None
    lacks: str | None = None
    notes: tuple[str, ...] = ()


def lacking(what: str) -> Shape:
    return Shape({}, lacks=what)


_DECIMAL: Schema = {"type": ["string", "number"]}

# By the name where a type comes from. Names of `typing` and `collections.abc` are told without their module.
PLAIN: Mapping[str, Shape] = {
    "builtins.int": Shape({"type": "integer"}),
    "builtins.float": Shape({"type": "number"}),
    "builtins.str": Shape(TEXT),
    "builtins.bool": Shape({"type": "boolean"}),
    "builtins.None": Shape({"type": "null"}),
    "types.NoneType": Shape({"type": "null"}),
    "builtins.object": Shape(ANY),
    "builtins.complex": Shape({"type": ["string", "number"]}, ("complex",)),
    "builtins.bytes": Shape({"type": "string", "contentEncoding": "base64"}, ("bytes",)),
    "builtins.bytearray": Shape({"type": "string", "contentEncoding": "base64"}, ("bytes",)),
    "builtins.memoryview": Shape({"type": "string", "contentEncoding": "base64"}, ("bytes",)),
    "abc.Buffer": Shape({"type": "string", "contentEncoding": "base64"}, ("bytes",)),
    "abc.ByteString": Shape({"type": "string", "contentEncoding": "base64"}, ("bytes",)),
    "_typeshed.ReadableBuffer": Shape({"type": "string", "contentEncoding": "base64"}, ("bytes",)),
    "abc.Any": Shape(ANY),
    "_typeshed.Incomplete": Shape(ANY),
    "abc.Hashable": Shape(SCALAR),
    "abc.Text": Shape(TEXT),
    "abc.AnyStr": Shape(TEXT),
    "abc.LiteralString": Shape(TEXT),
    "abc.SupportsInt": Shape({"type": "number"}),
    "abc.SupportsFloat": Shape({"type": "number"}),
    "abc.SupportsIndex": Shape({"type": "integer"}),
    "abc.SupportsAbs": Shape({"type": "number"}),
    "abc.SupportsRound": Shape({"type": "number"}),
    "numbers.Number": Shape({"type": "number"}),
    "numbers.Complex": Shape({"type": "number"}),
    "numbers.Real": Shape({"type": "number"}),
    "numbers.Rational": Shape({"type": "integer"}),
    "numbers.Integral": Shape({"type": "integer"}),
    "datetime.date": Shape({"type": "string", "format": "date"}, ("date",)),
    "datetime.datetime": Shape({"type": "string", "format": "date-time"}, ("datetime",)),
    "datetime.time": Shape({"type": "string", "format": "time"}, ("time",)),
    "datetime.timedelta": Shape({"type": "string", "format": "duration"}, ("timedelta",)),
    "decimal.Decimal": Shape(_DECIMAL, ("decimal",)),
    "fractions.Fraction": Shape(_DECIMAL, ("fraction",)),
    "uuid.UUID": Shape({"type": "string", "format": "uuid"}, ("uuid",)),
    "pathlib.Path": Shape(TEXT, ("path",)),
    "pathlib.PurePath": Shape(TEXT, ("path",)),
    "pathlib.PosixPath": Shape(TEXT, ("path",)),
    "pathlib.PurePosixPath": Shape(TEXT, ("path",)),
    "os.PathLike": Shape(TEXT, ("path",)),
    "_typeshed.StrPath": Shape(TEXT, ("path",)),
    "_typeshed.StrOrBytesPath": Shape(TEXT, ("path",)),
    "_typeshed.FileDescriptorOrPath": Shape(TEXT, ("path",)),
}
LACKING: Mapping[str, str] = {
    "abc.Callable": "a callable",
    "abc.IO": "an open file",
    "abc.TextIO": "an open file",
    "abc.BinaryIO": "an open file",
    "abc.Iterator": "an iterator",
    "abc.Generator": "a generator",
    "abc.AsyncIterator": "an asynchronous iterator",
    "abc.AsyncIterable": "an asynchronous iterable",
    "abc.AsyncGenerator": "an asynchronous generator",
    "abc.Awaitable": "an awaitable",
    "abc.Coroutine": "a coroutine",
    "abc.Self": "an instance of its class",
    "abc.Type": "a class",
    "builtins.type": "a class",
    "abc.Pattern": "a compiled pattern",
    "re.Pattern": "a compiled pattern",
    "re.Match": "a match",
    "types.ModuleType": "a module",
    "types.FunctionType": "a callable",
    "types.TracebackType": "a traceback",
    "builtins.slice": "a slice",
    "builtins.BaseException": "an exception",
    "builtins.Exception": "an exception",
    "builtins.NotImplemented": "NotImplemented",
}
LISTS = frozenset({"builtins.list", "abc.List", "abc.MutableSequence"})
TEXTS_OR_LISTS = frozenset(
    {"abc.Sequence", "abc.Collection", "abc.Sized", "abc.Iterable", "abc.Reversible", "abc.Container"}
)
"""A text is one of these too: where the items may be anything, or anything hashable, either may be given."""
SETS = {
    "builtins.set": "set",
    "abc.Set": "set",
    "abc.MutableSet": "set",
    "abc.AbstractSet": "set",
    "builtins.frozenset": "frozenset",
    "abc.FrozenSet": "frozenset",
}
MAPPINGS = frozenset(
    {
        "builtins.dict",
        "abc.Dict",
        "abc.Mapping",
        "abc.MutableMapping",
        "abc.DefaultDict",
        "abc.OrderedDict",
        "abc.Counter",
        "collections.OrderedDict",
        "collections.defaultdict",
    }
)
WRAPPERS = frozenset(
    {"abc.Annotated", "abc.Final", "abc.ClassVar", "abc.Required", "abc.NotRequired", "abc.ReadOnly", "abc.Unpack"}
)
ENUMS = frozenset({"enum.Enum", "enum.IntEnum", "enum.StrEnum", "enum.Flag", "enum.IntFlag"})
