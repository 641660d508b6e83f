"""Drafts, hints and names become the tools of a manifest. Values in, values out; nothing here does I/O.

What a draft does not say is decided on the safe side: unknown is a write of medium risk that may not be repeated. A
draft that no example input can be found for, or whose schema cannot be used, is left out with the reason; it costs no
other. The result is a function of the drafts, whatever their order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from pegboard import ErrorCode
from pegboard_manifest import is_read_only, sanitise
from pegboard_toolgen._texts import shown, to_line
from pegboard_toolgen.drafts import Discovery, Draft, LeftOut
from pegboard_toolgen.hints import ASKED, Hints, Matcher, Strictness, ToolHints, chosen_names
from pegboard_toolgen.names import Lock, give_names, next_lock
from pegboard_toolgen.options import parameter_of, room_for, split
from pegboard_toolgen.samples import Checker, NoSampleError, sample_of

Json = Any
MANIFEST_VERSION = "1.0"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
MAX_DESCRIPTION = 8_000
MAX_EXAMPLES = 10
MAX_EXAMPLE_BYTES = 20_000
PLACES = {"subprocess": ("programs", "program"), "python": ("modules", "module"), "http": ("servers", "server")}
"""Of each kind of binding: the part of the manifest that it points into, and by which member."""
MADE_UP = "The example's input is made up."
EXCLUDED = "select.exclude of toolgen.toml fits it"
READS = frozenset(("read", "analytics"))

ERROR = {
    "type": "object",
    "properties": {
        "code": {"enum": [code.value for code in ErrorCode]},
        "message": {"type": "string"},
        "details": {"type": "object"},
    },
    "required": ["code", "message"],
}
"""What every error fits: `$defs.error`."""


@attrs.frozen(kw_only=True)
class Sources:
    """Several discoveries as one: ids of servers, programs, modules and definitions told apart."""

    drafts: tuple[Draft, ...]
    left_out: tuple[LeftOut, ...]
    parts: Mapping[str, Mapping[str, Json]]
    defs: Mapping[str, Json]
    found_in: tuple[Mapping[str, Json], ...]
    name: str = ""
    version: str = ""
    description: str = ""


@attrs.frozen
class Unsaid:
    """A tool of which nobody can tell whether it reads or writes, and why not."""

    id: str
    name: str
    why: str


@attrs.frozen(kw_only=True)
class Assembled:
    """What discovery and hints make.

    Args:
        document: the manifest, without fingerprints.
        left_out: everything that became no tool.
        lock: the names, as they are to be kept.
        unsaid: tools that count as writes, for nobody can tell what they do: id, name and why.
    """

    document: dict[str, Any]
    left_out: tuple[LeftOut, ...]
    lock: Lock
    unsaid: tuple[Unsaid, ...] = ()


# -- several sources


def gather(discoveries: Iterable[Discovery], lock: Lock | None = None) -> Sources:
    """Put discoveries together. Their order does not matter.

    What has one name and is not the same in all of them gets a suffix in each, made of its source: servers with the
    variables of their credentials, definitions, and the ids of operations of several servers. An id with a suffix that
    the lock knows keeps it when it is the only one left.

    Args:
        discoveries: of every source.
        lock: the names of the last time.
    """
    ordered = sorted(discoveries, key=lambda one: (one.source["kind"], one.source["name"], to_line(dict(one.source))))
    tags = _tags(ordered)
    shared = {place: _shared(ordered, place) for place, _ in PLACES.values()}
    drafts: dict[str, Draft] = {}
    left_out: list[LeftOut] = []
    parts: dict[str, dict[str, Json]] = {place: {} for place, _ in PLACES.values()}
    defs: dict[str, Json] = {"error": ERROR}
    odd = _shared_defs(ordered)
    moved: list[Draft] = []
    for one, tag in zip(ordered, tags, strict=True):
        renamed = {name: _tagged(name, tag, 128) for name in one.defs if name in odd}
        for name, schema in one.defs.items():
            defs[renamed.get(name, name)] = _with_refs(schema, renamed)
        places: dict[str, dict[str, str]] = {place: {} for place in parts}
        for place in parts:
            for key, value in getattr(one, place).items():
                if key in shared[place]:
                    places[place][key], value = _tagged(key, tag, 64), _own_variables(value, tag)
                parts[place].setdefault(places[place].get(key, key), value)
        left_out += one.left_out
        moved += [_moved(draft, renamed, places) for draft in sorted(one.drafts, key=lambda draft: draft.id)]
    for draft in _told_apart(moved, parts, lock or Lock()):
        if draft.id in drafts:
            left_out.append(LeftOut(draft.id, "another source, or the same once more, has it already", draft.where))
        else:
            drafts[draft.id] = draft
    return Sources(
        drafts=tuple(drafts[id_] for id_ in sorted(drafts)),
        left_out=tuple(left_out),
        parts=parts,
        defs=defs,
        found_in=tuple(one.source for one in ordered),
        name=_said_by_all(one.name for one in ordered),
        version=_said_by_all(one.version for one in ordered),
        description=_said_by_all(one.description for one in ordered),
    )


def _said_by_all(texts: Iterable[str]) -> str:
    said = set(texts)
    return said.pop() if len(said) == 1 else ""


def _tags(ordered: Sequence[Discovery]) -> list[str]:
    """Six digits for each source: of what it is and where, and of its content only where that is not enough."""
    places = [to_line([one.source.get(key) for key in ("kind", "name", "location")]) for one in ordered]
    return [
        hashlib.sha256((place if places.count(place) == 1 else to_line(dict(one.source))).encode()).hexdigest()[:6]
        for one, place in zip(ordered, places, strict=True)
    ]


def _tagged(name: str, tag: str, limit: int) -> str:
    return f"{name[: limit - len(tag) - 1]}-{tag}"


def _shared(ordered: Sequence[Discovery], place: str) -> set[str]:
    """Ids of a place that mean different things in several sources, or would take one variable for different ones."""
    owners: dict[str, dict[str, set[str]]] = {}
    for one in ordered:
        for key, value in getattr(one, place).items():
            for name in (f"id {key}", *_variables_of(value)):
                owners.setdefault(name, {}).setdefault(_as_bound(value), set()).add(key)
    return {key for lines in owners.values() if len(lines) > 1 for keys in lines.values() for key in keys}


def _as_bound(value: Json) -> str:
    """What tells one server, program or module from another; the names that are let in are put together."""
    return to_line(
        {key: said for key, said in value.items() if key != "allow"} if isinstance(value, Mapping) else value
    )


def _variables_of(value: Mapping[str, Json]) -> list[str]:
    entries = (value, *value.get("auth", ()))
    return [said for entry in entries for key, said in entry.items() if key.endswith("_env")]


def _own_variables(value: Mapping[str, Json], tag: str) -> dict[str, Json]:
    """A server or program whose variables no other has: what a person set for one is not sent to another."""

    def own(entry: Mapping[str, Json]) -> dict[str, Json]:
        return {
            key: f"{said[: 128 - len(tag) - 1]}_{tag.upper()}" if key.endswith("_env") else said
            for key, said in entry.items()
        }

    return {**own(value), **({"auth": [own(entry) for entry in value["auth"]]} if "auth" in value else {})}


def _shared_defs(ordered: Sequence[Discovery]) -> set[str]:
    """Names of definitions that mean different things: in themselves, or by what they refer to."""
    said: dict[str, set[str]] = {"error": {to_line(ERROR)}}
    uses: dict[str, set[str]] = {}
    for one in ordered:
        for name, schema in one.defs.items():
            said.setdefault(name, set()).add(to_line(schema))
            uses.setdefault(name, set()).update(_refs(schema))
    found = {name for name, lines in said.items() if len(lines) > 1}
    left = list(found)
    while left:
        odd = left.pop()
        for name, used in uses.items():
            if odd in used and name not in found and sum(name in one.defs for one in ordered) > 1:
                found.add(name)
                left.append(name)
    return found


def _refs(schema: Json) -> Iterator[str]:
    left = [schema]
    while left:
        value = left.pop()
        if isinstance(value, Mapping):
            reference = value.get("$ref")
            if isinstance(reference, str) and reference.startswith("#/$defs/"):
                yield reference.removeprefix("#/$defs/").partition("/")[0]
            left += value.values()
        elif isinstance(value, list):
            left += value


def _told_apart(drafts: Sequence[Draft], parts: Mapping[str, Mapping[str, Json]], lock: Lock) -> list[Draft]:
    """Drafts of one id that go to different places: each has its place in its id."""
    known = {*lock.names, *lock.tombstones.values()}
    bound: dict[str, set[str]] = {}

    def where(draft: Draft) -> tuple[str, str]:
        place, member = PLACES[draft.binding["kind"]]
        return place, str(draft.binding.get(member))

    for draft in drafts:
        place, key = where(draft)
        bound.setdefault(draft.id, set()).add(_as_bound(parts[place].get(key)))
    found = []
    for draft in drafts:
        longer = f"{draft.id} @{where(draft)[1]}"
        is_told = len(bound[draft.id]) > 1 or longer in known
        found.append(attrs.evolve(draft, id=longer) if is_told else draft)
    return found


def _with_refs(schema: Json, renamed: Mapping[str, str]) -> Json:
    if not renamed:
        return schema
    if isinstance(schema, Mapping):
        changed = {key: _with_refs(value, renamed) for key, value in schema.items()}
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/$defs/"):
            head, _, rest = reference.removeprefix("#/$defs/").partition("/")
            changed["$ref"] = f"#/$defs/{renamed.get(head, head)}" + (f"/{rest}" if rest else "")
        return changed
    return [_with_refs(item, renamed) for item in schema] if isinstance(schema, list) else schema


def _moved(draft: Draft, renamed: Mapping[str, str], places: Mapping[str, Mapping[str, str]]) -> Draft:
    place, member = PLACES[draft.binding["kind"]]
    where = str(draft.binding.get(member))
    binding = draft.binding
    if where in places[place]:
        binding = {**binding, member: places[place][where]}
    return attrs.evolve(
        draft, binding=binding, input_schema=_with_refs(draft.input_schema, renamed),
        output_schema=_with_refs(draft.output_schema, renamed),
    )  # fmt: skip


# -- which of them


@attrs.frozen(kw_only=True)
class Choice:
    """Which drafts may become tools.

    Args:
        candidates: those that hints let in.
        left_out: the others, with the reason.
        names: of all drafts.
        matcher: what hints mean; those that mean nothing are in it.
        is_narrowed: hints say what to include, so that nobody has to be asked.
    """

    candidates: tuple[Draft, ...]
    left_out: tuple[LeftOut, ...]
    names: Mapping[str, str]
    matcher: Matcher
    is_narrowed: bool


def choose(sources: Sources, hints: Hints, lock: Lock) -> Choice:
    """Let hints decide which drafts are candidates.

    Raises:
        ConfigError: a chosen name is not valid, or taken.
    """
    words = {draft.id: draft.words for draft in sources.drafts}
    better = {draft.id: draft.better for draft in sources.drafts}
    first = give_names(words, lock, better=better)
    known_as = {
        **{name: id_ for id_, name in give_names(words).items()},
        **{name: id_ for id_, name in give_names(words, better=better).items()},
        **{name: id_ for name, id_ in lock.tombstones.items() if id_ in words},
        **{name: id_ for id_, name in first.items()},
    }
    names = give_names(words, lock, chosen_names(hints, words, known_as), better)
    matcher = Matcher(sources.drafts, names, known_as)
    included = matcher.ids_of_all(hints.include, "select.include") | matcher.ids_of_all(hints.asked, ASKED)
    excluded = matcher.ids_of_all(hints.exclude, "select.exclude")
    known = {draft.id for draft in sources.drafts}
    named = {one if one in known else matcher.by_name.get(one) for one in hints.wanted} - {None}
    safe = named | matcher.ids_of_all(hints.safe, "select.safe")
    candidates, left_out = [], []
    for draft in sources.drafts:
        why = None
        if draft.id in excluded:
            why = EXCLUDED
        elif hints.wanted and draft.id not in included:
            why = f"{'select.include of toolgen.toml' if hints.include else ASKED} does not fit it"
        elif draft.runs_code and draft.id not in safe:
            why = f"{draft.runs_code}: left out unless select.safe of toolgen.toml names it"
        if why is None:
            candidates.append(draft)
        else:
            left_out.append(LeftOut(draft.id, why, draft.where))
    return Choice(
        candidates=tuple(candidates), left_out=tuple(left_out), names=names, matcher=matcher,
        is_narrowed=bool(hints.wanted),
    )  # fmt: skip


# -- one manifest


def assemble(
    sources: Sources, choice: Choice, hints: Hints, lock: Lock, *, project: Mapping[str, Json], generator: str,
    selected: Iterable[str] | None = None, before: Mapping[str, Any] | None = None, levels: int = 1,
) -> Assembled:  # fmt: skip
    """Make the manifest.

    Args:
        sources: everything that was found.
        choice: what of it may become a tool.
        hints: what a person says.
        lock: names that are kept.
        project: the manifest's `project`; hints are laid over it.
        generator: the distribution and version that this is.
        selected: ids; None: all candidates.
        levels: how many levels below the project the folder of the manifest lies: programs work in the project; 0: it
            does not lie there, and they work in that folder.
        before: what was generated the last time: outputs that were recorded then stay where the input is the same.

    Raises:
        ConfigError: a hint means nothing.
    """
    said = _Said(hints, choice)
    wanted = None if selected is None else set(selected)
    left_out = [*sources.left_out, *choice.left_out]
    tools, unsaid = [], []
    recorded = _recorded(before)
    ran = _ran(before)
    for draft in choice.candidates:
        if wanted is not None and draft.id not in wanted:
            left_out.append(LeftOut(draft.id, "it was not selected", draft.where))
            continue
        try:
            tool = _entry(draft, choice.names[draft.id], said, sources.defs, ran.get(draft.id, ()))
        except NoSampleError as problem:
            left_out.append(LeftOut(draft.id, str(problem), draft.where))
            continue
        if hints.read_only and not is_read_only(tool):
            why = "select.read_only of toolgen.toml is on, and it may change something"
            left_out.append(LeftOut(draft.id, why, draft.where))
            continue
        for example in tool["examples"]:
            known = recorded.get((draft.id, to_line(example["input"])))
            if known is not None and "output" not in example:
                example.update(output=known, recorded=True)
        if draft.category is None and said.category_of(draft.id) is None:
            unsaid.append(Unsaid(draft.id, tool["name"], draft.unknown))
        tools.append(tool)
    choice.matcher.raise_unmatched()
    tools.sort(key=lambda tool: tool["name"])
    document = {
        "manifest_version": MANIFEST_VERSION,
        "schema_dialect": DIALECT,
        "project": {**project, **hints.project},
        **_places(tools, sources.parts, hints, levels),
        "$defs": _needed(tools, sources.defs),
        "tools": tools,
        "provenance": {"generator": generator, "sources": [dict(one) for one in sources.found_in]},
    }
    left_out.sort(key=lambda one: (one.id, one.why, one.where))
    names = {tool["id"]: tool["name"] for tool in tools}
    return Assembled(
        document=document,
        left_out=tuple(left_out),
        lock=next_lock(lock, names),
        unsaid=tuple(sorted(unsaid, key=lambda one: one.name)),
    )


class _Said:
    """What hints say of each id."""

    def __init__(self, hints: Hints, choice: Choice) -> None:
        self._hints = hints
        matcher = choice.matcher
        self._tools: dict[str, ToolHints] = {}
        for key, tool in hints.tools.items():
            id_ = matcher.id_of(key, "tools")
            if id_ is not None:
                self._tools[id_] = tool
        self._categories: dict[str, str] = {}
        for category, globs in hints.categories.items():
            for id_ in matcher.ids_of_all(globs, f"categories.{category}"):
                self._categories.setdefault(id_, category)
        self._open = matcher.ids_of_all(hints.open_output, "output.open")
        self._any = matcher.ids_of_all(hints.any_output, "output.any")

    def of(self, id_: str) -> ToolHints:
        return self._tools.get(id_, _NOTHING_SET)

    def category_of(self, id_: str) -> str | None:
        return self.of(id_).category or self._categories.get(id_)

    def strictness_of(self, id_: str) -> Strictness:
        if (said := self.of(id_).output) is not None:
            return said
        return "any" if id_ in self._any else "open" if id_ in self._open else self._hints.output

    @property
    def hints(self) -> Hints:
        return self._hints


_NOTHING_SET = ToolHints()


def _entry(
    draft: Draft, name: str, said: _Said, defs: Mapping[str, Json], ran: Sequence[Mapping[str, Json]]
) -> dict[str, Any]:
    hint = said.of(draft.id)
    used = {name for example in hint.examples for name in example["input"]}
    draft = split(draft, hint.show, used, lean=said.hints.lean if hint.lean is None else hint.lean)
    category = said.category_of(draft.id) or draft.category or "write"
    reads = category in READS
    notes = list(draft.notes)
    if draft.category is None and said.category_of(draft.id) is None:
        notes.insert(0, f"whether it reads or writes is unknown: {draft.unknown or 'nothing says so'}")
    input_schema, output_schema = _schemas(draft, said, defs, notes)
    risk = hint.risk or draft.risk or {"read": "low", "analytics": "low", "admin": "high"}.get(category, "medium")
    idempotency = hint.idempotency or draft.idempotency
    timeout_ms = hint.timeout_ms or draft.timeout_ms or said.hints.timeout_ms
    title = sanitise(hint.title or draft.title or "", 200, one_line=True)
    description = sanitise(hint.description or draft.description, MAX_DESCRIPTION).strip() or f"Calls {name}."
    rate_limit = hint.rate_limit or said.hints.rate_limit
    constraints: dict[str, Any] = {"read_only_mode_supported": reads and risk != "high"}
    side_effects = [*draft.side_effects, *hint.side_effects]
    if side_effects:
        constraints["side_effects"] = _lines(side_effects)
    if rate_limit:
        constraints["rate_limit"] = rate_limit
    if hint.allowed_paths is not None:
        constraints["allowed_paths"] = list(hint.allowed_paths)
    if draft.warnings or hint.notes:
        constraints["notes"] = _lines([*draft.warnings, *hint.notes])
    return {
        "id": draft.id,
        "name": name,
        **({"title": title} if title else {}),
        "description": description,
        "category": category,
        "risk": risk,
        "idempotency": idempotency or ("idempotent" if reads else "unknown"),
        **({"timeout_ms": timeout_ms} if timeout_ms else {}),
        "input_schema": input_schema,
        "output_schema": output_schema,
        **({"errors": _errors(draft.errors)} if draft.errors else {}),
        "error_schema": {"$ref": "#/$defs/error"},
        "examples": _examples(draft, hint, input_schema, output_schema, defs, notes, ran),
        "constraints": constraints,
        "binding": _binding(draft, hint),
        "provenance": {
            "source": draft.kind,
            "where": sanitise(draft.where, 1_024, one_line=True),
            **({"notes": _lines(notes)} if notes else {}),
        },
    }


def _binding(draft: Draft, hint: ToolHints) -> Mapping[str, Json]:
    """The draft's, with the exit statuses that a person says are answers."""
    from pegboard import ConfigError

    if hint.success is None:
        return draft.binding
    if draft.binding["kind"] != "subprocess":
        raise ConfigError(f"toolgen.toml: success of {shown(draft.id, 100)}: only a program has an exit status")
    guessed = {key: value for key, value in draft.binding.items() if key != "success_with_output"}
    return {**guessed, "success": list(hint.success)}


