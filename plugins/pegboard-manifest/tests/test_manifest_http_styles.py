"""Values as text in a path, a query, a header and a cookie: the tables of OpenAPI, read back by another reader."""

from __future__ import annotations

from urllib.parse import parse_qsl, unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import ErrorCode, ToolError
from pegboard_manifest.bindings.http import styles

AT = ("color",)
ARRAY = ["blue", "black", "brown"]
OBJECT = {"R": 100, "G": 200, "B": 150}


# OpenAPI 3.1.1, section 4.8.12.4, "Style Examples".


@pytest.mark.parametrize(
    ("style", "explode", "text", "array", "object_"),
    [
        ("matrix", False, ";color=blue", ";color=blue,black,brown", ";color=R,100,G,200,B,150"),
        ("matrix", True, ";color=blue", ";color=blue;color=black;color=brown", ";R=100;G=200;B=150"),
        ("label", False, ".blue", ".blue,black,brown", ".R,100,G,200,B,150"),
        ("label", True, ".blue", ".blue.black.brown", ".R=100.G=200.B=150"),
        ("simple", False, "blue", "blue,black,brown", "R,100,G,200,B,150"),
        ("simple", True, "blue", "blue,black,brown", "R=100,G=200,B=150"),
    ],
)
def test_a_path_holds_what_the_table_of_openapi_says(style, explode, text, array, object_):
    assert styles.path_text(style, explode, "color", "blue", AT) == text
    assert styles.path_text(style, explode, "color", ARRAY, AT) == array
    assert styles.path_text(style, explode, "color", OBJECT, AT) == object_


@pytest.mark.parametrize(
    ("style", "explode", "empty", "array", "object_"),
    [
        ("form", False, "color=", "color=blue,black,brown", "color=R,100,G,200,B,150"),
        ("form", True, "color=", "color=blue&color=black&color=brown", "R=100&G=200&B=150"),
        ("spaceDelimited", False, "color=", "color=blue%20black%20brown", "color=R%20100%20G%20200%20B%20150"),
        ("pipeDelimited", False, "color=", "color=blue%7Cblack%7Cbrown", "color=R%7C100%7CG%7C200%7CB%7C150"),
        ("tabDelimited", False, "color=", "color=blue%09black%09brown", "color=R%09100%09G%09200%09B%09150"),
        ("pipeDelimited", True, "color=", "color=blue&color=black&color=brown", "R=100&G=200&B=150"),
        (
            "deepObject",
            True,
            "color=",
            "color%5B0%5D=blue&color%5B1%5D=black&color%5B2%5D=brown",
            "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150",
        ),
    ],
)
def test_a_query_holds_what_the_table_of_openapi_says(style, explode, empty, array, object_):
    def query(value):
        return "&".join(styles.query_pairs(style, explode, "color", value, AT))

    assert query("") == empty
    assert query(ARRAY) == array
    assert query(OBJECT) == object_
    assert query("blue") == "color=blue"


def test_headers_and_cookies_hold_lists_and_objects():
    assert styles.header_text(False, ARRAY, AT) == "blue,black,brown"
    assert styles.header_text(False, OBJECT, AT) == "R,100,G,200,B,150"
    assert styles.header_text(True, OBJECT, AT) == "R=100,G=200,B=150"
    assert styles.cookie_pairs(True, "color", "b;l=ü", AT) == ["color=b%3Bl=%C3%BC"]
    assert styles.cookie_pairs(True, "color", ARRAY, AT) == ["color=blue", "color=black", "color=brown"]
    assert styles.cookie_pairs(False, "color", ARRAY, AT) == ["color=blue,black,brown"]
    assert styles.cookie_pairs(True, "color", OBJECT, AT) == ["R=100", "G=200", "B=150"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("x", "x"),
        (True, "true"),
        (False, "false"),
        (7, "7"),
        (1.0, "1"),
        (-2.5, "-2.5"),
        (1e300, "1e+300"),
        ({"a": [1]}, '{"a":[1]}'),
        (None, None),
    ],
)
def test_a_scalar_has_the_form_of_json(value, text):
    assert styles.scalar(value, AT) == text


