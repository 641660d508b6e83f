"""`toolgen.toml`: what a person says about the tools before they are made. Made once, with comments, and then theirs.

Text in, `Hints` out; nothing here reads a file. A key that nobody knows is refused with the nearest one, and a hint
that fits no tool is an error: a misspelt `exclude` would otherwise let a tool onto the board.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, get_args

import attrs

from pegboard import ConfigError
from pegboard.config import parse_toml
from pegboard_toolgen._texts import counted, shown
from pegboard_toolgen.drafts import Category, Draft, Risk
from pegboard_toolgen.names import fits_any, nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

FILE = "toolgen.toml"
ASKED = "--include"
MAX_FAULTS = 50
MAX_LISTED = 200
CATEGORIES: tuple[str, ...] = get_args(Category)
RISKS: tuple[str, ...] = get_args(Risk)
Strictness = Literal["declared", "open", "any"]


@attrs.frozen(kw_only=True)
class ToolHints:
    """`[tools."NAME or id"]`: what is said of one tool; None where nothing is said."""

    name: str | None = None
    title: str | None = None
    description: str | None = None
    category: Category | None = None
    risk: Risk | None = None
    idempotency: Literal["idempotent", "not_idempotent", "unknown"] | None = None
    timeout_ms: int | None = None
    rate_limit: str | None = None
    output: Strictness | None = None
    examples: tuple[Mapping[str, Any], ...] = ()
    side_effects: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    allowed_paths: tuple[str, ...] | None = None
    success: tuple[int, ...] | None = None
    show: tuple[str, ...] = ()
    lean: bool | None = None


@attrs.frozen(kw_only=True)
class Hints:
    """All of `toolgen.toml`.

    Args:
        include: globs over ids, names and tags; what fits none is left out. Empty: everything.
        exclude: globs; what fits one is left out.
        asked: the same of `--include`, now or the last time.
        safe: globs over tools that run a caller's code, and are taken all the same.
        read_only: take only tools that change nothing.
        lean: leave out what a tool of many parameters does not show.
        categories: category by globs; the first that fits counts, in the order of the file.
        output: how far an answer may differ from what the source says, and globs for others.
        timeout_ms: of every tool whose source says none.
        rate_limit: of every tool.
        schema_bytes: how large the schemas of one tool may be, as it is listed.
        unreachable: what a source is to `check` that is gone or cannot be read: an error, or a note.
        project, servers, programs, modules: laid over what discovery found, key by key.
        tools: by id or name.

    .. versionadded:: 0.1
    """

    include: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    safe: tuple[str, ...] = ()
    read_only: bool = False
    lean: bool = False
    categories: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict)
    output: Strictness = "declared"
    open_output: tuple[str, ...] = ()
    any_output: tuple[str, ...] = ()
    timeout_ms: int | None = None
    rate_limit: str | None = None
    schema_bytes: int = 16_000
    unreachable: Literal["error", "note"] = "error"
    project: Mapping[str, Any] = attrs.field(factory=dict)
    servers: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)
    programs: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)
    modules: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)
    tools: Mapping[str, ToolHints] = attrs.field(factory=dict)

    @property
    def wanted(self) -> tuple[str, ...]:
        """The globs that say what is taken; none: everything that a source names as its own."""
        return (*self.include, *self.asked)


@attrs.frozen
class _Field:
    kind: str
    of: tuple[str, ...] = ()
    least: int = 1
    most: int = 86_400_000


_TEXT, _TEXTS, _FLAG, _RATE = _Field("text"), _Field("texts"), _Field("flag"), _Field("rate")
_STRICT = _Field("text", get_args(Strictness))
_TOOL: Mapping[str, _Field] = {
    "name": _TEXT, "title": _TEXT, "description": _TEXT,
    "category": _Field("text", CATEGORIES), "risk": _Field("text", RISKS),
    "idempotency": _Field("text", ("idempotent", "not_idempotent", "unknown")),
    "timeout_ms": _Field("number"), "rate_limit": _RATE, "output": _STRICT, "examples": _Field("examples"),
    "side_effects": _TEXTS, "notes": _TEXTS, "allowed_paths": _TEXTS,
    "success": _Field("numbers", least=-64, most=255), "show": _TEXTS, "lean": _FLAG,
}  # fmt: skip
_SECTIONS: Mapping[str, Mapping[str, _Field]] = {
    "select": {"include": _TEXTS, "exclude": _TEXTS, "safe": _TEXTS, "read_only": _FLAG, "lean": _FLAG},
    "categories": dict.fromkeys(CATEGORIES, _TEXTS),
    "output": {"default": _STRICT, "open": _TEXTS, "any": _TEXTS},
    "limits": {"timeout_ms": _Field("number"), "rate_limit": _RATE,
               "schema_bytes": _Field("number", least=1_000, most=1_000_000)},
    "check": {"unreachable": _Field("text", ("error", "note"))},
    "project": {
        "name": _TEXT, "version": _TEXT, "description": _TEXT, "entrypoint": _TEXT,
        "type": _Field("text", ("program", "library", "http-api", "mixed")),
    },
}  # fmt: skip
_PLACES: Mapping[str, Mapping[str, _Field]] = {
    "servers": {
        "base_url": _TEXT, "base_url_env": _TEXT, "allowed_hosts": _TEXTS, "auth": _Field("tables"),
        "redirects": _Field("text", ("none", "same-origin")), "retries": _Field("number", least=0, most=5),
    },
    "programs": {
        "argv0": _TEXTS, "argv0_env": _TEXT, "environment": _TEXTS, "set_environment": _Field("table"), "cwd": _TEXT,
        "allowed_paths": _TEXTS,
    },
    "modules": {"isolate": _Field("text", ("inline", "thread", "process")), "distribution": _TEXT},
}  # fmt: skip
_AUTH: Mapping[str, _Field] = {
    "kind": _Field("text", ("bearer", "basic", "header", "query", "cookie")), "name": _TEXT, "secret_env": _TEXT,
    "username_env": _TEXT, "required": _FLAG, "scheme": _TEXT,
}  # fmt: skip
_EXAMPLE: Mapping[str, _Field] = {"input": _Field("table"), "output": _Field("any"), "description": _TEXT}


def read_hints(text: str | bytes) -> Hints:
    """Read `toolgen.toml`.

    Raises:
        ConfigError: it is not TOML, or says what nobody knows; every fault is named.

    .. versionadded:: 0.1
    """
    try:
        table = parse_toml(text if isinstance(text, str) else text.decode())
    except ValueError as problem:
        raise ConfigError(
            f"{FILE} is not TOML: {shown(problem)}", hint="repair it, or delete it: init writes a new one"
        ) from None
    reader = _HintsReader()
    hints = reader.hints(table)
    if reader.faults:
        more = len(reader.faults) - MAX_FAULTS
        lines = reader.faults[:MAX_FAULTS] + ([f"and {counted(more, 'fault')} more"] if more > 0 else [])
        raise ConfigError("\n  ".join([f"{FILE} has {counted(len(reader.faults), 'fault')}:", *lines]))
    return hints


class _UnfitError(Exception):
    """A value is not what was expected; the text says what that is."""


def _require(is_right: bool, expected: str) -> None:
    if not is_right:
        raise _UnfitError(expected)


class _HintsReader:
    def __init__(self) -> None:
        self.faults: list[str] = []

    def hints(self, table: Mapping[str, Any]) -> Hints:
        known = {*_SECTIONS, *_PLACES, "tools"}
        self._refuse_unknown(table, known, "")
        found = {section: self._table(table.get(section, {}), fields, section) for section, fields in _SECTIONS.items()}
        places = {place: self._places(table.get(place, {}), place) for place in _PLACES}
        tools = {
            key: ToolHints(**self._table(value, _TOOL, f'tools."{shown(key, 60)}"'))
            for key, value in self._tables(table.get("tools", {}), "tools").items()
        }
        output = found["output"]
        members: dict[str, Any] = {**found["select"], **found["limits"], **found["check"], **places}
        return Hints(
            **members,
            categories=found["categories"],
            output=output.get("default", "declared"),
            open_output=output.get("open", ()),
            any_output=output.get("any", ()),
            project=found["project"],
            tools=tools,
        )

    def _places(self, value: Any, place: str) -> dict[str, Any]:
        return {
            key: self._table(table, _PLACES[place], f"{place}.{shown(key, 60)}")
            for key, table in self._tables(value, place).items()
        }

    def _tables(self, value: Any, where: str) -> dict[str, Any]:
        if isinstance(value, dict):
            return value
        self.faults.append(f"{where}: expected a table")
        return {}

    def _table(self, value: Any, fields: Mapping[str, _Field], where: str) -> dict[str, Any]:
        table = self._tables(value, where)
        self._refuse_unknown(table, fields, where)
        found = {}
        for key, item in table.items():
            if key in fields:
                read = self._value(item, fields[key], f"{where}.{key}")
                if read is not None:
                    found[key] = read
        return found

    def _refuse_unknown(self, table: Mapping[str, Any], known: Collection[str], where: str) -> None:
        for key in table:
            if key not in known:
                near = nearest(key, known)
                hint = f"did you mean {near}?" if near else f"known are {', '.join(sorted(known))}"
                self.faults.append(f"{where + '.' if where else ''}{shown(key, 60)}: nothing is called so ({hint})")

    def _value(self, value: Any, field: _Field, where: str) -> Any:
        try:
            return self._READERS[field.kind](self, value, field, where)
        except _UnfitError as problem:
            self.faults.append(f"{where}: expected {problem}, got {shown(repr(value), 60)}")
            return None

    def _text(self, value: Any, field: _Field, where: str) -> Any:
        _require(isinstance(value, str) and (not field.of or value in field.of),
                 f"one of {', '.join(field.of)}" if field.of else "a text")  # fmt: skip
        return value

    def _texts(self, value: Any, field: _Field, where: str) -> Any:
        _require(isinstance(value, list) and all(isinstance(item, str) for item in value), "a list of texts")
        return tuple(value)

    def _flag(self, value: Any, field: _Field, where: str) -> Any:
        _require(isinstance(value, bool), "true or false")
        return value

    def _number(self, value: Any, field: _Field, where: str) -> Any:
        is_right = isinstance(value, int) and not isinstance(value, bool) and field.least <= value <= field.most
        _require(is_right, f"a whole number from {field.least:,} to {field.most:,}")
        return value

    def _numbers(self, value: Any, field: _Field, where: str) -> Any:
        _require(isinstance(value, list) and bool(value), "a list of whole numbers")
        return tuple(self._number(item, field, where) for item in value)

    def _rate(self, value: Any, field: _Field, where: str) -> Any:
        from pegboard import RateLimit

        try:
            RateLimit.parse(value)
        except (ValueError, TypeError, AttributeError):
            raise _UnfitError('a rate such as "10/minute"') from None
        return value

    def _any(self, value: Any, field: _Field, where: str) -> Any:
        _require(_is_json(value), "a JSON value, without dates")
        return value

    def _tables_of(self, value: Any, fields: Mapping[str, _Field], where: str) -> list[dict[str, Any]]:
        _require(isinstance(value, list), "a list of tables")
        return [self._table(item, fields, f"{where}[{index}]") for index, item in enumerate(value)]

    def _examples(self, value: Any, field: _Field, where: str) -> Any:
        found = self._tables_of(value, _EXAMPLE, where)
        for index, example in enumerate(found):
            if "input" not in example:
                self.faults.append(f"{where}[{index}]: expected input, a table")
        return tuple(found)

    def _free_table(self, value: Any, field: _Field, where: str) -> Any:
        _require(isinstance(value, dict) and _is_json(value), "a table of JSON values")
        return value

    def _auth(self, value: Any, field: _Field, where: str) -> Any:
        return self._tables_of(value, _AUTH, where)

    _READERS = {  # noqa: RUF012 - never changed
        "text": _text, "texts": _texts, "flag": _flag, "number": _number, "numbers": _numbers, "rate": _rate,
        "any": _any, "table": _free_table, "tables": _auth, "examples": _examples,
    }  # fmt: skip


def _is_json(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_is_json, value.values()))
    if isinstance(value, list):
        return all(map(_is_json, value))
    return value is None or isinstance(value, (str, bool, int)) or (isinstance(value, float) and value - value == 0)


# -- which tool a hint means


class Matcher:
    """Finds the tools that hints mean, and remembers which hints meant none.

    Args:
        drafts: every draft.
        names: the name of each id.
        known_as: ids by names that they had, or would have without hints.
    """

    def __init__(
        self, drafts: Iterable[Draft], names: Mapping[str, str], known_as: Mapping[str, str] | None = None
    ) -> None:
        once: dict[str, list[str]] = {}
        for name, id_ in (known_as or {}).items():
            once.setdefault(id_, []).append(name)
        self._known = {draft.id: (names[draft.id], *draft.tags, *once.get(draft.id, ())) for draft in drafts}
        self.by_name = {**(known_as or {}), **{names[id_]: id_ for id_ in self._known}}
        self._found: dict[str, frozenset[str]] = {}
        self.unmatched: list[str] = []

    def ids_of(self, glob: str, where: str) -> frozenset[str]:
        """The ids that a glob fits; `*` and `?` as in file names, everything else as it stands."""
        if glob not in self._found:
            exact = {self.by_name.get(glob, glob)} & self._known.keys()
            self._found[glob] = frozenset(
                exact or (key for key, names in self._known.items() if fits_any((glob,), key, names))
            )
        if not self._found[glob]:
            self._miss(glob, where)
        return self._found[glob]

    def ids_of_all(self, globs: Sequence[str], where: str) -> set[str]:
        """The ids that any of these globs fits."""
        return {one for glob in globs for one in self.ids_of(glob, where)}

    def id_of(self, key: str, where: str) -> str | None:
        """The tool of this id or name."""
        found = key if key in self._known else self.by_name.get(key)
        if found is None:
            self._miss(key, where)
        return found

    def _miss(self, glob: str, where: str) -> None:
        near = nearest(glob, {*self._known, *self.by_name})
        hint = f" (did you mean {shown(near, 100)}?)" if near else ""
        line = f"{where}: {shown(glob, 100)!r} fits no tool of the source{hint}"
        if line not in self.unmatched:
            self.unmatched.append(line)

    def raise_unmatched(self) -> None:
        """Refuse hints that mean nothing.

        Raises:
            ConfigError: some did; each is named.
        """
        if self.unmatched:
            place = "" if all(line.startswith(ASKED) for line in self.unmatched) else f"{FILE}: "
            head = f"{place}{counted(len(self.unmatched), 'hint fits', 'hints fit')} nothing:"
            raise ConfigError(
                "\n  ".join([head, *self.unmatched[:MAX_FAULTS]]),
                hint="repair them, or take them out; ids stand in tools.draft.json",
            )


def chosen_names(hints: Hints, ids: Collection[str], known_as: Mapping[str, str]) -> dict[str, str]:
    """The names that hints give, by id; hints that mean nothing are skipped here."""
    return {
        key if key in ids else known_as[key]: table.name
        for key, table in hints.tools.items()
        if table.name is not None and (key in ids or key in known_as)
    }


# -- the file as it is made


_TEMPLATE = """\
# What becomes a tool, and what is said of it. This file is yours: it is made once and never written again.
# `pegboard toolgen init` reads it. A hint that fits nothing is an error. Ids and reasons: tools.draft.json.

