"""What a command runs of the folder that it is started in though no word of it is a path to that: a module, the program
of a folder, the words that a shell is told, the targets of a build file.

    python -X dev -m server     server/__init__.py, server/__main__.py
    node .                      package.json, and what it says is `main`
    sh -c "cd . && ./run.sh"    run.sh
    make serve                  Makefile

The command is what a person looked at and accepted; these are what a later commit changes instead. A word is read as
the program does where that is simple, and else too much is held rather than too little. What those files import, or
have started in turn, is not followed.
"""

from __future__ import annotations

import contextlib
import json
import re
from itertools import islice
from typing import TYPE_CHECKING

from pegboard_mcp.packages import CONTAINERS, program_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

MAX_WORDS = 500
MAX_PACKAGE = 1_048_576
_PIECES = re.compile(r"""[^\s;&|()<>"'`]+""")
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*w?")
_SCRIPT = (".js", ".cjs", ".mjs", ".ts", ".mts", ".tsx", ".jsx", ".json")
_MANAGERS = frozenset(("npx", "npm", "pnpm", "pnpx", "yarn", "bun", "bunx", "uvx", "uv", "pipx"))
INTERPRETERS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("node", "nodejs", "bun", "deno", "tsx", "ts-node"), _SCRIPT),
    **dict.fromkeys(("ruby", "perl", "php", "lua", "Rscript", "bash", "sh", "dash", "zsh", "ksh", "fish", "pwsh"), ()),
}
"""Programs that run the file that their first word names, and what they write behind it themselves."""
_COMPOSE = ("compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml")
_PACKAGE = ("package.json",)
_PYPROJECT = ("pyproject.toml",)
BUILDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("make", "gmake"), ("GNUmakefile", "makefile", "Makefile")),
    "just": ("justfile", "Justfile", ".justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    "rake": ("Rakefile",),
    "cargo": ("Cargo.toml", "build.rs", "src/main.rs"),
    "go": ("go.mod", "main.go"),
    **dict.fromkeys(("poetry", "pdm", "hatch", "rye"), _PYPROJECT),
    "pixi": ("pixi.toml", "pyproject.toml"),
    "nox": ("noxfile.py",),
    "invoke": ("tasks.py",),
    "deno": ("deno.json", "deno.jsonc"),
    **dict.fromkeys(("docker-compose", "podman-compose"), _COMPOSE),
}
"""Files that say what a program runs, the nearest one of each name in the folder or above it."""
_RUNS = frozenset(("run", "run-script", "start", "restart", "stop", "test"))
"""Words with which a package manager of Node runs what package.json says."""


def words_of(argv: Sequence[str]) -> list[str]:
    """The words of a command, and those of what a shell is told."""
    pieces = (piece for word in argv for piece in (_PIECES.findall(word) if " " in word.strip() else (word,)))
    return list(islice(pieces, MAX_WORDS))


def scripts_of(argv: Sequence[str], folder: Path) -> Iterator[Path]:
    """The files that are there of those that a command runs unnamed, each once or more."""
    words = words_of(argv)
    for at, word in enumerate(words):
        program, rest = program_of(word), words[at + 1 :]
        if _PYTHON.fullmatch(program):
            yield from _of_python(rest, folder)
        elif program in INTERPRETERS:
            yield from _of_interpreter(rest, folder, INTERPRETERS[program])
        if program in _MANAGERS:
            yield from _of_packages(rest, folder)
        if word in ("-m", "--module") and words[0] != word and "uv" in map(program_of, words[:at]):
            yield from _of_module("".join(rest[:1]), folder)
        if ":" in word:  # `uvicorn server:app`, `mcp run server.py:app`
            module = word.partition(":")[0]
            yield from _there(folder / module, folder / f"{module.replace('.', '/')}.py")
        for name in _build_files(program, rest):
            yield from _nearest(folder, name)


