"""`list`, `show`, `export`, `plugins`: what people and programs read about the board."""

from __future__ import annotations

import json

import pytest


def test_list_shows_name_category_state_origin_and_the_first_sentence(run, tools):
    answer = run("list")
    assert answer.status == 0
    head, *rows = answer.out.splitlines()
    assert head.split() == ["TOOL", "CATEGORY", "STATE", "FROM", "DESCRIPTION"]
    assert rows[0].split(None, 4) == ["add", "math", "ready", "pegboard-test-kit", "Add two numbers"]
    assert rows == sorted(rows)
    assert answer.err == ""


def test_list_json_has_the_members_that_scripts_rely_on(run, tools):
    rows = run("list", "--json").json
    row = next(row for row in rows if row["name"] == "add")
    assert row == {
        "name": "add",
        "title": None,
        "description": "Add two numbers. They may be fractions.",
        "category": "math",
        "tags": ["sum"],
        "read_only": True,
        "state": "ready",
        "origin": {"distribution": "pegboard-test-kit", "source": None},
    }


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--category", "math"], ["add"]),
        (["--tag", "sum"], ["add"]),
        (["--search", "ADD numbers"], ["add", "add_async"]),
        (["--search", "numbers", "--category", "general"], ["add_async"]),
    ],
)
def test_list_selects(run, tools, options, names):
    assert [row["name"] for row in run("list", "--json", *options).json] == names


def test_list_says_so_where_nothing_matches(run, tools):
    answer = run("list", "--search", "unicorn")
    assert (answer.status, answer.out) == (0, "")
    assert "no tool matches" in answer.err


@pytest.mark.parametrize(
    ("word", "hint"), [("generl", "did you mean 'general'?"), ("unicorn", "there are: general, math")]
)
def test_list_says_which_categories_there_are_where_none_is_meant(run, tools, word, hint):
    answer = run("list", "--category", word)
    assert (answer.status, answer.out) == (0, "")
    assert f"no tool has the category {word!r}; {hint}" in answer.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("list", "--wait", "soon"), "'soon' is not a number"),
        (("list", "--wait", "nan"), "'nan' is not a number"),
        (("call", "echo", "--times", "x"), "No such option"),
    ],
)
def test_what_is_not_a_number_is_said_in_words(run, tools, words, says):
    answer = run(*words)
    assert answer.status == 2
    assert says in answer.err
    assert "range" not in answer.err


def test_list_says_what_to_do_where_nothing_hangs(run, site):
    site.install("nothing", "from pegboard import hookimpl\n\n@hookimpl\ndef provide_tools():\n    return []\n")
    answer = run("list", plugins=("nothing",))
    assert (answer.status, answer.out) == (0, "")
    assert "pip install" in answer.err


def test_list_points_to_doctor_where_something_is_missing(run, tools):
    tools.install("broken", "raise ImportError('no such thing')")
    tools.install("more", "from pegboard import hookimpl")
    answer = run("list", plugins=None)
    assert "add" in answer.out
    assert "pegboard doctor says why" in answer.err


def test_a_profile_that_selects_nothing_is_not_an_empty_board(run, tools, tmp_path):
    (tmp_path / "c.toml").write_text('[profiles.none]\ntools = ["nothing_like"]\n')
    answer = run("--config", str(tmp_path / "c.toml"), "--profile", "none", "list")
    assert (answer.out, answer.err) == ("", "no tool matches; pegboard list without options and --profile shows all\n")


def test_a_tool_that_is_off_until_it_is_configured_is_told_to_who_calls_it_alone(run, tools):
    tools.install(
        "off",
        "import attrs\nfrom pegboard import hookimpl, tool\n@attrs.frozen\nclass P:\n"
        "    disabled_reason = ('why', 'fix')\n"
        "@hookimpl\ndef provide_tools():\n    @tool(permissions=P)\n    def dormant(): 'x'\n    return [dormant]\n",
    )
    assert run("list", plugins=("kit", "off")).err == ""
    assert (
        "hint: pegboard-test-off brings it, and it is not on the board: why; fix"
        in run("call", "dormant", plugins=("kit", "off")).err
    )


