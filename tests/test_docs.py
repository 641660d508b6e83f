"""The documentation says what is there, and everything it shows was run, as a reader runs it.

How a page is read, from top to bottom, in a folder of its own and a fresh environment, which holds what the page has
said to install by then and nothing else:

    `pip install NAME`    in the prose, and on a line of its own in `sh` or indented: is done, with the wheels of this
                          repository
    ```python             runs; the blocks of a page share their names
    ```text               directly after it: what it printed
    ```LANGUAGE file=X    becomes the file X
    ```console            each `$ command` runs in a shell; what follows is what it printed, on stdout and stderr
    ```LANGUAGE           anything else is for reading

`...` in what was printed stands for any text, on a line of its own for any lines; a column may be wider. Where no index
of packages can be reached the pages are skipped.
"""

from __future__ import annotations

import ast
import asyncio
import difflib
import importlib
import importlib.resources
import importlib.util
import inspect
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import types
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

import attrs
import click
import pytest
import trio

import pegboard
import pegboard_chat
import pegboard_httpclient
import pegboard_mcp
import pegboard_serving
from pegboard import ErrorCode, hookspecs, load_board
from pegboard.cli._program import COMMANDS, PACKAGES, Program
from pegboard.config import CoreSettings, Profile, ToolSettings
from pegboard_audit.plugin import register_commands as register_audit
from pegboard_chat.plugin import register_commands as register_chat
from pegboard_http.plugin import register_commands as register_http
from pegboard_inspect.plugin import register_commands as register_inspect
from pegboard_mcp.plugin import register_commands as register_mcp
from pegboard_mcp.settings import OAuthSettings, ServerSettings
from pegboard_toolgen.plugin import register_commands as register_toolgen

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    ROOT / "core" / "README.md",
    *sorted((ROOT / "plugins").glob("*/README.md")),
    *sorted(DOCS.rglob("*.md")),
]
EXCERPTS = {"pegboard-chat", "pegboard-http", "pegboard-inspect", "pegboard-manifest", "pegboard-mcp"}
"""Packages whose README shows parts of programs, and servers that do not end; their own tests hold them."""
RUN_PAGES = [page for page in PAGES if page.parent.name not in EXCERPTS]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
MAX_COMMAND_S = 300
PAGE = Path(__file__).parent / "kit" / "page.py"
NAME = re.compile(r"[a-z][\w.-]*(?:\[[\w,-]+\])?")


class Block(NamedTuple):
    """A fenced block: its language, the file it becomes, its text, the line it begins at."""

    language: str
    file: str | None
    text: str
    line: int


def blocks_of(page: Path) -> list[Block]:
    """The blocks of a page, and among them, as of the language `install`, what its prose says to install."""
    text = page.read_text(encoding="utf-8")
    found = []
    fenced = r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$|^```[\w-]+$.*?^```$"
    pattern = rf"{fenced}|(?:`|^    (?:\$ )?)(pip install [^`\n]+)(?:`|$)"
    for match in re.finditer(pattern, text, re.MULTILINE | re.DOTALL):
        line = text.count("\n", 0, match.start()) + 1
        if match[4]:
            found.append(Block("install", None, match[4], line))
        elif match[1]:
            found.append(Block(match[1], match[2], match[3], line))
    return found


def installed_by(command: str) -> tuple[str, ...] | None:
    """What a command gives pip to install, where it names packages, or a folder with `-e`; any other is for reading."""
    if not re.match(r"pip install \S", command):
        return None
    words = tuple(shlex.split(command)[2:])
    if words[0] == "-e" and len(words) == 2:
        return words
    return words if all(NAME.fullmatch(word) for word in words) else None


def fits(expected: str, printed: str) -> bool:
    """Whether what was printed is what the page shows, `...` standing for anything."""
    pattern = re.escape(expected.rstrip("\n")).replace(r"\.\.\.", "...")
    pattern = re.sub(r"(?<=\S)(?:\\ ){2,}", "  +", pattern)
    pattern = re.sub(r"(?m)^(?:\\ )*\.\.\.\\?\n", r"(?:[^\\n]*\\n)*?", pattern)
    pattern = re.sub(r"(?m)^(?:\\ )*\.\.\.$", r"[\\s\\S]*", pattern).replace("...", ".*?")
    return re.fullmatch(pattern, printed.rstrip("\n")) is not None


def difference(expected: str, printed: str) -> str:
    lines = difflib.unified_diff(expected.splitlines(), printed.splitlines(), "the page", "printed", lineterm="")
    return "\n".join(lines)


