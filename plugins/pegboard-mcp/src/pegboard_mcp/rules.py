"""What must hold of one server's table, whatever file it stood in, and the definition that it comes to.

The core says which values are of their keys' types (`ServerSettings`); here is what no key can say alone - a command
beside a URL, a header twice - and what depends on the machine: folders, files of variables. The table may hold values
of any type, and nothing is raised. Paths of faults begin at the table. Relative paths (`cwd`, `env_file`, `roots`)
begin at the working directory; those in another program's file at the folder of the project that the file belongs to.
`~` is the home folder. `env` lies over `env_file`.
"""

from __future__ import annotations

import codecs
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import attrs

from pegboard import Fault
from pegboard.config import looks_secret
from pegboard.schema import NearNames, structure_all
from pegboard.schema.jsontext import shorten_text
from pegboard_mcp.definitions import (
    BYTES,
    CONFINEMENT,
    KEYS,
    SECONDS,
    SHARED,
    STDIO,
    TEXT,
    TEXTS_BY_NAME,
    WEB,
    ServerDefinition,
    ServerSettings,
    Transport,
)
from pegboard_mcp.files import Path_, read_variables
from pegboard_mcp.packages import runner_of
from pegboard_mcp.secrets import secrets_of

SCHEMES: dict[str, Transport] = {"http": "http", "https": "http", "ws": "websocket", "wss": "websocket"}
OWN_HEADERS = frozenset(
    [
        "connection", "content-length", "host", "last-event-id", "mcp-protocol-version", "mcp-session-id",
        "transfer-encoding", "upgrade",
    ]
)  # fmt: skip
MAX_NAME = 64
SYSTEM_TEXTS = frozenset(
    [
        "command", "args", "server", "url", "cwd", "env_file", "envFile", "encoding", "prefix", "config_env", "roots",
        "allowed_tools", "disabled_tools", "read", "write", "network", "oauth_client_id", "oauth_client_secret",
        "oauth_issuer", "oauth_metadata_url", "oauth_scope",
    ]
)  # fmt: skip
"""Keys whose texts have to be fit for the system: for a command line, a path, a name."""
CHOICES = frozenset({("transport",), ("start",), ("results",)})
"""Keys of which what came is shown."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)
_HEADER_VALUE = re.compile(r"(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?")
_PREFIX = re.compile(r"[A-Za-z0-9_-]{0,32}", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_TYPES = {str: "a text", bool: "true or false", int: "a number", float: "a number", type(None): "nothing"}


def type_of(value: Any) -> str:
    """What came, in the words of files; no value of a table is quoted, for it may be secret."""
    if isinstance(value, Mapping):
        return "a table"
    return "a list" if isinstance(value, (list, tuple)) else _TYPES.get(type(value), "another value")


def is_system_text(text: str) -> bool:
    """Whether a text can be an argument, a path or the value of a variable."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def _named_secret(values: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in values.items() if looks_secret(name)}


def _unfit_texts(key: str, value: Any) -> list[Path_]:
    """Where a key has texts that the system does not take."""
    if key not in SYSTEM_TEXTS:
        return []
    texts = {(key, at): one for at, one in enumerate(value)} if isinstance(value, list) else {(key,): value}
    return [path for path, text in texts.items() if isinstance(text, str) and not is_system_text(text)]


def is_http_url(text: str) -> bool:
    """Whether a text is a whole URL of scheme http or https."""
    try:
        parts = urlsplit(text)
        is_whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return is_whole and not re.search(r"\s", text)


