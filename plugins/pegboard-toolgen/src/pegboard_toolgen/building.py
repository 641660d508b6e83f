"""From what was generated to the manifest and every file beside it, in memory: overrides, merge, outputs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import attrs

from pegboard import ConfigError
from pegboard_toolgen import folder as places
from pegboard_toolgen._texts import shown, to_bytes, to_line
from pegboard_toolgen.folder import Folder
from pegboard_toolgen.merge import Conflict, merge_manifests
from pegboard_toolgen.names import Lock, reserve
from pegboard_toolgen.overrides import apply_overrides, read_overrides
from pegboard_toolgen.parts import parts_now

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from pegboard_manifest import Manifest
    from pegboard_toolgen.drafts import LeftOut


@attrs.frozen(kw_only=True)
class Known:
    """What lies in the folder from the last time."""

    profile: Mapping[str, Any]
    generated: Mapping[str, Any] | None
    base: Mapping[str, Any] | None
    mine: Mapping[str, Any] | None
    lock: Lock
    parts: frozenset[str] = frozenset()

    @classmethod
    def read(cls, folder: Folder) -> Known:
        raw = folder.read_json(places.LOCK)
        draft = _object(folder, places.DRAFT)
        generated = None if draft is None else draft.get("generated")
        for name, one in ((places.DRAFT, generated), (places.BASE, _object(folder, places.BASE))):
            if one is not None and not _is_manifest(one):
                raise ConfigError(f"{name} is not what was written there", hint="take it back from version control")
        mine = _object(folder, places.MANIFEST)
        if mine is not None:
            validated(mine, folder)
        return cls(
            profile=_object(folder, places.PROFILE) or {},
            generated=generated,
            base=_object(folder, places.BASE),
            mine=mine,
            lock=reserve(Lock() if raw is None else Lock.from_json(raw), names_in(mine)),
            parts=folder.parts(),
        )


def names_in(document: Mapping[str, Any] | None) -> dict[str, str]:
    """The name of each id in a manifest."""
    return {tool["id"]: tool["name"] for tool in (document or {}).get("tools", ())}


def _object(folder: Folder, name: str) -> dict[str, Any] | None:
    value = folder.read_json(name)
    if value is not None and not isinstance(value, dict):
        raise ConfigError(f"{name} is not a JSON object", hint="take it back from version control")
    return value


def _is_manifest(value: Any) -> bool:
    tools = value.get("tools") if isinstance(value, dict) else None
    return isinstance(tools, list) and all(
        isinstance(tool, dict) and isinstance(tool.get("id"), str) and isinstance(tool.get("name"), str)
        for tool in tools
    )


def draft_of(document: Mapping[str, Any], left_out: Sequence[LeftOut]) -> dict[str, Any]:
    """`tools.draft.json`."""
    return {
        "draft_version": "1.0",
        "generated": document,
        "left_out": [{key: value for key, value in attrs.asdict(one).items() if value} for one in left_out],
    }


@attrs.frozen(kw_only=True)
class Outcome:
    """What a build makes, before it is written.

    Args:
        document: the manifest.
        files: content by relative path.
        conflicts: of the merge.
        parts: what the folder is made with beside the lean one.
        added: those of them that it was not made with before.
        tokens: about what each tool costs a model that is offered it, by name.
    """

    document: Mapping[str, Any]
    files: Mapping[str, bytes]
    conflicts: tuple[Conflict, ...] = ()
    parts: frozenset[str] = frozenset()
    added: frozenset[str] = frozenset()
    tokens: Mapping[str, int] = attrs.field(factory=dict)


def existing_folder(path: Path) -> Folder:
    """A folder that holds a manifest.

    Raises:
        ConfigError: it is not valid.
    """
    if not path.is_dir():
        raise ConfigError(f"there is no folder {shown(path, 100)}", hint="pegboard toolgen init makes one")
    folder = Folder(path.resolve())
    if not folder.exists(places.MANIFEST) and not folder.exists(places.DRAFT):
        raise ConfigError(f"{shown(path, 100)} holds no {places.MANIFEST}", hint="pegboard toolgen init makes one")
    return folder


def built(folder: Folder, added: Collection[str] = (), *, full: bool | None = None) -> tuple[Outcome, dict[str, bytes]]:
    """What lies in a folder, made anew, and the draft where there was none; the arguments as of `parts_now`."""
    state = Known.read(folder)
    more: dict[str, bytes] = {}
    generated = state.generated
    if generated is None:  # written by hand: from here on it is what was generated once
        assert state.mine is not None, "there is a manifest or a draft"
        generated = without_fingerprints(state.mine)
        more[places.DRAFT] = to_bytes(draft_of(generated, ()))
    return merged_build(folder, generated, state, parts_now(state.parts, added, full=full)), more


def merged_build(folder: Folder, generated: Mapping[str, Any], state: Known, parts: frozenset[str]) -> Outcome:
    from pegboard_toolgen.costs import tokens_of_tools
    from pegboard_toolgen.write import render

    theirs = apply_overrides(without_fingerprints(generated), read_overrides(folder))
    validated(theirs, folder, called="what overrides make of it")
    mine = theirs if state.mine is None else without_fingerprints(state.mine)
    base = mine if state.base is None else state.base
    merged = merge_manifests(base, mine, theirs)
    _require_examples(merged.value, generated)
    document = in_order(finished(merged.value))
    manifest = validated(document, folder, called="the merged manifest")
    files = {
        **render(document, parts),
        places.MANIFEST: to_bytes(document, sort_keys=False),
        places.BASE: to_bytes(merged.base),
    }
    return Outcome(
        document=document, files=files, conflicts=merged.conflicts, parts=parts, added=parts - state.parts,
        tokens=tokens_of_tools(manifest),
    )  # fmt: skip


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


def validated(document: Any, folder: Folder, *, called: str = places.MANIFEST) -> Manifest:
    from pegboard_manifest import manifest_of

    return manifest_of(document, folder.path, called=called)


def without_fingerprints(document: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest as it is merged: what is computed is not an edit."""
    plain = {key: value for key, value in document.items() if key != "fingerprint"}
    plain["tools"] = [{key: value for key, value in tool.items() if key != "fingerprint"} for tool in document["tools"]]
    return plain


def finished(document: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest as it is written: tools by name, with fingerprints."""
    from pegboard_manifest import fingerprint_of, fingerprint_of_document

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
    deep = json.loads(json.dumps(document, sort_keys=True))
    deep["tools"] = [{key: tool[key] for key in _ORDER_OF_TOOL if key in tool} for tool in deep["tools"]]
    return {key: deep[key] for key in _ORDER if key in deep}
