"""The file tools as a person configures them and a caller meets them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import pegboard_files.plugin
from pegboard import ConfigError, ErrorCode, load_board, open_host, thaw
from pegboard.testing import assert_error, assert_ok, record
from pegboard_files._checks import check_files
from pegboard_files._places import Files
from pegboard_files.plugin import FilesPlugin
from pegboard_files.settings import FilesSettings

READING = ("read_file", "list_directory", "search_files", "search_text")
WRITE = {"path": "output/a.txt", "content": "x", "create_dirs": True}
EDIT = {"path": "a.txt", "edits": [{"old_text": "one", "new_text": "two"}]}


@pytest.fixture
def here(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`root` as the working directory."""
    monkeypatch.chdir(root)
    (root / "a.txt").write_text("one\n")
    return root


async def test_with_nothing_configured_the_working_directory_is_read_only(here: Path, host_with: Any) -> None:
    files = record(await host_with(FilesPlugin()))
    assert_ok(await files.call("read_file", {"path": "a.txt"}), text="one\n")
    assert_ok(await files.call("read_file", {"path": str(here / "a.txt")}), text="one\n")
    assert_ok(await files.call("list_directory"))
    written = await files.call("write_file", WRITE)
    assert_error(written, ErrorCode.FORBIDDEN, reason="no_write", says="[tools.write_file]")
    assert_error(await files.call("edit_file", EDIT), ErrorCode.FORBIDDEN, reason="no_write", says="[tools.edit_file]")
    assert_ok(await files.call("edit_file", EDIT | {"dry_run": True}))
    assert_error(await files.call("read_file", {"path": "../outside/secret.txt"}), ErrorCode.FORBIDDEN)
    assert [one.name for one in here.iterdir()] == ["a.txt"]


async def test_allowed_paths_alone_switch_a_writing_tool_on(here: Path, host_with: Any) -> None:
    config = {"tools": {"write_file": {"allowed_paths": ["./output"], "denied_paths": ["output/keep"]}}}
    files = record(await host_with(FilesPlugin(), config=config))
    assert_ok(await files.call("write_file", WRITE), text="Written to output/a.txt")
    for path, reason in [
        ("a.txt", "not_allowed"),
        ("output2/a", "not_allowed"),
        ("output/keep", "denied"),
        ("output/keep/a", "denied"),
        ("output/../a.txt", "not_allowed"),
        ("/etc/passwd", "outside"),
    ]:
        result = await files.call("write_file", {"path": path, "content": "x", "create_dirs": True})
        assert_error(result, ErrorCode.FORBIDDEN, reason=reason)
    assert_error(await files.call("edit_file", EDIT), ErrorCode.FORBIDDEN, reason="no_write")
    assert sorted(one.name for one in here.rglob("*")) == ["a.txt", "a.txt", "output"]


async def test_each_tool_has_its_own_permissions(here: Path, open_files: Any, opening: str) -> None:
    (here / "private").mkdir()
    (here / "private" / "key").write_text("SECRET")
    (here / ".env").write_text("SECRET")
    tools = {"read_file": {"denied_paths": ["private", "**/.env"]}, "search_text": {"allowed_paths": []}}
    files = await open_files(tools=tools, opening=opening)
    for path in ("private/key", "private", "private/nothing", ".env", f"{here}/private/key"):
        result = await files.call("read_file", {"path": path})
        assert_error(result, ErrorCode.FORBIDDEN, reason="denied", says=repr(path)[:40])
    assert_ok(await files.call("list_directory", {"path": "private"}))
    assert_error(await files.call("search_text", {"pattern": "x"}), ErrorCode.FORBIDDEN, reason="not_allowed")


