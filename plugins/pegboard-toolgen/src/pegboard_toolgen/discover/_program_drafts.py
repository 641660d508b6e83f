"""From a command line, however it was found, to a draft: one shape between three discoveries and one binding.

A click tree, a parser of argparse and a help text each become `Command`s of `Parameter`s; what follows is the same for
all of them and does no I/O. Everything in a `Command` is third-party text, bounded and cleaned here before it goes
on.

The line is always: words and options of each level of commands, then the options of the last, `--` where the parser
takes it, then the positional words.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

import attrs

from pegboard_manifest import sanitise
from pegboard_toolgen.discover import _program_ends as ends
from pegboard_toolgen.discover import _program_words as guess
from pegboard_toolgen.discover._program_line import arguments_of, follow
from pegboard_toolgen.discover._program_order import order_of
from pegboard_toolgen.discover._program_parts import FLAG, INPUT, best
from pegboard_toolgen.drafts import Draft, LeftOut

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pegboard_toolgen.discover._program_parts import Command, Parameter, Program

    Judgement = tuple[Any, Any, Any, str | None]  # category, risk, idempotency, side effect

Json = Any
MAX_PARAMETERS = 400
MAX_ENUM = 500
MAX_TEXT = 1_200
MAX_WORD = 64
MAX_COUNT = 10
MAX_ITEMS = 1_000
_WORD = re.compile(r"[A-Za-z0-9_@+][A-Za-z0-9_.:@+-]{0,63}")
_ID = re.compile(r"[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,63}")
_TEXT_RESULT = {
    "type": "object",
    "properties": {"result": {"type": "string"}},
    "required": ["result"],
    "additionalProperties": False,
}
_MISSING = r"(?i)\b(?:no such|not found|does not exist|doesn't exist|unknown)\b"
_EXISTS = r"(?i)\b(?:already exists|unique constraint failed|duplicate (?:key|entry))\b"
_EXITS = (
    {"status": 2, "code": "INVALID_INPUT"},
    {"stderr": _MISSING, "code": "NOT_FOUND"},
    {"stderr": _EXISTS, "code": "CONFLICT"},
)
"""How programs of Python's command line libraries end; of others nothing is known."""


def draft_of(command: Command, program: Program) -> Draft | LeftOut:
    """The draft of one command; what cannot be expressed is left out with the reason, never left to fail later."""
    words = (program.name, *command.path)
    name = f"program:{' '.join(words)}"[:1024]
    where = " ".join(words)
    if bad := next((word for word in command.path if not _WORD.fullmatch(word)), None):
        return LeftOut(
            sanitise(name, 200, one_line=True),
            f"no name for a command: {sanitise(bad, 60, one_line=True)}",
            where[:200],
        )
    text = sanitise(command.text, 4_000)
    summary = sanitise(text.split("\n\n")[0], MAX_TEXT, one_line=True)
    notes = list(command.notes)
    dropped: dict[str, list[str]] = {}
    runs_code = command.runs_code or guess.code_of_program(program.name)
    runs_code = (
        runs_code or guess.code_of_command(words[-1], text) or ends.endless_command(words, text, command.options)
    )
    is_json = _says_json(summary, command)
    shown: list[tuple[int, Parameter]] = []
    for depth, level in enumerate(command.levels):
        for parameter in level.parameters:
            judged, why, code = _kept(parameter, is_json)
            if judged is not None:
                shown.append((depth, _fixed(command, depth, judged)))
            elif code and parameter.required and not runs_code:
                runs_code = why
            if why:
                dropped.setdefault(why, []).append(_called(parameter))
    taken = [p for _, p in shown if guess.is_command_name(p.metavar)]
    said = (summary, *(p.text for p in taken))
    if taken and not runs_code and any(guess.runs_commands(one, command.whole or text) for one in said):
        runs_code = "it runs commands that the caller gives"
    notes.extend(f"Dropped: {', '.join(names)} ({why})." for why, names in dropped.items())
    if missed := [name for names in dropped.values() for name in names if name and name in text]:
        # The help of the program speaks of what the tool has not.
        text = f"{text}\n\nNot offered here: {', '.join(missed)}."
    if any(parameter.required and parameter.dropped for level in command.levels for parameter in level.parameters):
        lost = next(p for level in command.levels for p in level.parameters if p.required and p.dropped)
        return LeftOut(name, f"{_called(lost)} is required and cannot be given: {lost.dropped}", where)
    if len(shown) > MAX_PARAMETERS:
        return LeftOut(name, f"it has more than {MAX_PARAMETERS} parameters", where)
    shown, judgement, warnings = _judged(command, program, shown, summary, notes)
    return _assembled(
        command, program, shown, notes,
        name=name, words=words, where=where, text=text, is_json=is_json, runs_code=runs_code,
        judgement=judgement, warnings=warnings,
    )  # fmt: skip


