"""What `init` and `build` do, from the sources to the folder. Nothing here talks to a person, and `drift` has `check`.

    init    sources -> drafts -> generated -> overrides = theirs; merge with the manifest -> outputs
    try     the same, without writing
    build             tools.draft.json -> overrides = theirs; merge with the manifest -> outputs
    check   build without writing, and init without writing, against what lies there

`sources` finds and discovers, `assemble` makes a manifest of it, `building` lays it beside what a person changed.
Everything is made in memory first; the folder is written at the end, or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import attrs

from pegboard import ConfigError
from pegboard_toolgen import folder as places
from pegboard_toolgen import profile as profiles
from pegboard_toolgen._progress import say
from pegboard_toolgen._texts import counted, shown, to_bytes
from pegboard_toolgen.accepting import accept, is_own
from pegboard_toolgen.answers import Answers
from pegboard_toolgen.assemble import Assembled, Choice, Sources, Unsaid, assemble, choose, gather
from pegboard_toolgen.building import Known, built, draft_of, existing_folder, merged_build, names_in
from pegboard_toolgen.drafts import UNDESCRIBED
from pegboard_toolgen.hints import Hints, new_hints, read_hints
from pegboard_toolgen.names import Lock, reserve
from pegboard_toolgen.parts import parts_now
from pegboard_toolgen.profile import Profile, Source
from pegboard_toolgen.sources import (
    discover_all,
    is_installed,
    named_sources,
    placed,
    programs_elsewhere,
    require_plain,
    sources_of,
)

if TYPE_CHECKING:
    from pegboard_toolgen.drafts import LeftOut
    from pegboard_toolgen.folder import Folder
    from pegboard_toolgen.merge import Conflict
    from pegboard_toolgen.routes import Route

ASK_ABOVE = 40
"""More candidates than this are not taken without asking."""
MAX_ROUNDS = 50
KEPT = frozenset((places.DRAFT, places.PROFILE))
"""Ours, and written by `init` alone."""
ROUTES_LATER = "routes are looked for by the next init of a project's folder"

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
        include: globs over what is taken, of modules too that a library does not re-export; none: those of before.
        inspect: import libraries for the docstrings of what their files do not describe.
        all: take every candidate, whatever was chosen before.
        record: run read tools and keep what they answer.
        record_http: the same for servers elsewhere.
        replace: write over our files that were changed by hand.
        parts: what is made beside the lean folder, and beside what it was made with before (see `parts`).
        full: make everything; False: nothing but `parts`, whatever the folder was made with.
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
    include: tuple[str, ...] = ()
    inspect: bool = False
    all: bool = False
    record: bool = True
    record_http: bool = False
    replace: bool = False
    parts: frozenset[str] = frozenset()
    full: bool | None = None

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
        unsaid: tools that count as writes, for nobody can tell what they do.
        routes: of web frameworks, not covered.
        notes: sentences.
        silent: names of tools none of whose examples has an output.
        parts: what the folder is made with beside the lean one.
        tokens: about what each tool costs a model that is offered it, by name.
    """

    folder: Path
    document: Mapping[str, Any]
    written: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    unsaid: tuple[Unsaid, ...] = ()
    routes: tuple[Route, ...] = ()
    notes: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    parts: frozenset[str] = frozenset()
    tokens: Mapping[str, int] = attrs.field(factory=dict)


# -- init


@attrs.frozen(kw_only=True)
class Found:
    """What `init` makes of its sources, before anything is run or written.

    Args:
        request: with what the folder was made of before.
        root: the folder of the project.
        folder: of outputs.
        state: what lies in it.
        parts: what will be made beside the lean folder.
        profile: of the project.
        sources: that were asked.
        selection: which candidates become tools.
        made: the manifest, and what became no tool.
        routes: of web frameworks; None where nobody looked for them.
        notes: sentences.
        missing: libraries that are not installed.
        answers: of a person, about what nobody could tell.
    """

    request: Request
    root: Path
    folder: Folder
    state: Known
    parts: frozenset[str]
    profile: Profile
    sources: tuple[Source, ...]
    selection: Selection
    made: Assembled
    routes: tuple[Route, ...] | None
    notes: tuple[str, ...]
    missing: tuple[str, ...]
    answers: Answers


