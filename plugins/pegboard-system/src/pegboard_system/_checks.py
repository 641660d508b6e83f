"""What `pegboard doctor` is told of `execute_command`."""

# Paths are words of others here; pathlib would fold what has to be seen as it is.
# ruff: noqa: PTH110, PTH111, PTH119

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pegboard import Finding, ToolError
from pegboard_confine.kernel import can_forbid
from pegboard_system._isolation import can_hide, probe
from pegboard_system._judge import is_writable, locate
from pegboard_system._permissions import CommandPermissions
from pegboard_system._rules import RULES, WRAPPERS, starts_programs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pegboard import Board
    from pegboard_system._judge import Policy
    from pegboard_system._schema import Level

WHERE = "[tools.execute_command]"


def check_commands(board: Board, levels: Iterable[Level]) -> Iterator[Finding]:
    """Look at the permissions, the programs and paths they name, and the isolations of this host."""
    entry = board.registry.plans.get("execute_command")
    permissions = getattr(entry, "permissions", None)
    if not isinstance(permissions, CommandPermissions):
        return
    try:
        policy = permissions.policy()
    except ToolError as refusal:
        yield Finding("no command may run", WHERE, refusal.message, "keep the paths apart, or name one of them")
        return
    yield from _check_level(permissions, policy, levels)
    yield from _check_programs(permissions, policy)
    for path in (*permissions.allowed_paths, *permissions.writable_paths):
        if not os.path.exists(os.path.expanduser(path)):
            yield Finding("a path is not there", f"{WHERE} {path}", "commands see nothing there", "make or remove it",
                          "warning")  # fmt: skip
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        yield Finding(
            "commands run as root", "the host", "root's processes are not counted, so max_processes holds nothing",
            "run the host as a user of its own", "warning",
        )  # fmt: skip


def _check_level(permissions: CommandPermissions, policy: Policy, levels: Iterable[Level]) -> Iterator[Finding]:
    found = probe(levels)
    level = found.best(permissions.least_level)
    if level is None:
        why = "; ".join(f"{name}: {reason}" for name, reason in found.why.items()) or "none is there"
        yield Finding(
            "no isolation is strong enough",
            WHERE,
            f"least_level is {permissions.least_level}; {why}",
            found.how_to_get(),
        )
    elif permissions.least_level != "rlimits" and not can_hide(level, policy):
        yield Finding(
            "denied paths cannot be kept from commands", WHERE, "Landlock takes no part of an allowed folder away",
            f"{found.how_to_get(landlock=False)}, or allow other folders",
        )  # fmt: skip
    elif level == "rlimits":
        yield Finding(
            "commands are not isolated", WHERE, "rlimits bound what a command uses, and nothing that it sees or does",
            found.how_to_get(), "warning",
        )  # fmt: skip


def _check_programs(permissions: CommandPermissions, policy: Policy) -> Iterator[Finding]:
    for entry in permissions.allowed_commands:
        name = os.path.basename(entry)
        program = locate(entry, policy)
        if program is None:
            yield Finding("an allowed command is not there", f"{WHERE} {entry}", "no such program was found",
                          "install it, or remove it from allowed_commands", "warning")  # fmt: skip
        elif is_writable(program, policy):
            yield Finding(
                "an allowed command is refused", f"{WHERE} {entry}", "it lies where commands may write, so one "
                "could put another program in its place", "keep programs out of writable_paths", "warning",
            )  # fmt: skip
        elif name == "git" and not can_forbid():
            yield Finding(
                "an allowed command is refused", f"{WHERE} {entry}", "a repository names programs, and nothing "
                "here keeps git from starting them", "remove it; or use Linux on x86_64 or aarch64", "warning",
            )  # fmt: skip
        elif name not in (*RULES, *WRAPPERS, "git") and starts_programs(name):
            yield Finding(
                "an allowed command is refused", f"{WHERE} {entry}", "it starts other programs or runs what it reads",
                "remove it; or name it in unjudged_commands, where the isolation alone holds it", "warning",
            )  # fmt: skip
