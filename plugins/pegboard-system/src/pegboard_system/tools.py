"""The tools: arguments in, a judgement and an isolation around, a result out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pegboard import CallContext, ErrorCode, Example, Tool, ToolError, ToolResult, tool
from pegboard.schema import Ge, Le, MaxLen, MinLen
from pegboard.trace import to_environment
from pegboard_system._permissions import CommandPermissions
from pegboard_system._schema import LEVELS, CommandEnded, Echoed, Level, SystemFacts

if TYPE_CHECKING:
    from collections.abc import Mapping

    import trio

    from pegboard_system._isolation import Found
    from pegboard_system._judge import Judged, Policy
    from pegboard_system._running import Ended, Job

TIMEOUT_S = 30.0
MAX_TIMEOUT_S = 600.0
"""The deadline of the tool itself; `timeout_s` under `[tools.execute_command]` says another."""
SPARE_S = 1.0
"""How long before the tool's own deadline a command is ended at most, so that the answer can say what it wrote."""
TAIL = 2_000
"""Characters of each output that an error carries."""


class Isolation:
    """Which isolations the host has: tried at the first command, once. A resource of the host.

    Args:
        only: those that may be used; a test holds each alone.
    """

    def __init__(self, only: tuple[Level, ...] = LEVELS) -> None:
        import trio

        self._only = only
        self._lock = trio.Lock()
        self._found: Found | None = None
        self._policies: dict[CommandPermissions, Policy] = {}
        self.limiter: trio.CapacityLimiter = trio.CapacityLimiter(4)
        """For the short work of commands in threads: looking at paths, removing what they left in /tmp."""

    async def found(self) -> Found:
        """What works here."""
        import trio

        from pegboard_system._isolation import probe

        async with self._lock:
            if self._found is None:
                self._found = await trio.to_thread.run_sync(probe, self._only, limiter=self.limiter)
            return self._found

    def policy(self, permissions: CommandPermissions) -> Policy:
        """What commands may be and see: found out once, before the first of them runs. Blocks.

        Raises:
            ToolError: FORBIDDEN: a command could change where a path leads, or somebody has.
        """
        from pegboard_system._roots import refuse_moved

        policy = self._policies.get(permissions)
        if policy is None:
            policy = self._policies.setdefault(permissions, permissions.policy())
        refuse_moved(policy.roots)
        return policy


@tool(
    title="Echo",
    category="utility",
    tags=("echo", "test", "read"),
    run="inplace",
    read_only=True,
    idempotent=True,
    open_world=False,
    examples=(Example({"message": "hello"}, "a message comes back", "Echo: hello"), Example({}, "so does none")),
)
def echo(message: str = "") -> Annotated[ToolResult, Echoed]:
    """Answer with the message, to see that calls arrive.

    Args:
        message: any text.
    """
    return ToolResult.text(f"Echo: {message}", data={"message": message})


@tool(
    title="System information",
    category="system",
    tags=("system", "platform", "read"),
    run="thread",
    read_only=True,
    idempotent=True,
    open_world=False,
    examples=(Example({}, "what the host runs on"),),
)
def system_info() -> Annotated[ToolResult, SystemFacts]:
    """Tell the host's operating system, machine, Python version, working directory and user."""
    from pegboard_system._facts import system_facts

    facts = system_facts()
    return ToolResult.text("\n".join(f"{key}: {value}" for key, value in facts.items()), data=facts)


@tool(
    title="Execute command",
    category="system",
    tags=("system", "command", "process"),
    read_only=False,
    destructive=True,
    idempotent=False,
    open_world=True,
    risk="high",
    timeout_s=MAX_TIMEOUT_S,
    concurrency=8,
    max_result_bytes=500_000,  # both outputs, as text and as data; `max_output_bytes` bounds each
    permissions=CommandPermissions,
    examples=(
        Example({"command": "ls -la"}, "a text is split by shell rules; no shell runs it"),
        Example({"command": ["grep", "-n", "TODO *", "notes.txt"], "timeout": 5}, "in a list every word is literal"),
    ),
)
async def execute_command(
    context: CallContext,
    command: str | Annotated[list[str], MinLen(1), MaxLen(1000)],
    timeout: Annotated[float, Ge(0.1), Le(3600)] = TIMEOUT_S,
) -> Annotated[ToolResult, CommandEnded]:
    """Run one allowed program, isolated from the rest of the host, and answer its exit code and output.

    No shell runs it: pipes, redirection, substitution, variables and file name patterns do not work. Standard input is
    empty. An exit code other than 0 is an answer, not an error.

    Args:
        command: the program and its arguments: a text such as "grep -n 'two words' notes.txt", or a list of words that
            are taken literally.
        timeout: seconds until the command and everything it started are ended.
    """
    import trio

    from pegboard_confine.kernel import can_forbid
    from pegboard_system import _isolation as isolation
    from pegboard_system import _running as running

    permissions: CommandPermissions = context.permissions
    policy, judged = await judge_call(context, command)
    resource = context.resource(Isolation)
    found = await resource.found()
    level = found.best(permissions.least_level)
    if judged.only_alone and not can_forbid():
        raise ToolError(
            ErrorCode.FORBIDDEN, "git is refused on this host: nothing keeps it from starting what a repository names",
            reason="level", level=level, retry="never",
        )  # fmt: skip
    if level is not None and permissions.least_level != "rlimits" and not isolation.can_hide(level, policy):
        level = None
    if level is None:
        raise _no_level(permissions.least_level, found, policy)
    left = context.deadline - trio.current_time()
    timeout_s = min(timeout, left - min(SPARE_S, left / 4))
    job, scratch = await _make_job(level, found, judged, policy, permissions, resource.limiter)
    try:
        ended = await running.run(job, timeout_s=timeout_s, max_bytes=permissions.max_output_bytes)
    except running.NotStartedError as problem:
        context.log.exception("the command did not start")
        raise ToolError(
            ErrorCode.UPSTREAM_ERROR, "the command could not be started; its cause is in the host's log",
            executed=False, level=level, retry="never",
        ) from problem  # fmt: skip
    except running.LostError as problem:
        raise ToolError(
            ErrorCode.OUTCOME_UNKNOWN, "the command ended what watched over it; nobody knows how it went on",
            level=level,
        ) from problem  # fmt: skip
    finally:
        if scratch is not None:
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(running.remove_scratch, scratch, limiter=resource.limiter)
    return _answer(ended, level, timeout_s)


