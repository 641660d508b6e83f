"""Which plugins are installed: the entry points of the group `pegboard`, as `importlib.metadata` gives them.

A plugin is found on every start of the program, and `importlib.metadata` costs a short command a tenth of its time: it
imports the email package, and reads the metadata of every distribution for the few that matter. So the files are read
here directly; only those of distributions that bring a plugin are looked into further. Where a path holds what is not
a folder (a zip, an egg), or another finder offers distributions, `importlib.metadata` is asked as it stands.

Source of the format: https://packaging.python.org/en/latest/specifications/entry-points/
"""

from __future__ import annotations

import os
import re
import sys
from functools import reduce
from importlib import import_module
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any, NamedTuple

from pegboard.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.metadata import Distribution

GROUP = "pegboard"

_VALUE = re.compile(r"([\w.]+)\s*(?::\s*([\w.]+)\s*)?(?:\[.*\]\s*)?")


class Installed(NamedTuple):
    """One entry point: `name = value` in the metadata of a distribution, which may not say what it is called."""

    name: str
    value: str
    distribution: str | None
    version: str | None

    def load(self) -> Any:
        """Import the plugin.

        Raises:
            PluginError: the value is neither `module` nor `module:object`.
            BaseException: whatever the import raises.
        """
        match = _VALUE.fullmatch(self.value)
        if match is None:
            raise PluginError(f"its entry point is {self.value[:100]!r}, expected 'module' or 'module:object'")
        names = filter(None, (match[2] or "").split("."))
        return reduce(getattr, names, import_module(match[1]))


def installed_plugins() -> list[Installed]:
    """All of them, in the order of their names: never in that of the path. A distribution that lies on the path twice
    counts once, where it lies first, as for an import."""
    folders = _folders()
    found = _asked() if folders is None else _read(folders)
    return sorted(found, key=lambda one: (one.name, one.distribution or ""))


def _folders() -> list[str] | None:
    """The folders of `sys.path`; None where one of its entries, or a finder, has to be asked for what it holds."""
    if any(finder is not PathFinder and hasattr(finder, "find_distributions") for finder in sys.meta_path):
        return None
    folders = []
    for path in sys.path:
        if path.lower().endswith(".egg") or os.path.isfile(path):  # noqa: PTH113 - pathlib costs more than all of this
            return None
        folders.append(path or ".")
    return folders


def _asked() -> Iterator[Installed]:
    from importlib.metadata import distributions

    seen = set()
    for distribution in distributions():
        entries = _text_in(distribution, "entry_points.txt")
        headers = _headers(_text_in(distribution, "METADATA") or _text_in(distribution, "PKG-INFO"))
        name = re.sub(r"[-_.]+", "_", headers.get("name", "")).lower()
        if not name or name not in seen:
            seen.add(name)
            for entry, value in _pairs(entries):
                yield Installed(entry, value, headers.get("name"), headers.get("version"))


def _text_in(distribution: Distribution, name: str) -> str:
    try:
        return distribution.read_text(name) or ""
    except Exception:  # noqa: BLE001 - another's finder, or a file that is not text: it costs this distribution alone
        return ""


def _read(folders: list[str]) -> Iterator[Installed]:
    seen = set()
    for folder in folders:
        try:
            names = os.listdir(folder)  # noqa: PTH208
        except OSError:
            continue  # what cannot be listed has nothing to import
        for name in names:
            stem, dot, kind = name.lower().rpartition(".")
            if dot and kind in ("dist-info", "egg-info"):
                distribution = re.sub(r"[-_.]+", "_", stem.partition("-")[0])
                if distribution not in seen:
                    seen.add(distribution)
                    yield from _entries(f"{folder}/{name}", "METADATA" if kind == "dist-info" else "PKG-INFO")


def _entries(info: str, metadata: str) -> Iterator[Installed]:
    text = _text(f"{info}/entry_points.txt")
    if GROUP not in text:
        return
    pairs = list(_pairs(text))
    if pairs:
        headers = _headers(_text(f"{info}/{metadata}"))
        for name, value in pairs:
            yield Installed(name, value, headers.get("name"), headers.get("version"))


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    section = None
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
        elif section == GROUP and line and not line.startswith("#"):
            name, _, value = line.partition("=")
            yield name.strip(), value.strip()


def _headers(text: str) -> dict[str, str]:
    """The fields above the first blank line, which are what an email's headers are; of each the first."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        if not line:
            break
        key, colon, value = line.partition(":")
        if colon:
            found.setdefault(key.lower(), value.strip())
    return found


def _text(path: str) -> str:
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - one of a hundred files, each read at once
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""
