"""The group of commands: its options, where each command lives, and what becomes of what they raise.

A command is imported when it is asked for. Commands of plugins come from the hook `register_commands`; plugins are
loaded for that only where a command is not the program's own, or where the list of commands is shown.
"""

from __future__ import annotations

import copy
import functools
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pegboard.cli._output import OutputError, drop_stdout, emit, flush_answer, note
from pegboard.cli._run import ProgramRun, start_logging
from pegboard.cli._terminal import lend_stdout
from pegboard.cli._text import printable, printable_line
from pegboard.errors import ConfigError, PegboardError, ToolError, UntrustedError, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from pegboard.contract import Finding
    from pegboard.registry.asking import PluginRecord
    from pegboard.registry.board import Board

T = TypeVar("T")

COMMANDS = {
    "batch": "pegboard.cli._batch",
    "call": "pegboard.cli._call",
    "check": "pegboard.cli._check",
    "config": "pegboard.cli._config",
    "doctor": "pegboard.cli._doctor",
    "export": "pegboard.cli._export",
    "list": "pegboard.cli._list",
    "new": "pegboard.cli._new",
    "plugins": "pegboard.cli._plugins",
    "show": "pegboard.cli._show",
    "trust": "pegboard.cli._trust",
}
"""The program's own commands, and the module in which each is `command`."""

PACKAGES = {
    "audit": "pegboard-audit",
    "serve": "pegboard-mcp",
    "lock": "pegboard-mcp",
    "connect": "pegboard-mcp",
    "config import": "pegboard-mcp",
    "gateway": "pegboard-http",
    "worker": "pegboard-nats",
    "nats": "pegboard-nats",
    "inspect": "pegboard-inspect",
    "chat": "pegboard-chat",
    "eval": "pegboard-chat",
    "toolgen": "pegboard-toolgen",
}
"""Commands that packages bring, for those who miss one."""

_NUMBERS = (
    ("integer range", "a whole number"),
    ("integer", "a whole number"),
    ("float range", "a number"),
    ("float", "a number"),
)
"""click's names of its types, which it puts into its errors, in words: nobody writes a "valid integer range"."""
_NOT_OURS = "pegboard installs nothing itself: pip"
ELSEWHERE = {
    **dict.fromkeys(("install", "add"), f"{_NOT_OURS} install {{}}"),
    **dict.fromkeys(("upgrade", "update"), f"{_NOT_OURS} install --upgrade {{}}"),
    **dict.fromkeys(("uninstall", "remove"), f"{_NOT_OURS} uninstall {{}}"),
    **dict.fromkeys(("search", "find", "grep"), "pegboard list --search {}"),
    **dict.fromkeys(("tools", "ls"), "pegboard list"),
    **dict.fromkeys(("info", "describe"), "pegboard show {}"),
    **dict.fromkeys(("run", "exec", "invoke"), "pegboard call {}"),
    **dict.fromkeys(("start", "server", "mcp"), "pegboard serve (an MCP server), or pegboard gateway (an HTTP API)"),
    **dict.fromkeys(("init", "create"), "pegboard new plugin NAME, or pegboard toolgen init for tools of a project"),
    **dict.fromkeys(("help", "docs"), "pegboard --help lists the commands; pegboard COMMAND --help shows one"),
    **dict.fromkeys(("log", "logs", "history"), "pegboard audit, or pegboard --log-json FILE call ..."),
    **dict.fromkeys(("sources", "servers", "status"), "pegboard list --sources; pegboard doctor says what is wrong"),
    "models": "pegboard chat --model PROVIDER:MODEL names one",
    "settings": "pegboard config",
    "test": "pegboard check holds a plugin against what users rely on",
    "version": "pegboard --version",
}
"""What people call commands that are called otherwise, or that are not ours; `{}` is what stands behind the word."""

DONE, TOOL_ERROR, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130
COMPLETION = "_PEGBOARD_COMPLETE"

