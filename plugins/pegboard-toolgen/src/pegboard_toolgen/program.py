"""The program `llm-toolgen`: the commands of `pegboard toolgen` without a board.

Errors and exit statuses are those of the program `pegboard`: one line and a hint on stderr; 0 done, 1 differences,
2 wrong usage or configuration, 130 after Ctrl-C.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING, Any

import click

from pegboard import PegboardError
from pegboard_toolgen._texts import shown
from pegboard_toolgen.commands import toolgen

if TYPE_CHECKING:
    from collections.abc import Sequence

DONE, FAILED, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130


def main(args: Sequence[str] | None = None) -> Any:
    """Run the program and end it with its exit status."""
    gc.disable()  # as `pegboard` does: what is read of a large library stays to the end
    sys.exit(run(list(sys.argv[1:] if args is None else args)))


def run(args: list[str]) -> int:
    """Run the program; every way it can end becomes an exit status here."""
    debug = "--debug" in args
    args = [one for one in args if one != "--debug"]
    try:
        status = toolgen.main(args, prog_name="llm-toolgen", standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else DONE
    except click.exceptions.Exit as end:
        return int(end.exit_code)
    except BaseException as problem:  # noqa: BLE001 - the one place where a person is told
        return _told(problem, debug=debug)


def _told(problem: BaseException, *, debug: bool) -> int:
    if debug and not isinstance(problem, SystemExit):
        import traceback

        traceback.print_exception(problem)
    if isinstance(problem, (KeyboardInterrupt, click.Abort)):
        _note("interrupted")
        return INTERRUPTED
    if isinstance(problem, click.exceptions.NoArgsIsHelpError):
        click.echo(problem.format_message(), err=True)
        return WRONG_USAGE
    if isinstance(problem, click.ClickException):
        path = problem.ctx.command_path if isinstance(problem, click.UsageError) and problem.ctx else "llm-toolgen"
        _error(problem.format_message().rstrip("."), f"{path} --help")
        return WRONG_USAGE
    if isinstance(problem, PegboardError):
        _error(str(problem), problem.hint)
        return WRONG_USAGE
    if isinstance(problem, OSError):  # of a write: what commands do with files and folders they tell themselves
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        _note(f"error: stdout cannot be written: {problem.strerror}")
        return FAILED
    if isinstance(problem, SystemExit):
        return problem.code if isinstance(problem.code, int) else FAILED
    _error(
        f"the program failed: {type(problem).__name__}: {shown(problem, 250)}",
        "this is a fault of the program; --debug shows where" if not debug else None,
    )
    return FAILED


def _error(message: str, hint: str | None) -> None:
    head, *lines = message.split("\n")
    if len(lines) == 1:
        _note(f"error: {head.rstrip(':')}: {lines[0].strip()}")
    else:
        _note(f"error: {head}")
        for line in lines:
            _note(f"  {line.strip()}")
    if hint:
        _note(f"hint: {hint}")


def _note(text: str) -> None:
    indent = "  " if text.startswith("  ") else ""
    click.echo(indent + shown(text, 1_000), err=True)


if __name__ == "__main__":
    main()
