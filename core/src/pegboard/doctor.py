"""The core's own checks for `pegboard doctor`, as a plugin like any other.

Each check looks at a board and says what is or will be wrong, where, why, and how to repair it. `DOCTORED` names them
in the order they are asked. What an open host alone can know - resources that would not open - is asked by the command.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from typing import TYPE_CHECKING

from pegboard._renamed import former_names
from pegboard.contract import Finding
from pegboard.hookspecs import hookimpl
from pegboard.marks import CONTRADICTION, LOOK_ALIKE, ORDERS, TITLE, marks_of, plain, texts_of
from pegboard.text import HIDDEN_CHARACTERS as HIDDEN_CHARACTERS  # its old place
from pegboard.text import WORDS, clean, describe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pegboard.contract import Check
    from pegboard.registry.board import Board
    from pegboard.registry.conflicts import RejectedTool
    from pegboard.tools import Tool

__getattr__ = former_names(__name__, {"HIDDEN": "HIDDEN_CHARACTERS"})

SLOW_IMPORT_S = 0.25
"""A plugin that takes longer to import makes every command slow, in seconds."""

SAFE_NAME = "^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$"
PROVIDER_NAMES = {
    "OpenAI": "[A-Za-z0-9_-]{1,64}",
    "Anthropic": "[A-Za-z0-9_-]{1,128}",
    "Gemini": "[A-Za-z_][A-Za-z0-9_.-]{0,127}",
}
"""Which names of tools each provider takes, as it documents them; `SAFE_NAME` fits all."""
PROPERTY_NAME = "[a-zA-Z0-9_.-]{1,64}"
"""Names of properties that Anthropic takes; the others take more."""
MAX_DESCRIPTION = 1024
"""Characters of a tool's description that OpenAI takes."""
MAX_TOOLS = 128
"""Tools that OpenAI takes in one request."""
ROOT_CHOICES = ("anyOf", "oneOf", "allOf", "not", "enum", "if")
"""Keywords that OpenAI and Anthropic refuse at the root of a schema."""

MARKS = {
    LOOK_ALIKE: ("two names look alike", "make sure which one you mean, or leave one out: disabled_tools, a profile"),
    TITLE: ("a title is the name of another tool", "trust the name and not the title; ask who runs the server"),
    ORDERS: ("a text reads like an order", "read it with care: a model may follow it; leave the tool out if in doubt"),
    CONTRADICTION: (
        "a tool says other than its name",
        "believe neither: look at what it does, and hold it to [tools.NAME] or to a confirmation",
    ),
}
"""What doctor says of each kind of mark: that it is so, and what to do."""


@hookimpl
def provide_checks() -> list[Check]:
    """All of `DOCTORED`."""
    return list(DOCTORED)


def check_plugins(board: Board) -> Iterator[Finding]:
    """Plugins that are quarantined, and those that are slow to import."""
    for record in board.plugins:
        where = f"plugin {record.label}"
        if record.quarantined is not None:
            yield Finding(
                "a plugin is quarantined",
                where,
                record.quarantined,
                record.cure or f"pip install --upgrade {record.distribution}",
            )
        elif record.import_s > SLOW_IMPORT_S and not record.builtin:
            yield Finding(
                "a plugin is slow to import", where, f"it took {record.import_s:.2f} s, which every command pays",
                "import heavy modules inside the handlers that need them", "warning",
            )  # fmt: skip


def check_versions(board: Board) -> Iterator[Finding]:
    """Plugins that want another version of the core than this one."""
    import pegboard
    from pegboard._versions import refused_version

    names = {record.distribution: record for record in board.plugins if record.distribution and not record.builtin}
    for name, record in names.items():
        if (wanted := refused_version(name, pegboard.__version__)) is not None:
            yield Finding(
                "a plugin is made for another version", f"plugin {record.label}",
                f"it wants {wanted}, and this is pegboard {pegboard.__version__}",
                f"pip install --upgrade {name} pegboard", "warning",
            )  # fmt: skip