def _schemas(draft: Draft, said: _Said, defs: Mapping[str, Json], notes: list[str]) -> tuple[Json, Json]:
    from pegboard_toolgen.schemas import fit, listed_size, loosen

    budget = said.hints.schema_bytes
    share = budget * 5 // 8
    more = parameter_of(draft.binding)
    input_schema, lost = fit(draft.input_schema, defs, room_for(draft, share))
    if more:
        input_schema = {**input_schema, "properties": {**input_schema.get("properties", {}), **more}}
    notes += lost
    output_schema: Json = draft.output_schema
    left = budget - min(listed_size(input_schema, defs), share)
    strictness = said.strictness_of(draft.id)
    if strictness == "any":
        output_schema = {"type": "object"}
    elif strictness == "open" or listed_size(output_schema, defs) > left:
        output_schema, lost = loosen(output_schema, defs, left)
        notes += lost
    if not isinstance(output_schema, Mapping):
        output_schema = {"type": "object"}
    return input_schema, output_schema


def _errors(errors: Sequence[Mapping[str, Json]]) -> list[dict[str, Json]]:
    known = {code.value for code in ErrorCode}
    found: dict[str, dict[str, Json]] = {}
    for error in errors:
        if error.get("code") in known:
            one = found.setdefault(error["code"], {"code": error["code"]})
            when = sanitise(str(error.get("when", "")), 500, one_line=True)
            if when and when not in one.get("when", ""):
                one["when"] = f"{one['when']}; {when}"[:2_000] if "when" in one else when
    return [found[code] for code in sorted(found)]


