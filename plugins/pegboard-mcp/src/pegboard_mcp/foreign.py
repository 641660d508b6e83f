"""Servers out of other programs' files: `servers` of VS Code, `mcpServers` of Claude, Cursor and others.

Such a file becomes tables in our own keys (`read_tables`), in which variables are still named, and these become
definitions (`read_servers`). Whatever the file holds, the answer is servers or faults, never an exception; paths of
faults begin at the file's own root. Keys that mean nothing here are left out and named in `ForeignTable.ignored`.

Variables are filled in by `pegboard_mcp.files`. The folder of a file's project is the one that holds it, or holds its
`.vscode` or `.cursor`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from pegboard import Fault
from pegboard.schema.jsontext import shorten_text
from pegboard_mcp import jsonc
from pegboard_mcp.definitions import KEYS
from pegboard_mcp.files import Names, Path_, fill, project_of, read_bytes
from pegboard_mcp.rules import TableRules, type_of
from pegboard_mcp.secrets import secrets_of_host

if TYPE_CHECKING:
    from pegboard_mcp.definitions import ServerDefinition

MAX_SERVERS = 1000
_SWITCHES = ("disabled", "enabled")
ROOTS: tuple[tuple[str, ...], ...] = (("servers",), ("mcpServers",), ("mcp", "servers"))
"""Where tables of servers stand; the last in VS Code's settings.json."""

_RENAMED = {"serverUrl": "url", "httpUrl": "url", "includeTools": "allowed_tools", "excludeTools": "disabled_tools"}
_RENAMED |= {"disabledTools": "disabled_tools", "enabledTools": "allowed_tools"}
_SAME = frozenset(key for key in KEYS if key not in ("timeout", "transport") and not key.startswith("oauth"))
"""Keys that mean the same here. `timeout` is not among them: others mean milliseconds."""
_TRANSPORTS = {
    "stdio": "stdio", "local": "stdio", "http": "http", "streamable-http": "http", "streamablehttp": "http",
    "streamable_http": "http", "remote": "http", "sse": "sse", "websocket": "websocket", "ws": "websocket",
}  # fmt: skip


@attrs.frozen
class ForeignTable:
    """One server of a file, in our own keys; variables are not filled in.

    Args:
        name: as it stands there.
        path: where it stands there.
        table: what is said of it.
        written: the file's own word for a key that is called otherwise here.
        ignored: keys that mean nothing here.
    """

    name: str
    path: Path_
    table: Mapping[str, Any]
    written: Mapping[str, str]
    ignored: tuple[str, ...] = ()

    def place_of(self, path: Path_) -> Path_:
        """Where in the file that stands which is at this path of the table."""
        return (*self.path, *((self.written.get(str(path[0]), path[0]), *path[1:]) if path else ()))


@attrs.frozen
class ForeignServer:
    """One server of a file, and where it stands there."""

    name: str
    path: Path_
    definition: ServerDefinition


@attrs.frozen
class ForeignFile:
    """What a file says: its servers, what VS Code would ask a person for, and what is wrong."""

    tables: tuple[ForeignTable, ...] = ()
    inputs: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)
    faults: tuple[Fault, ...] = ()


def read_servers(path: Path, *, environ: Mapping[str, str] | None = None) -> tuple[list[ForeignServer], list[Fault]]:
    """The definitions of all servers of a file, and everything that is wrong with it."""
    environ = os.environ if environ is None else environ
    file = read_tables(path)
    host = secrets_of_host(environ)
    faults = list(file.faults)
    servers = []
    for one in file.tables:
        table, wrong = fill(one.table, Names(path, file.inputs), environ)
        rules = TableRules(one.name, table, project_of(path), host)
        definition = rules.define()
        unset = {fault.path for fault in wrong}
        wrong += [fault for fault in rules.faults if fault.path not in unset]
        faults += [attrs.evolve(fault, path=one.place_of(fault.path)) for fault in wrong]
        if definition is not None and not wrong:
            servers.append(ForeignServer(one.name, one.path, definition))
    return servers, faults


# -- the file


def read_tables(path: Path) -> ForeignFile:
    """The servers of a file, as far as they can be told; never an exception."""
    value, problem = load(path)
    if problem is None:
        faulty = tables_in(value)
    else:
        hint = "name another file, or repair this one"
        faulty = ForeignFile(faults=(Fault((), "a file of MCP servers, in JSON", problem, hint),))
    return attrs.evolve(faulty, faults=tuple(one if one.path else _of_file(path, one) for one in faulty.faults))


def _of_file(path: Path, fault: Fault) -> Fault:
    """The fault of a whole file, which it names."""
    return attrs.evolve(fault, got=f"{shorten_text(str(path), 200)}: {fault.got}")


def load(path: Path) -> tuple[Any, str | None]:
    """The value that a file holds, and what is wrong where it holds none."""
    try:
        return jsonc.read(read_text(path)), None
    except jsonc.JsoncError as problem:
        return None, str(problem)


