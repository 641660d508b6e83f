"""What a file that was discovered but not trusted may not say, until somebody accepted it as it stands."""

from __future__ import annotations

import copy
import json
import os
import stat
from collections.abc import Mapping
from typing import Any

import attrs
import hypothesis
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pegboard.config import Config, ValueOrigin, is_held, is_trusted, load_config, setting, trust
from pegboard.config._layers import Layer, Tree
from pegboard.config._trust import MAX_LISTED, MAX_NAMED, MAX_READ
from pegboard.errors import ConfigError
from pegboard.tools import Limits


@attrs.frozen
class Server:
    command: str | None = setting(None, widens=True)
    args: list[str] = setting(factory=list, widens=True)
    prefix: str = setting("")


@attrs.frozen
class Settings:
    servers: Mapping[str, Server] = setting(factory=dict)
    url: str = setting("sqlite://", widens=lambda value, otherwise: "@" in value)
    more: list[Server] = setting(factory=list)
    roots: list[str] = setting(factory=lambda: ["."], widens=True)


@attrs.frozen
class Permissions:
    allowed: tuple[str, ...] = setting((), widens=True)
    denied: tuple[str, ...] = setting(())


@pytest.fixture
def project(tmp_path):
    """Write the found file, and perhaps the user's own; load what holds."""
    (tmp_path / "user").mkdir()
    (tmp_path / "project").mkdir()

    def project(found: str, own: str = "", environ: dict[str, str] | None = None, **more: Any):
        (tmp_path / "project" / "pegboard.toml").write_text(found)
        (tmp_path / "user" / "pegboard.toml").write_text(own)
        return load_config(
            cwd=tmp_path / "project",
            user_dir=tmp_path / "user",
            state_dir=tmp_path / "state",
            environ=environ or {},
            **more,
        )

    return project


def widened(act) -> set[str]:
    with pytest.raises(ConfigError) as caught:
        act()
    assert "pegboard trust" in (caught.value.hint or "")
    return {fault.where for fault in caught.value.faults}


@pytest.mark.parametrize(
    ("found", "own", "expected"),
    [
        ("observe = ['access']", "", {"observe"}),
        ("without = ['access']", "", {"without"}),
        ("read_only = false", "read_only = true", {"read_only"}),
        ("strict = false", "strict = true", {"strict"}),
        ("user_id = 'eve'", "user_id = 'ada'", {"user_id"}),
        ("profile = 'b'\n[profiles.b]", "profile = 'a'\n[profiles.a]", {"profile"}),
        ("[profiles.a]", "[profiles.a]\nread_only = true", set()),
        ("[profiles.a]\nread_only = false", "[profiles.a]\nread_only = true", {"profiles.a.read_only"}),
        ("[profiles.a]\ntags = ['x', 'y']", "[profiles.a]\ntags = ['x']", {"profiles.a.tags"}),
        ("profile = 'p'\n[profiles.p]\nuser_id = 'eve'", "user_id = 'ada'", {"profiles.p.user_id"}),
        ("profile = 'p'", "[profiles.p]\nuser_id = 'ada'", {"profile"}),
        ("[profiles.a]\ntags = ['x']", "[profiles.a]\ntools = ['t']", {"profiles.a.tags"}),
        ("[profiles.a]\nwithout = ['x']", "[profiles.a]\nwithout = ['x', 'y']", {"profiles.a.without"}),
        ("[profiles.a]\nrate_limit = '60/minute'", "[profiles.a]\nrate_limit = '1/s'", {"profiles.a.rate_limit"}),
        ("[profiles.a]\nrequires_confirmation = 'Well?'", "", {"profiles.a.requires_confirmation"}),
        ("timeout_s = 60", "", {"timeout_s"}),
        ("timeout_s = 20", "timeout_s = 10", {"timeout_s"}),
        ("max_result_bytes = 2", "max_result_bytes = 1", {"max_result_bytes"}),
        ("validator = 'a'", "validator = 'b'", {"validator"}),
        ("[tools.x]\nrate_limit = '100/minute'", "[tools.x]\nrate_limit = '1/minute'", {"tools.x.rate_limit"}),
        ("[tools.x]\nrate_limit = '1440/day'", "[tools.x]\nrate_limit = '1/minute'", {"tools.x.rate_limit"}),
        ("[tools.x]\ncooldown_s = 1", "[tools.x]\ncooldown_s = 60", {"tools.x.cooldown_s"}),
        ("[tools.x]\ncooldown_s = 0", "[tools.x]\ncooldown_s = 60", {"tools.x.cooldown_s"}),
        ("[tools.x]\nconcurrency = 9", "[tools.x]\nconcurrency = 1", {"tools.x.concurrency"}),
        ("[tools.x]\ntimeout_s = 9", "[tools.x]\ntimeout_s = 1", {"tools.x.timeout_s"}),
        ("[tools.x]\nmax_result_bytes = 9", "[tools.x]\nmax_result_bytes = 1", {"tools.x.max_result_bytes"}),
        ("[tools.x]\nfrom = 'a'", "[tools.x]\nfrom = 'b'", {"tools.x.from"}),
        ("[tools.x]\nrequires_confirmation = 'Ok?'", "", {"tools.x.requires_confirmation"}),
        (
            "[tools.x]\nrequires_confirmation = true",
            "[tools.x]\nrequires_confirmation = 'Delete all?'",
            {"tools.x.requires_confirmation"},
        ),
        ("[tools.x]\nenabled = true", "[tools.x]\nenabled = false", {"tools.x.enabled"}),
        ("[tools.x]\nexecutor = 'bare'", "", {"tools.x.executor"}),
        ("[tools.x]\nrequires_user = false", "", {"tools.x.requires_user"}),
        ("[tools.x]\nrequires_confirmation = false", "", {"tools.x.requires_confirmation"}),
        ("[tools.x]\nrequires_confirmation = ''", "", {"tools.x.requires_confirmation"}),
    ],
)
def test_a_found_file_may_not_let_go_of_what_holds(project, found, own, expected):
    if expected:
        assert widened(lambda: project(found, own)) == expected
    else:
        project(found, own)


