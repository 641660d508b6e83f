"""`toolgen.toml`: read strictly, every hint has to mean something."""

from __future__ import annotations

import contextlib
import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import ConfigError
from pegboard_toolgen.drafts import Draft
from pegboard_toolgen.hints import Hints, Matcher, ToolHints, new_hints, read_hints, toml_text


def test_everything_that_can_be_said_is_read() -> None:
    hints = read_hints(
        """
        [select]
        include = ["a*"]
        exclude = ["b"]
        safe = ["c"]
        read_only = true
        [categories]
        read = ["a*"]
        [output]
        default = "open"
        any = ["x"]
        [limits]
        timeout_ms = 5
        rate_limit = "10/minute"
        schema_bytes = 8000
        [project]
        name = "p"
        [servers.api]
        base_url = "https://x"
        auth = [{ kind = "bearer", secret_env = "TOKEN" }]
        retries = 0
        [programs.p]
        allowed_paths = ["data"]
        set_environment = { A = "b" }
        [modules.m]
        isolate = "process"
        [tools."http:GET /a"]
        name = "a"
        examples = [{ input = { x = 1 }, output = { result = 2 }, description = "d" }]
        """
    )
    assert hints == Hints(
        include=("a*",),
        exclude=("b",),
        safe=("c",),
        read_only=True,
        categories={"read": ("a*",)},
        output="open",
        any_output=("x",),
        timeout_ms=5,
        rate_limit="10/minute",
        schema_bytes=8000,
        project={"name": "p"},
        servers={"api": {"base_url": "https://x", "auth": [{"kind": "bearer", "secret_env": "TOKEN"}], "retries": 0}},
        programs={"p": {"allowed_paths": ("data",), "set_environment": {"A": "b"}}},
        modules={"m": {"isolate": "process"}},
        tools={
            "http:GET /a": ToolHints(
                name="a", examples=({"input": {"x": 1}, "output": {"result": 2}, "description": "d"},)
            )
        },
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[select]\ninclud = []", "select.includ: nothing is called so (did you mean include?)"),
        ("[selekt]", "selekt: nothing is called so (did you mean select?)"),
        ("[xyzzy]", "known are categories"),
        ("[tools.a]\nrisk = 'huge'", "expected one of low, medium, high, got 'huge'"),
        ("[tools.a]\nname = 1", "expected a text"),
        ("[tools]\na = 1", "expected a table"),
        ("[select]\ninclude = 'a'", "expected a list of texts"),
        ("[select]\nread_only = 'false'", "expected true or false"),
        ("[limits]\nschema_bytes = 1", "from 1,000 to 1,000,000"),
        ("[limits]\nrate_limit = 'often'", "10/minute"),
        ("[tools.a]\nexamples = [{}]", "examples[0]: expected input"),
        ("[tools.a]\nexamples = [{ input = { x = 2024-01-01 } }]", "JSON values"),
        ("[tools.a]\nexamples = 1", "expected a list of tables"),
        ("[servers.a]\nauth = [{ kind = 'x' }]", "auth[0].kind"),
        ("[servers.a]\nsecret = 'x'", "servers.a.secret"),
        ("x = ", "not TOML"),
    ],
)
def test_what_nobody_knows_is_refused_with_its_place(text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_hints(text)
    assert says in str(caught.value)


def test_a_text_may_begin_as_a_fault_is_told() -> None:
    hints = read_hints("[tools.a]\ndescription = 'expected lifetime of a battery'\n[project]\nname = 'expected '")
    assert hints.tools["a"].description == "expected lifetime of a battery"
    assert hints.project["name"] == "expected "


def test_all_faults_are_said_at_once_up_to_a_bound() -> None:
    with pytest.raises(ConfigError, match="60 faults") as caught:
        read_hints("[select]\n" + "\n".join(f"x{number} = 1" for number in range(60)))
    assert "and 10 faults more" in str(caught.value)


def draft(id_: str, *tags: str) -> Draft:
    return Draft(
        id=id_,
        words=(id_,),
        binding={"kind": "http"},
        input_schema={},
        output_schema={},
        description="",
        kind="openapi",
        where="",
        tags=tags,
    )


def test_globs_fit_ids_names_and_tags() -> None:
    drafts = [draft("http:GET /a", "pets"), draft("http:GET /b"), draft("http:GET /[x]")]
    matcher = Matcher(drafts, {"http:GET /a": "get_a", "http:GET /b": "get_b", "http:GET /[x]": "get_x"})
    assert matcher.ids_of("get_*", "w") == {"http:GET /a", "http:GET /b", "http:GET /[x]"}
    assert matcher.ids_of("pets", "w") == {"http:GET /a"}
    assert matcher.ids_of("http:GET /b", "w") == {"http:GET /b"}
    assert matcher.ids_of("http:GET /[x]", "w") == {"http:GET /[x]"}
    matcher.raise_unmatched()


def test_a_hint_that_fits_nothing_is_an_error_with_the_nearest() -> None:
    matcher = Matcher([draft("http:GET /a")], {"http:GET /a": "get_a"})
    assert matcher.ids_of("get_ab", "select.include") == set()
    assert matcher.id_of("nothing", "tools") is None
    with pytest.raises(ConfigError) as caught:
        matcher.raise_unmatched()
    assert "select.include: 'get_ab' fits no tool of the source (did you mean get_a?)" in str(caught.value)
    assert "2 hints fit nothing" in str(caught.value)


def test_the_first_file_says_nothing_and_can_be_filled_in() -> None:
    assert read_hints(new_hints("program:x y")) == Hints()
    assert read_hints(new_hints("program:x", include=["a", "b"])).include == ("a", "b")
    uncommented = (
        new_hints("program:x", listed=["a", 'b"\n'])
        .replace("# include", "include")
        .replace("#  ", "  ")
        .replace("# ]", "]")
    )
    assert read_hints(uncommented).include == ("a", 'b"\n')


@settings(max_examples=35)
@given(text=st.text(st.characters(codec="utf-8")))
def test_any_text_comes_back_from_toml(text: str) -> None:
    """A foreign text is one TOML string and nothing else."""
    assert tomllib.loads(f"x = {toml_text(text)}") == {"x": text}
    assert read_hints(new_hints(text)) == Hints()


VALUES: Any = st.recursive(
    st.booleans() | st.integers(-3, 10**7) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["input", "kind", "name"]), inner, max_size=2)
    ),
    max_leaves=4,
)


def toml_of(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return toml_text(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_of, value)) + "]"
    return "{" + ", ".join(f"{toml_text(key)} = {toml_of(inner)}" for key, inner in value.items()) + "}"


@settings(max_examples=50)
@given(
    said=st.dictionaries(
        st.sampled_from(["select", "tools", "servers", "limits", "output", "categories", "x"]),
        st.dictionaries(st.sampled_from(["include", "a", "auth", "timeout_ms", "default"]), VALUES, max_size=3)
        | VALUES,
        max_size=4,
    )
)
def test_any_toml_is_hints_or_an_error_that_says_why(said: dict[str, Any]) -> None:
    """No TOML makes the reader fail in another way than by a `ConfigError`."""
    text = "\n".join(f"{key} = {toml_of(value)}" for key, value in said.items())
    with contextlib.suppress(ConfigError):
        assert isinstance(read_hints(text), Hints)