EPILOG = """\b
Exit status: 0 done; 1 the tool answered with an error, or stdout closed
before the end; 2 wrong usage or configuration; 130 after Ctrl-C.

\b
Completion of commands, options, tool names, their parameters and values:
  bash   eval "$(_PEGBOARD_COMPLETE=bash_source pegboard)"
  zsh    eval "$(_PEGBOARD_COMPLETE=zsh_source pegboard)"
  fish   _PEGBOARD_COMPLETE=fish_source pegboard | source
"""


class Program(click.Group):
    """The program; one for each run of it.

    Plugins add their commands to it as to any `click.Group`, and to the group `cli.get_command(None, "config")`. A name
    that is taken is refused, and doctor tells.
    """

    def __init__(self) -> None:
        super().__init__(
            "pegboard", callback=_start, params=_options(), invoke_without_command=True, epilog=EPILOG,
            help="A board of tools for language models: list them, call them, check them.",
            context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        )  # fmt: skip
        self._asked_plugins = False
        self._owner = ""
        self._refused: list[tuple[str, str]] = []
        self.lost: list[str] = []

    # -- commands

    def get_command(self, ctx: click.Context | None, cmd_name: str) -> click.Command | None:
        """The program's own command of that name, else a plugin's."""
        own = self._own(cmd_name)
        if own is None and cmd_name not in self.commands and not cmd_name.startswith("-"):
            self._ask_plugins(ctx)
        return own or self.commands.get(cmd_name)

    def _own(self, name: str) -> click.Command | None:
        known = self.commands.get(name)
        if known is not None or name not in COMMANDS:
            return known
        command: click.Command = import_module(COMMANDS[name]).command
        if isinstance(command, click.Group):
            command = copy.copy(command)  # a plugin may add to it, for this program alone
            command.commands = dict(command.commands)
            self.commands[name] = command
        return command

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands; a plugin that cannot be loaded loses only its own."""
        try:
            self._ask_plugins(ctx)
        except PegboardError as problem:
            self.lost.append(problem.message)
        return sorted({*COMMANDS, *self.commands})

    def get_help(self, ctx: click.Context) -> str:
        """The help, which click prints: it may go to stdout."""
        text = super().get_help(ctx)
        lend_stdout()
        return text

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which was meant."""
        name = args[0]
        try:
            command = self.get_command(ctx, name)
        except PegboardError:
            if name not in ELSEWHERE:
                raise
            command = None  # whatever keeps the board from loading, this is not a command
        if command is not None:
            return name, command, args[1:]
        if ctx.resilient_parsing or name.startswith("-"):
            return super().resolve_command(ctx, args)
        if name in PACKAGES:
            package = PACKAGES[name]
            entry = _plugin_of(package)
            if entry is None:
                hint = f"pip install {package}"
            else:
                hint = f"add --plugin {entry}" if _run_of(ctx).plugins else "pegboard doctor says why"
            raise ConfigError(f"the command {name!r} comes with {package}, which is not on the board", hint=hint)
        from pegboard.schema.near import nearest

        near = nearest(name, {*COMMANDS, *self.commands, *PACKAGES})
        hint = f"did you mean {near}?" if near else "pegboard --help lists the commands"
        if name in ELSEWHERE:
            given = next((word[:60] for word in args[1:] if not word.startswith("-")), "NAME")
            hint = ELSEWHERE[name].format(given)
        elif name in self.board_tools(ctx):
            hint = f"it is a tool: pegboard call {name}"
        raise ConfigError(f"there is no command {name[:60]!r}", hint=hint)

    @staticmethod
    def board_tools(ctx: click.Context) -> Collection[str]:
        """Names of tools, as far as they are known without any server."""
        return _asked_of_board(ctx, lambda board: board.visible_tools().plans) or ()

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Take a command of a plugin, unless its name is taken."""
        name = name or cmd.name or ""
        if self._owner and (name in COMMANDS or name in self.commands):
            self._refused.append((self._owner, name))
        else:
            super().add_command(cmd, name)

    def _ask_plugins(self, ctx: click.Context | ProgramRun | None) -> None:
        """Let every plugin add its commands, once.

        What a found file may not yet say keeps no command from being known: one that wants the board asks for it, and
        is refused there.

        Raises:
            PegboardError: the board cannot be loaded.
        """
        if self._asked_plugins:
            return
        self._asked_plugins = True
        run = ctx if isinstance(ctx, ProgramRun) else _run_of(ctx)
        try:
            plugins = run.load_board(lenient=True).plugins
        except UntrustedError:
            plugins = run.load_own_board().plugins

        def lose(record: PluginRecord, where: str, problem: BaseException) -> None:
            self.lost.append(f"plugin {record.label} could not add its commands: {reason_of(problem)}")

        for record, register in plugins.implementations("register_commands"):
            self._owner = record.label
            try:
                plugins.run(record, "register_commands", lose, functools.partial(register, cli=self))
            finally:
                self._owner = ""

    def list_commands_of_plugins(self, ctx: click.Context) -> list[str]:
        """Let plugins add their commands, to groups of the program too, and name those that are there now.

        Raises:
            PegboardError: the board cannot be loaded.
        """
        self._ask_plugins(ctx)
        return sorted(self.commands)

    def plugin_findings(self, run: ProgramRun) -> list[Finding]:
        """What is wrong with the commands of plugins."""
        from pegboard.contract import Finding

        self._ask_plugins(run)
        taken = [
            Finding(
                "a command is refused", f"plugin {owner}", f"the program has a command {name!r} already",
                "give the command another name",
            )
            for owner, name in self._refused
        ]  # fmt: skip
        lost = [Finding("commands are lost", "register_commands", why, "report it to its author") for why in self.lost]
        return taken + lost

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The end of the help, and whose commands are missing in it."""
        super().format_epilog(ctx, formatter)
        for why in self.lost:
            formatter.write_paragraph()
            formatter.write_text(f"Commands of plugins are missing above: {printable(why)}")

    # -- the run

    def main(self, args: Sequence[str] | None = None, *_: Any, **__: Any) -> Any:
        """Run the program, and end it with its exit status."""
        sys.exit(self.run(list(sys.argv[1:] if args is None else args)))

    def run(self, args: list[str]) -> int:
        """Run the program; every way it can end becomes an exit status here."""
        instruction = os.environ.get(COMPLETION)
        if instruction:
            start_logging(debug=False)
            return self._complete(instruction)
        debug = "--debug" in args  # click takes the list apart
        start_logging(debug=debug)  # before a command is looked for: that may load the board
        try:
            try:
                with self.make_context("pegboard", args) as ctx:
                    status = self.invoke(ctx)
            except click.exceptions.Exit as end:
                status = end.exit_code
            flush_answer()
            return status if isinstance(status, int) else DONE
        except BaseException as problem:  # noqa: BLE001 - the one place where a person is told
            return self._tell(problem, debug=debug)

    def _complete(self, instruction: str) -> int:
        """What a shell asks for, as `click.shell_completion.shell_complete` answers it."""
        from click.shell_completion import get_completion_class

        shell, _, what = instruction.partition("_")
        kind = get_completion_class(shell)
        if kind is None or what not in ("source", "complete"):
            return TOOL_ERROR
        completion = kind(self, {}, "pegboard", COMPLETION)
        text = completion.source() if what == "source" else completion.complete()
        if (shell, what) == ("bash", "source"):  # a word that ends so goes on: bash shall append no space
            goes_on = "    [[ ${COMPREPLY[0]} == *[=/] ]] && compopt -o nospace\n    return 0\n"
            text = text.replace("    return 0\n", goes_on)
        emit(text + "\n")
        return DONE

    def _tell(self, problem: BaseException, *, debug: bool) -> int:
        if debug and not isinstance(problem, SystemExit):
            import traceback

            note("".join(traceback.format_exception(problem)).rstrip())
        if isinstance(problem, FileNotFoundError) and problem.filename is None:  # of `Path.cwd`: no stream says so
            from pegboard.config._folders import gone_folder

            problem = gone_folder()
        if isinstance(problem, (KeyboardInterrupt, click.Abort)):
            note(printable_line(" ".join(["interrupted", *getattr(problem, "__notes__", ())[:1]])))
            return INTERRUPTED
        if isinstance(problem, click.ClickException):
            return _tell_usage(problem)
        if isinstance(problem, OutputError):
            note(f"error: {problem}")
            return TOOL_ERROR
        if isinstance(problem, ToolError):
            note(f"error: {problem.code.value}: {problem.message}")
            return TOOL_ERROR
        if isinstance(problem, PegboardError):
            tell_error(str(problem), problem.hint)
            return WRONG_USAGE
        if isinstance(problem, OSError) and problem.filename is not None:
            from pegboard.config import write_hint

            why = f"{problem.filename}: {os.strerror(problem.errno or 0)}"
            tell_error(why, write_hint(problem, "look at what it is, and at its rights"))
            return WRONG_USAGE
        if isinstance(problem, OSError):  # of a stream: click writes the help itself
            drop_stdout()
            note(f"error: {OutputError(problem)}")
            return TOOL_ERROR
        if isinstance(problem, SystemExit):
            return problem.code if isinstance(problem.code, int) else TOOL_ERROR
        tell_error(
            f"the program failed: {type(problem).__name__}: {problem}"[:300],
            "this is a fault of the program; --debug shows where" if not debug else None,
        )
        return TOOL_ERROR