def find(request: Request, ask: Ask, ask_reads: Ask = lambda _: None) -> Found:
    """Discover what `init` will write.

    Args:
        request: what is asked for.
        ask: lets a person choose among many candidates.
        ask_reads: lets a person say which tools only read, of those of which nobody can tell.

    Raises:
        ConfigError: the options contradict each other, nothing was found, or a hint means nothing.
    """
    root, folder = _places(request)
    state = Known.read(folder)
    request = _as_before(request, state.profile)
    profiles.refuse_impossible(request.type, request.runtime, request.execution_model)
    parts = parts_now(state.parts, request.parts, full=request.full)
    profile, sources = _look(request, root, state)
    sources = _settled(sources, request, is_inside=folder.path.is_relative_to(root))
    include = request.include or (() if request.all else included_before(state.profile))
    hints = hints_of(folder, include)
    sources = tuple(attrs.evolve(one, include=hints.wanted) for one in _inspecting(sources, request))
    found, failed = discover_all(sources, explicit=not profile.sources, base_url=request.base_url)
    say("making tools of what was found")
    answers = Answers.of(state.profile)
    gathered = answers.laid_on(gather(placed(found, root, state.generated), state.lock))
    choice = choose(gathered, hints, state.lock)
    selected = attrs.evolve(_select(request, choice, state, root, folder, ask), include=include)
    project = _project(profile, gathered, request.runtime, request.base_url, sources)
    levels = _levels(folder, root)

    def make(gathered: Sources) -> Assembled:
        choice = choose(gathered, hints, state.lock)
        return assembled(gathered, choice, hints, state.lock, project, selected.ids, state.generated, levels)

    made = make(gathered)
    if not request.all and (more := answers.with_more(made.unsaid, ask_reads)) != answers:
        answers, made = more, make(more.laid_on(gathered))
    if not made.document["tools"]:
        raise _nothing(made, failed)
    left_out = tuple(sorted({*made.left_out, *failed}, key=lambda one: (one.id, one.why, one.where)))
    routes = _routes(request, profile, state, root, gathered) if "routes" in parts else None
    without_project = (ROUTES_LATER,) if "routes" in request.parts and routes is None else ()
    missing = tuple(one.name for one in sources if one.kind == "library" and not is_installed(one.name))
    return Found(
        request=request,
        root=root,
        folder=folder,
        state=state,
        parts=parts,
        profile=profile,
        sources=sources,
        selection=selected,
        made=attrs.evolve(made, left_out=left_out),
        routes=routes,
        notes=(
            *profile.notes,
            *without_project,
            *(f"{one.id}: {one.why}" for one in failed),
            *_lacks(programs_elsewhere(made.document, sources), missing),
            *_undescribed(made.document, sources),
        ),
        missing=missing,
        answers=answers,
    )


def init(request: Request, ask: Ask, ask_reads: Ask = lambda _: None) -> Report:
    """Discover, and make or renew the folder; the arguments are those of `find`.

    Raises:
        ConfigError: the options contradict each other, nothing was found, a hint or an override means nothing, or the
            folder holds what is not ours.

    .. versionadded:: 0.1
    """
    found = find(request, ask, ask_reads)
    request, folder, made, selected = found.request, found.folder, found.made, found.selection
    notes = [*selected.notes, *found.notes]
    if request.record:
        hidden = programs_elsewhere(made.document, found.sources)
        variables = _for_this_run(hidden, found.missing, found.sources)
        made, recorded = _record(made, folder, remote=request.record_http, programs=variables)
        notes += recorded
    say("writing the files")
    options = {key: value for key in OPTIONS if (value := getattr(request, key)) is not None}
    said = profiles.to_json(
        found.profile,
        made.document["project"],
        found.sources,
        selected.to_json(),
        _levels(folder, found.root),
        options,
        None if found.routes is None else [attrs.asdict(route) for route in found.routes],
        found.answers.to_json(),
    )
    kept = {places.DRAFT: to_bytes(draft_of(made.document, made.left_out)), places.PROFILE: to_bytes(said)}
    if not folder.exists(places.HINTS):
        chosen = sorted(selected.ids) if selected.ids is not None else []
        kept[places.HINTS] = new_hints(made.document["tools"][0]["id"], chosen, selected.ranked).encode()
    outcome = merged_build(folder, made.document, found.state, found.parts)
    kept[places.LOCK] = to_bytes(reserve(made.lock, names_in(outcome.document)).to_json())
    own = is_own(folder)
    written = folder.write({**outcome.files, **kept}, parts=found.parts, replace=request.replace)
    return Report(
        folder=folder.path,
        document=outcome.document,
        written=tuple(written),
        conflicts=outcome.conflicts,
        left_out=made.left_out,
        unsaid=made.unsaid,
        routes=found.routes or (),
        notes=(*notes, *filter(None, [accept(folder, own=own)])),
        silent=silent_tools(outcome.document),
        parts=found.parts,
        tokens=outcome.tokens,
    )


