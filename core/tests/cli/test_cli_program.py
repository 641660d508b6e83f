"""The program itself: options, help, commands of plugins, errors for people, completion; and the small commands."""

from __future__ import annotations

import os
import sys

import click
import pytest

COMMANDS = """
    import click
    from pegboard import hookimpl

    @hookimpl
    def register_commands(cli):
        @cli.command("greet")
        @click.argument("name")
        @click.pass_obj
        def greet(run, name):
            "Say hello."
            click.echo(f"hello {name}, there are {len(run.load_board().tools)} tools")

        cli.get_command(None, "config").command("import")(greet.callback)

        @cli.command("list")
        def mine():
            "Take what is taken."

        @cli.command("status")
        def status():
            "End with a status."
            raise SystemExit(7)
"""


def test_alone_it_shows_its_help(run, tools):
    answer = run(plugins=None)
    assert answer.status == 0
    assert answer.out.startswith("Usage: pegboard")
    for part in ("batch", "doctor", "--mcp-config", "_PEGBOARD_COMPLETE", "130 after Ctrl-C"):
        assert part in answer.out


def test_help_and_version(run):
    from pegboard import __version__

    assert run("--help", plugins=None).status == 0
    assert run("call", "-h", plugins=None).out.startswith("Usage: pegboard call")
    assert run("--version", plugins=None).out == f"pegboard {__version__}\n"


def test_every_command_of_its_own_has_a_short_help(run, tools):
    from pegboard.cli._program import COMMANDS as OWN

    lines = run("--help").out.splitlines()
    for name in OWN:
        line = next(line for line in lines if line.split()[:1] == [name])
        assert len(line.split()) > 2


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["lsit"], "there is no command 'lsit'\nhint: did you mean list?"),
        (["xyzzy"], "hint: pegboard --help lists the commands"),
        (
            ["serve"],
            "the command 'serve' comes with pegboard-mcp, which is not on the board\nhint: pip install pegboard-mcp",
        ),
        (["config", "import", "x"], "comes with pegboard-mcp"),
        (["config", "nope"], "No such command 'nope'"),
        (["list", "--jso"], "No such option"),
        (["--nope", "list"], "No such option"),
        (["--profile"], "Option '--profile' requires an argument"),
        (["--profile", "nope", "list"], "a profile that is configured"),
        (["--config", "/no/such.toml", "list"], "error: /no/such.toml cannot be read: No such file or directory\n"),
        (["--mcp-config", "x.json", "list"], "pip install pegboard-mcp"),
        (["new"], "Usage: pegboard new"),
        (["--plugin", "nope", "list"], "no plugin 'nope' is installed"),
    ],
)
def test_wrong_usage_is_exit_2_and_says_how_to_go_on(run, tools, without_mcp, args, said):
    answer = run(*args)
    assert (answer.status, answer.out) == (2, "")
    assert said in answer.err
    assert "Traceback" not in answer.err


def test_a_wrong_configuration_names_every_fault(run, tools, tmp_path):
    (tmp_path / "c.toml").write_text('timeout_s = "fast"\ntimout_s = 3\nuser_id = "${NOT_SET_ANYWHERE}"\n')
    answer = run("--config", str(tmp_path / "c.toml"), "list")
    assert answer.status == 2
    assert answer.err.startswith("error: the configuration has 3 faults\n")
    assert "did you mean 'timeout_s'" in answer.err
    assert "NOT_SET_ANYWHERE" in answer.err


def test_one_fault_is_one_line(run, tools, tmp_path):
    (tmp_path / "c.toml").write_text("timeout_s = -1\n")
    answer = run("--config", str(tmp_path / "c.toml"), "list")
    assert answer.err.startswith("error: the configuration has a fault: timeout_s: expected")
    assert len(answer.err.splitlines()) == 1


@pytest.mark.parametrize("head", ["hints.toml: 1 hint fits nothing:", "hints.toml: 1 hint fits nothing"])
def test_one_fault_behind_a_head_is_one_line(head, capsys):
    from pegboard.cli._program import tell_error

    tell_error(f"{head}\n  tools: x", None)
    assert capsys.readouterr().err == "error: hints.toml: 1 hint fits nothing: tools: x\n"


def test_debug_shows_the_traceback_and_a_plain_run_does_not(run, tools):
    assert "Traceback" not in run("--config", "/no/such.toml", "list").err
    assert "Traceback" in run("--debug", "--config", "/no/such.toml", "list").err


def test_a_fault_of_the_program_is_told_without_a_traceback(run, tools, monkeypatch):
    from pegboard.cli._run import ProgramRun

    def fail(self):
        raise ZeroDivisionError("x")

    monkeypatch.setattr(ProgramRun, "load_board", fail)
    answer = run("list")
    assert answer.status == 1
    assert answer.err == (
        "error: the program failed: ZeroDivisionError: x\nhint: this is a fault of the program; --debug shows where\n"
    )
    assert "Traceback" in run("--debug", "list").err