def _tell_usage(problem: click.ClickException) -> int:
    if isinstance(problem, click.exceptions.NoArgsIsHelpError):
        note(problem.format_message())
        return WRONG_USAGE
    ctx = problem.ctx if isinstance(problem, click.UsageError) else None
    path = "pegboard" if ctx is None else ctx.command_path
    text = problem.format_message()
    if isinstance(problem, click.MissingParameter):  # click puts each choice on a line of its own
        text = " ".join(text.split())
    for kind, plain in _NUMBERS:
        text = text.replace(f"is not a valid {kind}", f"is not {plain}")
    unknown = None if ctx is None else _unknown_word(problem, ctx)
    if unknown is not None:
        text, hint = unknown
        tell_error(text, hint or f"{path} --help")
    else:
        tell_error(text.rstrip("."), f"{path} --help")
    return WRONG_USAGE


def _unknown_word(problem: click.ClickException, ctx: click.Context) -> tuple[str, str | None] | None:
    """What is said of an option or a command of a group that is not there, and what may help.

    click's own suggestions are by `difflib` alone, which finds near what is not.
    """
    if isinstance(problem, click.NoSuchOption):
        word, what = problem.option_name, "option"
        names = _long_options(ctx)
        root = ctx.find_root()
        if ctx is not root and word in _long_options(root):
            program, _, rest = ctx.command_path.partition(" ")
            return f"No such option {word!r} of {rest}", f"it stands before the command: {program} {word} ... {rest}"
    elif isinstance(ctx.command, click.Group) and hasattr(problem, "command_name"):  # `NoSuchCommand`, since click 8.4
        word, what, names = problem.command_name, "command", ctx.command.list_commands(ctx)
    else:
        return None
    from pegboard.schema.near import listed, nearest

    near = nearest(word, names)
    hint = f"did you mean {near}?" if near else listed(names) if what == "command" else None
    return f"No such {what} {word[:60]!r}", hint


