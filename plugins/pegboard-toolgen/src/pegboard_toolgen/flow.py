"""What `init`, `build` and `check` do, from the sources to the folder. Nothing here talks to a person.

    init    sources -> drafts -> generated -> overrides = theirs; merge with the manifest -> outputs
    build             tools.draft.json -> overrides = theirs; merge with the manifest -> outputs
    check   build without writing, and init without writing, against what lies there

Everything is made in memory first; the folder is written at the end, or not at all.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import PathFinder
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import attrs

from pegboard import ConfigError
from pegboard_toolgen import folder as places
from pegboard_toolgen import profile as profiles
from pegboard_toolgen._texts import counted, shown, to_bytes, to_line
from pegboard_toolgen.assemble import Assembled, Choice, Sources, assemble, choose, gather
from pegboard_toolgen.drafts import Discovery, DiscoveryError, LeftOut
from pegboard_toolgen.folder import Folder
from pegboard_toolgen.hints import Hints, new_hints, read_hints
from pegboard_toolgen.merge import Conflict, merge_manifests
from pegboard_toolgen.names import Lock, reserve
from pegboard_toolgen.overrides import apply_overrides, read_overrides
from pegboard_toolgen.profile import Profile, Source

_ENVIRONMENTS = re.compile(r"\./(?:.*/)?(?:\.?venv/bin|node_modules/\.bin)/")
ASK_ABOVE = 40
"""More candidates than this are not taken without asking."""
MAX_ROUNDS = 50
KEPT = frozenset((places.DRAFT, places.PROFILE))
"""Ours, and written by `init` alone."""

Ask = Callable[[Sequence[tuple[str, str, str]]], list[str] | None]
"""Lets a person choose: gets (id, name, description) by rank; None where there is nobody to ask."""


@attrs.frozen(kw_only=True)
class Request:
    """What `init` was asked for.

    Args:
        project: the folder of the project; None where only sources are named.
        programs, libraries, openapi: sources that are named.
        out: the folder of outputs; None for the usual one.
        type, runtime, execution_model: what a person says of the project.
        base_url: where the HTTP API answers, if its document does not say.
        all: take every candidate.
        record: run read tools and keep what they answer.
        record_http: the same for servers elsewhere.
        replace: write over our files that were changed by hand.
    """

    project: Path | None = None
    programs: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    openapi: tuple[str, ...] = ()
    out: Path | None = None
    type: str | None = None
    runtime: str | None = None
    execution_model: str | None = None
    base_url: str | None = None
    all: bool = False
    record: bool = True
    record_http: bool = False
    replace: bool = False

    @property
    def is_project(self) -> bool:
        """Whether a project is asked for, and not sources alone."""
        return self.project is not None or not (self.programs or self.libraries or self.openapi)


@attrs.frozen(kw_only=True)
class Report:
    """What a run did, for a person.

    Args:
        folder: where.
        document: the manifest that was written.
        written: names of files that were written or deleted.
        conflicts: of the merge.
        left_out: what became no tool; empty for `build`.
        unsaid: tools that count as writes for nothing says what they do.
        routes: of web frameworks, not covered.
        notes: sentences.
        silent: names of tools none of whose examples has an output.
    """

    folder: Path
    document: Mapping[str, Any]
    written: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    unsaid: tuple[str, ...] = ()
    routes: tuple[profiles.Route, ...] = ()
    notes: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()


# -- init


def init(request: Request, ask: Ask) -> Report:
    """Discover, and make or renew the folder.

    Raises:
        ConfigError: the options contradict each other, nothing was found, a hint or an override means nothing, or the
            folder holds what is not ours.

    .. versionadded:: 0.1
    """
    root = (request.project or Path.cwd()).resolve()
    folder = places.open_folder(out_folder(request.out, root))
    state = Known.read(folder)
    request = _as_before(request, state.profile)
    profiles.refuse_impossible(request.type, request.runtime, request.execution_model)
    profile, sources = _look(request, root, state)
    if not folder.path.is_relative_to(root):  # from there no place in the project can be written down
        sources = tuple(attrs.evolve(one, inside="") for one in sources)
    if request.base_url:
        _require_plain(request.base_url)
        sources = tuple(
            attrs.evolve(one, base_url=request.base_url) if one.kind == "openapi" else one for one in sources
        )
    found, failed = _discover_all(sources, explicit=not profile.sources, base_url=request.base_url)
    hints = hints_of(folder)
    gathered = gather(placed(found, root, state.generated), state.lock)
    choice = choose(gathered, hints, state.lock)
    selected = _select(request, choice, state, root, folder, ask)
    selection = selected.ids
    project = _project(profile, gathered, request.runtime, request.base_url, sources)
    made = assembled(gathered, choice, hints, state.lock, project, selection, state.generated, _levels(folder, root))
    if not made.document["tools"]:
        raise _nothing(made, failed)
    profile = attrs.evolve(profile, routes=profiles.not_covered(profile.routes, _operations(gathered)))
    notes = [*selected.notes, *profile.notes, *(f"{one.id}: {one.why}" for one in failed)]
    hidden = programs_elsewhere(made.document, sources)
    notes += [
        f"PATH does not lead to {shown(name, 60)}: put it there, or set {variable} to its path, before it is called"
        for variable, (name, _) in sorted(hidden.items())
        if variable not in os.environ and "/" not in name
    ]
    missing = [one.name for one in sources if one.kind == "library" and not _is_installed(one.name)]
    notes += [f"{shown(name, 60)} is not installed here: install it before its tools are called" for name in missing]
    if request.record:
        programs = {variable: path for variable, (_, path) in hidden.items()}
        folders = [path for one in sources if one.name in missing for path in one.search_paths]
        if folders:
            programs["PYTHONPATH"] = os.pathsep.join([*folders, *filter(None, [os.environ.get("PYTHONPATH")])])
        made, said = _record(made, folder, remote=request.record_http, programs=programs)
        notes += said
    left_out = tuple(sorted({*made.left_out, *failed}, key=lambda one: (one.id, one.why, one.where)))
    kept = {
        places.DRAFT: to_bytes(draft_of(made.document, left_out)),
        places.PROFILE: to_bytes(
            profiles.to_json(
                profile,
                made.document["project"],
                sources,
                selected.to_json(),
                _levels(folder, root),
                {key: value for key in OPTIONS if (value := getattr(request, key)) is not None},
            )
        ),
    }
    if not folder.exists(places.HINTS):
        chosen = sorted(selection) if selection is not None else []
        kept[places.HINTS] = new_hints(made.document["tools"][0]["id"], chosen, selected.ranked).encode()
    outcome = _build(folder, made.document, state)
    kept[places.LOCK] = to_bytes(reserve(made.lock, names_in(outcome.document)).to_json())
    written = folder.write({**outcome.files, **kept}, replace=request.replace)
    return Report(
        folder=folder.path,
        document=outcome.document,
        written=tuple(written),
        conflicts=outcome.conflicts,
        left_out=left_out,
        unsaid=made.unsaid,
        routes=profile.routes,
        notes=tuple(notes),
        silent=silent_tools(outcome.document),
    )


def out_folder(out: Path | None, root: Path) -> Path:
    """Where outputs go: what `--out` names, from the working directory on, else a folder of the project."""
    return root / "llm-tooling" if out is None else Path.cwd() / out


@attrs.frozen(kw_only=True)
class Known:
    """What lies in the folder from the last time."""

    profile: Mapping[str, Any]
    generated: Mapping[str, Any] | None
    base: Mapping[str, Any] | None
    mine: Mapping[str, Any] | None
    lock: Lock

    @classmethod
    def read(cls, folder: Folder) -> Known:
        said = folder.read_json(places.LOCK)
        draft = _object(folder, places.DRAFT)
        generated = None if draft is None else draft.get("generated")
        for name, one in ((places.DRAFT, generated), (places.BASE, _object(folder, places.BASE))):
            if one is not None and not _is_manifest(one):
                raise ConfigError(f"{name} is not what was written there", hint="take it back from version control")
        mine = _object(folder, places.MANIFEST)
        if mine is not None:
            _validated(mine, folder)
        return cls(
            profile=_object(folder, places.PROFILE) or {},
            generated=generated,
            base=_object(folder, places.BASE),
            mine=mine,
            lock=reserve(Lock() if said is None else Lock.from_json(said), names_in(mine)),
        )


def names_in(document: Mapping[str, Any] | None) -> dict[str, str]:
    """The name of each id in a manifest."""
    return {tool["id"]: tool["name"] for tool in (document or {}).get("tools", ())}


def _object(folder: Folder, name: str) -> dict[str, Any] | None:
    value = folder.read_json(name)
    if value is not None and not isinstance(value, dict):
        raise ConfigError(f"{name} is no JSON object", hint="take it back from version control")
    return value


def _is_manifest(value: Any) -> bool:
    tools = value.get("tools") if isinstance(value, dict) else None
    return isinstance(tools, list) and all(
        isinstance(tool, dict) and isinstance(tool.get("id"), str) and isinstance(tool.get("name"), str)
        for tool in tools
    )


def _require_plain(url: str) -> None:
    if url_without_secrets(url) != url.rstrip("?#") or not url.lower().startswith(("http://", "https://")):
        raise ConfigError(
            "--base-url is an http or https address without user, query and fragment",
            hint="credentials are named in toolgen.toml: [servers.ID] auth, by variables of the environment",
        )


OPTIONS = ("type", "runtime", "execution_model")


def _as_before(request: Request, profile: Mapping[str, Any]) -> Request:
    """A request that names nothing asks for what the folder was made of."""
    if request.project is not None or not request.is_project:
        return request
    said = profile.get("options")
    known = {key: said[key] for key in OPTIONS if isinstance(said.get(key), str)} if isinstance(said, dict) else {}
    return attrs.evolve(request, **{key: value for key, value in known.items() if getattr(request, key) is None})


def _look(request: Request, root: Path, state: Known) -> tuple[Profile, tuple[Source, ...]]:
    """The profile of the project, and the sources to discover."""
    named = _named_sources(request, root)
    if request.is_project:
        before = tuple(sources_of(state.profile, root)) if request.project is None else ()
        if before and not state.profile.get("markers"):
            return Profile(), before
        named = (*named, *before)
    else:
        return Profile(), named
    profile = profiles.profile_project(root)
    found = profiles.wanted_sources(profile, request.type, request.execution_model)
    if request.execution_model == "in-process" and not found and not named:
        raise ConfigError(
            "there is no Python package here that could be called in-process",
            hint="--library NAME takes an installed one; programs are reached by --execution-model subprocess",
        )
    known = {(one.kind, one.name) for one in named}
    sources = (*named, *(one for one in found if (one.kind, one.name) not in known))
    if not sources:
        raise ConfigError(_nothing_here(profile), hint="name one: --program NAME, --library NAME or --openapi FILE|URL")
    return profile, sources


def _nothing_here(profile: Profile) -> str:
    text = "there is no program, Python package or OpenAPI document here"
    if profile.routes:
        text += f", only {counted(len(profile.routes), 'route')} that no OpenAPI document covers"
    return text


def _named_sources(request: Request, root: Path) -> tuple[Source, ...]:
    found = []
    for name in request.programs:
        path = Path(name)
        found.append(
            Source(kind="program", name=path.name, where=name, inside=_inside(path, root, is_path="/" in name))
        )
    found += [Source(kind="library", name=name) for name in request.libraries]
    for where in request.openapi:
        if where.lower().startswith(("http://", "https://")):
            name = url_without_secrets(where)
            found.append(Source(kind="openapi", name=name, where=where, base_url=request.base_url or ""))
        else:
            path = Path(where)
            inside = _inside(path, root, is_path=True)
            found.append(
                Source(
                    kind="openapi",
                    name=inside or path.name,
                    where=where,
                    inside=inside,
                    base_url=request.base_url or "",
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
        if not isinstance(one, dict) or not all(isinstance(text, str) for text in one.values()):
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
            )
        )  # fmt: skip
    return found


def _discover_all(
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
            kind = {"library": "python", "openapi": "http"}.get(source.kind, source.kind)
            failed.append(LeftOut(f"{kind}:{shown(source.name, 200)}", shown(problem, 300)))
    if not found:
        reasons = "; ".join(f"{one.id}: {one.why}" for one in failed[:3])
        raise ConfigError(f"none of {counted(len(failed), 'source')} can be read: {reasons}", hint="see what they say")
    return found, failed


def discover(source: Source, base_url: str | None = None) -> Discovery:
    """Ask the discovery of this kind. A program that lies in the project is called `./` and its place there.

    Raises:
        DiscoveryError: the source cannot be read at all.
    """
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

        return discover_library(source.name, search_paths=source.search_paths or None)
    from pegboard_toolgen.discover.openapi import discover_openapi

    where: Any = source.where if source.where.lower().startswith(("http://", "https://")) else Path(source.where)
    found = discover_openapi(where, base_url=base_url)
    return attrs.evolve(found, source={**found.source, "location": source.inside}) if source.inside else found


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


def hints_of(folder: Folder) -> Hints:
    content = folder.read(places.HINTS, max_bytes=4_000_000)
    return Hints() if content is None else read_hints(content)


def _project(
    profile: Profile, gathered: Sources, runtime: str | None, base_url: str | None, sources: Sequence[Source]
) -> dict[str, Any]:
    programs = ("click", "argparse", "help")
    kinds = {"program" if one["kind"] in programs else str(one["kind"]) for one in gathered.found_in}
    first = sources[0]
    servers = [one.get("base_url", "") for one in gathered.parts["servers"].values()]
    entrypoint = (base_url or next(iter(servers), "")) if first.kind == "openapi" else first.name
    name = gathered.name or (first.name if first.kind != "openapi" else Path(urlsplit(first.name).path).stem)
    return profiles.project_of(
        profile,
        kinds,
        runtime,
        _runtime_of(gathered),
        entrypoint,
        name=name,
        version=gathered.version,
        description=gathered.description,
    )


def _operations(gathered: Sources) -> list[tuple[str, str]]:
    """Method and path of every operation that a document has, of those that became no tool too."""
    ids = [*(draft.id for draft in gathered.drafts), *(one.id for one in gathered.left_out)]
    words = [id_.removeprefix("http:").split(" ") for id_ in ids if id_.startswith("http:")]
    bases = {urlsplit(one.get("base_url", "")).path.rstrip("/") for one in gathered.parts["servers"].values()}
    return [(one[0], base + one[1]) for one in words if len(one) > 1 for base in sorted(bases)]


def _runtime_of(gathered: Sources) -> str:
    kinds = {one["kind"] for one in gathered.found_in}
    return "python" if kinds <= {"click", "argparse", "library"} else "other"


@attrs.frozen(kw_only=True)
class Selection:
    """Which of the candidates become tools.

    Args:
        ids: of those; None: all.
        is_all: somebody said that all are wanted.
        ranked: ids of the candidates, where nobody could be asked.
        notes: what has to be said about it.
    """

    ids: frozenset[str] | None = None
    is_all: bool = False
    ranked: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def to_json(self) -> Any:
        """As it stands in the profile."""
        return {"ids": sorted(self.ids)} if self.ids is not None else {"all": True} if self.is_all else None


def _select(request: Request, choice: Choice, state: Known, root: Path, folder: Folder, ask: Ask) -> Selection:
    """What a person selected, now or the last time; all candidates where there is nobody to ask."""
    before = state.profile.get("selection")
    was_all = isinstance(before, dict) and before.get("all") is True
    if request.all or choice.is_narrowed:
        return Selection(is_all=request.all or was_all)
    if isinstance(before, dict):
        return Selection(ids=selected_before(state.profile), is_all=was_all)
    if len(choice.candidates) <= ASK_ABOVE:
        return Selection()
    from pegboard_toolgen.ranking import in_order, read_documents, score

    text = read_documents(root) if request.is_project else ""
    ranked = in_order(choice.candidates, score(choice.candidates, text))
    chosen = ask([(draft.id, choice.names[draft.id], draft.description or draft.title or "") for draft in ranked])
    if chosen is not None:
        ids = frozenset(chosen)
        return Selection(ids=ids) if len(ids) < len(ranked) else Selection(is_all=True)
    place = f"{shown(folder.path.name, 60)}/{places.HINTS}"
    return Selection(
        ranked=tuple(draft.id for draft in ranked),
        notes=(
            f"all {len(ranked):,} candidates are taken, for nobody is here to choose: run this at a terminal, or choose"
            f" under [select] in {place}; --all says that all are wanted",
        ),
    )


def selected_before(profile: Mapping[str, Any]) -> frozenset[str] | None:
    """The ids that were selected the last time; None: all candidates."""
    before = profile.get("selection")
    ids = before.get("ids") if isinstance(before, dict) else None
    return frozenset(str(one) for one in ids) if isinstance(ids, list) else None


def _levels(folder: Folder, root: Path) -> int:
    return len(folder.path.relative_to(root).parts) if folder.path.is_relative_to(root) else 0


def root_of(folder: Folder, profile: Mapping[str, Any]) -> Path:
    """The folder of the project: so many levels above the outputs as the profile says; 0: the folder itself, where
    the outputs do not lie in the project."""
    return (folder.path, *folder.path.parents)[levels_of(folder, profile)]


def levels_of(folder: Folder, profile: Mapping[str, Any]) -> int:
    """How many levels below the project the folder lies, as the profile says."""
    levels = profile.get("levels")
    return levels if isinstance(levels, int) and 0 <= levels <= len(folder.path.parents) else 1


def assembled(
    gathered: Sources, choice: Choice, hints: Hints, lock: Lock, project: Mapping[str, Any],
    selection: frozenset[str] | None, before: Mapping[str, Any] | None, levels: int,
) -> Assembled:  # fmt: skip
    """The manifest without the tools that its own format refuses: one bad operation costs that operation."""
    refused: dict[str, str] = {}
    for _ in range(MAX_ROUNDS):
        wanted = None
        if selection is not None or refused:
            wanted = {one.id for one in choice.candidates if selection is None or one.id in selection} - set(refused)
        made = assemble(
            gathered,
            choice,
            hints,
            lock,
            project=project,
            generator=generator(),
            selected=wanted,
            before=before,
            levels=levels,
        )
        bad = _bad_tools(made.document)
        if not bad:
            left_out = [
                attrs.evolve(one, why=refused[one.id])
                if one.why == "it was not selected" and one.id in refused
                else one
                for one in made.left_out
            ]
            return attrs.evolve(made, left_out=tuple(left_out))
        refused.update(bad)
    raise ConfigError("what was found does not make a manifest: " + "; ".join(sorted(set(refused.values()))[:3]))


def _bad_tools(document: Mapping[str, Any]) -> dict[str, str]:
    from pegboard_manifest.document import ManifestError, of_document

    try:
        of_document(document, ".")
    except ManifestError as problem:
        bad: dict[str, str] = {}
        for fault in problem.faults:
            if len(fault.path) < 2 or fault.path[0] != "tools" or not isinstance(fault.path[1], int):
                raise
            tool = document["tools"][fault.path[1]]
            bad.setdefault(tool["id"], f"it does not fit the manifest's format: {shown(fault, 300)}")
        if not bad:
            raise
        return bad
    return {}


def _nothing(made: Assembled, failed: Sequence[LeftOut]) -> ConfigError:
    reasons = [f"{shown(one.id, 100)}: {shown(one.why, 200)}" for one in (*failed, *made.left_out)][:5]
    more = len(failed) + len(made.left_out) - len(reasons)
    lines = [*reasons, *([f"and {counted(more, 'other')}"] if more > 0 else [])]
    return ConfigError(
        "\n  ".join(["nothing becomes a tool:", *lines]) if lines else "the source offers nothing",
        hint="toolgen.toml of the folder lets in what is left out; --help of the command names other sources",
    )


def _is_installed(name: str) -> bool:
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


def _record(
    made: Assembled, folder: Folder, *, remote: bool, programs: Mapping[str, str]
) -> tuple[Assembled, list[str]]:
    from pegboard_toolgen.record import record

    document, said = record(made.document, folder, remote=remote, programs=programs)
    return attrs.evolve(made, document=document), said


def generator() -> str:
    """Which distribution this is, in which version."""
    try:
        return f"pegboard-toolgen {version('pegboard-toolgen')}"
    except PackageNotFoundError:
        return "pegboard-toolgen"


def draft_of(document: Mapping[str, Any], left_out: Sequence[LeftOut]) -> dict[str, Any]:
    """`tools.draft.json`."""
    return {
        "draft_version": "1.0",
        "generated": document,
        "left_out": [{key: value for key, value in attrs.asdict(one).items() if value} for one in left_out],
    }


def silent_tools(document: Mapping[str, Any]) -> tuple[str, ...]:
    """The tools that have no example with an output."""
    return tuple(
        tool["name"] for tool in document["tools"] if not any("output" in example for example in tool["examples"])
    )


# -- build


@attrs.frozen(kw_only=True)
class Outcome:
    """What a build makes, before it is written."""

    document: Mapping[str, Any]
    files: Mapping[str, bytes]
    conflicts: tuple[Conflict, ...] = ()


def build(path: Path, *, replace: bool = False) -> Report:
    """Make every output from the draft, the overrides and the manifest as they lie there.

    Raises:
        ConfigError: there is no manifest, an override matches nothing, or the folder holds what is not ours.

    .. versionadded:: 0.1
    """
    folder = existing_folder(path)
    outcome, more = built(folder)
    written = folder.write({**outcome.files, **more}, replace=replace, also_ours=KEPT - more.keys())
    return Report(
        folder=folder.path, document=outcome.document, written=tuple(written), conflicts=outcome.conflicts,
        silent=silent_tools(outcome.document),
    )  # fmt: skip


def existing_folder(path: Path) -> Folder:
    """A folder that holds a manifest.

    Raises:
        ConfigError: it is none.
    """
    if not path.is_dir():
        raise ConfigError(f"there is no folder {shown(path, 100)}", hint="pegboard toolgen init makes one")
    folder = Folder(path.resolve())
    if not folder.exists(places.MANIFEST) and not folder.exists(places.DRAFT):
        raise ConfigError(f"{shown(path, 100)} holds no {places.MANIFEST}", hint="pegboard toolgen init makes one")
    return folder


def built(folder: Folder) -> tuple[Outcome, dict[str, bytes]]:
    state = Known.read(folder)
    more: dict[str, bytes] = {}
    generated = state.generated
    if generated is None:  # written by hand: from here on it is what was generated once
        assert state.mine is not None, "there is a manifest or a draft"
        generated = without_fingerprints(state.mine)
        more[places.DRAFT] = to_bytes(draft_of(generated, ()))
    return _build(folder, generated, state), more


def _build(folder: Folder, generated: Mapping[str, Any], state: Known) -> Outcome:
    from pegboard_toolgen.write import render

    theirs = apply_overrides(without_fingerprints(generated), read_overrides(folder))
    _validated(theirs, folder, called="what overrides make of it")
    mine = theirs if state.mine is None else without_fingerprints(state.mine)
    base = mine if state.base is None else state.base
    merged = merge_manifests(base, mine, theirs)
    _require_examples(merged.value, generated)
    document = in_order(finished(merged.value))
    _validated(document, folder, called="the merged manifest")
    files = {
        **render(document),
        places.MANIFEST: to_bytes(document, sort_keys=False),
        places.BASE: to_bytes(merged.base),
    }
    return Outcome(document=document, files=files, conflicts=merged.conflicts)


def _require_examples(document: Mapping[str, Any], generated: Mapping[str, Any]) -> None:
    """Refuse a tool whose examples a person's change made wrong; those of what was generated are right.

    Raises:
        ConfigError: an example does not fit.
    """
    from pegboard_toolgen.samples import Checker, NoSampleError

    known = {tool["id"]: to_line(tool) for tool in generated["tools"]}
    for tool in document["tools"]:
        if known.get(tool["id"]) == to_line(tool):
            continue
        for part, key in (("input_schema", "input"), ("output_schema", "output")):
            try:
                checker = Checker(tool.get(part, {}), document.get("$defs", {}))
            except NoSampleError as problem:
                raise ConfigError(f"{shown(tool['name'], 64)}: {part}: {shown(problem, 200)}") from None
            for example in tool["examples"]:
                if key in example and not checker.fits(example[key]):
                    raise ConfigError(
                        f"{shown(tool['name'], 64)}: the {key} of an example does not fit its {part}: "
                        + shown(checker.why_not(example[key]), 200),
                        hint="change the example where you changed the schema, in overrides/ or the manifest",
                    )


def _validated(document: Any, folder: Folder, *, called: str = places.MANIFEST) -> None:
    from pegboard_manifest.document import of_document

    of_document(document, folder.path, called=called)


def without_fingerprints(document: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest as it is merged: what is computed is no edit."""
    plain = {key: value for key, value in document.items() if key != "fingerprint"}
    plain["tools"] = [{key: value for key, value in tool.items() if key != "fingerprint"} for tool in document["tools"]]
    return plain


