"""Drafts and hints become the tools of a manifest, on the safe side where nobody says anything."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import ConfigError
from pegboard_manifest.document import of_document
from pegboard_toolgen.assemble import ERROR, Assembled, assemble, choose, gather
from pegboard_toolgen.drafts import Discovery, Draft
from pegboard_toolgen.hints import Hints, read_hints
from pegboard_toolgen.names import Lock

OBJECT = {"type": "object"}
PROJECT = {"name": "p", "runtime": "python", "execution_model": "remote-http"}


def draft(id_: str = "http:GET /a", **more: Any) -> Draft:
    method, path = id_.removeprefix("http:").split(" ")
    said: dict[str, Any] = {
        "id": id_,
        "words": (method.lower(), *filter(None, path.split("/"))),
        "binding": {"kind": "http", "server": "api", "method": method, "path": path},
        "input_schema": {"type": "object", "additionalProperties": False},
        "output_schema": OBJECT,
        "description": "Does it.",
        "kind": "openapi",
        "where": "/paths",
    }
    return Draft(**{**said, **more})


def found(*drafts: Draft, **more: Any) -> Discovery:
    said: dict[str, Any] = {
        "source": {"kind": "openapi", "name": "spec.json"},
        "drafts": drafts,
        "servers": {"api": {"base_url": "https://api.example.com"}},
    }
    return Discovery(**{**said, **more})


Make = Callable[..., Assembled]


@pytest.fixture
def make() -> Make:
    def made(*discoveries: Discovery, hints: str | Hints = "", lock: Lock | None = None, **more: Any) -> Assembled:
        said = read_hints(hints) if isinstance(hints, str) else hints
        gathered = gather(discoveries, lock)
        choice = choose(gathered, said, lock or Lock())
        return assemble(gathered, choice, said, lock or Lock(), project=PROJECT, generator="test", **more)

    return made


def tool_of(made: Assembled, name: str = "get_a") -> dict[str, Any]:
    of_document(made.document, ".")
    return next(tool for tool in made.document["tools"] if tool["name"] == name)


def test_what_nobody_says_is_a_write_that_is_not_repeated(make: Make) -> None:
    made = make(found(draft()))
    tool = tool_of(made)
    assert (tool["category"], tool["risk"], tool["idempotency"]) == ("write", "medium", "unknown")
    assert tool["constraints"] == {"read_only_mode_supported": False}
    assert tool["error_schema"] == {"$ref": "#/$defs/error"}
    assert made.document["$defs"] == {"error": ERROR}
    assert [one.name for one in made.unsaid] == ["get_a"]
    assert tool["provenance"]["notes"][0] == "whether it reads or writes is unknown: nothing says so"


def test_a_tool_that_reads_is_safe_and_may_be_repeated(make: Make) -> None:
    tool = tool_of(make(found(draft(category="read"))))
    assert (tool["risk"], tool["idempotency"]) == ("low", "idempotent")
    assert tool["constraints"]["read_only_mode_supported"] is True
    risky = tool_of(make(found(draft(category="read", risk="high"))))
    assert risky["constraints"]["read_only_mode_supported"] is False
    assert tool_of(make(found(draft(category="admin"))))["risk"] == "high"


def test_hints_lie_over_what_the_source_says(make: Make) -> None:
    made = make(
        found(draft(category="write", timeout_ms=1_000, side_effects=["sends"], warnings=["opens files"])),
        hints="""
        [categories]
        analytics = ["get_*"]
        [limits]
        rate_limit = "5/minute"
        [servers.api]
        base_url = "https://other.example.com"
        [project]
        name = "better"
        [tools.get_a]
        name = "look"
        title = "Look"
        description = "Look at it."
        risk = "medium"
        idempotency = "not_idempotent"
        timeout_ms = 5
        side_effects = ["mails"]
        notes = ["slow"]
        allowed_paths = ["x"]
        """,
    )
    tool = tool_of(made, "look")
    assert (tool["category"], tool["risk"], tool["idempotency"], tool["timeout_ms"]) == (
        "analytics",
        "medium",
        "not_idempotent",
        5,
    )
    assert (tool["title"], tool["description"]) == ("Look", "Look at it.")
    assert tool["constraints"] == {
        "read_only_mode_supported": True,
        "side_effects": ["sends", "mails"],
        "rate_limit": "5/minute",
        "allowed_paths": ["x"],
        "notes": ["opens files", "slow"],
    }
    assert made.document["servers"]["api"]["base_url"] == "https://other.example.com"
    assert made.document["project"]["name"] == "better"
    assert made.lock.names == {"http:GET /a": "look"}


def test_a_hint_may_go_on_calling_a_tool_by_its_own_name(make: Make) -> None:
    hints = '[tools.get_a]\nname = "look"\n'
    first = make(found(draft()), hints=hints)
    again = make(found(draft()), hints=hints, lock=first.lock)
    assert again.document == first.document
    assert again.lock == first.lock


@pytest.mark.parametrize(
    ("hints", "why"),
    [
        ('[select]\ninclude = ["get_b"]', "include of toolgen.toml does not fit"),
        ('[select]\nexclude = ["*_a"]', "exclude of toolgen.toml fits"),
        ("[select]\nread_only = true", "it may change something"),
    ],
)
def test_what_hints_leave_out_is_told(make: Make, hints: str, why: str) -> None:
    made = make(found(draft(), draft("http:GET /b", category="read")), hints=hints)
    assert [tool["name"] for tool in made.document["tools"]] == ["get_b"]
    assert [(one.id, why in one.why) for one in made.left_out] == [("http:GET /a", True)]


@pytest.mark.parametrize(
    ("hints", "count"),
    [
        ("", 0),
        ('[select]\nsafe = ["get_a"]', 1),
        ('[select]\ninclude = ["get_a"]', 1),
        ('[select]\ninclude = ["get_*"]', 0),
    ],
)
def test_what_runs_code_is_left_out_unless_a_hint_names_it(make: Make, hints: str, count: int) -> None:
    made = make(found(draft(runs_code="eval")), hints=hints)
    assert len(made.document["tools"]) == count
    assert len([one for one in made.left_out if one.why.startswith("eval: left out unless select.safe")]) == 1 - count


@pytest.mark.parametrize(
    "hints",
    [
        '[select]\ninclude = ["nothing"]',
        '[select]\nexclude = ["nothing"]',
        '[select]\nsafe = ["nothing"]',
        '[categories]\nread = ["nothing"]',
        '[output]\nopen = ["nothing"]',
        '[tools.nothing]\nrisk = "low"',
        "[servers.nothing]\nretries = 1",
    ],
)
def test_a_hint_that_means_nothing_is_an_error(make: Make, hints: str) -> None:
    with pytest.raises(ConfigError, match="nothing"):
        make(found(draft()), hints=hints)


def test_an_example_is_of_hints_else_of_the_source_else_made_up(make: Make) -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    binding = {**draft().binding, "parameters": [{"parameter": "n", "in": "query", "name": "n"}]}
    own = draft(
        input_schema=schema,
        binding=binding,
        examples=[{"input": {"n": "no"}}, {"input": {"n": 3}, "output": {"x": 1}}, {"input": {"n": 3}}, {"input": 1}],
    )
    assert tool_of(make(found(own)))["examples"] == [{"input": {"n": 3}, "output": {"x": 1}}]
    none = draft(input_schema=schema, binding=binding)
    tool = tool_of(make(found(none)))
    assert tool["examples"] == [{"input": {"n": 1}}]
    assert "The example's input is made up." in tool["provenance"]["notes"]
    hinted = make(found(own), hints="[tools.get_a]\nexamples = [{ input = { n = 9 }, output = { y = 2 } }]")
    assert tool_of(hinted)["examples"] == [{"input": {"n": 9}, "output": {"y": 2}}]
    for wrong in ("{ input = { n = 'x' } }", "{ input = { n = 1 }, output = 1 }"):
        with pytest.raises(ConfigError, match="does not fit"):
            make(found(own), hints=f"[tools.get_a]\nexamples = [{wrong}]")


def test_a_tool_that_nothing_can_be_given_to_costs_itself(make: Make) -> None:
    bad = {"type": "object", "properties": {"n": False}, "required": ["n"], "additionalProperties": False}
    made = make(found(draft(input_schema=bad), draft("http:GET /b")))
    assert [tool["name"] for tool in made.document["tools"]] == ["get_b"]
    assert [(one.id, one.why) for one in made.left_out] == [
        ("http:GET /a", "no example that fits the input schema was found")
    ]


def test_only_what_was_selected_is_taken(make: Make) -> None:
    made = make(found(draft(), draft("http:GET /b")), selected=["http:GET /b"])
    assert [tool["name"] for tool in made.document["tools"]] == ["get_b"]
    assert [one.why for one in made.left_out] == ["it was not selected"]
    assert made.lock.names == {"http:GET /b": "get_b"}


def test_outputs_that_were_recorded_stay_where_the_input_is_the_same(make: Make) -> None:
    first = make(found(draft()))
    first.document["tools"][0]["examples"][0].update(output={"x": 1}, recorded=True)
    again = make(found(draft()), before=first.document)
    assert tool_of(again)["examples"] == [{"input": {}, "output": {"x": 1}, "recorded": True}]


def test_an_input_that_was_made_up_and_answered_is_kept(make: Make) -> None:
    schema = {"type": "object", "properties": {"n": {}}, "required": ["n"], "additionalProperties": False}
    binding = {**draft().binding, "parameters": [{"parameter": "n", "in": "query", "name": "n"}]}
    first = make(found(draft(input_schema=schema, binding=binding)))
    assert tool_of(first)["examples"] == [{"input": {"n": "1"}}]
    first.document["tools"][0]["examples"] = [{"input": {"n": "x"}, "output": {"y": 1}, "recorded": True}]
    again = make(found(draft(input_schema=schema, binding=binding)), before=first.document)
    assert tool_of(again)["examples"] == first.document["tools"][0]["examples"]


def test_texts_of_the_source_are_cleaned(make: Make) -> None:
    evil = "a\x1b[2Jb\u202ec"
    tool = tool_of(
        make(
            found(
                draft(
                    description=evil,
                    title=evil + "\n# x",
                    notes=[evil],
                    side_effects=[evil],
                    errors=[{"code": "NOT_FOUND", "when": evil}, {"code": "BOGUS", "when": "x"}],
                )
            )
        )
    )
    assert "\x1b" not in str(tool)
    assert "\u202e" not in str(tool)
    assert "\n" not in tool["title"]
    assert [error["code"] for error in tool["errors"]] == ["NOT_FOUND"]


@pytest.mark.parametrize(
    ("hints", "required"),
    [
        ("", True),
        ('[output]\ndefault = "open"', False),
        ('[output]\nopen = ["get_a"]', False),
        ('[tools.get_a]\noutput = "any"', None),
        ('[output]\nany = ["*"]', None),
    ],
)
def test_answers_are_held_to_as_much_as_hints_say(make: Make, hints: str, required: bool | None) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    output = tool_of(make(found(draft(output_schema=schema)), hints=hints))["output_schema"]
    if required is None:
        assert output == OBJECT
    else:
        assert ("required" in output) is required
        assert "n" in output["properties"]


def test_schemas_keep_within_their_budget(make: Make) -> None:
    properties = {f"field_{number}": {"type": "string", "description": "x" * 200} for number in range(200)}
    made = make(
        found(draft(output_schema={"type": "object", "properties": properties})), hints="[limits]\nschema_bytes = 4000"
    )
    assert len(str(tool_of(made)["output_schema"])) < 4_500


def test_several_sources_keep_apart_what_has_one_name(make: Make) -> None:
    ref = {"type": "object", "properties": {"x": {"$ref": "#/$defs/Item"}}}
    one = found(draft(output_schema=ref), defs={"Item": {"type": "integer"}, "error": {"type": "string"}})
    other = found(
        draft("http:GET /b", output_schema=ref),
        defs={"Item": {"type": "string"}},
        servers={"api": {"base_url": "https://other.example.com"}},
        source={"kind": "openapi", "name": "z.json"},
    )
    made = make(one, other)
    assert make(other, one).document == made.document
    refs = [tool_of(made, name)["output_schema"]["properties"]["x"]["$ref"] for name in ("get_a", "get_b")]
    assert [made.document["$defs"][ref.removeprefix("#/$defs/")]["type"] for ref in refs] == ["integer", "string"]
    bindings = [tool_of(made, name)["binding"] for name in ("get_a", "get_b")]
    urls = [made.document["servers"][one["server"]]["base_url"] for one in bindings]
    assert urls == ["https://api.example.com", "https://other.example.com"]
    assert "api" not in made.document["servers"]
    third = found(source={"kind": "openapi", "name": "a.json"}, servers={"api": {"base_url": "https://third"}})
    more = make(third, one, other).document
    assert {key: more["servers"][key] for key in made.document["servers"]} == made.document["servers"]
    assert more["tools"] == made.document["tools"]


def test_definitions_that_refer_to_different_ones_by_one_name_are_kept_apart(make: Make) -> None:
    outer = {"type": "object", "properties": {"y": {"$ref": "#/$defs/Inner"}}}
    ref = {"type": "object", "properties": {"x": {"$ref": "#/$defs/Outer"}}}
    made = make(
        found(draft(output_schema=ref), defs={"Outer": outer, "Inner": {"type": "integer"}}),
        found(
            draft("http:GET /b", output_schema=ref),
            defs={"Outer": outer, "Inner": {"type": "string"}},
            source={"kind": "openapi", "name": "z.json"},
        ),
    )
    defs = made.document["$defs"]
    for name, kind in (("get_a", "integer"), ("get_b", "string")):
        tool = tool_of(made, name)
        inner = defs[tool["output_schema"]["properties"]["x"]["$ref"].removeprefix("#/$defs/")]
        assert defs[inner["properties"]["y"]["$ref"].removeprefix("#/$defs/")] == {"type": kind}


def zoo(location: str, *drafts: Draft, host: str | None = None) -> Discovery:
    server = {
        "base_url": f"https://{host or location.partition('.')[0]}.example.com",
        "base_url_env": "API_ZOO_BASE_URL",
        "auth": [{"kind": "basic", "username_env": "API_ZOO_USERNAME", "secret_env": "API_ZOO_PASSWORD"}],
    }
    source = {"kind": "openapi", "name": "Zoo", "location": location}
    return found(*drafts, source=source, servers={"api": server})


def test_two_services_of_one_title_share_no_variable_and_lose_no_operation(make: Make) -> None:
    made = make(zoo("a.json", draft(), draft("http:GET /b")), zoo("b.json", draft()))
    variables = [
        value
        for server in made.document["servers"].values()
        for entry in (server, *server["auth"])
        for key, value in entry.items()
        if key.endswith("_env")
    ]
    assert len(variables) == len(set(variables)) == 6
    one, other = [tool for tool in made.document["tools"] if tool["id"].startswith("http:GET /a ")]
    assert one["name"].startswith("get_a_")
    assert other["name"].startswith("get_a_")
    assert len({tool["binding"]["server"] for tool in (one, other)}) == 2
    assert tool_of(made, "get_b")["id"] == "http:GET /b"


def test_an_operation_keeps_its_name_when_that_of_another_service_goes(make: Make) -> None:
    first = make(zoo("a.json", draft()), zoo("b.json", draft(), draft("http:GET /b")))
    later = make(zoo("a.json", draft()), zoo("b.json", draft("http:GET /b")), lock=first.lock)
    kept = {tool["id"]: tool["name"] for tool in later.document["tools"]}
    assert kept.items() <= {tool["id"]: tool["name"] for tool in first.document["tools"]}.items()
    assert len(kept) == 2
    back = make(zoo("b.json", draft(), draft("http:GET /b")), zoo("a.json", draft()), lock=later.lock)
    assert back.document == first.document


def test_a_package_and_a_part_of_it_are_one_module(make: Make) -> None:
    def library(name: str, *functions: str) -> Discovery:
        drafts = [
            Draft(
                id=f"python:m.{one}",
                words=("m", one),
                input_schema={"type": "object", "additionalProperties": False},
                output_schema=OBJECT,
                description="d",
                kind="library",
                where="m.py:1",
                binding={"kind": "python", "module": "m", "qualified_name": f"m.{one}", "parameters": []},
            )
            for one in functions
        ]
        modules = {"m": {"import": "m", "allow": [f"m.{one}" for one in functions]}}
        return found(*drafts, modules=modules, servers={}, source={"kind": "library", "name": name})

    made = make(library("m", "f", "g"), library("m.part", "g", "h"))
    assert made.document["modules"] == {"m": {"import": "m", "allow": ["m.f", "m.g", "m.h"]}}
    assert [tool["id"] for tool in made.document["tools"]] == ["python:m.f", "python:m.g", "python:m.h"]


def test_one_api_in_two_documents_is_one_server(make: Make) -> None:
    made = make(zoo("a.json", draft(), host="x"), zoo("b.json", draft(), draft("http:GET /b"), host="x"))
    assert list(made.document["servers"]) == ["api"]
    assert [tool["id"] for tool in made.document["tools"]] == ["http:GET /a", "http:GET /b"]
    assert "has it already" in made.left_out[0].why


@settings(max_examples=20)
@given(
    owned=st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), unique=True, min_size=1),
    gone=st.sets(st.integers(0, 8)),
    order=st.randoms(use_true_random=False),
)
def test_a_name_stays_on_its_binding_whatever_else_goes(
    owned: list[tuple[str, str]], gone: set[int], order: Random
) -> None:
    """Of operations of several services, in any order: one that remains keeps its name, and no name changes hands."""

    def made(operations: list[tuple[str, str]], lock: Lock) -> Assembled:
        services = [
            zoo(f"{one}.json", *(draft(f"http:GET /{path}") for place, path in operations if place == one))
            for one in "abc"
        ]
        order.shuffle(services)
        sources = gather(services, lock)
        choice = choose(sources, Hints(), lock)
        return assemble(sources, choice, Hints(), lock, project=PROJECT, generator="test")

    def bound(assembled: Assembled) -> dict[str, tuple[str, str]]:
        places = {key: server["base_url"] for key, server in assembled.document.get("servers", {}).items()}
        return {
            tool["name"]: (places[tool["binding"]["server"]], tool["binding"]["path"])
            for tool in assembled.document["tools"]
        }

    first = made(owned, Lock())
    assert len(bound(first)) == len(owned)
    left = [one for number, one in enumerate(owned) if number not in gone]
    later = made(left, first.lock)
    assert bound(later).items() <= bound(first).items()
    assert len(bound(later)) == len(left)
    assert made(owned, later.lock).document == first.document


def test_one_tool_of_two_sources_is_taken_once(make: Make) -> None:
    made = make(found(draft()), found(draft(), source={"kind": "openapi", "name": "z.json"}))
    assert len(made.document["tools"]) == 1
    assert "has it already" in made.left_out[0].why


def test_only_what_tools_use_is_kept(make: Make) -> None:
    python = Draft(
        id="python:m.f",
        words=("m", "f"),
        input_schema={"type": "object", "additionalProperties": False},
        output_schema=OBJECT,
        description="d",
        kind="library",
        where="m.py:1",
        binding={"kind": "python", "module": "m", "qualified_name": "m.f", "parameters": []},
    )
    modules = {"m": {"import": "m", "allow": ["m.f", "m.g"]}, "unused": {"import": "u"}}
    made = make(
        found(draft(), modules=modules, defs={"Unused": {}}),
        found(python, modules=modules, servers={}, source={"kind": "library", "name": "m"}),
    )
    assert made.document["modules"] == {"m": {"import": "m", "allow": ["m.f"]}}
    assert set(made.document["$defs"]) == {"error"}


def test_programs_work_in_the_project(make: Make) -> None:
    program = Draft(
        id="program:p",
        words=("p",),
        input_schema={"type": "object", "additionalProperties": False},
        output_schema=OBJECT,
        description="d",
        kind="help",
        where="p",
        binding={"kind": "subprocess", "program": "p", "arguments": [], "output": {"parser": "text"}},
    )
    discovery = found(program, servers={}, programs={"p": {"argv0": ["p"]}}, source={"kind": "help", "name": "p"})
    assert make(discovery, levels=2).document["programs"]["p"]["cwd"] == "../.."
    hinted = make(discovery, hints='[programs.p]\ncwd = "data"\nallowed_paths = ["x"]').document["programs"]["p"]
    assert (hinted["cwd"], hinted["allowed_paths"]) == ("data", ["x"])


def program(**more: Any) -> Discovery:
    binding = {
        "kind": "subprocess", "program": "p", "arguments": [], "output": {"parser": "text"}, "success_with_output": [1],
    }  # fmt: skip
    one = draft("program:p /a", binding=binding, kind="help", **more)
    return found(one, source={"kind": "help", "name": "p"}, servers={}, programs={"p": {"argv0": ["p"]}})


def test_a_person_says_which_exit_statuses_are_answers(make: Make) -> None:
    assert tool_of(make(program()), "program_p_a")["binding"]["success_with_output"] == [1]
    said = tool_of(make(program(), hints='[tools."program:p /a"]\nsuccess = [0, 1, 3]'), "program_p_a")["binding"]
    assert said["success"] == [0, 1, 3]
    assert "success_with_output" not in said
    with pytest.raises(ConfigError, match="only a program has an exit status"):
        make(found(draft()), hints='[tools."http:GET /a"]\nsuccess = [0]')
    for wrong in ("[]", "[true]", '["1"]', "1", "[256]"):
        with pytest.raises(ConfigError, match="success"):
            read_hints(f'[tools."http:GET /a"]\nsuccess = {wrong}')