# -- the examples run


class PageReader:
    """Does what a page says, in a folder and an environment of its own."""

    def __init__(self, folder: Path, environments: Any) -> None:
        self.folder, self.environments = folder, environments
        self.installs: list[tuple[str, ...]] = []
        self.runner: subprocess.Popen[str] | None = None
        self.home = folder.parent / f"{folder.name}-home"
        self.home.mkdir()
        shutil.copytree(ROOT / "examples", folder / "examples")  # what a reader finds in the repository

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.end_runner()

    @property
    def environ(self) -> dict[str, str]:
        """Of the reader's shell: nothing of what the tests themselves were installed with is in reach."""
        assert self.installs, "the page runs something before it says what to install"
        programs = self.environments.environment(tuple(self.installs))
        ours = {str(Path(sys.executable).parent), os.path.join(os.environ.get("VIRTUAL_ENV", sys.prefix), "bin")}
        path = [one for one in os.environ.get("PATH", "").split(os.pathsep) if one not in ours]
        mine = ("PEGBOARD", "READ_ONLY", "XDG_", "PYTHON", "VIRTUAL_ENV", "UV_", "COVERAGE_", "PYTEST_")
        return {
            **{key: value for key, value in os.environ.items() if not key.startswith(mine)},
            "HOME": str(self.home),
            "PATH": os.pathsep.join([str(programs), *path]),
            "PYTHONWARNINGS": "error",
            "COLUMNS": "100",
        }

    def read(self, blocks: list[Block], page: Path) -> None:
        for block, following in zip_longest(blocks, blocks[1:]):
            where = f"{page.relative_to(ROOT)}:{block.line}"
            if block.file is not None:
                target = self.folder / block.file
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(block.text, encoding="utf-8")
            elif block.language in ("install", "sh"):
                for command in block.text.splitlines():
                    if words := installed_by(command):
                        self.install(words, where)
            elif block.language == "python":
                printed = self.run_python(block, where)
                if following is not None and following.language == "text":
                    assert fits(following.text, printed), f"{where}\n{difference(following.text, printed)}"
            elif block.language == "console":
                self.run_console(block, where)

    def install(self, words: tuple[str, ...], where: str) -> None:
        if words[0] == "-e":
            words = ("-e", str(self.folder / words[1]))
        if words not in self.installs:
            self.installs.append(words)
            self.end_runner()
            try:
                self.environments.environment(tuple(self.installs))
            except pytest.skip.Exception as problem:  # the index can be reached: what cannot be had is the page's fault
                pytest.fail(f"{where}\npip install {shlex.join(words)}\n{problem}")

    def run_python(self, block: Block, where: str) -> str:
        if self.runner is None:
            self.runner = subprocess.Popen(
                ["python", str(PAGE)], cwd=self.folder, env=self.environ, text=True, encoding="utf-8",
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            )  # fmt: skip
        assert self.runner.stdin is not None
        assert self.runner.stdout is not None
        asked = {"code": block.text, "where": where, "line": block.line}
        self.runner.stdin.write(json.dumps(asked) + "\n")
        self.runner.stdin.flush()
        watch = threading.Timer(MAX_COMMAND_S, self.runner.kill)
        watch.start()
        try:
            answer = json.loads(self.runner.stdout.readline() or '{"problem": "it ended, or did not end in time"}')
        finally:
            watch.cancel()
        assert answer["problem"] is None, f"{where}\n{answer['problem']}"
        printed: str = answer["printed"]
        return printed

    def end_runner(self) -> None:
        if self.runner is not None:
            with self.runner:
                self.runner.kill()
            self.runner = None

    def run_console(self, block: Block, where: str) -> None:
        for command, expected in commands_of(block.text):
            if words := installed_by(command):
                self.install(words, where)
                continue
            done = subprocess.run(
                ["bash", "-c", command], cwd=self.folder, env=self.environ, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=MAX_COMMAND_S, check=False,
            )  # fmt: skip
            printed = done.stdout.decode("utf-8")
            assert fits(expected, printed), f"{where}\n$ {command}\n{difference(expected, printed)}"