def check_rejected(board: Board) -> Iterator[Finding]:
    """Tools that were rejected, and names that two plugins claim."""
    for absent in board.rejected_tools.values():
        where = f"tool {absent.name} of {absent.origin}"
        if absent.is_disabled:
            yield Finding("a tool is disabled", where, absent.why, absent.fix, "note")
        elif not absent.is_held:
            yield Finding("a tool is not on the board", where, absent.why, absent.fix)
    yield from _held(board)
    for name, entry in board.registry.plans.items():
        error = getattr(entry, "error", None)
        if error is not None and error.details.get("reason") == "conflict" and name not in board.rejected_tools:
            owners = error.details.get("owners") or ["DISTRIBUTION"]
            yield Finding(
                "two plugins claim one name", f"tool {name}", error.message, f'[tools.{name}] from = "{owners[0]}"'
            )


def _held(board: Board) -> Iterator[Finding]:
    """What a person has to accept first; what one deed lets through is one finding, however much it is."""
    from pegboard.absence import some_of

    found: dict[tuple[str, str], list[RejectedTool]] = {}
    for one in board.held:
        found.setdefault((one.why, one.all_fix or one.fix), []).append(one)
    for (why, fix), those in found.items():
        first, *others = those
        if others:
            kinds = Counter(one.kind for one in those)
            counts = ", ".join(f"{count} {kind}{'' if count == 1 else 's'}" for kind, count in kinds.items())
            names = some_of([plain(one.name) for one in those])
            yield Finding("tools are held back", f"{counts}: {names}", why, fix)
        elif first.kind == "tool":
            yield Finding("a tool is not on the board", f"tool {first.name} of {first.origin}", why, first.fix)
        else:
            yield Finding(f"a {first.kind} is held back", f"{plain(first.name)} of {first.origin}", why, first.fix)


def check_annotations(board: Board) -> Iterator[Finding]:
    """Tools that say of themselves that they are read-only and destructive."""
    for name, entry in board.registry.plans.items():
        if entry.tool.annotations.says_both:
            yield Finding(
                "a tool contradicts itself", f"tool {name} of {entry.tool.origin}",
                "it says that it is read-only and that it is destructive; it counts as destructive",
                "ask its author which it is", "warning",
            )  # fmt: skip


def check_validators(board: Board) -> Iterator[Finding]:
    """Validators that broke on a schema; another one holds it, or its tool is not registered."""
    for plugin, where in board.failed_validators.items():
        yield Finding("a validator failed", f"plugin {plugin}", where, "report it to its author, or uninstall it")


def _plain_names(board: Board) -> list[str]:
    """Names that several sources want, so that no tool has them; what is said of one holds for the tools of all."""
    return [name for one in _tools(board) if (name := one.plain_name) is not None]


def tools_that_are_not_there(board: Board) -> Iterator[tuple[str, str | None]]:
    """Names of sections `[tools.NAME]` that no tool has, each with the nearest name; tools that are off are there."""
    names = [*board.registry.plans, *board.rejected_tools]
    known = {_fold(name) for name in (*names, *_plain_names(board), "read_result")}
    for name in board.config.tools:
        if _fold(name) not in known:
            from pegboard.schema.near import nearest

            yield name, nearest(name, names)


def check_configuration(board: Board) -> Iterator[Finding]:
    """Settings that have no effect: tools that are not there, profiles that select nothing, guards that nobody has."""
    plans, config = board.registry.plans, board.config
    yield from _policies_of_nothing(board)
    for name, near in tools_that_are_not_there(board):
        fix = f"write [tools.{near}]" if near else "remove it, or install the plugin that brings the tool"
        yield Finding(
            "settings of a tool that is not there", f"[tools.{name}]", "no such tool is registered", fix, "warning"
        )
    for name, profile in config.profiles.items():
        if plans and not any(profile.selects(entry.tool) for entry in plans.values()):
            yield Finding(
                "a profile selects nothing", f"[profiles.{name}]", "no tool on the board fits what it selects",
                "name tools, tags, categories or sources that pegboard list shows", "warning",
            )  # fmt: skip
    guards = {guard.name for entry in plans.values() for guard in getattr(entry, "guards", ())}
    for name in sorted(set(config.observe) - guards):
        yield Finding(
            "a guard is to observe that nobody has", "observe", f"no tool has a guard {name!r}",
            f"remove it, or write one of {', '.join(sorted(guards)) or 'none'}", "warning",
        )  # fmt: skip


