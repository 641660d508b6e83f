"""The options that a help text lists, one entry each: its flags, what it takes, what is said of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import attrs

from pegboard_toolgen.discover import _help_values as values_of
from pegboard_toolgen.discover import _program_words as guess
from pegboard_toolgen.discover._program_parts import Parameter

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

MAX_LINE = 600
MAX_OPTIONS = 400
MAX_SAID = 1_500
OPTION_LINE = re.compile(r"^(\s{0,14})(-[-A-Za-z0-9#?@\[].*)$")
GAP = re.compile(r"\s{2,}|\t+|\s+:\s+")
FLAG = re.compile(r"^(--?(?:\[no-\])?[A-Za-z0-9#?@][A-Za-z0-9_.-]*(?<![.]))(.*)$")
_ENTRY = re.compile(r"^\s{1,14}\S{1,30}(?: \S{1,20}){0,2}\s{2,}\S")
_REPEATED = re.compile(
    r"\b(?:can|may) be (?:used|given|specified|repeated|provided|passed|said|set|supplied) "
    r"(?:multiple|several|many|more|repeatedly)|"
    r"\bmultiple times\b|\bmore than once\b|\brepeatable\b|\b(?:can|may) be repeated\b|"
    r"\b(?:use|specify|repeat|pass) (?:this )?(?:option|flag)s? (?:multiple|several|repeatedly|more than)|"
    r"\bmultiple options\b|\bcomma[- ]separated or repeat",
    re.IGNORECASE,
)
_ANOTHER_SPELLING = re.compile(r"(--?[A-Za-z][\w-]*(?:[ =][A-Z][A-Z_-]*|=\S+)?) {2,}(?=\S)")
_OFTEN = re.compile(
    r"(?:.*[-_])?(?:key|keydef|pattern|glob|regexp?|expr|expression|rule|define|header|exclude|include|tag|label|filter|"
    r"field|column|var|env|param|arg|select|ignore|ext|extension|type|attr|property|key=value|name=value)s?$",
    re.IGNORECASE,
)
"""What is often said several times, where a help is silent about it: getopt and clap do not show that."""
_SPACED_META = re.compile(
    r"^(?:(?:<[^<>]{1,60}>|\[[^\[\]]{1,60}\]|\{[^{}]{1,400}\}|[A-Z][A-Z0-9_:|.,=/+-]*|string|strings|stringArray|"
    r"stringSlice|stringToString|stringToInt|ints?|intSlice|int32|int64|uint|uint32|uint64|floats?|float32|float64|"
    r"durations?|count|bool|bools|bytes|bytesHex|ip|ipNet|file|path|dir|directory|url|name|key=value|value|list)"
    r"(?:\.\.\.|…)?(?: |$)){1,4}$"
)
_PLACE = r"(?:[a-z]|value|file|filename|text|path|JSON-text)"
_SEVERAL = re.compile(rf"(?:name|key|variable(?:-name)?|{_PLACE})(?: {_PLACE}){{1,2}}")
"""Words of one option that stand for values, though nothing is put around them."""
_BINDS = re.compile(r"<(?:[akn]|name|key|variable|variable-name)> <[\w-]+>")
"""A name and what it stands for: an option that is said once for each name."""
_ALTERNATIVES = re.compile(
    r",\s+(?=-)|,(?=-)|\s+\|\s+(?=-)|\|(?=-)|\s+or\s+(?=-)|\s+/\s+(?=-)|/(?=--?[A-Za-z])|\s+(?=--?[A-Za-z])"
)
_OTHERS = re.compile(r"\s+and\s+(?=-)")
"""Between options that one text speaks of: `--color / -C and --monochrome / -M`."""
_FILE_WORD = re.compile(r"<?(?:f|file|filename|path|dir)>?", re.IGNORECASE)
_USAGE_META = re.compile(
    r"\[(?:(?:-\w\|)?(--[a-z][\w-]{0,60})[ =](<[^<>\[\]]{1,60}>|[A-Z][A-Z_-]{0,40})|(-[A-Za-z]) ([a-z][a-z-]{0,30})\])"
)
_SPOKEN = re.compile(
    r"^(?:an? |the )?(?:(?:comma|space|colon)[- ](?:separated|delimited)|(?:path|number) (?:to|of)|"
    r"config(?:uration)? file)\b|^specify an? ",
    re.IGNORECASE,
)
"""An explanation that is about a value: "Comma separated list of ..."."""
_TYPED = re.compile(r"\[(string|number|array|count|boolean)\](?= |$)")
_TYPED_AS = {"string": "string", "number": "float", "array": "strings", "count": "", "boolean": ""}
"""How yargs tells a type behind the explanation, and what pflag calls it."""
_DEFAULT = re.compile(r"\[default: (?:(-?\d[\d.]*)|\"[^\"]*\")\]$|\[choices: [^\]]+\]$")
"""How yargs tells what an option has that it says no type of; what has a text or a number takes one."""
_TRUE_DEFAULT = re.compile(r"[(\[]default:? true[)\]]$", re.IGNORECASE)
_END_OPTIONS = frozenset({"--help", "--version", "--usage", "--full-help"})
_SHORT_ENDS = {"-h": "--help", "-v": "--version", "-V": "--version"}


def options_of(lines: Sequence[str]) -> Iterator[Parameter]:
    """Every option of the text, in its order; of two entries for one flag the first is taken."""
    taken: set[str] = set()
    metas = _metas(lines)
    whole = values_of.with_units(lines)
    count = 0
    entries = list(_entries(lines))
    if not any(_spec(specs, said)[0].value for specs, said in entries):
        # No option shows that it takes a value; for those whose explanation is about one, both are let through.
        entries = [(_with_value(specs) if _SPOKEN.match(said) else specs, said) for specs, said in entries]
    for specs, said in entries:
        for option in (one for spec in _OTHERS.split(specs) for one in _option(spec, said, metas, whole)):
            fresh = _without(option, taken)
            flags = {*option.flags, *option.off_flags}
            if fresh is not None and not _only_tells(flags, option.form) and count < MAX_OPTIONS:
                count += 1
                yield fresh
            taken |= flags


def _with_value(specs: str) -> str:
    return f"{specs}[=VALUE]" if re.search(r"--[a-z][\w-]*$", specs) else specs


def _only_tells(flags: Iterable[str], form: str = "flag") -> bool:
    """Whether an option only says what the program is: `--help`, `--help-tree`, `--version`. One that takes a value
    says something else: `--usage <filename>`."""
    return any(
        (flag in _END_OPTIONS and (form != "value" or flag == "--help")) or flag.startswith("--help-") for flag in flags
    )


def ends_of(lines: Sequence[str]) -> set[str]:
    """The short names under which a help lists `--help` and `--version`, which a usage may show alone: `[-h] [-v]`."""
    found = set()
    for specs, _ in _entries(lines):
        words = set(re.split(r"[\s|,/]+", specs))
        found |= {short for short, long in _SHORT_ENDS.items() if {short, long} <= words}
    return found


_INLINE = re.compile(r"\[(-[^\[\]]{1,120}(?:\[[^\[\]]{0,60}\][^\[\]]{0,60})?)\]")
_CLUSTER = re.compile(r"-[A-Za-z0-9]{3,60}")


def options_in(call: str, known: Collection[str] = ()) -> Iterator[Parameter]:
    """The options that one line of a usage shows in brackets, of which nothing else is said.

    `[-abc]` is `[-a] [-b] [-c]`; of two letters only where one of them is known to be an option.
    """
    for found in _INLINE.finditer(call[:4_000]):
        spec = found[1].strip()
        is_pair = re.fullmatch(r"-[A-Za-z0-9]{2}", spec) and any(f"-{one}" in known for one in spec[1:])
        if (is_pair or _CLUSTER.fullmatch(spec)) and len(set(spec)) == len(spec):
            yield from (Parameter(name=one, flags=(f"-{one}",), form="flag") for one in spec[1:])
        elif (valued := re.fullmatch(r"(-[\w-]+)[ =]([a-z][\w:.-]*(?:\[[\w:.-]*\])?)", spec)) is not None:
            yield from _option(f"{valued[1]} <{re.sub(r'[^A-Za-z0-9_-]+', '_', valued[2]).strip('_')}>", "", {}, "")
        elif spec not in ("-", "--") and not _only_tells(re.split(r"[\s|,]+", spec)):
            yield from _option(spec, "", {}, "")


def _without(option: Parameter, taken: set[str]) -> Parameter | None:
    """What an entry says of flags that no entry before it had: `-C, --check=quiet` behind `--check` is `-C` alone."""
    if not taken & {*option.flags, *option.off_flags}:
        return option
    short = tuple(flag for flag in option.flags if flag not in taken and len(flag) == 2)
    if short and option.form == "value" and option.metavar.islower() and not option.metavar.startswith("<"):
        return Parameter(name=short[0][1:], flags=short, form="flag", text=option.text)
    return None


def _entries(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each entry of a list of options: what stands before the gap, and the explanation in one line."""
    index = 0
    while index < len(lines):
        found = OPTION_LINE.match(lines[index])
        is_other = found is not None and _is_of_another_list(lines, index)
        index += 1
        if not found or is_other:
            continue
        indent = len(found[1])
        parts = GAP.split(re.sub(r",\s{2,}(?=-)", ", ", found[2]), maxsplit=1)
        while len(parts) > 1 and (other := _ANOTHER_SPELLING.match(parts[1])):  # -p NUM  --strip=NUM  Strip ...
            parts = [f"{parts[0].strip()}, {other[1]}", parts[1][other.end() :]]
        said = [parts[1]] if len(parts) > 1 else []
        depth = MAX_LINE
        # The explanation goes on in lines that are set in deeper and are not an option.
        while index < len(lines) and (not lines[index].strip() or _indent(lines[index]) > indent):
            line = lines[index]
            # What is set in as deep as the explanation is explanation, whatever it begins with.
            if OPTION_LINE.match(line) and _indent(line) < min(depth, indent + 7) and _looks_like_spec(line.strip()):
                break
            if line.strip():
                depth = min(depth, _indent(line))
            if not line.strip() and not (index + 1 < len(lines) and _indent(lines[index + 1]) > indent + 2):
                break
            said.append(line.strip())
            index += 1
        values, _ = values_of.listed_below(said)
        listed = f" [possible values: {', '.join(values)}]" if values else ""
        yield parts[0].strip(), f"{' '.join(filter(None, said))[:MAX_SAID]}{listed}"