def _judged(
    command: Command, program: Program, shown: list[tuple[int, Parameter]], summary: str, notes: list[str]
) -> tuple[list[tuple[int, Parameter]], Judgement, list[str]]:
    """What a command does, as its name, its summary and its parameters say; without the parameters that it then does
    not need, and with what a person has to know. Notes are added to `notes`."""
    called = command.path or (program.name,)
    category, risk, idempotency, effect = guess.judged(called, summary)
    notes.append(guess.rule_of(called, summary, category))
    if category in ("read", "analytics"):
        # What it reads comes back as its result: an option that would write it to a file instead is not needed.
        last = next((p for _, p in reversed(shown) if p.is_positional), None)
        needless = [p for _, p in shown if p.access == "write" and (p.flags or p is last) and not p.required]
        shown = [(depth, p) for depth, p in shown if p not in needless]
        shown = _unchanging(shown, command, notes)
        if needless:
            notes.append(f"Dropped: {', '.join(map(_called, needless))} (the tool reads, and this would write a file).")
    writes = [p for _, p in shown if p.access == "write"]
    if category in ("read", "analytics") and writes:
        notes.append(f"It reads, but {_called(writes[0])} may be written: no category was guessed.")
        category, risk, idempotency = None, None, None
    has_input = any(p.stdin for _, p in shown)
    writes_files = writes or any(guess.writes_files(p.text) for _, p in shown)
    if has_input and not writes_files and not command.path and guess.is_filter(summary):
        category, risk, idempotency, effect = "read", "low", "idempotent", None
        notes.append("Taken for one that reads: it turns its input into its output.")
    warnings: list[str] = []
    for _, parameter in shown:
        if parameter.form == "value" and not parameter.access and guess.may_be_file(parameter.text):
            risk = "high"
            warnings.append(f"{_called(parameter)} may name a file, which allowed_paths cannot judge.")
        if guess.is_connection(parameter.text):
            risk = "high"
            warnings.append(f"{_called(parameter)} names a database by an address, which allowed_paths cannot judge.")
            if category in ("read", "analytics"):
                category, idempotency = None, None
        elif parameter.form == "value" and not parameter.access and _takes_queries(parameter):
            category, risk = "admin" if category == "admin" else "write", "high"
            idempotency = None
            warnings.append(
                f"{_called(parameter)} takes queries, which may open files that allowed_paths cannot judge."
            )
    return shown, (category, risk, idempotency, effect), warnings


def _unchanging(shown: list[tuple[int, Parameter]], command: Command, notes: list[str]) -> list[tuple[int, Parameter]]:
    """Without what the help says makes a command that reads change something."""
    named = set(re.findall(r"-{0,2}[A-Za-z][\w-]*", guess.changes_with(command.text)))
    changing = [
        p
        for _, p in shown
        if not p.required
        and (named & {*p.flags} or guess.changes(p.flags, p.text) or (p.is_positional and p.metavar in named))
    ]
    if changing:
        notes.append(f"Dropped: {', '.join(map(_called, changing))} (the tool reads, and this would change something).")
    return [(depth, p) for depth, p in shown if p not in changing]


