"""Whatever a program or a probe says: drafts that fit the manifest's format, or reasons, in bounded time."""

from __future__ import annotations

import importlib.resources
import json
from pathlib import Path

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard_manifest.hygiene import sanitise
from pegboard_toolgen.discover import help_text, programs
from pegboard_toolgen.discover._program_drafts import draft_of
from pegboard_toolgen.discover._program_parts import Command, Level, Program
from pegboard_toolgen.discover.programs import discover_program
from pegboard_toolgen.drafts import DiscoveryError, Draft, LeftOut

FORMAT = json.loads(
    importlib.resources.files("pegboard_manifest").joinpath("manifest.schema.json").read_text(encoding="utf-8")
)
BINDING = jsonschema_rs.validator_for({"$ref": "#/$defs/subprocess", "$defs": FORMAT["$defs"]})

PIECES = st.sampled_from(
    [
        "usage:",
        "Usage:\n",
        "NAME",
        "SYNOPSIS",
        "Options:",
        "Commands:",
        "thing",
        "-x",
        "--long",
        "--long=VALUE",
        "[--no-]x",
        "<file>",
        "FILE...",
        "[OPTION]...",
        "{a,b}",
        "[default:",
        "x]",
        "\n",
        "\n\n",
        "",
        "",
        "\n\t",
        "|",
        ",",
        "or:",
        "sub",
        "",
        "description",
        "-",
        "--",
        "...",
        "\x1b[31m",
        "\u202e",
        "\x00",
        "'",
        '"',
        "`",
        "$(id)",
        "{{x}}",
    ]
)
HELPS = st.one_of(
    st.binary(max_size=600).map(lambda data: data.decode("utf-8", "replace")),
    st.lists(st.one_of(PIECES, st.text(max_size=12)), max_size=60).map(" ".join),
    st.lists(PIECES, max_size=80).map("".join),
)
NAMES = st.one_of(
    st.sampled_from(["a", "--x", "-x", "--no-x", "--help", "input_text", "", "é", "-", "--"]), st.text(max_size=8)
)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), NAMES)
CLICK_KEYS = [
    "name",
    "opts",
    "secondary_opts",
    "type",
    "param_type",
    "choices",
    "types",
    "required",
    "nargs",
    "multiple",
    "default",
    "envvar",
    "help",
    "prompt",
    "is_flag",
    "flag_value",
    "count",
    "hidden",
    "is_eager",
    "params",
    "commands",
    "failed",
    "chain",
    "min",
    "max",
    "clamp",
    "mode",
    "formats",
    "param_type_name",
]
ARGPARSE_KEYS = [
    "actions",
    "action",
    "flags",
    "dest",
    "nargs",
    "const",
    "default",
    "type",
    "mode",
    "choices",
    "required",
    "help",
    "hidden",
    "metavar",
    "parsers",
    "helps",
    "groups",
    "members",
    "description",
    "epilog",
    "prefix_chars",
    "fromfile_prefix_chars",
    "range",
]
WORDS = st.sampled_from(
    [
        "option",
        "argument",
        "Choice",
        "IntRange",
        "File",
        "Path",
        "Tuple",
        "_StoreAction",
        "_SubParsersAction",
        "...",
        "+",
        "*",
        "?",
    ]
)


def trees(keys: list[str]) -> st.SearchStrategy[object]:
    return st.recursive(
        st.one_of(SCALARS, WORDS),
        lambda inner: st.one_of(
            st.lists(inner, max_size=4), st.dictionaries(st.one_of(st.sampled_from(keys), NAMES), inner, max_size=10)
        ),
        max_leaves=40,
    )


def check(found: Draft | LeftOut) -> None:
    """A draft holds what the manifest's format asks of it; a reason is short."""
    if isinstance(found, LeftOut):
        assert found.why
        assert len(found.id) <= 1024
        return
    BINDING.validate(json.loads(json.dumps(dict(found.binding))))
    jsonschema_rs.meta.validate(json.loads(json.dumps(dict(found.input_schema))))
    properties = found.input_schema["properties"]
    used = {one["parameter"] for one in found.binding["arguments"] if "parameter" in one}
    used |= {found.binding["stdin"]["parameter"]} if "stdin" in found.binding else set()
    assert set(properties) == used
    assert set(found.input_schema.get("required", ())) <= used
    assert found.input_schema["additionalProperties"] is False
    assert all(name.isidentifier() and name == name.lower() and len(name) <= 80 for name in properties)
    texts = [found.description, found.title or "", *found.notes]
    texts += [one.get("description", "") for one in properties.values()]
    assert all(sanitise(one) == one for one in texts)


@settings(max_examples=35)
@given(text=HELPS)
def test_any_text_as_help_gives_parameters_or_nothing(text):
    clean = sanitise(text, 100_000)
    read = help_text.parse(clean, ("thing",))
    command = Command(
        levels=(Level(word=None, parameters=read.parameters),), text=read.text, terminator=False, notes=read.notes
    )
    check(draft_of(command, Program(id="thing", name="thing", kind="help")))
    for variant in read.variants:
        levels = (Level(word=None), *variant.levels)
        check(draft_of(Command(levels=levels, text=read.text), Program(id="thing", name="thing", kind="help")))
    for word in read.commands:
        assert sanitise(help_text.summary_of(clean, word, ("x",))) == help_text.summary_of(clean, word, ("x",))


