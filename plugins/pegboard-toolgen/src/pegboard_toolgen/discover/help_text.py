"""The text that `--help` prints, read as people read it: usage, options, arguments, commands.

Pure and bounded: every line is looked at once, by patterns that cannot explode. Nothing in the text is sure,
so that little is concluded from it: a flag with a shown value takes one, where the text says `=` it is joined by that,
where it says a space it stands alone; a value's choices are taken where they are listed in full. What cannot be read
is not a parameter.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

import attrs

from pegboard_toolgen.discover import _program_words as guess
from pegboard_toolgen.discover._program_drafts import Parameter

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

Json = Any
MAX_LINES = 6_000
_BOX_VALUE = re.compile(r"<[^<>]{1,80}>(?:\.\.\.)?|\[[^\[\]]{1,80}\]|[A-Z][A-Z_]{0,40}(?:\.\.\.)?")
_BOX = re.compile(r"^╭─+ ?([A-Za-z][^─╮]{0,60}?) ?─*╮")
MAX_LINE = 600
MAX_OPTIONS = 400
MAX_COMMANDS = 400
MAX_USAGE_LINE = 60
_OPTION_LINE = re.compile(r"^(\s{0,14})(-[-A-Za-z0-9#?@\[].*)$")
_GAP = re.compile(r"\s{2,}|\t+|\s+:\s+")
_FLAG = re.compile(r"^(--?(?:\[no-\])?[A-Za-z0-9#?@][A-Za-z0-9_.-]*(?<![.]))(.*)$")
_COMMANDS_HEADER = re.compile(r"\b(?:sub-?)?commands?\b", re.IGNORECASE)
_KNOWN_HEADERS = (
    r"(?:options?|flags?|arguments?|args|examples?|environment|description|usage|synopsis|configuration|see also|"
    r"notes?|exit|author|aliases|files?|topics|learn more)"
)
# Of several words only with a colon: "Create a virtual environment" is a sentence.
_OTHER_HEADER = re.compile(
    rf"^(?:[\w -]{{0,60}}\b{_KNOWN_HEADERS}:|(?:[A-Za-z]+ )?{_KNOWN_HEADERS}:?)$|^specify config", re.IGNORECASE
)
_ARGUMENTS_HEADER = re.compile(r"^(?:positional )?(?:arguments?|args):$", re.IGNORECASE)
_COMMAND_LINE = re.compile(
    r"^ {1,8}([a-z][a-z0-9]*(?:[-_:][a-z0-9]+)*)\*?(?:, ?[a-z][\w-]*){0,5}(?: ?\[[^\]]*\]| ?<[^>]*>){0,4} {2,}(\S.*)$"
)
_COMMAND_ALONE = re.compile(r"^\s{2,8}([a-z][a-z0-9]*(?:[-_][a-z0-9]+)*)$")
_COMMA_LIST = re.compile(r"^\s+(?:[a-z][a-z0-9-]*,\s*)+(?:[a-z][a-z0-9-]*)?,?\s*$")
_USAGE = re.compile(r"^\s*usage:?\s*(.*)$", re.IGNORECASE)
_META = re.compile(r"^<?([A-Za-z][A-Za-z0-9_ .:/|-]{0,60}?)>?$")
_CHOICES = re.compile(
    r"\[(?:possible )?(?:values|choices): ([\w.+-]+(?:, ?[\w.+-]+){1,60})\]|"
    r"\{([\w.+-]+(?:[,|][\w.+-]+){1,60})\}|^[<(\[]?([\w.+-]+(?:\|[\w.+-]+){1,60})[>)\]]?$"
)
_NUMBER_META = re.compile(
    r"^(?:N|NUM|NUMBER|INT|INTEGER|COUNT|COLS|LINES|DEPTH|SECONDS|MILLISECONDS|BYTES)$", re.IGNORECASE
)
_COUNTED = re.compile(r"\b(?:number|count|lines?|columns?|depth|times|seconds)\b", re.IGNORECASE)
_UNIT = re.compile(r"\bsuffix|\bunits?\b|\b[KMG]i?B?\b")
_REPEATED = re.compile(
    r"\b(?:can|may) be (?:used|given|specified|repeated|provided|passed|said) (?:multiple|several|many|more)|"
    r"\bmultiple times\b|\brepeatable\b"
)
_SPACED_META = re.compile(
    r"^(?:(?:<[^<>]{1,60}>|\[[^\[\]]{1,60}\]|\{[^{}]{1,400}\}|[A-Z][A-Z0-9_:|.,=/-]*|string|strings|stringArray|int|ints|"
    r"uint|float|float64|duration|bool|file|path|dir)(?:\.\.\.|…)?(?: |$)){1,4}$"
)
_ALTERNATIVES = re.compile(r",\s+(?=-)|,(?=-)|\s+\|\s+(?=-)|\|(?=-)|\s+or\s+(?=-)|\s+(?=--?[A-Za-z])")
_USAGE_META = re.compile(r"\[(?:-\w\|)?(--[a-z][\w-]{0,60})[ =](<[^<>\[\]]{1,60}>|[A-Z][A-Z_-]{0,40})")
_SHORT_HELP = re.compile(r"(?<![\w-])(?:-h(?:\s*[|,/]\s*|\s+)--help|--help(?:\s*[|,/]\s*|\s+)-h)(?![\w-])")
_END_OPTIONS = frozenset({"--help", "--version", "--usage", "--help-all", "--full-help"})
_PLACEHOLDERS = frozenset(
    {"options", "option", "flags", "args", "arguments", "command", "subcommand", "cmd", "commands"}
)


@attrs.frozen(kw_only=True)
class Help:
    """What a help text says.

    Args:
        text: its own description, without lists.
        options: in the order of the text.
        positionals: of the first line of usage that has any.
        commands: words that may follow, each once.
        is_command: whether it can be called without one of its commands.
        notes: what was not understood.
    """

    text: str = ""
    options: tuple[Parameter, ...] = ()
    positionals: tuple[Parameter, ...] = ()
    commands: tuple[str, ...] = ()
    is_command: bool = True
    notes: tuple[str, ...] = ()

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (*self.options, *self.positionals)


def looks_like_help(text: str) -> bool:
    """Whether a text is help at all, and no error message or manual that is missing."""
    lines = text.split("\n")[:MAX_LINES]
    return any(_USAGE.match(line) or line.strip().upper() in ("NAME", "SYNOPSIS", "OPTIONS") for line in lines) or (
        sum(1 for line in lines if _OPTION_LINE.match(line[:MAX_LINE])) >= 2
    )


def has_short_help(text: str) -> bool:
    """Whether a help says that `-h` is its `--help`."""
    return any(_SHORT_HELP.search(line[:MAX_LINE]) for line in text.split("\n")[:MAX_LINES])


def parse(text: str, words: Sequence[str]) -> Help:
    """Read one help text.

    Args:
        text: cleaned of control characters.
        words: the program and its command, as they stand in its usage.
    """
    lines = [line[:MAX_LINE].expandtabs(8) for line in text.split("\n")[:MAX_LINES]]
    lines = _unboxed(lines) if any(_BOX.match(line) for line in lines) else lines
    usages = list(_usages(lines, words))
    commands = tuple(_commands(lines))
    options = tuple(_options(lines))
    positionals, notes = _positionals(usages, _listed_arguments(lines))
    needs_command = bool(commands) and any(re.search(r"<?\b(?:sub)?command\b>?", usage, re.I) for usage in usages)
    return Help(
        text=_description(lines, words),
        options=options,
        positionals=() if commands else positionals,
        commands=commands,
        is_command=not commands or (not needs_command and bool(positionals) and not _only_words(usages)),
        notes=("Read from its help text; what that does not say is not known.", *notes),
    )


def _unboxed(lines: Sequence[str]) -> list[str]:
    """Lists that are drawn in boxes, as lists under a header."""
    found = []
    for line in lines:
        if header := _BOX.match(line):
            found += ["", f"{header[1]}:"]
        elif line.startswith("│"):
            found.append(_row(line))
        else:
            found.append("" if line.startswith("╰") else line.removeprefix(" ").rstrip())
    return found


def _row(line: str) -> str:
    """A row of a box: a mark of what is required, flags, what they take, and what is said; or more of the last."""
    columns = re.split(r" {2,}", re.sub(r"^\* +", "", line.strip("│ ")))
    flags = [one for one in columns if _FLAG.match(one)]
    if columns[: len(flags)] != flags or not flags:
        return " " * (10 if line.startswith("│" + " " * 8) else 2) + "  ".join(columns)
    rest = columns[len(flags) :]
    value = rest.pop(0) if rest and _BOX_VALUE.fullmatch(rest[0]) else ""
    if " " in value:
        value = "<text>" if "|" in value else value.replace(" ", "-")
    spec = ", ".join(sorted(flags, key=len)) + (f" {value}" if value not in ("", "<bool>") else "")
    return "  ".join(["", spec, *rest])


def _only_words(usages: Sequence[str]) -> bool:
    return not any("[" in usage or "<" in usage for usage in usages)


def _description(lines: Sequence[str], words: Sequence[str]) -> str:
    """The text before the lists: paragraphs that are neither usage, header nor list."""
    kept: list[str] = []
    in_usage = False
    for index, line in enumerate(lines[:400]):
        stripped = line.strip()
        if _USAGE.match(line) or stripped.upper() == "SYNOPSIS":
            in_usage = True
            continue
        # A manual page says its name and what it is for in one line.
        named = re.match(rf"^\s*{re.escape('-'.join(words))} [-–] (.+)$", line)
        if named:
            kept.append(named[1])
            continue
        if in_usage:
            if not stripped:
                in_usage = False
                continue
            # Prose right behind the usage begins at the first column and is not a line of a call.
            if line[0].isspace() or stripped.startswith(("-", "[", "or:")) or stripped.split()[0] == words[0]:
                continue
            in_usage = False
        if _OPTION_LINE.match(line) or _COMMAND_LINE.match(line) or _COMMA_LIST.match(line):
            break
        if stripped.endswith(":") and len(stripped) < 80 and index + 1 < len(lines) and kept:
            break
        if _OTHER_HEADER.match(stripped) and (kept or stripped.upper() not in ("NAME", "DESCRIPTION")):
            if kept:
                break
            continue
        if stripped.upper() in ("NAME", "DESCRIPTION") or re.match(r"^\S+\(\d\)\s", line):
            continue
        if line.startswith("  ") and not kept and not in_usage and re.match(r"^\s*(?:or:|\S+ \[)", line):
            continue
        kept.append(stripped)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()[:4_000]


def _usages(lines: Sequence[str], words: Sequence[str]) -> Iterator[str]:
    """Each form of the call, in one line, without the words of the command itself."""
    called = " ".join(words)
    current: str | None = None
    for index, line in enumerate(lines):
        if current is None:
            found = _USAGE.match(line) if index < MAX_USAGE_LINE else None
            if line.strip() == "SYNOPSIS" or (found and not found[1]):
                current = ""
            elif found and found[1].split()[0].rpartition("/")[2] == words[0]:
                current = found[1]
            continue
        stripped = line.strip()
        is_next = re.match(rf"^(?:or:\s*)?{re.escape(called)}(?:\s|$)", stripped)
        if not stripped and not current:
            continue
        is_over = not stripped or (not line[0].isspace() and not is_next)
        if is_over or (_OPTION_LINE.match(line) and len(_GAP.split(stripped, maxsplit=1)) > 1):
            yield _shortened(current, called)
            return
        if is_next and current:
            yield _shortened(current, called)
            current = stripped
        else:
            current = f"{current} {stripped}"[:4_000]
    if current:
        yield _shortened(current, called)


def _shortened(usage: str, called: str) -> str:
    usage = re.sub(r"^or:\s*", "", usage.strip())
    found = re.match(rf"^(?:\S*/)?{re.escape(called)}(?:\s+|$)(.*)$", usage)
    return (found[1] if found else usage)[:2_000]


def _tokens(usage: str) -> list[str]:
    """Top-level parts: a bracket with what is in it, or a word; dots that repeat belong to what is before them."""
    tokens: list[str] = []
    depth = 0
    current = ""
    for character in usage:
        if character in "[<({":
            depth += 1
        elif character in "]>)}":
            depth = max(0, depth - 1)
        if character.isspace() and depth == 0:
            if current:
                tokens.append(current)
            current = ""
        else:
            current += character
    return [*tokens, current] if current else tokens


def _listed_arguments(lines: Sequence[str]) -> set[str]:
    """Names under a header of arguments: a bare word of the usage that stands there is no fixed word."""
    names: set[str] = set()
    inside = False
    for line in lines:
        if line.strip() and not line[0].isspace():
            inside = bool(_ARGUMENTS_HEADER.match(line.strip()))
        elif inside and (found := re.match(r"^ {1,6}([A-Za-z][\w.-]{0,60})(?: {2,}|$)", line)):
            names.add(found[1])
    return names


def _positionals(usages: Sequence[str], listed: Collection[str]) -> tuple[tuple[Parameter, ...], tuple[str, ...]]:
    notes = ("Its usage has several forms; the first was taken.",) if len(usages) > 1 else ()
    found: list[Parameter] = []
    skip_value = False
    for token in _tokens(usages[0] if usages else "")[:60]:
        if token.startswith("-"):
            # An option that has to be said; its own value stands in the next word where it has one.
            skip_value = "=" not in token and len(token) > 1
            continue
        optional = token.startswith("[")
        inner = token.replace("...", "").replace("…", "")
        many = inner != token
        inner = inner.strip("[]{}()").strip()
        if skip_value and not optional:
            skip_value = False
            continue
        skip_value = False
        if inner.startswith("-"):
            continue
        name = inner.strip("<>[] ").strip()
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_.:/-]{0,60}", name) or name.lower() in _PLACEHOLDERS:
            continue
        if not optional and "<" not in inner and not many and not name.isupper() and name not in listed:
            # A fixed word: another command, in a text that lists none.
            return (), (*notes, f"Its usage has the fixed word {name}; its arguments are not offered.")
        if not any(one.metavar == name for one in found):
            found.append(_positional(name, many=many, required=not optional))
    return tuple(found[:30]), notes


def _positional(name: str, *, many: bool, required: bool) -> Parameter:
    is_path = guess.is_path(name, name.upper(), "")
    return Parameter(
        name=name.lower() if name.isupper() else name,
        words=None if many else 1,
        at_least=1 if many and required else 0,
        required=required,
        access="guess" if is_path else None,
        metavar=name,
        notes=("taken for a path by its name.",) if is_path else (),
    )


def _commands(lines: Sequence[str]) -> Iterator[str]:
    seen: set[str] = set()
    inside = False
    for index, line in enumerate(lines):
        stripped = line.strip()
        if stripped and not line[0].isspace():
            if _OTHER_HEADER.match(stripped) and not _COMMANDS_HEADER.search(stripped):
                inside = False
            elif _COMMANDS_HEADER.search(stripped) and not _USAGE.match(line) and len(stripped) < 120:
                inside = _announces(lines, index)
            continue
        if not inside or not stripped or len(seen) >= MAX_COMMANDS:
            continue
        if _COMMA_LIST.match(line) or (seen and re.match(r"^\s+[a-z][a-z0-9-]*$", line) and "," in lines[index - 1]):
            words = [word.strip() for word in stripped.split(",")]
        elif found := _COMMAND_LINE.match(line) or _COMMAND_ALONE.match(line):
            words = [found[1]]
        else:
            continue
        for word in words:
            if word and word not in seen:
                seen.add(word)
                yield word


def _announces(lines: Sequence[str], index: int) -> bool:
    """Whether what follows a line is a list and no prose."""
    for line in lines[index + 1 : index + 6]:
        if _COMMAND_LINE.match(line) or _COMMA_LIST.match(line) or _COMMAND_ALONE.match(line):
            return True
    return lines[index].rstrip().endswith(":")


def _options(lines: Sequence[str]) -> Iterator[Parameter]:
    taken: set[str] = set()
    metas = _metas(lines)
    count = 0
    index = 0
    while index < len(lines) and count < MAX_OPTIONS:
        found = _OPTION_LINE.match(lines[index])
        index += 1
        if not found:
            continue
        indent = len(found[1])
        parts = _GAP.split(found[2], maxsplit=1)
        said = [parts[1]] if len(parts) > 1 else []
        depth = MAX_LINE
        # The explanation goes on in lines that are set in deeper and are not an option.
        while index < len(lines) and (not lines[index].strip() or _indent(lines[index]) > indent):
            line = lines[index]
            # What is set in as deep as the explanation is explanation, whatever it begins with.
            if _OPTION_LINE.match(line) and _indent(line) < min(depth, indent + 7) and _looks_like_spec(line.strip()):
                break
            if line.strip():
                depth = min(depth, _indent(line))
            if not line.strip() and not (index + 1 < len(lines) and _indent(lines[index + 1]) > indent + 2):
                break
            said.append(line.strip())
            index += 1
        for option in _option(parts[0].strip(), " ".join(filter(None, said))[:1_500], metas):
            flags = {*option.flags, *option.off_flags}
            if not taken & flags and not _END_OPTIONS & flags:
                count += 1
                yield option
            taken |= flags


def _looks_like_spec(text: str) -> bool:
    return bool(re.match(r"^--?[A-Za-z0-9\[][^.;]{0,60}(?:\s{2,}|$|,)", text))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip()) if line.strip() else 0


def _option(spec: str, said: str, metas: Mapping[str, str]) -> Iterator[Parameter]:
    """Options of one entry: `-x, --long=VALUE`, `--long <value>`, `--[no-]long`, `-x VALUE | --long VALUE`.

    Long flags without a value may be synonyms (`--quiet, --silent`) or not (`--continue, --abort`): each is its own.
    """
    on: list[str] = []
    off: list[str] = []
    value, joint, is_counted = "", "", False
    for part in _ALTERNATIVES.split(spec)[:8]:
        found = _FLAG.match(part.strip())
        if not found or found[2].startswith((". ", ";", ")", "'", '"', "`")) or found[2] == ".":
            continue
        flag, rest = found[1], found[2]
        if rest in ("...", "…"):
            rest, is_counted = "", True
        if "[no-]" in flag:
            on.append(flag.replace("[no-]", ""))
            off.append(flag.replace("[no-]", "no-"))
        elif flag not in on:
            on.append(flag)
        if not rest.strip() or value:
            continue
        if rest[0].isspace():
            meta, told = _spaced(rest.strip())
            said = f"{told} {said}".strip()
            rest = meta and f" {meta}"
        if rest:
            value, joint = rest.strip(), "=" if rest.startswith(("=", "[=")) else "[" if rest.startswith("[") else " "
    off += [flag for flag in on if flag.startswith("--no-") and f"--{flag[5:]}" in on]
    on = [flag for flag in on if flag not in off]
    if not value:
        known = next((flag for flag in on if flag in metas), None)
        value, joint = (metas[known], " ") if known else ("", "")
    meta = value.strip("=[] ").removesuffix("...").strip()
    if not on:
        return
    if meta:
        yield _valued(on, meta, joint, said, optional_value=value.startswith("["))
        return
    form: Literal["flag", "negatable", "count"] = "negatable" if off else "flag"
    if is_counted or (_REPEATED.search(said) and on[-1] in ("-v", "--verbose", "-q", "--quiet")):
        form = "count"
    short = [flag for flag in on if len(flag) == 2]
    for number, flag in enumerate(long := [flag for flag in on if len(flag) > 2] or short[:1]):
        mine = (*short, flag) if number == 0 and flag not in short else (flag,)
        negated = tuple(one for one in off if one == f"--no-{flag[2:]}") or (tuple(off) if len(long) == 1 else ())
        kind = form if form == "count" or negated else "flag"
        yield Parameter(name=flag.lstrip("-"), flags=mine, off_flags=negated, form=kind, text=said)


def _spaced(rest: str) -> tuple[str, str]:
    """What stands one space behind a flag: its value, and explanation where a long flag left no room for more space."""
    if _SPACED_META.match(rest):
        return rest, ""
    found = re.match(r"^(<[^<>]{1,60}>(?:\.\.\.)?) +(\S.*)$", rest)
    return (found[1], found[2]) if found else ("", rest)


def _metas(lines: Sequence[str]) -> dict[str, str]:
    """Values that are shown in a usage alone: `[--omit <dev|optional|peer>]`."""
    metas: dict[str, str] = {}
    for line in lines:
        if "[" in line:
            for flag, meta in _USAGE_META.findall(line):
                metas.setdefault(flag, meta)
    return metas


def _valued(on: list[str], meta: str, joint: str, said: str, *, optional_value: bool) -> Parameter:
    name = on[-1].lstrip("-")
    schema = _schema(meta, said)
    is_text = schema == {"type": "string"}
    is_path = is_text and guess.is_path(name, meta.upper(), said if "path" in said.lower() else "")
    repeats = bool(_REPEATED.search(said)) or meta.endswith("...")
    words = (
        len(meta.split())
        if re.fullmatch(r"(?:<[\w-]+>|[A-Z][A-Z_-]+)(?: (?:<[\w-]+>|[A-Z][A-Z_-]+)){1,3}", meta)
        else 1
    )
    notes = ["the program also takes it without a value."] if optional_value else []
    if is_path:
        notes.append("taken for a path by its name or help.")
    return Parameter(
        name=name,
        flags=tuple(on),
        schema=schema,
        words=words,
        repeats=repeats,
        is_separate=joint == " " and len(_longest(on)) > 2,
        access=guess.access_of(name, said) if is_path and words == 1 else None,  # type: ignore[arg-type]
        dropped="a value of several words, one of which is a path, cannot be judged" if is_path and words > 1 else None,
        text=said,
        metavar=meta[:80],
        notes=tuple(notes),
    )


def _longest(flags: Sequence[str]) -> str:
    return max(flags, key=len)


def _schema(meta: str, said: str) -> dict[str, Json]:
    for place in (meta, said):
        if found := _CHOICES.search(place if place is meta else place[:1_500]):
            listed = next(group for group in found.groups() if group)
            choices = [one.strip() for one in re.split(r"[,|]", listed)]
            if len(set(choices)) > 1 and (place is meta or found[1]):
                return {"type": "string", "enum": list(dict.fromkeys(choices))}
    plain = _META.match(meta)
    # A number may carry a unit (10M); only a plain count is taken for one.
    is_number = plain is not None and _NUMBER_META.match(plain[1]) and _COUNTED.search(said) and not _UNIT.search(said)
    return {"type": "integer"} if is_number else {"type": "string"}
