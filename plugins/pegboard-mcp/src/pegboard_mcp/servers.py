"""From settings to definitions: what each configured server is, or everything that is wrong with it.

A *table* is what a person wrote about one server, in our own keys (`ServerSettings`), whatever file it stood in. A
`Reader` takes one table and yields a `ServerDefinition` or faults; it never raises, and it holds nothing to be of the
right type: whether a field's type is right is said by who structures the table, and a value of a wrong type counts here
as said, but unknown. Paths of faults begin at the table.

The rules that one table cannot tell:

- `server` names a package. `npm:NAME` and `pypi:NAME` say where it is. Otherwise a name with a scope (`@scope/name`) is
  npm's; one that begins with `mcp-server-` or `mcp_server_`, or that only PyPI could have (an upper case letter, an
  extra in brackets, `==`), is PyPI's; every other name is npm's. Of the packages called `mcp-server-...` forty times as
  many are on PyPI as on npm. npm's become `npx -y NAME`, PyPI's `uvx NAME` (`uvx --from SPEC NAME` where more than the
  name and a version is said); `args` follow.
- Relative paths (`cwd`, `env_file`, `roots`) begin at the working directory; those in another program's file at the
  folder of the project that the file belongs to. `~` is the home folder.
- `env` lies over `env_file`.
"""

from __future__ import annotations

import codecs
import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from pegboard import ConfigError, Fault
from pegboard.config import looks_secret
from pegboard_mcp.definitions import ServerDefinition, Transport
from pegboard_mcp.settings import LEAST_MESSAGE_BYTES, McpSettings, ServerSettings

if TYPE_CHECKING:
    from pegboard_mcp.foreign import ForeignServer

Path_ = tuple[str | int, ...]

SCHEMES: dict[str, Transport] = {"http": "http", "https": "http", "ws": "websocket", "wss": "websocket"}
TRANSPORTS = ("stdio", "http", "sse", "websocket")
STDIO_KEYS = ("args", "env", "env_file", "envFile", "cwd", "encoding", "config_env")
URL_KEYS = {
    "headers": ("http", "sse", "websocket"),
    "sse_read_timeout": ("http", "sse"),
    "terminate_on_close": ("http",),
    "oauth": ("http",),
}
MAX_NAME = 64
MAX_ENV_FILE_BYTES = 1_048_576
MIN_SECRET = 6
"""A shorter text is no secret that could be looked for: it would be found everywhere."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SCOPED = re.compile(r"@[a-z0-9~-][a-z0-9._~-]*/[a-z0-9~-][a-z0-9._~-]*(?:@[\w.^~<>=+*-]+)?", re.ASCII)
_NPM = re.compile(r"[a-z0-9~-][a-z0-9._~-]*(?:@[\w.^~<>=+*-]+)?", re.ASCII)
_PYPI = re.compile(
    r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)"
    r"(?P<extra>\[[A-Za-z0-9._, -]+\])?(?P<version>@[\w.+-]+|(?:[=~<>!]=|[<>])[\w.+*,=~<>! -]+)?",
    re.ASCII,
)
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_PREFIX = re.compile(r"[A-Za-z0-9_-]{0,32}", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_PLAIN_HEADERS = frozenset({"accept", "accept-encoding", "accept-language", "content-type", "user-agent"})


# -- all of them


def find_faults(raw: Mapping[str, Any]) -> list[Fault]:
    """What is wrong with `[plugins.mcp]` beyond the types of its fields; paths from that table on."""
    return [*_all(raw).faults, *_faults_of_tokens(raw.get("tokens"))]


def definitions_of(settings: McpSettings) -> tuple[ServerDefinition, ...]:
    """The definitions of settings that were found to be right.

    Raises:
        ConfigError: they are no longer.
    """
    tables = {name: table_of(server) for name, server in settings.servers.items()}
    known = _all({"servers": tables, "config_file": settings.config_file})
    if known.faults:
        raise ConfigError("the MCP servers are no longer as they were configured", known.faults)
    return tuple(known.definitions)


def table_of(settings: ServerSettings) -> dict[str, Any]:
    """The table that would be structured into these settings; keys with their defaults are left out."""
    import attrs

    fields = {field.alias or field.name: field for field in attrs.fields(ServerSettings)}
    said = {key: getattr(settings, field.name) for key, field in fields.items()}
    return {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in said.items()
        if value not in (fields[key].default, {}, ())
    }


class _Known(NamedTuple):
    definitions: list[ServerDefinition]
    faults: list[Fault]


def _all(raw: Mapping[str, Any]) -> _Known:
    known = _Known([], [])
    tables = raw.get("servers")
    base = Path.cwd()
    for name, table in tables.items() if isinstance(tables, Mapping) else ():
        if isinstance(table, Mapping):
            _add(known, name, table, base, ("servers", name))
    file = raw.get("config_file")
    if isinstance(file, str):
        _add_file(known, file)
    known.faults.extend(_clashes([(one.name, ("servers", one.name)) for one in known.definitions]))
    return known


def _add(known: _Known, name: str, table: Mapping[str, Any], base: Path, path: Path_) -> None:
    reader = Reader(name, table, base)
    definition = reader.read()
    known.faults.extend(_below(path, fault) for fault in reader.faults)
    if definition is not None:
        known.definitions.append(definition)


def _add_file(known: _Known, file: str) -> None:
    from pegboard_mcp.foreign import read_servers

    own = {definition.name: definition for definition in known.definitions}
    servers, faults = read_servers(Path(file).expanduser() if "\0" not in file else Path("\0"))
    known.faults.extend(_below(("config_file",), fault) for fault in faults)
    for server in servers:
        same = own.get(server.name)
        if same is None:
            known.definitions.append(server.definition)
        elif same.identity != server.definition.identity:
            known.faults.append(_said_twice(server))


def _said_twice(server: ForeignServer) -> Fault:
    hint = "rename one of them, or take one of them out"
    got = "one that [plugins.mcp.servers] has too, for another server"
    return Fault(("config_file", *server.path), "a name of the server's own", got, hint)


def _below(path: Path_, fault: Fault) -> Fault:
    return Fault((*path, *fault.path), fault.expected, fault.got, fault.hint, fault.due)


def _clashes(names: Iterable[tuple[str, Path_]]) -> Iterator[Fault]:
    """Names that are one in the names of tools, where every other sign than `[A-Za-z0-9_-]` is a hyphen."""
    seen: dict[str, str] = {}
    for name, path in names:
        first = seen.setdefault(normalised(name), name)
        if first != name:
            got = f"one that is the same as {first[:60]!r} in the names of tools"
            yield Fault(path, "a name of the server's own", got, "rename one of them")


def normalised(name: str) -> str:
    """A server's name as it stands in the names of tools."""
    return re.sub(r"[^A-Za-z0-9_-]", "-", name)


