"""What a configuration says: variables, structure, tools, profiles, plugins, origins."""

from __future__ import annotations

import datetime
import enum
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import Fault, Limits, Origin, PluginError, RateLimit, Tool
from pegboard.config import Config, ToolSettings, load_config, setting
from pegboard.errors import ConfigError


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


def positive(_: Any, field: Any, value: float) -> None:
    if value <= 0:
        raise ValueError("a number above zero")


@attrs.frozen
class Server:
    command: str | None = setting(None, widens=True)
    port: int = setting(80, validator=positive)
    env: dict[str, str] = setting(factory=dict)


@attrs.frozen
class Settings:
    url: str = setting(help="where the tasks are kept")
    size: int = setting(10, validator=positive)
    ratio: float = setting(0.5)
    quiet: bool = setting(False)
    names: list[str] = setting(factory=list)
    pair: tuple[int, str] | None = setting(None)
    numbers: frozenset[int] = setting(frozenset())
    mode: Literal["fast", "safe"] = setting("safe")
    colour: Colour = setting(Colour.RED)
    day: datetime.date | None = setting(None)
    limit: int | bool | str | None = setting(None)
    shown: Annotated[str, "words"] = setting("", converter=str.strip)
    servers: Mapping[str, Server] = setting(factory=dict)
    more: Sequence[Server] = setting(())
    anything: Any = setting(None)


def load(tables: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None, **more: Any) -> Config:
    return load_config(tables or {}, environ=environ or {}, **more)


def plugin(section: Mapping[str, Any], environ: Mapping[str, str] | None = None, cls: Any = Settings) -> Any:
    return load({"plugins": {"tasks": section}}, environ).plugin_settings("tasks", cls)


def faults(act: Any) -> dict[str, str]:
    with pytest.raises(ConfigError) as caught:
        act()
    assert all(fault.path and fault.origin.kind != "default" for fault in caught.value.faults)
    return {fault.where: str(fault) for fault in caught.value.faults}


# Variables in texts


def test_variables_are_filled_in_with_defaults_and_escapes():
    section = {"url": "${HOST}:${PORT:-80}/$$x${EMPTY:-d}", "names": ["${HOST}"]}
    made = plugin(section, {"HOST": "h", "EMPTY": ""})
    assert made.url == "h:80/$xd"
    assert made.names == ["h"]
    assert type(made.names[0]) is str


def test_a_missing_variable_is_named_with_its_place_and_every_one_at_once():
    found = faults(lambda: plugin({"url": "${A}", "names": ["x", "${B}"], "shown": "${", "mode": "${1}"}))
    assert "the variable A" in found["plugins.tasks.url"]
    assert "the variable B" in found["plugins.tasks.names[1]"]
    assert "${VAR}" in found["plugins.tasks.shown"]
    assert "${VAR}" in found["plugins.tasks.mode"]


def test_a_dollar_sign_by_itself_is_itself():
    assert plugin({"url": "$HOME 5$ $"}).url == "$HOME 5$ $"


def test_a_whole_variable_is_read_by_what_its_setting_is():
    made = plugin({"url": "${N}", "size": "${N}", "quiet": "${B:-yes}", "names": "${L:-a, b}"}, {"N": "7"})
    assert (made.url, made.size, made.quiet, made.names) == ("7", 7, True, ["a", "b"])


def test_a_part_of_a_text_stays_text():
    assert "plugins.tasks.size" in faults(lambda: plugin({"url": "x", "size": "1${N}"}, {"N": "7"}))


# The environment


def test_the_environment_lies_over_everything_and_options_over_that():
    environ = {"PEGBOARD_TIMEOUT_S": "2.5", "PEGBOARD_STRICT": "1"}
    config = load({"timeout_s": 5}, environ, overrides={"strict": False})
    assert config.core.timeout_s == 2.5
    assert not config.core.strict
    assert str(config.origin_of(("timeout_s",))) == "$PEGBOARD_TIMEOUT_S"
    assert str(config.origin_of(("strict",))) == "--strict"


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"READ_ONLY": "1"}, True),
        ({"READ_ONLY": "true"}, True),
        ({"READ_ONLY": ""}, False),
        ({"READ_ONLY": "0"}, False),
        ({"READ_ONLY": "1", "PEGBOARD_READ_ONLY": "0"}, True),
        ({"READ_ONLY": "0", "PEGBOARD_READ_ONLY": "1"}, True),
    ],
)
def test_read_only_of_the_environment(environ, expected):
    assert load({}, environ).core.read_only is expected


