"""The publish gate: what `pegboard check` holds of a package before others install it.

Each step asks one question and answers with what it saw and how to repair it. The plugin is loaded as a user's host
loads it, alone and strict. Only read-only tools are run, on their own examples and on hostile texts: a gate must not
write.

.. versionadded:: 0.1
"""

from __future__ import annotations

import difflib
import gc
import json
import re
import subprocess
import sys
import threading
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from pegboard._frozen import thaw
from pegboard._installed import installed_plugins
from pegboard.config import write_hint
from pegboard.config._files import load_bytes
from pegboard.doctor import SAFE_NAME, SLOW_IMPORT_S, hidden_in
from pegboard.errors import ErrorCode, PegboardError, PluginError
from pegboard.limits import JSON_BYTES
from pegboard.schema import faults_of_value
from pegboard.schema.near import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pegboard.errors import Fault
    from pegboard.registry.board import Board
    from pegboard.session import Session
    from pegboard.tools import Tool

HEAVY = frozenset(
    [
        "aiohttp",
        "anthropic",
        "asyncio",
        "boto3",
        "fastjsonschema",
        "google",
        "grpc",
        "httpx",
        "httpx2",
        "jsonschema_rs",
        "matplotlib",
        "mcp",
        "numpy",
        "openai",
        "onnxruntime",
        "pandas",
        "PIL",
        "psycopg",
        "pydantic",
        "requests",
        "rich",
        "scipy",
        "sqlalchemy",
        "starlette",
        "tensorflow",
        "torch",
        "trio",
    ]
)
"""Modules that a plugin imports where it uses them, not where it is loaded."""

MAX_MODULES = 150
"""Modules that loading a plugin may add to those of `import pegboard`."""

PROMPT_S = 1.0
"""Within this a cancelled call has to be over, in seconds."""

HOSTILE = (
    "",
    " ",
    "\x00",
    "'; DROP TABLE tools; --",
    "../../etc/passwd",
    "${HOME}",
    "\u202egnp.exe",
    "9" * 400,
    "x" * 20_000,
)

PYPROJECT = "pyproject.toml"
SURFACE = "surface.json"


@attrs.frozen
class Step:
    """One question of the gate: its name, whether it passed, what was seen, how to repair it.

    .. versionadded:: 0.1
    """

    name: str
    ok: bool
    seen: str
    fix: str = ""

    def to_json(self) -> dict[str, Any]:
        """The step as an object."""
        return attrs.asdict(self)


def run_gate(distribution: str | None = None, *, project: Path | None = None) -> Iterator[Step]:
    """Ask everything of a distribution, one step after the other; later ones are not asked where the first fail.

    Args:
        distribution: what `pip` calls it; None: the project in `project`.
        project: the folder with its pyproject.toml and its `surface.json`; None: the working directory.

    Raises:
        PegboardError: no distribution was named, and there is no project.

    .. versionadded:: 0.1
    """
    project = project or Path.cwd()
    distribution = distribution or _name_of_project(project)
    names = _plugin_names(distribution)
    if not names:
        yield Step(
            "installed", False, f"{distribution} has no plugin here", _meant(distribution) +
            'pip install it, and give it an entry point: [project.entry-points.pegboard] NAME = "MODULE.plugin"',
        )  # fmt: skip
        return
    yield Step("installed", True, f"{distribution}: {', '.join(names)}")
    try:
        board = _load(names)
    except PegboardError as problem:
        yield Step("loads", False, str(problem), problem.hint or "read the cause, and repair the plugin")
        return
    tools = [board.tools[name] for name in sorted(board.tools)]
    givers = [record.name for record, _ in board.plugins.implementations("provide_tools") if record.name in names]
    none = f"no tools; provide_tools of {', '.join(givers)} gave none" if givers else "no tools; the hooks were taken"
    yield Step("loads", True, _count_of(tools) if tools else none)
    yield _imports(distribution)
    yield _names(tools)
    yield _descriptions(tools)
    yield _examples(tools)
    yield from _calls(names, tools)
    yield _surface(distribution, tools, project)


