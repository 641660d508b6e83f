"""The text that `--help` prints, read as people read it: usage, options, arguments, commands.

Pure and bounded: every line is looked at once, by patterns that cannot explode. Nothing in the text is sure,
so that little is concluded from it: a flag with a shown value takes one, where the text says `=` it is joined by that,
where it says a space it stands alone; a value's choices are taken where they are listed in full. What cannot be read
is not a parameter.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import attrs

from pegboard_toolgen.discover import _program_words as guess
from pegboard_toolgen.discover._help_arguments import listed_of, positionals_of
from pegboard_toolgen.discover._help_options import FLAG, GAP, MAX_LINE, OPTION_LINE, ends_of, options_in, options_of
from pegboard_toolgen.discover._program_parts import Level, Parameter
from pegboard_toolgen.discover._usage import COMMANDS, Form, form_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Json = Any
MAX_LINES = 6_000
MAX_COMMANDS = 400
MAX_FORMS = 40
MAX_USAGE_LINE = 60
MAX_FIXED = 2
FEW_OPTIONS = 3
"""A program with fewer options of its own does nothing but with one of its commands."""
_BOX_VALUE = re.compile(r"<[^<>]{1,80}>(?:\.\.\.)?|\[[^\[\]]{1,80}\]|[A-Z][A-Z_]{0,40}(?:\.\.\.)?")
_BOX = re.compile(r"^╭─+ ?([A-Za-z][^─╮]{0,60}?) ?─*╮")
_COMMANDS_HEADER = re.compile(r"\b(?:sub-?)?commands?\b", re.IGNORECASE)
_GLOBAL_HEADER = re.compile(r"^(?:global|common|inherited|persistent|general) [\w -]{1,30}:?$", re.IGNORECASE)
_KNOWN_HEADERS = (
    r"(?:options?|flags?|arguments?|args|examples?|environment|description|usage|synopsis|configuration|see also|"
    r"notes?|exit|author|aliases|files?|topics|learn more)"
)
# Of several words only with a colon: "Create a virtual environment" is a sentence.
_OTHER_HEADER = re.compile(
    rf"^(?:[\w -]{{0,60}}\b{_KNOWN_HEADERS}:|(?:[A-Za-z]+ )?{_KNOWN_HEADERS}:?)$|^specify config", re.IGNORECASE
)
_COMMAND = r"[a-z][A-Za-z0-9]*(?:[-_:][A-Za-z0-9]+)*"
_COMMAND_LINE = re.compile(
    rf"^ {{1,8}}({_COMMAND})[*:]?(?:, ?[a-z][\w-]*){{0,5}}(?: ?\[[^\]]*\]| ?<[^>]*>){{0,4}} {{2,}}(\S.*)$"
)
_COMMAND_DASHED = re.compile(rf"^ {{1,8}}({_COMMAND})(?:, ?[a-z][\w-]*){{0,5}} +[-–] +(\S.*)$")
_COMMAND_ALONE = re.compile(r"^\s{2,8}([a-z][a-z0-9]*(?:[-_][a-z0-9]+)*)$")
_COMMA_LIST = re.compile(r"^\s+(?:[a-z][a-z0-9-]*,\s*)+(?:[a-z][a-z0-9-]*)?,?\s*$")
_MANUAL = re.compile(r"NAME|SYNOPSIS|DESCRIPTION")
_ENDS = re.compile(r"(?:[\s()\[\]|]*(?:-h|--help|-\?|-V|-v|--version)(?=[\s()\[\]|]|$))+[\s()\[\]|]*")
"""A form that asks for the help or the version: `prog -h | --help`."""
_TITLE = re.compile(r"[A-Z][\w ,/'()-]{0,60}:")
"""What stands above forms of a call: `Standard syntax:`."""
_PIPE = re.compile(r"^[^|\[\](){}<>]{1,60} \| (?=[\w./-]+(?: |$))")
"""What pipes into the program: `cat FILE | jc [OPTIONS]`."""
_USAGE = re.compile(r"^\s*(?:usage|synopsis):?\s*(.*)$", re.IGNORECASE)
# How getopt_long of GNU, clap, cobra, click and argparse speak of themselves; all take `--` (POSIX, guideline 10).
_KNOWN_PARSER = re.compile(
    r"^Mandatory arguments to long options|<https://www\.gnu\.org/software/|^ {2,}-h, --help {2,}(?:Print|help for)|"
    r"^ {2,}-h, --help {2,}show this help message and exit$|^ {2,}(?:-h, )?--help {2,}Show this message and exit\.$|"
    r"^ {2,}-h, --help\n {10,12}Print help",
    re.MULTILINE,
)
_COMPLAINT = re.compile(
    r"\b(?:unknown|invalid|illegal|unrecognized|unrecognised|bad) (?:option|argument|flag)", re.IGNORECASE
)
_SHORT_HELP = re.compile(r"(?<![\w-])(?:-h(?:\s*[|,/]\s*|\s+)--help|--help(?:\s*[|,/]\s*|\s+)-h)(?![\w-])")
_PIPED_INTO = re.compile(r"^ {1,8}(?:cat|echo|[A-Z]+) [^|\n]{0,60}\| ?[a-z]|^ {1,8}[A-Z]+ \| [a-z]", re.MULTILINE)
_PARTIAL = re.compile(
    r"\b(?:some|most|many) of the options (?:include|are)\b|\bcommonly used options\b|"
    r"\bman(?:ual)?(?: |-)?page\b[^.\n]{0,20}\bfor (?:more|all|other|further)\b[^.\n]{0,12}\boptions\b",
    re.IGNORECASE,
)
_DASH = re.compile(
    r"[\"'`]-[\"'`][^.]{0,40}\b(?:stdin|standard input)\b|\b(?:stdin|standard input)\b[^.]{0,30}[\"'`(]-[\"'`)]",
    re.IGNORECASE,
)
_ALTERNATIVES = re.compile(r"[\[(](-[^\[\](){}|]{1,60}(?:\|\s*-[^\[\](){}|]{1,60}){1,10})[\])]")
FIRST_GROUP = 1_000
"""Numbers from here on are of groups of options; below they are of positionals."""
_OWN_PROGRAM = re.compile(r"pattern|script|program|expr|filter|regex|query|code", re.IGNORECASE)
_WHOLE_HELP = re.compile(r"(?<![\w-])--help[ =-]all(?![\w-])")


@attrs.frozen(kw_only=True)
class Variant:
    """A form of the usage that begins with fixed words: `add <name> <url>` of `git remote`.

    Args:
        levels: its words, each with what stands behind it.
        usage: the form itself, as far as nothing else tells the forms apart.
        notes: what is not sure.
    """

    levels: tuple[Level, ...]
    usage: str = ""
    notes: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class Help:
    """What a help text says.

    Args:
        text: its own description, without lists.
        options: in the order of the text.
        positionals: of all lines of its usage and its list of arguments.
        commands: words that may follow, each once.
        variants: commands that its usage alone shows.
        is_command: whether it can be called without one of its commands.
        may_run: its usage shows a command in brackets, and no other way to call it.
        is_group: its usage says that it can, and it has no option and no argument of its own for that.
        is_led: its options may stand before the word of a command.
        reads_input: it reads its standard input where no argument says otherwise.
        terminator: its parser is one of those that take `--`.
        is_partial: it says itself that it has more options than it lists.
        notes: what was not understood.
    """

    text: str = ""
    options: tuple[Parameter, ...] = ()
    positionals: tuple[Parameter, ...] = ()
    commands: tuple[str, ...] = ()
    variants: tuple[Variant, ...] = ()
    is_command: bool = True
    may_run: bool = False
    is_group: bool = False
    is_led: bool = False
    reads_input: bool = False
    terminator: bool = False
    is_partial: bool = False
    notes: tuple[str, ...] = ()

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (*self.options, *self.positionals)


def looks_like_help(text: str) -> bool:
    """Whether a text is help at all, and no error message or manual that is missing."""
    if "calling Getopt::Std::getopts" in text[:MAX_LINE]:  # what Perl says of every program that has no help
        return False
    lines = text.split("\n")[:MAX_LINES]
    return any(_USAGE.match(line) or line.strip().upper() in ("NAME", "SYNOPSIS", "OPTIONS") for line in lines) or (
        sum(1 for line in lines if OPTION_LINE.match(line[:MAX_LINE])) >= 2
    )


def has_short_help(text: str) -> bool:
    """Whether a help says that `-h` is its `--help`."""
    return any(_SHORT_HELP.search(line[:MAX_LINE]) for line in text.split("\n")[:MAX_LINES])


def names_whole_help(text: str) -> str:
    """How a help that is not all of it says to ask for the rest; an empty text where it does not."""
    found = _WHOLE_HELP.search(text)
    return found[0] if found else ""


def parse(text: str, words: Sequence[str]) -> Help:
    """Read one help text.

    Args:
        text: cleaned of control characters.
        words: the program and its command, as they stand in its usage.
    """
    lines = [line[:MAX_LINE].expandtabs(8) for line in text.split("\n")[:MAX_LINES]]
    lines = _without_words_in_usage(lines, words)
    lines = _unboxed(lines) if any(_BOX.match(line) for line in lines) else lines
    calls = [call for call, _ in zip(_usages(lines, words), range(MAX_FORMS), strict=False)]
    calls = [call for call in calls if not _ENDS.fullmatch(call)] or calls
    commands = tuple(_commands(lines, words))
    options = tuple(options_of(lines))
    listed = listed_of(lines)
    description = _description(lines, words)
    # Of a program without commands that says that it runs some, `command` is what it is given to run.
    whole = "\n".join(lines)
    given = COMMANDS if not commands and guess.runs_commands(description, whole) else ()
    forms = [
        form_of(
            call,
            listed=[*(one.slot.name for one in listed), *given],
            plain=[flag for one in options if one.form != "value" for flag in one.flags],
        )
        for call in calls
    ]
    split = [call for call, form in zip(calls, forms, strict=True) if form.before and not _is_led_by_words(form)]
    forms = [form for call, form in zip(calls, forms, strict=True) if call not in split]
    calls = [call for call in calls if call not in split]
    own = [form for form in forms if not form.words]
    shown = [call for call, form in zip(calls, forms, strict=True) if not form.words]
    options += tuple(one for one in _shown_alone(shown, options) if not {*one.flags} & ends_of(lines))
    options = _exclusive(calls, options)
    positionals, notes = positionals_of([form for form in own if not (commands and form.command)], listed, whole)
    notes += tuple(f"Not offered: {call[:200]} (a fixed word stands between its values)." for call in split[:5])
    variants = () if commands else tuple(_variants(calls, forms, options, whole))
    options, is_piped = _piped(options)
    positionals, reads_input = _with_input(_replaced(positionals, options), "" if is_piped else description, whole)
    is_own = any(not form.command or (form.command == "optional" and len(forms) > 1) for form in own)
    has_commands = bool(commands or variants)
    is_command = _is_command(lines, options, positionals, is_own=is_own, has_commands=has_commands)
    return Help(
        text=description,
        options=options,
        positionals=() if commands else positionals,
        commands=commands,
        variants=variants,
        is_command=is_command,
        may_run=bool(commands) and not is_own and any(form.command == "optional" for form in own),
        is_group=is_own and not is_command,
        is_led=any(form.is_led for form in forms),
        reads_input=reads_input,
        terminator=bool(_KNOWN_PARSER.search(whole)),
        is_partial=bool(_PARTIAL.search(whole)),
        notes=("Read from its help text; what that does not say is not known.", *notes),
    )


def _without_words_in_usage(lines: list[str], words: Sequence[str]) -> list[str]:
    """`Usage: qr - Convert stdin to a QR code.` shows no form of a call: its sentence is what the program does."""
    sentence = re.compile(
        rf"^(\s*usage:?\s*(?:\S*/)?{re.escape(' '.join(words))})\s+[-\u2013\u2014]+\s+([A-Z]\w+ .+)$", re.I
    )
    for index, line in enumerate(lines[:MAX_USAGE_LINE]):
        if found := sentence.match(line):
            return [*lines[:index], found[1], "", found[2], *lines[index + 1 :]]
    return lines


def is_brief(read: Help) -> bool:
    """Whether a help explains hardly an option, or not what it is for: it shows a usage, a manual page has the rest."""
    return read.is_partial or _is_unexplained(read) or not read.text


def _is_unexplained(read: Help) -> bool:
    return sum(1 for one in read.options if one.text) < 3


def completed(brief: Help, page: Help) -> Help:
    """What a brief help says, with the explanations, options and arguments of the manual page of the same program."""
    if not brief.is_partial and not _is_unexplained(brief):
        return attrs.evolve(brief, text=page.text)
    told = {flag: one for one in page.options for flag in one.flags}
    options: list[Parameter] = []
    for one in brief.options:
        better = next((told[flag] for flag in one.flags if flag in told), None)
        better = better if better is not None and (not one.text or _is_of_more_names(better, one)) else one
        if better not in options:  # a usage that shows -l and --list apart
            options.append(better)
    known = {flag for one in (*brief.options, *options) for flag in (*one.flags, *one.off_flags)}
    more = [one for one in page.options if not known & {*one.flags, *one.off_flags}]
    return attrs.evolve(
        brief,
        text=page.text if len(page.text) > len(brief.text) and not brief.is_partial else brief.text,
        options=(*options, *more),
        positionals=brief.positionals or page.positionals,
        reads_input=brief.reads_input or page.reads_input,
        notes=(*brief.notes, "Its manual page says what its help does not."),
    )


def _is_of_more_names(one: Parameter, other: Parameter) -> bool:
    """Whether an option is another that is spelt in more ways: `--slurp, -s` and `-s`."""
    return one.form == other.form and {*one.flags} > {*other.flags}


def _is_command(
    lines: Sequence[str],
    options: Sequence[Parameter],
    positionals: Sequence[Parameter],
    *,
    is_own: bool,
    has_commands: bool,
) -> bool:
    """Whether it does something without one of its commands: its usage says so, and it has words of its own for it."""
    if not has_commands:
        return True
    shared = _shared(lines)
    return is_own and (bool(positionals) or any(not shared & {*one.flags} for one in options))


def _shared(lines: Sequence[str]) -> set[str]:
    """The options that a help lists as those of the whole program."""
    found, inside = set[str](), False
    for line in lines:
        if line.strip() and not line[0].isspace():
            inside = bool(_GLOBAL_HEADER.match(line.strip()))
        elif inside and OPTION_LINE.match(line):
            found |= set(re.findall(r"--?[A-Za-z0-9][\w-]*", line[:80]))
    return found


def hands_on(read: Help, below: Iterable[str]) -> bool:
    """Whether all that a command with commands takes are options that the help of one of these lists as the whole
    program's: cobra lists them as its own where they are declared.

    Args:
        read: of the command.
        below: the helps of its commands.
    """
    if not read.commands or not read.options or read.positionals or read.reads_input:
        return False
    shared = {flag for text in below for flag in _shared(text.split("\n")[:MAX_LINES])}
    return all(shared & {*one.flags, *one.off_flags} for one in read.options)


def works_without_command(read: Help, below: Iterable[str]) -> bool:
    """Whether a program whose usage shows a command in brackets does something where none is named.

    `Usage: NAME [OPTIONS] [COMMAND]` is how clap tells of that, and of a program that then says how it is called. What
    works has options for its work: several that the help of no command lists.

    Args:
        read: of the program.
        below: the helps of its commands.
    """
    if not read.may_run:
        return False
    told = {flag for text in below for flag in re.findall(r"(?<![\w-])--?[A-Za-z0-9][\w-]*", text)}
    return sum(1 for one in read.options if not told & {*one.flags, *one.off_flags}) >= FEW_OPTIONS


def _shown_alone(calls: Sequence[str], options: Sequence[Parameter]) -> Iterator[Parameter]:
    """Options that the usage shows and no list explains: `[-n | --dry-run]`, `[-t <branch>]`."""
    known = {flag for one in options for flag in (*one.flags, *one.off_flags)}
    for call in calls:
        for one in options_in(call, known):
            flags = {*one.flags, *one.off_flags}
            if not flags & known:
                yield one
            known |= flags


def _variants(
    calls: Sequence[str], forms: Sequence[Form], options: Sequence[Parameter], whole: str
) -> Iterator[Variant]:
    """Commands that have no list and no help of their own: their words and arguments stand in the usage."""
    found: dict[object, list[int]] = {}
    for number, form in enumerate(forms):
        if 0 < len(form.words) <= MAX_FIXED and len(form.before) <= MAX_FIXED and not form.command:
            found.setdefault((form.before, form.words), []).append(number)
    is_exact = not any(form.takes_options for form in forms) and all(_is_shown(one, calls) for one in options)
    for numbers in found.values():
        form = forms[numbers[0]]
        positionals, notes = positionals_of([forms[number] for number in numbers], (), whole)
        shown = tuple(_shown_alone([calls[number] for number in numbers], ()))
        if is_exact:
            shown = tuple(one for one in options if _is_shown(one, [calls[number] for number in numbers]))
        elif any(forms[number].takes_options for number in numbers) or not shown:
            shown = (*options, *(one for one in shown if not any({*one.flags} & {*o.flags} for o in options)))
        levels: list[Level] = []
        for words, slots in form.before:
            levels += _levels(words, positionals_of([Form(slots=slots)], (), whole)[0])
        levels += _levels(form.words, (*shown, *positionals))
        yield Variant(levels=tuple(levels), usage=calls[numbers[0]] if is_exact else "", notes=notes)


def _levels(words: Sequence[str], parameters: Sequence[Parameter]) -> Iterator[Level]:
    yield from (Level(word=word) for word in words[:-1])
    yield Level(word=words[-1], parameters=tuple(parameters))


def _is_shown(option: Parameter, calls: Sequence[str]) -> bool:
    """Whether a form of the usage shows an option."""
    flags = "|".join(map(re.escape, (*option.flags, *option.off_flags)))
    return any(re.search(rf"(?<![\w-])(?:{flags})(?![\w-])", call) for call in calls)


def _is_led_by_words(form: Form) -> bool:
    """Whether a form whose values stand between its words begins with a word, and needs all values before the last."""
    return all(words and all(slot.required and not slot.many for slot in slots) for words, slots in form.before)


def _exclusive(calls: Sequence[str], options: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
    """The options, those in a group of their own that the usage shows as alternatives: `[--json | --table]`. Several
    spellings of one option (`[-n | --dry-run]`) are not alternatives."""
    places = {flag: place for place, one in enumerate(options) for flag in (*one.flags, *one.off_flags)}
    groups: dict[int, int] = {}
    for shown in (found[1] for call in calls for found in _ALTERNATIVES.finditer(call[:4_000])):
        words = [word.split("=")[0].split()[:1] for word in shown.split("|")]
        told = {places[word[0]] for word in words if word and word[0] in places}
        if len(told) > 1 and len(told) == len(words) and not told & groups.keys():
            groups |= dict.fromkeys(told, FIRST_GROUP + len(groups))
    return tuple(attrs.evolve(one, group=groups.get(place, one.group)) for place, one in enumerate(options))


def _replaced(positionals: tuple[Parameter, ...], options: Sequence[Parameter]) -> tuple[Parameter, ...]:
    """The positionals, one that is a program of its own not required where an option gives it too: `-e PATTERNS`, or
    `take PATTERNS from FILE`, as of grep, sed and awk."""

    def of(one: Parameter) -> Parameter:
        if not one.required or one.words != 1 or not _OWN_PROGRAM.search(one.name):
            return one
        name = re.escape(one.name)
        taken = re.compile(rf"\b(?:take|read|use|get|obtain|load)s? (?:the )?{name}\b.{{0,20}}\bfrom\b", re.IGNORECASE)
        instead = [
            other.flags[-1]
            for other in options
            if other.flags
            and other.form == "value"
            and (other.metavar.strip("<>[]=").lower() == one.name.lower() or taken.search(other.text))
        ]
        said = f"{one.text} Left out where {' or '.join(instead)} is given.".strip()
        return attrs.evolve(one, required=False, is_replaced=True, text=said) if instead else one

    return tuple(of(one) for one in positionals)


def _with_input(positionals: tuple[Parameter, ...], text: str, whole: str) -> tuple[tuple[Parameter, ...], bool]:
    """Which argument standard input stands in for: the first that may be left out and names what is read.

    Where a help is silent, a list of files that may be left out is the wider reading: `rev [file ...]`.

    Returns:
        The parameters, and whether the program reads its standard input beside them.
    """
    for index, one in enumerate(positionals):
        if _DASH.search(one.text):
            read = attrs.evolve(one, stdin="word", required=False, at_least=0)
            return (*positionals[:index], read, *positionals[index + 1 :]), False
    for index, one in enumerate(positionals):
        if one.words == 1 and guess.is_replaced_by_stdin(one.name, whole):
            return _standing_in(positionals, index), False

    if guess.takes_stdin(text) or guess.reads_where_nothing_is_named(whole):
        for index, one in enumerate(positionals):
            if not one.required and (one.access or one.words is None or "input" in one.name.lower()):
                return _standing_in(positionals, index), False
        return positionals, guess.reads_stdin(text)
    for index, one in enumerate(positionals):
        is_silent = not re.search(r"\b(?:default|current|working)\b", f"{text} {one.text}")
        if not one.required and one.words is None and guess.is_input_file(one.name) and is_silent:
            said = "Where it is left out standard input may be read; the help does not say so."
            told = attrs.evolve(one, text=f"{one.text} {said}".strip())
            return _standing_in((*positionals[:index], told, *positionals[index + 1 :]), index), False
    return positionals, guess.reads_itself(whole) or bool(_PIPED_INTO.search(whole[:4_000]))


def _piped(options: tuple[Parameter, ...]) -> tuple[tuple[Parameter, ...], bool]:
    """The options, and whether standard input stands in for one of them: "the document; if omitted, standard input"."""
    for index, one in enumerate(options):
        if one.access in ("read", "guess") and one.words == 1 and guess.stands_in(one.text):
            return (*options[:index], attrs.evolve(one, stdin="absent", access="read"), *options[index + 1 :]), True
    return options, False


def _standing_in(positionals: tuple[Parameter, ...], index: int) -> tuple[Parameter, ...]:
    read = attrs.evolve(positionals[index], stdin="absent", required=False, at_least=0)
    return (*positionals[:index], read, *positionals[index + 1 :])


def may_read_input(read: Help) -> bool:
    """Whether a help names files and says nothing of standard input."""
    return not read.reads_input and any(one.access for one in read.positionals) and not _has_input(read)


def _has_input(read: Help) -> bool:
    return any(one.stdin for one in read.positionals)


def with_input_of(read: Help, page: str) -> Help:
    """What a help says, where its manual page says that standard input is read if no file is named."""
    if read.reads_input or _has_input(read) or not guess.reads_where_nothing_is_named(page):
        return read
    index = next((i for i, one in enumerate(read.positionals) if one.access and one.access != "write"), None)
    return read if index is None else attrs.evolve(read, positionals=_standing_in(read.positionals, index))


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
    flags = [one for one in columns if FLAG.match(one)]
    if columns[: len(flags)] != flags or not flags:
        return " " * (10 if line.startswith("│" + " " * 8) else 2) + "  ".join(columns)
    rest = columns[len(flags) :]
    value = rest.pop(0) if rest and _BOX_VALUE.fullmatch(rest[0]) else ""
    if " " in value:
        value = "<text>" if "|" in value else value.replace(" ", "-")
    spec = ", ".join(sorted(flags, key=len)) + (f" {value}" if value not in ("", "<bool>") else "")
    return "  ".join(["", spec, *rest])


def _description(lines: Sequence[str], words: Sequence[str]) -> str:
    """The text before the lists: paragraphs that are neither usage, header nor list."""
    kept: list[str] = []
    in_usage = is_section = False
    for index, line in enumerate(lines[:400]):
        stripped = line.strip()
        if not kept and (_COMPLAINT.search(stripped) or re.match(rf"^{re.escape(' '.join(words))} +[<\[]", line)):
            continue
        if _USAGE.match(line) or stripped.upper() == "SYNOPSIS":
            in_usage, is_section = True, line.startswith("SYNOPSIS")
            continue
        # clap says the name first, and the version of a program: `taplo-get`, `taplo 0.9.3`.
        if not kept and re.fullmatch(rf"{_called(words)}(?: v?\d\S*)?", stripped):
            continue
        # A manual page says its name and what it is for in one line.
        named = re.match(rf"^\s*{_called(words)} [-–] (.+)$", line)
        if named:
            kept.append(named[1])
            continue
        if in_usage:
            if not stripped:
                in_usage = is_section  # of a manual page, which goes on up to the next header
                continue
            # Prose right behind the usage begins at the first column and is not a line of a call.
            if line[0].isspace() or stripped.startswith(("-", "[", "or:")) or stripped.split()[0] == words[0]:
                continue
            in_usage = False
        if OPTION_LINE.match(line) or _COMMAND_LINE.match(line) or _COMMA_LIST.match(line):
            break
        if stripped.endswith(":") and len(stripped) < 80 and index + 1 < len(lines) and kept:
            break
        if _heads_options(lines, index):
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


def _called(words: Sequence[str]) -> str:
    """The words of a command as a help says them, as a pattern: `git log`, `git-log`."""
    return "[ -]".join(map(re.escape, words))


def _heads_options(lines: Sequence[str], index: int) -> bool:
    """Whether a line is the header of a list of options: it stands right above them, and they are set in."""
    line, below = lines[index], lines[index + 1] if index + 1 < len(lines) else ""
    is_title = bool(re.fullmatch(r"[A-Z][\w -]{1,40}", line))
    return is_title and below[:1].isspace() and bool(OPTION_LINE.match(below))


def _usages(lines: Sequence[str], words: Sequence[str]) -> Iterator[str]:
    """Each form of the call, in one line, without the words of the command itself."""
    called = " ".join(words)
    again = re.compile(rf"^(?:or:?\s+)?(?:\S*/)?{re.escape(called)}(?:\s|$)", re.IGNORECASE)
    current: str | None = None
    for index, line in enumerate(lines):
        if current is None:
            found = _USAGE.match(line) if index < MAX_USAGE_LINE else None
            if line.strip() == "SYNOPSIS" or (found and not found[1]):
                current = ""
            elif index < 3 and re.match(rf"^{re.escape(called)} +[<\[]", line):  # yargs has no word for it
                current = line.strip()
            elif found and found[1].split()[0].rpartition("/")[2] == words[0]:
                current = found[1]
            continue
        stripped = line.strip()
        is_next = again.match(stripped) or again.match(_PIPE.sub("", stripped))
        if not current and (not stripped or (line[0].isspace() and _TITLE.fullmatch(stripped))):
            continue
        if _goes_on(lines, index, again) and current:
            yield _shortened(current, called)
            current = ""
            continue
        is_over = not stripped or (not line[0].isspace() and not is_next)
        if is_over or (OPTION_LINE.match(line) and len(GAP.split(stripped, maxsplit=1)) > 1):
            yield _shortened(current, called)
            return
        if is_next and current:
            yield _shortened(current, called)
            current = stripped
        else:
            current = f"{current} {stripped}"[:4_000]
    if current:
        yield _shortened(current, called)


def _goes_on(lines: Sequence[str], index: int, again: re.Pattern[str]) -> bool:
    """Whether an empty line stands between forms of the call, and not behind the last: set in, below titles or not."""
    if lines[index].strip():
        return False
    following = [line for line in lines[index : index + 8] if line.strip()]
    if following and not following[0][0].isspace() and _OTHER_HEADER.match(following[0].strip()):
        return False  # of a list; examples are calls, and no forms
    following = [line for line in following[:2] if line[0].isspace() and not _TITLE.fullmatch(line.strip())]
    first = following[0].strip() if following else ""
    return bool(again.match(first) or again.match(_PIPE.sub("", first)))


def _shortened(usage: str, called: str) -> str:
    own = re.compile(rf"^(?:or:?\s+|\$ )?(?:\S*/)?{re.escape(called)}(?:\s+|$)(.*)$", re.IGNORECASE)
    usage = usage.strip()
    if not own.match(usage):
        usage = re.sub(r"^(?:or:?\s+|\$ )", "", _PIPE.sub("", usage), flags=re.IGNORECASE)
    found = own.match(usage)
    return (found[1] if found else usage)[:2_000]


def _commands(lines: Sequence[str], words: Sequence[str]) -> Iterator[str]:
    seen: set[str] = set()
    lines = _without_names(lines, words)
    inside, column = False, 0
    for index, line in enumerate(lines):
        stripped = line.strip()
        if stripped and not line[0].isspace():
            if _OTHER_HEADER.match(stripped) and not _COMMANDS_HEADER.search(stripped):
                inside = False
            elif _COMMANDS_HEADER.search(stripped) and not _USAGE.match(line) and len(stripped) < 120:
                inside = _announces(lines, index)
                column = _column(lines, index)
            continue
        if not inside or not stripped or len(seen) >= MAX_COMMANDS:
            continue
        if _COMMA_LIST.match(line) or (seen and re.match(r"^\s+[a-z][a-z0-9-]*$", line) and "," in lines[index - 1]):
            listed = [word.strip() for word in stripped.split(",")]
        elif found := _entry(line) or _COMMAND_ALONE.match(line) or _longest(line, column):
            listed = [found[1]]
        else:
            continue
        for word in listed:
            if word and word not in seen:
                seen.add(word)
                yield word


def _without_names(lines: Sequence[str], words: Sequence[str]) -> list[str]:
    """Lists in which yargs names the program again, and kong and oclif its command: "db up" below `x db`."""
    names = "|".join(re.escape(" ".join(words[place:])) for place in range(len(words)))
    own = re.compile(rf"^( {{1,8}})(?:{names}) (?=[a-z])")
    return [own.sub(r"\1", line) for line in lines]


def _entry(line: str) -> re.Match[str] | None:
    return _COMMAND_DASHED.match(line) or _COMMAND_LINE.match(line)


def summary_of(text: str, word: str, words: Sequence[str]) -> str:
    """What the list of the commands of `words` says of one of them; an empty text where it says nothing."""
    for line in _without_names(text.split("\n")[:MAX_LINES], words):
        if (found := _entry(line[:MAX_LINE].expandtabs(8))) and found[1] == word:
            return found[2].strip()
    return ""


def _column(lines: Sequence[str], index: int) -> int:
    """Where the explanations of a list begin; 0 where that cannot be told."""
    for line in lines[index + 1 : index + 40]:
        if found := _COMMAND_LINE.match(line):
            return found.start(2)
        if line.strip() and not line[0].isspace():
            break
    return 0


def _longest(line: str, column: int) -> re.Match[str] | None:
    """The longest word of a list has one space alone before its explanation."""
    if not column or line[column - 1 : column] != " " or line[column : column + 1].isspace():
        return None
    return re.fullmatch(rf" {{1,8}}({_COMMAND}) ", line[:column])


def _announces(lines: Sequence[str], index: int) -> bool:
    """Whether what follows a line is a list and no prose."""
    for line in lines[index + 1 : index + 6]:
        if not line[:1].isspace() and _MANUAL.fullmatch(line.strip()):
            break  # the title of a manual page, which is one of commands
        if _entry(line) or _COMMA_LIST.match(line) or _COMMAND_ALONE.match(line):
            return True
    return lines[index].rstrip().endswith(":")
