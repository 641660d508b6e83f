"""Child processes: workers that stay and answer, commands that run once and are weighed."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

QUIET = {
    "DO_NOT_TRACK": "1",
    "FASTMCP_CHECK_FOR_UPDATES": "off",
    "LANGCHAIN_TRACING_V2": "false",
    "LANGSMITH_TRACING": "false",
    "PYDANTIC_AI_DISABLE_BANNER": "1",
}
"""No contestant may report home, look for updates or print a banner: that is not what is measured."""

_NOT_INHERITED = ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTHONHOME", "PYTHONUNBUFFERED", "VIRTUAL_ENV")


def clean_environment(home: Path | None = None) -> dict[str, str]:
    """The environment of every child: none of ours that changes how Python starts, and no configuration of a user.

    With PYTHONDONTWRITEBYTECODE an import is compiled in every run, and a cold start would measure the compiler.
    """
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in _NOT_INHERITED and not name.startswith(("PEGBOARD_", "XDG_", "COVERAGE_"))
    }
    environment |= QUIET
    if home is not None:
        environment |= {"HOME": str(home), "LLM_USER_PATH": str(home / "llm")}
    return environment


class WorkerError(Exception):
    """A worker died or could not do what it was asked."""


class WorkerProcess:
    """One contestant, alive in its venv; `ask` it for one thing at a time."""

    def __init__(self, python: Path, worker: Path, module: str, log: Path, home: Path) -> None:
        self._log_path = log
        self._log = log.open("a")
        self._process = subprocess.Popen(
            [python, worker, module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            cwd=home,
            env=clean_environment(home),
        )

    def ask(self, op: str, **request: Any) -> dict[str, Any]:
        """Send one request and wait for its answer.

        Raises:
            WorkerError: the worker died, or the operation failed in it.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            print(json.dumps({"op": op, **request}), file=self._process.stdin, flush=True)
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self._process.wait()
            raise WorkerError(f"ended with status {self._process.returncode}: {self._last_words()}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise WorkerError(answer["error"])
        return answer

    def _last_words(self) -> str:
        self._log.flush()
        lines = self._log_path.read_text(errors="replace").splitlines()
        return lines[-1].strip()[:200] if lines else "it said nothing"

    def close(self) -> None:
        """End the worker: by closing its stdin, and by force if it does not go."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._log.close()


def measure_command(
    command: Sequence[str | Path],
    folder: Path,
    stdout: IO[bytes] | int = subprocess.DEVNULL,
    more: Mapping[str, str] | None = None,
) -> float:
    """Run a program of a venv to its end, as if that venv were active; `folder` is where it runs, and its home; `more`
    is for its environment.

    Returns:
        User and system time of it and its children, in milliseconds.

    Raises:
        WorkerError: it could not be started, or ended with another status than 0.
    """
    environment = clean_environment(folder) | dict(more or {})
    environment["PATH"] = f"{Path(command[0]).parent}{os.pathsep}{environment.get('PATH', os.defpath)}"
    try:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE
        )
    except OSError as problem:
        raise WorkerError(f"{Path(command[0]).name}: {problem.strerror}") from problem
    assert process.stderr is not None
    with process.stderr:
        given = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        last = given.decode(errors="replace").strip().splitlines()[-1:] or ["it said nothing"]
        raise WorkerError(f"status {process.returncode}: {last[0][:200]}")
    return (used.ru_utime + used.ru_stime) * 1e3
