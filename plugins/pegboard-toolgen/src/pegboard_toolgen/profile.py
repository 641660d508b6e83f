"""What kind of project a folder holds: by its marker files, which are read and never run.

    marker files -> type, runtime, execution model, what to discover -> project.profile.json

A program is reached as a child process, a Python library inside the host, a service over HTTP. Code in another language
than Python is reached as a child process or over HTTP, never inside the host. Reading is bounded, stays within the
project and follows no link out of it; a marker that cannot be read costs itself and is named.
"""

from __future__ import annotations

import ast
import configparser
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from pegboard import ConfigError
from pegboard.config import parse_toml
from pegboard.schema.jsontext import JsonTextError, loads
from pegboard_manifest import sanitise
from pegboard_toolgen._texts import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PROFILE_VERSION = "1.0"
TYPES = ("program", "library", "http-api", "mixed")
RUNTIMES = ("python", "node", "go", "rust", "java", "dotnet", "ruby", "php", "other")
EXECUTION_MODELS = ("subprocess", "in-process", "remote-http", "mixed")
MODEL_OF = {"program": "subprocess", "library": "in-process", "http-api": "remote-http", "mixed": "mixed"}
SOURCE_TYPES = {"program": "program", "library": "library", "openapi": "http-api"}

OURS = "tool.manifest.json"
"""A folder that holds it was made of a project, and is not a project."""
MAX_MARKER = 2_000_000
MAX_SPECIFICATION = 32_000_000
MAX_FOLDERS = 2_000
MAX_PROGRAMS = 60
SKIPPED = frozenset((
    "node_modules", "vendor", "target", "dist", "build", "__pycache__", "site-packages", "venv", "env", "tests", "test",
    "llm-tooling", "examples", "fixtures",
))  # fmt: skip
_SPEC_NAME = re.compile(r"(.*[._-])?(openapi|swagger|api-docs)([._-].*)?\.(json|ya?ml)", re.IGNORECASE)
_SPEC_HEAD = re.compile(r"""["']?(openapi|swagger)["']?\s*:\s*["']?[23]""")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PROGRAM = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,100}")
_OTHER_RUNTIMES = (
    ("pom.xml", "java"), ("build.gradle", "java"), ("build.gradle.kts", "java"), ("Gemfile", "ruby"),
    ("composer.json", "php"),
)  # fmt: skip


@attrs.frozen
class Marker:
    """A file that says something of the project; `file` is relative to it."""

    file: str
    says: str


@attrs.frozen(kw_only=True)
class Source:
    """Something to discover.

    Args:
        kind: `program`, `library` or `openapi`.
        name: what it is called: the program, the import name, the document or its URL. Never a path of the machine.
        where: where it is, for this run alone.
        search_paths: where a library lies, for this run alone.
        include: globs over what a library does not re-export, for this run alone.
        inspect: a library is imported for the docstrings of what its files do not describe.
        inside: the same relative to the project, where it lies there: kept for later runs.
    """

    kind: str
    name: str
    where: str = ""
    search_paths: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    inspect: bool = False
    inside: str = ""
    base_url: str = ""

    def to_json(self) -> dict[str, Any]:
        """As it stands in the profile."""
        said: dict[str, Any] = {"kind": self.kind, "name": self.name}
        if self.inspect:
            said["inspect"] = True
        if self.inside:
            said["inside"] = self.inside
        if self.base_url:
            said["base_url"] = self.base_url
        return said


@attrs.frozen(kw_only=True)
class Profile:
    """What a folder holds.

    .. versionadded:: 0.1
    """

    name: str = ""
    version: str = ""
    description: str = ""
    runtime: str = "other"
    markers: tuple[Marker, ...] = ()
    sources: tuple[Source, ...] = ()
    notes: tuple[str, ...] = ()


