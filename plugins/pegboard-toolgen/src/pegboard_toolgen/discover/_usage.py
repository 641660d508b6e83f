"""The forms of a usage: `sort [OPTION]... [FILE]...`, `cp SOURCE... DIRECTORY`, `lint [RULE|--all]`.

The notation is that of POSIX ("Utility Argument Syntax", XBD 12.1) as getopt, argparse, click, clap and cobra write it:
brackets are optional, `|` separates alternatives, dots repeat, an angle or capitals hold the place of a value. Pure and
bounded: a text is looked at once, and its brackets to a small depth. What a program takes is the union of its forms,
so that a word is required only where all of them require it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import attrs

from pegboard.limits import USAGE_LEVELS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

MAX_DEPTH = USAGE_LEVELS
MAX_NODES = 200
MAX_SLOTS = 30
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9 _.:/-]{0,60}")
_FIXED = re.compile(r"[a-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*")
_NOUN = re.compile(
    r"(?:.*[-_])?(?:in|out|src|dst)?(?:file|path|dir|directory|folder|filename|name|url|uri|host|hostname|string|text|"
    r"pattern|regex|expression|expr|number|user|group|key|value|input|output|source|src|dest|destination|target|query|"
    r"id|date|time|size|port|address|domain|program|package|module|message|title|format|image|archive|zipfile|"
    r"database|table|document|script|word|line|item|object|branch|tag|commit|remote|repository|repo)s?\d?"
)
"""Words that stand for a value where a usage writes everything in small letters: `unzip file`."""
_CHOICE = re.compile(r"[a-z0-9][\w.+-]{0,40}")
_QUOTED = re.compile(r"(['\"])([A-Za-z][\w-]{0,60})\1")
_AGAIN = re.compile(r"\[\s*([A-Za-z][\w-]{0,60})\s+(?=[^\[\]<>]{1,200}(?:\.\.\.|…)\s*\])")
_COUNTED = re.compile(r"(zero|one) or more (?=\w)")
_PREFIX = re.compile(r"^[+@%:]")
_DOTS = re.compile(r"(?:\.\.\.|…)+$")
_PAIRS = {"[": "]", "(": ")", "{": "}"}
OPTIONS = frozenset({"option", "options", "flag", "flags", "opts", "global options", "global-options", "switches"})
COMMANDS = frozenset({"command", "subcommand", "sub-command", "cmd", "commands", "subcommands"})
ARGUMENTS = frozenset({"args", "arg", "arguments", "command-args", "command_args"})


@attrs.frozen(kw_only=True)
class Slot:
    """One place for a value.

    Args:
        name: as the usage writes it, without brackets.
        required: in this form.
        many: any number of words.
        prefix: a character that the value has to begin with: `+` of `[+FORMAT]`.
        choices: the only words that it takes; none where any is.
        rivals: options of which one may stand in its place: `<RULE|--all>`.
    """

    name: str
    required: bool = True
    many: bool = False
    prefix: str = ""
    choices: tuple[str, ...] = ()
    rivals: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class Form:
    """One line of a usage.

    Args:
        words: fixed words before any value: the name of a command that only the usage shows.
        slots: in their order.
        command: whether a command of a list may or has to follow.
        is_led: options stand before the place of the command: `git [-C <path>] <command>`.
        takes_options: it says where options stand: `[OPTIONS]`.
        flags: options that the form cannot do without.
        before: where a fixed word stands between its values, as in `ship <name> move <x>`: the words and values up to
            it, and `words` and `slots` are what comes from it on.
    """

    words: tuple[str, ...] = ()
    slots: tuple[Slot, ...] = ()
    command: Literal["optional", "required"] | None = None
    is_led: bool = False
    takes_options: bool = False
    flags: tuple[str, ...] = ()
    before: tuple[tuple[tuple[str, ...], tuple[Slot, ...]], ...] = ()


@attrs.frozen
class _Group:
    """A bracket: its sign, and the parts of each alternative in it."""

    sign: str
    alternatives: tuple[tuple[_Node, ...], ...]


_Node = str | _Group


def form_of(text: str, *, listed: Collection[str] = (), plain: Collection[str] = ()) -> Form:
    """Read one form, without the name of the program.

    Args:
        text: `[OPTIONS] <FILE>...`.
        listed: names that the help lists as arguments; one of them is neither a fixed word nor a place for options.
        plain: options that are known to take no value.
    """
    text = _QUOTED.sub(r"\2", text)
    again = [
        found
        for found in _AGAIN.finditer(text)
        if re.search(rf"(?<![\w<-]){found[1]}(?![\w>-])", text[: found.start()])
    ]
    for found in reversed(again):  # op [fld] [op fld ...]: what comes after the first value is all of one kind
        text = f"{text[: found.start(1)]}{text[found.end() :]}"
    walk = _Walk(listed={key_of(one) for one in (*listed, *(found[1] for found in again))}, plain=frozenset(plain))
    walk.read(_nodes(text), required=True)
    return walk.form()


@attrs.define
class _Walk:
    """Walks the nodes of one form and remembers what it met."""

    listed: Collection[str]
    plain: Collection[str]
    words: list[str] = attrs.field(factory=list)
    slots: list[Slot] = attrs.field(factory=list)
    flags: list[str] = attrs.field(factory=list)
    command: Literal["optional", "required"] | None = None
    is_led: bool = False
    has_options: bool = False
    takes_options: bool = False
    before: list[tuple[tuple[str, ...], tuple[Slot, ...]]] = attrs.field(factory=list)

    def form(self) -> Form:
        return Form(
            words=tuple(self.words),
            slots=tuple(self.slots[:MAX_SLOTS]),
            command=self.command,
            is_led=self.is_led,
            takes_options=self.takes_options,
            flags=tuple(self.flags),
            before=tuple(self.before),
        )

    def read(self, nodes: Sequence[_Node], *, required: bool) -> None:
        """The parts of one alternative, from left to right."""
        takes_value = False
        before = len(self.slots)
        for node in nodes:
            if node == "...":  # of what is right before it
                self.slots[before:] = [attrs.evolve(slot, many=True) for slot in self.slots[before:]]
                continue
            before = len(self.slots)
            if isinstance(node, _Group):
                # Of an option in a bracket all that follows is its value: [-D [address:]port].
                is_value = takes_value and (node.sign == "(" or not required)
                takes_value = takes_value and not required
                if not is_value:
                    self._group(node, required=required)
            elif node.startswith("-"):
                takes_value = self._option(node, required=required)
            elif takes_value:
                takes_value = not required
            else:
                self._word(node, required=required)

    def _option(self, word: str, *, required: bool) -> bool:
        """Whether the next word is its value."""
        self.has_options = True
        if word in ("-", "--"):
            return False
        if required:
            self.flags.append(word.partition("=")[0])
        return "=" not in word and "[" not in word and word not in self.plain

    def _group(self, group: _Group, *, required: bool) -> None:
        alternatives = group.alternatives
        needed = required and group.sign != "["
        if len(alternatives) > 1:
            first = [one[0] if one else "" for one in alternatives]
            if all(len(one) == 1 and isinstance(one[0], str) and _CHOICE.fullmatch(one[0]) for one in alternatives):
                choices = tuple(dict.fromkeys(str(one) for one in first))
                self._add(Slot(name="_or_".join(choices[:3]), required=needed, choices=choices))
                return
            rivals = tuple(one for one in first if isinstance(one, str) and one.startswith("-"))
            before = len(self.slots)
            for one in alternatives:
                self.read(one, required=False)
            self.has_options = self.has_options or bool(rivals)
            if needed and rivals and len(self.slots) == before + 1:
                self.slots[-1] = attrs.evolve(self.slots[-1], rivals=rivals)
            return
        for one in alternatives:
            self.read(one, required=needed)

    def _word(self, word: str, *, required: bool) -> None:
        many = bool(_DOTS.search(word))
        shown = _DOTS.sub("", word)
        prefix = found[0] if (found := _PREFIX.match(shown)) else ""
        shown = shown.removeprefix(prefix)
        is_held = shown.startswith(("<", "{"))
        name = shown.strip("<>{}").strip()
        if is_held and (inner := _DOTS.sub("", name).strip()) != name:  # <command ...>
            self._add(Slot(name=inner, required=required, many=True))
            return
        if is_held and "|" in name:
            self._angle(name, required=required, many=many)
            return
        name = re.split(r"[\[=]", name)[0].strip()
        if shown.startswith("{") and "," in shown:
            self._choices(shown, required=required, many=many)
            return
        if counted := _COUNTED.match(name):  # {zero or more file names}
            self._add(Slot(name=name[counted.end() :], required=required and counted[1] == "one", many=True))
            return
        key = key_of(name)
        if key not in self.listed and self._is_placeholder(key, required=required, is_upper=word.isupper()):
            return
        if not _NAME.fullmatch(name):
            return
        is_value = is_held or many or not required or name.isupper() or key in self.listed or prefix
        is_value = is_value or bool(_NOUN.fullmatch(name)) or "." in name
        if not is_value and _FIXED.fullmatch(name):
            if self.slots:
                self.before.append((tuple(self.words), tuple(self.slots)))
                self.words, self.slots = [], []
            self.words.append(name)
            return
        many = many or key in ARGUMENTS or key in COMMANDS
        self._add(Slot(name=name, required=required, many=many, prefix=prefix))

    def _is_placeholder(self, key: str, *, required: bool, is_upper: bool) -> bool:
        """Whether a word stands for options or a command, and for no value of its own."""
        if key in OPTIONS:
            self.has_options = self.takes_options = True
            return True
        if key in COMMANDS and self.command is None:
            self.command = "required" if required else "optional"
            self.is_led = self.has_options
            return True
        return key in COMMANDS or (key in ARGUMENTS and self.command is not None)

    def _angle(self, name: str, *, required: bool, many: bool) -> None:
        parts = [part.strip() for part in name.split("|")][:60]
        flags = tuple(part for part in parts if part.startswith("-"))
        values = [part for part in parts if part and not part.startswith("-")]
        if not values:
            return
        if not flags and all(_CHOICE.fullmatch(part) for part in values):
            choices = tuple(dict.fromkeys(values))
            self._add(Slot(name="_or_".join(choices[:3]), required=required, many=many, choices=choices))
            return
        kept = "_or_".join(re.sub(r"[^A-Za-z0-9]+", "_", part).strip("_") for part in values[:3])
        self._add(Slot(name=kept, required=required and not flags, many=many, rivals=flags if required else ()))

    def _choices(self, shown: str, *, required: bool, many: bool) -> None:
        choices = tuple(dict.fromkeys(one.strip() for one in re.split(r"[,|]", shown.strip("{}")) if one.strip()))[:60]
        self._add(Slot(name="_or_".join(choices[:3]), required=required, many=many, choices=choices))

    def _add(self, slot: Slot) -> None:
        """A name that is said again, `FILE [FILE ...]`, may be said any number of times."""
        for index, known in enumerate(self.slots):
            if key_of(known.name) == key_of(slot.name):
                self.slots[index] = attrs.evolve(known, many=True)
                return
        if slot.name:
            self.slots.append(slot)


def key_of(name: str) -> str:
    """Names that differ in case and separators alone are one."""
    return re.sub(r"[\s_]+", "-", name.strip("<>[]{} ")).lower()


def _nodes(text: str) -> tuple[_Node, ...]:
    """The parts of a form: words, and brackets with what is in them."""
    closing = _closing(text)
    return _inside(text, 0, len(text), closing, 0)[0]


def _closing(text: str) -> dict[int, int]:
    """Where each bracket that is closed is closed."""
    found: dict[int, int] = {}
    opened: list[tuple[str, int]] = []
    for index, character in enumerate(text):
        if character in _PAIRS:
            opened.append((character, index))
        elif opened and character == _PAIRS[opened[-1][0]]:
            found[opened.pop()[1]] = index
    return found


def _inside(text: str, start: int, end: int, closing: dict[int, int], depth: int) -> tuple[tuple[_Node, ...], ...]:
    """The alternatives between two places."""
    alternatives: list[list[_Node]] = [[]]
    count, index = 0, start
    while index < end and count < MAX_NODES:
        character = text[index]
        if character.isspace():
            index += 1
            continue
        count += 1
        if character == "|":
            alternatives.append([])
            index += 1
            continue
        close = closing.get(index, -1) if character in "[(" else -1
        if 0 <= close < end and depth < MAX_DEPTH:
            alternatives[-1].append(_Group(character, _inside(text, index + 1, close, closing, depth + 1)))
            index = close + 1
            continue
        stop = _word_end(text, index, end, closing)
        word = text[index:stop].strip(",")
        if word in ("…", "..."):
            word = "..."
        if word:
            alternatives[-1].append(word)
        index = max(stop, index + 1)
    return tuple(tuple(one) for one in alternatives)


def _word_end(text: str, index: int, end: int, closing: dict[int, int]) -> int:
    """The end of a word; a bracket or an angle that touches it belongs to it: `--opt[=X]`, `<a b>`, `MMDD[[CC]YY]`."""
    if (dots := re.compile(r"\.\.\.|…").match(text, index)) is not None:
        return dots.end()
    while index < end:
        character = text[index]
        if character.isspace() or character in "|)]":
            return index
        if character == "<" and (angle := text.find(">", index, min(end, index + 120))) > 0:
            index = angle + 1
        elif character in _PAIRS and index in closing and closing[index] < end:
            index = closing[index] + 1
        else:
            index += 1
    return index


def merged(forms: Sequence[Form]) -> tuple[tuple[Slot, ...], tuple[tuple[str, str], ...]]:
    """The places of all forms in one order, and pairs of places that no form has together.

    A place is required where every form requires it. `seq LAST`, `seq FIRST LAST` and `seq FIRST INCREMENT LAST` are
    `[FIRST [INCREMENT]] LAST`. A form whose order is another one adds only what stands before or behind the rest.
    """
    order: list[Slot] = []
    for form in forms:
        known_here = any(key_of(one.name) == key_of(slot.name) for one in order for slot in form.slots)
        at = 0 if known_here else len(order)
        for slot in form.slots:
            known = next((i for i, one in enumerate(order) if key_of(one.name) == key_of(slot.name)), None)
            if known is None:
                order.insert(at, slot)
                at += 1
            else:
                order[known] = _widened(order[known], slot)
                at = max(at, known + 1)
    inside = [{key_of(slot.name): slot.required for slot in form.slots} for form in forms]
    slots = tuple(
        attrs.evolve(slot, required=all(form.get(key_of(slot.name), False) for form in inside))
        for slot in order[:MAX_SLOTS]
    )
    return slots, tuple(_apart(slots, inside))


def _widened(one: Slot, other: Slot) -> Slot:
    """A place of two forms takes what either takes."""
    both = one.choices and other.choices
    return attrs.evolve(
        one,
        many=one.many or other.many,
        prefix=one.prefix if one.prefix == other.prefix else "",
        choices=tuple(dict.fromkeys((*one.choices, *other.choices))) if both else (),
        rivals=one.rivals if one.rivals == other.rivals else (),
    )


def _apart(slots: Sequence[Slot], inside: Sequence[dict[str, bool]]) -> Iterator[tuple[str, str]]:
    names = [key_of(slot.name) for slot in slots if not slot.required]
    for number, name in enumerate(names):
        for other in names[number + 1 :]:
            if not any(name in form and other in form for form in inside):
                yield name, other