class TableRules:
    """Holds one table to the rules.

    Args:
        name: the server's.
        table: what was said about it, in our own keys.
        base: where relative paths begin.
        host: secrets of the host, which are hidden where they turn up here.
    """

    def __init__(self, name: str, table: Mapping[str, Any], base: Path, host: Sequence[str] = ()) -> None:
        self.name = name
        self.faults: list[Fault] = []
        self._unfit: list[Path_] = []
        self._said = {key: value for key, value in table.items() if value is not None}
        self._base = base
        self._host = host

    def define(self) -> ServerDefinition | None:
        """The definition; None where there is a fault."""
        self._check_name()
        self._settings = said = self._structured()
        transport = self._transport()
        argv = self._argv()
        url = self._url()
        self._check_keys(transport)
        env = self._env()
        headers = self._headers()
        self._check_oauth()
        config = self._config(env)
        self._check_tools()
        self._check_encoding()
        if not _PREFIX.fullmatch(said.prefix or ""):
            self._fault("prefix", "at most 32 of A-Z, a-z, 0-9, _ and -", _quoted(said.prefix), 'as in prefix = "fs_"')
        folders = {key: self._folders(key) for key in ("roots", "read", "write")}
        self._check_confinement()
        cwd = self._resolved(said.cwd, ("cwd",))
        for path in self._unfit:
            self._tell_unfit(path)
        if self.faults or transport is None:
            return None
        client = {said.oauth_client_secret} if said.oauth_client_secret else set()
        secrets = client | secrets_of(argv, env, url, headers, config, self._host)
        named = _named_secret(env) | self._of_file
        keys = client | secrets_of(argv, named, url, _named_secret(headers), config, self._host)
        shared = {key: getattr(said, key) for key in SHARED}
        resolved = {
            "env": env,
            "cwd": cwd,
            "prefix": said.prefix or None,
            "start": "eager" if said.required else said.start,  # the host waits for it
            **folders,
        }
        return ServerDefinition(
            **{**shared, **resolved},
            name=self.name,
            transport=transport,
            argv=argv,
            connect_s=said.timeout,
            install_s=said.install_timeout,
            request_s=said.request_timeout,
            sse_read_s=said.sse_read_timeout,
            max_message_bytes=said.max_message_bytes,
            allowed_tools=None if said.allowed_tools is None else frozenset(said.allowed_tools),
            disabled_tools=frozenset(said.disabled_tools),
            secrets=tuple(sorted(secrets)),
            keys=frozenset(keys),
            env_file=self._resolved(said.env_file or said.envFile, ("env_file",)),
        )

    # -- each key alone

    def _structured(self) -> ServerSettings:
        """What was said, of every key whose value is right; one whose value is not counts as said, but unknown."""
        values: dict[str, Any] = {}
        for key, value in self._said.items():
            if key not in KEYS:
                self._fault((key,), "a known key", "an unknown key", _near(key))
            else:
                values[key] = dict(value) if isinstance(value, Mapping) else value
                self._unfit += _unfit_texts(key, value)
        settings, _ = structure_all(values, ServerSettings)
        if settings is None or self._unfit:
            found = {key: self._right(key, value) for key, value in values.items()}
            right = {key: value for key, value in found.items() if value is not None}
            settings, _ = structure_all(right, ServerSettings)
            assert settings is not None, "each of its keys is right"
        return settings

    def _right(self, key: str, value: Any) -> Any:
        """The value of a key, where it is right; of a table of texts what is right in it, so that all that is wrong is
        said at once; None: it is wrong."""
        faults = structure_all({key: value}, ServerSettings)[1]
        for path in dict.fromkeys((key, *fault.path[1:]) for fault in faults):
            self._wrong_value(path, value)
        if isinstance(value, dict) and KEYS[key].metadata["takes"] == TEXTS_BY_NAME:
            return {name: item for name, item in value.items() if isinstance(item, str)}
        return None if faults or any(path[0] == key for path in self._unfit) else value

    def _wrong_value(self, path: Path_, value: Any) -> None:
        marks = KEYS[str(path[0])].metadata
        for step in path[1:]:
            value = value[step]
        got = type_of(value)
        if path in CHOICES and got == TEXT:
            got = _quoted(value)
        elif marks["takes"] in (SECONDS, BYTES) and got == "a number":
            got = str(value) if isinstance(value, float) or abs(value) < 10**30 else "a huge number"
        self._fault(path, marks["takes"] if len(path) == 1 else TEXT, got, f"as in {path[0]} = {marks['example']}")

    def _tell_unfit(self, path: Path_) -> None:
        if not any(fault.path == path for fault in self.faults):  # one is enough
            self._fault(path, "a text that the system takes", "one with NUL, or half a character", "take it out")

    def _check_name(self) -> None:
        if not self.name.strip() or len(self.name) > MAX_NAME or _CONTROL.search(self.name):
            got = "an empty one" if not self.name.strip() else "a longer one, or one with control signs"
            self._fault((), f"a name of 1 to {MAX_NAME} signs", got, "rename the server")

    # -- what runs, or where it is

    def _transport(self) -> Transport | None:
        given = [key for key in ("command", "server", "url") if key in self._said]
        if len(given) > 1:
            runs = "a program to start or a URL, not both" if "url" in given else "`command` or `server`, not both"
            self._fault((given[-1],), runs, f"`{given[-1]}` beside `{given[0]}`", "take one of them out")
            return None
        transport = self._settings.transport
        nothing = "nothing that says what the server is"
        if not given and transport in WEB:
            scheme = "wss" if transport == "websocket" else "https"
            self._fault("url", "`url`", nothing, f'as in url = "{scheme}://host/mcp"')
            return None
        if not given:
            hint = 'command = "npx" with args, or server = "@scope/package", or url = "https://..."'
            self._fault("command", "one of `command`, `server` and `url`", nothing, hint)
            return None
        if "url" not in given:
            if transport not in (None, "stdio"):
                self._fault("transport", "stdio for a program that is started", _quoted(transport),
                    'take `transport` out, or say `url` in place of the program',
                )  # fmt: skip
            return "stdio"
        if transport == "stdio":
            self._fault("transport", "http, sse or websocket for a URL", '"stdio"', "take `transport` out")
            return None
        return self._transport_of_url(transport)

    def _transport_of_url(self, transport: Any) -> Transport | None:
        url = self._settings.url
        scheme = url.partition("://")[0].lower() if url else ""
        known = SCHEMES.get(scheme)
        if transport is None or known is None:
            return known
        if (transport == "websocket") != (known == "websocket"):
            fits = "websocket" if known == "websocket" else "http or sse"
            self._fault("transport", f"{fits} for {scheme}://", _quoted(transport), "take `transport` out")
            return None
        return "sse" if transport == "sse" else known

    def _argv(self) -> tuple[str, ...]:
        args = self._settings.args
        if "server" in self._said:
            runner = self._runner()
            return (*runner, *args) if runner else ()
        command = self._settings.command
        if command is None:
            return ()
        if not command.strip():
            self._fault("command", "a program", "an empty text", 'as in command = "npx"')
            return ()
        words = command.split()
        if len(words) > 1 and not re.search(r"[/\\]", words[0]):
            self._fault("command", "one program, its arguments in `args`", "a program with arguments",
                f"command = {_quoted(words[0])}, and the other {len(words) - 1} words in args",
            )  # fmt: skip
            return ()
        if command.startswith("~"):
            command = self._expanded(command, ("command",)) or ""
        return (command, *args)

    def _runner(self) -> tuple[str, ...] | None:
        package = self._settings.server
        if package is None:
            return None
        runner = runner_of(package)
        if runner is None:
            self._fault("server", "a package on npm or PyPI", _quoted(package) if package.strip() else "an empty text",
                'as in server = "@scope/name" or "pypi:name"; a program of your own is `command`',
            )  # fmt: skip
        return runner

    def _url(self) -> str | None:
        url = self._settings.url
        if url is None:
            return None
        hint = 'as in url = "https://host/mcp"'
        if re.search(r"[\s\x00-\x20\x7f]", url) or not url:
            self._fault("url", "a URL", "one with blanks in it" if url else "an empty text", hint)
            return None
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            self._fault("url", "a URL", "one that cannot be read", hint)
            return None
        if parts.scheme.lower() not in SCHEMES or "://" not in url:
            got = f"{parts.scheme[:20]}:" if parts.scheme else "one without"
            self._fault("url", "a URL of scheme http, https, ws or wss", got, hint)
        elif not host or port == 0:
            self._fault("url", "a URL with a host", "one without" if not host else "port 0", hint)
        elif parts.fragment:
            self._fault("url", "a URL without a fragment", "one with '#'", "take what follows '#' out")
        else:
            return url
        return None

    def _check_keys(self, transport: Transport | None) -> None:
        """Require that nothing is said which this transport has no use for: it would be ignored in silence."""
        for key in self._said:
            only = KEYS[key].metadata["only"] if key in KEYS else ()
            if transport is None or not only or transport in only:
                continue
            if only == STDIO:
                self._fault((key,), "nothing: a URL starts no program", "a value", f"take `{key}` out, or the URL")
            else:
                fits = " and ".join([", ".join(only[:-1]), only[-1]] if only[1:] else only)
                self._fault((key,), f"nothing: `{key}` is for {fits}", f"a value for {transport}", f"take `{key}` out")

    def _check_oauth(self) -> None:
        """Of what goes with `oauth`, nothing may stand alone."""
        given = [key for key in self._said if key.startswith("oauth_")]
        if given and self._settings.oauth is not True:
            self._fault((given[0],), "`oauth = true` beside it", "nothing", "write oauth = true, or take it out")
        if "oauth_client_secret" in self._said and "oauth_client_id" not in self._said:
            self._fault("oauth_client_secret", "`oauth_client_id` beside it", "nothing", "say both")
        elif "oauth_client_secret" in self._said and "oauth_issuer" not in self._said:
            hint = "name the authorization server, or an MCP server could have the secret sent to another"
            self._fault("oauth_client_secret", "`oauth_issuer` beside it", "nothing", hint)
        url = self._settings.oauth_metadata_url
        if isinstance(url, str) and not re.fullmatch(r"https://[^/\s]+/[!-~]+", url):
            hint = 'as in oauth_metadata_url = "https://host/client.json"'
            self._fault("oauth_metadata_url", "a URL of scheme https with a path", "another text", hint)

    # -- what it is given

    def _env(self) -> dict[str, str]:
        self._of_file = self._env_file()
        env = dict(self._of_file)
        for key, value in self._settings.env.items():
            path = ("env", key)
            if not key or "=" in key or _CONTROL.search(key) or not is_system_text(key):
                self._fault(
                    path,
                    "the name of a variable",
                    "one that is empty, or has '=' or control signs in it",
                    'as in env = { PORT = "3000" }',
                )
            elif not is_system_text(value):
                self._tell_unfit(path)
            else:
                env[key] = value
        return env

    def _env_file(self) -> dict[str, str]:
        given = [key for key in ("env_file", "envFile") if key in self._said]
        if len(given) == 2:
            self._fault("envFile", "`env_file` or `envFile`, not both", "both", "take one of them out")
        if not given:
            return {}
        path = (given[0],)
        file = self._resolved(getattr(self._settings, given[0]), path)
        if file is None:
            return {}
        values, faults = read_variables(Path(file), shorten_text(self._said[given[0]], 200))
        self.faults += [attrs.evolve(fault, path=path) for fault in faults]
        return values

    def _headers(self) -> dict[str, str]:
        headers: dict[str, str] = {}
        seen: set[str] = set()
        for key, value in self._settings.headers.items():
            path = ("headers", key)
            if not _HEADER.fullmatch(key):
                self._fault(path, "the name of a header", "one with other signs", 'as in "X-Api-Key"')
            elif key.lower() in seen:
                self._fault(path, "each header once", "one that stands there in other letters", "take one of them out")
            elif key.lower() in OWN_HEADERS or key.lower().startswith("sec-websocket-"):
                self._fault(path, "a header that the transport does not set itself", key[:60], "take it out")
            elif key.lower() == "authorization" and self._settings.oauth is True:
                self._fault(path, "`oauth` or a token of your own, not both", "both", "take one of them out")
            elif not _HEADER_VALUE.fullmatch(value):
                hint = f"look at the value of {key[:60]}"
                self._fault(path, "a line of ASCII without blanks at its ends", "one with other signs", hint)
            else:
                headers[key] = value
            seen.add(key.lower())
        return headers

    def _config(self, env: dict[str, str]) -> Mapping[str, Any] | None:
        config = self._settings.config  # any value lies in it
        variable = self._settings.config_env
        if variable is not None:
            if not _VARIABLE.fullmatch(variable):
                hint = 'as in config_env = "SERVER_CONFIG"'
                self._fault("config_env", "the name of a variable", _quoted(variable), hint)
            elif "config" not in self._said:
                hint = "say `config`, or take `config_env` out"
                self._fault("config_env", "`config`, which the variable is to hold", "none", hint)
            elif variable in env:
                hint = f"take {variable} out of `env`"
                self._fault("config_env", "a variable that nothing else sets", "one that is set already", hint)
        if not isinstance(config, Mapping):
            return None
        try:
            text = json.dumps(config, allow_nan=False, ensure_ascii=False)
            text.encode("utf-8")
        except (ValueError, TypeError, RecursionError):
            self._fault("config", "values that JSON has", "one that it has not", "no NaN, no infinity")
            return None
        if variable is not None and not self.faults:
            env[variable] = text
        return config

    def _check_tools(self) -> None:
        allowed, disabled = self._settings.allowed_tools or (), self._settings.disabled_tools
        for at, name in enumerate(disabled):
            if name in allowed:
                hint = "take it out of one of the two"
                self._fault(("disabled_tools", at), "a tool that `allowed_tools` does not name", _quoted(name), hint)
        for key, names in (("allowed_tools", allowed), ("disabled_tools", disabled)):
            for at, name in enumerate(names):
                if not name.strip():
                    self._fault((key, at), "the name of a tool", "an empty text", "take it out")

    def _folders(self, key: str) -> tuple[str, ...]:
        found = [self._resolved(path, (key, at)) for at, path in enumerate(getattr(self._settings, key))]
        return tuple(path for path in found if path is not None)

    def _check_confinement(self) -> None:
        """Nothing that is said of a sandbox may stand without one: it would be believed."""
        given = [key for key in CONFINEMENT[1:] if key in self._said]
        if (
            given
            and not self._settings.confine
            and "confine" not in {fault.path[0] for fault in self.faults if fault.path}
        ):
            self._fault(given[0], "`confine = true` beside it", "nothing", "write confine = true, or take it out")
        for key in ("read", "write") if self._settings.confine else ():
            for at, folder in enumerate(getattr(self._settings, key)):
                self._check_given(key, at, folder)
        for at, entry in enumerate(self._settings.network):
            from pegboard_confine.network import read_entry

            try:
                read_entry(entry)
            except ValueError:
                hint = 'as in network = ["api.example.org", "10.0.0.5:5432"]; a port that is not said is 443'
                self._fault(("network", at), "a host, with a port or without", _quoted(entry), hint)

    def _check_given(self, key: str, at: int, text: str) -> None:
        """Nothing that a sandbox is made of is given: it would see the processes of others, or change programs that all
        run."""
        from pegboard_confine.bubblewrap import NOT_GIVEN, NOT_WRITTEN, within

        expanded = os.path.expanduser(text)  # noqa: PTH111 - what is wrong with it is said where it is resolved
        path = os.path.realpath(self._base / expanded)
        if path in NOT_GIVEN or within(path, ("/proc",)) or (key == "write" and path in NOT_WRITTEN):
            hint = f'as in {key} = ["./docs"]; what it needs of the system it sees'
            self._fault((key, at), "a folder or a file that it is to work with", "a part of the system", hint)
        base = os.path.realpath(self._base)
        is_inside = within(os.path.normpath(Path(base) / expanded), (base,)) and not Path(expanded).is_absolute()
        if is_inside and not within(path, (base,)):  # a later commit could make that link
            hint = "write where it leads, if you know who made it; or take it out"
            self._fault((key, at), "what lies in this folder", "a link out of it", hint)

    def _check_encoding(self) -> None:
        encoding = self._settings.encoding
        if encoding is None:
            return
        try:
            found = codecs.lookup(encoding)
            is_fit = '{"a": 1}\n'.encode(found.name) == b'{"a": 1}\n'
        except (LookupError, ValueError, TypeError):
            is_fit = False
        if not is_fit:
            got = _quoted(encoding) if encoding else "an empty text"
            self._fault("encoding", "an encoding that writes ASCII as it is", got, 'take "utf-8"')

    # -- tools of the rules

    def _resolved(self, text: str | None, path: Path_) -> str | None:
        if text is None:
            return None
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

    def _fault(self, place: str | Path_, expected: str, got: str, hint: str) -> None:
        self.faults.append(Fault((place,) if isinstance(place, str) else place, expected, got, hint))


def _near(key: str) -> str:
    near = NearNames().find(str(key), KEYS)
    return f"did you mean {near[0]!r}?" if near else "take it out"


def _quoted(value: Any) -> str:
    """What came, at most 60 characters of it, as JSON."""
    text = json.dumps(value, ensure_ascii=True, default=str)
    return text if len(text) <= 60 else f'{text[:57]}..."'
