"""Click programs: found by their shebang, looked at by their own interpreter, bound so that they can be called."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import attrs
import pytest

from pegboard import ToolError
from pegboard_manifest.bindings.subprocess.words import words_of
from pegboard_toolgen.discover import click_tree
from pegboard_toolgen.discover.programs import discover_program
from pegboard_toolgen.drafts import DiscoveryError, LeftOut

SCRIPT = '''
import json, sys, uuid
import click

@click.group()
@click.version_option("1.0")
@click.option("--profile", help="Which profile.")
def cli(profile):
    """Keep things.

    At length.
    """

@cli.command("show-thing")
@click.argument("name")
@click.argument("count", type=click.IntRange(1, 9), required=False)
@click.option("-f", "--format", "fmt", type=click.Choice(["a", "b"]), default="a", show_default=True, help="Form.")
@click.option("--ratio", type=click.FloatRange(0, 1, max_open=True))
@click.option("-v", "--verbose", count=True)
@click.option("--shout/--no-shout", default=True)
@click.option("--pair", nargs=2, type=(str, int), multiple=True, help="A pair.")
@click.option("-x", "short", help="Short alone.")
@click.option("--upper", "case", flag_value="upper")
@click.option("--lower", "case", flag_value="lower")
@click.option("--maybe", is_flag=False, flag_value="bare")
@click.option("--when", type=click.DateTime())
@click.option("--id", type=click.UUID)
@click.option("--token", envvar="THING_TOKEN", hide_input=True)
@click.option("--secret-option", hidden=True)
def show(**named):
    """Show one thing."""
    print(json.dumps(named, default=str, sort_keys=True))

@cli.command()
@click.argument("db", type=click.Path(dir_okay=False))
@click.argument("file", type=click.File("r"))
@click.option("--out", type=click.Path(writable=True))
@click.option("--eval", "code", help="Python code to run")
def load(db, file, out, code):
    """Load a file into a database."""
    print(db, file.read())

@cli.command(hidden=True)
def secret():
    pass

@cli.command("run-code")
@click.argument("code")
def run_code(code):
    """Evaluate Python code."""

@cli.group()
def inner():
    """Commands of commands."""

@inner.command("drop")
@click.argument("names", nargs=-1, required=True)
@click.option("--profile")
def drop(names, profile):
    """Drop things."""
    print(names, profile)
'''


@pytest.fixture
def program(tmp_path):
    """Writes a script that this Python runs and gives its path."""

    def make(code: str, name: str = "thing", tail: str = "\ncli()\n") -> Path:
        path = tmp_path / name
        path.write_text(f"#!{sys.executable}\n{code}{tail}")
        path.chmod(0o755)
        return path

    return make


@pytest.fixture
def thing(program):
    path = program(SCRIPT)
    return path, discover_program(str(path))


@pytest.fixture
def run(thing, tmp_path):
    """Runs a draft's words for real."""
    path, found = thing
    by_id = {draft.id: draft for draft in found.drafts}

    def call(name: str, stdin: str = "", /, **arguments: object) -> subprocess.CompletedProcess[str]:
        draft = by_id[f"program:thing {name}"]
        words = words_of(draft.binding, found.programs["thing"], arguments, folder=tmp_path)
        return subprocess.run([path, *words[1:]], input=stdin, capture_output=True, text=True, cwd=tmp_path)

    return call


def draft(found, name):
    return next(one for one in found.drafts if one.id == f"program:thing {name}")


def test_every_visible_command_is_a_draft_with_its_path(thing):
    _, found = thing
    assert [one.id for one in found.drafts] == [
        "program:thing inner drop",
        "program:thing load",
        "program:thing run-code",
        "program:thing show-thing",
    ]
    assert found.drafts[0].words == ("thing", "inner", "drop")
    assert found.source["kind"] == "click"
    assert found.programs == {"thing": {"argv0": ["thing"], "argv0_env": "THING_PROGRAM"}}
    assert found.description.startswith("Keep things.")


def test_types_become_schemas(thing):
    properties = draft(thing[1], "show-thing").input_schema["properties"]
    assert properties["format"] == {"type": "string", "enum": ["a", "b"], "description": "Form. Default: a."}
    assert properties["count"] == {"type": "integer", "minimum": 1, "maximum": 9}
    assert properties["ratio"] == {"type": "number", "minimum": 0, "exclusiveMaximum": 1}
    assert properties["verbose"]["type"] == "integer"
    assert properties["shout"]["type"] == "boolean"
    assert properties["pair"]["items"]["prefixItems"] == [{"type": "string"}, {"type": "integer"}]
    assert properties["upper"] == properties["lower"] == {"type": "boolean"}
    assert properties["when"]["description"].startswith("A date and time as %Y-%m-%d")
    assert "pattern" in properties["id"]
    assert {"profile", "short"} <= set(properties)
    assert not {"help", "version", "secret_option"} & set(properties)
    assert draft(thing[1], "show-thing").input_schema["required"] == ["name"]
    assert draft(thing[1], "show-thing").input_schema["additionalProperties"] is False


def test_the_line_that_a_binding_makes_gives_the_program_what_came(run):
    finished = run(
        "show-thing", profile="p", name="n", count=3, format="b", ratio=0.5, verbose=2, shout=False,
        pair=[["a", 1], ["b", 2]], short="v", upper=True,
    )  # fmt: skip
    assert finished.returncode == 0, finished.stderr
    said = json.loads(finished.stdout)
    assert said["name"] == "n"
    assert (said["count"], said["fmt"], said["ratio"], said["verbose"]) == (3, "b", 0.5, 2)
    assert said["shout"] is False
    assert (said["pair"], said["short"], said["case"]) == ([["a", 1], ["b", 2]], "v", "upper")