def _assembled(
    command: Command,
    program: Program,
    shown: Sequence[tuple[int, Parameter]],
    notes: list[str],
    *,
    name: str,
    words: tuple[str, ...],
    where: str,
    text: str,
    is_json: bool,
    runs_code: str | None,
    judgement: Judgement,
    warnings: Sequence[str],
) -> Draft:
    category, risk, idempotency, effect = judgement
    names = _names(shown, words)
    properties: dict[str, Json] = {}
    required: list[str] = []
    levels: dict[int, list[tuple[Parameter, str]]] = {}
    piped = next((p for _, p in shown if p.stdin == "absent" or (p.stdin and command.terminator)), None)
    for (depth, parameter), key in zip(shown, names, strict=True):
        levels.setdefault(depth, []).append((parameter, key))
        properties[key] = _property(parameter, command, is_piped=parameter is piped)
        if parameter.required and not (parameter is piped and parameter.stdin):
            required.append(key)
        notes.extend(f"{_called(parameter)}: {note}" for note in parameter.notes)
    arguments = arguments_of(command, levels, piped, reads=category in ("read", "analytics"))
    properties |= _input(command, None if piped is None else names[[one for _, one in shown].index(piped)])
    excluded, exclusive = _excluded(command, shown, names)
    more = {"required": required, "dependentRequired": follow(levels), "not": excluded}
    notes += exclusive
    return Draft(
        id=name,
        words=words,
        binding=_binding(
            program, arguments, _statuses(command, words, notes), is_piped=INPUT in properties, is_json=is_json
        ),
        input_schema={
            "type": "object",
            "properties": properties,
            **{key: value for key, value in more.items() if value},
            "additionalProperties": False,
        },
        output_schema={"type": "object"} if is_json else _TEXT_RESULT,
        description="\n\n".join((text or f"Run {where}.", *exclusive)),
        kind=program.kind,
        where=where,
        title=where[:200],
        category=category,
        risk=risk,
        idempotency=idempotency,
        errors=_errors(program),
        side_effects=(effect,) if effect else (),
        notes=tuple(sanitise(note, 500, one_line=True) for note in notes[:100]),
        warnings=tuple(sanitise(warning, 500, one_line=True) for warning in warnings[:100]),
        runs_code=runs_code,
        tags=command.path[:-1],
        order=order_of(command, shown, names, words),
    )


def _input(command: Command, stands_in: str | None) -> dict[str, Json]:
    """The parameter for what the program reads from its standard input, where it does."""
    about = "What the program reads from its standard input"
    if stands_in is not None:
        return {INPUT: {"type": "string", "description": f"{about} where {stands_in} is left out."}}
    return {INPUT: {"type": "string", "description": f"{about}."}} if command.reads_input else {}


def _statuses(command: Command, words: Sequence[str], notes: list[str]) -> dict[str, list[int]]:
    """The exit statuses that are answers: always, and where they come with output alone."""
    success = ends.success_of(words, command.whole or command.text, command.options)
    if success:
        notes.append(f"Exit statuses that are answers: {', '.join(map(str, success))}.")
    told = {"success": list(success or ()), "success_with_output": ends.also_answers(command.options, success)}
    return {key: statuses for key, statuses in told.items() if statuses}


def _binding(
    program: Program, arguments: Sequence[Json], statuses: Mapping[str, Json], *, is_piped: bool, is_json: bool
) -> dict[str, Json]:
    return {
        "kind": "subprocess",
        "program": program.id,
        "arguments": arguments,
        **({"stdin": {"parameter": INPUT, "format": "text"}} if is_piped else {}),
        "output": {"parser": "json" if is_json else "text"},
        **statuses,
        **({"exits": [dict(one) for one in _EXITS]} if program.kind != "help" else {}),
    }


def _takes_queries(parameter: Parameter) -> bool:
    return guess.takes_queries((best(parameter.flags) or parameter.name).lstrip("-"), parameter.text)