[select]
# Globs over ids, what they bind (humanize.int*), names and tags of the source. Nothing here: everything that the source
# names as its own; modules that a package does not re-export have to be asked for.
{include}
# exclude = ["*_delete_*"]
# Take only tools that change nothing.
# read_only = true
# Of a tool with more than 40 parameters those that matter are shown, the rest is in one object. Leave it out:
# lean = true
# Tools that run a caller's code are left out, unless they are named here.
# safe = ["{example}"]

[categories]
# What a tool does, where its source does not say: read and analytics change nothing. Unknown is write.
# read = ["{example}"]
# analytics = []
# write = []
# admin = []

[limits]
# timeout_ms = 30000
# rate_limit = "60/minute"
# schema_bytes = 16000

[output]
# Answers that differ from what the source says of them: "declared" holds them to it, "open" to the types alone,
# "any" takes everything.
# default = "declared"
# open = []
# any = []

[check]
# What `pegboard toolgen check` makes of a source that is gone or cannot be read: "error" (it ends with 1), or "note".
# unreachable = "error"

# [servers.api]
# base_url = "https://api.example.com"
# base_url_env = "API_URL"
# auth = [{{ kind = "bearer", secret_env = "API_TOKEN" }}]

# [programs.NAME]
# allowed_paths = ["data"]
# environment = ["MY_SETTING"]

