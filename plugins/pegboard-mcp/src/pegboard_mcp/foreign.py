"""Servers out of other programs' files: `servers` of VS Code, `mcpServers` of Claude, Cursor and others.

Such a file becomes tables in our own keys (`read_tables`), in which variables are still named, and these become
definitions (`read_servers`). Whatever the file holds, the answer is servers or faults, never an exception; paths of
faults begin at the file's own root. Keys that mean nothing here are left out and named in `ForeignTable.ignored`.

Variables: `${VAR}` and `${VAR:-default}` as in our own files, and what editors have: `${env:VAR}`, `${userHome}`,
`${workspaceFolder}`, `${workspaceFolderBasename}`, `${cwd}`, `${pathSeparator}`. What VS Code asks a person for,
`${input:ID}`, comes from the variable of that name in capitals (`github-token`: `GITHUB_TOKEN`), else from the input's
own default. Anything else in `${...}` is a fault: a server would get it as it stands. A `$` without a brace is one.

The folder of a file's project is the one that holds it, or holds its `.vscode` or `.cursor`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs

from pegboard import Fault
from pegboard.schema.jsontext import shorten_text
from pegboard_mcp import jsonc
from pegboard_mcp.reading import read_bytes
from pegboard_mcp.secrets import secrets_of_host
from pegboard_mcp.table import Path_, ServerTableReader, type_of

if TYPE_CHECKING:
    from pegboard_mcp.definitions import ServerDefinition

MAX_SERVERS = 1000
_SWITCHES = ("disabled", "enabled")
ROOTS: tuple[tuple[str, ...], ...] = (("servers",), ("mcpServers",), ("mcp", "servers"))
"""Where tables of servers stand; the last in VS Code's settings.json."""

_RENAMED = {"serverUrl": "url", "httpUrl": "url", "includeTools": "allowed_tools", "excludeTools": "disabled_tools"}
_RENAMED |= {"disabledTools": "disabled_tools", "enabledTools": "allowed_tools"}
_SAME = (
    "command", "args", "env", "envFile", "env_file", "cwd", "url", "headers", "description", "encoding", "roots",
    # Ours alone, for those who keep such a file for pegboard; `timeout` is not among them: others mean milliseconds.
    "server", "prefix", "allowed_tools", "disabled_tools", "load_tools", "load_prompts", "required", "start", "results",
    "config", "config_env", "install_timeout", "request_timeout", "sse_read_timeout", "terminate_on_close",
    "max_message_bytes",
)  # fmt: skip
_TRANSPORTS = {
    "stdio": "stdio", "local": "stdio", "http": "http", "streamable-http": "http", "streamablehttp": "http",
    "streamable_http": "http", "remote": "http", "sse": "sse", "websocket": "websocket", "ws": "websocket",
}  # fmt: skip
_PLACEHOLDER = re.compile(r"\$\{([^}]*)(\}?)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL | re.ASCII)


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
        reader = ServerTableReader(one.name, table, project_of(path), host)
        definition = reader.read()
        value = {fault.path for fault in wrong}
        wrong += [fault for fault in reader.faults if fault.path not in value]
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
        raise jsonc.JsoncError(f"bytes that are not UTF-8 (line {line})") from None


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
    """In our own words; what is none of them stays, and is refused as our own would be."""
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


def project_of(path: Path) -> Path:
    """The folder of the project that a file belongs to."""
    folder = Path(os.path.abspath(path)).parent  # noqa: PTH100 - a link is where it lies
    return folder.parent if folder.name in (".vscode", ".cursor") else folder


# -- variables


class Reference(NamedTuple):
    """A `${...}` in a text.

    Args:
        written: as it stands there.
        variable: the variable of the host that it names, or None.
        default: what it is where the variable is not set.
        value: what it is in any case, where it names a folder.
        asked: whether VS Code would ask a person for it.
    """

    written: str
    variable: str | None = None
    default: str | None = None
    value: str | None = None
    asked: bool = False


class Names:
    """What names in `${...}` mean in one file."""

    def __init__(self, path: Path, inputs: Mapping[str, Mapping[str, Any]]) -> None:
        self._path = path
        self._inputs = inputs

    def parts(self, text: str) -> list[str | Reference]:
        """A text taken apart into plain texts and references."""
        parts: list[str | Reference] = []
        at = 0
        for match in _PLACEHOLDER.finditer(text):
            parts += [text[at : match.start()], self._reference(match)]
            at = match.end()
        return [part for part in [*parts, text[at:]] if part != ""]

    def _reference(self, match: re.Match[str]) -> Reference:
        written, body = match[0], match[1]
        kind, colon, name = body.partition(":")
        if not match[2]:
            return Reference(written)
        if colon and kind == "env" and _NAME.fullmatch(name):
            return Reference(written, name)
        if colon and kind == "input" and name:
            default = self._inputs.get(name, {}).get("default")
            return Reference(written, variable_of(name), default if isinstance(default, str) else None, asked=True)
        variable = _VARIABLE.fullmatch(body)
        folder = self._folder(body)
        if folder is not None or variable is None:
            return Reference(written, value=folder)
        return Reference(written, variable[1], variable[2])

    def _folder(self, name: str) -> str | None:
        if name == "userHome":
            return os.path.expanduser("~")  # noqa: PTH111 - this one answers also where nobody has a home
        if name == "cwd":
            return str(Path.cwd())
        if name in ("pathSeparator", "/"):
            return os.sep
        if name in ("workspaceFolder", "workspaceRoot"):
            return str(project_of(self._path))
        return project_of(self._path).name if name == "workspaceFolderBasename" else None


def variable_of(name: str) -> str:
    """The variable that stands for an input, or another name: `github-token` is `GITHUB_TOKEN`."""
    variable = re.sub(r"[^A-Z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name[:100]).upper()).strip("_")
    return variable if variable and not variable[0].isdigit() else f"INPUT_{variable}".rstrip("_")


def fill(table: Mapping[str, Any], names: Names, environ: Mapping[str, str]) -> tuple[dict[str, Any], list[Fault]]:
    """The table with its variables filled in, and a fault for each that could not be; its place holds nothing then."""
    faults: list[Fault] = []

    def one(part: str | Reference, path: Path_) -> str:
        if isinstance(part, str):
            return part
        value = part.value if part.variable is None else environ.get(part.variable)
        if not value and part.default is not None:
            value = part.default
        if value is None:
            faults.append(missing(part, path))
        return value or ""

    def change(value: Any, path: Path_) -> Any:
        if isinstance(value, str):
            return "".join(one(part, path) for part in names.parts(value)) if "${" in value else value
        if isinstance(value, Mapping):
            return {key: change(item, (*path, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [change(item, (*path, at)) for at, item in enumerate(value)]
        return value

    return change(table, ()), faults


def missing(part: Reference, path: Path_) -> Fault:
    """The fault of a reference that means nothing, or whose variable is not set."""
    shown = part.written if len(part.written) <= 60 else f"{part.written[:57]}..."
    if part.variable is None:
        return Fault(path, "a variable that is known here", shown, "write ${VAR}, or what it stands for")
    hint = f"set {part.variable}, or write ${{{part.variable}:-default}}"
    if part.asked:
        hint = f"nobody is asked here: set {part.variable}"
    return Fault(path, f"the variable {part.variable} to be set", "nothing", hint)