def commands_of(text: str) -> Iterator[tuple[str, str]]:
    """Each `$ command`, continued by `\\` at a line's end, with what it prints."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, printed = re.sub(r"\\\n\s*", "", part).partition("\n")
        yield command, printed


@pytest.mark.parametrize("page", RUN_PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_example_of_a_page_does_what_the_page_says(page: Path, tmp_path: Path, request: Any) -> None:
    blocks = blocks_of(page)
    if not any(block.language in ("python", "console") and block.file is None for block in blocks):
        return
    folder = tmp_path / "reader"
    folder.mkdir()
    with PageReader(folder, request.getfixturevalue("environments")) as reader:
        reader.read(blocks, page)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("pip install pegboard-mcp", ("pegboard-mcp",)),
        ("pip install 'pegboard[testing]' pegboard-dice", ("pegboard[testing]", "pegboard-dice")),
        ("pip install -e pegboard-coin", ("-e", "pegboard-coin")),
        ("pip install -c constraints.txt './core[process]' ./plugins/pegboard-*", None),
        ("pip install nox && nox", None),
        ("pip install --break-system-packages uv", None),
        ("pegboard list", None),
    ],
)
def test_what_a_page_says_to_install(command: str, words: tuple[str, ...] | None) -> None:
    assert installed_by(command) == words


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_every_example_program_stands_in_a_page_as_it_is(example: Path) -> None:
    text = example.read_text(encoding="utf-8")
    shown = [block.text for page in RUN_PAGES for block in blocks_of(page) if block.language == "python"]
    assert text in shown, f"{example.name} is shown nowhere, or differs from what is shown"


@pytest.fixture
def guest() -> types.ModuleType:
    """The example of a program on asyncio, as a module."""
    spec = importlib.util.spec_from_file_location("asyncio_guest", ROOT / "examples" / "asyncio_guest.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_cancelling_a_task_of_asyncio_cancels_its_call(
    guest: types.ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = []

    @pegboard.tool
    async def wait() -> None:
        try:
            await trio.sleep_forever()
        finally:
            ended.append(trio.current_effective_deadline() == -float("inf"))

    def open_host() -> Any:
        board = load_board(plugins=[])
        board.add(wait)
        return pegboard.open_host(board)

    monkeypatch.setattr(guest, "open_host", open_host)

    async def main() -> None:
        async with guest.open_guest_host() as host:
            waiting = asyncio.create_task(host.call("wait"))
            await asyncio.sleep(0)  # it is under way, since calls are served in their order
            await host.call("nope")
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting

    asyncio.run(main())
    assert ended == [True]


def test_a_guest_host_that_cannot_be_opened_says_why(guest: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guest, "open_host", lambda: pegboard.open_host({"timeout_s": "soon"}, []))

    async def main() -> None:
        async with guest.open_guest_host():
            raise AssertionError("it opened")

    with pytest.raises(pegboard.ConfigError, match="timeout_s"):
        asyncio.run(main())


@pytest.mark.parametrize(
    ("expected", "printed", "right"),
    [
        ("a ... c\n", "a b c\n", True),
        ("a ... c\n", "a b d\n", False),
        ("a\n...\nc\n", "a\nb\nb\nc\n", True),
        ("a\n...\nc\n", "a\nc\n", True),
        ("a\n...\n", "a\nb\n", True),
        ("a.c\n", "abc\n", False),
        ("a  b\n", "a    b\n", True),
        ("a  b\n", "a b\n", False),
        ("a\n", "a\nb\n", False),
    ],
)
def test_three_dots_stand_for_what_varies_and_nothing_else_does(expected: str, printed: str, right: bool) -> None:
    assert fits(expected, printed) is right


# -- everything is documented


def reference(name: str) -> str:
    return (DOCS / "reference" / f"{name}.md").read_text(encoding="utf-8")


def section(text: str, heading: str) -> str:
    """The text under a heading, up to the next of its level or above."""
    match = re.search(rf"^(#+) {re.escape(heading)}$(.*?)(?=^#{{1,9}} |\Z)", text, re.MULTILINE | re.DOTALL)
    assert match is not None, f"there is no heading {heading!r}"
    level = len(match[1])
    rest = text[match.start() :]
    end = re.search(rf"^#{{1,{level}}} ", rest[level + 1 :], re.MULTILINE)
    return rest if end is None else rest[: end.start() + level + 1]


def hooks_of(module: types.ModuleType) -> dict[str, Any]:
    return {name: spec for name, spec in vars(module).items() if hasattr(spec, "pegboard_spec")}


HOOKS = hooks_of(hookspecs)
for package in sorted((ROOT / "plugins").glob("*/src/*/hookspecs.py")):
    HOOKS |= hooks_of(importlib.import_module(f"{package.parent.name}.hookspecs"))


@pytest.mark.parametrize("name", HOOKS)
def test_every_hook_is_documented_with_its_exact_arguments(name: str) -> None:
    arguments = ", ".join(inspect.signature(HOOKS[name]).parameters)
    text = section(reference("hooks"), f"`{name}({arguments})`")
    for word in ("Fires", "None", "raises"):
        assert word in text, f"{name}: the reference does not say {word!r}"


def test_no_hook_is_documented_that_is_none() -> None:
    documented = re.findall(r"^### `(\w+)\(", reference("hooks"), re.MULTILINE)
    assert set(documented) == set(HOOKS)


@pytest.mark.parametrize("code", list(ErrorCode))
def test_every_error_code_is_documented_with_what_repeating_does(code: ErrorCode) -> None:
    assert "retry" in section(reference("errors"), f"`{code.value}`").lower()


def test_every_reason_that_an_error_gives_is_documented() -> None:
    modules = (ROOT / "core" / "src", ROOT / "plugins" / "pegboard-mcp" / "src")
    source = "\n".join(path.read_text(encoding="utf-8") for module in modules for path in module.rglob("*.py"))
    reasons = {*re.findall(r"\breason=\"(\w+)\"", source), *re.findall(r"\bbusy\(\"(\w+)\"", source)}
    assert {"disabled", "confirmation", "recursion"} <= reasons
    text = reference("errors")
    assert [reason for reason in sorted({*reasons, "cooldown", "rate_limit"}) if f"`{reason}`" not in text] == []


def options_that_are_missing(text: str, path: str, command: click.Command) -> list[str]:
    shown = [
        parameter.opts[0] if isinstance(parameter, click.Option) else parameter.make_metavar(click.Context(command))
        for parameter in command.params
        if not getattr(parameter, "hidden", False)  # for the program's own processes, not for people
    ]
    return [f"pegboard {path}: {one}" for one in shown if one.strip("[].") not in text]


def commands_of_the_program() -> dict[str, click.Command]:
    """Every command and subcommand of the core, by its path."""
    program = Program()
    context = click.Context(program, info_name="pegboard")
    found: dict[str, click.Command] = {}
    for name in COMMANDS:
        command = program.get_command(context, name)
        assert command is not None
        found[name] = command
        if isinstance(command, click.Group):
            found |= {f"{name} {sub}": one for sub, one in command.commands.items()}
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_documented_with_every_option(name: str) -> None:
    text = section(reference("program"), f"`pegboard {name}`")
    for path, command in commands_of_the_program().items():
        if path.split()[0] == name:
            assert options_that_are_missing(text, path, command) == []


COMMANDS_OF_OURS = [
    *("serve", "lock", "connect", "confine suggest", "config import", "chat", "eval", "gateway", "inspect"),
    *("audit", "audit show", "audit stats"),
    *("toolgen try", "toolgen init", "toolgen build", "toolgen check"),
]


@pytest.mark.parametrize("path", COMMANDS_OF_OURS)
def test_every_command_of_our_packages_is_documented_with_every_option(path: str) -> None:
    program = Program()
    register_mcp(program)
    register_chat(program)
    register_http(program)
    register_audit(program)
    register_inspect(program)
    register_toolgen(program)
    command, context = cast("click.Command", program), click.Context(program)
    for name in path.split():
        assert isinstance(command, click.Group)
        found = command.get_command(context, name)
        assert found is not None
        command, context = found, click.Context(found, parent=context)
    assert options_that_are_missing(section(reference("program"), f"`pegboard {path}`"), path, command) == []


def test_every_option_of_the_program_itself_is_documented() -> None:
    text = section(reference("program"), "Options of the program itself")
    for parameter in Program().params:
        assert f"`{parameter.opts[0]}" in text, f"{parameter.opts[0]} is not documented"


def test_every_command_that_another_package_brings_is_named_with_its_package() -> None:
    text = reference("program")
    for command, package in PACKAGES.items():
        assert re.search(rf"`pegboard {command}\b.*{package}", text), f"{command} of {package} is not named"


@pytest.mark.parametrize(
    ("heading", "cls"),
    [("The host", CoreSettings), ("One tool: `[tools.NAME]`", ToolSettings), ("A profile: `[profiles.NAME]`", Profile)],
)
def test_every_setting_of_the_core_is_documented(heading: str, cls: type) -> None:
    text = section(reference("configuration"), heading)
    missing = [field.name for field in attrs.fields(cls) if f"`{field.name.rstrip('_')}`" not in text]
    assert missing == []


def test_every_setting_of_a_built_in_plugin_and_of_our_packages_is_documented() -> None:
    board = load_board({})
    for record in board.plugins:
        if record.settings is not None:
            text = section(reference("configuration"), f"`[plugins.{record.name}]`")
            for field in attrs.fields(type(record.settings)):
                assert f"`{field.name}`" in text, f"[plugins.{record.name}] {field.name} is not documented"


@pytest.mark.parametrize(
    ("heading", "cls"),
    [("One server: `[plugins.mcp.servers.NAME]`", ServerSettings), ("`[plugins.mcp]`", OAuthSettings)],
)
def test_every_setting_below_those_of_pegboard_mcp_is_documented(heading: str, cls: type) -> None:
    text = section(reference("configuration"), heading)
    keys = [field.alias or field.name for field in attrs.fields(cls)]
    assert [key for key in keys if f"`{key}`" not in text] == []


@pytest.mark.parametrize("name", [*pegboard.__all__, *pegboard_mcp.__all__, *pegboard_chat.__all__])
def test_every_name_of_the_api_is_documented(name: str) -> None:
    assert re.search(rf"^#+ .*`{name}\b", reference("python-api"), re.MULTILINE), f"{name} has no heading"


def manifest_schema() -> dict[str, Any]:
    text = (importlib.resources.files("pegboard_manifest") / "manifest.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def manifest_parts() -> dict[str, dict[str, Any]]:
    """The parts of the manifest that have members, by the headings of its page."""
    schema = manifest_schema()
    parts = {name: part for name, part in schema["$defs"].items() if "properties" in part and name != "terminator"}
    return {"The top": schema, **{f"`{name}`": part for name, part in parts.items()}}


@pytest.mark.parametrize("heading", manifest_parts())
def test_every_member_of_the_manifest_is_documented(heading: str) -> None:
    text = section(reference("manifest"), heading)
    for member, said in manifest_parts()[heading]["properties"].items():
        assert f"`{member}`" in text, f"{heading} {member} is not documented"
        assert [one for one in said.get("enum", ()) if f"`{one}`" not in text] == []
        assert said.get("description", "").rstrip(".") in text, f"{heading} {member} is described in other words"


@pytest.mark.parametrize(
    ("heading", "library"), [("HTTP servers", pegboard_serving), ("HTTP clients", pegboard_httpclient)]
)
def test_every_name_of_a_library_is_documented(heading: str, library: types.ModuleType) -> None:
    text = section(reference("python-api"), f"{heading}: `{library.__name__}`")
    assert [name for name in library.__all__ if not re.search(rf"`{name}\b", text)] == []


# -- the layers are as they are drawn

INTERFACES = {"__init__", "__main__", "_api"}
"""The entry points, which stand on no layer."""
SOURCE = ROOT / "core" / "src" / "pegboard"


def layers() -> dict[str, int]:
    """Each module's layer, as the table of the architecture has it."""
    rows = re.findall(r"^\| (\d+) \| ([^|]+) \|", (DOCS / "explanation" / "architecture.md").read_text("utf-8"), re.M)
    return {module: int(layer) for layer, modules in rows for module in re.findall(r"`(\w+)`", modules)}


