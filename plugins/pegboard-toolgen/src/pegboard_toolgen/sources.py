"""Where tools come from: sources by their names and places, and the discovery of each. Asked by `init` and `check`."""

from __future__ import annotations

import re
import shutil
import sys
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import attrs

from pegboard import ConfigError
from pegboard_toolgen import profile as profiles
from pegboard_toolgen._progress import say
from pegboard_toolgen._texts import counted, shown
from pegboard_toolgen.drafts import Discovery, DiscoveryError, LeftOut
from pegboard_toolgen.profile import Source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_ENVIRONMENTS = re.compile(r"\./(?:.*/)?(?:\.?venv/bin|node_modules/\.bin)/")


def require_plain(url: str) -> None:
    if url_without_secrets(url) != url.rstrip("?#") or not url.lower().startswith(("http://", "https://")):
        raise ConfigError(
            "--base-url is an http or https address without user, query and fragment",
            hint="credentials are named in toolgen.toml: [servers.ID] auth, by variables of the environment",
        )


def named_sources(
    programs: Sequence[str], libraries: Sequence[str], openapi: Sequence[str], root: Path, base_url: str | None
) -> tuple[Source, ...]:
    """The sources that were named, by what is kept of them and where they are now."""
    found = []
    for name in programs:
        path = Path(name)
        found.append(
            Source(kind="program", name=path.name, where=name, inside=_inside(path, root, is_path="/" in name))
        )
    found += [Source(kind="library", name=name) for name in libraries]
    for where in openapi:
        if where.lower().startswith(("http://", "https://")):
            name = url_without_secrets(where)
            found.append(Source(kind="openapi", name=name, where=where, base_url=base_url or ""))
        else:
            path = Path(where)
            inside = _inside(path, root, is_path=True)
            found.append(
                Source(
                    kind="openapi",
                    name=inside or path.name,
                    where=where,
                    inside=inside,
                    base_url=base_url or "",
                )
            )
    return tuple(dict.fromkeys(found))


