"""What a server's table names outside of itself: variables of the host, files of variables, programs and scripts.

Variables: `${VAR}` and `${VAR:-default}` as in our own files, and what editors have: `${env:VAR}`, `${userHome}`,
`${workspaceFolder}`, `${workspaceFolderBasename}`, `${cwd}`, `${pathSeparator}`. What VS Code asks a person for,
`${input:ID}`, comes from the variable of that name in capitals (`github-token`: `GITHUB_TOKEN`), else from the input's
own default. Anything else in `${...}` is a fault: a server would get it as it stands. A `$` without a brace is one.

Files are read before anybody trusted who names them: so only regular files are, within bounds, for a pipe would hold
the program up. `pegboard trust` holds with a table its file of variables, its program where a path names it, and what
its arguments name and looks like a program or its settings; and what the command runs of the folder, or a package
manager obeys there, though nothing names it. Not held are data, which change as the server works (a database among the
arguments), a program that is found on the PATH, what a script imports, and what a package manager fetches: pin its
version.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from pegboard import Fault
from pegboard.config import expand_home, looks_secret, mask_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pegboard_mcp.definitions import ServerDefinition

MAX_ENV_FILE_BYTES = MAX_PACKAGE = 1_048_576
SUFFIXES = frozenset(
    [
        ".bash", ".bat", ".cfg", ".cjs", ".class", ".cmd", ".conf", ".cs", ".dll", ".env", ".exe", ".go", ".ini",
        ".jar", ".js", ".json", ".jsx", ".kts", ".lua", ".mjs", ".mts", ".php", ".pl", ".ps1", ".py", ".pyc", ".pyz",
        ".rb", ".rs", ".sh", ".so", ".toml", ".ts", ".tsx", ".vbs", ".wasm", ".xml", ".yaml", ".yml", ".zsh",
    ]
)  # fmt: skip
"""Of programs and of their settings."""

Path_ = tuple[str | int, ...]
"""Where something stands in a table, as in a `Fault`."""

_PLACEHOLDER = re.compile(r"\$\{([^}]*)(\}?)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL | re.ASCII)

# -- variables of the host


class Reference(NamedTuple):
    """A `${...}` in a text.

    Args:
        written: as it stands there.
        variable: the variable of the host that it names, or None.
        default: what it is where the variable is not set.
        value: what it is in any case, where it names a folder.
        asked: whether VS Code would ask a person for it.
    """

    written: str
    variable: str | None = None
    default: str | None = None
    value: str | None = None
    asked: bool = False


class Names:
    """What names in `${...}` mean in one file."""

    def __init__(self, path: Path, inputs: Mapping[str, Mapping[str, Any]]) -> None:
        self._path = path
        self._inputs = inputs

    def parts(self, text: str) -> list[str | Reference]:
        """A text taken apart into plain texts and references."""
        parts: list[str | Reference] = []
        at = 0
        for match in _PLACEHOLDER.finditer(text):
            parts += [text[at : match.start()], self._reference(match)]
            at = match.end()
        return [part for part in [*parts, text[at:]] if part != ""]

    def _reference(self, match: re.Match[str]) -> Reference:
        written, body = match[0], match[1]
        kind, colon, name = body.partition(":")
        if not match[2]:
            return Reference(written)
        if colon and kind == "env" and _NAME.fullmatch(name):
            return Reference(written, name)
        if colon and kind == "input" and name:
            default = self._inputs.get(name, {}).get("default")
            return Reference(written, variable_of(name), default if isinstance(default, str) else None, asked=True)
        variable = _VARIABLE.fullmatch(body)
        folder = self._folder(body)
        if folder is not None or variable is None:
            return Reference(written, value=folder)
        return Reference(written, variable[1], variable[2])

    def _folder(self, name: str) -> str | None:
        if name == "userHome":
            return str(expand_home("~"))
        if name == "cwd":
            return str(Path.cwd())
        if name in ("pathSeparator", "/"):
            return os.sep
        if name in ("workspaceFolder", "workspaceRoot"):
            return str(project_of(self._path))
        return project_of(self._path).name if name == "workspaceFolderBasename" else None


def variable_of(name: str) -> str:
    """The variable that stands for an input, or another name: `github-token` is `GITHUB_TOKEN`."""
    variable = re.sub(r"[^A-Z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name[:100]).upper()).strip("_")
    return variable if variable and not variable[0].isdigit() else f"INPUT_{variable}".rstrip("_")


def fill(table: Mapping[str, Any], names: Names, environ: Mapping[str, str]) -> tuple[dict[str, Any], list[Fault]]:
    """The table with its variables filled in, and a fault for each that could not be; its place holds nothing then."""
    faults: list[Fault] = []

    def one(part: str | Reference, path: Path_) -> str:
        if isinstance(part, str):
            return part
        value = part.value if part.variable is None else environ.get(part.variable)
        if not value and part.default is not None:
            value = part.default
        if value is None:
            faults.append(missing(part, path))
        return value or ""

    def change(text: str, path: Path_) -> str:
        return "".join(one(part, path) for part in names.parts(text)) if "${" in text else text

    return changed(table, change), faults


def changed(value: Any, change: Callable[[str, Path_], str], path: Path_ = ()) -> Any:
    """The value with each text in it changed; `change` is told where it stands."""
    if isinstance(value, str):
        return change(value, path)
    if isinstance(value, Mapping):
        return {key: changed(item, change, (*path, key)) for key, item in value.items()}
    if isinstance(value, list):
        return [changed(item, change, (*path, at)) for at, item in enumerate(value)]
    return value


def missing(part: Reference, path: Path_) -> Fault:
    """The fault of a reference that means nothing, or whose variable is not set."""
    shown = part.written if len(part.written) <= 60 else f"{part.written[:57]}..."
    if part.variable is None:
        return Fault(path, "a variable that is known here", shown, "write ${VAR}, or what it stands for")
    hint = f"set {part.variable}, or write ${{{part.variable}:-default}}"
    if part.asked:
        hint = f"nobody is asked here: set {part.variable}"
    return Fault(path, f"the variable {part.variable} to be set", "nothing", hint)


def project_of(path: Path) -> Path:
    """The folder of the project that a file belongs to."""
    folder = Path(os.path.abspath(path)).parent  # noqa: PTH100 - a link is where it lies
    return folder.parent if folder.name in (".vscode", ".cursor") else folder


# -- a file of variables


def read_variables(file: Path, named: str) -> tuple[dict[str, str], list[Fault]]:
    """The variables of a file, as python-dotenv reads it, and what is wrong with it; the faults stand at no path.

    Args:
        file: where it is.
        named: the file as it was written.
    """
    try:
        content = read_bytes(file, MAX_ENV_FILE_BYTES)
    except (OSError, ValueError) as problem:
        why = getattr(problem, "strerror", None) or "a path that could not be opened"
        hint = "make the file, or repair the path; a relative one begins at the working directory"
        return {}, [Fault((), "a file that can be read", f"{named}: {why.lower()}", hint)]
    if content is None:
        larger = f"{named}, which is larger"
        return {}, [Fault((), f"a file of at most {MAX_ENV_FILE_BYTES} bytes", larger, "name another")]
    try:
        return _variables_in(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return {}, [Fault((), "a file of UTF-8 text", f"other bytes in {named}", "save it as UTF-8")]


def _variables_in(text: str) -> tuple[dict[str, str], list[Fault]]:
    import io

    from dotenv import dotenv_values
    from dotenv.parser import parse_stream

    faults: list[Fault] = []
    known = set(os.environ)
    for binding in parse_stream(io.StringIO(text)):
        line = binding.original.line
        if binding.error:
            hint = "repair the line, or begin it with '#'"
            return {}, [*faults, Fault((), "lines of NAME=value", f"another one (line {line})", hint)]
        for name in _unset(binding.value or "", known):
            hint = f"set {name}, or write ${{{name}:-default}}"
            faults.append(Fault((), f"the variable {name[:60]} to be set", f"nothing (line {line})", hint))
        known |= {binding.key} if binding.key else set()
    values = dotenv_values(stream=io.StringIO(text), interpolate=True)
    if any("\0" in key or "\0" in (value or "") for key, value in values.items()):
        faults.append(Fault((), "variables without NUL", "one with NUL", "look at the file"))
    return {key: value for key, value in values.items() if key and value is not None}, faults


def _unset(value: str, known: set[str]) -> list[str]:
    """The variables that a value of an env_file needs and that nobody has set."""
    from dotenv.variables import Variable, parse_variables

    named = (atom for atom in parse_variables(value) if isinstance(atom, Variable))
    return [atom.name for atom in named if atom.default is None and atom.name not in known]


def open_regular(path: Path) -> BinaryIO:
    """A regular file, open to be read; a pipe is not waited for.

    Raises:
        OSError: it cannot be read, or is not a regular file.
        ValueError: the path is not valid.
    """
    number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        mode = os.fstat(number).st_mode
        if stat.S_ISDIR(mode):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "no regular file")
    except OSError:
        os.close(number)
        raise
    return os.fdopen(number, "rb")


def read_bytes(path: Path, limit: int) -> bytes | None:
    """The content of a regular file; None where it is longer than `limit`. Raises as `open_regular`."""
    with open_regular(path) as file:
        content = file.read(limit + 1)
    return content if len(content) <= limit else None


# -- the files that are held


PRIVATE = ("env_file", "cwd")
"""Keys whose files may hold secrets or are each person's own: no lock has their hashes, and no sandbox shows them."""


