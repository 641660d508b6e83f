"""From arguments to the words of a command line; no I/O but the look-up of paths, and no shell anywhere.

The invariant: a reader of the command line that knows the program's options gets back exactly the values that came, and
no value ever becomes an option, an end of options or a file of arguments. What cannot be said so is INVALID_INPUT, with
every fault at once. An argument that is missing or null says nothing; for the format `json`, null is a value.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from pegboard import ErrorCode, Fault, ToolError
from pegboard_manifest.bindings.subprocess.values import FaultError, alone, json_text, plain_text, writer
from pegboard_manifest.hygiene import Roots, refuse_long_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence

    from pegboard_manifest.bindings.subprocess.values import Write

    Arguments = Mapping[str, Any]
    Named = MutableMapping[str, str]
    Piece = Callable[[Arguments, Named], Iterable[str]]
    At = tuple[str | int, ...]
    Say = Callable[[Any, At, Named], Iterable[str]]

MAX_COUNT = 100
"""How often an option of style `count` may stand on one command line."""
MAX_LINE = 1_000_000
"""All words together, in bytes; Linux takes some 2,000,000 with the environment."""
MAX_SHOWN = 10

_MISSING: Any = object()


@attrs.frozen
class CommandLine:
    """The words of one call.

    Args:
        words: the first is the program as the manifest calls it, not looked up yet.
        named: each path on the line, as it is handed over, and what the caller called it.
        stdin: the bytes the program reads, or None for nothing.
    """

    words: list[str]
    named: Mapping[str, str]
    stdin: bytes | None = None


def words_of(
    binding: Mapping[str, Any],
    program: Mapping[str, Any],
    arguments: Arguments,
    *,
    folder: str | Path = ".",
    allowed_paths: Iterable[str] | None = None,
) -> list[str]:
    """The words of the command line, the program's own first.

    Args:
        binding: of kind subprocess.
        program: the one it names.
        arguments: any mapping; what fits the tool's schema in practice.
        folder: of the manifest; the program's `cwd` is relative to it.
        allowed_paths: the tool's constraint, which narrows that of the program.

    Raises:
        ToolError: INVALID_INPUT, with every fault.

    .. versionadded:: 0.1
    """
    from pegboard_manifest._options import side_by_side

    line = compile_line(binding, program, roots_of(program, folder, allowed_paths))
    return line(side_by_side(binding.get("options"), arguments)).words


def roots_of(
    program: Mapping[str, Any], folder: str | Path, allowed_paths: Iterable[str] | None = None, file: Path | None = None
) -> Roots:
    """The working directory of a program and the folders of its path values; `file` is that of the manifest."""
    cwd = Path(folder, program.get("cwd", "."))
    return Roots(cwd, program.get("allowed_paths", ["."]), allowed_paths, sealed=folder, kept=file)


def compile_line(
    binding: Mapping[str, Any], program: Mapping[str, Any], roots: Roots
) -> Callable[[Arguments], CommandLine]:
    """`arguments -> CommandLine`, so that a call reads no binding any more. What it gives raises as `words_of`."""
    argv0 = tuple(program["argv0"])
    pieces = list(_pieces(binding["arguments"], roots))
    read_stdin = _stdin(binding.get("stdin"))

    def line(arguments: Arguments) -> CommandLine:
        refuse_long_texts(arguments)
        words, named, faults = list(argv0), dict[str, str](), list[Fault]()
        end = None
        for piece in pieces:
            if piece is None:
                end = len(words)
                continue
            try:
                words += piece(arguments, named)
            except FaultError as problem:
                faults.append(problem.fault)
        if end is not None and len(words) > end:  # with nothing behind it, some programs take it for a word of theirs
            words.insert(end, "--")
        stdin = None
        try:
            stdin = read_stdin(arguments)
        except FaultError as problem:
            faults.append(problem.fault)
        if faults:
            raise invalid(faults)
        if (size := sum(map(len, words)) + 9 * len(words)) > MAX_LINE // 4 and _bytes_of(words) > MAX_LINE:
            raise too_long(size)
        return CommandLine(words, named, stdin)

    return line


def invalid(faults: list[Fault]) -> ToolError:
    """INVALID_INPUT with every fault at once, as the board's own validation says it."""
    shown = "; ".join(map(str, faults[:MAX_SHOWN])) + ("; ..." if len(faults) > MAX_SHOWN else "")
    return ToolError(
        ErrorCode.INVALID_INPUT, f"invalid arguments: {shown}", faults=[fault.to_json() for fault in faults]
    )