def imported_modules(path: Path) -> set[str]:
    """The modules that a module imports when it is imported itself."""
    found: set[str] = set()
    waiting: list[ast.stmt] = list(ast.parse(path.read_text(encoding="utf-8")).body)
    while waiting:
        match waiting.pop():
            case ast.If(test=ast.Name("TYPE_CHECKING")):
                pass
            case ast.If(body=body) | ast.Try(body=body):
                waiting += body
            case ast.ImportFrom(module="pegboard", names=names):
                found |= {name.name for name in names} & layers().keys()  # the rest are names of the public API
            case ast.ImportFrom(module=str(module)) if module.startswith("pegboard."):
                found.add(module.split(".")[1])
    return found


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_every_module_imports_from_below_alone(path: Path) -> None:
    module = path.relative_to(SOURCE).with_suffix("").parts[0]
    if module not in INTERFACES:
        layer = layers()
        above = {other for other in imported_modules(path) - {module, *INTERFACES} if layer[other] >= layer[module]}
        assert above == set()


# -- links


def anchors_of(page: Path) -> set[str]:
    """The anchors that a page's headings get."""
    headings = re.findall(
        r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S), re.M
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    prose = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{target} leads nowhere"
        if anchor:
            assert anchor in anchors_of(there), f"{target}: there is no such heading"


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: str(page.relative_to(DOCS)))
def test_every_page_is_reached_from_the_first(page: Path) -> None:
    start = DOCS / "README.md"
    linked = {(start.parent / target).resolve() for target in re.findall(r"\]\(([^)#\s]+)", start.read_text("utf-8"))}
    assert page == start or page.resolve() in linked