@pytest.mark.parametrize(
    ("found", "own"),
    [
        ("read_only = true", ""),
        ("read_only = false\ntimeout_s = 5", ""),
        ("user_id = 'ada'", ""),
        ("observe = ['access']", "observe = ['access']"),
        ("profile = 'b'\n[profiles.b]", ""),
        ("[tools.x]\nenabled = false\ntimeout_s = 3", ""),
        ("[tools.x]\nenabled = true", ""),
        ("[tools.x]\nrequires_confirmation = true", ""),
        ("observe = []", "observe = ['access']"),
        ("timeout_s = 5\nkept_results_s = 3", "timeout_s = 10"),
        ("[tools.x]\nrate_limit = '1/hour'\ncooldown_s = 90", "[tools.x]\nrate_limit = '1/minute'\ncooldown_s = 60"),
        ("[tools.x]\ncooldown_s = 5", "[tools.x]\ncooldown_s = 0"),
        ("[profiles.a]\nwithout = ['x', 'y']\nread_only = true", "[profiles.a]\nwithout = ['x']\ntags = ['z']"),
    ],
)
def test_a_found_file_may_brake_and_may_repeat_what_holds(project, found, own):
    assert project(found, own).untrusted


def test_settings_that_their_plugin_marks_are_refused_however_deep_they_lie(project):
    config = project(
        """
        [plugins.x]
        url = "https://u:p@h"
        roots = ["/"]
        more = [{command = "a"}, {prefix = "b"}]
        [plugins.x.servers.a]
        command = "sh"
        prefix = "p"
        """
    )
    assert widened(lambda: config.plugin_settings("x", Settings)) == {
        "plugins.x.url",
        "plugins.x.roots",
        "plugins.x.more[0].command",
        "plugins.x.servers.a.command",
    }


def test_settings_that_widen_nothing_are_taken_from_a_found_file(project):
    config = project("[plugins.x]\nurl = 'sqlite:///a'\nroots = ['.']\n[plugins.x.servers.a]\nprefix = 'p'")
    assert config.plugin_settings("x", Settings).servers == {"a": Server(prefix="p")}