def _long_options(ctx: click.Context) -> list[str]:
    return [name for one in ctx.command.get_params(ctx) for name in one.opts if name.startswith("--")]


def tell_error(message: str, hint: str | None) -> None:
    """An error for a person: one line where it is one, and how to repair it."""
    head, _, faults = message.partition("\n")
    lines = faults.splitlines()
    if len(lines) == 1 and head.endswith(" cannot be read"):  # the fault of a whole file names it again
        lines = [lines[0].strip().removeprefix(head.removesuffix(" cannot be read") + ": ")]
    if len(lines) == 1:  # unless it repeats what the head says
        is_said = lines[0].endswith(head.rpartition(": ")[2])
        note(f"error: {head}" if is_said else f"error: {head.rstrip(':')}: {lines[0].strip()}")
    else:
        note(f"error: {message}")
    if hint:
        note(f"hint: {hint}")


def _plugin_of(package: str) -> str | None:
    """The name of a package's plugin, if the package is installed."""
    from pegboard._installed import installed_plugins

    return next((one.name for one in installed_plugins() if one.distribution == package), None)


def _run_of(ctx: click.Context | None) -> ProgramRun:
    """The run of this context; while options are still being read, what they say so far."""
    assert ctx is not None, "a hook that asks for an unknown command is asked itself already"
    run = ctx.find_root().obj
    return run if isinstance(run, ProgramRun) else ProgramRun(**_said(ctx.find_root().params))