async def test_whether_a_file_is_there_is_not_told_where_nothing_is_allowed(here: Path, open_files: Any) -> None:
    (here / "closed").mkdir()
    (here / "closed" / "there").write_text("x")
    tools = {name: {"allowed_paths": ["open"]} for name in ("read_file", "write_file")}
    files = await open_files(tools=tools)
    for tool, more in [("read_file", {}), ("write_file", {"content": "x"})]:
        for path in ("closed/there", "closed/not_there", "no_folder/x", "a.txt/x"):
            result = await files.call(tool, {"path": path, **more})
            assert_error(result, ErrorCode.FORBIDDEN, reason="not_allowed")
    assert_error(await files.call("read_file", {"path": "open/x"}), ErrorCode.NOT_FOUND)


async def test_what_none_may_use_is_closed_to_every_tool(here: Path, open_files: Any) -> None:
    (here / "private").mkdir()
    (here / "private" / "key").write_text("SECRET")
    tools = {name: {"allowed_paths": ["."]} for name in (*READING, "write_file", "edit_file")}
    files = await open_files(tools=tools, denied_paths=["private"])
    for name, more in [
        ("read_file", {}),
        ("list_directory", {}),
        ("search_files", {}),
        ("search_text", {"pattern": "."}),
        ("write_file", {"content": "x"}),
        ("edit_file", {"edits": EDIT["edits"]}),
    ]:
        for path in ("private", "private/key", "private/nothing"):
            assert_error(await files.call(name, {"path": path, **more}), ErrorCode.FORBIDDEN, reason="denied")
    assert "SECRET" not in str(assert_ok(await files.call("search_text", {"pattern": "."})).to_json())


async def test_a_near_name_is_suggested_unless_it_is_denied(here: Path, open_files: Any, opening: str) -> None:
    (here / "sub").mkdir()
    (here / "sub" / "Today.md").write_text("x")
    (here / "sub" / "todoy.md").write_text("x")
    files = await open_files(opening=opening, denied_paths=["sub/todoy.md"])
    result = await files.call("read_file", {"path": "sub/todya.md"})
    assert_error(result, ErrorCode.NOT_FOUND, says="did you mean 'Today.md'?")
    assert result.error.details["suggestions"] == ["Today.md"]
    for path in ("sub/qqqq", "nothing/todya.md", "a.txt/x"):
        assert_error(await files.call("read_file", {"path": path}), ErrorCode.NOT_FOUND, says="list_directory shows")


async def test_a_name_that_is_not_text_is_judged_like_any_other(here: Path, open_files: Any) -> None:
    for name in (b"caf\xe9.pem", b"caf\xe9.txt", b"caf\xe9.log"):
        descriptor = os.open(os.fsencode(here) + b"/" + name, os.O_CREAT | os.O_WRONLY)
        os.write(descriptor, b"SECRET\n")
        os.close(descriptor)
    (here / ".gitignore").write_text("*.log\n")
    for ripgrep in ("rg", ""):
        files = await open_files(denied_paths=["**/*.pem"], ripgrep=ripgrep)
        found = assert_ok(await files.call("search_text", {"pattern": "SECRET"}))
        assert [match["path"] for match in found.data["matches"]] == ["caf\\xe9.txt"]
        named = assert_ok(await files.call("search_files", {"pattern": "caf*"}))
        assert [match["name"] for match in named.data["matches"]] == ["caf\\xe9.log", "caf\\xe9.txt"]


async def test_several_roots_are_reached_by_their_paths_and_the_first_by_relative_ones(
    here: Path, tmp_path: Path, host_with: Any
) -> None:
    second = tmp_path / "second"
    second.mkdir()
    (second / "b.txt").write_text("two\n")
    (tmp_path / "link").symlink_to(second)
    roots = [".", str(tmp_path / "link")]
    files = record(await host_with(FilesPlugin(), config={"plugins": {"files": {"roots": roots}}}))
    assert_ok(await files.call("read_file", {"path": "a.txt"}), text="one\n")
    for path in (f"{second}/b.txt", f"{tmp_path}/link/b.txt", f"{second}/../second/b.txt"):
        assert_ok(await files.call("read_file", {"path": path}), text="two\n")
    assert_error(await files.call("read_file", {"path": "b.txt"}), ErrorCode.NOT_FOUND)
    assert_error(await files.call("read_file", {"path": str(tmp_path / "outside")}), ErrorCode.FORBIDDEN)
    listed = assert_ok(await files.call("list_directory", {"path": str(second)}))
    assert [entry["path"] for entry in listed.data["entries"]] == ["b.txt"]