def _kept(parameter: Parameter, is_json: bool) -> tuple[Parameter | None, str | None, bool]:
    """The parameter as a tool shows it, or None with the reason; True if that is that it runs code."""
    if parameter.dropped:
        return None, parameter.dropped, False
    flags = [*parameter.flags, *parameter.off_flags]
    usable = tuple(flag for flag in parameter.flags if FLAG.fullmatch(flag))
    off = tuple(flag for flag in parameter.off_flags if FLAG.fullmatch(flag))
    if flags and not usable and not (parameter.form == "negatable" and off):
        return None, "its flag does not begin with a dash", False
    if parameter.form == "value" and (why := guess.code_of_option(flags, parameter.text, parameter.metavar)):
        return None if flags else parameter, why if flags else None, True
    if parameter.form != "value" and (why := guess.why_no_flag(flags)):
        return None, why, False
    if flags and (why := ends.endless_option(flags, parameter.text)):
        return None, why, True
    if is_json and flags and guess.shapes_output(flags, parameter.text, has_value=parameter.form == "value"):
        return None, "the tool's output is JSON, and this gives it another form", False
    return attrs.evolve(parameter, flags=usable, off_flags=off), None, False


def _fixed(command: Command, depth: int, parameter: Parameter) -> Parameter:
    """An option of any number of words takes one where it could not be told what the last of them is."""
    if parameter.is_positional or parameter.words is not None:
        return parameter
    if command.terminator and depth == len(command.levels) - 1:
        return parameter
    return attrs.evolve(
        parameter, words=1, notes=(*parameter.notes, "the program takes several words; one can be given.")
    )


def _says_json(summary: str, command: Command) -> bool:
    """Whether the help says that the output is JSON; a command that can print other things besides is not one."""
    if not re.search(r"\b(?:as|into|to|in) JSON\b", summary.split(". ")[0]):
        return False
    return not any(
        p.form == "value" and "enum" in p.schema and "json" in p.schema["enum"] for p in command.levels[-1].parameters
    )


def _called(parameter: Parameter) -> str:
    """How a note names a parameter."""
    return sanitise(best(parameter.flags) or best(parameter.off_flags) or parameter.name, 80, one_line=True)