async def judge_call(context: CallContext, command: str | list[str]) -> tuple[Policy, Judged]:
    """Whether a call may run, by the permissions of its tool. Asked before a person is, and again when it runs.

    Raises:
        ToolError: INVALID_INPUT, FORBIDDEN or NOT_FOUND; see `words_of` and `judge`.
    """
    import trio

    from pegboard_system._judge import judge
    from pegboard_system._split import words_of

    permissions: CommandPermissions = context.permissions
    words = words_of(command)

    isolation = context.resource(Isolation)

    def look() -> tuple[Policy, Judged]:
        policy = isolation.policy(permissions)
        return policy, judge(words, policy)

    return await trio.to_thread.run_sync(look, limiter=isolation.limiter)


async def refuse_early(context: CallContext, arguments: Mapping[str, Any]) -> ToolError | None:
    """The judgement as a guard: nobody is asked to confirm what would be refused anyway."""
    try:
        await judge_call(context, arguments["command"])
    except ToolError as refusal:
        return refusal
    return None


async def _make_job(
    level: Level, found: Found, judged: Judged, policy: Policy, permissions: CommandPermissions,
    limiter: trio.CapacityLimiter,
) -> tuple[Job, str | None]:  # fmt: skip
    """What the supervisor is told, and the folder that has to be removed afterwards."""
    import os

    import trio

    from pegboard_confine.kernel import can_forbid
    from pegboard_system import _isolation as isolation
    from pegboard_system import _running as running

    environment = {"PATH": ":".join(policy.search), "LANG": "C.UTF-8", "TZ": os.environ.get("TZ", "")}
    environment |= {name: os.environ[name] for name in permissions.environment if name in os.environ}
    environment = {name: value for name, value in environment.items() if value}
    environment |= to_environment() | dict(judged.environment)
    network, alone, limits = permissions.network, judged.alone and can_forbid(), permissions.limits()
    if level == "bubblewrap":
        environment |= {"HOME": "/tmp", "TMPDIR": "/tmp", "PWD": policy.cwd}  # noqa: S108 - its own, in the isolation
        words = isolation.bubblewrap_words(
            found, judged, policy, network=network, scratch_bytes=permissions.max_file_bytes
        )
        return running.Job(words, level, "/", environment, limits, network=network, alone=alone), None
    scratch = await trio.to_thread.run_sync(running.make_scratch, limiter=limiter)
    environment |= {"HOME": scratch, "TMPDIR": scratch, "PWD": policy.cwd}
    readable, writable = isolation.landlock_paths(judged, policy, scratch, network=network)
    job = running.Job(
        list(judged.words), level, policy.cwd, environment, limits, readable, writable, network=network, alone=alone
    )
    return job, scratch


def _no_level(least: Level, found: Found, policy: Policy) -> ToolError:
    level = found.best(least)
    if level == "landlock":
        why = "paths are denied inside of allowed ones, which Landlock cannot keep from a program"
        return ToolError(
            ErrorCode.FORBIDDEN, f"{why}; {found.how_to_get(landlock=False)}",
            reason="level", level=level, least_level="bubblewrap", retry="never",
        )  # fmt: skip
    return ToolError(
        ErrorCode.FORBIDDEN,
        f"no isolation of this host is as strong as {least}, the least that is accepted: {found.how_to_get()}",
        reason="level", level=found.levels[-1] if found.levels else None, least_level=least, retry="never",
    )  # fmt: skip


def _answer(ended: Ended, level: Level, timeout_s: float) -> ToolResult:
    from pegboard_system._running import as_text

    stdout, stderr, encoding = as_text(ended.stdout, ended.stderr, cut=ended.truncated or ended.exit_code is None)
    if ended.exit_code is None:
        raise ToolError(
            ErrorCode.TIMEOUT,
            f"the command did not end within {timeout_s:.3g} s; it and everything it started were ended; what it had"
            " done until then stays",
            timeout_s=round(timeout_s, 3), level=level, stdout=stdout[-TAIL:], stderr=stderr[-TAIL:],
        )  # fmt: skip
    data: CommandEnded = {
        "exit_code": ended.exit_code, "stdout": stdout, "stderr": stderr, "truncated": ended.truncated,
        "level": level, "encoding": encoding,
    }  # fmt: skip
    return ToolResult.text(_shown(ended.exit_code, stdout, stderr, truncated=ended.truncated), data=data)


def _shown(exit_code: int, stdout: str, stderr: str, *, truncated: bool) -> str:
    """What a model reads: the output, and after it what is not as it should be."""
    parts = [stdout.rstrip("\n")] if stdout.strip() else []
    if stderr.strip():
        parts.append(f"[stderr]\n{stderr.rstrip()}")
    if truncated:
        parts.append("[there was more output; it was dropped, and the command was ended]")
    if exit_code or not parts:
        parts.append(f"[exit code {exit_code}]")
    return "\n".join(parts)


TOOLS: tuple[Tool, ...] = (echo, system_info, execute_command)
