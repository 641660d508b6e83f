"""The process of a server: found, started in a session and a group of its own, and ended with all of its group.

A child gets the safe few variables of the host's environment and what is configured over them. `_reaper` ends the group
when the host itself is killed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, cast

import trio

from pegboard.limits import BOARD_LEVELS
from pegboard_mcp.client._errors import LinkError
from pegboard_mcp.client.transports import _reaper
from pegboard_mcp.client.transports._link import shorten

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trio.lowlevel import FdStream

    from pegboard_confine.sandbox import Box
    from pegboard_mcp.definitions import ServerDefinition

CHUNK = 65_536
GRACE_S = 2.0
"""How long a server may take after its stdin closed, and again after TERM."""
INSTALL_GRACE_S = 10.0
"""How long a package manager may take after TERM: one that is killed while it installs leaves its cache broken."""
SAFE = frozenset(
    {"HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"}
    # where trusted certificates lie: without them npx and uvx fetch nothing behind a company's proxy
    | {"CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE"}
)
"""What a child gets of the host's environment, beside `LC_*`. None of them holds a secret; those of proxies may."""

DEPTH = "MCP_BOARD_DEPTH"
"""The variable that counts boards that were started by boards."""
MAX_DEPTH = BOARD_LEVELS
"""A board that is in its own list of servers would start boards without an end."""


def child_env(definition: ServerDefinition, host: Mapping[str, str]) -> dict[str, str]:
    """The environment of a server: the safe few variables of the host, and what is configured over them."""
    env = {
        name: value
        for name, value in host.items()
        # a value that begins with () is a function that an old shell exported
        if (name in SAFE or name.startswith("LC_")) and not value.startswith("()")
    }
    return env | dict(definition.env) | {DEPTH: str(depth_of(host) + 1)}


def depth_of(environment: Mapping[str, str]) -> int:
    """How many boards stand above this one."""
    value = environment.get(DEPTH, "")
    return int(value) if value.isdecimal() and len(value) < 4 else 0


def find_program(command: str, cwd: str | None, path: str) -> str:
    """The file that `command` starts. Raises `LinkError` where there is none, or it is not executable."""
    if os.sep in command:
        place = Path(cwd or ".") / command
        found = str(place.absolute()) if os.access(place, os.X_OK) and place.is_file() else None
        there = place.exists()
    else:
        found = shutil.which(command, path=path)
        there = any((Path(folder) / command).is_file() for folder in path.split(os.pathsep) if folder)
    if found is not None:
        return found
    shown = shorten(command, 100)
    if there:
        raise LinkError("not_executable", f"{shown!r} is not executable", f"Make it so: chmod +x {shown}")
    raise LinkError("missing_command", f"the command {shown!r} does not exist", _install(command))


def _install(command: str) -> str:
    known = {"npx": "Node.js", "npm": "Node.js", "node": "Node.js", "uvx": "uv", "uv": "uv", "docker": "Docker"}
    program = known.get(command)
    if program is not None:
        return f"Install {program}, or put the full path of {command} into `command`."
    return "Install it, or correct `command`; only PATH reaches a server, so a full path is safest."


async def start(
    definition: ServerDefinition, install: Sequence[str] | None = None, *, gently: bool = False
) -> tuple[trio.Process, Box | None]:
    """Start the server, or the install that it begins with, in a session and a group of its own.

    Args:
        definition: the server.
        install: the command of the install; None: the server's own.
        gently: whether the group has `INSTALL_GRACE_S` to end when the host is gone.

    Returns:
        The process, and its sandbox, where it is confined: whoever starts it serves and closes that.

    Raises:
        LinkError: it cannot be started.
    """
    argv = definition.argv if install is None else install
    if depth_of(os.environ) >= MAX_DEPTH:
        raise LinkError(
            "endless",
            f"boards start boards, {MAX_DEPTH} deep: is this one in its own list of servers?",
            "Take the server out of the configuration that it reads itself, or give it another: --config FILE.",
        )
    env = child_env(definition, os.environ)
    if definition.cwd is not None and not Path(definition.cwd).is_dir():
        raise _missing_folder(definition.cwd)
    argv = [find_program(argv[0], definition.cwd, env.get("PATH", os.defpath)), *argv[1:]]
    if definition.confine:
        return await _start_confined(definition, argv, {DEPTH: env[DEPTH]}, installs=install is not None, gently=gently)
    gated = _reaper.gated(argv, env)
    process = await _open(definition, gated or argv, env)
    _admit(process, gently=gently, is_gated=gated is not None)
    return process, None


