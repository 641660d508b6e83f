"""Programs of many options: which are shown, and that no other is lost."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import ConfigError
from pegboard.dialects import describe, tokens_of
from pegboard_manifest import manifest_of, tool_of
from pegboard_manifest.bindings.subprocess.words import words_of
from pegboard_toolgen.assemble import assemble, choose, gather
from pegboard_toolgen.changes import changes_of
from pegboard_toolgen.discover import help_text
from pegboard_toolgen.discover._program_drafts import draft_of
from pegboard_toolgen.discover._program_parts import Command, Level, Program
from pegboard_toolgen.drafts import Discovery, Draft
from pegboard_toolgen.hints import read_hints
from pegboard_toolgen.names import Lock
from pegboard_toolgen.options import FEW, MOST

PROGRAM = Program(id="big", name="big", kind="help")
TEXT = "Does what its long explanation, of which nobody reads a word, says that it does to each of its files in turn."


def draft_from(options: list[str], usage: str = "big [OPTION]... FILE", more: str = "") -> Draft:
    """Of a help text with these lines of options."""
    listed = "\n".join(f"  {line}  {TEXT}" for line in options)
    whole = f"Usage: {usage}\nDo big things.\n\nOptions:\n{listed}\n{more}"
    read = help_text.parse(whole, ("big",))
    command = Command(levels=(Level(word=None, parameters=read.parameters),), text=read.text, whole=whole)
    made = draft_of(command, PROGRAM)
    assert isinstance(made, Draft)
    return made


def made_of(draft: Draft, hints: str = "") -> tuple[dict[str, Any], dict[str, Any]]:
    """The tool of a draft, and the manifest it is of."""
    found = Discovery(source={"kind": "help", "name": "big"}, drafts=[draft], programs={"big": {"argv0": ["big"]}})
    sources, said = gather([found]), read_hints(hints)
    project = {"name": "p", "runtime": "other", "execution_model": "subprocess"}
    choice = choose(sources, said, Lock())
    document = assemble(sources, choice, said, Lock(), project=project, generator="test").document
    manifest_of(document, ".")
    return document["tools"][0], document


MANY = [f"--option-{number}" for number in range(MOST + 20)]


def test_a_tool_of_a_few_parameters_shows_them_all() -> None:
    tool, _ = made_of(draft_from(MANY[: MOST - 1]))
    assert len(tool["input_schema"]["properties"]) == MOST
    assert "options" not in tool["binding"]


def test_of_many_parameters_those_that_matter_are_shown() -> None:
    options = [*MANY, "-z, --letter", "--used", "--in-usage=NAME"]
    tool, _ = made_of(
        draft_from(options, "big [--in-usage=NAME] [OPTION]... FILE", "\nExamples:\n  big --used a.txt\n")
    )
    shown = tool["input_schema"]["properties"]
    assert len(shown) == FEW + 1
    assert {"file", "letter", "used", "in_usage", "option_0", "options"} <= shown.keys()
    assert all(TEXT in one["description"] for name, one in shown.items() if name.startswith("option_"))


def test_letters_of_an_example_stand_for_their_options() -> None:
    options = [
        *MANY,
        "-c, --create",
        "-f, --file-name=NAME",
        *(f"-{letter}, --long-{letter}" for letter in "abdeghijk"),
    ]
    tool, _ = made_of(draft_from(options * 1, more="\nExamples:\n  big -cf a.tar b\n"))
    assert {"create", "file_name"} <= tool["input_schema"]["properties"].keys()


def test_the_rest_costs_its_names_and_is_named_in_full() -> None:
    draft = draft_from(MANY)
    tool, document = made_of(draft)
    rest = tool["binding"]["options"]["schema"]["properties"]
    said = tool["input_schema"]["properties"]["options"]["description"]
    assert rest.keys() | tool["input_schema"]["properties"].keys() == draft.input_schema["properties"].keys() | {
        "options"
    }
    assert all(f" {name}," in said or f" {name}." in said for name in rest)
    _, whole = made_of(attrs.evolve(draft, order=()))
    assert 3 * cost_of(document) < 2 * cost_of(whole)


def cost_of(document: dict[str, Any]) -> int:
    manifest = manifest_of(document, ".")
    return tokens_of([describe(tool_of(manifest.tools["big"], manifest))])


def test_names_are_cut_by_no_budget() -> None:
    tool, _ = made_of(draft_from(MANY), "limits.schema_bytes = 4000")
    said = tool["input_schema"]["properties"]["options"]["description"]
    assert all(name in said for name in tool["binding"]["options"]["schema"]["properties"])


def test_what_a_person_shows_or_uses_is_shown() -> None:
    last = f"option_{MOST + 19}"
    hints = f'[tools."program:big"]\nshow = ["{last}"]\nexamples = [{{ input = {{ file = "a", option_50 = true }} }}]\n'
    tool, _ = made_of(draft_from(MANY), hints)
    assert {last, "option_50"} <= tool["input_schema"]["properties"].keys()
    with pytest.raises(ConfigError, match=f"did you mean {last}"):
        made_of(draft_from(MANY), f'tools."program:big".show = ["{last}x"]')


@pytest.mark.parametrize("hints", ["select.lean = true", 'tools."program:big".lean = true'])
def test_lean_leaves_the_rest_out_and_says_so(hints: str) -> None:
    tool, _ = made_of(draft_from(MANY), hints)
    assert len(tool["input_schema"]["properties"]) == FEW
    assert {one.get("parameter") for one in tool["binding"]["arguments"]} - {None} <= tool["input_schema"][
        "properties"
    ].keys()
    assert any("option_59" in note for note in tool["provenance"]["notes"])


def test_an_option_that_moves_came_and_went_for_nobody() -> None:
    old, was = made_of(draft_from(MANY))
    new, now = made_of(draft_from(MANY), 'tools."program:big".show = ["option_55"]')
    said = changes_of(old, new, was["$defs"], now["$defs"])
    assert said
    assert not [line for line in said if "came" in line or "is gone" in line]
    fewer, then = made_of(draft_from(MANY[:-1]))
    assert "option --option-59 is gone" in changes_of(old, fewer, was["$defs"], then["$defs"])


@given(chosen=st.sets(st.sampled_from(range(MOST + 20)), max_size=12), inside=st.booleans())
@settings(max_examples=20, deadline=None)
def test_every_option_is_passed_as_it_was_before(chosen: set[int], inside: bool) -> None:
    """No capability is lost: what the whole schema takes makes the same words, said in the object where it stands."""
    draft = draft_from(MANY)
    tool, _ = made_of(draft)
    arguments: dict[str, Any] = {f"option_{number}": True for number in chosen} | {"file": "a"}
    expected = words_of(draft.binding, {"argv0": ["big"]}, arguments)
    rest = tool["binding"]["options"]["schema"]["properties"]
    placed = {key: value for key, value in arguments.items() if key not in rest}
    held = {key: value for key, value in arguments.items() if key in rest}
    if held or inside:
        placed["options"] = held
    assert words_of(tool["binding"], {"argv0": ["big"]}, placed) == expected