def test_a_read_only_that_is_not_a_boolean_is_a_fault():
    assert "a boolean" in faults(lambda: load({}, {"READ_ONLY": "perhaps"}))["read_only"]


def test_variables_reach_every_type_of_a_plugins_settings():
    said = {
        "URL": "12",
        "SIZE": "7",
        "RATIO": "1e-2",
        "QUIET": "on",
        "NAMES": '["a", "b,c"]',
        "NUMBERS": "1, 2",
        "PAIR": "3,x",
        "MODE": "fast",
        "COLOUR": "blue",
        "DAY": "2026-11-21",
        "LIMIT": "1",
        "ANYTHING": "true",
        "SERVERS__A__PORT": "81",
    }
    made = plugin({}, {f"PEGBOARD_PLUGINS__TASKS__{key}": text for key, text in said.items()})
    assert (made.url, made.size, made.ratio, made.quiet, made.names) == ("12", 7, 0.01, True, ["a", "b,c"])
    assert (made.numbers, made.pair, made.mode, made.colour) == ({1, 2}, (3, "x"), "fast", Colour.BLUE)
    assert (made.day, made.limit, made.anything) == (datetime.date(2026, 11, 21), 1, "true")
    assert made.servers == {"a": Server(port=81)}


@pytest.mark.parametrize(("text", "expected"), [("off", False), ("yes", True), ("perhaps", "perhaps")])
def test_a_text_that_may_be_more_is_read_as_more_where_it_can_be(text, expected):
    made = load({}, {"PEGBOARD_TOOLS__ADD__REQUIRES_CONFIRMATION": text}).tool_settings("add")
    assert made.requires_confirmation is expected or made.requires_confirmation == expected


def test_a_variable_finds_the_key_of_a_file_whatever_its_case_and_hyphens():
    tables = {"plugins": {"my-thing": {"url": "a"}}, "tools": {"readFile": {"timeout_s": 1}}}
    environ = {"PEGBOARD_PLUGINS__MY_THING__URL": "b", "PEGBOARD_TOOLS__READFILE__TIMEOUT_S": "2"}
    config = load(tables, environ)
    assert config.plugin_settings("my-thing", Settings).url == "b"
    assert config.tool_settings("readFile").timeout_s == 2


def test_a_section_of_variables_alone_is_found_by_a_name_written_otherwise():
    environ = {"PEGBOARD_PLUGINS__MY_THING__URL": "b", "PEGBOARD_TOOLS__READFILE__ALLOWED": "x"}
    config = load({}, environ)
    assert config.plugin_settings("my-thing", Settings).url == "b"
    assert config.structure_permissions("readFile", Permissions) == Permissions(allowed=("x",))
    assert config.tool_settings("other") == ToolSettings()


def test_unknown_variables_are_named_with_the_nearest():
    environ = {"PEGBOARD_TIMEOUT": "1", "PEGBOARD_PLUGINS__X": "1", "PEGBOARD_": "1", "PEGBOARD_TIMEOUT_S__X": "1"}
    found = faults(lambda: load({}, environ))
    assert "PEGBOARD_TIMEOUT_S?" in found["PEGBOARD_TIMEOUT"]
    assert "PEGBOARD_PLUGINS__NAME__KEY" in found["PEGBOARD_PLUGINS__X"]
    assert len(found) == 4


def test_an_empty_variable_and_those_of_others_say_nothing():
    assert load({}, {"PEGBOARD_TIMEOUT_S": "", "_PEGBOARD_COMPLETE": "x", "PEGBOARDS": "x"}).core == Config().core