_OBEYED = re.compile(
    r"""(?:LD|DYLD|NPM_CONFIG|YARN|COREPACK|BUN|DENO|UV|PIP|CARGO|RUSTUP|POETRY|DOCKER|GIT_CONFIG)_.*
    |(?:NODE|PERL5?|RUBY)(?:_?OPTIONS|OPT|_?PATH|LIB)|PERL5DB|PYTHON(?:PATH|HOME|STARTUP|USERBASE|PLATLIBDIR)|VIRTUAL_ENV
    |(?:_JAVA|JDK_JAVA|JAVA_TOOL)_OPTIONS|CLASSPATH|DOTNET_(?:STARTUP_HOOKS|ADDITIONAL_DEPS|SHARED_STORE)
    |GO(?:PROXY|FLAGS|ROOT|PATH|TOOLCHAIN|ENV)|GEM_(?:HOME|PATH)|PHPRC|PHP_INI_SCAN_DIR|LUA_(?:PATH|CPATH|INIT)
    |(?:BASH_)?ENV|ZDOTDIR|SHELLOPTS|PS4|IFS|PATH|HOME|XDG_(?:CONFIG|DATA)_HOME|GIT_SSH(?:_COMMAND)?|MAKEFLAGS""",
    re.IGNORECASE | re.VERBOSE,
)
"""Variables with which programs load code, or look for it elsewhere: they say as much of what is run as a command."""


