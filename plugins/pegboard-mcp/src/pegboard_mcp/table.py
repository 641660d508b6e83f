"""One table: what a person wrote about one server, in our own keys, whatever file it stood in.

A `ServerTableReader` takes it, of values of any type, and gives a `ServerDefinition` or faults; it never raises. Paths
of faults begin at the table. Relative paths (`cwd`, `env_file`, `roots`) begin at the working directory; those in
another program's file at the folder of the project that the file belongs to. `~` is the home folder. `env` lies over
`env_file`.
"""

from __future__ import annotations

import codecs
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from pegboard import Fault
from pegboard.schema.jsontext import shorten_text
from pegboard_mcp.definitions import ServerDefinition, Transport
from pegboard_mcp.packages import runner_of
from pegboard_mcp.reading import read_bytes
from pegboard_mcp.secrets import secrets_of
from pegboard_mcp.settings import LEAST_MESSAGE_BYTES, MAX_S, MOST_MESSAGE_BYTES

Path_ = tuple[str | int, ...]

SCHEMES: dict[str, Transport] = {"http": "http", "https": "http", "ws": "websocket", "wss": "websocket"}
TRANSPORTS = ("stdio", "http", "sse", "websocket")
STDIO_KEYS = ("args", "env", "env_file", "envFile", "cwd", "encoding", "config_env", "install_timeout")
URL_KEYS = {
    "headers": ("http", "sse", "websocket"),
    "sse_read_timeout": ("http", "sse"),
    "terminate_on_close": ("http",),
    "oauth": ("http",),
    "oauth_client_id": ("http",),
    "oauth_client_secret": ("http",),
    "oauth_issuer": ("http",),
    "oauth_metadata_url": ("http",),
    "oauth_scope": ("http",),
}
OWN_HEADERS = frozenset(
    [
        "connection", "content-length", "host", "last-event-id", "mcp-protocol-version", "mcp-session-id",
        "transfer-encoding", "upgrade",
    ]
)  # fmt: skip
MAX_NAME = 64
MAX_ENV_FILE_BYTES = 1_048_576

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)
_HEADER_VALUE = re.compile(r"(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?")
_PREFIX = re.compile(r"[A-Za-z0-9_-]{0,32}", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


class Bounds(NamedTuple):
    """Between which a number lies; it is above zero in any case."""

    least: float
    most: float
    is_whole: bool = False


class Kind(NamedTuple):
    """What a key takes: its type, the same in words, and an example."""

    type: Any
    words: str
    example: str


_TEXT, _TEXTS, _TABLE = "a text", "a list of texts", "a table of texts"
_YES_OR_NO = "true or false, without quotes"
_SECONDS = Bounds(0, MAX_S)
_BYTES = Bounds(LEAST_MESSAGE_BYTES, MOST_MESSAGE_BYTES, is_whole=True)
KINDS = {
    "command": Kind(str, _TEXT, 'command = "npx"'),
    "args": Kind(list, _TEXTS, 'args = ["-y", "3000"]'),
    "server": Kind(str, _TEXT, 'server = "@scope/name"'),
    "env": Kind(dict, _TABLE, 'env = { PORT = "3000" }'),
    "env_file": Kind(str, _TEXT, 'env_file = ".env"'),
    "envFile": Kind(str, _TEXT, 'envFile = ".env"'),
    "cwd": Kind(str, _TEXT, 'cwd = "folder"'),
    "encoding": Kind(str, _TEXT, 'encoding = "utf-8"'),
    "transport": Kind(("stdio", "sse", "websocket", "http"), "stdio, sse, websocket or http", 'transport = "http"'),
    "url": Kind(str, _TEXT, 'url = "https://host/mcp"'),
    "headers": Kind(dict, _TABLE, 'headers = { X-Tenant = "7" }'),
    "oauth": Kind(bool, _YES_OR_NO, "oauth = true"),
    "oauth_client_id": Kind(str, _TEXT, 'oauth_client_id = "pegboard"'),
    "oauth_client_secret": Kind(str, _TEXT, 'oauth_client_secret = "${CLIENT_SECRET}"'),
    "oauth_issuer": Kind(str, _TEXT, 'oauth_issuer = "https://login.host"'),
    "oauth_metadata_url": Kind(str, _TEXT, 'oauth_metadata_url = "https://host/client.json"'),
    "oauth_scope": Kind(str, _TEXT, 'oauth_scope = "read write"'),
    "timeout": Kind(_SECONDS, f"seconds above 0, at most {MAX_S:.0f}", "timeout = 30"),
    "install_timeout": Kind(_SECONDS, f"seconds above 0, at most {MAX_S:.0f}", "install_timeout = 120"),
    "sse_read_timeout": Kind(_SECONDS, f"seconds above 0, at most {MAX_S:.0f}", "sse_read_timeout = 300"),
    "terminate_on_close": Kind(bool, _YES_OR_NO, "terminate_on_close = false"),
    "request_timeout": Kind(_SECONDS, f"seconds above 0, at most {MAX_S:.0f}", "request_timeout = 60"),
    "max_message_bytes": Kind(_BYTES, f"a whole number, {_BYTES[0]} to {_BYTES[1]}", "max_message_bytes = 65536"),
    "load_tools": Kind(bool, _YES_OR_NO, "load_tools = false"),
    "load_prompts": Kind(bool, _YES_OR_NO, "load_prompts = false"),
    "allowed_tools": Kind(list, _TEXTS, 'allowed_tools = ["read_file"]'),
    "disabled_tools": Kind(list, _TEXTS, 'disabled_tools = ["write_file"]'),
    "prefix": Kind(str, _TEXT, 'prefix = "fs_"'),
    "required": Kind(bool, _YES_OR_NO, "required = true"),
    "start": Kind(("lazy", "eager"), "lazy or eager", 'start = "eager"'),
    "results": Kind(("clean", "raw"), "clean or raw", 'results = "raw"'),
    "config": Kind(Mapping, "a table", "config = { depth = 3 }"),
    "config_env": Kind(str, _TEXT, 'config_env = "SERVER_CONFIG"'),
    "roots": Kind(list, _TEXTS, 'roots = ["."]'),
    "description": Kind(str, _TEXT, 'description = "what it is for"'),
}
"""Every key of a server's table. A type is a class, the words that may be said, or the bounds of a number."""

_FIELDS = {
    "encoding": "encoding",
    "oauth": "oauth",
    "oauth_client_id": "oauth_client_id",
    "oauth_client_secret": "oauth_client_secret",
    "oauth_issuer": "oauth_issuer",
    "oauth_metadata_url": "oauth_metadata_url",
    "oauth_scope": "oauth_scope",
    "timeout": "connect_s",
    "install_timeout": "install_s",
    "sse_read_timeout": "sse_read_s",
    "request_timeout": "request_s",
    "terminate_on_close": "terminate_on_close",
    "max_message_bytes": "max_message_bytes",
    "load_tools": "load_tools",
    "load_prompts": "load_prompts",
    "required": "required",
    "start": "start",
    "results": "results",
    "description": "description",
}
"""The field of the definition for each key that goes over as it is."""


def _wrong_places(value: Any, kind: Any) -> list[tuple[Path_, str]]:
    """Where a value is not what its key takes, and what came; no value of a table is quoted, for it may be secret."""
    if kind is list:
        if not isinstance(value, (list, tuple)):
            return [((), type_of(value))]
        return [((at,), type_of(item)) for at, item in enumerate(value) if not isinstance(item, str)]
    if kind is dict:
        if not isinstance(value, Mapping):
            return [((), type_of(value))]
        return [((key,), type_of(item)) for key, item in value.items() if not isinstance(item, str)]
    if isinstance(kind, Bounds):
        return _wrong_number(value, kind)
    if type(kind) is tuple:
        return [] if value in kind else [((), _quoted(value) if isinstance(value, str) else type_of(value))]
    return [] if isinstance(value, kind) else [((), type_of(value))]


def _wrong_number(value: Any, bounds: Bounds) -> list[tuple[Path_, str]]:
    if isinstance(value, bool) or not isinstance(value, int if bounds.is_whole else (int, float)):
        return [((), type_of(value))]
    return [] if bounds.least <= value <= bounds.most and value > 0 else [((), _number(value))]


def _number(value: Any) -> str:
    return str(value) if isinstance(value, float) or abs(value) < 10**30 else "a huge number"


_TYPES = {str: "a text", bool: "true or false", int: "a number", float: "a number", type(None): "nothing"}


def type_of(value: Any) -> str:
    """What came, in the words of files."""
    if isinstance(value, Mapping):
        return "a table"
    return "a list" if isinstance(value, (list, tuple)) else _TYPES.get(type(value), "another value")


def is_system_text(text: str) -> bool:
    """Whether a text can be an argument, a path or the value of a variable."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def is_http_url(text: str) -> bool:
    """Whether a text is a whole URL of scheme http or https."""
    try:
        parts = urlsplit(text)
        return (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and parts.port != 0
            and not re.search(r"\s", text)
        )
    except ValueError:
        return False


def _unset(value: str, known: set[str]) -> list[str]:
    """The variables that a value of an env_file needs and that nobody has set."""
    from dotenv.variables import Variable, parse_variables

    named = (atom for atom in parse_variables(value) if isinstance(atom, Variable))
    return [atom.name for atom in named if atom.default is None and atom.name not in known]


def _near(key: str) -> str:
    from pegboard.schema import NearNames

    near = NearNames().find(str(key), KINDS)
    return f"did you mean {near[0]!r}?" if near else "take it out"


class ServerTableReader:
    """Reads one table.

    Args:
        name: the server's.
        table: what was said about it, in our own keys.
        base: where relative paths begin.
        host: secrets of the host, which are hidden where they turn up here.
    """

    def __init__(self, name: str, table: Mapping[str, Any], base: Path, host: Sequence[str] = ()) -> None:
        self.name = name
        self.faults: list[Fault] = []
        self._table = {key: value for key, value in table.items() if value is not None}
        self._base = base
        self._host = host
        self._wrong: set[str] = set()

    def read(self) -> ServerDefinition | None:
        """The definition; None where there is a fault."""
        self._check_name()
        self._check_types()
        transport = self._transport()
        argv = self._argv()
        url = self._url(transport)
        self._check_keys(transport)
        env = self._env()
        headers = self._headers()
        self._check_oauth()
        config = self._config(env)
        allowed, disabled = self._tools()
        rest = self._rest()
        if self.faults or transport is None or self._wrong:
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
            secrets=tuple(sorted({*secrets_of(argv, env, url, headers, config, self._host), *self._own_secrets()})),
            env_file=self._folder("env_file") or self._folder("envFile"),
            **rest,
        )

    def _own_secrets(self) -> list[str]:
        secret = self._table.get("oauth_client_secret")
        return [secret] if isinstance(secret, str) and secret else []

    def _check_oauth(self) -> None:
        """Of what goes with `oauth`, nothing may stand alone."""
        given = [key for key in self._table if key.startswith("oauth_")]
        if given and self._table.get("oauth") is not True:
            self._fault((given[0],), "`oauth = true` beside it", "nothing", "write oauth = true, or take it out")
        if "oauth_client_secret" in self._table and "oauth_client_id" not in self._table:
            self._fault(("oauth_client_secret",), "`oauth_client_id` beside it", "nothing", "say both")
        elif "oauth_client_secret" in self._table and "oauth_issuer" not in self._table:
            hint = "name the authorization server, or an MCP server could have the secret sent to another"
            self._fault(("oauth_client_secret",), "`oauth_issuer` beside it", "nothing", hint)
        url = self._table.get("oauth_metadata_url")
        if isinstance(url, str) and not re.fullmatch(r"https://[^/\s]+/[!-~]+", url):
            hint = 'as in oauth_metadata_url = "https://host/client.json"'
            self._fault(("oauth_metadata_url",), "a URL of scheme https with a path", "another text", hint)

    # what runs, or where it is

    def _transport(self) -> Transport | None:
        given = [key for key in ("command", "server", "url") if key in self._table]
        if len(given) > 1:
            runs = "a program to start or a URL, not both" if "url" in given else "`command` or `server`, not both"
            self._fault((given[-1],), runs, f"`{given[-1]}` beside `{given[0]}`", "take one of them out")
            return None
        transport = None if "transport" in self._wrong else self._table.get("transport")
        if not given:
            wanted = "url" if transport in ("http", "sse", "websocket") else "command"
            example = {
                "command": 'command = "npx" with args, or server = "@scope/package", or url = "https://..."',
                "url": f'as in url = "{"wss" if transport == "websocket" else "https"}://host/mcp"',
            }
            what = "`url`" if wanted == "url" else "one of `command`, `server` and `url`"
            self._fault((wanted,), what, "nothing that says what the server is", example[wanted])
            return None
        if "url" not in given:
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
        return "sse" if transport == "sse" else known

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
        if command.startswith("~"):
            command = self._expanded(command, ("command",)) or ""
        return (command, *args)

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
        if re.search(r"[\s\x00-\x20\x7f]", url) or not url:
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
        """Require that nothing is said which this transport has no use for: it would be ignored in silence."""
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
            if not key or "=" in key or _CONTROL.search(key) or not is_system_text(key):
                self._fault(
                    path,
                    "the name of a variable",
                    "one that is empty, or has '=' or control signs in it",
                    'as in env = { PORT = "3000" }',
                )
            elif self._is_fit(value, path):
                env[key] = value
        return env

    def _env_file(self) -> dict[str, str]:
        given = [key for key in ("env_file", "envFile") if key in self._table]
        if len(given) == 2:
            self._fault(("envFile",), "`env_file` or `envFile`, not both", "both", "take one of them out")
        if not given:
            return {}
        file = self._folder(given[0])
        return {} if file is None else self._variables_of(file, (given[0],))

    def _variables_of(self, file: str, path: Path_) -> dict[str, str]:
        named = shorten_text(str(self._table[str(path[-1])]), 200)  # as it was written
        try:
            content = read_bytes(Path(file), MAX_ENV_FILE_BYTES)
        except (OSError, ValueError) as problem:
            why = getattr(problem, "strerror", None) or "a path that could not be opened"
            hint = "make the file, or repair the path; a relative one begins at the working directory"
            self._fault(path, "a file that can be read", f"{named}: {why.lower()}", hint)
            return {}
        if content is None:
            self._fault(
                path, f"a file of at most {MAX_ENV_FILE_BYTES} bytes", f"{named}, which is larger", "name another"
            )
            return {}
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            self._fault(path, "a file of UTF-8 text", f"other bytes in {named}", "save it as UTF-8")
            return {}
        return self._parsed(text, path)

    def _parsed(self, text: str, path: Path_) -> dict[str, str]:
        import io

        from dotenv import dotenv_values
        from dotenv.parser import parse_stream

        known = set(os.environ)
        for binding in parse_stream(io.StringIO(text)):
            line = binding.original.line
            if binding.error:
                hint = "repair the line, or begin it with '#'"
                self._fault(path, "lines of NAME=value", f"another one (line {line})", hint)
                return {}
            for name in _unset(binding.value or "", known):
                hint = f"set {name}, or write ${{{name}:-default}}"
                self._fault(path, f"the variable {name[:60]} to be set", f"nothing (line {line})", hint)
            known |= {binding.key} if binding.key else set()
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
            elif key.lower() in OWN_HEADERS or key.lower().startswith("sec-websocket-"):
                self._fault(path, "a header that the transport does not set itself", key[:60], "take it out")
            elif key.lower() == "authorization" and self._table.get("oauth") is True:
                self._fault(path, "`oauth` or a token of your own, not both", "both", "take one of them out")
            elif not _HEADER_VALUE.fullmatch(value):
                hint = f"look at the value of {key[:60]}"
                self._fault(path, "a line of ASCII without blanks at its ends", "one with other signs", hint)
            else:
                headers[key] = value
            seen.add(key.lower())
        return headers

    def _config(self, env: dict[str, str]) -> Mapping[str, Any] | None:
        config = self._table.get("config")  # any value lies in it
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

    def _rest(self) -> dict[str, Any]:
        self._check_encoding()
        prefix = self._text("prefix")
        if prefix is not None and not _PREFIX.fullmatch(prefix):
            self._fault(("prefix",), "at most 32 of A-Z, a-z, 0-9, _ and -", _quoted(prefix), 'as in prefix = "fs_"')
        roots = [self._resolved(root, ("roots", at)) for at, root in enumerate(self._texts("roots"))]
        plain = {_FIELDS[key]: value for key, value in self._table.items() if key in _FIELDS}
        if plain.get("required") is True:  # the host waits for it
            plain["start"] = "eager"
        return {
            **plain,
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

    def _check_types(self) -> None:
        """Require that each value is of its key's type; one that is not counts as said, but unknown."""
        for key, value in self._table.items():
            kind = KINDS.get(key)
            if kind is None:
                self._fault((key,), "a known key", "an unknown key", _near(key))
            elif wrong := _wrong_places(value, kind.type):
                self._wrong.add(key)
                for path, got in wrong:
                    self._fault((key, *path), kind.words if not path else "a text", got, f"as in {kind.example}")

    def _fault(self, path: Path_, expected: str, got: str, hint: str | None = None) -> None:
        self.faults.append(Fault(path, expected, got, hint))

    def _text(self, key: str) -> str | None:
        value = self._table.get(key)
        if not isinstance(value, str) or key in self._wrong:
            return None
        return value if self._is_fit(value, (key,)) else None

    def _texts(self, key: str) -> tuple[str, ...]:
        values = self._table.get(key)
        if not isinstance(values, (list, tuple)):
            return ()
        return tuple(
            value for at, value in enumerate(values) if isinstance(value, str) and self._is_fit(value, (key, at))
        )

    def _is_fit(self, text: str, path: Path_) -> bool:
        """Whether a text can be given to the system; says so once where it cannot."""
        is_fit = is_system_text(text)
        if not is_fit and not any(fault.path == path for fault in self.faults):
            self._fault(path, "a text that the system takes", "one with NUL, or half a character", "take it out")
        return is_fit

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
        expanded = self._expanded(text, path)
        return None if expanded is None else os.path.normpath(self._base / expanded)

    def _expanded(self, text: str, path: Path_) -> str | None:
        try:
            return str(Path(text).expanduser())
        except RuntimeError:
            self._fault(path, "a path", "one of a user whose home is not known", "write the whole path")
            return None


def _quoted(value: Any) -> str:
    """What came, at most 60 characters of it, as JSON."""
    text = json.dumps(value, ensure_ascii=True, default=str)
    return text if len(text) <= 60 else f'{text[:57]}..."'
