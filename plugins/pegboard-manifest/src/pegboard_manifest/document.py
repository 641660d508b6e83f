"""Reading a manifest: bounded, held against its format, and against itself.

    bytes -> JSON within bounds -> the format (`manifest.schema.json`) -> what the format cannot say -> `Manifest`

What the format cannot say is in `_cross`: ids that are named exist, names are unique, references resolve, bindings use
parameters that are there and say nothing that contradicts itself. Everything that is wrong is said at once, as path and
expectation, in one `ManifestError`. Any JSON gives a `Manifest` or a `ManifestError`, and nothing in the file is
imported, started or asked on the way.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import attrs

from pegboard import ConfigError, Fault
from pegboard.config import expand_home
from pegboard.limits import MANIFEST_LEVELS
from pegboard.schema.jsontext import JsonTextError, loads, shorten, shorten_text
from pegboard_manifest._cross import cross_faults
from pegboard_manifest._reading import read_json, without_collector
from pegboard_manifest.texts import clean_line

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

    from pegboard import Step

FILE = "tool.manifest.json"
MAJOR = 1
"""The major version of the format that is read; another is refused."""
MAX_BYTES = 64 * 1024 * 1024
MAX_TOOLS = 20_000
MAX_FAULTS = 100
MAX_EXPLAINED = 20
"""Of more tools than this whose form is wrong only the place is told."""

_VERSION = re.compile(r"[0-9]{1,6}\.[0-9]{1,6}", re.ASCII)
_NOT_A_WORD = re.compile(r"[^a-z0-9]+")


class ManifestError(ConfigError):
    """A manifest cannot be used; `faults` lists everything that is wrong with it.

    .. versionadded:: 0.1
    """


@attrs.frozen(eq=False, repr=False)
class Manifest:
    """A manifest that was read and is right. It is shared by all of its tools: nobody changes what is in it.

    Args:
        document: the whole of it, as JSON values.
        folder: where it lies, absolute: what paths in it are relative to.
        tools: its tools by name, in the order of the file.
        referring: the names of the tools whose schemas may refer to definitions; None: that any may.
        is_plain: every text in it shows all that it holds, so that none has to be cleaned.
        file: what it was read of, absolute; None: it was not a file.

    .. versionadded:: 0.1
    """

    document: Mapping[str, Any]
    folder: Path
    tools: Mapping[str, Mapping[str, Any]]
    referring: frozenset[str] | None = None
    is_plain: bool = False
    file: Path | None = None

    def __repr__(self) -> str:
        return f"<Manifest of {self.name}: {len(self.tools)} tools>"

    @property
    def name(self) -> str:
        """The project's name as it may be shown: a manifest is third-party text, and this is said at many places."""
        return clean_line(self.document["project"]["name"]) or "tools"

    @functools.cached_property
    def category(self) -> str:
        """The project's name as one word, by which its tools are grouped on a board."""
        return _NOT_A_WORD.sub("-", self.name.lower()).strip("-") or "manifest"

    @property
    def defs(self) -> Mapping[str, Any]:
        """The schemas that its tools share, by name."""
        defs: Mapping[str, Any] = self.document.get("$defs", _NOTHING)
        return defs

    @property
    def servers(self) -> Mapping[str, Any]:
        """HTTP APIs by id."""
        servers: Mapping[str, Any] = self.document.get("servers", _NOTHING)
        return servers

    @property
    def programs(self) -> Mapping[str, Any]:
        """Programs by id."""
        programs: Mapping[str, Any] = self.document.get("programs", _NOTHING)
        return programs

    @property
    def modules(self) -> Mapping[str, Any]:
        """Python modules by id."""
        modules: Mapping[str, Any] = self.document.get("modules", _NOTHING)
        return modules


_NOTHING: Mapping[str, Any] = MappingProxyType({})


def load(path: str | os.PathLike[str]) -> Manifest:
    """Read a manifest from a file, or from the `tool.manifest.json` of a folder.

    Raises:
        ManifestError: it cannot be read, is not a manifest, or contradicts itself; every fault is listed.

    .. versionadded:: 0.1
    """
    try:
        file = expand_home(path)
        if file.is_dir():
            file /= FILE
        if file.exists() and not file.is_file():  # a pipe or a device may never end, or never begin
            raise ManifestError(f"the manifest {shorten_text(str(path), 200)} is not a file")
        with file.open("rb") as opened:
            data = opened.read(MAX_BYTES + 1)
        file = file.resolve()
    except (OSError, ValueError, RuntimeError) as problem:
        why = getattr(problem, "strerror", None) or "it is not a path"
        raise ManifestError(
            f"the manifest {shorten_text(str(path), 200)} cannot be read: {why}",
            hint="name the file, or make it: pegboard toolgen init",
        ) from None
    if len(data) > MAX_BYTES:
        raise ManifestError(f"the manifest {shorten_text(str(path), 200)} is larger than {MAX_BYTES:,} bytes")
    return attrs.evolve(parse(data, file.parent, called=str(path)), file=file)