def test_a_list_in_json_that_is_none_is_a_fault():
    found = faults(lambda: plugin({"url": "x"}, {"PEGBOARD_PLUGINS__TASKS__NAMES": "[oops"}))
    assert "a list" in found["plugins.tasks.names"]


def test_a_variable_inside_a_table_that_may_be_missing_is_read_by_its_type():
    @attrs.frozen
    class Outer:
        inner: Server | None = setting(None)

    environ = {"PEGBOARD_PLUGINS__TASKS__INNER__PORT": "81"}
    assert plugin({}, environ, cls=Outer).inner == Server(port=81)
    assert "plugins.tasks.inner.port" in faults(lambda: plugin({"inner": {"port": 0}}, cls=Outer))


def test_tables_are_not_read_out_of_a_text():
    environ = {"PEGBOARD_PLUGINS__TASKS__SERVERS": '{"a": {"command": "x"}}', "PEGBOARD_PLUGINS__TASKS__MORE": "[{}]"}
    found = faults(lambda: plugin({"url": "x"}, environ))
    assert {"plugins.tasks.servers", "plugins.tasks.more"} <= set(found)


# Structure


def test_values_are_taken_as_what_they_are_and_every_fault_is_told_at_once():
    found = faults(
        lambda: load(
            {
                "timeout_s": True,
                "read_only": "false",
                "max_result_bytes": 1.9,
                "approval_timeout_s": -1,
                "observe": "cooldown",
                "timeout": 3,
                "plugins": 3,
                "tools": {"a": 1, "b": {"concurrency": "2", "rate_limit": "often", "from": 3}},
                "profiles": {"r": {"tag": ["x"], "tags": "x"}},
            }
        )
    )
    assert set(found) == {
        "timeout_s",
        "read_only",
        "max_result_bytes",
        "approval_timeout_s",
        "observe",
        "timeout",
        "plugins",
        "tools.a",
        "tools.b.concurrency",
        "tools.b.rate_limit",
        "tools.b.from",
        "profiles.r.tag",
        "profiles.r.tags",
    }
    assert "leave out the quotes" in found["read_only"]
    assert "leave out the quotes" in found["tools.b.concurrency"]
    assert "'timeout_s'" in found["timeout"]
    assert "'tags'" in found["profiles.r.tag"]
    assert "above zero" in found["approval_timeout_s"]


@pytest.mark.parametrize(
    ("section", "where", "hint"),
    [
        ({"timeout_s": "5"}, "timeout_s", "leave out the quotes"),
        ({"timeout_s": "-0.5"}, "timeout_s", "leave out the quotes"),
        ({"max_arguments_bytes": "1000"}, "max_arguments_bytes", "leave out the quotes"),
        ({"profile": {"reader": {"tags": ["a"]}}}, "profile", "profiles are written as [profiles.NAME]"),
    ],
)
def test_what_was_meant_is_told(section: dict[str, Any], where: str, hint: str) -> None:
    assert hint in faults(lambda: load(section))[where]
    assert "quotes" not in faults(lambda: load({"timeout_s": "soon"}))["timeout_s"]


def test_a_plugins_faults_are_told_at_once_with_place_and_origin():
    section = {
        "size": "ten",
        "ratio": True,
        "nams": [],
        "mode": "quick",
        "names": [1],
        "servers": {"a": {"port": -1, "x": 1}},
    }
    found = faults(lambda: plugin(section))
    assert set(found) == {
        f"plugins.tasks.{place}"
        for place in ("url", "size", "ratio", "nams", "mode", "names[0]", "servers.a.port", "servers.a.x")
    }
    assert all("the program" in text for text in found.values())


def test_validators_are_heard_beside_each_other_where_all_types_are_right():
    found = faults(lambda: plugin({"url": "x", "size": 0, "servers": {"a": {"port": -1}}, "more": [{"port": 0}]}))
    assert set(found) == {"plugins.tasks.size", "plugins.tasks.servers.a.port", "plugins.tasks.more[0].port"}


def test_settings_without_a_section_are_their_defaults_or_name_what_is_missing():
    assert load().plugin_settings("x", Server) == Server()
    with pytest.raises(ConfigError, match=r"plugins\.x\.url.*nothing"):
        load().plugin_settings("x", Settings)