def _is_of_another_list(lines: Sequence[str], index: int) -> bool:
    """Whether a line that begins with a dash goes on with a list of other things: `N`, `N-`, `N-M`, `-M` of cut."""
    before = lines[index - 1] if index else ""
    return (
        bool(_ENTRY.match(before))
        and _indent(before) == _indent(lines[index])
        and bool(re.match(r"^\s*[A-Z][A-Z-]{0,3}\s{2,}", before))
    )


def _looks_like_spec(text: str) -> bool:
    return bool(re.match(r"^--?[A-Za-z0-9\[][^.;]{0,60}(?:\s{2,}|$|,)", text))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip()) if line.strip() else 0


@attrs.define
class _Spec:
    """What stands before the explanation: the flags, and the value of the first of them that shows one."""

    on: list[str] = attrs.field(factory=list)
    off: list[str] = attrs.field(factory=list)
    value: str = ""
    joint: str = ""
    is_counted: bool = False
    is_optional: bool = False


def _spec(spec: str, said: str) -> tuple[_Spec, str]:
    """`-x, --long=VALUE`, `--long <value>`, `--[no-]long`, `-x VALUE | --long VALUE`, `--color[=WHEN]`."""
    read = _Spec()
    for part in _ALTERNATIVES.split(spec)[:8]:
        found = FLAG.match(part.strip())
        if not found or found[2].startswith((". ", ";", ")", "'", '"', "`")) or found[2] == ".":
            continue
        flag, rest = found[1], found[2]
        if rest in ("...", "…"):
            rest, read.is_counted = "", True
        if "[no-]" in flag:
            read.on.append(flag.replace("[no-]", ""))
            read.off.append(flag.replace("[no-]", "no-"))
        elif flag not in read.on:
            read.on.append(flag)
        elif rest.startswith("="):  # --check, --check=quiet: with and without
            read.is_optional = True
        if not rest.strip() or read.value:
            continue
        if rest[0].isspace():
            meta, told = _spaced(rest.strip(), said)
            said = f"{told} {said}".strip()
            rest = meta and f" {meta}"
        if rest:
            read.value = rest.strip()
            read.joint = "=" if rest.startswith(("=", "[=")) else "[" if rest.startswith("[") else " "
    read.off += [flag for flag in read.on if flag.startswith("--no-") and f"--{flag[5:]}" in read.on]
    read.on = [flag for flag in read.on if flag not in read.off]
    return read, said