def url_without_secrets(url: str) -> str:
    """A URL without user, password, query and fragment: what may be written down."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _inside(path: Path, root: Path, *, is_path: bool) -> str:
    if not is_path:
        return ""
    whole = path.parent.resolve() / path.name  # a program goes by what it is called, not by what a link leads to
    return whole.relative_to(root).as_posix() if whole.is_relative_to(root) and path.name != ".." else ""


def sources_of(profile: Mapping[str, Any], root: Path) -> list[Source]:
    """The sources that a profile names, where they may be now."""
    found = []
    listed = profile.get("sources")
    for one in listed if isinstance(listed, list) else []:
        if not isinstance(one, dict) or not all(isinstance(one[key], str) for key in one.keys() - {"inspect"}):
            continue
        kind, name, inside = one.get("kind"), one.get("name", ""), one.get("inside", "")
        if kind not in profiles.SOURCE_TYPES or not name or ".." in Path(inside).parts or Path(inside).is_absolute():
            continue
        where = str(root / inside) if inside else name
        found.append(
            Source(
                kind=kind, name=name, inside=inside, base_url=one.get("base_url", ""),
                where="" if kind == "library" else where,
                search_paths=(where,) if kind == "library" and inside else (),
                inspect=kind == "library" and one.get("inspect") is True,
            )
        )  # fmt: skip
    return found


def discover_all(
    sources: Sequence[Source], *, explicit: bool, base_url: str | None
) -> tuple[list[Discovery], list[LeftOut]]:
    """What every source gives. One that fails is fatal where it was named or is the only one."""
    found, failed = [], []
    for source in sources:
        try:
            found.append(discover(source, base_url or source.base_url or None))
        except DiscoveryError as problem:
            if explicit or len(sources) == 1:
                raise ConfigError(shown(problem, 500), hint=problem.hint and shown(problem.hint, 300)) from None
            failed.append(LeftOut(id_of_source(source), shown(problem, 300)))
    if not found:
        reasons = "; ".join(f"{one.id}: {one.why}" for one in failed[:3])
        raise ConfigError(f"none of {counted(len(failed), 'source')} can be read: {reasons}", hint="see what they say")
    return found, failed


def id_of_source(source: Source) -> str:
    """By what a source is called in reports that gives no tool at all."""
    kind = {"library": "python", "openapi": "http"}.get(source.kind, source.kind)
    return f"{kind}:{shown(source.name, 200)}"


def discover(source: Source, base_url: str | None = None) -> Discovery:
    """Ask the discovery of this kind. A program that lies in the project is called `./` and its place there.

    Raises:
        DiscoveryError: the source cannot be read at all.
    """
    say(f"reading {source.kind.replace('openapi', 'the document')} {source.name}")
    if source.kind == "program":
        if not source.inside:
            return _discover_program(source.where or source.name)
        from pegboard_toolgen.discover.programs import discover_program

        made = discover_program(source.where, called=source.name)
        programs = {
            key: {**one, "argv0": [f"./{source.inside}", *one["argv0"][1:]]} for key, one in made.programs.items()
        }
        return attrs.evolve(made, programs=programs, source={**made.source, "location": source.inside})
    if source.kind == "library":
        from pegboard_toolgen.discover.library import discover_library

        return discover_library(
            source.name, search_paths=source.search_paths or None, include=source.include, inspect=source.inspect
        )
    from pegboard_toolgen.discover.openapi import discover_openapi

    where: Any = source.where if source.where.lower().startswith(("http://", "https://")) else Path(source.where)
    try:
        found = discover_openapi(where, base_url=base_url)
    except DiscoveryError as problem:
        raise DiscoveryError(f"{_as_written(source)}: {problem}", hint=problem.hint) from None
    return attrs.evolve(found, source={**found.source, "location": source.inside}) if source.inside else found


def _as_written(source: Source) -> str:
    """A document as a person named it, or where it lies in the project; never a secret of an address."""
    if source.where.lower().startswith(("http://", "https://")):
        return source.name
    return source.inside if source.inside and Path(source.where).is_absolute() else source.where


def placed(found: Sequence[Discovery], root: Path, before: Mapping[str, Any] | None) -> list[Discovery]:
    """Programs by name, where they were called so the last time, or an environment that is on PATH holds them.

    What the project itself holds is called where it lies, whatever PATH says.
    """
    known = {key: one["argv0"][0] for key, one in (before or {}).get("programs", {}).items()}

    def called(key: str, word: str) -> str:
        name = word.rpartition("/")[2]
        there = shutil.which(name) if _ENVIRONMENTS.match(word) else None
        by_name = "/" not in known[key] if key in known else _leads_to(there, str(root / word))
        return name if by_name else word

    return [
        attrs.evolve(
            one,
            programs={
                key: {**program, "argv0": [called(key, program["argv0"][0]), *program["argv0"][1:]]}
                if program["argv0"][0].startswith("./")
                else program
                for key, program in one.programs.items()
            },
        )
        for one in found
    ]


def _discover_program(where: str) -> Discovery:
    """A program; or all those of an installed distribution, where there is no program of that name."""
    from pegboard_toolgen.discover.programs import discover_program, discover_programs, programs_of

    if "/" not in where and shutil.which(where) is None:
        for interpreter in dict.fromkeys(
            filter(None, (shutil.which("python3"), shutil.which("python"), sys.executable))
        ):
            try:
                names = programs_of(where, interpreter=interpreter)
            except DiscoveryError:
                continue
            if names:
                beside = Path(interpreter).parent
                found = [name if shutil.which(name) else str(beside / name) for name in names]
                return discover_programs(found)
    return discover_program(where)


def is_installed(name: str) -> bool:
    """Whether a package can be imported wherever this runs; it is not."""
    top = name.partition(".")[0]
    here = str(Path.cwd())
    elsewhere = [place for place in sys.path if place not in ("", ".", here)]
    if top in sys.builtin_module_names or PathFinder.find_spec(top, elsewhere) is not None:
        return True
    return PathFinder.find_spec(top) is None and find_spec(top) is not None


def programs_elsewhere(document: Mapping[str, Any], sources: Sequence[Source]) -> dict[str, tuple[str, str]]:
    """Programs that lie elsewhere than on PATH: what the manifest calls them, and the path, by their variable."""
    named = [source for source in sources if source.kind == "program" and "/" in source.where]
    inside = {one.inside: str(Path(one.where).absolute()) for one in named if one.inside}
    paths = {name: str(Path(one.where).absolute()) for one in named for name in (one.name, Path(one.where).name)}
    found = {}
    for program in document.get("programs", {}).values():
        word, variable = program["argv0"][0], program.get("argv0_env")
        name = word.rpartition("/")[2]
        path = inside.get(re.sub(r"^(?:\.\./)+", "", word), paths.get(name))
        if variable and path and ("/" in word or not _leads_to(shutil.which(name), path)):
            found[variable] = (word, path)
    return found


def _leads_to(there: str | None, path: str) -> bool:
    return there is not None and Path(path).exists() and Path(path).samefile(there)