def test_dates_of_a_file_are_dates_and_no_texts():
    assert plugin({"url": "x", "day": datetime.date(2026, 1, 2)}).day == datetime.date(2026, 1, 2)
    assert "plugins.tasks.url" in faults(lambda: plugin({"url": datetime.date(2026, 1, 2)}))


def test_a_settings_class_of_a_type_that_no_file_can_hold_is_its_plugins_fault():
    @attrs.frozen
    class Odd:
        thing: complex = setting(1j)

    with pytest.raises(PluginError, match="complex"):
        plugin({"thing": 1}, cls=Odd)


# Tools and profiles


@attrs.frozen
class Permissions:
    allowed: tuple[str, ...] = setting((), widens=True)
    denied: tuple[str, ...] = setting(())


def test_a_tools_section_holds_limits_and_what_the_tool_declares():
    tables = {"tools": {"run": {"from": "pegboard-x", "timeout_s": 3, "rate_limit": "5/m", "allowed": ["ls"]}}}
    config = load(tables)
    said = config.tool_settings("run")
    assert said.from_ == "pegboard-x"
    assert said.override(Limits(concurrency=2)) == Limits(timeout_s=3, rate_limit=RateLimit(5, 60), concurrency=2)
    assert config.structure_permissions("run", Permissions) == Permissions(allowed=("ls",))


def test_a_key_that_neither_limits_nor_permissions_have_is_unknown():
    config = load({"tools": {"run": {"timeout": 3, "alowed": ["ls"], "allowed": "ls"}}})
    found = faults(lambda: config.structure_permissions("run", Permissions))
    assert "'timeout_s'" in found["tools.run.timeout"]
    assert "'allowed'" in found["tools.run.alowed"]
    assert set(faults(lambda: config.structure_permissions("run", None))) == {
        "tools.run.timeout",
        "tools.run.alowed",
        "tools.run.allowed",
    }
    right = load({"tools": {"run": {"allowed": "ls"}}})
    assert "a list" in faults(lambda: right.structure_permissions("run", Permissions))["tools.run.allowed"]


def test_a_tool_that_declares_and_is_told_nothing_has_its_defaults():
    assert load().structure_permissions("run", None) is None
    assert load().structure_permissions("run", Permissions) == Permissions()


def test_limits_that_nobody_overrides_stay_themselves():
    limits = Limits(cooldown_s=3, requires_user=True)
    assert ToolSettings().override(limits) is limits
    assert ToolSettings(cooldown_s=0, requires_user=False).override(limits) == Limits()


def make_tool(name: str, **more: Any) -> Tool:
    return Tool(name=name, handler=lambda: None, **more)


def test_a_profile_selects_by_name_tag_category_or_source():
    profiles = {
        "all": {},
        "some": {"tools": ["add", "files_*"], "tags": ["read"], "categories": ["math"], "sources": ["git", "dist"]},
        "less": {"without": ["files_*"]},
    }
    config = load({"profiles": profiles})
    some, less = config.profiles["some"], config.profiles["less"]
    assert config.profiles["all"].selects(make_tool("x"))
    chosen = [
        make_tool("add"),
        make_tool("files_read"),
        make_tool("x", tags=["read"]),
        make_tool("x", category="math"),
        make_tool("x", origin=Origin(source="git")),
        make_tool("x", origin=Origin(distribution="dist")),
    ]
    assert all(map(some.selects, chosen))
    assert not some.selects(make_tool("x"))
    assert not less.selects(make_tool("files_read"))
    assert less.selects(make_tool("add"))


def test_a_profile_only_tightens_limits():
    profile = load({"profiles": {"p": {"timeout_s": 5, "rate_limit": "1/s", "requires_user": True}}}).profiles["p"]
    tightened = profile.tighten(Limits(timeout_s=3, rate_limit="1/minute", cooldown_s=2, requires_confirmation="Sure?"))
    assert tightened == Limits(
        timeout_s=3, rate_limit="1/minute", cooldown_s=2, requires_user=True, requires_confirmation="Sure?"
    )
    assert profile.tighten(Limits()) == Limits(timeout_s=5, rate_limit="1/s", requires_user=True)


