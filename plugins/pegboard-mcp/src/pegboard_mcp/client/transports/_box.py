"""A server with `confine = true`: the sandbox that it is started in.

What it needs is installed in a sandbox too, another one: that has the server's own cache and every public host, and
nothing that anybody could take there. The server then has its folders and its hosts, and its package manager is told
to ask nobody. So a package can be fetched from wherever the person's package manager would, and no registry has to
stand in `network`; but one on a private address has to, by that address.

Its home, and in it the package caches, is a folder of its own, `confined/NAME-HASH/home` in the user's folder for data;
it lasts as long as its name and command. Nothing is installed in a home in which the server has run: it could have left
there what it read, and a configuration of the package manager that sends it.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from pegboard.config import files_in_use, private_folder, user_folder
from pegboard_confine.bounds import Bounds
from pegboard_confine.bubblewrap import within
from pegboard_confine.kernel import can_forbid
from pegboard_confine.network import Rules
from pegboard_confine.sandbox import Box, ConfineError, Policy, home_error, prepare
from pegboard_mcp.client._errors import LinkError
from pegboard_mcp.definitions import BOUNDS
from pegboard_mcp.files import PRIVATE, files_of
from pegboard_mcp.packages import install_step

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pegboard_confine.relay import Refused
    from pegboard_mcp.definitions import ServerDefinition

CERTIFICATES = frozenset(
    {"CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE"}
)
"""What a server gets of the host's environment: where trusted certificates lie."""
QUIET = {"npm_config_update_notifier": "false"}
"""An install says what is wrong, and not that there is a newer npm."""
OFFLINE = {"npm_config_offline": "true", "UV_OFFLINE": "1"}
"""What is installed already is started without a question to a registry."""
BEGUN = "begun"
"""Beside its home, where it sees nothing: the server has run."""
INSTALLING = "installing"
"""Beside its home: an install began there, and has not ended well."""
UNFILTERED = "it is confined without a filter of system calls: none is known for this processor"
_OF_MANAGERS = re.compile(r"(?i)(?:npm_config|uv|pip|pipx)_")


def home_of(definition: ServerDefinition) -> Path:
    """The folder that is a server's home."""
    if definition.home is not None:
        return Path(definition.home)
    plain = re.sub(r"[^A-Za-z0-9_-]", "-", definition.name)[:64]
    parts = "\0".join((definition.name, *definition.argv)).encode("utf-8", "surrogateescape")
    return user_folder("data") / "confined" / f"{plain}-{hashlib.sha256(parts).hexdigest()[:16]}" / "home"


def may_install(definition: ServerDefinition) -> bool:
    """Whether the server never ran in its home; blocks."""
    return not (home_of(definition).parent / BEGUN).exists()


async def begin_install(definition: ServerDefinition) -> int:
    """Mark that an install begins; what is to be closed when it is over.

    Whatever ends an install early leaves half a package, which npx takes for a whole one: the next one begins in an
    empty home. A server whose install did not end well has never run there, so nothing of its own is lost.

    Raises:
        LinkError: its home cannot be made.
    """
    import trio

    try:
        return await trio.to_thread.run_sync(_begin_install, definition)
    except OSError as problem:
        raise fault_of(home_error(str(home_of(definition)), problem)) from None