def _option(spec: str, said: str, metas: Mapping[str, str], whole: str) -> Iterator[Parameter]:
    """Options of one entry.

    Long flags without a value may be synonyms (`--quiet, --silent`) or not (`--continue, --abort`): each is its own.
    """
    read, said = _spec(spec, said)
    if not read.on:
        return
    if not read.value and (known := next((flag for flag in read.on if flag in metas), None)):
        read.value, read.joint = metas[known], " "
    if not read.value and (typed := _TYPED.search(said)):
        kind = _TYPED_AS[typed[1]]
        read.value, read.joint, read.is_counted = kind and f"<{kind}>", "=", typed[1] == "count"
        said = _TYPED.sub("", said, count=1).strip()
    if not read.value and not read.off and (default := _DEFAULT.search(said)):
        read.value, read.joint = "<float>" if default[1] else "<string>", "="
    # [=WHEN] may be left out, [-]NUM and [+]NUM may have a sign.
    value = re.sub(r"^(=?)\[[+-](?:\|[+-])?\]", r"\1", read.value)
    meta = value.strip("=[] ").removesuffix("...").strip()
    if meta and meta.lower() not in ("true|false", "bool"):
        optional = value.startswith("[") or read.is_optional
        yield _valued(read, meta, said, whole, optional=optional, many=value.rstrip("]> ").endswith("..."))
        return
    if not read.off and _longest(read.on).startswith("--") and (meta or _TRUE_DEFAULT.search(said)):
        # Go's way to turn off what is on: --fast=false.
        name = read.on[-1].lstrip("-")
        yield Parameter(name=name, flags=tuple(read.on), schema={"type": "boolean"}, text=said, metavar=meta)
        return
    yield from _flags(read.on, read.off, said, is_counted=read.is_counted)