async def test_what_is_allowed_outside_of_the_roots_is_a_root_of_that_tool(
    here: Path, tmp_path: Path, open_files: Any, opening: str
) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "c.txt").write_text("three\n")
    (tmp_path / "single.txt").write_text("four\n")
    allowed = [".", str(tmp_path / "more"), str(tmp_path / "single.txt")]
    tools = {"read_file": {"allowed_paths": allowed, "denied_paths": ["/etc", "c.txt2"]}}
    files = await open_files(tools=tools, opening=opening)
    assert_ok(await files.call("read_file", {"path": "a.txt"}), text="one\n")
    assert_ok(await files.call("read_file", {"path": f"{tmp_path}/more/c.txt"}), text="three\n")
    assert_ok(await files.call("read_file", {"path": f"{tmp_path}/single.txt"}), text="four\n")
    assert_error(await files.call("read_file", {"path": f"{tmp_path}/outside/secret.txt"}), ErrorCode.FORBIDDEN)
    assert_error(await files.call("list_directory", {"path": f"{tmp_path}/more"}), ErrorCode.FORBIDDEN)


async def test_a_root_that_is_missing_is_found_once_it_is_there(tmp_path: Path, host_with: Any) -> None:
    later = tmp_path / "later"
    files = record(await host_with(FilesPlugin(), config={"plugins": {"files": {"roots": [str(later)]}}}))
    assert_error(await files.call("list_directory"), ErrorCode.NOT_FOUND)
    later.mkdir()
    assert_ok(await files.call("list_directory"), text="'.' holds 0 entries")


async def test_no_roots_are_no_files(host_with: Any) -> None:
    files = record(await host_with(FilesPlugin(), config={"plugins": {"files": {"roots": []}}}))
    for path in ("a", "/etc/passwd", "."):
        assert_error(await files.call("read_file", {"path": path}), ErrorCode.FORBIDDEN)