def attempt(request: Request) -> Report:
    """What `init` would find and make, all candidates taken; nothing is run to record it, and nothing is written.

    Raises:
        ConfigError: as of `init`.

    .. versionadded:: 0.1
    """
    found = find(request, lambda _: None)
    count = len(found.selection.ranked)
    asks = (f"init asks a person at a terminal which of the {count:,} are wanted",) if count else ()
    outcome = merged_build(found.folder, found.made.document, found.state, found.parts)
    return Report(
        folder=found.folder.path,
        document=outcome.document,
        conflicts=outcome.conflicts,
        left_out=found.made.left_out,
        unsaid=found.made.unsaid,
        routes=found.routes or (),
        notes=(*asks, *found.notes),
        parts=found.parts,
        tokens=outcome.tokens,
    )


def _places(request: Request) -> tuple[Path, Folder]:
    """The folder of the project, and that of outputs."""
    if request.project is not None and not request.project.is_dir():
        raise ConfigError(f"{shown(request.project, 100)} is not a folder", hint="name the folder of a project")
    if request.out is not None and request.out.exists() and not request.out.is_dir():
        raise ConfigError(f"{shown(request.out, 100)} is not a folder", hint="name another one by --out")
    root = (request.project or Path.cwd()).resolve()
    renews = request.project is None and request.is_project
    is_here = renews and request.out is None and Path(places.PROFILE).is_file()  # as `build` and `check` take it
    folder = places.open_folder(Path.cwd() if is_here else out_folder(request.out, root))
    profile = folder.read_json(places.PROFILE) if renews else None
    if isinstance(profile, dict) and levels_of(folder, profile):
        root = root_of(folder, profile)
    return root, folder


def _settled(sources: tuple[Source, ...], request: Request, *, is_inside: bool) -> tuple[Source, ...]:
    """The sources as they are written down: with the base URL that was said, and without places that cannot be."""
    if not is_inside:  # from a folder elsewhere no place in the project can be written down
        sources = tuple(attrs.evolve(one, inside="") for one in sources)
    if not request.base_url:
        return sources
    require_plain(request.base_url)
    return tuple(attrs.evolve(one, base_url=request.base_url) if one.kind == "openapi" else one for one in sources)


def _inspecting(sources: tuple[Source, ...], request: Request) -> tuple[Source, ...]:
    """The sources, libraries to be imported where that is asked for."""
    if not request.inspect:
        return sources
    if all(one.kind != "library" for one in sources):
        raise ConfigError("--inspect imports libraries, and there is none here", hint="name one by --library")
    return tuple(attrs.evolve(one, inspect=one.kind == "library") for one in sources)


def _undescribed(document: Mapping[str, Any], sources: Sequence[Source]) -> Iterator[str]:
    """How to get descriptions of functions that the files of a library do not describe."""
    names = [tool["name"] for tool in document["tools"] if UNDESCRIBED in tool["provenance"].get("notes", ())]
    if names and any(one.kind == "library" and not one.inspect for one in sources):
        few = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        number = counted(len(names), "function is", "functions are")
        yield f"{number} described nowhere ({few}): --inspect imports the library and asks it for its docstrings"


def _lacks(hidden: Mapping[str, tuple[str, str]], missing: Sequence[str]) -> Iterator[str]:
    """What has to be there before the tools are called."""
    for variable, (name, _) in sorted(hidden.items()):
        if variable not in os.environ and "/" not in name:
            there = f"put it there, or set {variable} to its path"
            yield f"PATH does not lead to {shown(name, 60)}: {there}, before it is called"
    for name in missing:
        yield f"{shown(name, 60)} is not installed here: install it before its tools are called"


def _for_this_run(
    hidden: Mapping[str, tuple[str, str]], missing: Sequence[str], sources: Sequence[Source]
) -> dict[str, str]:
    """Variables with which tools can be run here and now, wherever their programs and libraries lie."""
    variables = {variable: path for variable, (_, path) in hidden.items()}
    folders = [path for one in sources if one.name in missing for path in one.search_paths]
    if folders:
        variables["PYTHONPATH"] = os.pathsep.join([*folders, *filter(None, [os.environ.get("PYTHONPATH")])])
    return variables


def out_folder(out: Path | None, root: Path) -> Path:
    """Where outputs go: what `--out` names, from the working directory on, else a folder of the project."""
    return root / "llm-tooling" if out is None else Path.cwd() / out


OPTIONS = ("type", "runtime", "execution_model")


def _as_before(request: Request, profile: Mapping[str, Any]) -> Request:
    """A request that names nothing asks for what the folder was made of."""
    if request.project is not None or not request.is_project:
        return request
    options = profile.get("options")
    known = (
        {key: options[key] for key in OPTIONS if isinstance(options.get(key), str)} if isinstance(options, dict) else {}
    )
    return attrs.evolve(request, **{key: value for key, value in known.items() if getattr(request, key) is None})


