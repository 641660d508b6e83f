"""`check`: what in the folder is not as it would be made now, and where the source went on without it.

Nothing is written. A source that cannot be reached is a note: the outputs are held against the manifest all the same.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import attrs

from pegboard import ConfigError
from pegboard_toolgen import building, flow, sources
from pegboard_toolgen import folder as places
from pegboard_toolgen._texts import as_word, shown, to_line
from pegboard_toolgen.assemble import Assembled, choose, gather
from pegboard_toolgen.drafts import DiscoveryError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pegboard_toolgen.folder import Folder
    from pegboard_toolgen.profile import Source


@attrs.frozen
class Difference:
    """One thing that differs, and what mends it."""

    what: str
    fix: str


@attrs.frozen
class Checked:
    """What a check found."""

    differences: tuple[Difference, ...]
    notes: tuple[str, ...]
    tools: int


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
    return Checked(tuple(found + drifted), tuple(notes), len(outcome.document["tools"]))


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
    found, failed, notes = [], [], []
    root = flow.root_of(folder, state.profile)
    for source in sources.sources_of(state.profile, root):
        try:
            found.append(sources.discover(_where_it_is(source, state.generated), source.base_url or None))
        except DiscoveryError as problem:
            failed.append(source.name)
            notes.append(
                f"{shown(source.name, 100)} cannot be reached, nothing is said of its drift: {shown(problem, 200)}"
            )
    if not found or failed:
        return [], notes
    init = f"pegboard toolgen init --out {name}"
    try:
        made = _made(folder, state, found)
    except ConfigError as problem:  # a hint that names what the source has no more
        text = " ".join(str(problem).split())
        return [
            Difference(f"hints and source do not fit: {shown(text, 500)}", f"{problem.hint or 'mend it'}, then {init}")
        ], notes
    differences = list(_compared(state.generated, made.document, init))
    known = to_line(state.generated.get("provenance", {}).get("sources"))
    if not differences and known != to_line(made.document["provenance"]["sources"]):
        differences = [Difference("the source changed, though no tool did", init)]
    return differences, notes


def _where_it_is(source: Source, document: Mapping[str, Any]) -> Source:
    """A program where its variable says that it is, as calls find it."""
    if source.kind == "program" and source.where == source.name:
        for program in document.get("programs", {}).values():
            path = os.environ.get(program.get("argv0_env", ""), "")
            if program["argv0"][0] == source.name and path:
                return attrs.evolve(source, where=path)
    return source


def _made(folder: Folder, state: building.Known, found: list[Any]) -> Assembled:
    root = flow.root_of(folder, state.profile)
    gathered = gather(sources.placed(found, root, state.generated), state.lock)
    hints = flow.hints_of(folder)
    choice = choose(gathered, hints, state.lock)
    selection = flow.selected_before(state.profile)
    assert state.generated is not None
    return flow.assembled(
        gathered,
        choice,
        hints,
        state.lock,
        state.generated["project"],
        selection,
        state.generated,
        flow.levels_of(folder, state.profile),
    )


def _compared(was: Mapping[str, Any], now: Mapping[str, Any], init: str) -> Iterator[Difference]:
    old = {tool["id"]: tool for tool in was["tools"]}
    new = {tool["id"]: tool for tool in now["tools"]}
    for id_ in sorted(old.keys() | new.keys()):
        if id_ not in new:
            yield Difference(f"{shown(old[id_]['name'], 64)} is gone from its source ({shown(id_, 200)})", init)
        elif id_ not in old:
            yield Difference(f"{shown(id_, 200)} is new in its source", init)
        else:
            parts = sorted(
                key for key in old[id_].keys() | new[id_].keys()
                if to_line(old[id_].get(key)) != to_line(new[id_].get(key))
            )  # fmt: skip
            if parts:
                yield Difference(f"{shown(new[id_]['name'], 64)} changed in its source: {', '.join(parts)}", init)
    for part in ("servers", "programs", "modules", "$defs"):
        if to_line(was.get(part, {})) != to_line(now.get(part, {})):
            yield Difference(f"{part} changed in the source", init)