def read_text(path: Path) -> str:
    """The text of a file, line ends as they are.

    Raises:
        JsoncError: it cannot be read, is too large, or is not UTF-8.
    """
    try:
        content = read_bytes(path, jsonc.MAX_BYTES)
    except OSError as problem:
        raise jsonc.JsoncError((problem.strerror or "a file that cannot be read").lower()) from None
    except ValueError:
        raise jsonc.JsoncError("a path that could not be opened") from None
    if content is None:
        raise jsonc.JsoncError(f"more than {jsonc.MAX_BYTES} bytes")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        raise jsonc.JsoncError(f"bytes that are not UTF-8 (line {line}); save it as UTF-8") from None


def tables_in(value: Any) -> ForeignFile:
    """The servers that a value of a file holds."""
    if not isinstance(value, Mapping):
        return ForeignFile(faults=(Fault((), "an object with `mcpServers` or `servers`", type_of(value), _EXAMPLE),))
    roots = [root for root in (*ROOTS, *_project_roots(value)) if _at(value, root) is not None]
    if not roots:
        return ForeignFile(faults=(Fault((), "an object with `mcpServers` or `servers`", "one without", _EXAMPLE),))
    faults: list[Fault] = []
    tables: list[ForeignTable] = []
    for root in roots:
        for one in _tables_at(_at(value, root), root, faults):
            if any(other.name == one.name for other in tables):
                faults.append(Fault(one.path, "each name once", "one that stands there already", "rename one of them"))
            else:
                tables.append(one)
    return ForeignFile(tuple(tables), _inputs(value), tuple(faults))


def names_in(value: Any) -> tuple[str, ...]:
    """The names of the servers that a value of a file holds, right or wrong; those that are switched off too."""
    roots = (*ROOTS, *_project_roots(value)) if isinstance(value, Mapping) else ()
    tables = (_at(value, root) for root in roots)
    return tuple(dict.fromkeys(name for table in tables if isinstance(table, Mapping) for name in table))


_EXAMPLE = 'as in {"mcpServers": {"NAME": {"command": "npx", "args": ["-y", "PACKAGE"]}}}'


def _project_roots(value: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Claude Code keeps the servers of one project in its file of all: those of this folder count."""
    here = str(Path.cwd())
    if isinstance(value.get("projects"), Mapping) and here in value["projects"]:
        yield ("projects", here, "mcpServers")


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _tables_at(entries: Any, root: Path_, faults: list[Fault]) -> Iterator[ForeignTable]:
    if not isinstance(entries, Mapping):
        faults.append(Fault(root, "an object of servers by name", type_of(entries), _EXAMPLE))
        return
    if len(entries) > MAX_SERVERS:
        faults.append(Fault(root, f"at most {MAX_SERVERS} servers", f"{len(entries)}", "take some of them out"))
        return
    for key in jsonc.twice_in(entries):
        faults.append(Fault((*root, key), "each name once", "one that stands there twice", "rename one of them"))
    for name, entry in entries.items():
        path = (*root, name)
        if not isinstance(entry, Mapping):
            faults.append(Fault(path, "an object that says what the server is", type_of(entry), _EXAMPLE))
        elif not (entry.get("disabled") is True or entry.get("enabled") is False):
            yield _table_of(name, path, entry, faults)


def _table_of(name: str, path: Path_, entry: Mapping[str, Any], faults: list[Fault]) -> ForeignTable:
    table: dict[str, Any] = {}
    written: dict[str, str] = {}
    ignored = []
    for key, faulty in entry.items():
        own = _own_key(key, faulty)
        if own is None:
            ignored += [key] if key not in _SWITCHES else []
            if (meant := _misspelt(key)) is not None:
                faults.append(Fault((*path, key), "a known key", "an unknown key", f"did you mean {meant!r}?"))
        elif faulty in (None, "", [], {}):
            continue  # programs write what they have no value for
        elif own in table:
            got = f"`{key}` beside `{written[own]}`"
            faults.append(Fault((*path, key), "one key for one thing", got, f"take `{key}` out"))
        else:
            table[own], written[own] = faulty, key
    if isinstance(table.get("env"), Mapping):
        table["env"] = {key: _text_of(value) for key, value in table["env"].items() if value is not None}
    if "transport" in table:
        table["transport"] = _transport(table["transport"])
    return ForeignTable(name, path, table, written, tuple(ignored))


def _misspelt(key: str) -> str | None:
    """The known key that was meant; other programs have keys of their own, so it has to be a slip of one letter."""
    import difflib

    known = (*_SAME, *_RENAMED)
    near = difflib.get_close_matches(key[:40], known, n=1, cutoff=0.85)
    return near[0] if near and abs(len(near[0]) - len(key)) <= 1 else None


def _own_key(key: str, value: Any) -> str | None:
    if key in ("type", "transport"):
        return "transport"
    if key == "oauth":  # an object says how, which the server tells itself
        return "oauth" if isinstance(value, bool) else None
    return _RENAMED.get(key) or (key if key in _SAME else None)


def _transport(value: Any) -> Any:
    """In our own words; what is not among them stays, and is refused as our own would be."""
    return _TRANSPORTS.get(value.lower(), value) if isinstance(value, str) else value


def _text_of(value: Any) -> Any:
    """Numbers stand for their text in the `env` of other programs."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (int, float)) and abs(value) < 10**30 else value


def _inputs(value: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    inputs = value.get("inputs")
    if not isinstance(inputs, list):
        return {}
    return {one["id"]: one for one in inputs if isinstance(one, Mapping) and isinstance(one.get("id"), str)}