def finished(document: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest as it is written: tools by name, with fingerprints."""
    from pegboard_manifest.canonical import fingerprint_of, fingerprint_of_document

    tools = sorted(document["tools"], key=lambda tool: tool["name"])
    whole = {**document, "tools": tools}
    whole["tools"] = [{**tool, "fingerprint": fingerprint_of(tool, whole)} for tool in tools]
    whole["fingerprint"] = fingerprint_of_document(whole)
    return whole


_ORDER = (
    "manifest_version", "schema_dialect", "project", "fingerprint", "provenance", "servers", "programs", "modules",
    "tools", "$defs",
)  # fmt: skip
_ORDER_OF_TOOL = (
    "id", "name", "title", "description", "category", "risk", "idempotency", "timeout_ms", "input_schema",
    "output_schema", "errors", "error_schema", "examples", "constraints", "annotations", "binding", "provenance",
    "fingerprint",
)  # fmt: skip


def in_order(document: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest with its members as people read them; everything deeper is sorted."""
    deep = json.loads(to_bytes(document))
    deep["tools"] = [{key: tool[key] for key in _ORDER_OF_TOOL if key in tool} for tool in deep["tools"]]
    return {key: deep[key] for key in _ORDER if key in deep}


def example_command(document: Mapping[str, Any]) -> str | None:
    """A call that a person can type, of a tool that reads if there is one; None where no example is plain enough."""
    from pegboard_manifest.tools import is_read_only

    def rank(tool: Mapping[str, Any]) -> tuple[bool, bool, int, str]:
        example = tool["examples"][0]
        return (
            not is_read_only(tool),
            "output" not in example,
            len(example["input"]),
            tool["name"],
        )

    for tool in sorted(document["tools"], key=rank):
        words = [tool["name"]]
        for key, value in tool["examples"][0]["input"].items():
            text = f"{key}={value}" if isinstance(value, str) else f"{key}:={json.dumps(value)}"
            words.append(text)
        line = "call " + shlex.join(words)
        if len(line) <= 160 and line.isascii() and line.isprintable():
            return line
    return None
