"""The probe's own parts, in this process, though it runs elsewhere: what it makes of parsers, commands and values."""

from __future__ import annotations

import argparse
import contextlib
import datetime
import enum
import json
import os
import sys
import types
from pathlib import Path
from typing import Literal

import click
import pytest

from pegboard_toolgen.discover import click_tree
from pegboard_toolgen.discover.probes import python_program as probe


class Colour(enum.Enum):
    RED = "red"


class Named(enum.StrEnum):
    BLUE = "blue"


@pytest.fixture(autouse=True)
def _values_of_enumerations(monkeypatch):
    monkeypatch.setattr(probe, "ENUMERATION", ["value"])


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, None), (True, True), (3, 3), (2**70, {"$type": "int"}), (1.5, 1.5), (float("nan"), {"$type": "float"}),
        ("text", "text"), ((1, "a"), [1, "a"]), ({"b", "a"}, ["a", "b"]), (Path("x"), "x"), (Colour.RED, "red"),
        (Named.BLUE, "blue"), (datetime.date(2020, 1, 1), {"$type": "date"}), (object(), {"$type": "object"}),
        ({1: (2,)}, {"1": [2]}), (f"{sys.prefix}/share", ".../share"), (sys, {"$type": "module"}),
    ],
)  # fmt: skip
def test_values_become_json_that_is_the_same_everywhere(value, shown):
    assert probe.plain(value) == shown


def test_a_value_in_itself_ends():
    loop: list = []
    loop.append(loop)
    assert "$type" in json.dumps(probe.plain(loop))


def test_choices_are_listed_or_told_as_a_range():
    assert probe.choices(range(1, 9, 2)) == {"range": [1, 9, 2]}
    assert probe.choices("ab") == ["a", "b"]
    assert probe.choices(3) is None


def test_a_parser_with_everything():
    parser = argparse.ArgumentParser(prog="p", description="About %(prog)s and 100% of it", epilog="End of %(prog)s")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--a", help="with %(default)s", default="d")
    group.add_argument("--b", type=argparse.FileType("w"), metavar="OUT")
    parser.add_argument("--bad", help="50% of it")
    parser.add_argument("--gone", help=argparse.SUPPRESS)
    subs = parser.add_subparsers()
    one = subs.add_parser("one", aliases=["uno"], help="First")
    one.add_argument("x", type=int, choices=range(3))
    tree = probe.plain(probe.argparse_tree(parser))
    by_dest = {action["dest"]: action for action in tree["actions"]}
    assert tree["description"] == "About %(prog)s and 100% of it"
    assert tree["epilog"] == "End of p"
    assert tree["groups"] == [{"required": False, "members": [1, 2]}]
    assert by_dest["a"]["help"] == "with d"
    assert (by_dest["b"]["type"], by_dest["b"]["mode"], by_dest["b"]["metavar"]) == ("FileType", "w", "OUT")
    assert by_dest["bad"]["help"] == "50% of it"
    assert by_dest["gone"]["hidden"] is True
    sub = tree["actions"][-1]
    assert (list(sub["parsers"]), sub["aliases"], sub["helps"]) == (["one"], {"uno": "one"}, {"one": "First"})
    assert sub["parsers"]["one"]["actions"][1]["choices"] == {"range": [0, 3, 1]}
    json.dumps(tree, allow_nan=False)


def test_a_tree_of_click_keeps_what_to_info_dict_leaves_out():
    class Lazy(click.Group):
        def list_commands(self, ctx):
            return ["bad", "none", "good"]

        def get_command(self, ctx, name):
            if name == "bad":
                raise RuntimeError("no")
            return None if name == "none" else good

    good = click.Command(
        "good",
        params=[
            click.Option(["--x"], hide_input=True, prompt=True, default=lambda: 3),
            click.Argument(["y"], metavar="Y"),
        ],
        context_settings={"ignore_unknown_options": True},
    )
    tree = probe.plain(probe.click_tree(Lazy("top", chain=False), "top"))
    assert tree["failed"] == {"bad": "it raised RuntimeError"}
    assert list(tree["commands"]) == ["good"]
    node = tree["commands"]["good"]
    assert node["ignore_unknown_options"] is True
    assert (node["params"][0]["hide_input"], node["params"][0]["default"]) == (True, None)
    assert node["params"][1]["metavar"] == "Y"