def test_a_found_file_may_not_add_to_what_a_trusted_one_starts(project):
    own = "[plugins.x.servers.a]\ncommand = 'npx'"
    config = project("[plugins.x.servers.a]\nargs = ['evil']\ncommand = 'npx'", own)
    assert widened(lambda: config.plugin_settings("x", Settings)) == {"plugins.x.servers.a.args"}


def test_what_the_user_says_himself_is_not_the_found_files(project):
    own = "[plugins.x.servers.a]\ncommand = 'npx'\nargs = ['a']"
    config = project("[plugins.x.servers.a]\nargs = ['evil']", own, {"PEGBOARD_PLUGINS__X__SERVERS__A__ARGS": "good"})
    assert config.plugin_settings("x", Settings).servers["a"].args == ["good"]


def test_a_mark_that_cannot_tell_lets_nothing_pass(project):
    @attrs.frozen
    class Odd:
        size: int = setting(0, widens=lambda value, otherwise: value.rubbish)

    config = project("[plugins.x]\nsize = 1")
    assert widened(lambda: config.plugin_settings("x", Odd)) == {"plugins.x.size"}


def test_a_list_of_a_found_file_may_not_leave_out_what_is_marked_in_the_users(project):
    config = project("[[plugins.x.more]]\nprefix = 'p'", "[[plugins.x.more]]\ncommand = 'safe'")
    assert widened(lambda: config.plugin_settings("x", Settings)) == {"plugins.x.more[0].command"}


def test_permissions_that_a_tool_marks_are_refused_and_others_taken(project):
    config = project("[tools.run]\nallowed = ['rm']\ndenied = ['ls']")
    assert widened(lambda: config.structure_permissions("run", Permissions)) == {"tools.run.allowed"}
    config = project("[tools.run]\ndenied = ['ls']")
    assert config.structure_permissions("run", Permissions) == Permissions(denied=("ls",))


def test_a_named_file_and_the_users_own_may_say_everything(project, tmp_path):
    text = "observe = ['access']\n[plugins.x.servers.a]\ncommand = 'sh'"
    own = project("", text)
    named = project(text, "", source=tmp_path / "project" / "pegboard.toml")
    for config in (own, named):
        assert config.plugin_settings("x", Settings).servers["a"].command == "sh"
        assert config.untrusted == ()


def test_a_trusted_file_may_say_everything_until_a_byte_of_it_changes(project, tmp_path):
    file, state = tmp_path / "project" / "pegboard.toml", tmp_path / "state"
    with pytest.raises(ConfigError):
        project("observe = ['access']")
    trust(file, state_dir=state)
    assert is_trusted(file, file.read_bytes(), state_dir=state)
    assert project("observe = ['access']").observe == ("access",)
    with pytest.raises(ConfigError):
        project("observe = ['access' ]")


def test_another_file_of_the_same_content_is_not_trusted(tmp_path):
    (tmp_path / "a").write_text("x")
    (tmp_path / "b").write_text("x")
    trust(tmp_path / "a", state_dir=tmp_path / "state")
    assert not is_trusted(tmp_path / "b", b"x", state_dir=tmp_path / "state")


def test_a_link_is_trusted_as_what_it_points_to(tmp_path):
    (tmp_path / "a").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    trust(tmp_path / "link", state_dir=tmp_path / "state")
    assert is_trusted(tmp_path / "a", b"x", state_dir=tmp_path / "state")


def test_the_list_is_the_users_alone_and_nothing_is_left_beside_it(tmp_path):
    state = tmp_path / "state"
    for name in ("a", "b"):
        (tmp_path / name).write_text("x")
        trust(tmp_path / name, state_dir=state)
    assert [path.name for path in state.iterdir()] == ["trusted.json"]
    assert stat.S_IMODE((state / "trusted.json").stat().st_mode) == 0o600
    assert len(json.loads((state / "trusted.json").read_text())) == 2