def test_the_default_profile_must_be_configured():
    found = faults(lambda: load({"profile": "raeder", "profiles": {"reader": {}}}))
    assert "'reader'" in found["profile"]
    assert load({"profile": "reader", "profiles": {"reader": {}}}).core.profile == "reader"


# Plugins


def test_sections_of_no_plugin_are_unknown_but_not_those_of_quarantined_ones():
    config = load({"plugins": {"taks": {}, "broken": {}, "my_thing": {}}}, {"PEGBOARD_PLUGINS__MY_CLOCK__X": "1"})
    assert config.named_plugins == ("taks", "broken", "my_thing", "my_clock")
    with pytest.raises(ConfigError) as caught:
        config.check_unknown(["tasks", "my-thing", "my-clock"], ["broken"])
    assert [fault.where for fault in caught.value.faults] == ["plugins.taks", "plugins.my_thing"]
    assert "'tasks'" in str(caught.value)
    assert "'my-thing'" in str(caught.value)


def test_the_section_of_a_plugin_that_is_not_installed_says_what_to_install():
    config = load({"plugins": {"mcp": {"servers": {}}}})
    with pytest.raises(ConfigError, match="a plugin that is not installed") as caught:
        config.check_unknown(["tasks"])
    assert "pip install pegboard-mcp" in str(caught.value)


def test_a_plugin_without_settings_has_no_keys():
    config = load({"plugins": {"clock": {"zone": "UTC"}, "bare": {}}})
    config.check_none_set("bare")
    config.check_none_set("unnamed")
    with pytest.raises(
        ConfigError, match=r"plugins\.clock\.zone: expected no key: this plugin has no settings"
    ) as caught:
        config.check_none_set("clock")
    assert "[tools.NAME]" in str(caught.value)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("x", ['core: expected a table, got "x", in the program']),
        ({"tiemout_s": 1}, ["core.tiemout_s: expected a known key, got an unknown key (did you mean 'timeout_s'?)"]),
    ],
)
def test_a_fault_of_the_core_table_is_said_once_and_with_its_place(table, said):
    with pytest.raises(ConfigError) as caught:
        load({"core": table})
    assert [str(fault).removesuffix(", in the program") for fault in caught.value.faults] == [
        one.removesuffix(", in the program") for one in said
    ]


@pytest.mark.parametrize("table", ["flows", "secrets"])
@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"default": "alow"}, "default: expected one of allow, {1}, refuse, got \"alow\" (did you mean 'allow'?)"),
        ({"from": {"web": "refuze"}}, 'from.web: expected one of allow, {1}, refuse, got "refuze" (did you mean'),
        ({"to": "ask"}, 'to: expected a table of names, each with one word, got "ask" (as in to = {{NAME = "{1}"}})'),
        ({"form": {}}, "form: expected a known key, got an unknown key (did you mean 'from'?)"),
    ],
)
def test_what_is_wrong_in_a_table_of_policies_is_named_by_its_place(table, said, told):
    with pytest.raises(ConfigError) as caught:
        load({table: said | {"other": "ask"}})
    words = (table, {"flows": "ask", "secrets": "mask"}[table])
    first, second = map(str, caught.value.faults)
    assert first.startswith(f"{table}.{told.format(*words)}")
    assert second.startswith(f"{table}.other: expected a known key, got an unknown key")


def test_the_guards_to_observe_are_named_at_the_top():
    assert load({"observe": ["cooldown"]}).observe == ("cooldown",)


def test_origins_are_known_for_tables_and_list_items_too():
    config = load({"plugins": {"x": {"a": [1]}, "y": {}}}, {"PEGBOARD_PLUGINS__X__B": "1"})
    assert str(config.origin_of(("plugins", "x", "a", 0))) == "the program"
    assert str(config.origin_of(("plugins", "x"))) == "the program"
    assert str(config.origin_of(("plugins", "x", "b"))) == "$PEGBOARD_PLUGINS__X__B"
    assert str(config.origin_of(("plugins", "y"))) == "the program"
    assert str(config.origin_of(("plugins", "z"))) == "default"