def _look(request: Request, root: Path, state: Known) -> tuple[Profile, tuple[Source, ...]]:
    """The profile of the project, and the sources to discover."""
    named = named_sources(request.programs, request.libraries, request.openapi, root, request.base_url)
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
        raise ConfigError(_nothing_here(root), hint="name one: --program NAME, --library NAME or --openapi FILE|URL")
    return profile, sources


def _nothing_here(root: Path) -> str:
    from pegboard_toolgen.routes import find_routes

    text = "there is no program, Python package or OpenAPI document here"
    count = sum(1 for _ in find_routes(root))
    return f"{text}, only {counted(count, 'route')} that no OpenAPI document covers" if count else text


def _routes(
    request: Request, profile: Profile, state: Known, root: Path, gathered: Sources
) -> tuple[Route, ...] | None:
    """The routes of a project that no document covers; None for sources that were named alone: what else lies where
    they were asked for says nothing of them."""
    from pegboard_toolgen.routes import find_routes, not_covered

    was_looked_at = bool(profile.markers) or "not_covered" in state.profile
    if request.project is None and not (request.is_project and was_looked_at):
        return None
    return not_covered(find_routes(root), _operations(gathered))


def hints_of(folder: Folder, asked: tuple[str, ...]) -> Hints:
    """What `toolgen.toml` and `--include` say."""
    content = folder.read(places.HINTS, max_bytes=4_000_000)
    return attrs.evolve(Hints() if content is None else read_hints(content), asked=asked)


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
        include: globs of `--include`.
        ranked: ids of the candidates, where nobody could be asked.
        notes: what has to be said about it.
    """

    ids: frozenset[str] | None = None
    is_all: bool = False
    include: tuple[str, ...] = ()
    ranked: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def to_json(self) -> Any:
        """As it stands in the profile."""
        said = {"ids": sorted(self.ids)} if self.ids is not None else {"all": True} if self.is_all else {}
        return {**said, **({"include": list(self.include)} if self.include else {})} or None


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


def included_before(profile: Mapping[str, Any]) -> tuple[str, ...]:
    """The globs of `--include` of the last time."""
    before = profile.get("selection")
    globs = before.get("include") if isinstance(before, dict) else None
    return tuple(str(one) for one in globs) if isinstance(globs, list) else ()


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
    from pegboard_manifest import ManifestError, manifest_of

    try:
        manifest_of(document, ".")
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
    ordered = sorted((*failed, *made.left_out), key=lambda one: -one.offers)
    reasons = [f"{shown(one.id, 100)}: {shown(one.why, 200)}" for one in ordered][:5]
    more = len(failed) + len(made.left_out) - len(reasons)
    lines = [*reasons, *([f"and {counted(more, 'other')}"] if more > 0 else [])]
    return ConfigError(
        "\n  ".join(["nothing becomes a tool:", *lines]) if lines else "the source offers nothing",
        hint="toolgen.toml of the folder lets in what is left out; --help of the command names other sources",
    )


def _record(
    made: Assembled, folder: Folder, *, remote: bool, programs: Mapping[str, str]
) -> tuple[Assembled, list[str]]:
    from pegboard_toolgen.record import record

    document, options = record(made.document, folder, remote=remote, programs=programs)
    return attrs.evolve(made, document=document), options


def generator() -> str:
    """Which distribution this is, in which version."""
    try:
        return f"pegboard-toolgen {version('pegboard-toolgen')}"
    except PackageNotFoundError:
        return "pegboard-toolgen"


def silent_tools(document: Mapping[str, Any]) -> tuple[str, ...]:
    """The tools that have no example with an output."""
    return tuple(
        tool["name"] for tool in document["tools"] if not any("output" in example for example in tool["examples"])
    )


# -- build


def build(path: Path, *, replace: bool = False, parts: Collection[str] = (), full: bool | None = None) -> Report:
    """Make every output from the draft, the overrides and the manifest as they lie there.

    Args:
        path: the folder.
        replace: write over our files that were changed by hand.
        parts, full: as of a `Request`.

    Raises:
        ConfigError: there is no manifest, an override matches nothing, or the folder holds what is not ours.

    .. versionadded:: 0.1
    """
    folder = existing_folder(path)
    outcome, more = built(folder, parts, full=full)
    own = is_own(folder, for_build=True)
    written = folder.write(
        {**outcome.files, **more}, parts=outcome.parts, replace=replace, also_ours=KEPT - more.keys()
    )
    later = ROUTES_LATER if "routes" in outcome.added else None
    return Report(
        folder=folder.path, document=outcome.document, written=tuple(written), conflicts=outcome.conflicts,
        notes=tuple(filter(None, [later, accept(folder, own=own)])), silent=silent_tools(outcome.document),
        parts=outcome.parts, tokens=outcome.tokens,
    )  # fmt: skip