def _policies_of_nothing(board: Board) -> Iterator[Finding]:
    """Names in `[flows]` and `[secrets]` that nothing has: what was to be refused or asked about is not."""
    from pegboard.config._policies import policy_names
    from pegboard.schema.near import nearest

    said = {"flows": board.config.core.flows, "secrets": board.config.core.secrets}
    known = {name for one in _tools(board) for name in policy_names(one.origin, one.name, one.tags)}
    known |= {name for one in board.rejected_tools.values() for name in policy_names(one.origin, one.name)}
    known |= {source.name for _, source in board.sources} | set(_plain_names(board)) | board.plugins.records.keys()
    known |= {one.distribution for one in board.plugins.records.values() if one.distribution}
    for table, part in [(table, part) for table in said for part in ("from", "to")]:
        for name in said[table].get(part, ()):
            if name in known or board.sources_away(name):
                continue
            near = nearest(name, known)
            fix = f"write {near}" if near else "remove it, or write a tool or a source that pegboard list shows"
            yield Finding(
                f"[{table}] names what is not there", f"[{table}.{part}] {name}",
                "no tool, tag, source, plugin or distribution is called so, so it has no effect", fix, "warning",
            )  # fmt: skip


def check_secrets(board: Board) -> Iterator[Finding]:
    """Secrets that tools declare and nobody set."""
    for tool in _tools(board):
        for name in sorted(tool.secrets):
            if not os.environ.get(name):
                yield Finding(
                    "a secret is not set", f"tool {tool.name}", f"it asks for {name}, which is not set",
                    f"set the environment variable {name}", "warning",
                )  # fmt: skip


def check_names(board: Board) -> Iterator[Finding]:
    """Names that a model provider would refuse."""
    for tool in _tools(board):
        if re.fullmatch(SAFE_NAME[1:-1], tool.name):
            continue
        refused = [who for who, pattern in PROVIDER_NAMES.items() if not re.fullmatch(pattern, tool.name)]
        who = ", ".join(refused) or "some providers"
        yield Finding(
            "a name does not fit every provider", _where(tool), f"{who} would refuse it", f"use a name of {SAFE_NAME}",
            "warning",
        )  # fmt: skip
    if len(board.tools) > MAX_TOOLS:
        yield Finding(
            "more tools than every provider takes", "the board",
            f"{len(board.tools)} tools are registered, and OpenAI takes {MAX_TOOLS} in one request",
            "select fewer: [profiles.NAME] with tools, tags or categories", "warning",
        )  # fmt: skip


def check_schemas(board: Board) -> Iterator[Finding]:
    """Schemas and descriptions that a model provider would refuse, or that say what nobody reads."""
    for tool in _tools(board):
        for why, fix in _provider_faults(tool):
            yield Finding("a provider would refuse the tool", _where(tool), why, fix, "warning")
        if not tool.description.strip():
            yield Finding(
                "a tool has no description", _where(tool), "a model has nothing to choose it by", "write one", "warning"
            )
        if tool.origin.source is not None:
            yield from _annotations(tool)


def _provider_faults(tool: Tool) -> Iterator[tuple[str, str]]:
    schema = tool.input_schema
    if schema.get("type") != "object":
        yield "the root of its input schema is not of type object", 'write "type": "object" at the root'
    for keyword in ROOT_CHOICES:
        if keyword in schema:
            yield f"its input schema has {keyword} at the root", f"move {keyword} into a property"
    if "$ref" in schema:
        yield "the root of its input schema is a reference", "write out what it points to at the root"
    properties = schema.get("properties")
    for name in properties if isinstance(properties, dict) else ():
        if not re.fullmatch(PROPERTY_NAME, name):
            yield f"Anthropic refuses the parameter {name[:60]!r}", f"use a name of {PROPERTY_NAME}"
    if len(tool.description) > MAX_DESCRIPTION:
        yield (
            f"its description has {len(tool.description)} characters, and OpenAI takes {MAX_DESCRIPTION}",
            "say it shorter, and the rest at the parameters",
        )