def _name_of_project(project: Path) -> str:
    try:
        table = tomllib.loads((project / PYPROJECT).read_text(encoding="utf-8")).get("project")
    except FileNotFoundError:
        raise PegboardError(
            "there is no project here", hint="name a distribution: pegboard check pegboard-coin"
        ) from None
    except (OSError, ValueError) as problem:
        why = getattr(problem, "strerror", None) or problem
        raise PegboardError(f"{PYPROJECT} cannot be read: {why}", hint="repair it") from None
    name = table.get("name") if isinstance(table, dict) else None
    if not isinstance(name, str):
        raise PegboardError(f"{PYPROJECT} has no name of a project", hint='write [project] name = "pegboard-coin"')
    return name


def _plugin_names(distribution: str) -> list[str]:
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import distribution as find

    try:
        found = find(distribution)
    except PackageNotFoundError:
        return []
    return sorted({entry.name for entry in found.entry_points if entry.group == "pegboard"})


def _meant(distribution: str) -> str:
    """Which distribution may be meant, by its own name or by that of its plugin."""
    installed = {one.name: one.distribution for one in installed_plugins() if one.distribution}
    known = {**{name.removeprefix("pegboard-"): name for name in installed.values()}, **installed}
    near = nearest(distribution.removeprefix("pegboard-"), known)
    return f"did you mean {known[near]}? Else " if near else ""


def _load(names: list[str]) -> Board:
    from pegboard.registry.board import load_board

    board = load_board({"strict": True}, names)
    refusals = [(name, one) for name, one in board.rejected_tools.items() if not one.is_disabled]
    if refusals:
        name, refused = refusals[0]
        raise PluginError(f"the tool {name!r} is not registered: {refused.why}", hint=refused.fix)
    return board


def _step(name: str, faults: list[str], well: str, fix: str) -> Step:
    if not faults:
        return Step(name, True, well)
    more = f"; and {len(faults) - 5} more" if len(faults) > 5 else ""
    return Step(name, False, "; ".join(faults[:5]) + more, fix)


def _count_of(tools: list[Tool]) -> str:
    return "1 tool" if len(tools) == 1 else f"{len(tools)} tools"