def test_list_tokens_grow_with_the_definition(run, tools):
    rows = {row["name"]: row["tokens"] for row in run("list", "--tokens", "--json").json}
    assert set(rows["add"]) == {"json", "text"}
    definition = run("export", "--to", "text", "add").out.strip()
    assert rows["add"]["text"] == -(-len(definition) // 4)
    assert rows["rare"]["json"] < rows["add"]["json"]


def test_list_tokens_has_a_column_a_dialect(run, tools):
    head, *rows = (line.split() for line in run("list", "--tokens").out.splitlines())
    assert head == ["TOKENS", "OF", "JSON", "TEXT"]
    counted = {name: [int(one) for one in counts] for name, *counts in rows}
    sums = counted.pop("(all)")
    assert sums == [sum(column) for column in zip(*counted.values(), strict=True)]
    assert set(counted) == {row["name"] for row in run("list", "--json").json}


def test_list_shows_disabled_and_contested_tools_with_their_state(run, tools, tmp_path):
    tools.install(
        "other",
        "from pegboard import hookimpl, tool\n@hookimpl\ndef provide_tools():\n"
        "    @tool\n    def echo(): 'Another.'\n    return [echo]\n",
    )
    (tmp_path / "c.toml").write_text("[tools.add]\nenabled = false\n")
    rows = run("--config", str(tmp_path / "c.toml"), "list", "--json", plugins=("kit", "other")).json
    states = {row["name"]: row["state"] for row in rows}
    assert (states["add"], states["echo"], states["who"]) == ("disabled", "conflict", "ready")
    shown = run("show", "echo", plugins=("kit", "other")).out
    assert "conflict: pegboard-test-kit and pegboard-test-other both bring a tool 'echo'" in shown


def test_list_shows_what_the_profile_selects(run, tools, tmp_path):
    (tmp_path / "c.toml").write_text('[profiles.adder]\ntools = ["add*"]\n')
    answer = run("--config", str(tmp_path / "c.toml"), "--profile", "adder", "list", "--json")
    assert [row["name"] for row in answer.json] == ["add", "add_async"]


def test_show_tells_a_person_everything(run, tools):
    out = run("show", "rare").out
    for part in ("Once a minute", "cooldown_s 60", "rate_limit 10/60s", "TEST_KEY", "high risk", "version:", "sha256:"):
        assert part in out
    out = run("show", "add").out
    assert 'pegboard call add --args \'{"a": 1, "b": 2}\'' in out
    assert "output schema:" in out


def test_show_prints_the_answer_of_an_example(run, site):
    site.install(
        "one",
        "from pegboard import Example, hookimpl, tool\n@hookimpl\ndef provide_tools():\n"
        "    @tool(examples=[Example({}, 'once', 'yes')])\n    def say(): 'Say.'\n    return [say]\n",
    )
    out = run("show", "say", plugins=("one",)).out
    assert "example:     once" in out
    assert "  yes" in out


def test_show_json_is_one_object(run, tools):
    shown = run("show", "rare", "--json").json
    assert shown["limits"] == {"cooldown_s": 60, "timeout_s": 5, "rate_limit": "10/60s"}
    assert shown["origin"]["distribution"] == "pegboard-test-kit"
    assert shown["fingerprint"].startswith("sha256:")
    assert shown["annotations"]["risk"] == "high"
    assert run("show", "add", "--json").json["examples"][0]["arguments"] == {"a": 1, "b": 2}


def test_show_suggests_the_nearest_name(run, tools):
    answer = run("show", "ad")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.splitlines()[0] == "error: there is no tool 'ad'"
    assert "did you mean add" in answer.err


def test_where_nothing_hangs_since_all_was_refused_no_plugin_is_missing(run, site):
    site.install(
        "one",
        "from pegboard import Tool, hookimpl\n@hookimpl\ndef provide_tools():\n"
        "    return [Tool(name='bad', handler=print, description='x', input_schema={'type': 'objekt'})]\n",
    )
    shown, listed = run("show", "bad", plugins=("one",)), run("list", plugins=("one",))
    assert shown.status == 2
    assert "is not on the board" in shown.err
    assert "pegboard doctor says why" in listed.err
    assert "pip install" not in listed.err


def test_export_prints_definitions_and_reports_on_stderr(run, tools):
    answer = run("export", "--to", "json", "--report", "add", "who")
    assert [one["name"] for one in answer.json] == ["add", "who"]
    assert "2 defined, 0 renamed, 0 lost" in answer.err


def test_export_of_text_is_text(run, tools):
    assert run("export", "--to", "text", "add").out.startswith("add: Add two numbers.")


def test_export_reports_names_and_losses(run, site):
    site.install(
        "poor",
        """
        from pegboard import Loss, Tool, hookimpl
        from pegboard.dialects._common import SimpleExport

        class Poor:
            name = "poor"

            def export(self, tools):
                tools = list(tools)
                losses = [Loss(tool.name, "properties.a", "no numbers there") for tool in tools]
                export = SimpleExport([1 for _ in tools], {"x_1": tool.name for tool in tools}, None, None, losses)
                return Strict(export, {"one": False})

        class Strict:
            def __init__(self, export, strict):
                self.definitions, self.aliases, self.losses = export.definitions, export.aliases, export.losses
                self.strict = strict

        @hookimpl
        def provide_dialects():
            return [Poor()]

        @hookimpl
        def provide_tools():
            return [Tool(name="one", handler=print, description="One.")]
    """,
    )
    assert run("export", "--to", "poor", "--report", plugins=("poor",)).err.splitlines() == [
        "one: not strict, called x_1 there, 1 lost",
        "  properties.a: no numbers there",
        "for poor: 1 defined, 1 renamed, 1 lost, 0 strict",
    ]


def test_export_reports_each_tool_also_where_nothing_is_lost(run, tools):
    assert run("export", "--to", "json", "--report", "add").err.splitlines() == [
        "add: nothing lost",
        "for json: 1 defined, 0 renamed, 0 lost",
    ]


def test_export_of_a_profile_that_selects_nothing_is_empty(run, tools, tmp_path):
    (tmp_path / "c.toml").write_text('[profiles.none]\ntools = ["nothing"]\n')
    answer = run("--config", str(tmp_path / "c.toml"), "--profile", "none", "export", "--to", "json")
    assert answer.json == []


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--to", "klingon"], "there is no dialect 'klingon'; on the board: json, text"),
        (["--to", "json", "nope"], "there is no tool 'nope'"),
        ([], "Missing option '--to'"),
    ],
)
def test_export_refuses_what_is_not_there(run, tools, args, said):
    answer = run("export", *args)
    assert (answer.status, answer.out) == (2, "")
    assert said in answer.err