def _faults_of_tokens(tokens: Any) -> Iterator[Fault]:
    for token, user in tokens.items() if isinstance(tokens, Mapping) else ():
        path = ("tokens", token)
        if not re.fullmatch(r"[\x21-\x7e]+", token):
            yield Fault(path, "a token of visible ASCII signs", "another text", "take a long random one")
        elif isinstance(user, str) and not user.strip():
            yield Fault(path, "who the token's user is", "an empty text", 'as in TOKEN = "ada"')
        elif isinstance(user, Mapping) and isinstance(user.get("user_id"), str) and not user["user_id"].strip():
            yield Fault((*path, "user_id"), "who the token's user is", "an empty text", 'as in user_id = "ada"')


# -- one of them


class Reader:
    """Reads one table.

    Args:
        name: the server's.
        table: what was said about it, in our own keys.
        base: where relative paths begin.
        environ: variables of the host; None: the process's. Values of those that look like secrets are not shown.
    """

    def __init__(
        self, name: str, table: Mapping[str, Any], base: Path, environ: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self.faults: list[Fault] = []
        self._table = {key: value for key, value in table.items() if value is not None}
        self._base = base
        self._environ = os.environ if environ is None else environ

    def read(self) -> ServerDefinition | None:
        """The definition; None where there is a fault, or a value whose type is wrong."""
        self._check_name()
        transport = self._transport()
        argv = self._argv()
        url = self._url(transport)
        self._check_keys(transport)
        env = self._env()
        headers = self._headers()
        config = self._config(env)
        allowed, disabled = self._tools()
        rest = self._rest()
        if self.faults or transport is None or rest is None:
            return None
        if not argv if transport == "stdio" else url is None:
            return None
        return ServerDefinition(
            name=self.name,
            transport=transport,
            argv=argv,
            env=env,
            url=url,
            headers=headers,
            config=config,
            allowed_tools=allowed,
            disabled_tools=disabled,
            secrets=tuple(sorted(self._secrets(argv, env, url, headers, config))),
            **rest,
        )

    # what runs, or where it is

    def _transport(self) -> Transport | None:
        said = [key for key in ("command", "server", "url") if key in self._table]
        if len(said) > 1:
            runs = "a program to start or a URL, not both" if "url" in said else "`command` or `server`, not both"
            self._fault((said[-1],), runs, f"`{said[-1]}` beside `{said[0]}`", "take one of them out")
            return None
        transport = self._table.get("transport")
        if not said:
            wanted = "url" if transport in ("http", "sse", "websocket") else "command"
            example = {
                "command": 'command = "npx" with args, or server = "@scope/package", or url = "https://..."',
                "url": f'as in url = "{"wss" if transport == "websocket" else "https"}://host/mcp"',
            }
            what = "`url`" if wanted == "url" else "one of `command`, `server` and `url`"
            self._fault((wanted,), what, "nothing that says what the server is", example[wanted])
            return None
        if "url" not in said:
            if transport not in (None, "stdio"):
                self._fault(
                    ("transport",), "stdio for a program that is started", _quoted(transport),
                    'take `transport` out, or say `url` in place of the program',
                )  # fmt: skip
            return "stdio"
        if transport == "stdio":
            self._fault(("transport",), "http, sse or websocket for a URL", '"stdio"', "take `transport` out")
            return None
        return self._transport_of_url(transport)

    def _transport_of_url(self, transport: Any) -> Transport | None:
        url = self._text("url")
        scheme = url.partition("://")[0].lower() if url else ""
        known = SCHEMES.get(scheme)
        if transport is None or known is None:
            return known
        if (transport == "websocket") != (known == "websocket"):
            fits = "websocket" if known == "websocket" else "http or sse"
            self._fault(("transport",), f"{fits} for {scheme}://", _quoted(transport), "take `transport` out")
            return None
        return next((one for one in SCHEMES.values() if one == transport), "sse" if transport == "sse" else None)

    def _argv(self) -> tuple[str, ...]:
        args = self._texts("args")
        if "server" in self._table:
            runner = self._runner()
            return (*runner, *args) if runner else ()
        command = self._text("command")
        if command is None:
            return ()
        if not command.strip():
            self._fault(("command",), "a program", "an empty text", 'as in command = "npx"')
            return ()
        words = command.split()
        if len(words) > 1 and not re.search(r"[/\\]", words[0]):
            self._fault(
                ("command",), "one program, its arguments in `args`", "a program with arguments",
                f"command = {_quoted(words[0])}, and the other {len(words) - 1} words in args",
            )  # fmt: skip
            return ()
        return (str(Path(command).expanduser()) if command.startswith("~") else command, *args)

    def _runner(self) -> tuple[str, ...] | None:
        package = self._text("server")
        if package is None:
            return None
        runner = runner_of(package)
        if runner is None:
            self._fault(
                ("server",), "a package on npm or PyPI", _quoted(package) if package.strip() else "an empty text",
                'as in server = "@scope/name" or "pypi:name"; a program of your own is `command`',
            )  # fmt: skip
        return runner

    def _url(self, transport: Transport | None) -> str | None:
        url = self._text("url")
        if url is None:
            return None
        hint = 'as in url = "https://host/mcp"'
        if re.search(r"\s", url) or not url:
            self._fault(("url",), "a URL", "one with blanks in it" if url else "an empty text", hint)
            return None
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            self._fault(("url",), "a URL", "one that cannot be read", hint)
            return None
        if parts.scheme.lower() not in SCHEMES or "://" not in url:
            got = f"{parts.scheme[:20]}:" if parts.scheme else "one without"
            self._fault(("url",), "a URL of scheme http, https, ws or wss", got, hint)
        elif not host or port == 0:
            self._fault(("url",), "a URL with a host", "one without" if not host else "port 0", hint)
        elif parts.fragment:
            self._fault(("url",), "a URL without a fragment", "one with '#'", "take what follows '#' out")
        else:
            return url
        return None

    def _check_keys(self, transport: Transport | None) -> None:
        """Hold that nothing is said which this transport has no use for: it would be ignored in silence."""
        if transport is None:
            return
        if transport != "stdio":
            for key in STDIO_KEYS:
                if key in self._table:
                    self._fault((key,), "nothing: a URL starts no program", "a value", f"take `{key}` out, or the URL")
        for key, transports in URL_KEYS.items():
            if key in self._table and transport not in transports:
                fits = " and ".join([", ".join(transports[:-1]), transports[-1]] if transports[1:] else transports)
                self._fault((key,), f"nothing: `{key}` is for {fits}", f"a value for {transport}", f"take `{key}` out")

    # what it is given

    def _env(self) -> dict[str, str]:
        env = self._env_file()
        for key, value in self._table_of_texts("env"):
            path = ("env", key)
            if not key or "=" in key or _CONTROL.search(key):
                self._fault(path, "the name of a variable", "one that is empty, or has '=' or control signs in it")
            elif "\0" in value:
                self._fault(path, "a value without NUL", "one with NUL", f"look at the value of {key[:60]}")
            else:
                env[key] = value
        return env

    def _env_file(self) -> dict[str, str]:
        said = [key for key in ("env_file", "envFile") if key in self._table]
        if len(said) == 2:
            self._fault(("envFile",), "`env_file` or `envFile`, not both", "both", "take one of them out")
        if not said:
            return {}
        file = self._folder(said[0])
        return {} if file is None else self._variables_of(file, (said[0],))

    def _variables_of(self, file: str, path: Path_) -> dict[str, str]:
        try:
            with Path(file).open("rb") as opened:
                content = opened.read(MAX_ENV_FILE_BYTES + 1)
        except OSError as problem:
            hint = "make the file, or mend the path; a relative one begins at the working directory"
            self._fault(path, "a file that can be read", problem.strerror or "one that cannot", hint)
            return {}
        if len(content) > MAX_ENV_FILE_BYTES:
            self._fault(path, f"a file of at most {MAX_ENV_FILE_BYTES} bytes", "a larger one", "name the right file")
            return {}
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            self._fault(path, "a file of UTF-8 text", "other bytes", "save it as UTF-8")
            return {}
        return self._parsed(text, path)

    def _parsed(self, text: str, path: Path_) -> dict[str, str]:
        import io

        from dotenv import dotenv_values
        from dotenv.parser import parse_stream

        for binding in parse_stream(io.StringIO(text)):
            if binding.error:
                got = f"another line ({binding.original.line})"
                self._fault(path, "lines of NAME=value", got, "mend the line, or begin it with '#'")
                return {}
        values = dotenv_values(stream=io.StringIO(text), interpolate=True)
        if any("\0" in key or "\0" in (value or "") for key, value in values.items()):
            self._fault(path, "variables without NUL", "one with NUL", "look at the file")
        return {key: value for key, value in values.items() if key and value is not None}

    def _headers(self) -> dict[str, str]:
        headers: dict[str, str] = {}
        seen: set[str] = set()
        for key, value in self._table_of_texts("headers"):
            path = ("headers", key)
            if not _HEADER.fullmatch(key):
                self._fault(path, "the name of a header", "one with other signs", 'as in "X-Api-Key"')
            elif key.lower() in seen:
                self._fault(path, "each header once", "one that stands there in other letters", "take one of them out")
            elif not _HEADER_VALUE.fullmatch(value):
                hint = f"look at the value of {key[:60]}"
                self._fault(path, "a value of one line, without control signs", "one with other signs", hint)
            else:
                headers[key] = value
            seen.add(key.lower())
        return headers

    def _config(self, env: dict[str, str]) -> Mapping[str, Any] | None:
        config = self._table.get("config")
        variable = self._text("config_env")
        if variable is not None:
            if not _VARIABLE.fullmatch(variable):
                hint = 'as in config_env = "SERVER_CONFIG"'
                self._fault(("config_env",), "the name of a variable", _quoted(variable), hint)
            elif "config" not in self._table:
                hint = "say `config`, or take `config_env` out"
                self._fault(("config_env",), "`config`, which the variable is to hold", "none", hint)
            elif variable in env:
                hint = f"take {variable} out of `env`"
                self._fault(("config_env",), "a variable that nothing else sets", "one that is set already", hint)
        if not isinstance(config, Mapping):
            return None
        try:
            text = json.dumps(config, allow_nan=False, ensure_ascii=False)
            text.encode("utf-8")
        except (ValueError, TypeError, RecursionError):
            self._fault(("config",), "values that JSON has", "one that it has not", "no NaN, no infinity")
            return None
        if variable is not None and not self.faults:
            env[variable] = text
        return config

    def _tools(self) -> tuple[frozenset[str] | None, frozenset[str]]:
        allowed = frozenset(self._texts("allowed_tools")) if "allowed_tools" in self._table else None
        disabled = self._texts("disabled_tools")
        for at, name in enumerate(disabled):
            if allowed is not None and name in allowed:
                hint = "take it out of one of the two"
                self._fault(("disabled_tools", at), "a tool that `allowed_tools` does not name", _quoted(name), hint)
        for key in ("allowed_tools", "disabled_tools"):
            for at, name in enumerate(self._texts(key)):
                if not name.strip():
                    self._fault((key, at), "the name of a tool", "an empty text", "take it out")
        return allowed, frozenset(disabled)

    def _rest(self) -> dict[str, Any] | None:
        self._check_encoding()
        prefix = self._text("prefix")
        if prefix is not None and not _PREFIX.fullmatch(prefix):
            self._fault(("prefix",), "at most 32 of A-Z, a-z, 0-9, _ and -", _quoted(prefix), 'as in prefix = "fs_"')
        roots = [self._resolved(root, ("roots", at)) for at, root in enumerate(self._texts("roots"))]
        plain = {key: value for key, value in self._table.items() if key in _PLAIN}
        if any(not isinstance(value, _PLAIN[key][1]) for key, value in plain.items()):
            return None
        for key in ("timeout", "sse_read_timeout", "request_timeout"):
            value = plain.get(key, 1)
            if isinstance(value, bool) or not 0 < value < math.inf:
                return None
        if not plain.get("max_message_bytes", LEAST_MESSAGE_BYTES) >= LEAST_MESSAGE_BYTES:
            return None
        return {
            **{_PLAIN[key][0]: value for key, value in plain.items()},
            "cwd": self._folder("cwd"),
            "prefix": prefix or None,
            "roots": tuple(root for root in roots if root is not None),
        }

    def _check_encoding(self) -> None:
        encoding = self._text("encoding")
        if encoding is None:
            return
        try:
            found = codecs.lookup(encoding)
            is_fit = '{"a": 1}\n'.encode(found.name) == b'{"a": 1}\n'
        except (LookupError, ValueError, TypeError):
            is_fit = False
        if not is_fit:
            got = _quoted(encoding) if encoding else "an empty text"
            self._fault(("encoding",), "an encoding that writes ASCII as it is", got, 'take "utf-8"')

    def _check_name(self) -> None:
        if not self.name.strip() or len(self.name) > MAX_NAME or _CONTROL.search(self.name):
            got = "an empty one" if not self.name.strip() else "a longer one, or one with control signs"
            self._fault((), f"a name of 1 to {MAX_NAME} signs", got, "rename the server")

    # what a table holds

    def _fault(self, path: Path_, expected: str, got: str, hint: str | None = None) -> None:
        self.faults.append(Fault(path, expected, got, hint))

    def _text(self, key: str) -> str | None:
        value = self._table.get(key)
        if not isinstance(value, str):
            return None
        if "\0" in value:
            self._fault((key,), "a text without NUL", "one with NUL", "take it out")
            return None
        return value

    def _texts(self, key: str) -> tuple[str, ...]:
        values = self._table.get(key)
        if not isinstance(values, (list, tuple)):
            return ()
        texts = []
        for at, value in enumerate(values):
            if isinstance(value, str) and "\0" in value:
                if not any(fault.path == (key, at) for fault in self.faults):
                    self._fault((key, at), "a text without NUL", "one with NUL", "take it out")
            elif isinstance(value, str):
                texts.append(value)
        return tuple(texts)

    def _table_of_texts(self, key: str) -> Iterator[tuple[str, str]]:
        table = self._table.get(key)
        for name, value in table.items() if isinstance(table, Mapping) else ():
            if isinstance(value, str):
                yield name, value

    def _folder(self, key: str) -> str | None:
        text = self._text(key)
        return None if text is None else self._resolved(text, (key,))

    def _resolved(self, text: str, path: Path_) -> str | None:
        if not text.strip():
            self._fault(path, "a path", "an empty text", "take it out")
            return None
        if text.startswith("file://") and path[0] == "roots":
            return text
        try:
            return os.path.normpath(self._base / Path(text).expanduser())
        except RuntimeError:
            self._fault(path, "a path", "one of a user whose home is not known", "write the whole path")
            return None

    # what must not be shown

    def _secrets(
        self,
        argv: Iterable[str],
        env: Mapping[str, str],
        url: str | None,
        headers: Mapping[str, str],
        config: Mapping[str, Any] | None,
    ) -> set[str]:
        argv = list(argv)
        found: set[str] = {*env.values(), *secrets_of_args(argv), *secrets_of_config(config)}
        for name, value in headers.items():
            if name.lower() not in _PLAIN_HEADERS:
                found |= {value, *value.split()[1:]}
        if url is not None:
            found |= secrets_of_url(url)
        texts = "\n".join([*argv, url or "", json.dumps(config, default=str, ensure_ascii=False)])
        for name, value in self._environ.items():
            if len(value) >= MIN_SECRET and looks_secret(name) and value in texts:
                found.add(value)
        return {secret for secret in found if len(secret) >= MIN_SECRET}


_PLAIN: dict[str, tuple[str, Any]] = {
    "encoding": ("encoding", str),
    "oauth": ("oauth", bool),
    "timeout": ("connect_s", (int, float)),
    "sse_read_timeout": ("sse_read_s", (int, float)),
    "request_timeout": ("request_s", (int, float)),
    "terminate_on_close": ("terminate_on_close", bool),
    "max_message_bytes": ("max_message_bytes", int),
    "load_tools": ("load_tools", bool),
    "load_prompts": ("load_prompts", bool),
    "required": ("required", bool),
    "start": ("start", str),
    "description": ("description", str),
}
"""Keys that go over as they are: the field of the definition, and the types that it may have."""


def runner_of(package: str) -> tuple[str, ...] | None:
    """The command that runs a package of npm or PyPI; None for what can be the name of none."""
    where, colon, name = package.partition(":")
    if not colon:
        name = package
        where = "pypi" if _is_on_pypi(package) else "npm"
    if where == "npm" and (_SCOPED.fullmatch(name) or _NPM.fullmatch(name)) and not name.startswith("-"):
        return ("npx", "-y", name)
    parts = _PYPI.fullmatch(name) if where == "pypi" else None
    if parts is None:
        return None
    if parts["extra"] or not (parts["version"] or "@").startswith("@"):
        return ("uvx", "--from", name, parts["name"])
    return ("uvx", name)


def _is_on_pypi(package: str) -> bool:
    if package.startswith("@"):
        return False
    return bool(re.match(r"mcp[-_.]server[-_.]", package) or re.search(r"[A-Z\[]|[=~<>!]=", package))


def secrets_of_url(url: str) -> set[str]:
    """The user, the password and the secret-looking parameters of a URL, as written and as meant."""
    try:
        parts = urlsplit(url)
        found = {text for text in (parts.username, parts.password) if text}
    except ValueError:
        return set()
    found |= {value for key, value in parse_qsl(parts.query) if looks_secret(key)}
    query = [item.partition("=") for item in parts.query.split("&")]
    found |= {value for key, _, value in query if looks_secret(key)}
    return found | {unquote(text) for text in found}


def secrets_of_args(args: Iterable[str]) -> set[str]:
    """What follows `--api-key`, `--token=` or `GITHUB_TOKEN=`, what follows a secret-looking header, and what URLs
    carry."""
    found: set[str] = set()
    after = False
    for arg in args:
        if after and not arg.startswith("-"):
            found.add(arg)
        after = arg.startswith("-") and "=" not in arg and looks_secret(arg)
        if "://" in arg:
            found |= {secret for word in arg.split() for secret in secrets_of_url(word.rpartition("=")[2] or word)}
            found |= secrets_of_url(arg)
        said = re.match(r"([\w.-]{1,80})\s*[=:]\s*(?!//)(.*)", arg, re.DOTALL)
        if said and looks_secret(said[1]):
            found |= {said[2], *said[2].split()[1:]}
        found |= set(re.findall(r"(?i)\b(?:bearer|basic)\s+(\S+)", arg))
    return found


def secrets_of_config(config: Any, key: str = "") -> set[str]:
    """The texts below keys that look like secrets', all the way down."""
    if isinstance(config, Mapping):
        return {
            secret
            for name, item in config.items()
            for secret in secrets_of_config(item, key if key and looks_secret(key) else str(name))
        }
    if isinstance(config, (list, tuple)):
        return {secret for item in config for secret in secrets_of_config(item, key)}
    return {config} if isinstance(config, str) and key and looks_secret(key) else set()


def _quoted(value: Any) -> str:
    """What came, at most 60 characters of it, as JSON."""
    text = json.dumps(value, ensure_ascii=True, default=str)
    return text if len(text) <= 60 else f'{text[:57]}..."'