@pytest.mark.parametrize("rubbish", ["", "[]", "{", '{"a": 1}', "\udcff"])
def test_a_list_that_cannot_be_read_trusts_nothing_and_can_be_begun_anew(tmp_path, rubbish):
    file, state = tmp_path / "a", tmp_path / "state"
    state.mkdir()
    file.write_text("x")
    (state / "trusted.json").write_bytes(rubbish.encode("utf-8", "surrogateescape"))
    assert not is_trusted(file, b"x", state_dir=state)
    trust(file, state_dir=state)
    assert is_trusted(file, b"x", state_dir=state)


def test_trusting_says_what_cannot_be_read_or_written(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        trust(tmp_path / "nope", state_dir=tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigError, match="cannot be written"):
        trust(tmp_path / "file", state_dir=tmp_path / "file")
    (tmp_path / "state" / "trusted.json").mkdir(parents=True)
    with pytest.raises(ConfigError, match="cannot be written"):
        trust(tmp_path / "file", state_dir=tmp_path / "state")
    assert [path.name for path in (tmp_path / "state").iterdir()] == ["trusted.json"]


def test_a_hint_can_be_pasted_where_the_path_has_spaces(tmp_path):
    folder = tmp_path / "my project"
    folder.mkdir()
    (folder / "pegboard.toml").write_text("observe = ['access']")
    with pytest.raises(ConfigError) as caught:
        load_config(cwd=folder, user_dir=tmp_path, state_dir=tmp_path, environ={})
    assert f"pegboard trust '{folder / 'pegboard.toml'}'" in caught.value.hint


def test_the_folders_are_the_platforms_own(tmp_path, monkeypatch):
    for name in ("CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    (tmp_path / "CONFIG" / "pegboard").mkdir(parents=True)
    (tmp_path / "CONFIG" / "pegboard" / "pegboard.toml").write_text("timeout_s = 4")
    found = tmp_path / "pegboard.toml"
    found.write_text("observe = ['access']")
    trust(found)
    config = load_config(cwd=tmp_path, environ={})
    assert (config.core.timeout_s, config.observe) == (4, ("access",))


WORDS = st.sampled_from(["a", "b", "c"])
SERVERS = st.fixed_dictionaries({}, optional={"command": WORDS, "args": st.lists(WORDS, max_size=2), "prefix": WORDS})
SECTIONS = st.fixed_dictionaries(
    {},
    optional={
        "servers": st.dictionaries(WORDS, SERVERS, max_size=2),
        "more": st.lists(SERVERS, max_size=2),
        "roots": st.lists(WORDS, max_size=2),
        "url": st.sampled_from(["sqlite://", "https://u:p@h"]),
    },
)


@given(own=SECTIONS, found=SECTIONS)
@hypothesis.settings(max_examples=200)
def test_whatever_a_found_file_says_what_is_marked_stays_as_it_is_without_it_or_is_refused(own, found):
    file = ValueOrigin("file", "pegboard.toml")
    safe, tree = Tree(), Tree(found={file})
    for one in (safe, tree):
        one.lay(Layer(ValueOrigin("file", "own"), {"plugins": {"x": copy.deepcopy(own)}}))
    tree.lay(Layer(file, {"plugins": {"x": found}}, trusted=False))
    before = Config(safe).plugin_settings("x", Settings)
    try:
        after = Config(tree, safe=safe).plugin_settings("x", Settings)
    except ConfigError as error:
        assume("pegboard trust" in (error.hint or ""))
        after = before
    assert after.roots == before.roots
    assert after.url == before.url or "@" not in after.url
    known = {**before.servers, **dict(enumerate(before.more))}
    for name, server in {**after.servers, **dict(enumerate(after.more))}.items():
        assert (server.command, server.args) == (known.get(name, Server()).command, known.get(name, Server()).args)


@pytest.mark.parametrize(
    ("line", "is_looser"),
    [
        ("cooldown_s = 0", True),
        ("cooldown_s = 1", True),
        ("cooldown_s = 90", False),
        ("concurrency = 9", True),
        ("concurrency = 1", False),
        ("rate_limit = '100/s'", True),
        ("rate_limit = '1/day'", False),
        ("timeout_s = 5", False),
    ],
)
def test_a_found_file_tightens_the_brakes_of_an_author_and_lets_go_of_none(project, line, is_looser):
    author = Limits(cooldown_s=60, concurrency=2, rate_limit="10/minute")
    config = project(f"[tools.one]\n{line}")
    now = config.tool_settings("one").override(author)
    if is_looser:
        assert widened(lambda: config.check_loosened("one", author, now)) == {f"tools.one.{line.split()[0]}"}
    else:
        config.check_loosened("one", author, now)
    project("", f"[tools.one]\n{line}").check_loosened("one", author, now)


@attrs.frozen
class Bridge:
    config_file: str | None = setting(None, widens=True, names_file=True)


def test_a_file_that_a_found_file_names_is_accepted_by_itself(project, tmp_path):
    other = tmp_path / "other.json"
    other.write_text("{}")
    found = f"[plugins.bridge]\nconfig_file = '{other}'"

    def act() -> Bridge:
        return project(found).plugin_settings("bridge", Bridge)

    assert widened(act) == {"plugins.bridge.config_file"}
    trust(tmp_path / "project" / "pegboard.toml", state_dir=tmp_path / "state")
    assert widened(act) == {"plugins.bridge.config_file"}  # the name is accepted, what it names is not
    trust(other, state_dir=tmp_path / "state")
    assert act() == Bridge(str(other))
    other.write_text("{ }")
    assert widened(act) == {"plugins.bridge.config_file"}
    other.unlink()
    assert act() == Bridge(str(other))  # who reads it says that it is not there


def test_a_file_that_an_option_or_the_users_own_file_names_needs_no_trust(project, tmp_path):
    other = tmp_path / "other.json"
    other.write_text("{}")
    own = project("", f"[plugins.bridge]\nconfig_file = '{other}'")
    assert own.plugin_settings("bridge", Bridge) == Bridge(str(other))
    named = project("", overrides={"plugins": {"bridge": {"config_file": str(other)}}})
    assert named.plugin_settings("bridge", Bridge) == Bridge(str(other))


@attrs.frozen
class Manifests:
    files: tuple[str, ...] = setting((), widens=True, names_file=True, beside_file=True)


def test_every_file_of_a_list_that_a_found_file_names_is_accepted_by_itself(project, tmp_path):
    for name in ("one.json", "two.json"):
        (tmp_path / "project").mkdir(exist_ok=True)
        (tmp_path / "project" / name).write_text("{}")
    found = "[plugins.bridge]\nfiles = ['one.json', 'two.json']"

    def act() -> Manifests:
        return project(found).plugin_settings("bridge", Manifests)

    assert widened(act) == {"plugins.bridge.files"}
    trust(tmp_path / "project" / "pegboard.toml", state_dir=tmp_path / "state")
    trust(tmp_path / "project" / "one.json", state_dir=tmp_path / "state")
    assert widened(act) == {"plugins.bridge.files"}
    trust(tmp_path / "project" / "two.json", state_dir=tmp_path / "state")
    assert act().files == tuple(str(tmp_path / "project" / name) for name in ("one.json", "two.json"))


def test_a_configuration_is_accepted_with_the_files_that_it_names(project, tmp_path):
    state, folder = tmp_path / "state", tmp_path / "project"
    found = "[plugins.bridge]\nfiles = ['one.json', 'two.json', 'gone.json']"

    def act() -> Manifests:
        return project(found).plugin_settings("bridge", Manifests)

    def accept() -> None:
        config = project(found, accept=True)
        config.plugin_settings("bridge", Manifests)
        named = config.named_files(folder / "pegboard.toml")
        assert [file.name for file in named] == ["one.json", "two.json", "gone.json"]
        trust(folder / "pegboard.toml", named=named, state_dir=state)

    project(found)
    (folder / "one.json").write_text("{}")
    (folder / "two.json").write_bytes(b"x" * (MAX_READ + 1))
    accept()
    act()
    for change in (
        lambda: (folder / "one.json").write_text("{ }"),
        lambda: (folder / "two.json").write_bytes(b"y" + b"x" * MAX_READ),  # held by its times, not by its content
        lambda: (folder / "gone.json").write_text("it is there now"),
        lambda: replace(folder / "one.json", (folder / "two.json")),  # a link to another file
    ):
        change()
        assert widened(act) == {"plugins.bridge.files"}
        accept()
        act()
    (folder / "one.json").unlink()
    act()  # who reads it says that it is not there


def replace(link, target) -> None:
    link.unlink()
    link.symlink_to(target.with_name("other.json"))
    link.resolve().write_text("another")


def test_what_the_users_own_file_names_is_not_held_with_a_found_one(project, tmp_path):
    other = tmp_path / "other.json"
    other.write_text("{}")
    config = project("timeout_s = 3", f"[plugins.bridge]\nconfig_file = '{other}'", accept=True)
    config.plugin_settings("bridge", Bridge)
    assert config.named_files(tmp_path / "project" / "pegboard.toml") == ()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_that_is_named_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert is_held(tmp_path / "pipe", state_dir=tmp_path) is None
    assert is_held(tmp_path, state_dir=tmp_path) is None


def test_a_configuration_that_names_too_many_files_is_refused(tmp_path):
    for index in range(MAX_NAMED + 1):
        (tmp_path / f"{index}.json").touch()
    (tmp_path / "pegboard.toml").touch()
    with pytest.raises(ConfigError, match=f"more than {MAX_NAMED} files"):
        trust(tmp_path / "pegboard.toml", named=tmp_path.glob("*.json"), state_dir=tmp_path)


@attrs.frozen
class Finder:
    words: tuple[str, ...] = setting((), widens=True)

    @classmethod
    def find_files(cls, raw):
        for word in raw.get("words", ()):
            yield ("words", 0), word


def test_a_class_may_name_the_files_that_no_field_names_alone(project, tmp_path):
    script = tmp_path / "script.py"
    script.write_text("1")
    found = f"[plugins.finder]\nwords = ['{script}']"
    project(found)
    trust(tmp_path / "project" / "pegboard.toml", state_dir=tmp_path / "state")
    assert widened(lambda: project(found).plugin_settings("finder", Finder)) == {"plugins.finder.words[0]"}
    config = project(found, accept=True)
    config.plugin_settings("finder", Finder)
    named = config.named_files(tmp_path / "project" / "pegboard.toml")
    trust(tmp_path / "project" / "pegboard.toml", named=named, state_dir=tmp_path / "state")
    project(found).plugin_settings("finder", Finder)
    script.write_text("2")
    assert widened(lambda: project(found).plugin_settings("finder", Finder)) == {"plugins.finder.words[0]"}


def test_what_the_core_refuses_does_not_hide_that_plugins_have_not_judged_theirs(project):
    mild = '[tools.calculator]\nrequires_confirmation = "Fine?"\n'
    for found, hint in (
        (mild, "look at the file, then accept"),
        (
            mild + '[plugins.mcp.servers.x]\ncommand = "sh"\n',
            "look at the file, what it says of plugins too, then accept",
        ),
    ):
        with pytest.raises(ConfigError) as caught:
            project(found)
        assert caught.value.hint is not None
        assert caught.value.hint.startswith(hint)


@pytest.mark.parametrize("count", [MAX_LISTED, MAX_LISTED + 1])
def test_a_long_list_forgets_files_that_are_gone(tmp_path, count):
    state, there, file = tmp_path / "state", tmp_path / "there.toml", tmp_path / "pegboard.toml"
    there.write_text("")
    file.write_text("")
    trust(there, state_dir=state)
    listed = json.loads((state / "trusted.json").read_text())
    gone = {str(tmp_path / f"gone-{number}.toml"): "0" * 64 for number in range(count - 1)}
    (state / "trusted.json").write_text(json.dumps({**listed, **gone}))
    trust(file, state_dir=state)
    assert is_trusted(there, b"", state_dir=state)
    assert is_trusted(file, b"", state_dir=state)
    left = json.loads((state / "trusted.json").read_text())
    assert len(left) == (2 if count > MAX_LISTED else count + 1)