def test_a_default_is_nobodys_even_beside_what_a_file_says_and_under_an_empty_table():
    config = load({"plugins": {"a": {"url": "x"}, "b": {}}})
    config.plugin_settings("a", Settings)
    config.plugin_settings("b", Server)
    origins = {row.key: row.origin for row in config.describe()}
    assert (origins["plugins.a.url"], origins["plugins.a.size"]) == ("the program", "default")
    assert origins["plugins.b.port"] == "default"


def test_an_option_that_was_not_given_says_nothing():
    assert load({"timeout_s": 5}, overrides={"timeout_s": None}).core.timeout_s == 5


def test_many_faults_are_cut_off():
    found = faults(lambda: load({f"key{n}": n for n in range(500)}))
    assert len(found) == 100


KEYS = st.sampled_from(["timeout_s", "read_only", "plugins", "tools", "profiles", "tags", "from", "x"]) | st.text(
    max_size=5
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10) | st.just("${A}") | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)
NAMES = st.sampled_from(["TIMEOUT_S", "READ_ONLY", "PLUGINS__TASKS__URL", "TOOLS__A__B", "X", "PLUGINS"])
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)


@given(st.dictionaries(KEYS, VALUES, max_size=4), st.dictionaries(NAMES.map("PEGBOARD_{}".format), TEXTS, max_size=3))
@settings(max_examples=200)
def test_any_tables_and_variables_give_a_config_or_a_config_error_whose_every_fault_has_a_path(tables, environ):
    try:
        config = load_config(tables, environ=environ)
        config.plugin_settings("tasks", Settings)
        for name in config.tools:
            config.structure_permissions(name, Permissions)
    except ConfigError as error:
        outcome: Any = error.faults
    else:
        outcome = config.describe()
    assert outcome
    for one in outcome:
        assert (one.where and one.expected and one.got and str(one)) if isinstance(one, Fault) else one.key


@attrs.frozen
class Endpoint:
    """Either a command or an address: what no field can say alone."""

    command: str | None = setting(None)
    url: str | None = setting(None)
    port: int = setting(80)

    @classmethod
    def find_faults(cls, raw: Mapping[str, Any]) -> Sequence[Fault]:
        said = [key for key in ("command", "url") if raw.get(key)]
        wrong = (
            [] if len(said) == 1 else [Fault((), "a command or a url", " and ".join(said) or "neither", "write one")]
        )
        port = raw.get("port", 80)
        return wrong if port in (80, 81) else [*wrong, Fault(("port",), "another port", str(port))]


def test_what_a_class_says_of_its_fields_together_stands_in_the_one_list():
    found = faults(lambda: plugin({"command": "x", "url": "y", "port": 7, "prot": 1}, cls=Endpoint))
    assert set(found) == {"plugins.tasks", "plugins.tasks.port", "plugins.tasks.prot"}
    assert "expected a command or a url, got command and url (write one)" in found["plugins.tasks"]
    assert "expected another port, got 7" in found["plugins.tasks.port"]


def test_of_a_place_that_a_field_names_the_class_says_nothing_more():
    found = faults(lambda: plugin({"command": "x", "port": "no"}, cls=Endpoint))
    assert list(found) == ["plugins.tasks.port"]
    assert "expected an integer" in found["plugins.tasks.port"]


def test_what_a_class_is_asked_about_is_read_by_the_types_of_its_fields():
    variables = {"PEGBOARD_PLUGINS__TASKS__PORT": "81"}
    assert plugin({"command": "x"}, variables, cls=Endpoint) == Endpoint(command="x", port=81)


def test_where_a_field_does_not_say_how_to_repair_it_the_class_does():
    @attrs.frozen
    class Hinted(Endpoint):
        @classmethod
        def find_faults(cls, raw: Mapping[str, Any]) -> Sequence[Fault]:
            return [Fault(("port",), "a port", "another", "write port = 80")]

    found = faults(lambda: plugin({"command": "x", "port": "no"}, cls=Hinted))
    assert "expected an integer" in found["plugins.tasks.port"]
    assert "write port = 80" in found["plugins.tasks.port"]


