"""What `[tools.execute_command]` may say: the permissions of the tool."""

# Paths are words of others here; pathlib would fold what has to be seen as it is.
# ruff: noqa: PTH109, PTH112

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from pegboard import setting
from pegboard_system._schema import LEVELS, Level

if TYPE_CHECKING:
    from pegboard_system._judge import Policy

NOT_CONFIGURED = "no allowed_commands are configured, so no command may run"
CONFIGURE = 'write [tools.execute_command] allowed_commands = ["ls", "cat", "grep"]'


def _programs(_: Any, field: attrs.Attribute[Any], value: tuple[str, ...]) -> None:
    for entry in value:
        if not entry.strip() or "\0" in entry or set(entry) & set("*?[|;&"):
            raise ValueError("names or paths of programs, each spelled out")


def _paths(_: Any, field: attrs.Attribute[Any], value: tuple[str, ...]) -> None:
    for entry in value:
        if not entry.strip() or "\0" in entry:
            raise ValueError("paths of folders or files")


def _below_root(owner: Any, field: attrs.Attribute[Any], value: tuple[str, ...]) -> None:
    _paths(owner, field, value)
    if any(not entry.strip("/.") and entry.startswith("/") for entry in value):
        raise ValueError("folders or files; all of the system cannot be writable")


def _variables(_: Any, field: attrs.Attribute[Any], value: tuple[str, ...]) -> None:
    for name in value:
        if not name.isidentifier() or not name.isascii() or name.startswith("LD_"):
            raise ValueError("names of environment variables, none of the dynamic linker's")


def _above_zero(_: Any, field: attrs.Attribute[Any], value: int) -> None:
    if value < 1:
        raise ValueError("a whole number above zero")


def _amount(default: int, text: str) -> Any:
    return setting(default, stricter="lower", validator=_above_zero, help=text)


@attrs.frozen(kw_only=True)
class CommandPermissions:
    """`[tools.execute_command]`, beside the limits that every tool has.

    .. versionadded:: 0.1
    """

    allowed_commands: tuple[str, ...] = setting(
        (), stricter="fewer", validator=_programs, help="names or paths of programs that may run; none: no command may"
    )
    denied_commands: tuple[str, ...] = setting(
        (), stricter="more", validator=_programs, help="names or paths of programs that may not, whatever is allowed"
    )
    unjudged_commands: tuple[str, ...] = setting(
        (), stricter="fewer", validator=_programs,
        help="programs that may have any option, shells and interpreters too; the isolation alone holds them",
    )  # fmt: skip
    allowed_paths: tuple[str, ...] = setting(
        (), widens=True, validator=_paths, help="what commands may read; none: the working directory"
    )
    writable_paths: tuple[str, ...] = setting(
        (),
        stricter="fewer",
        validator=_below_root,
        help="what commands may write to; none: nothing but a /tmp of their own",
    )
    denied_paths: tuple[str, ...] = setting(
        (), stricter="more", validator=_paths, help="what commands may not see, whatever is allowed"
    )
    least_level: Level = setting(
        "landlock", stricter=LEVELS, help="the weakest isolation that is accepted: bubblewrap, landlock or rlimits"
    )
    network: bool = setting(False, stricter="false", help="let commands use the network")
    environment: tuple[str, ...] = setting(
        (), stricter="fewer", validator=_variables, help="variables of the host's environment that commands get"
    )
    max_output_bytes: int = _amount(
        20_000, "what is kept of stdout and of stderr, in bytes; a command that writes more is ended"
    )
    max_memory_bytes: int = _amount(1_000_000_000, "address space of each process, in bytes")
    max_file_bytes: int = _amount(50_000_000, "the largest file a command may write, in bytes")
    max_cpu_s: int = _amount(60, "processor time of each process, in seconds")
    max_processes: int = _amount(256, "processes and threads of the user that commands run as")

    @property
    def disabled_reason(self) -> tuple[str, str] | None:
        """Why no command may run, and what to write; None if one may."""
        return None if self.allowed_commands or self.unjudged_commands else (NOT_CONFIGURED, CONFIGURE)

    def limits(self) -> dict[str, int]:
        """Names of `resource`, and what they are set to."""
        return {
            "RLIMIT_AS": self.max_memory_bytes,
            "RLIMIT_FSIZE": self.max_file_bytes,
            "RLIMIT_CPU": self.max_cpu_s,
            "RLIMIT_NPROC": self.max_processes,
            "RLIMIT_NOFILE": 256,
            "RLIMIT_CORE": 0,
        }

    def policy(self) -> Policy:
        """The lists as real paths, as of now; the links of the configuration are followed here, and never again.

        Raises:
            ToolError: FORBIDDEN: a command could change where one of them leads.
        """
        import os

        from pegboard_confine.bubblewrap import within
        from pegboard_system._judge import Policy
        from pegboard_system._roots import Root, refuse_nested

        def roots(setting: str) -> list[Root]:
            return [Root.of(setting, said) for said in getattr(self, setting)]

        here = os.path.realpath(os.getcwd())
        allowed, denied = roots("allowed_paths"), roots("denied_paths")
        written = [root for root in roots("writable_paths") if root.real != "/"]
        readable, writable = tuple(root.real for root in allowed), tuple(root.real for root in written)
        refuse_nested((*allowed, *written, *denied), writable)
        if not readable and here != "/":  # a service that starts in / has not chosen to show everything
            readable = (here,)
        seen = (*readable, *writable)
        folders = [here] if within(here, seen) else [path for path in seen if os.path.isdir(path)]
        return Policy(
            allowed=self.allowed_commands,
            denied=self.denied_commands,
            unjudged=self.unjudged_commands,
            readable=readable,
            writable=writable,
            hidden=tuple(root.real for root in denied),
            cwd=folders[0] if folders else "/",
            roots=(*allowed, *written, *denied),
        )
