"""Run a third-party program so that it learns nothing, cannot wait for anybody and does not outlive the question.

The child gets an environment of its own (no variable of ours but PATH), empty temporary folders as home and working
folder, no standard input, a session of its own and a deadline, after which its whole process group is killed. What it
writes is read up to a bound. A pipe beside its standard streams takes the answer of a probe, so that a program that
prints while it is imported does not spoil it.

What this is not: a sandbox. The program runs as the user who asked, as it would for `--help`.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_GRACE_S = 0.5


@attrs.frozen(kw_only=True)
class Finished:
    """How a child ended.

    Args:
        status: the exit status, negative for a signal; None if it was killed at the deadline or at a bound.
        stdout: what it wrote, at most `max_bytes` of it.
        stderr: likewise.
        answer: what came through the pipe of the probe.
        why: "deadline" or "too much output" if it was killed for that.

    .. versionadded:: 0.1
    """

    status: int | None
    stdout: bytes
    stderr: bytes
    answer: bytes
    why: str | None = None


def environment(home: str) -> dict[str, str]:
    """What a child sees: PATH, and constants that make its answers the same everywhere."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": home,
        "TMPDIR": home,
        "LANG": "C.UTF-8",
        "COLUMNS": "100",
        "LINES": "1000",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "TZ": "UTC",
        "PAGER": "cat",
        "MANPAGER": "cat",
        "GIT_PAGER": "cat",
        "MANWIDTH": "100",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def run_child(
    words: Sequence[str],
    *,
    deadline_s: float,
    max_bytes: int,
    extra_environment: Mapping[str, str] | None = None,
    answers: bool = False,
) -> Finished:
    """Start `words` as described above and wait for its end, the deadline or the bound.

    Args:
        words: the program, absolute, and its arguments.
        deadline_s: seconds until its process group is killed.
        max_bytes: of each stream; more ends it.
        extra_environment: constants beside the ones that every child gets.
        answers: give it a pipe for its answer; the number of the descriptor is put in the place of the word `{fd}`.

    Raises:
        OSError: it cannot be started.
    """
    with tempfile.TemporaryDirectory(prefix="toolgen-", ignore_cleanup_errors=True) as folder:
        home, work = Path(folder, "home"), Path(folder, "work")
        home.mkdir()
        work.mkdir()
        finished = _run(
            words, str(work), {**environment(str(home)), **(extra_environment or {})}, deadline_s, max_bytes, answers
        )
        return _without_folders(finished, ((str(work), "."), (str(home), "~"), (folder, "~")))


def _without_folders(finished: Finished, folders: Sequence[tuple[str, str]]) -> Finished:
    # The temporary folders have other names every time; what comes out has to be the same to the byte.
    def cleaned(data: bytes) -> bytes:
        for name, sign in folders:
            for spelling in {name, os.path.realpath(name)}:
                data = data.replace(os.fsencode(spelling), sign.encode())
        return data

    return attrs.evolve(
        finished,
        stdout=cleaned(finished.stdout),
        stderr=cleaned(finished.stderr),
        answer=cleaned(finished.answer),
    )


def _run(
    words: Sequence[str], cwd: str, env: dict[str, str], deadline_s: float, max_bytes: int, answers: bool
) -> Finished:
    with contextlib.ExitStack() as stack:
        pipe: IO[bytes] | None = None
        end: IO[bytes] | None = None
        pass_fds: tuple[int, ...] = ()
        if answers:
            reader, writer = os.pipe()
            pipe = stack.enter_context(open(reader, "rb", buffering=0))  # noqa: PTH123 - a descriptor
            end = stack.enter_context(open(writer, "wb", buffering=0))  # noqa: PTH123
            pass_fds = (writer,)
            words = [str(writer) if word == "{fd}" else word for word in words]
        process = subprocess.Popen(  # noqa: S603 - no shell, and what runs is what the user asked about
            list(words),
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            pass_fds=pass_fds,
        )
        stack.enter_context(_ended(process))
        if end is not None:
            end.close()
        assert process.stdout is not None
        assert process.stderr is not None
        streams = {"stdout": process.stdout, "stderr": process.stderr, **({"answer": pipe} if pipe else {})}
        texts, why = _read(streams, time.monotonic() + deadline_s, max_bytes)
        status = None
        if why is None:
            try:
                status = process.wait(_GRACE_S)
            except subprocess.TimeoutExpired:
                why = "deadline"
    return Finished(
        status=status, stdout=texts["stdout"], stderr=texts["stderr"], answer=texts.get("answer", b""), why=why
    )


@contextlib.contextmanager
def _ended(process: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        yield
    finally:
        # The group may live on without its leader: it is killed in any case, while its number is still ours.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def _read(streams: Mapping[str, IO[bytes]], deadline: float, max_bytes: int) -> tuple[dict[str, bytes], str | None]:
    texts = {name: bytearray() for name in streams}
    why = None
    with selectors.DefaultSelector() as selector:
        for name, stream in streams.items():
            selector.register(stream, selectors.EVENT_READ, name)
        while selector.get_map() and why is None:
            left = deadline - time.monotonic()
            ready = selector.select(left) if left > 0 else []
            if not ready:
                why = "deadline"
            for key, _ in ready:
                data = os.read(key.fd, 65_536)
                if not data:
                    selector.unregister(key.fileobj)
                texts[key.data] += data
                if len(texts[key.data]) > max_bytes:
                    why = "too much output"
    return {name: bytes(text[:max_bytes]) for name, text in texts.items()}, why