# [tools."{example}"]
# name = "a_better_name"
# description = "When to call it, and when not."
# category = "read"
# risk = "low"
# timeout_ms = 5000
# success = [0, 1]
# show = ["a_parameter"]
# examples = [{{ input = {{}}, output = {{}} }}]
"""
_SAFE_ID = re.compile(r"[A-Za-z0-9 _.:/{}*-]{1,200}")


def new_hints(example: str = "", include: Sequence[str] = (), listed: Sequence[str] = ()) -> str:
    """The text of a first `toolgen.toml`.

    Args:
        example: a tool's id, for the comments.
        include: the ids that were selected.
        listed: ids to choose from, as comments.
    """
    if include:
        listed = "\n".join(f"  {toml_text(one)}," for one in include)
        selected = f"include = [\n{listed}\n]"
    elif listed:
        lines = "\n".join(f"#  {toml_text(one)}," for one in listed[:MAX_LISTED])
        if len(listed) > MAX_LISTED:
            lines += f"\n#  and {len(listed) - MAX_LISTED:,} more: see tools.draft.json"
        selected = f"# Choose from these; what documents speak of most stands first:\n# include = [\n{lines}\n# ]"
    else:
        selected = '# include = ["*"]'
    # A foreign text is put into a comment only where nothing in it could end that comment.
    return _TEMPLATE.format(include=selected, example=example if _SAFE_ID.fullmatch(example) else "ID")


def toml_text(text: str) -> str:
    """A TOML basic string; everything beyond plain ASCII is escaped."""
    out = []
    for character in text:
        code = ord(character)
        if character in '"\\':
            out.append("\\" + character)
        elif 0x20 <= code < 0x7F:
            out.append(character)
        else:
            out.append(f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
    return '"' + "".join(out) + '"'