@pytest.mark.parametrize(("problem", "status"), [(KeyboardInterrupt(), 130), (SystemExit(3), 3), (SystemExit("x"), 1)])
def test_what_ends_the_program_is_its_status(run, tools, monkeypatch, problem, status):
    from pegboard.cli._run import ProgramRun

    def end(self):
        raise problem

    monkeypatch.setattr(ProgramRun, "load_board", end)
    assert run("list").status == status


def test_a_tool_error_outside_a_call_is_told(run, tools, monkeypatch):
    from pegboard import ToolError
    from pegboard.cli._run import ProgramRun

    def refuse(self):
        raise ToolError("CONFLICT", "two of them")

    monkeypatch.setattr(ProgramRun, "load_board", refuse)
    answer = run("list")
    assert (answer.status, answer.err) == (1, "error: CONFLICT: two of them\n")


def test_the_entry_point_ends_with_the_status_and_leaves_collecting_to_who_runs(monkeypatch, capsys):
    import gc

    import pegboard.__main__ as module
    import pegboard_program
    from pegboard.cli import main

    assert module.main is pegboard_program.main
    monkeypatch.setattr(sys, "argv", ["pegboard", "--version"])
    try:
        with pytest.raises(SystemExit) as end:
            main()
    finally:
        gc.enable()
        gc.unfreeze()
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith("pegboard ")


def test_what_plugins_need_of_the_program_is_there():
    import pegboard.cli

    assert pegboard.cli.ProgramRun(profile="x").overrides == {"profile": "x"}
    with pytest.raises(AttributeError, match="nothing"):
        _ = pegboard.cli.nothing


def test_options_are_settings_over_all_others():
    from pegboard.cli import ProgramRun

    run = ProgramRun(read_only=True, strict=True, log_json="-", mcp_config="m.json")
    assert run.overrides == {
        "read_only": True,
        "strict": True,
        "plugins": {"audit": {"file": "-"}, "mcp": {"config_file": "m.json"}},
    }


def test_a_command_of_a_package_that_is_left_out_says_so(run, site):
    site.install("calm", "from pegboard import hookimpl\n\n@hookimpl\ndef provide_tools():\n    return []\n")
    pytest.importorskip("pegboard_mcp")
    answer = run("serve", plugins=("calm",))
    assert answer.status == 2
    assert "comes with pegboard-mcp, which is not on the board\nhint: add --plugin mcp" in answer.err


def test_mcp_config_needs_its_reader_among_the_plugins_that_are_wanted(site, run):
    site.install("mcp", "from pegboard import hookimpl\n\n@hookimpl\ndef provide_tools():\n    return []\n")
    answer = run("--mcp-config", "m.json", "list")
    assert answer.status == 2
    assert "--plugin leaves out\nhint: add --plugin mcp" in answer.err


def test_mcp_config_is_passed_on_where_somebody_reads_it(site, run, without_mcp):
    site.install(
        "mcp",
        """
        import attrs
        from pegboard import hookimpl, tool

        @attrs.frozen
        class Settings:
            config_file: str = ""

        @hookimpl
        def provide_settings():
            return Settings

        @hookimpl
        def provide_tools(settings):
            @tool
            def said() -> str:
                "What was said."
                return settings.config_file
            return [said]
    """,
    )
    assert run("--mcp-config", "m.json", "call", "said", plugins=("mcp",)).out == "m.json\n"


# -- commands of plugins


def test_a_plugin_adds_commands_and_gets_the_run(run, tools):
    tools.install("more", COMMANDS)
    wanted = ("kit", "more")
    assert run("greet", "ada", plugins=wanted).out == "hello ada, there are 13 tools\n"
    assert "Say hello" in run("--help", plugins=wanted).out
    assert run("status", plugins=wanted).status == 7


def test_a_plugin_adds_to_the_group_config(run, site):
    site.install("more", COMMANDS)
    assert run("config", "import", "x", plugins=("more",)).status == 2  # its name is an argument that is missing here
    assert "import" in run("config", "--help", plugins=("more",)).out


def test_a_plugin_cannot_take_a_command_and_doctor_tells(run, site):
    site.install("more", COMMANDS)
    assert "TOOL" not in run("list", plugins=("more",)).out
    answer = run("doctor", "--json", plugins=("more",))
    assert answer.json[0]["what"] == "a command is refused"
    assert "'list'" in answer.json[0]["why"]


def test_plugins_are_not_asked_for_commands_of_the_program(run, site):
    site.install(
        "more",
        """
        from pegboard import hookimpl

        @hookimpl
        def register_commands(cli):
            raise ValueError("asked")
        """,
    )
    assert run("list", plugins=("more",)).status == 0
    helped = run("--help", plugins=("more",))
    assert helped.status == 0
    assert "could not add its commands: ValueError: asked" in " ".join(helped.out.split())
    assert run("doctor", "--json", plugins=("more",)).json[0]["what"] == "commands are lost"