def _begin_install(definition: ServerDefinition) -> int:
    import fcntl

    home = home_of(definition)
    private_folder(home.parent)
    mark = home.parent / INSTALLING
    was_left = mark.exists()
    held = os.open(mark, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    with contextlib.suppress(BlockingIOError):  # another host installs there now
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if was_left and may_install(definition):
            shutil.rmtree(home, ignore_errors=True)
    return held


def note_whole(definition: ServerDefinition) -> None:
    """An install ended well."""
    (home_of(definition).parent / INSTALLING).unlink(missing_ok=True)


def bounds_of(definition: ServerDefinition) -> Bounds:
    """How much it may use."""
    said = {name: getattr(definition, name) for name in BOUNDS}
    return Bounds(**{name: value for name, value in said.items() if value is not None})


def kept_from(definition: ServerDefinition) -> tuple[str, ...]:
    """What a server may not change wherever it lies: the files that say what this host runs and what was accepted, and
    the folders that Pegboard keeps its own in. Else a server that may write a project would say in its configuration
    what is started next, with all rights."""
    folders = [f"{user_folder(kind)}{os.sep}" for kind in ("config", "data", "state", "cache")]
    named = [definition.env_file] if definition.env_file is not None else []
    return (*sorted(files_in_use()), *definition.kept, *named, *folders)


def make_lock(definition: ServerDefinition) -> None:
    """Make the lock that is named and not there yet, where the server could make it: what it says would be accepted.

    Raises:
        ConfineError: it cannot be made.
    """
    place = os.path.realpath(definition.lock or os.devnull)
    if not os.path.lexists(place) and within(place, map(os.path.realpath, definition.write)):
        from pegboard_mcp.lock.file import LockError, write_lock

        try:
            private_folder(Path(place).parent, is_own=False)
            write_lock(Path(place), ())
        except (LockError, OSError) as problem:
            why = f"{place}, where accepted tools are noted, is not there and cannot be made: {problem}"
            raise ConfineError(
                why, "Make it: pegboard lock --accept; or let the server write another folder."
            ) from None


def policy_of(
    definition: ServerDefinition, host: Mapping[str, str], own: Mapping[str, str], *, installs: bool
) -> Policy:
    """What a server is given, or the install that it begins with.

    Args:
        definition: the server.
        host: the environment of the host.
        own: variables that it is told beside those.
        installs: whether it is the install.
    """
    certificates = {name: host[name] for name in CERTIFICATES if host.get(name)}
    env = {name: value for name, value in definition.env.items() if not installs or _OF_MANAGERS.match(name)}
    managers = QUIET if installs else {} if install_step(definition.argv) is None else OFFLINE
    named = [] if installs else [str(file) for key, file in files_of(definition) if key not in (*PRIVATE, "command")]
    return Policy(
        home=str(home_of(definition)),
        cwd="/tmp" if installs else definition.cwd or str(Path.cwd()),  # noqa: S108 - its own, inside
        read=(*certificates.values(), *(() if installs else definition.read)),
        write=() if installs else definition.write,
        files=tuple(named),
        kept=() if installs else kept_from(definition),
        written=definition.written,
        network=Rules(definition.network, everywhere=installs),
        environment={**certificates, **managers, **env, **own},
        path=definition.env.get("PATH", host.get("PATH", os.defpath)),
        bounds=bounds_of(definition),
    )


async def make_box(definition: ServerDefinition, argv: Sequence[str], own: Mapping[str, str], *, installs: bool) -> Box:
    """The sandbox of a server, or of the install that it begins with.

    Raises:
        LinkError: there can be none; the server is not started.
    """
    import trio

    def note(refused: Refused) -> None:
        logging.getLogger(f"pegboard.mcp.server.{definition.name}").warning("%s", told(definition, refused))

    def make_folder() -> None:
        folder = Path(policy.home).parent
        private_folder(folder)
        if not installs:
            make_lock(definition)
            (folder / BEGUN).touch(0o600)

    if not can_forbid():
        logging.getLogger(f"pegboard.mcp.server.{definition.name}").warning("%s", UNFILTERED)
    policy = policy_of(definition, os.environ, own, installs=installs)
    learned = None if installs else definition.learned
    try:
        await trio.to_thread.run_sync(make_folder)
        if learned is not None:
            policy, argv = learned.note(policy, argv)
        box = await prepare(policy, argv, note)
        if learned is not None:
            learned.relay = box.relay
        return box
    except ConfineError as problem:
        raise fault_of(problem) from None
    except OSError as problem:
        raise fault_of(home_error(policy.home, problem)) from None


def fault_of(problem: ConfineError) -> LinkError:
    """Why a server was not started, in the words of servers."""
    fix = problem.fix
    if problem.impossible:
        fix = f"{fix[0].upper()}{fix[1:]}; or let it run with all of your rights: confine = false."
    return LinkError("not_confined", f"{problem.why}; it was not started", fix)


def told(definition: ServerDefinition, refused: Refused) -> str:
    """A refusal in words, with the line to add to the server's table."""
    return refused.told(definition.name, Rules(definition.network))