@pytest.mark.parametrize(
    "section",
    [
        {"plugins": {"files": {"roots": "."}}},
        {"plugins": {"files": {"max_text_bytes": 0}}},
        {"plugins": {"files": {"root": ["."]}}},
        {"tools": {"read_file": {"allowed_path": ["."]}}},
        {"tools": {"read_file": {"denied_paths": [1]}}},
    ],
)
async def test_what_is_misspelt_fails_at_load(section: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        async with open_host(section, [FilesPlugin()]) as host:
            assert host.tools


@pytest.mark.parametrize(
    ("own", "found", "is_refused"),
    [
        ({}, '[plugins.files]\nroots = ["/"]\n', True),
        ({}, '[tools.write_file]\nallowed_paths = ["."]\n', True),
        ({}, '[plugins.files]\nripgrep = "./rg"\n', True),
        ({}, '[tools.read_file]\ndenied_paths = ["x"]\n', False),
        ({"denied_paths": ["x", "y"]}, '[tools.read_file]\ndenied_paths = ["x"]\n', True),
    ],
)
def test_a_file_that_was_found_and_not_trusted_may_not_widen_what_the_tools_may_use(
    here: Path, tmp_path: Path, own: dict[str, Any], found: str, is_refused: bool
) -> None:
    (here / "pegboard.toml").write_text(found)
    home = tmp_path / "home"
    (home / ".config" / "pegboard").mkdir(parents=True)
    if own:
        (home / ".config" / "pegboard" / "pegboard.toml").write_text('[tools.read_file]\ndenied_paths = ["x", "y"]\n')
    environment = {"HOME": str(home), "PATH": os.defpath}
    ran = subprocess.run(
        [sys.executable, "-m", "pegboard", "--plugin", "files", "call", "read_file", "path=a.txt"],
        env=environment,
        capture_output=True,
        text=True,
        cwd=here,
    )
    assert (ran.returncode, "pegboard trust" in ran.stderr) == ((2, True) if is_refused else (0, False)), ran.stderr


async def test_the_tools_say_what_they_are(host_with: Any) -> None:
    host = await host_with(FilesPlugin())
    assert set(host.tools) == {*READING, "write_file", "edit_file"}
    for tool in host.tools.values():
        assert (tool.category, tool.annotations.open_world) == ("file", False)
        assert tool.read_only is (tool.name in READING)
        assert tool.annotations.destructive is (None if tool.read_only else True)
        assert tool.examples
        assert tool.output_schema is not None


async def test_the_examples_are_calls_that_answer(host_with: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[1])
    host = await host_with(FilesPlugin())
    for tool in host.tools.values():
        for example in tool.examples if tool.read_only else ():
            assert_ok(await host.session().call(tool.name, thaw(example.arguments)))


async def test_parameters_are_those_that_callers_know(host_with: Any) -> None:
    host = await host_with(FilesPlugin())
    schemas = {name: tool.input_schema for name, tool in host.tools.items()}
    defaults = {
        name: {key: value.get("default") for key, value in schema["properties"].items()}
        for name, schema in schemas.items()
    }
    assert defaults["read_file"] == {"path": None, "encoding": "utf-8", "offset": 0, "limit": None}
    assert defaults["write_file"] == {"path": None, "content": None, "create_dirs": False}
    assert defaults["list_directory"] == {"path": ".", "recursive": False}
    assert defaults["search_files"] == {"path": ".", "pattern": "*"}
    assert defaults["edit_file"] == {"path": None, "edits": None, "dry_run": False, "encoding": "utf-8"}
    assert schemas["search_text"]["required"] == ["pattern"]


async def test_nothing_is_left_open(root: Path) -> None:
    (root / "a.txt").write_text("one\n")
    os.mkfifo(root / "pipe")
    calls = [
        ("read_file", {"path": "a.txt"}),
        ("read_file", {"path": "pipe"}),
        ("read_file", {"path": "nothing"}),
        ("read_file", {"path": "."}),
        ("read_file", {"path": "denied/x"}),
        ("list_directory", {"recursive": True}),
        ("list_directory", {"path": "a.txt"}),
        ("search_files", {"pattern": "*"}),
        ("search_text", {"pattern": "one"}),
        ("search_text", {"pattern": "one", "path": "a.txt"}),
        ("search_text", {"pattern": "("}),
        ("write_file", {"path": "b/c.txt", "content": "x", "create_dirs": True}),
        ("write_file", {"path": "no/c.txt", "content": "x"}),
        ("write_file", {"path": "a.txt/c.txt", "content": "x"}),
        ("edit_file", EDIT),
        ("edit_file", EDIT),
        ("edit_file", {**EDIT, "path": "pipe"}),
    ]

    def count() -> tuple[int, int, int]:
        ours = [thread for thread in threading.enumerate() if not thread.name.startswith("Trio thread")]
        children = [one.read_text().split() for one in Path("/proc/self/task").glob("*/children")]
        return len(os.listdir("/dev/fd")), len(ours), sum(map(len, children))

    for opening in ("walk", None):
        before = count()
        tools = {"read_file": {"denied_paths": ["denied"]}}
        config = {"plugins": {"files": {"roots": [str(root)]}}, "tools": tools}
        async with open_host(config, [FilesPlugin(opening)]) as host:
            session = host.session()
            for name, arguments in calls:
                await session.call(name, arguments)
            open_now = count()
            for name, arguments in calls * 3:
                await session.call(name, arguments)
            assert count() == open_now
        assert count() == before


async def test_a_thread_that_hangs_does_not_hold_the_host_for_ever(
    root: Path, fake_clock: Any, caplog: pytest.LogCaptureFixture
) -> None:
    files = Files(FilesSettings(roots=(str(root),)))
    files.roots[0].fd()
    await files._limiter.acquire_on_behalf_of("a thread that hangs")
    await files.close()
    assert "stay open" in caplog.text
    assert files.roots[0].fd() >= 0
    files.roots[0].close()


async def test_no_error_names_a_path_of_the_host(here: Path, open_files: Any) -> None:
    (here / "link").symlink_to("/etc/passwd")
    (here / "folder").mkdir()
    files = await open_files(tools={"read_file": {"denied_paths": ["folder"]}})
    for path in ("link", "nothing", "folder/x", "../up", "a.txt/x", "x" * 300, "/elsewhere"):
        for tool, more in [
            ("read_file", {}),
            ("write_file", {"content": "x"}),
            ("list_directory", {}),
            ("edit_file", EDIT),
        ]:
            result = await files.call(tool, {**more, "path": path})
            if result.error is not None:
                assert str(here.parent) not in str(result.to_json())
                assert "/etc" not in str(result.to_json())


@pytest.fixture
def closed(here: Path) -> Path:
    """A folder with a file and a folder that an ordinary account may not open, and a file that it may not write."""
    (here / "closed").write_text("x")
    (here / "closed").chmod(0o000)
    (here / "fixed").write_text("x")
    (here / "fixed").chmod(0o444)
    (here / "folder").mkdir(mode=0o000)
    if os.access(here / "closed", os.R_OK):
        pytest.skip("this account may open everything")
    return here


async def test_what_the_account_may_not_open_is_said(closed: Path, open_files: Any, opening: str) -> None:
    files = await open_files(opening=opening)
    for tool, arguments in [
        ("read_file", {"path": "closed"}),
        ("read_file", {"path": "folder/x"}),
        ("list_directory", {"path": "folder"}),
        ("write_file", {"path": "fixed", "content": "y"}),
        ("write_file", {"path": "folder/x", "content": "y"}),
        ("edit_file", {**EDIT, "path": "fixed"}),
    ]:
        assert_error(await files.call(tool, arguments), ErrorCode.FORBIDDEN, reason="permission")
    assert_ok(await files.call("list_directory", {"recursive": True}))
    assert assert_ok(await files.call("search_text", {"pattern": "x"})).data["matches"] != []
    (closed / "folder").chmod(0o700)


# -- doctor


def findings(**settings: Any) -> list[str]:
    return [finding.what for finding in check_files(FilesSettings(**settings))]


def test_doctor_is_content_where_nothing_is_wrong(here: Path) -> None:
    assert findings() == []


def test_doctor_names_roots_that_are_missing_or_hold_a_home(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "outside"))
    assert findings(roots=(str(tmp_path / "nothing"),)) == ["a root cannot be opened"]
    assert "a root holds your whole home" in findings(roots=(str(tmp_path),))
    assert "a root holds your whole home" in findings(roots=("~",))
    assert "a root holds your whole home" not in findings(roots=(str(here),))