def _annotations(tool: Tool) -> Iterator[Finding]:
    from pegboard.schema.check import annotations_of

    for what, schema in (("input_schema", tool.input_schema), ("output_schema", tool.output_schema)):
        for fault in annotations_of(schema) if schema is not None else ():
            yield Finding(
                "a schema says what nobody holds", f"{_where(tool)}, {what}", str(fault),
                "nothing checks it; tell its author if it is a slip", "warning",
            )  # fmt: skip


def check_texts(board: Board) -> Iterator[Finding]:
    """Texts that a model reads and a person does not see."""
    for tool in _tools(board):
        for place, text in texts_of(tool):
            for what in hidden_in(text):
                yield Finding(
                    "hidden characters", f"{_where(tool)}, {place}", f"there are {what}",
                    "read it with care, and remove them: they can carry orders to a model that nobody sees",
                )  # fmt: skip


def hidden_in(text: str) -> list[str]:
    """What hides in a text, as words; see `pegboard.text`."""
    return [WORDS[kind] for kind in clean(text)[1]]


def check_marks(board: Board) -> Iterator[Finding]:
    """Names that look alike, titles that are names of others, texts that read like orders, annotations that a name
    denies; notes, and never more."""
    for mark in marks_of(_tools(board)):
        if mark.kind in MARKS:
            what, fix = MARKS[mark.kind]
            yield Finding(what, f"{_where(mark.tool)}, {mark.where}", mark.why, fix, "note")


def check_limit_store(board: Board) -> Iterator[Finding]:
    """Where cooldown, rate and concurrency are counted, and who shares that."""
    count = sum(entry.tool.limits.is_counted for entry in board.registry.plans.values())
    if not count or board.limit_stores.problem() is not None:
        return  # those tools say so themselves
    name, store = board.limit_stores.choose()
    tools = "a tool" if count == 1 else f"{count} tools"
    if store is None:
        yield Finding(
            "limits are not shared", "limit store memory",
            f"each process counts the calls of {tools} alone", 'to share them: [core] limit_store = "sqlite"', "note",
        )  # fmt: skip
        return
    if (broken := getattr(store, "find_problem", None)) is not None and broken() is not None:
        return  # its own check says so
    where = f" in {str(store.where)[:300]}" if hasattr(store, "where") else ""
    fails = "" if board.config.core.limit_store_fails == "closed" else "; where that fails, calls pass uncounted"
    yield Finding(
        "limits are shared", f"limit store {plain(name)}",
        f"the calls of {tools} are counted{where}, together with those of other processes{fails}",
        'to count alone: [core] limit_store = "memory"', "note",
    )  # fmt: skip


def check_running(board: Board) -> Iterator[Finding]:
    """What a board that runs left behind: threads, observers that fail, sources that do."""
    for name, count in board.runtime.threads.left_behind.items():
        yield Finding(
            "threads are left behind", f"tool {name}", f"{count} outlived their deadline and still run",
            'let it ask `check_cancelled`, or declare run="process", where a deadline ends it',
        )  # fmt: skip
    for plugin, count in board.runtime.failed_observers.items():
        why = f"it raised in {count} calls; the calls did not notice"
        yield Finding(
            "an observer fails", f"plugin {plugin}", why, "repair it; pegboard --debug shows the cause", "warning"
        )
    for name, counts in board.runtime.cleaned.items():
        yield Finding(
            "results hid characters", f"tool {plain(name)}", f"taken out of them: {describe(counts)}",
            "look at where they come from: what hides can carry orders to a model; data that is not text stays as "
            'it is with results = "raw"', "note",
        )  # fmt: skip
    for name, (state, reason) in board.source_states.items():
        if state.value in ("failed", "backing_off"):
            yield Finding("a source is down", f"source {name}", reason or state.value, "repair what it connects to")


DOCTORED: tuple[Check, ...] = (
    check_plugins,
    check_versions,
    check_rejected,
    check_annotations,
    check_validators,
    check_configuration,
    check_secrets,
    check_names,
    check_schemas,
    check_texts,
    check_marks,
    check_limit_store,
    check_running,
)


def _tools(board: Board) -> list[Tool]:
    return [entry.tool for _, entry in sorted(board.registry.plans.items())]


def _where(tool: Tool) -> str:
    return f"tool {plain(tool.name)} of {tool.origin}"


def _fold(name: str) -> str:
    return name.lower().replace("-", "_")