def _of_python(rest: Sequence[str], folder: Path) -> Iterator[Path]:
    """The module or the script of a Python; options as Python 3.13 has them (`python --help`)."""
    words, looks_here = iter(rest), True
    for word in words:
        if not word.startswith("-") or word == "-":
            yield from _there(folder / word, folder / word / "__main__.py")
            return
        if word == "--check-hash-based-pycs":
            next(words, None)
        for end, letter in enumerate(word[1:] if not word.startswith("--") else "", 2):
            looks_here = looks_here and letter not in "IP"
            if letter == "m":
                module = word[end:] or next(words, "")
                yield from _of_module(module, folder) if looks_here else ()
            if letter in "WX" and not word[end:]:
                next(words, None)
            if letter in "mc":
                return
            if letter in "WX":
                break


def _of_module(module: str, folder: Path) -> Iterator[Path]:
    """Where `python -m MODULE` looks in the folder."""
    parts = module.split(".")
    if all(part.isidentifier() for part in parts):
        folders = ["/".join(parts[: end + 1]) for end in range(len(parts))]
        names = (*(f"{one}/__init__.py" for one in folders), f"{folders[-1]}.py", f"{folders[-1]}/__main__.py")
        yield from _there(*(folder / name for name in names))


def _of_interpreter(rest: Sequence[str], folder: Path, suffixes: Sequence[str]) -> Iterator[Path]:
    """The file that an interpreter runs. What stands behind an option may be a value of it or the script; a file that
    is named after one was found may be data."""
    before, is_found = "", False
    for word in rest:
        if not word.startswith("-"):
            named = list(_there(folder / word))
            meant = list(_there(*(folder / f"{word}{suffix}" for suffix in suffixes)))
            meant += _of_package(folder / word) if suffixes else ()
            yield from meant if is_found else (*named, *meant)
            is_found = is_found or bool(named or meant)
            if (named or meant) and not before.startswith("-"):
                return
        before = word


def _of_packages(rest: Sequence[str], folder: Path) -> Iterator[Path]:
    """The packages that are folders: `npx ./server`, `uvx --from . name`."""
    for word in rest:
        name = word.partition("=")[2] if word.startswith("-") else word
        name = name.removeprefix("file:").partition("[")[0]
        if name.startswith((".", "/")) and (folder / name).is_dir():
            yield from _of_package(folder / name)
            yield from _there(*(folder / name / one for one in ("pyproject.toml", "setup.py", "setup.cfg")))


def _of_package(place: Path) -> Iterator[Path]:
    """What Node runs of a folder: `main` and `bin` of its package.json, else its index."""
    yield from _there(place / "package.json", *(place / f"index{suffix}" for suffix in _SCRIPT))
    with contextlib.suppress(OSError, ValueError, RecursionError):
        with (place / "package.json").open("rb") as file:
            table = json.loads(file.read(MAX_PACKAGE))
        said = [table.get("main"), table.get("bin")] if isinstance(table, dict) else []
        for one in said:
            for name in one.values() if isinstance(one, dict) else (one,):
                if isinstance(name, str):
                    yield from _there(place / name, place / f"{name}.js")


def _build_files(program: str, rest: Sequence[str]) -> tuple[str, ...]:
    if program in ("npm", "pnpm", "yarn", "bun") and not _RUNS.isdisjoint(rest[:3]):
        return _PACKAGE
    if program in CONTAINERS:
        return _COMPOSE if "compose" in rest else ()
    return _PACKAGE if program == "node" and "--run" in rest else BUILDS.get(program, ())


def _nearest(folder: Path, name: str) -> Iterator[Path]:
    above = (one / name for one in (folder, *folder.parents) if one.parent != one)
    found = next((file for one in above for file in _there(one)), None)
    if found is not None:
        yield found


def _there(*places: Path) -> Iterator[Path]:
    for place in places:
        with contextlib.suppress(OSError, ValueError):  # a text that is not a path
            if place.is_file():
                yield place