def _asked_of_board(ctx: click.Context, ask: Callable[[Board], T]) -> T | None:
    """What the board of this run says, for words that only help; None: it says nothing, and why is said elsewhere."""
    try:
        return ask(_run_of(ctx).load_board(lenient=True))
    except PegboardError:
        return None


def _said(params: dict[str, Any]) -> dict[str, Any]:
    renamed = {"plugin": "plugins"}
    return {renamed.get(key, key): value for key, value in params.items() if key != "version"}


def _start(**params: Any) -> None:
    ctx = click.get_current_context()
    ctx.obj = ProgramRun(**_said(params))
    if ctx.invoked_subcommand is None:
        emit(ctx.get_help() + "\n")
    elif ctx.invoked_subcommand not in COMMANDS:
        lend_stdout()


def _show_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from pegboard import __version__

        emit(f"pegboard {__version__}\n")
        ctx.exit()


def _options() -> list[click.Parameter]:
    # Eager, so that they are known when --help asks for the commands of plugins.
    return [
        click.Option([name], is_eager=True, **more)
        for name, more in (
            ("--config", {"metavar": "FILE", "help": "Read this configuration, and no other file."}),
            ("--mcp-config", {"metavar": "FILE", "help": "Take MCP servers from another program's file."}),
            ("--plugin", {"metavar": "NAME", "multiple": True, "help": "Only this installed plugin; repeatable."}),
            ("--profile", {"metavar": "NAME", "help": "See the tools of this profile."}),
            ("--read-only", {"is_flag": True, "help": "Refuse tools that may change something."}),
            ("--log-json", {"metavar": "FILE|-", "help": "Write one JSON line a call; - is stderr."}),
            ("--strict", {"is_flag": True, "help": "Any plugin that fails is fatal."}),
            ("--debug", {"is_flag": True, "help": "Show the log and tracebacks on stderr."}),
            (
                "--version",
                {"is_flag": True, "expose_value": False, "callback": _show_version, "help": "Show the version."},
            ),
        )
    ]


def complete_tool(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Names of tools for the shell."""
    names = _asked_of_board(ctx, lambda board: board.visible_tools().offered.plans)
    return sorted(name for name in names or () if name.startswith(incomplete))


def complete_argument(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Parameters of the tool that is called, and their values, for the shell."""
    from pegboard.cli._arguments import completions

    name = ctx.params.get("name") or ""
    entry = _asked_of_board(ctx, lambda board: board.visible_tools().plans.get(name))
    if entry is None:
        return []
    return completions(entry.tool.input_schema, ctx.params.get("pairs") or (), incomplete)


def complete_dialect(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Names of dialects for the shell."""
    names = _asked_of_board(ctx, lambda board: board.dialects)
    return sorted(name for name in names or () if name.startswith(incomplete))