def test_too_many_commands_are_cut(monkeypatch):
    monkeypatch.setattr(probe, "MAX_COMMANDS", 3)
    group = click.Group("top", commands={f"c{n}": click.Command(f"c{n}") for n in range(9)})
    tree = probe.click_tree(group, "top")
    assert len(tree["commands"]) < 9
    assert "there are too many" in tree["failed"].values()


def test_commands_of_click_are_known_by_what_they_can_do():
    assert probe.click_command(click.Command("x")) is not None
    assert probe.click_command(print) is None


def test_an_entry_point_needs_its_name_and_a_script_that_speaks_of_its_module(tmp_path):
    script = tmp_path / "pytest"
    script.write_text("from _pytest.config import _console_main")
    about: dict = {}
    assert callable(probe.entry_point("pytest", str(script), about))
    assert about["name"] == "pytest"
    script.write_text("something else")
    assert probe.entry_point("pytest", str(script), {}) is None
    assert probe.entry_point("no-such-script", "", {}) is None


def test_a_script_and_a_module_run_as_the_main_program(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    script = tmp_path / "script"
    script.write_text("print(__name__)")
    probe.run_main(str(script), "")
    assert capsys.readouterr().out == "__main__\n"
    with pytest.raises(ImportError):
        probe.run_main("", "no_such_module_here")


@pytest.fixture
def watched(monkeypatch):
    """argparse and click with the probe in their places, put back afterwards."""
    for name in ("parse_args", "parse_known_args", "parse_intermixed_args", "parse_known_intermixed_args"):
        monkeypatch.setattr(argparse.ArgumentParser, name, getattr(argparse.ArgumentParser, name))
    for kind in {click.core.Command, click.core.Group}:
        for name in ("main", "make_context"):
            if name in vars(kind):
                monkeypatch.setattr(kind, name, getattr(kind, name))
    heard: list[tuple[str, object]] = []
    probe.watch(lambda kind, tree: heard.append((kind, tree)))
    return heard


def test_where_parsing_begins_is_heard(watched):
    argparse.ArgumentParser(add_help=False).parse_known_args([])
    assert watched == []
    parser = argparse.ArgumentParser()
    for parse in (parser.parse_args, parser.parse_known_args, parser.parse_intermixed_args):
        parse([])
    click.Command("x").main([])
    click.Command("x").make_context("x", [])
    assert [kind for kind, _ in watched] == ["argparse", "argparse", "argparse", "click", "click"]


@pytest.mark.parametrize(
    ("code", "kind", "why"),
    [
        ("pass", "none", "it ended without a parser of argparse or click"),
        ("raise SystemExit", "none", "it ended by itself"),
        ("raise ZeroDivisionError", "none", "it raised ZeroDivisionError"),
        ("import argparse; argparse.ArgumentParser().parse_args()", "argparse", None),
    ],
)
def test_the_answer_is_written_to_its_descriptor(tmp_path, monkeypatch, watched, code, kind, why):
    class EndedError(BaseException):
        pass

    def end(status):
        raise EndedError

    script = tmp_path / "script"
    script.write_text(code)
    reader, writer = os.pipe()
    monkeypatch.setattr(sys, "argv", ["-c", str(writer), "thing", str(script), ""])
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(os, "_exit", end)
    with pytest.raises(EndedError):
        probe.main()
    os.close(writer)
    with open(reader, "rb") as file:
        answers = [json.loads(line) for line in file.read().decode().replace("}{", "}\n{").split("\n")]
    assert (answers[0]["kind"], answers[0]["why"]) == (kind, why)


@pytest.fixture
def own_click(monkeypatch):
    """A click inside of another package, whose commands and parameters say nothing of themselves: that of Typer."""
    core = types.ModuleType("typer._click.core")

    class Context:
        def __init__(self, command, info_name=None, parent=None):
            self.allow_extra_args = False

        def scope(self, cleanup=True):
            return contextlib.nullcontext()

    class Parameter:
        def __init__(self, kind, *opts, said=None, **more):
            more = {"secondary_opts": [], "required": False, "nargs": 1, "default": None, **more}
            vars(self).update(more, name=opts[0].lstrip("-"), opts=list(opts), multiple=more.get("multiple", False))
            self.type_descriptor = types.SimpleNamespace(annotation=kind, parameter_info=said)

    class Command:
        help, hidden, deprecated, short_help, epilog = "Does it.", False, False, None, None

        def __init__(self, name, params, commands=None):
            self.name, self.params, self.commands = name, params, commands
            if commands is not None:
                self.list_commands = lambda context: list(commands)
                self.get_command = lambda context, word: commands[word]

        def get_params(self, context):
            return self.params

    Command.__module__ = core.__name__
    core.Context, core.Command, core.Parameter = Context, Command, Parameter
    monkeypatch.setitem(sys.modules, core.__name__, core)
    return core


def test_a_tree_of_the_click_inside_of_typer_is_read(own_click):
    ranged = types.SimpleNamespace(min=1, max=5, clamp=False)
    file = type("FileTextWrite", (), {"__module__": "typer.models"})
    params = [
        own_click.Parameter(str, "name", required=True),
        own_click.Parameter(bool, "--loud", "-l", is_flag=True, secondary_opts=["--quiet"], default=False),
        own_click.Parameter(int, "--times", said=ranged),
        own_click.Parameter(Colour, "--colour", default=Colour.RED),
        own_click.Parameter(Literal["a", "b"], "--mode"),
        own_click.Parameter(list[int], "--tag", multiple=True),
        own_click.Parameter(tuple[int, str], "--pair", nargs=2),
        own_click.Parameter(Path, "--file", said=types.SimpleNamespace(allow_dash=True)),
        own_click.Parameter(file, "--out"),
        own_click.Parameter(datetime.datetime, "--when"),
        own_click.Parameter(float, "--weight", said=types.SimpleNamespace(parser=float)),
        own_click.Parameter(int | None, "--odd"),
        own_click.Parameter(int, "-v", "--verbose", count=True),
        own_click.Parameter(bool, "--install-completion", is_flag=True),
    ]
    inner = own_click.Command("hello", params)
    tree = probe.plain(probe.click_tree(own_click.Command("zoo", [], {"hello": inner}), "zoo"))
    kinds = {one["name"]: one["type"] for one in tree["commands"]["hello"]["params"]}
    assert kinds["times"] == {"param_type": "IntRange", "min": 1, "max": 5, "clamp": False}
    assert kinds["colour"] == {"param_type": "Choice", "choices": ["red"]}
    assert kinds["mode"] == {"param_type": "Choice", "choices": ["a", "b"]}
    assert kinds["tag"] == {"param_type": "Int"}
    assert [one["param_type"] for one in kinds["pair"]["types"]] == ["Int", "String"]
    assert (kinds["file"]["param_type"], kinds["file"]["allow_dash"]) == ("Path", True)
    assert kinds["out"] == {"param_type": "File", "mode": "w"}
    assert kinds["when"]["formats"][0] == "%Y-%m-%d"
    assert kinds["weight"] == {"param_type": "Func"}
    assert kinds["odd"] == {"param_type": "String"}
    (command,) = click_tree.commands_of(tree, "zoo")
    found = {one.name: one for one in command.levels[-1].parameters}
    assert command.levels[-1].word == "hello"
    assert "install-completion" not in found
    assert found["name"].required
    assert not found["name"].flags
    assert (found["loud"].form, found["loud"].off_flags) == ("negatable", ("--quiet",))
    assert (found["colour"].schema, found["colour"].default) == ({"type": "string", "enum": ["red"]}, "red")
    assert found["v"].form == "count"
    assert found["tag"].repeats