def parse(data: str | bytes, folder: str | os.PathLike[str], *, called: str = FILE) -> Manifest:
    """Read a manifest from its text.

    Args:
        data: the text, or its UTF-8 bytes.
        folder: what paths in it are relative to.
        called: how errors call it.

    Raises:
        ManifestError: as `load`.

    .. versionadded:: 0.1
    """
    try:
        with without_collector():
            document, is_plain = read_json(data, max_depth=MANIFEST_LEVELS, max_bytes=MAX_BYTES)
            return of_document(document, folder, called=called, is_plain=is_plain)
    except JsonTextError as problem:
        raise ManifestError(f"the manifest {called} is not JSON: {problem}") from None


def of_document(
    document: Any, folder: str | os.PathLike[str], *, called: str = FILE, is_plain: bool = False
) -> Manifest:
    """Hold JSON values for a manifest, as `load` does with those of a file.

    Raises:
        ManifestError: as `load`.

    .. versionadded:: 0.1
    """
    _require_version(document, called)
    referring: set[str] = set()
    if faults := _faults_of(document, referring):
        raise _error_of(faults, called)
    tools = {tool["name"]: tool for tool in document["tools"]}
    return Manifest(document, Path(folder).resolve(), MappingProxyType(tools), frozenset(referring), is_plain)


@functools.cache
def format_schema() -> dict[str, Any]:
    """The JSON Schema of a manifest.

    .. versionadded:: 0.1
    """
    schema: dict[str, Any] = loads(Path(__file__).with_name("manifest.schema.json").read_bytes())
    return schema


def _require_version(document: Any, called: str) -> None:
    """A manifest of another major may mean something else by every word: nothing else of it is looked at."""
    version = document.get("manifest_version") if isinstance(document, dict) else None
    if isinstance(version, str) and _VERSION.fullmatch(version):
        major = int(version.partition(".")[0])
        if major != MAJOR:
            newer = major > MAJOR
            raise ManifestError(
                f"the manifest {called} is of version {version}, and version {MAJOR} is read here",
                hint="install a newer pegboard-manifest" if newer else "make it anew: pegboard toolgen init",
            )


def _error_of(faults: list[Fault], called: str) -> ManifestError:
    shown, more = faults[:MAX_FAULTS], len(faults) > MAX_FAULTS
    count = "a fault" if len(shown) == 1 else f"{len(shown)} faults"
    return ManifestError(f"the manifest {called} has {count}{' or more' if more else ''}", shown)


_SECTIONS = {"servers": "server", "programs": "program", "modules": "module"}


def _schema_of(part: str | None) -> dict[str, Any]:
    """The schema of one part of a manifest; None: of the whole."""
    return format_schema() if part is None else {"$ref": f"#/$defs/{part}", "$defs": format_schema()["$defs"]}


@functools.cache
def _validator_of(part: str | None) -> Any:
    import jsonschema_rs  # 20 ms that only who has a manifest pays

    return jsonschema_rs.Draft202012Validator(_schema_of(part), offline=True, validate_formats=False)


def _faults_of(document: Any, referring: set[str]) -> list[Fault]:
    """What the format says of a document, and what those of its parts that are right say of each other.

    Tools are explained one by one, so that one of them hides no other. `referring`: see `cross_faults`.
    """
    try:
        if _validator_of(None).is_valid(document):
            return cross_faults(document, referring=referring)
    except (ValueError, TypeError, RecursionError):  # no JSON value: who explains says which
        return _explained(format_schema(), document)
    if not isinstance(document, dict):
        return _explained(format_schema(), document)
    listed = document.get("tools")
    tools = listed if isinstance(listed, list) and len(listed) <= MAX_TOOLS else []
    faults = _explained(format_schema(), {**document, "tools": []} if tools else document)
    bad = [index for index, tool in enumerate(tools) if not _validator_of("tool").is_valid(tool)]
    for index in bad[:MAX_EXPLAINED]:
        faults += _prefixed(("tools", index), _explained(_schema_of("tool"), tools[index]))
    faults += [Fault(("tools", index), "a tool", shorten(tools[index])) for index in bad[MAX_EXPLAINED:]]
    if tools and all(isinstance(document.get(key, {}), dict) for key in ("$defs", *_SECTIONS)):
        wrong: set[tuple[Step, ...]] = {("tools", index) for index in bad}
        for section, part in _SECTIONS.items():
            is_right = _validator_of(part).is_valid
            wrong.update((section, key) for key, one in document.get(section, {}).items() if not is_right(one))
        faults += cross_faults(document, wrong)
    return faults or [Fault((), "a manifest", shorten(document))]


def _explained(schema: Any, value: Any) -> list[Fault]:
    from pegboard.schema import faults_of_value

    return faults_of_value(schema, value)


def _prefixed(path: tuple[Step, ...], faults: Iterable[Fault]) -> list[Fault]:
    return [attrs.evolve(fault, path=(*path, *fault.path)) for fault in faults]