def test_doctor_says_where_openat2_is_missing(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert findings(roots=(".",)) == ["files are opened name by name"]
    assert findings() == []


def test_there_are_no_tools_where_folders_cannot_be_held_open(monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = FilesPlugin()
    monkeypatch.setattr(os, "name", "nt")
    tools, resources, checks = plugin.provide_tools(), plugin.open_resources(FilesSettings()), findings()
    monkeypatch.undo()
    assert (list(tools), resources, checks) == ([], None, ["no file tools"])


# -- the module


async def test_the_module_is_the_plugin(here: Path, host_with: Any) -> None:
    host = await host_with(pegboard_files.plugin)
    assert_ok(await host.session().call("read_file", {"path": "a.txt"}), text="one\n")
    assert not [one for one in load_board({}, [pegboard_files.plugin]).findings() if "a check failed" in one.what]


def test_listing_the_tools_imports_nothing_that_opens_files() -> None:
    program = (
        "import sys, pegboard_files.plugin as plugin; tools = plugin.provide_tools(); "
        "heavy = {'trio', 're2', 'pathspec', 'ctypes', 'difflib', 'subprocess', 'pegboard_files._places'}; "
        "print(len(tools), sorted(heavy & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.split(maxsplit=1) == ["6", "[]\n"]


README = Path(__file__).parents[1] / "README.md"


def test_the_readme_shows_what_the_program_answers(here: Path, tmp_path: Path) -> None:
    """Each `$ pegboard ...` of the README is run in a folder with its configuration, and prints what is shown."""
    text = README.read_text(encoding="utf-8")
    (toml,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    (here / "pegboard.toml").write_text(toml)
    (here / "notes").mkdir()
    (here / "notes" / "today.md").write_text("# Today\n- buy milk\n- call Ada\n")
    environment = {"HOME": str(tmp_path), "PATH": os.defpath, "XDG_STATE_HOME": str(tmp_path / "state")}
    shown = re.findall(r"^    \$ pegboard (.*)\n((?:(?:    (?!\$).*)?\n(?=\n|    ))*)", text, re.MULTILINE)
    assert len(shown) >= 4
    for command, printed in shown:
        ran = subprocess.run(
            f'"{sys.executable}" -m pegboard --config pegboard.toml --plugin files {command}',
            shell=True,
            cwd=here,
            env=environment,
            capture_output=True,
            text=True,
        )
        wanted = "\n".join(line[4:] for line in printed.splitlines()).strip()
        assert (ran.stdout + ran.stderr).strip() == wanted, command


BAD_PATHS = [
    "nothing", "a.txt/x", "sub/nothing", "../outside/secret.txt", "/etc/shadow", "to_outside", "to_secret", "loop",
    "dangling", "pipe", ".env", "private/key", "linked", "x" * 300, "a\0b", "sub/../..", "", "~/x", "other/../../x",
    "/", "sub", "a.txt", "to_root/nothing", "to_root/../x",
]  # fmt: skip


async def test_an_error_names_no_path_but_those_that_were_said(here: Path, open_files: Any, opening: str) -> None:
    """Whatever fails, and for whatever reason, the answer tells nothing of where things lie on the host."""
    outside = here.parent / "outside"
    for name in ("sub", "private"):
        (here / name).mkdir(exist_ok=True)
    for name in (".env", "private/key"):
        (here / name).write_text("SECRET")
    for name, target in {
        "to_outside": outside, "to_secret": outside / "secret.txt", "loop": here / "loop", "dangling": here / "gone",
        "to_root": here,
    }.items():  # fmt: skip
        (here / name).symlink_to(target)
    os.mkfifo(here / "pipe")
    (here / "linked").hardlink_to(here / "private" / "key")
    files = await open_files(opening=opening, denied_paths=["private"])
    calls: dict[str, dict[str, Any]] = {
        "read_file": {}, "write_file": {"content": "x"}, "edit_file": {"edits": [{"old_text": "no", "new_text": "x"}]},
        "list_directory": {}, "search_files": {"pattern": "["}, "search_text": {"pattern": "x", "glob": "{"},
    }  # fmt: skip
    errors = 0
    for path in BAD_PATHS:
        for name, more in calls.items():
            error = (await files.call(name, {"path": path, **more})).error
            if error is not None:
                errors += 1
                said = f"{error.message} {thaw(error.details)}"
                assert str(here.parent) not in said, (name, path)
                assert not [one for one in re.findall(r"(?<![\w.])/[\w./-]+", said) if one not in path], (
                    name,
                    path,
                    said,
                )
    assert errors > 3 * len(BAD_PATHS)
