"""One call of a subprocess tool: words, process, output or error. Imported at the first call."""

# Paths are words of others here; pathlib would fold what has to be seen as it is.
# ruff: noqa: PTH112

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any

import trio

from pegboard import ErrorCode, Retry, ToolError
from pegboard_manifest.bindings import shown
from pegboard_manifest.bindings.subprocess.exits import answered, error_of, is_success, scrubber, shown_output
from pegboard_manifest.bindings.subprocess.output import MAX_BYTES, answers_on_stderr, is_utf8, read_output, too_much
from pegboard_manifest.bindings.subprocess.process import run
from pegboard_manifest.bindings.subprocess.program import Program
from pegboard_manifest.bindings.subprocess.words import compile_line, roots_of, too_long

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from pegboard import CallContext
    from pegboard_manifest.bindings.subprocess.process import Ended
    from pegboard_manifest.bindings.subprocess.words import CommandLine
    from pegboard_manifest.document import Manifest

NO_ROOM = frozenset({errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ETXTBSY})
"""What the host lacks for a moment."""
MAX_CHILDREN = 16
"""Programs that all tools of a host may run at once: a process costs far more than a call."""
MAX_IN_LOOP = {"json": 100_000, "jsonl": 8_000, "csv": 16_000, "text": 1_000_000}
"""Longer outputs are read in a thread, so that other tasks can run, in bytes; this many take at most some 10 ms,
whatever stands in them: a line of JSON may have two bytes, and takes as long to read as one of fifty."""


def compile_call(
    entry: Mapping[str, Any], manifest: Manifest
) -> Callable[[CallContext, Mapping[str, Any]], Awaitable[Any]]:
    """`await call(context, arguments)` gives the data of one tool, or the text that it is; raises `ToolError`."""
    binding = entry["binding"]
    program = Program(manifest.programs[binding["program"]], binding["program"], manifest.folder)
    allowed = entry.get("constraints", {}).get("allowed_paths")
    line_of = compile_line(binding, program.entry, roots_of(program.entry, manifest.folder, allowed, manifest.file))
    output = binding["output"]
    most = output.get("max_bytes", MAX_BYTES)
    readers = trio.CapacityLimiter(2)

    async def call(context: CallContext, arguments: Mapping[str, Any]) -> Any:
        line = line_of(arguments)
        context.hide(*program.named_secrets())
        async with _children():
            ended = await _run(program, line, most)
        marks = context.tool.annotations
        is_safe = marks.read_only or marks.idempotent
        if ended.too_much:
            scrub = _scrub(program, line, arguments)
            raise _with_output(too_much(most), ended.stdout, scrub, **_repeat(safe=is_safe))
        if not is_success(binding, ended.status, ended.stdout, ended.stderr):
            scrub = _scrub(program, line, arguments)
            problem = error_of(binding, ended.status, ended.stderr, ended.stdout, scrub=scrub, idempotent=is_safe)
            context.log.info("the program ended with status %d: %s", ended.status, problem.details.get("stderr", ""))
            raise problem
        stdout = ended.stdout
        if answers_on_stderr(binding, stdout, ended.stderr):
            stdout = _scrub(program, line, arguments)(ended.stderr).encode()
        if output["parser"] == "text" and not is_utf8(stdout):
            context.log.warning("the program wrote what is not UTF-8; what could not be read was replaced")
        try:
            data = await _read(binding, stdout, readers)
        except ToolError as unreadable:
            raise _with_output(unreadable, stdout, _scrub(program, line, arguments)) from None
        return shown(data) if ended.status == 0 else answered(binding, ended.status, data)

    return call


async def _read(binding: Mapping[str, Any], stdout: bytes, readers: trio.CapacityLimiter) -> dict[str, Any]:
    if len(stdout) <= MAX_IN_LOOP[binding["output"]["parser"]]:
        return read_output(binding, stdout)
    return await trio.to_thread.run_sync(read_output, binding, stdout, abandon_on_cancel=True, limiter=readers)


def _with_output(problem: ToolError, stdout: bytes, scrub: Callable[[str], str], **more: Any) -> ToolError:
    said = {"stdout": output} if (output := shown_output(stdout, scrub)) else {}
    return ToolError(problem.code, problem.message, {**problem.details, **said, **more})


def _children() -> trio.CapacityLimiter:
    """How many children this loop may have at once; a call that waits for its turn waits within its deadline."""
    try:
        return _limiter.get()
    except LookupError:
        limiter = trio.CapacityLimiter(MAX_CHILDREN)
        _limiter.set(limiter)
        return limiter


_limiter: trio.lowlevel.RunVar[trio.CapacityLimiter] = trio.lowlevel.RunVar("children of manifests")


def _repeat(*, safe: bool) -> dict[str, Any]:
    return {"retry": (Retry.CHANGED if safe else Retry.UNKNOWN).value}


def _scrub(program: Program, line: CommandLine, arguments: Mapping[str, Any]) -> Callable[[str], str]:
    """Asked for only when a program failed."""
    values = [item for value in arguments.values() for item in (value if isinstance(value, list) else [value])]
    given = [value for value in values if isinstance(value, str) and value.startswith("/")]
    named = {word: name for word, name in line.named.items() if word != name}
    return scrubber(named, program.folders(), program.secrets(), given)


async def _run(program: Program, line: CommandLine, most: int) -> Ended:
    """Run it, and look for it once more where it has moved since the last call."""
    path = program.path()
    try:
        return await _start(program, path, line, most)
    except FileNotFoundError:
        program.forget()
        if not os.path.isdir(program.cwd):
            raise program.no_folder() from None
        if (again := program.path()) == path:  # it is there: the interpreter that its first line names is not
            raise program.not_executable() from None
    try:
        return await _start(program, again, line, most)
    except FileNotFoundError:
        raise program.missing() from None


async def _start(program: Program, path: str, line: CommandLine, most: int) -> Ended:
    try:
        return await run(
            [path, *line.words[1:]],
            cwd=program.cwd,
            environment=program.environment(),
            stdin=line.stdin,
            max_bytes=most,
        )
    except FileNotFoundError:
        raise
    except NotADirectoryError:
        raise program.no_folder() from None
    except OSError as problem:
        if problem.errno == errno.E2BIG:
            raise too_long() from None
        if problem.errno in NO_ROOM:
            raise ToolError(
                ErrorCode.UPSTREAM_ERROR,
                "the host cannot start another program just now; try again",
                reason="no_room",
                executed=False,
                retry=Retry.SAME.value,
            ) from None
        raise program.not_executable() from None
    except ValueError:
        raise ToolError(
            ErrorCode.INTERNAL_ERROR, "a fixed word of the manifest holds a NUL; repair the binding", executed=False
        ) from None