def _snake(text: str) -> str:
    parts = re.findall(r"[A-Za-z0-9]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text))
    name = "_".join(parts).lower()[:MAX_WORD].strip("_")
    return name if name and not name[0].isdigit() else f"option_{name}".rstrip("_")


def _names(shown: Sequence[tuple[int, Parameter]], words: Sequence[str]) -> list[str]:
    """A name for each parameter, by what it is and never by its place: on a clash the kind is added, then a hash."""

    def plain(parameter: Parameter) -> str:
        flag = best(parameter.flags) or best(parameter.off_flags)
        if len(flag) == 2 and flag[1].isupper() and parameter.name in (flag, flag[1]):
            return f"upper_{flag[1].lower()}"
        return _snake(flag.lstrip("-") if len(flag) > 2 else parameter.name.lstrip("-") or flag.lstrip("-"))

    last = max((depth for depth, _ in shown), default=0)
    names = [plain(parameter) for _, parameter in shown]

    def clashing() -> set[str]:
        return {name for name in names if names.count(name) > 1 or name == INPUT}

    twice = clashing()
    names = [
        _snake(f"{words[depth]}_{name}") if name in twice and depth < last else name
        for name, (depth, _) in zip(names, shown, strict=True)
    ]
    twice = clashing()
    names = [
        f"{name}_option" if name in twice and not parameter.is_positional else name
        for name, (_, parameter) in zip(names, shown, strict=True)
    ]
    twice = clashing()
    keys = [json.dumps([depth, p.flags, p.off_flags, p.name]) for depth, p in shown]
    # Words of one name can only be told apart by which of them they are.
    return [
        f"{name}_{_hash(key, keys[:index].count(key))}" if name in twice else name
        for index, (name, key) in enumerate(zip(names, keys, strict=True))
    ]


def _hash(key: str, number: int) -> str:
    return hashlib.sha256(f"{key} {number}".encode() if number else key.encode()).hexdigest()[:6]


def _value_schema(parameter: Parameter, command: Command) -> dict[str, Json]:
    """Of one value: a word, or several that belong together."""
    if parameter.words == 1:
        return _word_schema(parameter, parameter.schema, command)
    if parameter.words is not None:
        schemas = parameter.schemas or (parameter.schema,) * parameter.words
        paths = parameter.paths or (bool(parameter.access),) * parameter.words
        words = [attrs.evolve(parameter, access=parameter.access if is_path else None) for is_path in paths]
        each = [_word_schema(word, schema, command) for word, schema in zip(words, schemas, strict=True)]
        items: dict[str, Json] = (
            {"items": each[0]} if all(one == each[0] for one in each) else {"prefixItems": each, "items": False}
        )
        return {"type": "array", **items, "minItems": len(each), "maxItems": len(each)}
    schema = {
        "type": "array",
        "items": _word_schema(parameter, parameter.schema, command),
        "maxItems": MAX_ITEMS,
    }
    return {**schema, "minItems": parameter.at_least} if parameter.at_least else schema


_COMMAS = re.compile(r"\bcomma[- ](?:separated|delimited)\b|\bseparated (?:by|with) (?:a )?commas?\b", re.IGNORECASE)


def _word_schema(parameter: Parameter, schema: Mapping[str, Json], command: Command) -> dict[str, Json]:
    word = dict(schema)
    if parameter.is_positional and word.get("type") == ["number", "string"]:
        return word | {"pattern": "^([^-]|-[0-9.])"}  # behind `--`, where a dash is that of a number
    if word.get("type") != "string" or "enum" in word or "pattern" in word:
        return word
    if parameter.is_positional and command.forbidden:
        word["pattern"] = f"^[^{re.escape(command.forbidden)}-]"
    elif parameter.access:
        word |= {"minLength": 1}
        if _COMMAS.search(parameter.text):  # several paths in one word, of which only the whole would be judged
            word["pattern"] = "^[^,]*$"
    elif not parameter.is_positional and len(best(parameter.flags)) == 2 and not parameter.is_separate:
        # -x and an empty value would be -x alone, and take the next word.
        word["pattern"] = "^[^=]"
    return word


def _property(parameter: Parameter, command: Command, *, is_piped: bool) -> dict[str, Json]:
    schema: dict[str, Json]
    if parameter.form in ("flag", "negatable"):
        schema = {"type": "boolean"}
    elif parameter.form == "count":
        schema = {"type": "integer", "minimum": 0, "maximum": MAX_COUNT}
    elif parameter.repeats:
        schema = {"type": "array", "items": _value_schema(parameter, command), "maxItems": MAX_ITEMS}
        if parameter.required or parameter.at_least:
            schema["minItems"] = max(1, parameter.at_least)
    else:
        schema = _value_schema(parameter, command)
        if parameter.is_optional:
            schema = _or_alone(schema)
        elif parameter.may_repeat and schema.get("type") == "string":
            schema = {**schema, "type": ["string", "array"], "items": {"type": "string"}}
    sentences = [sanitise(parameter.text, MAX_TEXT, one_line=True)]
    if parameter.may_repeat:
        sentences.append("A list says it several times.")
    if parameter.is_optional:
        sentences.append("true gives it without a value.")
    if parameter.repeats and parameter.words != 1:
        sentences.append("A list of lists, each one value.")
    if parameter.form == "value" and parameter.access:
        sentences.append("A path." if not sentences[0] else "")
        if parameter.stdout and not guess.takes_stdout(parameter.text):
            sentences.append("'-' is standard output: it comes back as the answer.")
    if is_piped:
        sentences.append(f"Leave it out to give the text itself as {INPUT}.")
    if shown := _shown_default(parameter):
        sentences.append(f"Default: {shown}.")
    if description := " ".join(_ended(sentence) for sentence in sentences if sentence):
        schema["description"] = description
    return schema


def _or_alone(schema: dict[str, Json]) -> dict[str, Json]:
    """What an option takes that may stand without its value: true is that."""
    if "enum" in schema:
        return {"enum": [*schema["enum"], True, False]}
    types = schema.get("type", "string")
    return {**schema, "type": [*([types] if isinstance(types, str) else types), "boolean"]}


def _ended(sentence: str) -> str:
    return sentence if sentence[-1] in ".!?:…)" else f"{sentence}."


def _shown_default(parameter: Parameter) -> str:
    default = parameter.default
    if default in (None, False, [], (), "", {}) or parameter.form == "count":
        return ""
    if isinstance(default, dict) or "$type" in str(default) or "..." in str(default):
        return ""
    if isinstance(default, int) and default is not True and guess.is_of_the_machine(parameter.name, parameter.text):
        return ""
    shown = sanitise(json.dumps(default, ensure_ascii=False), 120, one_line=True)
    if isinstance(default, str) and default.isprintable() and default.strip() == default:
        shown = sanitise(default, 120, one_line=True)
    return "" if re.search(rf"\bdefaults?\b[^.]*?{re.escape(shown)}", parameter.text, re.IGNORECASE) else shown


def _excluded(
    command: Command, shown: Sequence[tuple[int, Parameter]], names: Sequence[str]
) -> tuple[dict[str, Json] | None, list[str]]:
    """What may not be said together, and sentences that say it; of flags no schema can: one that is false is unsaid."""
    notes: list[str] = []
    last = len(command.levels) - 1
    here = [(key, parameter) for (depth, parameter), key in zip(shown, names, strict=True) if depth == last]
    pairs: list[dict[str, Json]] = []
    numbers = {parameter.group for _, parameter in here if parameter.group is not None}
    groups = dict(enumerate(command.groups[:20])) | {n: False for n in sorted(numbers) if n >= len(command.groups)}
    for number, required in list(groups.items())[:40]:
        known = [(key, parameter) for key, parameter in here if parameter.group == number]
        if len(known) > 1:
            listed = ", ".join(key for key, _ in known)
            notes.append(f"{'Exactly' if required else 'At most'} one of these may be given: {listed}.")
        elif required and known:
            notes.append(f"{known[0][0]} has to be given: what could take its place was dropped.")
        values = [key for key, parameter in known if parameter.form == "value"]
        pairs.extend({"required": [one, other]} for i, one in enumerate(values) for other in values[i + 1 :])
    if not pairs or len(pairs) > 20:
        return None, notes
    return (pairs[0] if len(pairs) == 1 else {"anyOf": pairs}), notes


def _errors(program: Program) -> tuple[dict[str, str], ...]:
    if program.kind == "help":
        return (
            {"code": "INVALID_INPUT", "when": "The arguments do not fit, or the program ends with status 2."},
            {"code": "UPSTREAM_ERROR", "when": "The program ends with another status than 0."},
            {"code": "TIMEOUT", "when": "The program takes too long and is ended."},
        )
    return (
        {"code": "INVALID_INPUT", "when": "The arguments do not fit, or the program refuses them (status 2)."},
        {"code": "NOT_FOUND", "when": "The program says that something it needs does not exist."},
        {"code": "CONFLICT", "when": "The program says that something exists already."},
        {"code": "UPSTREAM_ERROR", "when": "The program ends with another error."},
        {"code": "TIMEOUT", "when": "The program takes too long and is ended."},
    )


def program_id(name: str) -> str:
    """The name of a program as an id of the manifest."""
    kept = re.sub(r"[^a-zA-Z0-9_.-]", "_", name)[:MAX_WORD].lstrip(".-") or "program"
    return kept if _ID.fullmatch(kept) else "program"


def split(found: Iterable[Draft | LeftOut]) -> tuple[tuple[Draft, ...], tuple[LeftOut, ...]]:
    """Drafts and what was left out, each sorted by its id; of two drafts with one id the first stays."""
    drafts: dict[str, Draft] = {}
    left: list[LeftOut] = []
    for one in found:
        if isinstance(one, LeftOut):
            left.append(one)
        elif one.id in drafts:
            left.append(LeftOut(one.id, "another command has the same path", one.where))
        else:
            drafts[one.id] = one
    return tuple(drafts[key] for key in sorted(drafts)), tuple(sorted(left, key=lambda one: (one.id, one.why)))
