"""All configured servers: those of the settings, and those of another program's file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from pegboard import ConfigError, Fault
from pegboard.config import expand_home
from pegboard_mcp.definitions import KEYS
from pegboard_mcp.files import Path_, files_of
from pegboard_mcp.rules import TableRules, is_http_url, type_of
from pegboard_mcp.secrets import secrets_of_host

if TYPE_CHECKING:
    from pegboard_mcp.definitions import ServerDefinition, ServerSettings
    from pegboard_mcp.foreign import ForeignServer


def find_faults(raw: Mapping[str, Any]) -> list[Fault]:
    """What is wrong with `[plugins.mcp]` beyond the types of its fields; paths from that table on."""
    return [
        *_all(raw).faults,
        *_faults_of_tokens(raw.get("tokens")),
        *_faults_of_oauth(raw.get("oauth")),
        *_faults_of_instances(raw),
    ]


def find_files(raw: Mapping[str, Any]) -> Iterator[tuple[Path_, Path]]:
    """The files that decide what the servers are, with the place that names each; paths from the table on."""
    for definition, path in _all(raw).definitions:
        for key, file in files_of(definition):
            yield (path[:1] if path[0] == "config_file" else (*path, key)), file


def definitions_of(servers: Mapping[str, ServerSettings], config_file: str | None) -> tuple[ServerDefinition, ...]:
    """The definitions of settings that were found to be right.

    Raises:
        ConfigError: they are no longer.
    """
    known = _all({"servers": {name: _table_of(one) for name, one in servers.items()}, "config_file": config_file})
    if known.faults:
        raise ConfigError("the MCP servers are no longer as they were configured", known.faults)
    return tuple(definition for definition, _ in known.definitions)


def _table_of(settings: ServerSettings) -> dict[str, Any]:
    """The table that would be structured into these settings; keys with their defaults are left out."""
    values = {key: getattr(settings, key) for key in KEYS}
    return {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in values.items()
        if value not in (KEYS[key].default, {}, ())
    }


class _Known(NamedTuple):
    """What was read: definitions with the place of each, and faults."""

    definitions: list[tuple[ServerDefinition, Path_]]
    faults: list[Fault]


def _all(raw: Mapping[str, Any]) -> _Known:
    known = _Known([], [])
    tables = raw.get("servers", {})
    if not isinstance(tables, Mapping):
        known.faults.append(Fault(("servers",), "tables, one for each server", type_of(tables), _EXAMPLE))
        tables = {}
    base, host = Path.cwd(), secrets_of_host(os.environ) if tables else []
    for name, table in tables.items():
        _add(known, name, table, base, host)
    file = raw.get("config_file")
    if isinstance(file, str):
        _add_file(known, file)
    known.faults.extend(_clashes((one.name, path) for one, path in known.definitions))
    return known


_EXAMPLE = 'as in [plugins.mcp.servers.NAME] with command = "npx"'


def _add(known: _Known, name: str, table: Any, base: Path, host: Sequence[str]) -> None:
    path = ("servers", name)
    if not isinstance(table, Mapping):
        known.faults.append(Fault(path, "a table", type_of(table), _EXAMPLE))
        return
    rules = TableRules(name, table, base, host)
    definition = rules.define()
    known.faults.extend(_below(path, fault) for fault in rules.faults)
    if definition is not None:
        known.definitions.append((definition, path))


def _add_file(known: _Known, file: str) -> None:
    from pegboard_mcp.foreign import read_servers

    own = {definition.name: definition for definition, _ in known.definitions}
    servers, faults = read_servers(expand_home(file))
    known.faults.extend(_below(("config_file",), fault) for fault in faults)
    for server in servers:
        same = own.get(server.name)
        if same is None:
            known.definitions.append((server.definition, ("config_file", *server.path)))
        elif same.identity != server.definition.identity:
            known.faults.append(_said_twice(server))


def _said_twice(server: ForeignServer) -> Fault:
    hint = "rename one of them, or take one of them out"
    got = "one that [plugins.mcp.servers] has too, for another server"
    return Fault(("config_file", *server.path), "a name of the server's own", got, hint)


def _below(path: Path_, fault: Fault) -> Fault:
    return Fault((*path, *fault.path), fault.expected, fault.got, fault.hint, fault.expected_types)


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


LEAST_KEY = 16
"""The shortest key, in characters: what clients are given can be tried against keys for as long as somebody likes."""

LONGEST_INSTANCE = 64
"""The longest name of an instance, in characters: it stands in what clients are given, which is bounded."""


def _faults_of_instances(raw: Mapping[str, Any]) -> Iterator[Fault]:
    key, own, others = raw.get("state_key"), raw.get("instance"), raw.get("instances")
    if isinstance(key, str) and len(key.strip()) < LEAST_KEY:
        yield Fault(("state_key",), f"a secret of {LEAST_KEY} characters or more", "another text", "take a random one")
    if isinstance(own, str) and not (own.strip() and len(own) <= LONGEST_INSTANCE):
        got = f"{len(own)} characters" if own.strip() else "an empty text"
        yield Fault(("instance",), f"a name of 1 to {LONGEST_INSTANCE} characters", got, 'as in instance = "a"')
    for name, url in others.items() if isinstance(others, Mapping) else ():
        if isinstance(url, str) and (not is_http_url(url) or urlsplit(url).path.strip("/") or urlsplit(url).query):
            yield Fault(
                ("instances", name), "a URL without a path", "another text", f'as in {name} = "http://10.0.0.2:8000"'
            )
    if others and key is None:
        yield Fault(("state_key",), "the key that the instances share", "nothing", "say it in all of them")
    if raw.get("carrier") is not None and key is None:
        yield Fault(("state_key",), "the key that the instances share", "nothing", "`carrier` needs it, in all of them")
    if others and own is None:
        yield Fault(("instance",), "what this instance is called", "nothing", "say which of `instances` this one is")


def _faults_of_oauth(oauth: Any) -> Iterator[Fault]:
    if not isinstance(oauth, Mapping):
        return
    for key in ("issuer", "introspection_url", "resource_url"):
        url = oauth.get(key)
        if isinstance(url, str) and not is_http_url(url):
            yield Fault(
                ("oauth", key), "a URL of scheme https, or http", "another text", f'as in {key} = "https://host"'
            )
    if isinstance(oauth.get("client_secret"), str) and oauth.get("client_id") is None:
        yield Fault(("oauth", "client_id"), "the name that goes with `client_secret`", "nothing", "say both")
