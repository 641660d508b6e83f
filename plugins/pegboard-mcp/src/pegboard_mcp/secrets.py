"""Which texts of a server's definition must not be shown: not in a log, not in an error."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from pegboard.config import looks_secret

_PLAIN_HEADERS = frozenset({"accept", "accept-encoding", "accept-language", "content-type", "user-agent"})
_FOLDERS = frozenset({"PWD", "OLDPWD"})
"""Variables of every shell that hold no password."""
MIN_SECRET = 6
"""A shorter text is not a secret that could be looked for: it would be found everywhere."""


def secrets_of(
    argv: Iterable[str],
    env: Mapping[str, str],
    url: str | None,
    headers: Mapping[str, str],
    config: Mapping[str, Any] | None,
    host: Iterable[str],
) -> set[str]:
    """Every secret of one server.

    Values of `env` and `headers` all are, whatever their names; of the rest, what looks so, and what is one of the
    host's own (`secrets_of_host`); and every key in one of them.
    """
    from pegboard.secrets.carried import keys_in

    argv = list(argv)
    found: set[str] = {*env.values(), *secrets_of_args(argv), *secrets_of_config(config)}
    found |= {value for name, value in headers.items() if name.lower() not in _PLAIN_HEADERS}
    if url is not None:
        found |= secrets_of_url(url)
    texts = "\n".join([*argv, url or "", json.dumps(config, default=str, ensure_ascii=False) if config else ""])
    found.update(secret for secret in host if secret in texts)
    return {key for secret in found for key in keys_in(secret) if len(key) >= MIN_SECRET}


_issued: dict[tuple[str, str | None], tuple[str, ...]] = {}
"""Keys that servers gave us as we logged in, by name and URL, the newest last."""
MAX_ISSUED = 16


def note_issued(name: str, url: str | None, *keys: str | None) -> None:
    """Note keys that belong to a server since it gave them to us, so that they go to no other and to no model."""
    from pegboard.secrets import note_change

    known = _issued.get((name, url), ())
    new = [key for key in keys if key and len(key) >= MIN_SECRET and key not in known]
    if new:
        _issued[name, url] = (*known, *new)[-MAX_ISSUED:]
        note_change()


def issued_by(name: str, url: str | None) -> tuple[str, ...]:
    """The keys that a server gave us."""
    return _issued.get((name, url), ())


def secrets_of_host(environ: Mapping[str, str]) -> list[str]:
    """The values of the host's variables whose names look like secrets'."""
    named = ((name, value) for name, value in environ.items() if name not in _FOLDERS and looks_secret(name))
    return [value for _, value in named if len(value) >= MIN_SECRET]


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
        given = re.match(r"([\w.-]{1,80})\s*[=:]\s*(?!//)(.*)", arg, re.DOTALL)
        if given and looks_secret(given[1]):
            found |= {given[2], *given[2].split()[1:]}
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