@pytest.mark.parametrize("value", [None, [], {}, [None], {"a": None}])
def test_nothing_to_say_is_left_out_and_refused_in_a_path(value):
    assert styles.query_pairs("form", True, "color", value, AT) == []
    assert styles.query_pairs("deepObject", True, "color", value, AT) == []
    assert styles.header_text(False, value, AT) is None
    assert styles.cookie_pairs(True, "color", value, AT) == []
    assert refusal(styles.path_text, "simple", False, "color", value, AT).details["faults"][0]["path"] == "color"


def test_deep_objects_nest():
    value = {"a": {"b": [1, {"c": None, "d": "x y"}]}, "e": True}
    assert styles.query_pairs("deepObject", True, "q", value, AT) == [
        "q%5Ba%5D%5Bb%5D%5B0%5D=1",
        "q%5Ba%5D%5Bb%5D%5B1%5D%5Bd%5D=x%20y",
        "q%5Be%5D=true",
    ]


def refusal(function, *arguments):
    with pytest.raises(ToolError) as caught:
        function(*arguments)
    assert caught.value.code is ErrorCode.INVALID_INPUT
    assert "nothing was sent" in caught.value.message
    return caught.value


HOSTILE = [
    "",
    ".",
    "..",
    " .. ",
    "a/b",
    "/etc/passwd",
    "a\\b",
    "..\\..",
    "%2e%2e",
    "%2E.",
    "a%2fb",
    "a%5Cb",
    "%252e%252e",
    "%25252e%25252e",
    "a%25252Fb",
    "%2525252525252525252e",
    "%c0%ae%c0%ae",
    "%C0%AF",
    "%u002e%u002e",
    "..;x=1",
    "%2e%2e;",
    "a\x00b",
    "a%00b",
    "a\nb",
    "a%0d%0ab",
    "\x7f",
    "\u2028",
    "\uff0e\uff0e",
    "\u2025",
    "a\uff0fb",
    "http://evil.example/x",
    "https:%2f%2fevil.example",
]


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize("style", ["simple", "label", "matrix"])
def test_what_could_leave_a_segment_is_refused(style, value):
    error = refusal(styles.path_text, style, False, "id", value, ("id",))
    assert error.details["faults"][0]["path"] == "id"
    assert error.message.startswith("id: expected ")
    if value:
        refusal(styles.path_text, style, True, "id", [value, "x"], ("id",))
        refusal(styles.path_text, style, True, "id", {"x": value}, ("id",))
        refusal(styles.path_text, style, True, "id", {value: "x"}, ("id",))


@pytest.mark.parametrize("value", ["--help", "-x", "100%", "a%20b", "v1.2..3", "...", "a b", "ü", "?x#y", "a;b", "%zz"])
def test_what_a_segment_can_hold_arrives_as_it_is(value):
    assert unquote(styles.path_text("simple", False, "id", value, ("id",))) == value


@pytest.mark.parametrize("value", ["a\r\nX: y", "a\nb", "a\x00", "ü", " a", "a ", "a\tb", "\u2028", "a\x7f"])
def test_what_a_header_cannot_carry_is_refused(value):
    refusal(styles.header_text, False, value, ("h",))
    refusal(styles.header_text, False, [value, "x", value], ("h",))


@pytest.mark.parametrize("value", ["a\r\nX: y", "a\nb", "a\x00", "\t"])
def test_what_a_cookie_cannot_carry_is_refused(value):
    refusal(styles.cookie_pairs, True, "c", value, ("c",))
    refusal(styles.cookie_pairs, False, "c", ["x", value], ("c",))


def test_nul_halves_of_characters_and_long_texts_are_refused_everywhere():
    for value in ("a\x00b", "\ud800", "x" * 8_001, ["\x00"], {"\x00": 1}, {"a": {"b": "x" * 9_000}}):
        refusal(styles.query_pairs, "form", True, "q", value, ("q",))
    refusal(styles.query_pairs, "deepObject", True, "q", {"\x00": 1}, ("q",))
    refusal(styles.query_pairs, "form", True, "q", float("nan"), ("q",))