def test_a_command_is_found_without_trust_and_the_board_is_not_its(run, site, tmp_path, monkeypatch):
    """A command that works without the board needs no trust in a file about it; one that asks for it is refused."""
    site.install("more", COMMANDS)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pegboard.toml").write_text('observe = ["rate_limit"]\n')
    assert run("status", plugins=("more",)).status == 7
    refused = run("greet", "Ada", plugins=("more",))
    assert refused.status == 2
    assert "is not trusted, so it may not yet say observe" in refused.err
    assert refused.out == ""
    helped = run("--help", plugins=("more",))
    assert "greet" in helped.out
    assert "missing" not in helped.out


def test_help_works_where_the_board_does_not_load(run, tools):
    helped = run("--config", "/no/such.toml", "--help")
    assert helped.status == 0
    assert "Commands of plugins are missing above" in helped.out
    helped = run("--config", "/no/such.toml", "config", "--help")
    assert helped.status == 0
    assert "commands of plugins are missing" in helped.err


# -- settings of tools that are not there


@pytest.fixture
def misspelt(site, tmp_path, find_only) -> str:
    """A configuration that names two tools that no installed plugin has; one of them is near to `adder`."""
    # Only what this test installs: the plugins of whoever runs the tests may be any.
    find_only(lambda distribution: distribution.startswith("pegboard-test-"))
    site.install(
        "sums",
        """
        from pegboard import hookimpl, tool

        @hookimpl
        def provide_tools():
            @tool
            def adder() -> str:
                "Add."
                return "sum"

            return [adder]
        """,
    )
    file = tmp_path / "c.toml"
    file.write_text("[tools.addr]\ntimeout_s = 3\n[tools.zzz]\n[tools.Adder]\n[tools.read_result]\n")
    return str(file)


def test_settings_of_a_tool_that_is_not_there_are_a_wrong_configuration(run, misspelt):
    for command in (["list"], ["call", "adder"], ["batch"], ["plugins"]):
        answer = run("--config", misspelt, *command, plugins=None)
        assert (answer.status, answer.out) == (2, "")
        assert "the configuration has 2 faults" in answer.err
        assert "tools.addr: expected the name of a tool" in answer.err
        assert "did you mean tools.adder?" in answer.err
        assert "c.toml" in answer.err


def test_the_fault_of_a_tool_that_is_not_there_has_its_path(misspelt):
    from pegboard.cli import ProgramRun
    from pegboard.errors import ConfigError

    with pytest.raises(ConfigError) as refused:
        ProgramRun(config=misspelt).load_board()
    assert [fault.path for fault in refused.value.faults] == [("tools", "addr"), ("tools", "zzz")]


def test_commands_that_look_into_the_configuration_take_settings_of_tools_that_are_not_there(run, misspelt):
    assert run("--config", misspelt, "config", plugins=None).status == 0
    found = run("--config", misspelt, "doctor", "--json", plugins=None).json
    assert [one["what"] for one in found] == ["settings of a tool that is not there"] * 2
    assert "missing" not in run("--config", misspelt, "--help", plugins=None).out


@pytest.mark.parametrize("why", ["chosen", "quarantined", "source"])
def test_a_tool_that_may_still_be_somewhere_may_have_settings(run, misspelt, site, why):
    if why == "quarantined":
        site.install("broken", "raise ImportError('no such thing')")
    if why == "source":
        site.install(
            "server",
            """
            from pegboard import hookimpl

            class Source:
                name = "server"
                timeout_s = None

                async def run(self, changes, *, task_status):
                    task_status.started()

            @hookimpl
            def provide_sources():
                return [Source()]
            """,
        )
    answer = run("--config", misspelt, "list", plugins=("sums",) if why == "chosen" else None)
    assert answer.status == 0
    assert "adder" in answer.out


# -- completion