def _examples(
    draft: Draft, hint: ToolHints, input_schema: Json, output_schema: Json, defs: Mapping[str, Json], notes: list[str],
    ran: Sequence[Mapping[str, Json]],
) -> list[dict[str, Json]]:  # fmt: skip
    """Of hints, else the source's own, else one that is made; each fits the schema."""
    from pegboard import ConfigError

    checker = Checker(input_schema, defs)
    if hint.examples:
        answers = Checker(output_schema, defs)
        for example in hint.examples:
            for held, key in ((checker, "input"), (answers, "output")):
                if key in example and not held.fits(example[key]):
                    raise ConfigError(
                        f"toolgen.toml: the {key} of an example of {shown(draft.id, 100)} does not fit: "
                        + shown(held.why_not(example[key]), 200)
                    )
        return [dict(example) for example in hint.examples[:50]]
    found: dict[str, dict[str, Json]] = {}
    outputs: Checker | None = None
    for example in draft.examples:
        line = to_line(example.get("input"))
        if len(line) > MAX_EXAMPLE_BYTES or not isinstance(example.get("input"), Mapping) or line in found:
            continue
        if not checker.fits(example["input"]):
            continue
        one: dict[str, Json] = {"input": example["input"]}
        description = sanitise(str(example.get("description") or ""), 500, one_line=True)
        if description:
            one["description"] = description
        if "output" in example:
            outputs = Checker(output_schema, defs) if outputs is None else outputs
            if outputs.fits(example["output"]) and len(to_line(example["output"])) <= MAX_EXAMPLE_BYTES:
                one["output"] = example["output"]
        found[line] = one
        if len(found) == MAX_EXAMPLES:
            break
    if not found:
        known = [example for example in ran if checker.fits(example["input"])]
        found = {to_line(example["input"]): {"input": example["input"]} for example in known[:1]}
        found = found or {"": {"input": sample_of(input_schema, defs)}}
        notes.append(MADE_UP)
    return list(found.values())


