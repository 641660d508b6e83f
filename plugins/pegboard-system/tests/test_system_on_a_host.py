"""The tools as a caller and an owner of a host meet them."""

from __future__ import annotations

import json
import os
import pwd
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pegboard_system.plugin
from pegboard import ConfigError, load_board, open_host, thaw
from pegboard.testing import assert_error, assert_ok, record
from pegboard_confine import bubblewrap
from pegboard_confine.bubblewrap import mounts
from pegboard_system import _facts, _isolation
from pegboard_system._isolation import Found, can_hide, probe
from pegboard_system._judge import Policy
from pegboard_system._schema import SystemFacts
from pegboard_system.plugin import SystemPlugin

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
STRONG = set(probe().levels) & {"bubblewrap", "landlock"}
needs_isolation = pytest.mark.skipif(not STRONG, reason="neither bubblewrap nor Landlock works here")


def permissions(**said: Any) -> dict[str, Any]:
    return {"tools": {"execute_command": said}}


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "notes.txt").write_text("buy milk\nTODO call Ada\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


async def call(name: str, arguments: dict[str, Any] | None = None, config: Any = None, plugin: Any = None) -> Any:
    async with open_host(config or {}, plugins=[plugin or pegboard_system.plugin]) as host:
        return await host.session().call(name, arguments or {})


@pytest.mark.parametrize("message", ["hello", "", "a\nb", "${HOME} $(id) ü"])
async def test_echo_answers_the_message(message: str) -> None:
    assert_ok(await call("echo", {"message": message}), text=f"Echo: {message}", data={"message": message})


async def test_echo_needs_no_message() -> None:
    assert_ok(await call("echo"), text="Echo: ", data={"message": ""})


async def test_system_info_tells_what_the_host_is_and_no_more(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USER", "somebody-else")
    result = assert_ok(await call("system_info"))
    assert tuple(result.data) == tuple(SystemFacts.__annotations__)
    assert result.data["cwd"] == str(work)
    assert result.data["user"] == pwd.getpwuid(os.geteuid()).pw_name
    assert result.data["python_version"] == ".".join(map(str, sys.version_info[:3]))
    assert result.data["system"] == os.uname().sysname
    assert os.uname().nodename not in json.dumps({key: result.data[key] for key in ("platform", "release", "machine")})
    assert f"cwd: {work}" in result.text


def test_system_info_answers_where_little_is_known(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_facts, "_processor", lambda: "")
    monkeypatch.setattr(_facts.platform, "libc_ver", lambda: ("", ""))
    monkeypatch.setattr(pwd, "getpwuid", lambda _: {}["nobody"])
    folder = work / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    facts = _facts.system_facts()
    assert tuple(facts) == tuple(SystemFacts.__annotations__)
    assert facts["cwd"] == ""
    assert facts["user"] == str(os.geteuid())
    assert facts["processor"] == facts["machine"]
    assert "with" not in facts["platform"]


async def test_without_allowed_commands_the_tool_is_not_on_the_board() -> None:
    result = assert_error(await call("execute_command", {"command": "ls"}), "NOT_FOUND")
    assert "execute_command" in result.error.message


def test_doctor_says_why_no_command_may_run() -> None:
    findings = load_board({}, plugins=[pegboard_system.plugin]).findings()
    [found] = [finding for finding in findings if finding.where.startswith("tool execute_command")]
    assert (found.what, found.severity) == ("a tool is disabled", "note")
    assert "allowed_commands" in found.fix


def test_doctor_names_what_is_allowed_and_will_be_refused(work: Path) -> None:
    config = permissions(
        allowed_commands=["cat", "sh", "no-such-program"], allowed_paths=["./missing"], least_level="rlimits"
    )
    board = load_board(config, plugins=[SystemPlugin(("rlimits",))])
    what = [finding.what for finding in board.findings() if "execute_command" in finding.where]
    assert what == [
        "commands are not isolated", "an allowed command is refused", "an allowed command is not there",
        "a path is not there",
    ]  # fmt: skip


def test_doctor_says_that_no_isolation_is_strong_enough() -> None:
    board = load_board(permissions(allowed_commands=["cat"]), plugins=[SystemPlugin(("rlimits",))])
    [found] = [finding for finding in board.findings() if finding.severity == "error"]
    assert found.what == "no isolation is strong enough"
    assert "bubblewrap" in found.fix


async def test_below_the_least_level_nothing_runs_and_the_answer_says_what_to_install(work: Path) -> None:
    config = permissions(allowed_commands=["cat"])
    result = await call("execute_command", {"command": "cat notes.txt"}, config, SystemPlugin(("rlimits",)))
    assert_error(result, "FORBIDDEN", reason="level", says="install bubblewrap")
    assert result.error.details["least_level"] == "landlock"
    lower = permissions(allowed_commands=["cat"], least_level="rlimits")
    result = await call("execute_command", {"command": "cat notes.txt"}, lower, SystemPlugin(("rlimits",)))
    assert assert_ok(result).data["level"] == "rlimits"


async def test_where_bubblewrap_is_there_and_may_not_start_it_is_said_how_it_may(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a container, or on a system that gives user namespaces to nobody, there is nothing to install."""
    monkeypatch.setattr(_isolation, "probe_bubblewrap", lambda: ((), "bwrap: setting up uid map: Permission denied"))
    monkeypatch.setattr("pegboard_confine.bubblewrap.find_system_program", lambda name: f"/usr/bin/{name}")
    config, plugin = permissions(allowed_commands=["cat"], least_level="bubblewrap"), SystemPlugin(("bubblewrap",))
    result = await call("execute_command", {"command": "cat notes.txt"}, config, plugin)
    assert_error(result, "FORBIDDEN", reason="level", says="let user namespaces be made here")
    [found] = [one for one in load_board(config, plugins=[plugin]).findings() if one.severity == "error"]
    assert found.fix.startswith("let user namespaces be made here")
    assert "install" not in f"{result.error.message}{found.fix}"


@pytest.mark.skipif("landlock" not in STRONG, reason="Landlock does not work here")
async def test_landlock_is_not_taken_where_it_cannot_keep_what_is_denied(work: Path) -> None:
    config = permissions(allowed_commands=["cat"], denied_paths=["./private"])
    plugin = SystemPlugin(("landlock",))
    result = await call("execute_command", {"command": "cat notes.txt"}, config, plugin)
    assert_error(result, "FORBIDDEN", reason="level", says="install bubblewrap")
    findings = load_board(config, plugins=[plugin]).findings()
    assert "denied paths cannot be kept from commands" in [finding.what for finding in findings]


@needs_isolation
async def test_an_allowed_command_answers_its_code_and_output(work: Path) -> None:
    config = permissions(allowed_commands=["cat", "grep"])
    async with open_host(config, plugins=[pegboard_system.plugin]) as host:
        session = host.session()
        shown = assert_ok(await session.call("execute_command", {"command": "grep -n 'TODO' notes.txt"}))
        assert shown.text == "2:TODO call Ada"
        assert set(shown.data) == {"exit_code", "stdout", "stderr", "truncated", "level", "encoding"}
        assert (shown.data["exit_code"], shown.data["truncated"]) == (0, False)
        listed = assert_ok(await session.call("execute_command", {"command": ["grep", "-c", "a b|c", "notes.txt"]}))
        assert listed.data["exit_code"] == 1
        assert listed.text == "0\n[exit code 1]"
        failed = assert_ok(await session.call("execute_command", {"command": "cat nothing"}))
        assert "[stderr]" in failed.text
        assert failed.data["exit_code"] == 1
        silent = assert_ok(await session.call("execute_command", {"command": "cat /dev/null"}))
        assert silent.text == "[exit code 0]"


@needs_isolation
@pytest.mark.parametrize("level", sorted(STRONG))
@pytest.mark.parametrize("command", ["chmod 4755 notes.txt", "install -m 6755 notes.txt program", "mkdir -m 700 made"])
async def test_a_command_leaves_no_program_with_the_rights_of_its_user(work: Path, level: str, command: str) -> None:
    """Attack: a file with the bit of setuid, which anybody may run as the user of the host: root, where that is."""
    config = permissions(
        allowed_commands=["chmod", "install", "mkdir"], writable_paths=["."], denied_commands=[], least_level="landlock"
    )
    assert_ok(await call("execute_command", {"command": command}, config, SystemPlugin((level,))))
    assert [one.name for one in work.rglob("*") if one.stat().st_mode & 0o6000] == []
    assert (work / "made").exists() == command.startswith("mkdir")


@needs_isolation
async def test_the_tools_own_deadline_bounds_the_timeout_that_a_caller_asks_for(work: Path) -> None:
    config = permissions(allowed_commands=["sleep"], timeout_s=1.4)
    result = await call("execute_command", {"command": "sleep 60", "timeout": 50}, config)
    assert_error(result, "TIMEOUT")
    assert 0.5 < result.error.details["timeout_s"] < 1.1
    assert result.error.details["level"] in STRONG


@pytest.mark.parametrize("command", ["ls | wc", "A=1 ls", "ls > x", "", [], [""], 7, {"a": 1}])
async def test_what_is_not_a_plain_command_is_invalid_input(command: Any) -> None:
    result = await call("execute_command", {"command": command}, permissions(allowed_commands=["ls"]))
    assert_error(result, "INVALID_INPUT")


@pytest.mark.parametrize("timeout", [0, -1, 4000, "soon"])
async def test_a_timeout_that_is_none_is_invalid_input(timeout: Any) -> None:
    arguments = {"command": "ls", "timeout": timeout}
    assert_error(await call("execute_command", arguments, permissions(allowed_commands=["ls"])), "INVALID_INPUT")


async def test_read_only_mode_refuses_commands_and_nothing_else() -> None:
    config = {"read_only": True, **permissions(allowed_commands=["ls"])}
    async with open_host(config, plugins=[pegboard_system.plugin]) as host:
        tool = host.tools["execute_command"]
        assert (tool.annotations.risk, tool.annotations.destructive, tool.annotations.open_world) == (
            "high",
            True,
            True,
        )
        session = host.session()
        assert_error(await session.call("execute_command", {"command": "ls"}), "FORBIDDEN", reason="read_only")
        assert_ok(await session.call("echo"))
        assert_ok(await session.call("system_info"))


@pytest.mark.parametrize(
    "said",
    [
        {"allowed_commands": ["*"]}, {"allowed_commands": [""]}, {"allowed_commands": ["ls | cat"]},
        {"allowed_commands": "ls"},
        {"denied_commands": [" "]}, {"allowed_paths": [""]}, {"writable_paths": ["/"]}, {"writable_paths": ["//"]},
        {"least_level": "none"}, {"environment": ["LD_PRELOAD"]}, {"environment": ["A-B"]}, {"max_cpu_s": 0},
        {"max_output_bytes": "1"}, {"network": "yes"}, {"allowed_comands": ["ls"]},
    ],
)  # fmt: skip
def test_permissions_that_mean_nothing_are_refused_when_the_board_is_loaded(said: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="execute_command"):
        load_board(permissions(**said), plugins=[pegboard_system.plugin])


def test_a_file_that_was_found_and_not_trusted_may_not_widen_what_commands_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    monkeypatch.setenv("HOME", str(tmp_path / "none"))
    monkeypatch.chdir(tmp_path)
    widening = (
        'allowed_commands = ["ls"]', 'unjudged_commands = ["sh"]', 'allowed_paths = ["/"]', 'writable_paths = ["."]',
        'least_level = "rlimits"', "network = true", 'environment = ["TOKEN"]', "max_memory_bytes = 9000000000",
    )  # fmt: skip
    for line in widening:
        (tmp_path / "pegboard.toml").write_text(f"[tools.execute_command]\n{line}\n")
        with pytest.raises(ConfigError, match="trust"):
            load_board(plugins=["system"])
    for line in ('denied_commands = ["ls"]', 'denied_paths = ["/etc"]', 'least_level = "bubblewrap"', "max_cpu_s = 5"):
        (tmp_path / "pegboard.toml").write_text(f"[tools.execute_command]\n{line}\n")
        assert load_board(plugins=["system"]).tools


async def test_a_person_is_asked_where_the_configuration_says_so(work: Path) -> None:
    config = permissions(allowed_commands=["cat"], requires_confirmation=True)
    async with open_host(config, plugins=[pegboard_system.plugin]) as host:
        recorded = record(host, answers=[False])
        result = await recorded.call("execute_command", {"command": "cat notes.txt"})
        assert_error(result, "FORBIDDEN", reason="confirmation")
        assert thaw(recorded.asked[0].arguments) == {"command": "cat notes.txt"}
        assert_error(await recorded.call("execute_command", {"command": "cat ../x"}), "FORBIDDEN", reason="path")
        assert len(recorded.asked) == 1  # nobody is asked about what would be refused


@needs_isolation
async def test_a_guard_that_only_observes_lets_nothing_through(work: Path) -> None:
    config = {"observe": ["command"], **permissions(allowed_commands=["cat"])}
    assert_error(await call("execute_command", {"command": "cat ../x"}, config), "FORBIDDEN", reason="path")


# isolations, as they are found -----------------------------------------------------------------------------------


@needs_isolation
async def test_an_error_names_no_path_but_those_that_were_said(work: Path) -> None:
    """Whatever is refused, and for whatever reason, the answer tells nothing of where things lie on the host."""
    (work / "sub").mkdir()
    (work / "no").mkdir()
    (work / "sub" / "out").symlink_to("/etc")
    (work / "here").symlink_to(work / "sub")
    os.mkfifo(work / "fifo")
    config = permissions(
        allowed_commands=["cat", "tar", "git", "/opt/nowhere/tool", "cp"], denied_paths=["./no"],
        allowed_paths=["."], least_level="bubblewrap" if "bubblewrap" in STRONG else "rlimits",
    )  # fmt: skip
    said = [
        "cat ../x", "cat sub/out/passwd", "cat here/../../x", "cat fifo", "cat no", "cat no/x", "tar -xf a -C ..",
        "tar -xf a", "tar -cf ../a .", "cp fifo x", "cp /etc/passwd x", "git -C .. log", "tool", "./tool",
        "../bin/cat x", "git diff ../x", "/opt/nowhere/tool", "nothing", "cat /dev/zero", "cat /proc/self/environ",
        "cat sub/../../x",
    ]  # fmt: skip
    async with open_host(config, plugins=[pegboard_system.plugin]) as host:
        for command in said:
            error = (await host.session().call("execute_command", {"command": command})).error
            assert error is not None, command
            shown = json.dumps([error.message, thaw(error.details)])
            for path in re.findall(r"/[\w./-]+", shown):
                assert path in command or path in str(config), (command, shown)
            assert str(work) not in shown
            assert str(work.parent) not in shown


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bubblewrap, "find_system_program", lambda name: None)
    monkeypatch.setattr("pegboard_confine.kernel.abi_version", lambda: 2)
    found = probe()
    assert found.levels == ("rlimits",)
    assert found.why["bubblewrap"] == "bubblewrap is not installed"
    assert "Linux 6.2" in found.why["landlock"]
    assert found.best("rlimits") == "rlimits"
    assert found.best("landlock") is None


def test_a_bubblewrap_that_a_container_refuses_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refusing = tmp_path / "bwrap"
    refusing.write_text("#!/bin/sh\necho 'No permissions to create a new namespace' >&2\nexit 1\n")
    refusing.chmod(0o755)
    monkeypatch.setattr(bubblewrap, "find_system_program", lambda name: str(refusing))
    assert "No permissions" in probe(("bubblewrap",)).why["bubblewrap"]
    refusing.write_text("no program")
    refusing.chmod(0o644)
    assert "does not start" in probe(("bubblewrap",)).why["bubblewrap"]


def test_an_old_bubblewrap_is_taken_without_what_it_does_not_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "bwrap"
    old.write_text('#!/bin/sh\ncase "$*" in *--disable-userns*) exit 1;; esac\n')
    old.chmod(0o755)
    monkeypatch.setattr(bubblewrap, "find_system_program", lambda name: str(old))
    assert probe(("bubblewrap",)).bwrap == (str(old), "--unshare-user")


def test_without_an_interpreter_there_is_no_isolation_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "")
    assert probe() == Found((), why=dict.fromkeys(("rlimits", "landlock", "bubblewrap"), probe().why["rlimits"]))


def test_inner_folders_lie_over_outer_ones_and_everything_ends_read_only(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "file").touch()
    hidden = [str(tmp_path / "kept"), str(tmp_path / "file"), "/nowhere/else"]
    words = mounts([str(tmp_path)], ["/srv/out"], hidden, network=True, programs=["/opt/x/tool", "/usr/bin/ls"])
    assert words.index("/usr") < words.index(str(tmp_path)) < words.index(str(tmp_path / "kept"))
    assert words[words.index("/srv/out") - 1] == "--bind-try"
    assert words[words.index(str(tmp_path)) - 1] == "--ro-bind-try"
    assert "/opt/x/tool" in words
    assert "/usr/bin/ls" not in words  # it is in /usr already
    assert "/nowhere/else" not in words
    assert "/etc/resolv.conf" in words
    assert words[-2:] == ["--remount-ro", "/"]
    whole = mounts(["/"], [], [], network=False)
    assert whole[:3] == ["--ro-bind-try", "/", "/"]
    assert "/usr" not in whole


def test_only_landlock_cannot_hide_a_part() -> None:
    policy = Policy(allowed=(), readable=("/srv",), hidden=("/srv/kept",))
    assert [can_hide(level, policy) for level in ("rlimits", "landlock", "bubblewrap")] == [True, False, True]
    assert can_hide("landlock", Policy(allowed=(), readable=("/srv",), hidden=("/etc",)))


def test_the_working_directory_is_what_is_allowed(work: Path) -> None:
    from pegboard_system._permissions import CommandPermissions

    here = os.path.realpath(work)
    (work / "sub").mkdir()
    assert CommandPermissions().policy().readable == (here,)
    assert CommandPermissions().policy().cwd == here
    assert CommandPermissions(allowed_paths=("./sub",)).policy().cwd == os.path.join(here, "sub")
    assert CommandPermissions(allowed_paths=("./notes.txt",)).policy().cwd == "/"


def test_all_of_the_system_is_shown_only_to_who_says_so(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pegboard_system._permissions import CommandPermissions

    (work / "root").symlink_to("/")
    assert CommandPermissions(writable_paths=("./root",)).policy().writable == ()
    monkeypatch.chdir("/")
    assert CommandPermissions().policy().readable == ()
    assert CommandPermissions(allowed_paths=("/",)).policy().readable == ("/",)


# promises of the package -----------------------------------------------------------------------------------------


def test_loading_the_plugin_is_light() -> None:
    code = (
        "import sys; from pegboard.registry import board; before = set(sys.modules);"
        "import pegboard_system.plugin as p; p.provide_tools();"
        "print(*sorted(set(sys.modules) - before))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    loaded = set(ran.stdout.split())
    assert not loaded & {"trio", "ctypes", "subprocess", "unicodedata", "pegboard_system._rules", "tempfile", "shutil"}


async def test_the_examples_fit_and_those_that_only_read_answer_as_they_say() -> None:
    async with open_host({}, plugins=[pegboard_system.plugin]) as host:
        session = host.session()
        for tool in host.tools.values():
            for example in tool.examples:
                assert session.check(tool.name, thaw(example.arguments)).ok
                if tool.read_only:
                    result = assert_ok(await session.call(tool.name, thaw(example.arguments)))
                    assert example.text in (None, result.text)


@needs_isolation
async def test_the_readme_shows_what_calls_answer(work: Path) -> None:
    config = permissions(allowed_commands=["cat", "grep", "head"])
    shown = re.findall(r"    \$ pegboard call (\w+) (\w+)=(.+)\n    (.+)\n", README)
    assert len(shown) >= 4
    async with open_host(config, plugins=[pegboard_system.plugin]) as host:
        for name, key, value, line in shown:
            result = await host.session().call(name, {key: value.strip("\"'")})
            assert result.text.splitlines()[0] == line, (value, result.text)


def test_the_readme_names_every_permission() -> None:
    import attrs

    from pegboard_system._permissions import CommandPermissions

    for field in attrs.fields(CommandPermissions):
        assert f"`{field.name}`" in README, field.name