def complete(monkeypatch, capsys, words: str) -> list[str]:
    from pegboard.cli._program import Program

    monkeypatch.setenv("_PEGBOARD_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    with pytest.raises(SystemExit) as end:
        Program().main([])
    assert end.value.code == 0
    return capsys.readouterr().out.split()


def test_the_shell_completes_commands_options_and_tools(monkeypatch, capsys, tools):
    assert "plain,doctor" in complete(monkeypatch, capsys, "pegboard do")
    assert "plain,--dry-run" in complete(monkeypatch, capsys, "pegboard call add --d")
    assert complete(monkeypatch, capsys, "pegboard --plugin kit call add") == ["plain,add", "plain,add_async"]
    assert complete(monkeypatch, capsys, "pegboard --config /no/such.toml call a") == []
    assert complete(monkeypatch, capsys, "pegboard export --to j") == ["plain,json"]
    assert complete(monkeypatch, capsys, "pegboard --config /no/such.toml export --to j") == []


# -- small commands


def test_config_shows_values_origins_and_no_secret(run, site, tmp_path):
    site.install(
        "vault",
        """
        import attrs
        from pegboard import hookimpl, setting

        @attrs.frozen
        class Settings:
            url: str = setting("sqlite://")
            pin: str = setting("", secret=True)

        @hookimpl
        def provide_settings():
            return Settings
    """,
    )
    file = tmp_path / "c.toml"
    file.write_text('timeout_s = 5\n[plugins.vault]\npin = "1234-secret"\n')
    answer = run("--config", str(file), "config", "--json", plugins=("vault",))
    rows = {row["key"]: row for row in answer.json}
    assert rows["timeout_s"] == {"key": "timeout_s", "value": 5.0, "origin": str(file)}
    assert rows["plugins.vault.pin"]["value"] == "***"
    assert rows["plugins.vault.url"] == {"key": "plugins.vault.url", "value": "sqlite://", "origin": "default"}
    human = run("--config", str(file), "--read-only", "config", plugins=("vault",))
    assert "1234" not in human.out + human.err
    assert "--read-only" in human.out
    assert f"read: {file}" in human.err


def test_config_is_shown_though_a_plugin_fails(run, site, tmp_path):
    site.install("broken", "raise ValueError('x')")
    answer = run("config", "--json", plugins=("broken",))
    assert answer.status == 0
    assert "settings of plugins are left out" in answer.err


def test_trust_accepts_the_file_that_is_found(run, tmp_path):
    nothing = run("trust", plugins=None)
    assert nothing.status == 2
    assert "no configuration is found" in nothing.err
    (tmp_path / "work" / "pegboard.toml").write_text('observe = ["read_only"]\n')
    refused = run("config", plugins=None)
    assert refused.status == 2
    assert "hint: look at the file, then accept it as it stands: pegboard trust" in refused.err
    assert "trusted" in run("trust", plugins=None).out
    assert '["read_only"]' in run("config", plugins=None).out
    assert run("trust", "/no/such", plugins=None).status == 2


def test_check_prints_every_step_and_fails_with_any(run, monkeypatch):
    from pegboard.testing import gate

    steps = [gate.Step("loads", True, "1 tools"), gate.Step("names", False, "one is odd", "rename it")]
    monkeypatch.setattr(gate, "run_gate", lambda distribution: iter(steps))
    answer = run("check", "pegboard-x", plugins=None)
    assert answer.status == 1
    assert answer.out.splitlines() == [
        "ok     loads: 1 tools", "FAILED names: one is odd", "       fix: rename it", "1 step failed",
    ]  # fmt: skip
    assert run("check", "--json", plugins=None).json[1] == {
        "name": "names",
        "ok": False,
        "seen": "one is odd",
        "fix": "rename it",
    }
    monkeypatch.setattr(gate, "run_gate", lambda distribution: iter(steps[:1]))
    assert run("check", plugins=None).status == 0


def test_new_plugin_makes_a_package_and_says_what_comes_next(run, tmp_path):
    answer = run("new", "plugin", "coin", plugins=None)
    assert answer.status == 0
    assert (tmp_path / "work" / answer.out.strip() / "pyproject.toml").is_file()
    assert "pip install -e" in answer.err
    assert run("new", "plugin", "coin", plugins=None).status == 2


def test_a_missing_choice_is_told_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    from pegboard.cli._program import _tell_usage

    plant = click.Command("plant", params=[click.Argument(["kind"], type=click.Choice(["oak", "elm"]))])
    with pytest.raises(click.MissingParameter) as caught:
        plant.make_context("plant", [])
    assert _tell_usage(caught.value) == 2
    first, hint = capsys.readouterr().err.splitlines()
    assert first.startswith("error: Missing argument")
    assert first.endswith("Choose from: oak, elm")
    assert hint == "hint: plant --help"


@pytest.mark.parametrize("command", [["list"], ["config"], ["trust"], ["check"], ["call", "add", "a=1"]])
def test_a_working_directory_that_was_removed_is_named(command, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    gone = tmp_path / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    answer = run(*command)
    assert answer.status == 2
    assert answer.err.startswith("error: the working directory is gone\nhint: ")


def test_a_key_of_a_plugin_without_settings_is_refused(run, tools, tmp_path):
    config = tmp_path / "wrong.toml"
    config.write_text("[plugins.kit]\nallowed_commands = ['ls']\n", encoding="utf-8")
    answer = run("--config", str(config), "list")
    assert answer.status == 2
    assert "plugins.kit.allowed_commands: expected no key: this plugin has no settings" in answer.err
