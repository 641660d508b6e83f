"""Files into values: finding them, and reading TOML and YAML within bounds.

A file may come with a project that nobody has looked at. So its size, its depth and, where YAML repeats itself
through aliases, the size of what it stands for are bounded before anything is built.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from pegboard.config._layers import ConfigFault, ValueOrigin
from pegboard.errors import ConfigError
from pegboard.limits import CONFIG_LEVELS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path
    from typing import BinaryIO

MAX_BYTES = 262_144
MAX_VALUES = 10_000
PIPE_S = 5
"""So long a pipe that somebody named is waited for: who writes into it may begin after who reads."""
NAMES = ("pegboard.toml", "pyproject.toml", "pegboard.yaml", "pegboard.yml", "agent.yaml", "agent.yml")
"""The names under which a configuration is found; in one directory the first of them counts.

.. versionadded:: 0.1
"""

# Dotted keys cost tomllib the square of their length, so a key that no table can need is refused before.
_LONG_KEY = r"""(?<![\w"'.-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){64}"""
_TEXTS = r"""(?s:\"{3}(?:\\.|[^\\])*?(?:\"{3}|\Z)|'{3}.*?(?:'{3}|\Z))|"(?:\\.|[^"\\\n])*+"?|'[^'\n]*+'?|#[^\n]*+"""
"""Texts and comments of TOML, in which dots part nothing."""


class Found(NamedTuple):
    """A file, the bytes that were read, and the table they hold: what is trusted is what is used."""

    path: Path
    content: bytes
    values: dict[str, Any]


class _RefusedError(Exception):
    """The file is not a configuration; the text says what is wrong, with the line where it is known."""


def read_file(path: Path, content: bytes, *, named: str | None = None) -> dict[str, Any] | None:
    """The table that a file holds; None for a `pyproject.toml` without `[tool.pegboard]`.

    Args:
        path: the file, whose name says how it is read.
        content: what it holds.
        named: as a person wrote it, for the errors.

    Raises:
        ConfigError: it is not TOML or YAML, no table, or out of bounds; the fault names the line.
    """
    try:
        text = _decode(content)
        if path.suffix in (".yaml", ".yml", ".json"):
            return _table(_read_yaml(text))
        values = _table(_read_toml(text))
        return values if path.name != "pyproject.toml" else _own_section(values)
    except _RefusedError as problem:
        kind = {".yaml": "YAML", ".yml": "YAML", ".json": "JSON"}.get(path.suffix, "TOML")
        shown = named or str(path)
        fault = ConfigFault((), f"a table in {kind}", str(problem), origin=ValueOrigin("file", shown))
        raise ConfigError(f"{shown} cannot be read", [fault]) from None


def load_bytes(path: Path, limit: int = MAX_BYTES, *, named: str | None = None) -> bytes:
    """The content of a file; `named` is the file as a person wrote it, for the errors.

    Raises:
        ConfigError: it cannot be read, or is larger than `limit`, in bytes.
    """
    try:
        with open_named(path) as file:
            content = file.read(limit + 1)
    except (OSError, ValueError) as problem:
        why = getattr(problem, "strerror", None) or "no path that could be opened"
        raise _unreadable(named or path, why, "name a file that is there and that you may read") from None
    if len(content) > limit:
        raise _unreadable(named or path, f"more than {limit} bytes", "name a smaller file")
    return content


def open_named(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file that a person named, to read its bytes.

    A pipe is read as a file is, so that a shell may give one (`<(command)`); but where nobody writes into it, `open` of
    Python would wait for ever.

    Args:
        path: the file.

    Raises:
        OSError: it cannot be opened, or is a pipe into which nobody writes for five seconds.
        ValueError: it is not a path.

    .. versionadded:: 0.1
    """
    wait = getattr(os, "O_NONBLOCK", 0)
    number = os.open(path, os.O_RDONLY | wait | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))
    try:
        if wait and stat.S_ISFIFO(os.fstat(number).st_mode):
            _wait_for_writer(number)
        if wait:
            os.set_blocking(number, True)
        return open(number, "rb")  # noqa: PTH123 - a descriptor, which the caller closes
    except BaseException:
        os.close(number)
        raise


def _wait_for_writer(number: int) -> None:
    import select

    poll = select.poll()
    poll.register(number, select.POLLIN)
    if poll.poll(PIPE_S * 1000):
        return
    try:
        os.read(number, 1)  # the end, which is that nobody has it open for writing
    except BlockingIOError:
        return  # somebody has, and takes time
    raise OSError(errno.ETIMEDOUT, f"it is a pipe, and nobody wrote into it within {PIPE_S} s")


def read_table(path: Path, *, limit: int = MAX_BYTES, named: str | None = None) -> dict[str, Any]:
    """The table that a file of a plugin's own holds: TOML, or YAML or JSON where its suffix says so.

    Bounded in size, depth and number of values as the configuration is; empty where the file is, and for a
    `pyproject.toml` without `[tool.pegboard]`.

    Args:
        path: the file.
        limit: the largest file that is read, in bytes.
        named: as a person wrote it, for the errors.

    Raises:
        ConfigError: it cannot be read, is not a table, or is out of bounds; the fault names the line.

    .. versionadded:: 0.1
    """
    return read_file(path, load_bytes(path, limit, named=named), named=named) or {}


def _unreadable(shown: object, why: str, hint: str) -> ConfigError:
    fault = ConfigFault((), "a file to read", why, origin=ValueOrigin("file", str(shown)))
    return ConfigError(f"{shown} cannot be read: {why}", [fault], hint=hint)


def nothing_in(named: str) -> ConfigFault:
    """The fault of a `pyproject.toml` that was named and says nothing about pegboard."""
    return ConfigFault((), "[tool.pegboard]", "a file without it", origin=ValueOrigin("file", named))


def above(folder: str) -> Iterator[str]:
    """The folder and those above it, by name: every start of the program looks there, mostly in vain, and the import of
    pathlib takes half as long as Python itself."""
    yield folder
    while (parent := os.path.dirname(folder)) != folder:  # noqa: PTH120
        folder = parent
        yield folder


def find_file(start: str | os.PathLike[str]) -> Found | None:
    """The nearest configuration in `start` or a directory above it, or None.

    A `pyproject.toml` counts only where it has `[tool.pegboard]`; it is parsed only where it could have.

    Raises:
        ConfigError: the nearest one cannot be read.
    """
    for directory in above(os.fspath(start)):
        for name in NAMES:
            found = os.path.join(directory, name)  # noqa: PTH118 - see `above`
            # What others own too counts only where it is a file.
            if not (os.path.isfile(found) if name == "pyproject.toml" else is_there(found)):  # noqa: PTH113
                continue
            from pathlib import Path

            path = Path(found)
            content = load_bytes(path) if name != "pyproject.toml" else _load_bytes_or_nothing(path)
            if name == "pyproject.toml" and b"pegboard" not in content:
                continue
            values = read_file(path, content)
            if values is not None:
                return Found(path, content, values)
    return None


def is_there(path: str) -> bool:
    """Whether a configuration lies there. Passed over, what a link in a circle stands for (`read_only = true`) would
    not hold, and nobody would know.

    Raises:
        ConfigError: it is a link that leads nowhere, or a pipe. A folder, and the null device, say nothing.
    """
    if os.path.isfile(path):  # noqa: PTH113
        return True
    if not os.path.lexists(path) or os.path.isdir(path) or os.path.realpath(path) == os.devnull:  # noqa: PTH112
        return False
    raise _unreadable(path, "not a file", "repair it, or move it away")


def _load_bytes_or_nothing(path: Path) -> bytes:
    """The content of a file that others own too, or nothing where it cannot be read."""
    try:
        return load_bytes(path)
    except ConfigError:
        return b""


def _decode(content: bytes) -> str:
    try:
        # Editors of Windows put a byte order mark first, which `tomllib` does not read.
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as problem:
        line = content[: problem.start].count(b"\n") + 1
        raise _RefusedError(f"bytes that are not UTF-8 (line {line}); save it as UTF-8") from None


def _table(value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _RefusedError("a list" if isinstance(value, list) else "a single value")
    check_bounds(value)
    return value


def check_bounds(value: Any) -> None:
    """Require that there are no more values than `MAX_VALUES`, nested no deeper than `CONFIG_LEVELS`."""
    level: list[Any] = [value]
    left = MAX_VALUES
    for _ in range(CONFIG_LEVELS):
        left -= len(level)
        if left < 0:
            raise _RefusedError(f"more than {MAX_VALUES} values")
        level = [item for parent in level for item in _children(parent)]
        if not level:
            return
    raise _RefusedError(f"values nested deeper than {CONFIG_LEVELS}")


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _own_section(values: Mapping[str, Any]) -> dict[str, Any] | None:
    tool = values.get("tool")
    if not isinstance(tool, dict) or "pegboard" not in tool:
        return None
    return _table(tool["pegboard"])


def _emptied(text: re.Match[str]) -> str:
    """A text of TOML with nothing but its lines, as no key has them; a comment has nothing at all."""
    lines = "\n" * text[0].count("\n")
    return lines if text[0].startswith("#") else f'""{lines}'


def parse_toml(text: str) -> dict[str, Any]:
    """The table of a TOML text, which may be anybody's.

    A dotted key takes a time that grows with the square of its parts, so that a line of half a megabyte would keep a
    program busy for minutes: one of more than 64 parts is refused before it is read.

    Raises:
        ValueError: it is not TOML, or refused; the message says why, and where that is known.

    .. versionadded:: 0.1
    """
    import tomllib

    if re.search(_LONG_KEY, text) and (long := re.search(_LONG_KEY, re.sub(_TEXTS, _emptied, text))):
        raise ValueError(f"a key of more than 64 parts (line {long.string.count(chr(10), 0, long.start()) + 1})")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        # The one message that quotes keys, which may be secrets themselves.
        raise ValueError(
            re.sub(r"declare \(.*\) twice", "declare a table twice", str(problem), flags=re.DOTALL)
        ) from None
    except RecursionError:
        raise ValueError(f"values nested deeper than {CONFIG_LEVELS}") from None
    except ValueError:
        raise ValueError("a date or a number that does not exist, as 2026-13-45") from None


def _read_toml(text: str) -> Any:
    try:
        return parse_toml(text)
    except ValueError as problem:
        raise _RefusedError(str(problem)) from None


def _read_yaml(text: str) -> Any:
    import yaml

    loader = None
    try:
        loader = yaml.SafeLoader(text)
        # The tree, and no values of it: those of SafeLoader share what an alias stands for, so that to count or to copy
        # them takes as many steps as a page of aliases of aliases stands for ("billion laughs").
        node = loader.get_single_node()
        return None if node is None else _Builder(loader).build(node, 0)
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark
        reason = ", ".join(part for part in (problem.context, problem.problem) if part)
        raise _RefusedError(f"{reason} (line {mark.line + 1})" if mark else reason) from None
    except yaml.YAMLError as problem:  # a character that YAML has not
        raise _RefusedError(str(getattr(problem, "reason", None) or "characters that YAML does not allow")) from None
    except RecursionError:
        raise _RefusedError(f"values nested deeper than {CONFIG_LEVELS}") from None
    except (ValueError, OverflowError):
        raise _RefusedError("a date or a number that does not exist, as 2026-13-45") from None
    finally:
        if loader is not None:
            loader.dispose()


_PLAIN_TAGS = ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")


class _Builder:
    """Values out of YAML nodes, with every alias counted as what it stands for."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self._left = MAX_VALUES

    def build(self, node: Any, depth: int) -> Any:
        import yaml

        self._left -= 1
        if self._left < 0:
            self._refuse(node, f"more than {MAX_VALUES} values, aliases counted as what they stand for")
        if depth > CONFIG_LEVELS:
            self._refuse(node, f"values nested deeper than {CONFIG_LEVELS}")
        if isinstance(node, yaml.CollectionNode) and node.tag not in _PLAIN_TAGS:
            self._refuse(node, "a tag that is not read here")
        if isinstance(node, yaml.MappingNode):
            return self._build_table(node, depth)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, depth + 1) for item in node.value]
        return self._loader.construct_object(node)

    def _build_table(self, node: Any, depth: int) -> dict[str, Any]:
        table: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            value = self.build(value_node, depth + 1)
            if key_node.tag == "tag:yaml.org,2002:merge":
                # Of several merged tables the first wins, and the table's own keys over all of them
                # (yaml.org/type/merge.html).
                for part in reversed(value if isinstance(value, list) else [value]):
                    if not isinstance(part, dict):
                        self._refuse(key_node, "a merge key (<<) without a table")
                    merged.update(part)
                continue
            key = self.build(key_node, depth + 1)
            if not isinstance(key, str):
                self._refuse(key_node, "a key that is not text; put it in quotes")
            if key in table:
                self._refuse(key_node, "a key that stands there twice")
            table[key] = value
        return {**merged, **table}

    def _refuse(self, node: Any, what: str) -> NoReturn:
        raise _RefusedError(f"{what} (line {node.start_mark.line + 1})")
