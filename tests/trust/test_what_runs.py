"""What a command runs is a part of what is accepted of a server, however the command says it.

Attack: the command that somebody looked at stays as it is, letter by letter, and a later commit changes what it runs:
the module, the file that a shell is told, the targets of a build file. The new file has the size and the time of the
old one. Source: CVE-2025-54136 ("MCPoison": a configuration that was approved once runs another thing later). What must
be seen: what is known of the server changes, for the person here and in a lock that is shared.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pegboard_mcp", reason="pegboard_mcp is not installed")

from pegboard_mcp.definitions import ServerDefinition
from pegboard_mcp.files import files_of
from pegboard_mcp.lock import memory
from pegboard_mcp.lock.words import describe

if TYPE_CHECKING:
    from collections.abc import Sequence

SHELL = "cd . && exec ./run.sh; python -u 'server.py'"
COMMANDS: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    "a module": (["python", "-m", "pkg"], ["pkg/__init__.py", "pkg/__main__.py"]),
    "behind an option with a value": (["python3.12", "-X", "dev", "-W", "ignore", "-m", "pkg"], ["pkg/__main__.py"]),
    "in one word with it": (["python", "-mpkg"], ["pkg/__main__.py"]),
    "among letters": (["python", "-um", "pkg"], ["pkg/__main__.py"]),
    "behind another program": (["nice", "-n", "5", "python", "-m", "pkg"], ["pkg/__main__.py"]),
    "in an environment": (["env", "A=1", "python", "-m", "pkg"], ["pkg/__main__.py"]),
    "by uv": (["uv", "run", "--with", "mcp", "python", "-m", "pkg"], ["pkg/__main__.py"]),
    "by uv itself": (["uv", "run", "-m", "pkg"], ["pkg/__main__.py"]),
    "a folder": (["python", "pkg"], ["pkg/__main__.py"]),
    "a script": (["python", "-u", "server.py"], ["server.py"]),
    "a script without a suffix": (["php", "plain"], ["plain"]),
    "through a link": (["python", "link.py"], ["server.py"]),
    "a program": (["./run.sh"], ["run.sh"]),
    "an object in a module": (["uvicorn", "server:app"], ["server.py"]),
    "an object in a script": (["mcp", "run", "server.py:app"], ["server.py"]),
    "what a shell is told": (["bash", "-c", SHELL], ["run.sh", "server.py"]),
    "what a shell of a shell is told": (["timeout", "5", "sh", "-lc", SHELL], ["run.sh", "server.py"]),
    "a name that Node completes": (["node", "app"], ["app.js"]),
    "behind an option of Node": (["node", "-r", "./app.js", "web"], ["app.js", "web/index.js"]),
    "a folder of Node": (["node", "."], ["web/main.js", "package.json"]),
    "a script of a package": (["npm", "--silent", "start"], ["package.json"]),
    "the same by name": (["yarn", "run", "serve"], ["package.json"]),
    "a package that is a folder": (["npx", "-y", "."], ["web/main.js", "package.json"]),
    "the same of Python": (["uvx", "--from", ".", "name"], ["pyproject.toml"]),
    "the same with an extra": (["uvx", "--from=.[cli]", "name"], ["pyproject.toml"]),
    "a target": (["make", "serve"], ["Makefile"]),
    "a recipe": (["just", "serve"], ["justfile"]),
    "a container of a file": (["docker", "compose", "run", "mcp"], ["compose.yaml"]),
    "a crate": (["cargo", "run", "-q"], ["Cargo.toml", "src/main.rs"]),
    "a package of Go": (["go", "run", "."], ["main.go"]),
    "an environment of poetry": (["poetry", "run", "name"], ["pyproject.toml"]),
}
FREE: dict[str, Sequence[str]] = {
    "data": ["node", "app.js", "data.db", "notes.md"],
    "data of a script": ["python", "server.py", "data.db"],
    "data behind an option": ["php", "-q", "plain", "data.db"],
    "an isolated module": ["python", "-Im", "pkg"],
    "a program of PATH": ["mcp-server", "data.db"],
    "a package of a registry": ["npx", "-y", "web@latest"],
    "another of a registry": ["uvx", "pkg"],
    "an image": ["docker", "run", "-i", "--rm", "web:latest"],
    "code": ["python", "-c", "import pkg"],
}
NOT_HELD = ("data.db", "notes.md", "pkg/__init__.py", "pkg/__main__.py", "web/index.js")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    work = tmp_path / "work"
    names = {name for _, files in COMMANDS.values() for name in files} | set(NOT_HELD)
    for name in names:
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text("# as it was looked at\n")
    (work / "package.json").write_text('{"main": "web/main.js", "scripts": {"start": "node app"}}')
    (work / "run.sh").chmod(0o755)
    (work / "link.py").symlink_to("server.py")
    monkeypatch.chdir(work)
    return work


def pins_of(argv: Sequence[str]) -> list[str]:
    """What is known of the server, here and where it is shared."""
    definition = ServerDefinition(name="far", transport="stdio", argv=tuple(argv))
    return [memory.server_pin(definition, is_shared=is_shared).fingerprint for is_shared in (False, True)]


def change(file: Path) -> None:
    """Another content, of the same size and time."""
    was, content = file.stat(), file.read_bytes()
    file.write_bytes(content[:-2] + bytes([content[-2] ^ 1]) + content[-1:])
    os.utime(file, ns=(was.st_atime_ns, was.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (was.st_size, was.st_mtime_ns)


@pytest.mark.parametrize("how", COMMANDS)
def test_what_a_command_runs_is_a_part_of_what_is_accepted(folder: Path, how: str) -> None:
    argv, files = COMMANDS[how]
    before = pins_of(argv)
    assert pins_of(argv) == before
    for name in files:
        change(folder / name)
        after = pins_of(argv)
        assert after[0] != before[0], name
        assert after[1] != before[1] or name == "pyproject.toml", name  # uv obeys that, and it is each person's own
        before = after


@pytest.mark.parametrize("how", FREE)
def test_what_it_does_not_run_asks_nobody(folder: Path, how: str) -> None:
    before = pins_of(FREE[how])
    for name in NOT_HELD:
        (folder / name).write_text("other")
    assert pins_of(FREE[how]) == before


LOADING = {
    "NODE_OPTIONS": "--require ./app.js",
    "PYTHONPATH": "pkg",
    "LD_PRELOAD": "./run.sh",
    "BASH_ENV": "run.sh",
    "PERL5OPT": "-Mevil",
    "RUBYOPT": "-revil",
    "JAVA_TOOL_OPTIONS": "-javaagent:evil.jar",
    "DOTNET_STARTUP_HOOKS": "evil.dll",
    "npm_config_registry": "https://ada:hunter2@evil.example",
    "UV_INDEX_URL": "https://evil.example/simple",
    "PATH": "./bin:/usr/bin",
}


@pytest.mark.parametrize("name", LOADING)
def test_a_variable_with_which_a_command_loads_code_is_a_part_of_what_is_accepted(folder: Path, name: str) -> None:
    """Attack: a later commit leaves the command as it is, and sets a variable beside it. Source: CWE-426, CWE-427;
    NODE_OPTIONS and LD_PRELOAD in the `env` of MCP servers (2025)."""

    def pins(**env: str) -> list[Any]:
        server = ServerDefinition(name="far", transport="stdio", argv=("node", "app.js"), env=env)
        return [memory.server_pin(server, is_shared=is_shared) for is_shared in (False, True)]

    before = pins(DEBUG="1", SOME_TOKEN="t")
    assert [one.fingerprint for one in pins(DEBUG="2")] == [one.fingerprint for one in before]
    after = pins(**{name: LOADING[name]})
    for was, now in zip(before, after, strict=True):
        assert now.fingerprint != was.fingerprint
        assert "hunter2" not in str(now.definition)
        assert f"its variable {name!r} is new: " in describe(was.definition, now.definition)
    if "run.sh" in LOADING[name]:
        change(folder / "run.sh")
        assert all(a.fingerprint != b.fingerprint for a, b in zip(pins(**{name: LOADING[name]}), after, strict=True))


def test_a_shared_lock_names_files_as_every_machine_has_them(folder: Path) -> None:
    for argv, _ in COMMANDS.values():
        definition = ServerDefinition(name="far", transport="stdio", argv=tuple(argv))
        runs = (memory.server_pin(definition, is_shared=True).definition or {})["runs"]
        assert not [name for name in runs["files"] if os.path.isabs(name)]


def test_a_program_of_any_size_is_known_by_its_content(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Attack: the same, of a program that is one large file, as those of Go and Rust are; it counted as too large."""
    program = folder / "run.sh"
    program.write_bytes(b"\x7fELF" + bytes(20_000_000) + b"ab\n")
    before = pins_of(["./run.sh"])
    change(program)
    assert pins_of(["./run.sh"]) != before
    monkeypatch.setattr(memory, "MAX_DIGESTED", 1_000)
    before = pins_of(["./run.sh"])
    with program.open("ab") as file:
        file.write(b"more")
    assert pins_of(["./run.sh"]) != before


def test_words_that_lead_nowhere_are_no_files(folder: Path) -> None:
    odd = ["\0", "/", "..", "a" * 5_000, "-", "--", "", " ", "-m", "file:", "x:y:z", "=", "--x=.", "\ud800", "~"]
    for program in ("python", "node", "npx", "uv", "bash", "make", "docker"):
        for word in odd:
            for key, file in files_of(ServerDefinition(name="far", transport="stdio", argv=(program, word, word))):
                assert (key, file.is_file()) == (key, True)
    many = ServerDefinition(name="far", transport="stdio", argv=("sh", "-c", "./run.sh " * 100_000))
    assert [file.name for _, file in files_of(many)] == ["run.sh"]