def test_a_delimiter_in_the_data_is_refused_where_the_wire_could_not_tell_it():
    refusal(styles.query_pairs, "spaceDelimited", False, "q", ["a b"], ("q",))
    refusal(styles.query_pairs, "pipeDelimited", False, "q", ["a|b"], ("q",))
    refusal(styles.query_pairs, "tabDelimited", False, "q", ["a\tb"], ("q",))
    refusal(styles.header_text, False, ["a,b"], ("h",))
    refusal(styles.header_text, True, {"a=b": "c"}, ("h",))
    refusal(styles.query_pairs, "deepObject", True, "q", {"a]": 1}, ("q",))
    assert styles.query_pairs("form", False, "q", ["a,b", "c"], ("q",)) == ["q=a%2Cb,c"]


def or_refused(function, *arguments):
    """What it gives; None: INVALID_INPUT."""
    try:
        return function(*arguments)
    except ToolError as problem:
        if problem.code is not ErrorCode.INVALID_INPUT:
            raise
        return None


# Round trips against a reader that knows the formats and none of our code.

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12)
keys = texts.filter(bool)


@settings(max_examples=120)
@given(st.lists(texts, min_size=1, max_size=4), st.booleans())
def test_a_list_in_a_query_is_read_back_as_it_was(items, explode):
    """Any list of texts that is sent in style form is what a reader of forms gets."""
    query = "&".join(styles.query_pairs("form", explode, "q", items, ("q",)))
    assert query.isascii()
    if explode:
        assert parse_qsl(query, keep_blank_values=True) == [("q", item) for item in items]
    else:
        name, _, value = query.partition("=")
        assert name == "q"
        assert [unquote(word) for word in value.split(",")] == items


@settings(max_examples=120)
@given(st.dictionaries(keys, texts, min_size=1, max_size=4), st.sampled_from(["form", "deepObject"]))
def test_an_object_in_a_query_is_read_back_as_it_was(value, style):
    """Any object of texts is what a reader of forms gets, or it is refused for its brackets."""
    pairs = or_refused(styles.query_pairs, style, True, "q", value, ("q",))
    if pairs is None:
        assert any("[" in key or "]" in key for key in value)
        return
    query = "&".join(pairs)
    expected = [(key if style == "form" else f"q[{key}]", item) for key, item in value.items()]
    assert parse_qsl(query, keep_blank_values=True) == expected


@settings(max_examples=200)
@given(
    st.one_of(texts, st.lists(texts, max_size=3), st.dictionaries(keys, texts, max_size=3)),
    st.sampled_from(["simple", "label", "matrix"]),
    st.booleans(),
)
def test_a_value_in_a_path_stays_in_its_segment_or_is_refused(value, style, explode):
    """Whatever the value, what stands in the path has no slash, no backslash and is not dots, however often decoded."""
    text = or_refused(styles.path_text, style, explode, "id", value, ("id",))
    if text is None:
        return
    assert text
    assert text.isascii()
    seen = text
    for _ in range(4):
        assert not set(seen) & set("/\\\r\n\x00")
        seen = unquote(seen)
    if isinstance(value, str):
        prefix = {"simple": "", "label": ".", "matrix": ";id="}[style]
        assert unquote(text.removeprefix(prefix)) == value


@settings(max_examples=100)
@given(st.one_of(texts, st.lists(texts, max_size=3), st.dictionaries(keys, texts, max_size=3)), st.booleans())
def test_a_header_is_one_line_of_ascii_or_is_refused(value, explode):
    """Whatever the value, a header holds printable ASCII and its items can be told apart."""
    text = or_refused(styles.header_text, explode, value, ("h",))
    if text is None:
        return
    assert text.isascii()
    assert text.isprintable()
    if isinstance(value, list):
        assert text.split(",") == value


@settings(max_examples=100)
@given(texts)
def test_a_cookie_is_read_back_as_it_was(value):
    """Whatever the text, a cookie holds one pair, whose value is the text once its encoding is undone."""
    pairs = or_refused(styles.cookie_pairs, True, "c", value, ("c",))
    if pairs is None:
        return
    (pair,) = pairs
    assert not set(pair) & set(' ",;\\\r\n')
    assert unquote(pair.removeprefix("c=")) == value