class _Finder:
    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.markers: list[Marker] = []
        self.programs: dict[str, Source] = {}
        self.libraries: dict[str, Source] = {}
        self.specifications: list[Source] = []
        self.notes: list[str] = []
        self.runtimes: list[str] = []
        self.said: dict[str, str] = {}

    def find(self) -> Profile:
        for read in (self._pyproject, self._setup_cfg, self._setup_py, self._package_json, self._go_mod, self._cargo):
            read()
        for name, runtime in _OTHER_RUNTIMES:
            if (self.root / name).is_file():
                self._mark(name, f"a project in {runtime}: reached as a program or over HTTP")
                self.runtimes.append(runtime)
        for name in sorted(one.name for one in _listed(self.root) if one.suffix in (".csproj", ".sln", ".fsproj")):
            self._mark(name, "a project in dotnet: reached as a program or over HTTP")
            self.runtimes.append("dotnet")
        if "python" in self.runtimes:
            self._packages()
        self._search_specifications()
        return Profile(
            **{key: sanitise(value, 4_000 if key == "description" else 64 if key == "version" else 128, one_line=True)
               for key, value in self.said.items()},
            runtime=self.runtimes[0] if self.runtimes else "other",
            markers=tuple(self.markers),
            sources=(*list(self.programs.values())[:MAX_PROGRAMS], *self.libraries.values(), *self.specifications),
            notes=tuple(self.notes),
        )  # fmt: skip

    def _mark(self, file: str, says: str) -> None:
        self.markers.append(Marker(file, sanitise(says, 300, one_line=True)))

    def _text(self, name: str) -> str | None:
        path = self.root / name
        try:
            if not path.is_file() or not path.resolve().is_relative_to(self.root):
                return None
            with path.open("rb") as file:
                content = file.read(MAX_MARKER + 1)
        except OSError as problem:
            self.notes.append(f"{name} cannot be read: {problem.strerror}")
            return None
        if len(content) > MAX_MARKER:
            self.notes.append(f"{name} has more than {MAX_MARKER:,} bytes and is not read")
            return None
        return content.decode("utf-8", "replace")

    def _bad(self, name: str, problem: object) -> None:
        self.notes.append(f"{name} cannot be read: {shown(problem, 100)}")

    def _say(self, **said: Any) -> None:
        for key, value in said.items():
            if isinstance(value, str) and value.strip():
                self.said.setdefault(key, value.strip())

    def _program(self, name: object, where: str = "") -> None:
        if not isinstance(name, str) or not _PROGRAM.fullmatch(name) or name in self.programs:
            return
        local = self._built(name, where)
        inside = local.relative_to(self.root).as_posix() if local else ""
        self.programs[name] = Source(kind="program", name=name, where=str(local or name), inside=inside)

    def _built(self, name: str, where: str) -> Path | None:
        """The program where a build of this project puts it."""
        places = [where] if where else []
        places += [f"{folder}/{name}" for folder in (".venv/bin", "venv/bin", "target/release", "target/debug", "bin",
                                                     "build", ".", "node_modules/.bin")]  # fmt: skip
        for place in places:
            path = self.root / place
            if path.is_file() and os.access(path, os.X_OK) and path.parent.resolve().is_relative_to(self.root):
                return path
        return None

    # -- marker files

    def _pyproject(self) -> None:
        text = self._text("pyproject.toml")
        if text is None:
            return None
        try:
            said = parse_toml(text)
        except ValueError as problem:
            return self._bad("pyproject.toml", problem)
        self.runtimes.append("python")
        project = _table(said.get("project"))
        poetry = _table(_table(said.get("tool")).get("poetry"))
        for table in (project, poetry):
            self._say(name=table.get("name"), version=table.get("version"), description=table.get("description"))
        scripts = {**_table(project.get("scripts")), **_table(poetry.get("scripts"))}
        for name in sorted(scripts):
            self._program(name)
        self._mark("pyproject.toml", f"a Python project; programs: {', '.join(sorted(scripts)) or 'none'}")
        return None

    def _setup_cfg(self) -> None:
        text = self._text("setup.cfg")
        if text is None:
            return None
        parser = configparser.ConfigParser(interpolation=None, strict=False)
        try:
            parser.read_string(text)
        except configparser.Error as problem:
            return self._bad("setup.cfg", problem)
        if not parser.has_section("metadata") and not parser.has_section("options"):
            return None
        self.runtimes.append("python")
        self._say(**{key: parser.get("metadata", key, fallback=None) for key in ("name", "description")})
        version = parser.get("metadata", "version", fallback="")
        if not version.startswith(("attr:", "file:")):
            self._say(version=version)
        names = self._scripts(parser.get("options.entry_points", "console_scripts", fallback="").splitlines())
        self._mark("setup.cfg", f"a Python project; programs: {', '.join(names) or 'none'}")
        return None

    def _scripts(self, lines: Sequence[object]) -> list[str]:
        """The programs of entry points as setuptools has them: `howdoi = howdoi.cli:main`."""
        names = sorted(line.partition("=")[0].strip() for line in lines if isinstance(line, str) and "=" in line)
        for name in names:
            self._program(name)
        return names

    def _setup_py(self) -> None:
        """What `setup.py` says where it is written out: it is read as syntax, and never run."""
        text = self._text("setup.py")
        if text is None:
            return
        try:
            said = _setup_call(ast.parse(text))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
            self._bad("setup.py", type(problem).__name__)
            said = {}
        self.runtimes.append("python")
        self._say(**{key: said.get(key) for key in ("name", "version", "description")})
        points = said.get("entry_points")
        if isinstance(points, str):  # in the form of entry_points.txt
            points = {"console_scripts": points.partition("[console_scripts]")[2].partition("\n[")[0].splitlines()}
        found = _table(points).get("console_scripts")
        names = self._scripts([found] if isinstance(found, str) else found if isinstance(found, list | tuple) else [])
        self._mark("setup.py", f"a Python project, read and not run; programs: {', '.join(names) or 'none'}")

    def _package_json(self) -> None:
        text = self._text("package.json")
        if text is None:
            return None
        try:
            said = _table(loads(text))
        except JsonTextError as problem:
            return self._bad("package.json", problem)
        self.runtimes.append("node")
        self._say(name=said.get("name"), version=said.get("version"), description=said.get("description"))
        found = said.get("bin")
        if isinstance(found, str) and isinstance(said.get("name"), str):
            found = {said["name"].rpartition("/")[2]: found}
        programs = {key: value for key, value in _table(found).items() if isinstance(value, str)}
        for name in sorted(programs):
            self._program(name, programs[name])
        self._mark("package.json", f"a Node project; programs: {', '.join(sorted(programs)) or 'none'}")
        return None

    def _go_mod(self) -> None:
        text = self._text("go.mod")
        if text is None:
            return
        self.runtimes.append("go")
        module = re.search(r"^module\s+\"?([^\s\"]{1,300})", text, re.MULTILINE)
        name = re.sub(r"/v\d+$", "", module[1]).rpartition("/")[2] if module else ""
        self._say(name=name)
        commands = sorted(one.name for one in _listed(self.root / "cmd") if one.is_dir() and not one.is_symlink())
        if (self.root / "main.go").is_file():
            commands = [name, *commands]
        for command in commands:
            self._program(command)
        self._mark("go.mod", f"a Go project; programs: {', '.join(commands) or 'none'}")

    def _cargo(self) -> None:
        text = self._text("Cargo.toml")
        if text is None:
            return None
        try:
            said = parse_toml(text)
        except ValueError as problem:
            return self._bad("Cargo.toml", problem)
        self.runtimes.append("rust")
        package = _table(said.get("package"))
        self._say(name=package.get("name"), version=package.get("version"), description=package.get("description"))
        bins = said.get("bin")
        names = [_table(one).get("name") for one in bins] if isinstance(bins, list) else []
        if not names and (self.root / "src" / "main.rs").is_file():
            names = [package.get("name")]
        for name in names:
            self._program(name)
        listed = ", ".join(str(name) for name in names if name)
        self._mark("Cargo.toml", f"a Rust project; programs: {listed or 'none'}")
        return None

    def _packages(self) -> None:
        """The packages of a Python project: folders with `__init__.py`, under `src` or beside the marker."""
        for base in ("src", "."):
            place = self.root / base
            found = [
                one.name
                for one in _listed(place)
                if one.is_dir()
                and not one.is_symlink()
                and _WORD.fullmatch(one.name)
                and one.name not in SKIPPED | {"docs", "src"}
                and not one.name.startswith("_")
                and (one / "__init__.py").is_file()
            ]
            for name in sorted(found):
                self.libraries[name] = Source(
                    kind="library", name=name, search_paths=(str(place),), inside=base if base != "." else "."
                )
            if found:
                self._mark(base, f"Python packages: {', '.join(sorted(found))}")
                return

    def _search_specifications(self) -> None:
        for path in files_in(self.root, depth=3):
            if not _SPEC_NAME.fullmatch(path.name) or path.is_symlink():
                continue
            name = path.relative_to(self.root).as_posix()
            try:
                if path.stat().st_size > MAX_SPECIFICATION:
                    self.notes.append(f"{name} is too large to be read")
                    continue
                with path.open("rb") as file:
                    head = file.read(20_000).decode("utf-8", "replace")
            except OSError as problem:
                self._bad(name, problem.strerror)
                continue
            if _SPEC_HEAD.search(head):
                self._mark(name, "an OpenAPI document")
                self.specifications.append(Source(kind="openapi", name=name, where=str(path), inside=name))


