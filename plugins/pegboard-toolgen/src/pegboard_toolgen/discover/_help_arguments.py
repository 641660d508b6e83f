"""The words that a program takes by their place: from all forms of its usage and its list of arguments together."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

from pegboard_toolgen.discover import _help_values as values_of
from pegboard_toolgen.discover import _program_words as guess
from pegboard_toolgen.discover._program_parts import Parameter
from pegboard_toolgen.discover._usage import Slot, form_of, key_of, merged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pegboard_toolgen.discover._usage import Form

MAX_LISTED = 30
MAX_SAID = 1_500
_HEADER = re.compile(
    r"^(?:positional |required |optional )?(?:arguments?|args|positionals?|operands?|parameters?):?$", re.I
)
_TERM = re.compile(
    r"^ {1,8}(\[?<[^<>]{1,60}>\]?(?:\.\.\.)?\]?(?: \.\.\.)?|\[[^\[\]]{1,60}\](?:\.\.\.)?|\{[^{}]{1,300}\}|"
    r"[A-Za-z][\w.-]{0,60}(?:\.\.\.)?)(?: {2,}(\S.*)|\t+(\S.*)|:? (\S.*)|)$"
)
_SENTENCE = re.compile(r"^ +[A-Z][a-z]+ \S")


@attrs.frozen
class Listed:
    """One entry of the list: the place it is for, and what is said of it."""

    slot: Slot
    said: str


def listed_of(lines: Sequence[str]) -> tuple[Listed, ...]:
    """The entries under a header of arguments."""
    found: list[tuple[str, list[str]]] = []
    inside, depth = False, 0
    for line in lines:
        stripped = line.strip()
        if stripped and not line[0].isspace():
            inside = bool(_HEADER.match(stripped))
            depth = 0
            continue
        if not inside or not stripped:
            continue
        indent = len(line) - len(line.lstrip())
        term = _TERM.match(line) if not depth or indent == depth else None
        if term and (term[2] or term[3] or not term[4] or not (found or _SENTENCE.match(line))):
            depth = indent
            found.append((term[1], [next(filter(None, term.groups()[1:]), "")]))
        elif depth:
            found[-1][1].append(stripped)
    return tuple(one for term, said in found[:MAX_LISTED] if (one := _listed(term, said)) is not None)


def _listed(term: str, said: list[str]) -> Listed | None:
    name = term.strip("[]<>. ")
    slots = form_of(term, listed=[name]).slots
    if len(slots) != 1:
        return None
    values, _ = values_of.listed_below(said)
    listed = f" [possible values: {', '.join(values)}]" if values else ""
    return Listed(slots[0], f"{' '.join(filter(None, said))[:MAX_SAID]}{listed}")


def positionals_of(
    forms: Sequence[Form], listed: Sequence[Listed], whole: str
) -> tuple[tuple[Parameter, ...], tuple[str, ...]]:
    """The parameters in the order of the usage, and what is not sure.

    What is listed and stands in no form comes behind the rest. Where the names of the usage and those of the list are
    as many and differ, they are the same places: argparse lets a program write its usage by hand.
    """
    slots, apart = merged(forms)
    said = {key_of(one.slot.name): one for one in listed}
    unknown = [slot for slot in slots if key_of(slot.name) not in said]
    unused = [one for one in listed if key_of(one.slot.name) not in {key_of(slot.name) for slot in slots}]
    notes: list[str] = []
    if unknown and len(unknown) == len(unused) == len(slots):
        said |= {key_of(slot.name): one for slot, one in zip(unknown, unused, strict=True)}
    else:
        slots += tuple(attrs.evolve(one.slot, required=one.slot.required and not forms) for one in unused)
        notes += [f"{one.slot.name} is listed, and its usage does not show it." for one in unused if forms]
    if len(forms) > 1:
        notes.append("Its usage has several forms; what any of them takes is offered.")
    groups = _groups(apart)
    return tuple(
        attrs.evolve(_parameter(slot, said.get(key_of(slot.name)), whole), group=groups.get(key_of(slot.name)))
        for slot in slots
    ), tuple(notes)


def _groups(apart: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Places that no form of the usage has together, as numbered groups of which one may be given."""
    found: dict[str, int] = {}
    pairs = set(apart)
    for one, other in apart:
        number = found.setdefault(one, len(found))
        mates = [name for name, at in found.items() if at == number]
        if other not in found and all((mate, other) in pairs for mate in mates):
            found[other] = number
    return found


def _parameter(slot: Slot, listed: Listed | None, whole: str) -> Parameter:
    said = listed.said if listed else ""
    many = slot.many or bool(listed and listed.slot.many)
    schema = {"type": "string", "enum": list(slot.choices)} if slot.choices else _schema(slot, said, whole)
    name = slot.name.lower() if slot.name.isupper() else slot.name
    is_text = schema == {"type": "string"}
    is_path = is_text and not slot.prefix and (guess.is_path(name, name.upper(), said) or guess.is_place(name))
    if slot.prefix and is_text:
        schema = {"type": "string", "pattern": f"^{re.escape(slot.prefix)}"}
    sentences = [said, f"Begins with {slot.prefix}." if slot.prefix else ""]
    if slot.rivals:
        sentences.append(f"Give either this or {' or '.join(slot.rivals[:4])}.")
    return Parameter(
        name=name,
        words=None if many else 1,
        at_least=1 if many and slot.required else 0,
        required=slot.required,
        schema=schema,
        access=None if not is_path else "write" if guess.is_output(name) else "guess",
        metavar=slot.name,
        text=" ".join(_ended(one) for one in sentences if one),
        notes=("taken for a path by its name.",) if is_path else (),
    )


def _ended(sentence: str) -> str:
    return sentence if sentence[-1] in ".!?:…)]" else f"{sentence}."


def _schema(slot: Slot, said: str, whole: str) -> values_of.Schema:
    """Of one word: by its list, its name, or what is said of that: "FIRST and LAST are floating point values"."""
    schema = values_of.schema_of(slot.name, said, values_of.with_units(whole.split("\n")))
    if schema == {"type": "string"} and slot.name.isupper():
        number = rf"\b{re.escape(slot.name)}\b[^.\n]{{0,80}}\b(?:floating point|numeric|integer)\b"
        if re.search(number, whole):
            return {"type": ["number", "string"]}
    return schema