@pytest.mark.parametrize(("value", "expected"), [("z", "z"), (True, "bare"), (False, None)])
def test_an_option_whose_value_may_be_left_out_takes_true(run, value, expected):
    assert json.loads(run("show-thing", name="n", maybe=value).stdout)["maybe"] == expected


def test_options_of_a_group_stand_before_the_command_and_do_not_clash_with_its_own(run, thing):
    names = draft(thing[1], "inner drop").input_schema["properties"]
    assert {"profile", "thing_profile"} <= set(names)
    assert run("inner drop", names=["a", "b"], profile="p", thing_profile="q").stdout == "('a', 'b') p\n"


def test_a_file_can_be_a_path_or_the_text_itself(run, tmp_path, thing):
    (tmp_path / "rows").write_text("from the file")
    assert run("load", db="x.db", file="rows").stdout == "x.db from the file\n"
    assert run("load", "as text", db="x.db", input_text="as text").stdout == "x.db as text\n"
    loading = draft(thing[1], "load")
    assert loading.binding["stdin"] == {"parameter": "input_text", "format": "text"}
    assert set(loading.input_schema["properties"]) >= {"file", "input_text"}
    assert loading.input_schema["required"] == ["db"]


@pytest.mark.parametrize("hostile", ["--help", "-x", "../other", "/etc/passwd", "a\0b"])
def test_hostile_values_never_start_the_program(run, hostile):
    with pytest.raises(ToolError, match="invalid arguments"):
        run("load", db=hostile, file="rows")


def test_paths_carry_their_access(thing):
    arguments = draft(thing[1], "load").binding["arguments"]
    values = {one["parameter"]: one.get("value") for one in arguments if "parameter" in one}
    assert values["file"] == {"format": "path", "access": "read"}
    assert values["db"] == values["out"] == {"format": "path", "access": "write"}


def test_categories_come_from_verbs(thing):
    by_id = {one.id[14:]: (one.category, one.risk, one.idempotency) for one in thing[1].drafts}
    assert by_id["show-thing"] == ("read", "low", "idempotent")
    assert by_id["load"] == ("write", "medium", None)
    assert by_id["inner drop"] == ("write", "high", None)


def test_code_is_dropped_from_options_and_marks_commands(thing):
    assert "eval" not in draft(thing[1], "load").input_schema["properties"]
    assert any("--eval" in note for note in draft(thing[1], "load").notes)
    assert draft(thing[1], "run-code").runs_code
    assert draft(thing[1], "load").runs_code is None


def test_what_the_environment_and_a_person_would_give_is_noted(thing):
    notes = " ".join(draft(thing[1], "show-thing").notes)
    assert "THING_TOKEN" in notes
    assert "seen by others" in notes


def test_a_program_that_prints_when_it_is_imported_is_found_all_the_same(program):
    path = program('print(\'{"kind": "none"}\')\n' + SCRIPT)
    assert len(discover_program(str(path)).drafts) == 4


def test_the_program_itself_never_begins(program, tmp_path):
    mark = tmp_path / "began"
    path = program(f"import click\n@click.command()\n@click.option('--x')\ndef cli(x):\n    open({str(mark)!r}, 'w')\n")
    assert discover_program(str(path)).drafts[0].id == "program:thing"
    assert not mark.exists()


def test_a_program_with_a_main_of_its_own_is_found_where_it_makes_its_context(program):
    own = (
        "import click\nclass Own(click.Command):\n"
        "    def main(self, *args, **named):\n"
        "        with self.make_context('thing', ['--help']) as context:\n            self.invoke(context)\n"
        "cli = Own('thing', params=[click.Option(['--x'])])\n"
    )
    assert list(discover_program(str(program(own))).drafts[0].input_schema["properties"]) == ["x"]


def test_a_command_that_does_not_load_costs_that_command(program):
    lazy = (
        "import click\nclass Lazy(click.Group):\n"
        "    def list_commands(self, ctx): return ['bad', 'good']\n"
        "    def get_command(self, ctx, name):\n"
        "        if name == 'bad': raise RuntimeError('no')\n"
        "        return click.Command('good', params=[click.Option(['--x'])])\n"
        "cli = Lazy('cli')\n"
    )
    found = discover_program(str(program(lazy)))
    assert [one.id for one in found.drafts] == ["program:thing good"]
    assert found.left_out[0].id == "program:thing bad"
    assert "RuntimeError" in found.left_out[0].why


def test_the_same_drafts_from_another_folder_under_another_seed(program, tmp_path, monkeypatch):
    first = discover_program(str(program(SCRIPT)))
    other = tmp_path / "other"
    other.mkdir()
    copy = other / "thing"
    copy.write_text(program(SCRIPT).read_text())
    copy.chmod(0o755)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("PYTHONHASHSEED", "77")
    monkeypatch.chdir(other)
    second = discover_program("./thing")
    assert _text(first) == _text(second)
    assert str(tmp_path) not in _text(first)


def _text(found) -> str:
    return json.dumps(attrs.asdict(found), default=dict)


def test_another_kind_than_asked_for_is_refused_with_what_to_do(program):
    with pytest.raises(DiscoveryError, match="argparse") as caught:
        discover_program(str(program(SCRIPT)), kind="argparse")
    assert caught.value.hint


def test_a_node_that_is_not_an_object_is_left_out():
    found = list(click_tree.commands_of({"commands": {"a": 3}}, "p"))
    assert found == [LeftOut("program:p a", "its description cannot be read", "p a")]