def _flags(on: list[str], off: Sequence[str], said: str, *, is_counted: bool) -> Iterator[Parameter]:
    form: Literal["flag", "negatable", "count"] = "negatable" if off else "flag"
    if is_counted or (_REPEATED.search(said) and on[-1] in ("-v", "--verbose", "-q", "--quiet")):
        form = "count"
    short = [flag for flag in on if len(flag) == 2]
    for number, flag in enumerate(long := [flag for flag in on if len(flag) > 2] or short[:1]):
        mine = (*short, flag) if number == 0 and flag not in short else (flag,)
        negated = tuple(one for one in off if one == f"--no-{flag[2:]}")
        negated = negated or (tuple(off) if len(long) == 1 else ())
        kind = form if form == "count" or negated else "flag"
        yield Parameter(name=flag.lstrip("-"), flags=mine, off_flags=negated, form=kind, text=said)


def _spaced(rest: str, said: str) -> tuple[str, str]:
    """What stands one space behind a flag: its value, and explanation where a long flag left no room for more space."""
    if _SPACED_META.match(rest):
        return rest, ""
    if said and re.fullmatch(r"[a-z][\w-]{0,30}", rest):  # with the explanation behind a gap: --indent uint   how deep
        return f"<{rest}>", ""
    if said and _SEVERAL.fullmatch(rest):  # --arg a v   set variable $a to value <v>
        return " ".join(f"<{word}>" for word in rest.split()), ""
    found = re.match(r"^(<[^<>]{1,60}>(?:\.\.\.)?) +(\S.*)$", rest)
    return (found[1], found[2]) if found else ("", rest)


def _metas(lines: Sequence[str]) -> dict[str, str]:
    """Values that are shown in a usage alone: `[--omit <dev|optional|peer>]`."""
    metas: dict[str, str] = {}
    for line in lines:
        if "[" in line:
            for long, meta, short, small in _USAGE_META.findall(line):
                metas.setdefault(long or short, meta or f"<{small}>")
    return metas


def _valued(read: _Spec, meta: str, said: str, whole: str, *, optional: bool, many: bool) -> Parameter:
    name = read.on[-1].lstrip("-")
    # A value in small letters behind = is one of those it takes, and the others are not shown: --check=quiet.
    is_literal = read.is_optional and meta.islower()
    schema = values_of.schema_of("" if is_literal else meta, said, whole)
    is_text = schema == {"type": "string"}
    told = said if "path" in said.lower() or guess.names_file(said) else ""
    is_path = is_text and guess.is_path(name, meta.upper(), told)
    plain = meta.strip("<>").lower()
    repeats = bool(_REPEATED.search(said) or _BINDS.fullmatch(meta)) or many or plain in values_of.LISTS
    words = (
        len(meta.split())
        if re.fullmatch(r"(?:<[\w-]+>|[A-Z][A-Z_-]+)(?: (?:<[\w-]+>|[A-Z][A-Z_-]+)){1,3}", meta)
        else 1
    )
    optional = optional and words == 1 and not repeats
    may_repeat = is_text and not is_path and words == 1 and not repeats and not optional
    paths = tuple(bool(_FILE_WORD.fullmatch(word)) for word in meta.split()) if words > 1 else ()
    is_path = is_path or any(paths)
    notes = ["taken for a path by its name or help."] if is_path else []
    return Parameter(
        name=name,
        flags=tuple(read.on),
        schema=schema,
        words=words,
        repeats=repeats,
        may_repeat=may_repeat and bool(_OFTEN.match(name) or _OFTEN.match(plain)),
        is_separate=read.joint == " " and len(_longest(read.on)) > 2 and not optional,
        is_optional=optional,
        access=guess.access_of(name, said) if is_path else None,  # type: ignore[arg-type]
        paths=paths if any(paths) and not all(paths) else (),
        text=said,
        metavar=meta[:80],
        notes=tuple(notes),
    )


def _longest(flags: Sequence[str]) -> str:
    return max(flags, key=len)