async def _start_confined(
    definition: ServerDefinition, argv: Sequence[str], own: Mapping[str, str], *, installs: bool, gently: bool
) -> tuple[trio.Process, Box]:
    """Start it in a sandbox; where that does not begin, nothing is left of it."""
    from pegboard_confine.sandbox import ConfineError
    from pegboard_mcp.client.transports._box import fault_of, make_box

    box = await make_box(definition, argv, own, installs=installs)
    process = None
    try:
        gated = _reaper.gated(box.words, box.environment, _reaper.GATE_OF_BOX)
        assert gated is not None, "where bubblewrap is there is a shell"
        process = await _open(definition, gated, box.environment, box.descriptors)
        _admit(process, gently=gently, is_gated=True)
        await box.admit(process)
    except BaseException as problem:
        words = ""
        if process is not None:
            with trio.CancelScope(shield=True):
                words = await _give_up(process)
        box.close()  # last: the program begins where nobody holds it back
        if isinstance(problem, ConfineError):
            problem.why += f"; {words}" if words else ""
            raise fault_of(problem) from None
        raise
    return process, box


async def _give_up(process: trio.Process) -> str:
    """End a group that has not begun; its last words."""
    await end_group(process, 0)
    _reaper.forget(process.pid)
    words = b""
    with contextlib.suppress(OSError):
        words = os.read(cast("FdStream", process.stderr).fileno(), CHUNK)
    for pipe in (process.stdin, process.stdout, process.stderr):
        await cast("FdStream", pipe).aclose()
    return shorten(words.decode("utf-8", "replace"))


async def _open(
    definition: ServerDefinition, words: Sequence[str], env: Mapping[str, str], descriptors: Sequence[int] = ()
) -> trio.Process:
    try:
        with trio.CancelScope(shield=True):
            process = await trio.lowlevel.open_process(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=env,
                cwd=definition.cwd,
                start_new_session=True,
                pass_fds=descriptors,
            )
    except (OSError, ValueError) as fault:
        raise _start_fault(fault, definition) from None
    return process


def _admit(process: trio.Process, *, gently: bool, is_gated: bool) -> None:
    """Tell the reaper of the group, then open the gate."""
    _reaper.guard(process.pid, gently=gently)
    if is_gated:
        with contextlib.suppress(OSError):  # it was killed already: its exit tells
            os.write(cast("FdStream", process.stdin).fileno(), b"\n")


def _missing_folder(cwd: str) -> LinkError:
    shown = shorten(cwd, 100)
    return LinkError("missing_folder", f"its folder {shown!r} does not exist", "Create it, or correct `cwd`.")


def _start_fault(fault: OSError | ValueError, definition: ServerDefinition) -> LinkError:
    """What went wrong between the looks above and the start."""
    shown = shorten(definition.mask(definition.argv[0]), 100)
    if isinstance(fault, FileNotFoundError | NotADirectoryError):
        if definition.cwd is not None and fault.filename == definition.cwd:
            return _missing_folder(definition.cwd)
        return LinkError("missing_command", f"the command {shown!r} does not exist", _install(definition.argv[0]))
    if isinstance(fault, PermissionError):
        return LinkError("not_executable", f"{shown!r} may not be started", f"Make it executable: chmod +x {shown}")
    value = getattr(fault, "strerror", None) or str(fault)
    return LinkError("missing_command", f"{shown!r} cannot be started: {value}", "Correct `command`, `args` and `env`.")


async def end_group(process: trio.Process, grace_s: float) -> None:
    """End whoever is left of the group: TERM, up to `grace_s` seconds, KILL."""
    with trio.move_on_after(grace_s):
        if _signal_group(process, signal.SIGTERM):
            await process.wait()
            while _signal_group(process, 0):
                await trio.sleep(0.02)
    _signal_group(process, signal.SIGKILL)
    with trio.move_on_after(GRACE_S):
        await process.wait()


async def throw_away(fd: int) -> None:
    """Read a pipe to its end, so that nobody is stuck in writing to it; or until it is closed here."""
    with contextlib.suppress(OSError, trio.ClosedResourceError):
        while True:
            await trio.lowlevel.wait_readable(fd)
            with contextlib.suppress(BlockingIOError):
                if not os.read(fd, CHUNK):
                    return


def _signal_group(process: trio.Process, number: int) -> bool:
    """Signal the group; False: nobody is left in it."""
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):  # macOS says EPERM of a group of zombies
        return False
    return True