def too_long(size: int | None = None) -> ToolError:
    """INVALID_INPUT of a command line that the system does not take."""
    found = "" if size is None else f" ({size:,} bytes or more)"
    return ToolError(
        ErrorCode.INVALID_INPUT,
        f"the arguments are too long for one command line{found}; send fewer or shorter ones",
        reason="too_long",
    )


def _bytes_of(words: list[str]) -> int:
    return sum(len(word.encode()) + 9 for word in words)  # each with its NUL and its pointer


def _pieces(entries: Iterable[Mapping[str, Any]], roots: Roots) -> Iterator[Piece | None]:
    """What each entry says; None is the place of the terminator."""
    entries = list(entries)
    flags = {entry[key] for entry in entries for key in ("flag", "off_flag") if key in entry}
    is_terminated = is_behind_word = False
    before = list[tuple[str, ...]]()
    for entry in entries:
        match entry["kind"]:
            case "literal" if "when" in entry:
                if before:  # it stands in for the value before it
                    before[-1] += (entry["when"],)
                yield _said_with(entry["value"], entry["when"])
            case "literal":
                is_behind_word = True
                yield _said(entry["value"])
            case "terminator":
                yield _said("--") if is_terminated else None
                is_terminated = True
            case "option":
                writes = [writer(one, roots) for one in entry.get("values", (entry.get("value"),))]
                yield _option(entry, writes, flags - {entry["flag"]})
            case _:
                guarded = not (is_terminated and entry.get("guard") == "none")
                write = writer(entry.get("value"), roots, bare=is_terminated or is_behind_word)
                yield _positional(entry, write, tuple(before), guarded=guarded)
                if not entry.get("spread") and not entry.get("optional"):
                    before.append((entry["parameter"],))


def _said(word: str) -> Piece:
    words = (word,)
    return lambda arguments, named: words


def _said_with(word: str, parameter: str) -> Piece:
    words = (word,)
    return lambda arguments, named: words if arguments.get(parameter) is not None else ()


def _reader(entry: Mapping[str, Any]) -> Callable[[Arguments], Any]:
    """How a parameter is looked up; `_MISSING` where nothing is said."""
    parameter = entry["parameter"]
    if entry.get("value", {}).get("format") == "json":
        return lambda arguments: arguments.get(parameter, _MISSING)

    def read(arguments: Arguments) -> Any:
        value = arguments.get(parameter)
        return _MISSING if value is None else value

    return read


def _option(entry: Mapping[str, Any], writes: Sequence[Write], others: set[str]) -> Piece:
    style, read, path = entry["style"], _reader(entry), (entry["parameter"],)
    bare = {True: (entry["flag"],), False: ()} if entry.get("bare") else {}
    say = _switch(entry) if style in _SWITCHES else None
    say_value = None if say else _valued(entry, writes, others)

    def piece(arguments: Arguments, named: Named) -> Iterable[str]:
        value = read(arguments)
        if value is _MISSING:
            return ()
        if bare and isinstance(value, bool):
            return bare[value]
        return say(value) if say else say_value(value, path, named)  # type: ignore[misc]

    return piece


_SWITCHES = frozenset({"flag", "negatable", "count"})


def _switch(entry: Mapping[str, Any]) -> Callable[[Any], Iterable[str]]:
    """Options without a value."""
    path, on = (entry["parameter"],), (entry["flag"],)
    off = (entry["off_flag"],) if entry["style"] == "negatable" and "off_flag" in entry else ()

    def say(value: Any) -> Iterable[str]:
        if not isinstance(value, bool):
            raise FaultError(path, "true or false", value)
        return on if value else off

    def count(value: Any) -> Iterable[str]:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or not 0 <= value <= MAX_COUNT:
            raise FaultError(path, f"an integer from 0 to {MAX_COUNT}", value)
        return on * int(value)

    return count if entry["style"] == "count" else say


