"""Files of a person's that are changed: whole or not at all, with a backup beside them, and shown before."""

from __future__ import annotations

import contextlib
import difflib
import os
import re
from typing import TYPE_CHECKING, Any

from pegboard import ConfigError
from pegboard.config import looks_secret, mask_text, replace_file, write_hint
from pegboard.text import visible
from pegboard_mcp.definitions import MASKED
from pegboard_mcp.secrets import MIN_SECRET, secrets_of_args, secrets_of_config, secrets_of_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

BACKUP = ".pegboard-backup"
MAX_LINE = 160
_MEMBER = re.compile(r'(?P<key>"(?:[^"\\]|\\.){1,200}"|[\w.-]{1,200})(?P<is>\s*[:=]\s*)"(?P<value>(?:[^"\\]|\\.)*+)"')


def backups_of(path: Path) -> list[Path]:
    """The backups beside a file, the oldest first; links are left out."""
    found = [path.with_name(path.name + BACKUP)]
    with contextlib.suppress(OSError):
        found += sorted(path.parent.glob(f"{path.name}{BACKUP}-*"), key=lambda one: (len(one.name), one.name))
    return [one for one in found if one.is_file() and not one.is_symlink()]


def keep_backup(path: Path) -> Path:
    """Copy a file beside itself; a backup of the same content serves as it is.

    Raises:
        ConfigError: it cannot be written.
    """
    content = path.read_bytes()
    for known in backups_of(path):
        if known.read_bytes() == content:
            return known
    for number in range(1, 1000):
        backup = path.with_name(path.name + BACKUP + (f"-{number}" if number > 1 else ""))
        # A link that leads nowhere is taken too: what it names is not ours to write.
        if not os.path.lexists(backup):
            write(backup, content, like=path)
            return backup
    raise ConfigError(f"{path} has a thousand backups", hint="delete those that nobody needs")


def write(path: Path, content: bytes, *, like: Path | None = None) -> None:
    """Put the content in the place of a file, whole or not at all; through a link, where the link leads.

    Args:
        path: the file; folders that are not there are made.
        content: what it is to hold.
        like: the file whose rights it gets; None: its own, where it is there, else those that the system gives.

    Raises:
        ConfigError: it cannot be written; it is as it was.
    """
    try:
        target = path.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        model = (like or target).resolve()
        replace_file(target, content, model.stat().st_mode & 0o777 if model.exists() else None)
    except (OSError, RuntimeError) as problem:
        why = getattr(problem, "strerror", None) or "the path leads in a circle"
        hint = write_hint(problem, "look at who may write there")
        raise ConfigError(f"{path} cannot be written: {why}", hint=hint) from None


def diff(path: Path, before: str, after: str, secrets: Iterable[str] = (), *, is_clean: bool = False) -> str:
    """What is about to change, as a unified diff, without the secrets and without what looks like one.

    `is_clean` says that there are no others in what is added: it is shown as it is.
    """
    hidden = sorted({one for secret in secrets if len(secret) >= MIN_SECRET for one in _forms(secret)}, key=len)
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), str(path), f"{path} (new)" if before else f"{path}", n=2, lineterm=""
    )
    return "\n".join(_shown(line, hidden[::-1], is_clean=is_clean and line.startswith("+")) for line in lines)


def _forms(secret: str) -> Iterator[str]:
    """A secret as it is, and as JSON and TOML write it."""
    import json

    for is_ascii in (False, True):
        yield json.dumps(secret, ensure_ascii=is_ascii)[1:-1]
    yield secret


def _shown(line: str, hidden: Iterable[str], *, is_clean: bool) -> str:
    for secret in hidden:
        line = line.replace(secret, MASKED)
    if not is_clean:
        line = _MEMBER.sub(_member, line)
        line = line[:1] + mask_text(line[1:])
    line = visible(line)
    return line if len(line) <= MAX_LINE else line[: MAX_LINE - 1] + "…"


def _member(match: re.Match[str]) -> str:
    if not looks_secret(match["key"]) or match["value"].startswith("${"):
        return match[0]
    return f'{match["key"]}{match["is"]}"{MASKED}"'


def secrets_in(value: Any) -> set[str]:
    """Every secret of every server in a value of a file: what must not stand in a diff."""
    found: set[str] = set()
    level: list[Any] = [value]
    while level:
        inner: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                found |= _secrets_of(one)
                inner += one.values()
            elif isinstance(one, list):
                inner += one
        level = inner
    return {secret for secret in found if not secret.startswith("${")}


def _secrets_of(table: Mapping[str, Any]) -> set[str]:
    found = secrets_of_config({key: value for key, value in table.items() if isinstance(value, str)})
    for key in ("env", "headers", "environment"):
        values = table.get(key)
        if isinstance(values, dict):
            found |= {value for value in values.values() if isinstance(value, str)}
    args = table.get("args")
    if isinstance(args, list):
        found |= secrets_of_args(arg for arg in args if isinstance(arg, str))
    url = table.get("url")
    return found | (secrets_of_url(url) if isinstance(url, str) else set())