def _imports(distribution: str) -> Step:
    """Load the plugin in a process of its own, and look at what came with it."""
    code = (
        "import json, sys, time, pegboard, pegboard.registry.board\n"
        "from importlib.metadata import distribution\n"
        "before, began = set(sys.modules), time.perf_counter()\n"
        f"for entry in distribution({distribution!r}).entry_points:\n"
        "    if entry.group == 'pegboard': entry.load()\n"
        "took_s = time.perf_counter() - began\n"
        "print(json.dumps([sorted(set(sys.modules) - before), took_s]))\n"
    )
    ran = subprocess.run(  # noqa: S603 - our own interpreter, on code of ours
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    if ran.returncode:
        return Step(
            "imports", False, "the plugin does not load in a fresh process", "run: python -c 'import MODULE.plugin'"
        )
    *printed, answer = ran.stdout.splitlines()
    added, took_s = json.loads(answer)
    heavy = sorted({name.partition(".")[0] for name in added} & HEAVY)
    faults = [f"loading it imports {name}" for name in heavy]
    if len(added) > MAX_MODULES:
        faults.append(f"loading it imports {len(added)} modules")
    if took_s > SLOW_IMPORT_S:
        faults.append(f"loading it takes {took_s:.1f} s, which every command pays")
    if printed:
        faults.append(f"loading it prints {printed[0][:60]!r}")
    return _step(
        "imports", faults, f"{len(added)} modules, none of them heavy", "import and do it in the handlers that need it"
    )


def _names(tools: list[Tool]) -> Step:
    faults = [
        f"{tool.name!r} has to be renamed for some model providers"
        for tool in tools
        if not re.fullmatch(SAFE_NAME, tool.name)
    ]
    return _step("names", faults, "every model provider takes them", f"use names of the form {SAFE_NAME}")


def _descriptions(tools: list[Tool]) -> Step:
    faults = []
    for tool in tools:
        if not tool.description.strip():
            faults.append(f"{tool.name} has no description")
        if hidden_in(json.dumps(tool.public_definition, ensure_ascii=False)):
            faults.append(f"{tool.name} has hidden characters in what a model reads")
        for name, schema in tool.input_schema.get("properties", {}).items():
            if isinstance(schema, dict) and not schema.get("description"):
                faults.append(f"{tool.name}: the parameter {name} has no description")
    return _step(
        "descriptions", faults, "every tool and parameter says what it is", "write a docstring with an Args section"
    )


def _examples(tools: list[Tool]) -> Step:
    faults = [f"{tool.name} has no example" for tool in tools if not tool.examples]
    return _step("examples", faults, "every tool shows how it is meant", '@tool(examples=[{"arguments": {...}}])')


def _calls(names: list[str], tools: list[Tool]) -> Iterator[Step]:
    """Everything that needs a running host: examples, errors, cancellation, leaks."""
    import trio

    yield from trio.run(_call_all, names, tools)


async def _call_all(names: list[str], tools: list[Tool]) -> list[Step]:
    from pegboard.host import open_host

    before = _count()
    async with open_host({"strict": True}, names) as host:
        session = host.session("gate", channel="check")
        steps = [
            await _run_examples(session, tools),
            await _run_errors(session, tools),
            await _run_cancelled(session, tools),
        ]
    gc.collect()
    after = _count()
    faults = [f"{what}: {before[what]} before, {after[what]} after" for what in before if after[what] > before[what]]
    well = ", ".join(f"{count} {what}" for what, count in after.items())
    return [*steps, _step("leaks", faults, f"as before: {well}", "close what the tool opens; give every task an owner")]


def _count() -> dict[str, int]:
    """What a tool may leave behind; threads that trio keeps for the next call are not the tool's."""
    ours = [thread for thread in threading.enumerate() if not thread.name.startswith("Trio thread")]
    counts = {"threads": len(ours)}
    for what, folder in (("descriptors", "/proc/self/fd"), ("children", "/proc/self/task")):
        path = Path(folder)
        if not path.exists():
            continue
        if what == "descriptors":
            counts[what] = len(list(path.iterdir()))
        else:
            # Of each thread, since a child belongs to the one that started it; not every kernel has it (proc(5),
            # CONFIG_PROC_CHILDREN).
            children = [one / "children" for one in path.iterdir()]
            counts[what] = sum(len(one.read_text().split()) for one in children if one.exists())
    return counts


async def _run_examples(session: Session, tools: list[Tool]) -> Step:
    faults = []
    ran = 0
    for tool in tools:
        for fault in _faults_of_defaults(tool):
            faults.append(f"{tool.name}: the default of {fault}")
        for example in tool.examples:
            arguments = thaw(example.arguments)
            checked = session.check(tool.name, arguments)
            if checked.error is not None and checked.error.code is ErrorCode.INVALID_INPUT:
                faults.append(f"{tool.name}: {checked.error.message}")
            elif tool.read_only:
                ran += 1
                result = await session.call(tool.name, arguments, timeout_s=30)
                if result.error is not None:
                    faults.append(f"{tool.name}: its example answers {result.error.code}: {result.error.message}")
                elif example.text is not None and result.text != example.text:
                    faults.append(
                        f"{tool.name}: its example shows {result.text[:60]!r}, and says {example.text[:60]!r}"
                    )
    return _step(
        "examples hold",
        faults,
        f"all fit their schemas, {ran} of read-only tools were run",
        "repair the example or the tool",
    )


def _faults_of_defaults(tool: Tool) -> list[Fault]:
    """Defaults that a model reads, and would be refused with."""
    properties = tool.input_schema.get("properties", {})
    defaults = {name: thaw(one["default"]) for name, one in properties.items() if "default" in one}
    return faults_of_value({**thaw(tool.input_schema), "required": []}, defaults) if defaults else []


async def _run_errors(session: Session, tools: list[Tool]) -> Step:
    """Wrong arguments are INVALID_INPUT, hostile ones anything but INTERNAL_ERROR."""
    faults = []
    for tool in tools:
        for arguments in _wrong(tool):
            result = session.check(tool.name, arguments)
            if result.error is None or result.error.code is not ErrorCode.INVALID_INPUT:
                faults.append(f"{tool.name} takes {json.dumps(arguments)[:60]}")
        for arguments in _hostile(tool) if tool.read_only else ():
            result = await session.call(tool.name, arguments, timeout_s=30)
            if result.error is not None and result.error.code is ErrorCode.INTERNAL_ERROR:
                faults.append(f"{tool.name} breaks on {json.dumps(arguments)[:60]}: {result.error.message}")
    return _step(
        "errors", faults, "wrong and hostile arguments have typed answers", "raise ToolError, with what to do instead"
    )


def _wrong(tool: Tool) -> list[Any]:
    """Arguments that the schema must not take: no object, nothing where something is required, an unknown one."""
    wrong: list[Any] = [[], "arguments"]
    if tool.input_schema.get("required"):
        wrong.append({})
    if tool.input_schema.get("additionalProperties") is False:
        wrong.append({"no_such_parameter_": 1})
    return wrong


def _hostile(tool: Tool) -> Iterator[dict[str, Any]]:
    base = thaw(tool.examples[0].arguments) if tool.examples else {}
    for name, schema in tool.input_schema.get("properties", {}).items():
        if isinstance(schema, dict) and schema.get("type") == "string" and "enum" not in schema:
            for text in HOSTILE:
                yield {**base, name: text}


async def _run_cancelled(session: Session, tools: list[Tool]) -> Step:
    """A call that is cancelled, and one whose deadline is over, end at once."""
    import trio

    faults = []
    for tool in tools:
        examples = [thaw(one.arguments) for one in tool.examples] if tool.read_only else []
        # One that is refused says nothing of deadlines: it has its own step.
        arguments = next((one for one in examples if session.check(tool.name, one).error is None), None)
        if arguments is None:
            continue
        for what, timeout_s in (("cancelled", None), ("timed out", 0.0)):
            began = trio.current_time()
            with trio.CancelScope() as scope:
                if timeout_s is None:
                    scope.cancel()
                result = await session.call(tool.name, arguments, timeout_s=timeout_s)
                if timeout_s == 0.0 and result.error is not None and result.error.code is not ErrorCode.TIMEOUT:
                    faults.append(f"{tool.name} answers {result.error.code} when its deadline is over")
            if trio.current_time() - began > PROMPT_S:
                faults.append(f"{tool.name}, {what}, took {trio.current_time() - began:.1f} s to end")
    return _step(
        "cancellation",
        faults,
        "cancelled calls and deadlines end at once",
        'wait with trio, and leave what blocks to a plain `def` without run="inplace", which runs in a thread; '
        "do not shield or swallow trio.Cancelled",
    )


def _surface(distribution: str, tools: list[Tool], project: Path) -> Step:
    """What callers see is as it was at the last release, or the version says that it changed."""
    from importlib.metadata import version

    path = project / SURFACE
    is_this = (project / PYPROJECT).exists() and _is_project(project, distribution)
    now = {"version": version(distribution), "tools": {tool.name: thaw(tool.public_definition) for tool in tools}}
    if not is_this:
        return Step(
            "surface", True, f"{_count_of(tools)}; run it in the project's folder to compare with the last release"
        )
    if not path.exists():
        return _write_surface(path, now, f"written to {SURFACE}; commit it, and the next change will show")
    try:
        was = json.loads(load_bytes(path, JSON_BYTES))
    except (PegboardError, ValueError, RecursionError):
        was = None
    if not isinstance(was, dict):
        return Step("surface", False, f"{SURFACE} is not what was written here", "remove it; the next run writes it")
    if was.get("tools") == now["tools"]:
        return Step("surface", True, "as it was")
    difference = "\n".join(
        line
        for line in difflib.unified_diff(
            _shown(was).splitlines(), _shown(now).splitlines(), "was", "now", n=1, lineterm=""
        )
    )
    if was.get("version") == now["version"]:
        return Step(
            "surface", False, f"it changed:\n{difference}", f"raise the version, or remove {SURFACE} to accept it"
        )
    return _write_surface(path, now, f"it changed with the version, from {was.get('version')}:\n{difference}")


def _write_surface(path: Path, now: dict[str, Any], seen: str) -> Step:
    try:
        path.write_text(_shown(now), encoding="utf-8")
    except OSError as problem:
        fix = write_hint(problem, "let this user write it and its folder")
        return Step("surface", False, f"{SURFACE} cannot be written: {problem.strerror}", fix)
    return Step("surface", True, seen)


def _is_project(project: Path, distribution: str) -> bool:
    return _normal(_name_of_project(project)) == _normal(distribution)


def _normal(name: str) -> str:
    """A distribution's name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _shown(surface: dict[str, Any]) -> str:
    return json.dumps(surface, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


__all__ = ["Step", "run_gate"]