def test_plugins_tells_what_each_provides(run, tools):
    rows = {row["name"]: row for row in run("plugins", "--json").json}
    assert rows["kit"]["distribution"] == "pegboard-test-kit"
    assert rows["kit"]["version"] == "1.0"
    assert rows["kit"]["provides"] == {"provide_tools": 13}
    assert rows["kit"]["import_ms"] > 0
    assert rows["json"]["builtin"] is True
    out = run("plugins").out
    assert "13 tools" in out
    assert "1 dialect" in out
    assert "guards" in out


def test_plugins_names_what_is_quarantined_and_why(run, site):
    site.install("broken", "import no_such_module_anywhere")
    answer = run("plugins", "--json", plugins=None)
    row = next(row for row in answer.json if row["name"] == "broken")
    assert row["state"] == "quarantined"
    assert "no_such_module_anywhere" in row["quarantined"]
    assert "no_such_module_anywhere" in run("plugins", plugins=None).out


def test_json_answers_keep_every_character(run, site):
    site.install(
        "odd",
        "from pegboard import hookimpl, tool\n@hookimpl\ndef provide_tools():\n"
        "    @tool\n    def odd(): 'Odd \\u202e text \\x1b[1m.'\n    return [odd]\n",
    )
    answer = run("list", "--json", plugins=("odd",))
    assert answer.json[0]["description"] == "Odd \u202e text \x1b[1m."
    assert json.dumps("\x1b")[1:-1] in answer.out
    assert "\\u202e" in run("list", plugins=("odd",)).out


@pytest.mark.parametrize("mode", ["option", "variable", "profile"])
def test_what_read_only_mode_refuses_is_listed_with_all_alone(run, tools, tmp_path, monkeypatch, mode):
    (tmp_path / "c.toml").write_text("[profiles.reader]\nread_only = true\n")
    options = {"option": ["--read-only"], "variable": [], "profile": ["--profile", "reader"]}[mode]
    if mode == "variable":
        monkeypatch.setenv("READ_ONLY", "1")
    options = ["--config", str(tmp_path / "c.toml"), *options]
    rows = run(*options, "list", "--json").json
    assert "add" in {row["name"] for row in rows}
    assert "echo" not in {row["name"] for row in rows}
    assert all(row["state"] == "ready" for row in rows)
    states = {row["name"]: row["state"] for row in run(*options, "list", "--all", "--json").json}
    assert (states["add"], states["echo"]) == ("ready", "refused")
    shown = run(*options, "list", "--all")
    assert any(line.split()[:3] == ["echo", "general", "refused"] for line in shown.out.splitlines())
    assert shown.err.startswith("read-only mode refuses: ")
    assert "echo" in shown.err
    assert "pegboard list --all" in run(*options, "list").err
    assert "refused: in read-only mode" in run(*options, "show", "echo").out
    assert run(*options, "show", "echo", "--json").json["state"] == "refused"
    exported = run(*options, "export", "--to", "json")
    assert [one["name"] for one in exported.json] == sorted(row["name"] for row in rows)
    named = run(*options, "export", "--to", "json", "echo")
    assert (named.status, named.out) == (1, "")
    assert "read-only mode refuses it" in named.err
    called = run(*options, "call", "echo", "value=1", "--json")
    assert called.json["error"]["details"]["reason"] == "read_only"
    assert "echo" not in run(*options, "call", "ech", "--json").json["error"]["message"]


def test_what_a_profile_leaves_out_is_listed_with_all_alone(run, tools, tmp_path):
    (tmp_path / "c.toml").write_text('[profiles.sums]\ntools = ["add*"]\n')
    options = ["--config", str(tmp_path / "c.toml"), "--profile", "sums"]
    assert {row["name"] for row in run(*options, "list", "--json").json} == {"add", "add_async"}
    shown = run(*options, "list", "--all", "--json", "--search", "say")
    assert {row["name"]: row["state"] for row in shown.json} == {"echo": "refused", "who": "refused"}
    assert run(*options, "list", "--all", "--search", "say").err == "the profile 'sums' leaves out: echo, who\n"
