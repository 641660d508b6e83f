"""Which program runs a package: `server = "@scope/name"`.

`npm:NAME` and `pypi:NAME` say where a package is. Otherwise a name with a scope (`@scope/name`) is npm's; one that
begins with `mcp-server-` (`mcp_server_`) is PyPI's, for of the packages called so forty times as many are there as on
npm; and so is one that only PyPI could have, with an upper case letter, an extra in brackets, or `==`. Every other name
is npm's. npm's become `npx -y NAME`, PyPI's `uvx NAME`, or `uvx --from SPEC NAME` where more than the name and a
version is said.

Such a program installs the package first, where it is not there in the version that is wanted. `install_step` gives the
command that does this alone: the same options, and nothing to run behind them. It ends up in the very place where the
server is started from: npx and `npm exec` name that after the packages, uvx and pipx after what they resolve to.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

_SCOPED = re.compile(r"@[a-z0-9~-][a-z0-9._~-]*/[a-z0-9~-][a-z0-9._~-]*(?:@[\w.^~<>=+*-]+)?", re.ASCII)
_NPM = re.compile(r"[a-z0-9~-][a-z0-9._~-]*(?:@[\w.^~<>=+*-]+)?", re.ASCII)
_PACKAGE = re.compile(r"((?:@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~][a-z0-9._~-]*)(?:@.*)?", re.ASCII)
_PYPI = re.compile(
    r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)"
    r"(?P<extra>\[[A-Za-z0-9._, -]+\])?(?P<version>@[\w.+-]+|(?:[=~<>!]=|[<>])[\w.+*,=~<>! -]+)?",
    re.ASCII,
)


def runner_of(package: str) -> tuple[str, ...] | None:
    """The command that runs a package of npm or PyPI; None for what can be the name of none."""
    where, colon, name = package.partition(":")
    if not colon:
        name = package
        where = "pypi" if _is_on_pypi(package) else "npm"
    if where == "npm" and (_SCOPED.fullmatch(name) or _NPM.fullmatch(name)) and not name.startswith("-"):
        return ("npx", "-y", name)
    parts = _PYPI.fullmatch(name) if where == "pypi" else None
    if parts is None:
        return None
    if parts["extra"] or not (parts["version"] or "@").startswith("@"):
        return ("uvx", "--from", name, parts["name"])
    return ("uvx", name)


def _is_on_pypi(package: str) -> bool:
    if package.startswith("@"):
        return False
    return bool(re.match(r"mcp[-_.]server[-_.]", package) or re.search(r"[A-Z\[]|[=~<>!]=", package))


class InstallStep(NamedTuple):
    """How a package is installed without being run.

    Args:
        argv: the command.
        command: what npx would take from the folder or from PATH, if it is there, and then install nothing; or None.
    """

    argv: tuple[str, ...]
    command: str | None = None


class _Runner(NamedTuple):
    """A program that installs a package and runs it, and how its command line is read."""

    package: tuple[str, ...]
    """The options that name the package; without one the first word that is not an option does."""
    nothing: tuple[str, ...]
    """What it runs instead of the server: nothing, with success."""
    valued: frozenset[str]
    flags: frozenset[str]


def _options(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NPM_EXEC = _Runner(
    ("--package", "-p"),
    ("-c", ":"),
    _options("-p --package -w --workspace --registry --cache --prefix --userconfig --loglevel --node-options --tag"),
    _options(
        "-y --yes --no --no-yes -q --quiet -s --silent -d --verbose --offline --prefer-offline --prefer-online "
        "--ignore-scripts --no-audit --no-fund --no-install --no-update-notifier"
    ),
)
_UVX = _Runner(
    ("--from",),
    ("python", "-c", ""),
    _options(
        "--from -w --with --with-editable --with-requirements -c --constraints -b --build-constraints --overrides "
        "--env-file --index --default-index -i --index-url --extra-index-url -f --find-links --index-strategy "
        "--keyring-provider -P --upgrade-package --resolution --prerelease --exclude-newer --link-mode "
        "--refresh-package --reinstall-package --no-build-package --no-binary-package --cache-dir -p --python "
        "--color --directory --project --config-file --allow-insecure-host"
    ),
    _options(
        "--isolated --no-env-file --no-index -U --upgrade --no-sources --reinstall --compile-bytecode --no-build "
        "--no-binary -n --no-cache --refresh --managed-python --no-managed-python --no-python-downloads -q --quiet -v "
        "--verbose --native-tls --system-certs --offline --no-progress --no-config"
    ),
)
_PIPX_RUN = _Runner(
    ("--spec",),
    ("python", "-c", ""),
    _options("--spec --with --python -i --index-url --pip-args"),
    _options("--no-cache -v --verbose -q --quiet"),
)
RUNNERS: dict[tuple[str, ...], _Runner] = {
    ("npx",): _NPM_EXEC,
    ("npm", "exec"): _NPM_EXEC,
    ("npm", "x"): _NPM_EXEC,
    ("uvx",): _UVX,
    ("uv", "tool", "run"): _UVX,
    ("pipx", "run"): _PIPX_RUN,
}
"""Options as npm 11, uv 0.13 and pipx 1.8 have them. One that stands in neither list may take the next word as its
value, so that nobody can tell where the package is: then there is no step."""
_MANAGERS = re.compile(r"(?<![\w.-])(?:npx|npm|uvx|uv|pipx|bunx|bun|pnpm|pnpx|yarn)(?:\.cmd|\.exe)?(?![\w.-])")

CONTAINERS = ("docker", "podman", "nerdctl")
"""Programs that have another one start what they are told to."""
_LAUNCHERS = {
    **dict.fromkeys(("npx", "uvx", "bunx", "pnpx"), frozenset[str]()),
    **dict.fromkeys(CONTAINERS, frozenset({"run"})),
    "npm": frozenset({"exec", "x"}),
    "bun": frozenset({"x"}),
    "pnpm": frozenset({"dlx"}),
    "yarn": frozenset({"dlx"}),
    "uv": frozenset({"run"}),
    "pipx": frozenset({"run"}),
}
"""Programs that fetch what they run, and the word that has them do so; none: they do nothing else."""
_JAVASCRIPT = (".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "bunfig.toml", "package.json")
_OBEYED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("npx", "npm", "pnpm", "pnpx", "yarn", "bun", "bunx"), _JAVASCRIPT),
    "uv": ("uv.toml", "pyproject.toml"),
}
"""What these obey of the folder that they are started in, and of those above: where packages come from, what shell
and options they are run with, which command a name is. uvx and pipx ask no project."""
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "cmd", "powershell", "pwsh", "env"})


def may_install(argv: Sequence[str]) -> bool:
    """Whether a command may begin with an install: the program, or a word of it, is that of a package manager."""
    return any(_MANAGERS.search(word) for word in argv) or fetches(argv)


def fetches(argv: Sequence[str]) -> bool:
    """Whether a command is that of a program that fetches what it runs, by itself or in the words of a shell.

    What it fetches, and whether it does, shows from outside only where there is an `install_step`.
    """
    words = _words_of(argv, _LAUNCHERS)
    wanted = _LAUNCHERS.get(program_of(words[0])) if words else None
    return wanted is not None and (not wanted or not wanted.isdisjoint(words[1:]))


def _words_of(argv: Sequence[str], wanted: Container[str]) -> list[str]:
    """A command in words; of what a shell is told, from the first that is wanted on."""
    words = [part for word in argv for part in word.split()]
    if words and program_of(words[0]) in _SHELLS:
        words = words[next((at for at, word in enumerate(words) if program_of(word) in wanted), 0) :]
    return words


def obeyed_in_folder(argv: Sequence[str]) -> tuple[str, ...]:
    """What a package manager obeys of where it is started: names of files in that folder or in one above it.

    The project of somebody else brings such files, and says with them what a command of yours runs there.
    """
    words = _words_of(argv, _OBEYED)
    program = program_of(words[0]) if words else ""
    if program not in _OBEYED:
        return ()
    above = list(_OBEYED[program])
    for word in words[1:] if program != "uv" else ():
        if (name := _PACKAGE.fullmatch(word)) is not None:  # what is installed there goes before what is fetched
            above += [f"node_modules/{name[1]}/package.json", f"node_modules/.bin/{name[1].rpartition('/')[2]}"]
    return tuple(above)


def program_of(word: str) -> str:
    """The name of a program, wherever it lies and whatever the system writes behind it."""
    return PurePath(word).name.removesuffix(".cmd").removesuffix(".exe")


def install_step(argv: Sequence[str]) -> InstallStep | None:
    """The install that a command begins with, as a command of its own; None: it has none, or nobody can tell.

    `bunx`, `pnpm dlx` and `yarn dlx` have no form that installs and runs nothing; `uv run` none that does so for every
    script, and `docker run` none that asks for no newer image. Their start has the time of an install: see `fetches`.
    """
    name, runner = _runner_in(argv)
    return None if runner is None else _step(runner, tuple(argv[: len(name)]), list(argv[len(name) :]))


def package_of(argv: Sequence[str]) -> str | None:
    """The package that a command installs and runs, as it names that; None: nobody can tell."""
    runner, step = _runner_in(argv)[1], install_step(argv)
    if runner is None or step is None:
        return None
    words = iter(step.argv)
    for word in words:
        option, _, value = word.partition("=")
        if option in runner.package:
            return value or next(words, None)
        if option in runner.valued and not value:
            next(words, None)
    return None


def _runner_in(argv: Sequence[str]) -> tuple[tuple[str, ...], _Runner | None]:
    words = (program_of(argv[0]), *argv[1:]) if argv else ()
    return next(((name, one) for name, one in RUNNERS.items() if words[: len(name)] == name), ((), None))


def _step(runner: _Runner, begin: tuple[str, ...], words: list[str]) -> InstallStep | None:
    options: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            return _finished(runner, begin, options, next(rest, None), rest)
        if not word.startswith("-") or word == "-":
            return _finished(runner, begin, options, word, rest)
        options.append(word)
        if word in runner.valued:
            options.append(next(rest, ""))
        elif "=" not in word and word not in runner.flags:
            return None
    return _finished(runner, begin, options, None, rest)


def _finished(
    runner: _Runner, begin: tuple[str, ...], options: list[str], package: str | None, rest: Iterator[str]
) -> InstallStep | None:
    if any(option.partition("=")[0] in runner.package for option in options):
        return InstallStep((*begin, *options, *runner.nothing))
    if package is None or (runner is not _NPM_EXEC and not _is_package(package)):
        return None
    if begin[0] != begin[-1] and runner is _NPM_EXEC and any(word.startswith("-") for word in _until_dashes(rest)):
        return None  # npm reads options behind the package too, as long as no `--` stands before them
    is_plain = runner is _NPM_EXEC and "/" not in package and "@" not in package
    return InstallStep((*begin, *options, runner.package[0], package, *runner.nothing), package if is_plain else None)


def _is_package(word: str) -> bool:
    """Not an interpreter and not a script, which are run as they stand."""
    return not re.fullmatch(r"(?:python|pypy|cpython)[\w.@-]*|.*\.pyw?", word)


def _until_dashes(words: Iterator[str]) -> Iterator[str]:
    for word in words:
        if word == "--":
            return
        yield word