def _valued(entry: Mapping[str, Any], writes: Sequence[Write], others: set[str]) -> Say:
    """Options with a value: `(value, path, named) -> words`."""
    style = entry["style"]
    if style != "repeat":
        return _one_option(style, entry, writes, others)
    say = _one_option(entry.get("item_style", "equals"), entry, writes, others)

    def repeat(value: Any, path: At, named: Named) -> Iterable[str]:
        items = value if isinstance(value, (list, tuple)) else [value]
        return [word for number, item in enumerate(items) for word in say(item, (*path, number), named)]

    return repeat


def _one_option(style: str, entry: Mapping[str, Any], writes: Sequence[Write], others: set[str]) -> Say:
    flag, write = entry["flag"], writes[0]
    if style == "separate":
        return _separate(entry, writes)
    if style == "equals":
        return lambda value, path, named: (f"{flag}={write(value, path, named)}",)
    rivals = tuple(other for other in others if other.startswith(flag))

    def joined(value: Any, path: At, named: Named) -> Iterable[str]:
        text = write(value, path, named)
        if not text or text.startswith("="):  # the next word would be the value, or the sign would be lost
            raise FaultError(path, "a text that is not empty and does not begin with '='", value)
        head = f"{flag}{text}".partition("=")[0]
        if any(rival.startswith(head) or head.startswith(rival) for rival in rivals):
            raise FaultError(path, "a value that does not spell another option", value)
        return (flag + text,)

    return joined


def _separate(entry: Mapping[str, Any], writes: Sequence[Write]) -> Say:
    """`writes` has one for all words of a value, or one for each."""
    flag, nargs = entry["flag"], entry.get("nargs")
    is_json = entry.get("value", {}).get("format") == "json"
    stdout = bool(entry.get("value", {}).get("stdout"))

    def separate(value: Any, path: At, named: Named) -> Iterable[str]:
        is_list = isinstance(value, (list, tuple)) and (nargs is not None or not is_json)
        if nargs is not None and not (is_list and len(value) == nargs):
            raise FaultError(path, f"an array of {nargs} items", value)
        if not is_list:
            return flag, alone(writes[0](value, path, named), value, path, stdout=stdout)
        said = zip(value, itertools.cycle(writes), strict=False)
        items = [((*path, n), item, write) for n, (item, write) in enumerate(said)]
        words = [alone(write(item, at, named), item, at, stdout=stdout) for at, item, write in items]
        return (flag, *words) if words else ()

    return separate


def _positional(entry: Mapping[str, Any], write: Write, before: tuple[tuple[str, ...], ...], *, guarded: bool) -> Piece:
    parameter, read, spread = entry["parameter"], _reader(entry), entry.get("spread", False)
    path, stdout = (parameter,), bool(entry.get("value", {}).get("stdout"))

    def piece(arguments: Arguments, named: Named) -> Iterable[str]:
        value = read(arguments)
        if value is _MISSING or (spread and isinstance(value, (list, tuple)) and not value):
            return ()
        for earlier in before:  # a value that is left out would be taken from the next
            if all(arguments.get(one) is None for one in earlier):
                raise FaultError((earlier[0],), f"a value, since {parameter!r} behind it has one", None)
        if not spread:
            return (alone(write(value, path, named), value, path, guarded=guarded, stdout=stdout),)
        if not isinstance(value, (list, tuple)):
            raise FaultError(path, "an array", value)
        items = [((*path, number), item) for number, item in enumerate(value)]
        return [alone(write(item, at, named), item, at, guarded=guarded, stdout=stdout) for at, item in items]

    return piece


def _stdin(entry: Mapping[str, Any] | None) -> Callable[[Arguments], bytes | None]:
    if entry is None:
        return lambda arguments: None
    parameter, is_json = entry["parameter"], entry.get("format", "text") == "json"
    path = (parameter,)

    def read(arguments: Arguments) -> bytes | None:
        value = arguments.get(parameter, _MISSING)
        if value is _MISSING or (value is None and not is_json):
            return None
        text = json_text(value, path) if is_json else plain_text(value, path)
        if "\x00" in text:
            raise FaultError(path, "a text without the control character U+0000", value)
        try:
            return text.encode()
        except UnicodeEncodeError:
            raise FaultError(path, "a text without half a surrogate pair", value) from None

    return read