def profile_project(root: Path) -> Profile:
    """Look at a project's marker files.

    Raises:
        ConfigError: it is not a folder.

    .. versionadded:: 0.1
    """
    if not root.is_dir():
        raise ConfigError(f"{shown(root, 100)} is not a folder", hint="name the folder of a project")
    return _Finder(root).find()


def files_in(root: Path, depth: int) -> Iterator[Path]:
    """The files of a project, so many levels deep: without what it was made of, and what we made of it."""
    for count, (place, inside, names) in enumerate(os.walk(root)):
        level = len(Path(place).relative_to(root).parts)
        if OURS in names and level:
            inside.clear()
            continue
        if OURS in names:  # made right in the project
            inside[:] = [one for one in inside if one != "adapters"]
        inside[:] = sorted(one for one in inside if not one.startswith(".") and one not in SKIPPED and level < depth)
        if count >= MAX_FOLDERS:
            return
        for name in sorted(names):
            yield Path(place) / name


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _setup_call(tree: ast.Module) -> dict[str, Any]:
    """What the call of `setup` is given, as far as it is written out there or under a name of the module."""
    known = {
        target.id: one.value
        for one in tree.body
        if isinstance(one, ast.Assign)
        for target in one.targets
        if isinstance(target, ast.Name)
    }

    def value_of(node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            node = known.get(node.id, node)
        if isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            return {str(value_of(key)): value_of(one) for key, one in pairs if key is not None}
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return None

    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "setup":
            return {keyword.arg: value_of(keyword.value) for keyword in node.keywords if keyword.arg}
    return {}


# -- what is made of it


def wanted_sources(profile: Profile, type_: str | None, execution_model: str | None) -> tuple[Source, ...]:
    """The sources that fit what a person said of type and execution model."""
    by_model = {model: kind for kind, model in MODEL_OF.items()}
    type_ = type_ or by_model.get(execution_model or "", "mixed")
    return tuple(one for one in profile.sources if type_ == "mixed" or SOURCE_TYPES[one.kind] == type_)


def refuse_impossible(type_: str | None, runtime: str | None, execution_model: str | None) -> None:
    """Refuse what cannot be.

    Raises:
        ConfigError: the options contradict each other.
    """
    if execution_model == "in-process" and runtime not in (None, "python"):
        raise ConfigError(
            f"code in {runtime} cannot run in-process: only Python can",
            hint="--execution-model subprocess reaches it as a program, remote-http as a service",
        )
    if type_ == "library" and runtime not in (None, "python"):
        raise ConfigError(
            f"a library in {runtime} cannot be called from Python",
            hint="give it a program (--type program) or an HTTP API (--type http-api)",
        )
    if type_ is not None and execution_model is not None and MODEL_OF[type_] != execution_model:
        raise ConfigError(
            f"--type {type_} and --execution-model {execution_model} do not go together",
            hint=f"--type {type_} runs as {MODEL_OF[type_]}",
        )


def project_of(
    profile: Profile,
    kinds: set[str],
    runtime: str | None,
    found_runtime: str,
    entrypoint: str,
    *,
    name: str,
    version: str,
    description: str,
) -> dict[str, Any]:
    """The manifest's `project`.

    Args:
        profile: what the folder says.
        kinds: of the sources that tools came from.
        runtime: what a person says.
        found_runtime: what discovery shows, where the folder says nothing.
        entrypoint: the program, the import name or the URL.
        name, version, description: what discovery says, where the folder says nothing.
    """
    types = {SOURCE_TYPES[kind] for kind in kinds}
    type_ = next(iter(types)) if len(types) == 1 else "mixed"
    said: dict[str, Any] = {
        "name": sanitise(profile.name or name, 128, one_line=True) or "tools",
        "type": type_,
        "runtime": runtime or (profile.runtime if profile.markers else found_runtime),
        "execution_model": MODEL_OF[type_],
    }
    for key, value, limit in (
        ("version", profile.version or version, 64),
        ("entrypoint", entrypoint, 512),
        ("description", profile.description or description, 4_000),
    ):
        text = sanitise(value, limit, one_line=True)
        if text:
            said[key] = text
    return said


def to_json(
    profile: Profile,
    project: Mapping[str, Any],
    sources: tuple[Source, ...],
    selection: Any,
    levels: int,
    options: Mapping[str, str],
    not_covered: Sequence[Mapping[str, str]] | None = None,
    categories: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """`project.profile.json`: how the project was classified, and what `init` was asked for. No path of the machine.

    `not_covered` is there only where somebody looked for routes, `categories` where a person was asked what reads.
    """
    asked: dict[str, Any] = {} if categories is None else {"categories": dict(categories)}
    if not_covered is not None:
        asked["not_covered"] = [dict(route) for route in not_covered]
    return {
        "profile_version": PROFILE_VERSION,
        "project": dict(project),
        "markers": [attrs.asdict(marker) for marker in profile.markers],
        "sources": [source.to_json() for source in sources],
        "levels": levels,
        "options": dict(options),
        "selection": selection,
        **asked,
        "notes": list(profile.notes),
    }