def _ran(before: Mapping[str, Any] | None) -> dict[str, list[Mapping[str, Json]]]:
    """The examples that were made up and answered the last time: an input that works is kept."""
    return {
        tool["id"]: [example for example in tool["examples"] if example.get("recorded") is True]
        for tool in (before or {}).get("tools", ())
        if is_made_up(tool)
    }


def is_made_up(tool: Mapping[str, Any]) -> bool:
    """Whether nobody gave an example of this tool."""
    return MADE_UP in tool.get("provenance", {}).get("notes", ())


def _recorded(before: Mapping[str, Any] | None) -> dict[tuple[str, str], Json]:
    return {
        (tool["id"], to_line(example["input"])): example["output"]
        for tool in (before or {}).get("tools", ())
        for example in tool.get("examples", ())
        if example.get("recorded") is True and "output" in example
    }


def _lines(texts: Iterable[str]) -> list[str]:
    found = (sanitise(str(text), 2_000, one_line=True) for text in texts)
    return list(dict.fromkeys(text for text in found if text))


def _places(tools: Sequence[Mapping[str, Any]], parts: Mapping[str, Any], hints: Hints, levels: int) -> dict[str, Json]:
    """The servers, programs and modules that tools use, with hints laid over them."""
    from pegboard import ConfigError

    found: dict[str, dict[str, Json]] = {}
    for kind, (place, member) in PLACES.items():
        bindings = [tool["binding"] for tool in tools if tool["binding"]["kind"] == kind]
        laid = getattr(hints, place)
        for key in laid:
            if key not in parts[place]:
                known = ", ".join(sorted(parts[place])) or "there are none"
                raise ConfigError(f"toolgen.toml: {place}.{key} is nothing that was found", hint=f"{place}: {known}")
        used = {binding[member] for binding in bindings}
        for key in sorted(used):
            said = {name: list(one) if isinstance(one, tuple) else one for name, one in laid.get(key, {}).items()}
            value = {**parts[place].get(key, {}), **said}
            if place == "programs":
                above = "/".join([".."] * levels) or "."
                value.setdefault("cwd", above)
                if "argv0" not in said and value["argv0"][0].startswith("./"):
                    value["argv0"] = [f"{above}/{value['argv0'][0][2:]}", *value["argv0"][1:]]
            if place == "modules" and "allow" in value:
                called = [one for one in bindings if one["module"] == key]
                made = [one["instance"]["make"] for one in called if "instance" in one]
                value["allow"] = sorted({*(one["qualified_name"] for one in called), *made})
            if place == "servers" and "base_url" in laid.get(key, {}) and "allowed_hosts" not in laid[key]:
                value.pop("allowed_hosts", None)
            found.setdefault(place, {})[key] = value
    return found


def _needed(tools: Sequence[Mapping[str, Any]], defs: Mapping[str, Json]) -> dict[str, Json]:
    from pegboard_toolgen.schemas import needed

    found: dict[str, Json] = {"error": defs["error"]}
    for tool in tools:
        for key in ("input_schema", "output_schema"):
            found.update(needed(tool[key], defs))
    return {name: found[name] for name in sorted(found)}
