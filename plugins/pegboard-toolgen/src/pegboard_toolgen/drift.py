"""`check`: what in the folder is not as it would be made now, and where the source went on without it.

Nothing is written. A source that is gone or cannot be read is a difference, or a note where `[check] unreachable` says
so: the outputs are held against the manifest all the same, and what the other sources have against the draft. What in
the draft is of the source that is missing is told by its binding: a program, module or server that no other source has.
It takes part as it stands there, so that hints about it still mean something, and is not compared. Where a missing
source has no such place of its own, it shares one; then nobody can tell whose a tool is that is gone from there, and
nothing is said of it.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import attrs

from pegboard import ConfigError
from pegboard_toolgen import building, flow, sources
from pegboard_toolgen import folder as places
from pegboard_toolgen._texts import as_word, shown, to_line
from pegboard_toolgen.answers import Answers
from pegboard_toolgen.assemble import EXCLUDED, PLACES, Assembled, choose, gather
from pegboard_toolgen.changes import PROVENANCE, changes_of
from pegboard_toolgen.drafts import Discovery, DiscoveryError, Draft
from pegboard_toolgen.folder import DRAFT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pegboard_toolgen.assemble import Sources
    from pegboard_toolgen.folder import Folder
    from pegboard_toolgen.names import Lock
    from pegboard_toolgen.profile import Source

_TAG = re.compile("-[0-9a-f]{6}")
MAX_SAID = 12
"""Of one tool so many changes are said."""


@attrs.frozen
class Difference:
    """One thing that differs, and what repairs it."""

    what: str
    fix: str


@attrs.frozen
class Checked:
    """What a check found."""

    differences: tuple[Difference, ...]
    notes: tuple[str, ...]
    tools: int
    parts: frozenset[str] = frozenset()


def check(path: Path) -> Checked:
    """Compare a folder with what would be made now, and with its source.

    Raises:
        ConfigError: what a person wrote there cannot be used.

    .. versionadded:: 0.1
    """
    folder = building.existing_folder(path)
    name = as_word(path)
    outcome, more = building.built(folder)
    found = list(_of_files(folder, {**outcome.files, **more}, name))
    found += [Difference(str(one), "take it over, or put yours into overrides/") for one in outcome.conflicts]
    drifted, notes = _of_source(folder, name)
    return Checked(tuple(found + drifted), tuple(notes), len(outcome.document["tools"]), outcome.parts)


def _of_files(folder: Folder, files: Mapping[str, bytes], name: str) -> Iterator[Difference]:
    build = f"pegboard toolgen build {name}"
    state = folder.compare(files, also_ours=flow.KEPT)
    for file in state.missing:
        yield Difference(f"{file} is missing", build)
    for file in state.stale:
        yield Difference(f"{file} is not what would be made now", build)
    for file in state.gone:
        yield Difference(f"{file} belongs to nothing any more", build)
    for file in state.changed:
        yield Difference(
            f"{file} was changed by hand",
            f"put the change into {places.OVERRIDES}/ or {places.HINTS}; {build} --replace writes over it",
        )
    for file in state.strange:
        yield Difference(f"{file} is not ours and in the way", "move it away")


def _of_source(folder: Folder, name: str) -> tuple[list[Difference], list[str]]:
    """What the source has now, against the draft."""
    state = building.Known.read(folder)
    listed = state.profile.get("sources")
    if state.generated is None or not listed:
        return [], ["the source is not known: nothing is said of its drift"]
    init = f"pegboard toolgen init --out {name}"
    root = flow.root_of(folder, state.profile)
    known = sources.sources_of(state.profile, root)
    found, failed = _discovered(folder, state, known)
    notes, differences = _told(folder, failed, state.generated)
    if len(known) < len(listed):
        differences.append(Difference(f"{places.PROFILE} names a source that cannot be used", init))
    if not found:
        return differences, notes
    try:
        made, missing = _made(folder, state, found, [*failed])
    except ConfigError as problem:  # a hint that names what the source has no more
        text = " ".join(str(problem).split())
        if failed:  # or what the missing one has
            return differences, [
                *notes,
                f"nothing is said of drift without it, for hints do not fit: {shown(text, 300)}",
            ]
        fix = f"{problem.hint or 'repair it'}, then {init}"
        return [*differences, Difference(f"hints and source do not fit: {shown(text, 500)}", fix)], notes
    drifted = list(_compared(missing.without(state.generated), missing.without(made.document), init))
    then = [to_line(one) for one in state.generated.get("provenance", {}).get("sources", ())]
    now = [to_line(one) for one in made.document["provenance"]["sources"]]
    if not drifted and (set(now) - set(then) if failed else now != then):
        drifted = [Difference("the source changed, though no tool did", init)]
    return [*differences, *drifted], notes


def _discovered(
    folder: Folder, state: building.Known, known: Sequence[Source]
) -> tuple[list[Discovery], dict[Source, str]]:
    """What the sources have now; and those that are gone or cannot be read, with the reason."""
    found: list[Discovery] = []
    failed: dict[Source, str] = {}
    wanted = _wanted(folder, state.profile)
    for source in known:
        try:
            place = attrs.evolve(_where_it_is(source, state.generated or {}), include=wanted)
            found.append(sources.discover(place, source.base_url or None))
        except (DiscoveryError, OSError) as problem:
            failed[source] = shown(problem, 200)
    return found, failed


def _told(
    folder: Folder, failed: Mapping[Source, str], document: Mapping[str, Any]
) -> tuple[list[str], list[Difference]]:
    """Sources that are gone or cannot be read, as notes or differences: as hints say. One that `init` could not read
    either is not gone."""
    try:
        are_notes = flow.hints_of(folder, ()).unreachable == "note"
    except ConfigError:  # told by who uses the hints
        are_notes = False
    known = {one.get("id") for one in _left_out(folder)}
    notes, differences = [], []
    for source, why in failed.items():
        name = shown(source.name, 100)
        if are_notes or sources.id_of_source(source) in known:
            notes.append(f"{name} cannot be reached, nothing is said of its drift: {why}")
        else:
            fix = f'{_how_to_reach(source, document)}, or say unreachable = "note" under [check] in {places.HINTS}'
            differences.append(Difference(f"{name} cannot be reached: {why}", fix))
    return notes, differences


def _how_to_reach(source: Source, document: Mapping[str, Any]) -> str:
    if source.kind == "library":
        return "install or repair it"
    if source.kind == "program" and not source.inside:
        for program in document.get("programs", {}).values():
            if program["argv0"][0] == source.name and "argv0_env" in program:
                return f"put it on PATH, set {program['argv0_env']} to its path"
    return "bring it back, repair it"


def _left_out(folder: Folder) -> list[Mapping[str, Any]]:
    """What the draft says that became no tool."""
    draft = folder.read_json(DRAFT)
    listed = draft.get("left_out") if isinstance(draft, dict) else None
    return [one for one in (listed if isinstance(listed, list) else ()) if isinstance(one, dict)]


def _wanted(folder: Folder, profile: Mapping[str, Any]) -> tuple[str, ...]:
    """The globs that ask for what a library does not name as its own. Hints that cannot be read are told by `_made`."""
    asked = flow.included_before(profile)
    try:
        return flow.hints_of(folder, asked).wanted
    except ConfigError:
        return asked


def _where_it_is(source: Source, document: Mapping[str, Any]) -> Source:
    """A program where its variable says that it is, as calls find it."""
    if source.kind == "program" and source.where == source.name:
        for program in document.get("programs", {}).values():
            path = os.environ.get(program.get("argv0_env", ""), "")
            if program["argv0"][0] == source.name and path:
                return attrs.evolve(source, where=path)
    return source


@attrs.frozen
class _Missing:
    """What of a draft is of sources that cannot be reached.

    Args:
        tools: by id.
        places: servers, programs and modules.
        defs: definitions that no other source has.
        excluded: ids that hints exclude.
    """

    tools: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)
    places: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)
    defs: Mapping[str, Any] = attrs.field(factory=dict)
    excluded: tuple[str, ...] = ()

    def without(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """A manifest less what is missing."""
        parts: dict[str, Any] = {**self.places, "$defs": self.defs}
        less = {
            part: {key: value for key, value in document.get(part, {}).items() if key not in keys}
            for part, keys in parts.items()
        }
        return {**document, **less, "tools": [tool for tool in document["tools"] if tool["id"] not in self.tools]}

    def added_to(self, gathered: Sources) -> Sources:
        """What was found, and what is missing as it stood."""
        drafts = [*gathered.drafts, *(_draft_of(id_, self.tools.get(id_, {})) for id_ in (*self.tools, *self.excluded))]
        return attrs.evolve(
            gathered,
            drafts=tuple(sorted(drafts, key=lambda draft: draft.id)),
            parts={part: {**self.places.get(part, {}), **entry} for part, entry in gathered.parts.items()},
            defs={**self.defs, **gathered.defs},
        )


def _missing(folder: Folder, document: Mapping[str, Any], failed: Sequence[Source], gathered: Sources) -> _Missing:
    if not failed:
        return _Missing()
    kinds = {"program": "subprocess", "library": "python", "openapi": "http"}
    places: dict[str, dict[str, Any]] = {}
    shared: set[str] = set()  # kinds of bindings of which a missing source has no place of its own
    for kind in {kinds[one.kind] for one in failed}:
        part = PLACES[kind][0]
        places[part] = {
            key: value for key, value in document.get(part, {}).items() if key not in gathered.parts.get(part, {})
        }
        if len(places[part]) < sum(kinds[one.kind] == kind for one in failed):
            shared.add(kind)
    known = {*(one.id for one in gathered.drafts), *(one.id for one in gathered.left_out)}
    tools = {}
    for tool in document["tools"]:
        binding = tool["binding"]
        part, member = PLACES[binding["kind"]]
        if tool["id"] not in known and (binding[member] in places.get(part, ()) or binding["kind"] in shared):
            tools[tool["id"]] = tool
    excluded = [
        str(one["id"])
        for one in _left_out(folder)
        if str(one.get("why")) == EXCLUDED and str(one.get("id")) not in known
    ]
    defs = {key: value for key, value in document.get("$defs", {}).items() if key not in gathered.defs}
    return _Missing(tools, places, defs, tuple(excluded))


def _draft_of(id_: str, tool: Mapping[str, Any]) -> Draft:
    return Draft(
        id=id_,
        words=tuple(tool.get("name", id_).split("_")),
        binding=tool.get("binding", {"kind": "http", "server": ""}),
        input_schema=tool.get("input_schema", {"type": "object"}),
        output_schema=tool.get("output_schema", {"type": "object"}),
        description=tool.get("description", ""),
        kind=tool.get("provenance", {}).get("source", "openapi"),
        where=id_,
        category=tool.get("category"),
        risk=tool.get("risk"),
        examples=tuple(tool.get("examples", ())),
    )


def _gathered(found: Sequence[Discovery], document: Mapping[str, Any], lock: Lock) -> Sources:
    """The sources that were found, with the names in the draft: what had a suffix, for a missing source has the same
    name, keeps it."""

    def other(part: str) -> dict[str, Any]:
        names = document.get(part, {})
        return {name[:-7]: {"missing": True} for name in names if _TAG.fullmatch(name[-7:]) and name[:-7] not in names}

    source = {"kind": "missing", "name": ""}
    clashing = Discovery(
        source=source,
        servers=other("servers"),
        programs=other("programs"),
        modules=other("modules"),
        defs=other("$defs"),
    )
    gathered = gather([*found, clashing], lock)
    return attrs.evolve(
        gathered,
        parts={part: _real(entry) for part, entry in gathered.parts.items()},
        defs=_real(gathered.defs),
        found_in=tuple(one for one in gathered.found_in if one != source),
    )


def _real(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if value != {"missing": True}}


def _made(
    folder: Folder, state: building.Known, found: Sequence[Discovery], failed: Sequence[Source]
) -> tuple[Assembled, _Missing]:
    assert state.generated is not None
    found = sources.placed(found, flow.root_of(folder, state.profile), state.generated)
    gathered = _gathered(found, state.generated, state.lock) if failed else gather(found, state.lock)
    missing = _missing(folder, state.generated, failed, gathered)
    gathered = missing.added_to(gathered)
    hints = flow.hints_of(folder, flow.included_before(state.profile))
    gathered = Answers.of(state.profile).laid_on(gathered)
    choice = choose(gathered, hints, state.lock)
    selection = flow.selected_before(state.profile)
    made = flow.assembled(
        gathered,
        choice,
        hints,
        state.lock,
        state.generated["project"],
        selection,
        state.generated,
        flow.levels_of(folder, state.profile),
    )
    return made, missing


def _compared(was: Mapping[str, Any], now: Mapping[str, Any], init: str) -> Iterator[Difference]:
    old = {tool["id"]: tool for tool in was["tools"]}
    new = {tool["id"]: tool for tool in now["tools"]}
    elsewhere: list[str] = []
    changed = False
    for id_ in sorted(old.keys() | new.keys()):
        if id_ not in new:
            yield Difference(f"{shown(old[id_]['name'], 64)} is gone from its source ({shown(id_, 200)})", init)
        elif id_ not in old:
            yield Difference(f"{shown(id_, 200)} is new in its source", init)
        elif said := changes_of(old[id_], new[id_], was.get("$defs", {}), now.get("$defs", {})):
            if said == [PROVENANCE]:
                elsewhere.append(shown(new[id_]["name"], 64))
            else:
                changed = True
                yield Difference(f"{shown(new[id_]['name'], 64)} changed in its source: {_first(said)}", init)
    if elsewhere:
        yield Difference(f"{_first(elsewhere, ', ')}: found at another place in the source, or with other notes", init)
    for part in ("servers", "programs", "modules", "$defs"):
        before, after = was.get(part, {}), now.get(part, {})
        keys = sorted(
            key for key in before.keys() | after.keys() if to_line(before.get(key)) != to_line(after.get(key))
        )
        if keys and not (part == "$defs" and changed):  # a definition is said of each tool that it reaches
            yield Difference(f"{part} changed in the source: {_first([shown(key, 64) for key in keys], ', ')}", init)


def _first(said: Sequence[str], between: str = "; ") -> str:
    more = f"{between}and {len(said) - MAX_SAID} more" if len(said) > MAX_SAID else ""
    return between.join(said[:MAX_SAID]) + more