def variables_of(definition: ServerDefinition) -> dict[str, str]:
    """Those of a server that say what it runs, without passwords."""
    return {
        name: mask_text(value)
        for name, value in sorted(definition.env.items())
        if _OBEYED.fullmatch(name) and not looks_secret(name)
    }


def files_of(definition: ServerDefinition) -> Iterator[tuple[str, Path]]:
    """The files that are held, each with the key of the table that names it; those that are not there are left out.

    `args` names what the command runs, though no word of it may be a path to that (`pegboard_mcp.scripts`), or a
    variable has it load. `cwd` names what a package manager obeys of the folder that the server starts in, whether the
    table says that folder or not, and what is run of a folder above.
    """
    from pegboard_mcp.scripts import scripts_of, words_of

    if definition.env_file is not None:
        yield "env_file", Path(definition.env_file)
    folder = Path(definition.cwd or ".").absolute()
    argv, held = definition.argv, set[Path]()
    told = [word for word in words_of(argv) if word not in argv]
    # `--require ./file.js`, or folders and libraries in a row
    loaded = [word for value in variables_of(definition).values() for word in re.split(rf"[\s{os.pathsep}]+", value)]
    for at, word in enumerate((*argv, *told, *loaded)):
        file = _named(word, folder, is_command=at == 0)
        if file is not None and file not in held:
            held.add(file)
            yield "args" if at else "command", file
    for file in scripts_of(argv, folder):
        if file not in held:
            held.add(file)
            yield "args" if folder in file.parents else "cwd", file
    for file in _of_folder(folder, argv):
        if file not in held:
            yield "cwd", file


def _of_folder(folder: Path, argv: Sequence[str]) -> Iterator[Path]:
    """What a command obeys of its folder, the nearest one of each name; below the person's own home nothing above
    that counts, for those are settings of theirs."""
    from pegboard_mcp.packages import obeyed_in_folder

    names = obeyed_in_folder(argv)
    if not names:
        return
    own = Path(os.path.expanduser("~"))  # noqa: PTH111 - this one answers also where nobody has a home
    folders = [one for one in (folder, *folder.parents) if one != own and one not in own.parents]
    for name in names:
        with contextlib.suppress(OSError, ValueError):
            found = next((one / name for one in folders if (one / name).is_file()), None)
            if found is not None and (
                name != "package.json" or b'"bin"' in (read_bytes(found, MAX_PACKAGE) or b'"bin"')
            ):
                yield found  # most projects bring no command, and their package.json changes with every release


def _named(word: str, folder: Path, *, is_command: bool) -> Path | None:
    """The file that a word of a command line names, `--config=FILE` too, if it is one that is held."""
    text = word.partition("=")[2] if word.startswith("-") else word
    if not text or (is_command and not set(text) & {os.sep, os.altsep}):
        return None
    file = folder / text
    try:
        return file if file.is_file() and (is_command or _is_program(file)) else None
    except (OSError, ValueError):  # a text that is not a path
        return None


def _is_program(file: Path) -> bool:
    return file.suffix.lower() in SUFFIXES or file.name.startswith(".env") or os.access(file, os.X_OK) or _begins(file)


def _begins(file: Path) -> bool:
    """Whether it begins as a script does, with the interpreter that runs it."""
    with file.open("rb") as opened:
        return opened.read(2) == b"#!"