@settings(max_examples=35)
@given(tree=trees(CLICK_KEYS), params=st.lists(trees(CLICK_KEYS), max_size=4))
def test_any_json_of_a_click_probe_gives_drafts_or_reasons(tree, params):
    _probe("click", {"params": params, "commands": {"a": tree, "b": {"params": params}}})
    _probe("click", tree)


@settings(max_examples=35)
@given(tree=trees(ARGPARSE_KEYS), actions=st.lists(trees(ARGPARSE_KEYS), max_size=4))
def test_any_json_of_an_argparse_probe_gives_drafts_or_reasons(tree, actions):
    _probe("argparse", {"actions": actions, "groups": [{"members": [0, 1], "required": True}]})
    _probe("argparse", tree)


@settings(max_examples=20)
@given(
    opts=st.lists(NAMES, max_size=3),
    kind=st.fixed_dictionaries({"param_type": WORDS, "choices": st.lists(SCALARS, max_size=3), "mode": NAMES}),
    rest=st.fixed_dictionaries(
        {
            "param_type_name": st.sampled_from(["option", "argument"]),
            "name": NAMES,
            "help": st.text(max_size=30),
            "default": SCALARS,
            "nargs": st.integers(-2, 5),
            **{key: st.booleans() for key in ("required", "multiple", "is_flag", "count")},
        }
    ),
)
def test_any_parameter_of_click_gives_a_draft_or_a_reason(opts, kind, rest):
    _probe("click", {"params": [{"opts": opts, "secondary_opts": opts[1:], "type": kind, **rest}] * 2})


@settings(max_examples=20)
@given(
    action=st.fixed_dictionaries(
        {
            "action": st.sampled_from(
                ["_StoreAction", "_AppendAction", "_StoreTrueAction", "BooleanOptionalAction", ""]
            ),
            "flags": st.lists(NAMES, max_size=3),
            "dest": NAMES,
            "nargs": st.one_of(st.none(), WORDS, st.integers(-1, 4)),
            "type": st.sampled_from([None, "int", "float", "str", "FileType", "Path", "own"]),
            "choices": st.one_of(st.none(), st.lists(SCALARS, max_size=3), st.just({"range": [0, 4, 1]})),
            "required": st.booleans(),
            "help": st.text(max_size=30),
            "default": SCALARS,
            "metavar": st.one_of(NAMES, st.lists(NAMES, max_size=2)),
        }
    ),
)
def test_any_action_gives_a_draft_or_a_reason(action):
    _probe("argparse", {"actions": [action, {**action, "flags": []}], "groups": [{"members": [0, 1]}]})


def _probe(kind: str, tree: object) -> None:
    answer = json.dumps({"kind": kind, "tree": tree, "distribution": tree}).encode()
    look, why = programs.read_answer(answer, "thing", None)
    if look is None:
        assert why
        return
    for one in look.commands:
        check(one if isinstance(one, LeftOut) else draft_of(one, Program(id="thing", name="thing", kind=look.kind)))


@settings(max_examples=20)
@given(data=st.binary(max_size=200))
def test_any_bytes_of_a_probe_give_a_reason(data):
    look, why = programs.read_answer(data, "thing", None)
    assert look is None
    assert why


@pytest.mark.parametrize(
    "text",
    [
        "usage: " + "[" * 50_000,
        "Usage: x\n" + "  -a " * 50_000,
        "Usage: x\n" + "  --a, " * 20_000 + "\n",
        "\n".join(["  -x, --long <a> <b> " + "y" * 500] * 6_000),
        "Commands:\n" + "  a, " * 50_000,
        "Usage: x\nCommands:\n" + "\n".join(f"  c{n}   text" for n in range(50_000)),
        "  " + "a-" * 50_000,
        "Usage: " + "x (" * 20_000,
        "Usage: x\n\n" + ("read write the " * 3_000 + "\n") * 40,
        "  --x  run " + "a " * 40_000 + "\n  --y  b",
        "Usage: x\n\nList, " + "a, or b and " * 5_000,
        "usage: x\n" + "   or: x add [-n | --dry-run] <name>\n" * 10_000,
        "Arguments:\n" + "  <A>  a\n" * 50_000,
        "Usage: x\n" + "  -a  --b  " * 40_000,
        "Usage: x\n\n  -a  " + "with -a" * 30_000 + ", set x",
    ],
)
def test_long_texts_are_read_in_bounded_time(text, in_time):
    with in_time():
        read = help_text.parse(text[: programs.MAX_HELP], ("x",))
        command = Command(levels=(Level(word=None, parameters=read.parameters),), text=read.text, terminator=False)
        check(draft_of(command, Program(id="x", name="x", kind="help")))


@pytest.mark.parametrize(
    ("mode", "name", "hint"),
    [(0o755, "lies-here", "./"), (0o644, "./lies-here", "chmod +x"), (0o755, "is-nowhere", "put it on PATH")],
)
def test_a_program_that_is_not_found_comes_with_the_way_to_it(
    mode: int, name: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lies-here").write_text("#!/bin/sh\n")
    Path("lies-here").chmod(mode)
    with pytest.raises(DiscoveryError) as caught:
        discover_program(name)
    assert hint in str(caught.value.hint)