def test_an_option_that_is_a_setting_of_a_plugin_is_named_as_the_option():
    config = load({}, overrides={"plugins": {"mcp": {"config_file": "a.json"}, "audit": {"file": "-"}}})
    assert str(config.origin_of(("plugins", "mcp", "config_file"))) == "--mcp-config"
    assert str(config.origin_of(("plugins", "audit", "file"))) == "--log-json"


def test_what_may_be_left_out_is_named_in_the_words_of_files():
    @attrs.frozen
    class Optional:
        names: tuple[str, ...] | None = None
        table: Mapping[str, Any] | None = None

    with pytest.raises(ConfigError) as caught:
        load({"plugins": {"x": {"names": "a", "table": [1]}}}).plugin_settings("x", Optional)
    assert {fault.path[-1]: fault.expected for fault in caught.value.faults} == {"names": "a list", "table": "a table"}


def test_what_a_settings_class_prints_of_itself_holds_no_secret():
    @attrs.frozen
    class Secretive:
        token: str = setting("", secret=True)
        env: Mapping[str, str] = setting(factory=dict, secret="values")
        size: int = setting(3)

    assert repr(Secretive("hunter2", {"A": "hunter2"})).endswith("Secretive(size=3)")


def test_variables_are_filled_in_keys_too_since_a_token_may_be_one():
    tables = {"plugins": {"mcp": {"tokens": {"${ADA_TOKEN}": "ada", "${BOB:-b}": "bob", "a$b": "eve"}}}}
    config = load(tables, {"ADA_TOKEN": "hush-hush"})
    assert config.origin_of(("plugins", "mcp", "tokens", "hush-hush")).kind == "program"
    shown = str([row.to_json() for row in config.describe()])
    assert "hush" not in shown
    assert "ADA_TOKEN" not in shown


def test_a_key_whose_variable_is_missing_or_that_stands_there_twice_is_a_fault():
    tables = {"profiles": {"${NOPE}": {}, "${ONE}": {}, "x": {}}}
    found = faults(lambda: load(tables, {"ONE": "x"}))
    assert any("the variable NOPE to be set" in text for text in found.values())
    assert any("a key of its own" in text for text in found.values())


@attrs.frozen
class Place:
    folder: str = setting("", beside_file=True)
    elsewhere: str = setting("")


@attrs.frozen
class Places:
    files: tuple[str, ...] = setting((), beside_file=True)
    one: Place = setting(factory=Place)
    many: Mapping[str, Place] = setting(factory=dict)


def test_a_relative_path_begins_beside_the_file_that_says_it(tmp_path, monkeypatch):
    (tmp_path / "sub").mkdir()
    file = tmp_path / "sub" / "pegboard.toml"
    file.write_text(
        "[plugins.places]\nfiles = ['a.json', '../b.json', '/c.json', '~/d.json', '${NAME}']\n"
        "one = {folder = 'x', elsewhere = 'x'}\nmany.two.folder = 'y'\n"
    )
    monkeypatch.chdir(tmp_path)
    for named in (file, "sub/pegboard.toml"):
        config = load_config(named, environ={"NAME": "e.json"})
        made = config.plugin_settings("places", Places)
        folder = tmp_path / "sub"
        kept = ["/c.json", "~/d.json", "e.json"]
        assert made.files == (str(folder / "a.json"), str(folder / "../b.json"), *kept)
        assert made.one == Place(str(folder / "x"), "x")
        assert made.many == {"two": Place(str(folder / "y"))}


def test_a_path_that_no_file_says_is_left_as_it_is():
    said = plugin({"files": ["a.json"]}, cls=Places)
    assert said.files == ("a.json",)
    assert plugin({}, {"PEGBOARD_PLUGINS__TASKS__FILES": "a.json,b.json"}, cls=Places).files == ("a.json", "b.json")
    with pytest.raises(ConfigError, match=r"files\[0\]"):
        plugin({"files": [1]}, cls=Places)
