"""The one sanitiser: every code point at every kind of place, what writing needs, and how much can still hide."""

import json
import math
import re
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pegboard import text as module
from pegboard.text import (
    HIDDEN_CHARACTERS,
    NOTHING,
    WORDS,
    clean,
    clean_value,
    describe,
    is_plain_json,
    visible,
    visible_json,
)

LIST = {
    code
    for inside in HIDDEN_CHARACTERS.values()
    for part in re.findall("(.)(?:-(.))?", inside, 16)
    for code in range(ord(part[0]), ord(part[1] or part[0]) + 1)
}
BREAKS = set("\r\x0b\x0c\x85\u2028\u2029")
NEIGHBOURS = ["a", "é", "я", "ب", "क", "क\u094d", "\u1820", "漢", "1", "❤", "👩", "🏴", " ", "\n", ""]
TURNING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI", "BN"}
"""Bidirectional classes of what shows nothing."""
ENGLAND = "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"

NEEDED = {
    "Persian, parted": "می‌خواهم خانه‌ام",
    "Arabic, at a word's end": "ه‍ ",
    "Hindi": "क्‍ष क्‌ष",
    "Bengali": "র‍্যাব",
    "Kannada": "ರ‍್ಯ",
    "Malayalam": "ന്‍",
    "Sinhala": "ශ්‍රී",
    "Khmer": "ស\u200c៊",
    "Mongolian": "\u182d\u180b\u1820\u1828\u180e\u1820",
    "a family": "👨‍👩‍👧‍👦 👩🏽‍🚀",
    "a heart on fire": "❤️‍🔥 🏳️‍🌈 ☺︎",
    "a keycap": "1️⃣ #️⃣",
    "a flag": ENGLAND,
    "a name": "葛\U000e0100飾 邉\U000e011f",
}


@pytest.mark.parametrize("text", NEEDED.values(), ids=NEEDED)
def test_what_writing_needs_stays(text):
    assert clean(text)[0] is text
    assert clean(text)[1] is NOTHING
    assert visible(text) == text


@pytest.mark.parametrize(
    ("text", "left", "counts"),
    [
        ("hi\U000e0068\U000e0069", "hi", {"tags": 2}),
        ("a\u202eb\u2066c", "abc", {"bidi": 2}),
        ("a\u200bb\ufeffc\u00add", "abcd", {"zero_width": 3}),
        ("a\u200db", "ab", {"zero_width": 1}),
        ("ب\u200d\u200d\u200dب", "ب\u200dب", {"zero_width": 2}),
        ("a\ufe0fb\U000e0150", "ab", {"selectors": 2}),
        ("❤\ufe0f\ufe0f", "❤\ufe0f", {"selectors": 1}),
        ("漢\U000e0100\U000e0101", "漢\U000e0100", {"selectors": 1}),
        ("漢\U000e0120", "漢", {"selectors": 1}),
        ("1\ufe0f", "1", {"selectors": 1}),
        ("😀\ufe0f", "😀", {"selectors": 1}),
        ("a\u3164\u115f", "a", {"fillers": 2}),
        ("a\ud800b\udc00", "ab", {"surrogates": 2}),
        ("a\rb\u2028c\x85d", "a\nb\nc\nd", {"controls": 2, "separators": 1}),
        ("a\r\nb\tc\né\r\n", "a\r\nb\tc\né\r\n", {}),
        ("a\r\r\nb\r\u200b\n", "a\n\r\nb\n\n", {"controls": 2, "zero_width": 1}),
        ("a\x1b(B\x1b=b\x9b1mc\x1b (d", "abc (d", {"escapes": 3, "controls": 1}),
        ("a\x1b[31mred\x1b[0m", "ared", {"escapes": 2}),
        ("a\x1b]0;title\x07b\x1b]8;;http://x\x1b\\c", "abc", {"escapes": 2}),
        ("a\x1bb\x9bm", "abm", {"controls": 2}),
        ("a\x1b]never ended", "a]never ended", {"controls": 1}),
        ("a\x1b\x1b[0m[31m", "a[31m", {"controls": 1, "escapes": 1}),
        (f"{ENGLAND}\U000e0067", ENGLAND, {"tags": 1}),
        ("🏴\U000e0067\U000e0062\U000e007f", "🏴", {"tags": 3}),
        ("ک\u200cx\u200cک", "کxک", {"zero_width": 2}),
    ],
)
def test_what_hides_is_taken_out_and_counted(text, left, counts):
    assert clean(text) == (left, counts)
    assert all(kind in WORDS for kind in clean(text)[1])


@pytest.mark.unmeasured
def test_no_code_point_hides_at_any_place():
    for code in range(0x110000):
        sign = chr(code)
        if code not in LIST:
            assert clean(f"a{sign}b")[0] == f"a{sign}b", hex(code)
            continue
        instead = "\n" if sign in BREAKS else ""
        for text in (f"a{sign}b", sign, f"{sign}a", f"a{sign}", f"a{sign}{sign}b", f"я{sign}я"):
            assert clean(text)[0] == text.replace(sign, instead), (hex(code), text)
            assert sum(clean(text)[1].values()) == text.count(sign)
            assert sign not in visible(text)


@given(
    st.lists(
        st.one_of(
            st.sampled_from(NEIGHBOURS),
            st.sampled_from(
                sorted(map(chr, LIST - set(range(0xE1000)) | {0x200C, 0x200D, 0xFE0E, 0xFE0F, 0x180B, 0x180E}))
            ),
            st.sampled_from(list(NEEDED.values())),
            st.sampled_from(["\x1b", "\x1b[", "\x1b]", "\x07", "m", "\u094d", "\u20e3"]),
            st.characters(),
        )
    ).map("".join)
)
def test_cleaning_twice_is_cleaning_once_and_touches_nothing_visible(text):
    left, counts = clean(text)
    assert clean(left) == (left, NOTHING)
    assert clean(left)[0] is left
    assert (left == text) == (not counts)
    seen = "".join(sign for sign in left if ord(sign) not in LIST)
    if "\x1b" not in text and "\x9b" not in text:
        expected = "".join("\n" if one in BREAKS else one for one in text.replace("\r\n", "\n"))
        assert seen == "".join(sign for sign in expected if ord(sign) not in LIST)
    assert visible(visible(text)) == visible(text)


@given(st.text(st.characters(max_codepoint=126, min_codepoint=32)))
def test_plain_ascii_comes_back_as_the_same_object(text):
    text = f"{text}\n\t{text}"
    assert clean(text)[0] is text


@pytest.mark.parametrize("base", [one for one in NEIGHBOURS if one.strip()])
@pytest.mark.unmeasured
def test_few_bits_can_hide_behind_a_visible_character(base):
    """Every selector and joiner, alone and in pairs, in a run of three of the same base: at most log2(33) bits each."""
    signs = ["", *map(chr, sorted(LIST))]
    if base in "aéя1":
        assert {clean(f"{base}{one}{base}")[0].replace("\n", "") for one in signs} == {(base * 2).replace("\n", "")}
        return
    alone = {clean(f"{base}{one}{base}")[0] for one in signs if one not in BREAKS}
    kept = sorted({one for one in signs if one not in BREAKS and clean(f"{base}{one}{base}")[0] != base * 2} | {""})
    pairs = {clean(f"{base}{one}{other}{base}")[0] for one in kept for other in kept}
    assert math.log2(len(alone | pairs)) <= math.log2(33)
    if len(kept) > 1:
        longest = max(len(clean(f"{base}{''.join(kept * 3)}{base}")[0]) for _ in "x")
        assert longest <= 2 * len(base) + 2


@pytest.mark.unmeasured
def test_the_list_holds_what_unicode_says_as_far_as_python_knows():
    """DerivedCoreProperties.txt: Default_Ignorable_Code_Point is Cf, the selectors and some others, without those that
    show something: numbers' marks (Prepended_Concatenation_Mark), the controls of hieroglyphs, annotation marks, which
    the list has all the same."""
    shown = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD, *range(0x13430, 0x13460)}
    for code in range(0x110000):
        category, name = unicodedata.category(chr(code)), unicodedata.name(chr(code), "")
        is_hidden = (
            (category in ("Cf", "Zl", "Zp", "Cs") and code not in shown)
            or (category == "Cc" and chr(code) not in "\t\n")
            or "VARIATION SELECTOR" in name
            or ("HANGUL" in name and name.endswith("FILLER")) or name == "COMBINING GRAPHEME JOINER"
            or unicodedata.bidirectional(chr(code)) in TURNING
        )  # fmt: skip
        if is_hidden:
            assert code in LIST, hex(code)
        elif code in LIST and name:
            assert code in (0x17B4, 0x17B5), (hex(code), name)  # letters that Unicode's own list ignores


def test_every_sign_that_joins_indic_letters_is_known():
    from pegboard.text import _VIRAMAS

    known = {chr(code) for code in range(0x110000) if unicodedata.combining(chr(code)) == 9}
    pattern = re.compile(f"[{_VIRAMAS}]")
    assert all(pattern.match(one) for one in known)


def test_keys_and_values_of_a_json_value_are_clean():
    value = {"a\u200b": ["x\u202e", {"b": "c"}], "n": 1, "ok": None}
    assert clean_value(value) == ({"a": ["x", {"b": "c"}], "n": 1, "ok": None}, {"zero_width": 1, "bidi": 1})
    plain = {"a": ["x", {"b": "c"}], "n": (1, "z")}
    assert clean_value(plain)[0] is plain


def test_keys_that_become_the_same_are_all_kept():
    value = {"a\u200b": 1, "a": 2, "\u200ba": 3, "a (2)": 4}
    cleaned, counts = clean_value(value)
    assert cleaned == {"a (3)": 1, "a": 2, "a (4)": 3, "a (2)": 4}
    assert list(cleaned) == ["a (3)", "a", "a (4)", "a (2)"]
    assert counts == {"zero_width": 2}


JSON = st.recursive(
    st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)


@given(JSON)
def test_a_json_value_loses_no_member_and_is_clean_afterwards(value):
    def size(one):
        if isinstance(one, (dict, list)):
            return 1 + sum(map(size, one.values() if isinstance(one, dict) else one))
        return 1

    cleaned, counts = clean_value(value)
    assert size(cleaned) == size(value)
    assert clean_value(cleaned) == (cleaned, NOTHING)
    if is_plain_json(json.dumps(value, ensure_ascii=False)):
        assert not counts
        assert cleaned is value


def test_json_is_shown_as_the_same_value():
    value = {"a\u202e": "\U000e0041\x7f é", "b": "\x1b[0m"}
    text = json.dumps(value, ensure_ascii=False, indent=1)
    shown = visible_json(text)
    assert json.loads(shown) == value
    assert clean(shown)[0] is shown


def test_counts_are_said_in_words():
    assert describe({"bidi": 2, "tags": 1200}) == (
        "marks that turn the direction of text (2), characters of the tags block, which only a model reads (1200)"
    )


def _definition(text: str) -> tuple[str, dict[str, int]]:
    """`clean` as one would say it: one character after the other, each judged by what stands around it."""
    found: list[str] = []

    def without(pattern: str, text: str, instead: str = "") -> str:
        found.extend("".join(re.findall(pattern, text, re.VERBOSE)))
        return re.sub(pattern, instead, text, flags=re.VERBOSE)

    text, sequences = re.subn(
        r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)|[()][012AB]|[78=>])"
        r"|\x9b[0-?]+[ -/]*[@-~]",
        "", text,
    )  # fmt: skip
    text = without("\\r(?!\\n)|[\\x0b\\x0c\\x85\\u2028\\u2029]", text, "\n")
    never = f"(?![\\r{module._NEEDED}])[{''.join(HIDDEN_CHARACTERS.values())}]"
    parts = re.split(f"({module._FLAGS})", text)
    text = "".join(part if at % 2 else without(STRAY, without(never, part)) for at, part in enumerate(parts))
    counts = {"escapes": sequences} if sequences else {}
    for one in found:
        kind = next(kind for kind, inside in HIDDEN_CHARACTERS.items() if re.match(f"[{inside}]", one))
        counts[kind] = counts.get(kind, 0) + 1
    return text, counts


_CURSIVE, _PICTOGRAPHS, _INDIC, _VIRAMAS = module._CURSIVE, module._PICTOGRAPHS, module._INDIC, module._VIRAMAS
_MONGOLIAN, _SELECTORS = module._MONGOLIAN, module._MONGOLIAN_SELECTORS
STRAY = rf"""
      (?<![{module.STYLED}]) (?<![0-9\#*](?=\ufe0f\u20e3)) [\ufe0e\ufe0f]
    | (?<![{module._IDEOGRAPHS}]) [{module._NAME_SELECTORS}]
    | (?<![{_MONGOLIAN}]) [{_SELECTORS}]
    | (?<![{_MONGOLIAN}](?=.[\u1820\u1821])) (?<![{_MONGOLIAN}][{_SELECTORS}](?=.[\u1820\u1821])) \u180e
    | (?<![{_CURSIVE}](?=\u200d)) (?<![{_CURSIVE}](?=\u200c[{_CURSIVE}]))
      (?<![{_PICTOGRAPHS}](?=\u200d[{_PICTOGRAPHS}])) (?<![{module.STYLED}][\ufe0e\ufe0f](?=\u200d[{_PICTOGRAPHS}]))
      (?<![{_VIRAMAS}]) (?<![{_INDIC}](?=.[{_VIRAMAS}])) (?<![{_INDIC}](?=\u200c[{module._SHIFTERS}]))
      [\u200c\u200d]
"""
"""What may be needed and stands where it is not, each condition as the documentation of the module has it."""
AROUND = (
    *"a 1#*\n\r\t\\[]0m;@\x07\x1b\x9b\x00\x85\x0b\u2028\ufe0e\ufe0f\u20e3\u200c\u200d\u200b\u180e\u180b\u202e",
    *"\u0628\u064e\u0915\u094d\u0995\u09cd\u1780\u17c9\u1820\u1821\u1822\u4e00\u845b\u00a9\u2764",
    *"\U000e0100\U000e011f\U000e0120\U0001f468\U0001f3fd\U0001f3f4\U000e0067\U000e0062\U000e007f\ud800",
    "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "\x1b[31m", "\x1b]0;t\x07", "\r\n",
)  # fmt: skip


@given(
    st.lists(
        st.sampled_from(AROUND) | st.sampled_from([*BREAKS, "\n"]) | st.characters(exclude_categories=()), max_size=30
    ).map("".join)
)
@example("\r\x0b")
@example("\r\r\n\x85\n")
@settings(max_examples=500)
def test_cleaning_is_what_its_definition_says(text: str) -> None:
    cleaned, counts = clean(text)
    assert (cleaned, dict(counts)) == (_definition(text) if counts else (text, {}))
    if not counts:
        assert _definition(text) == (text, {})
    assert clean(visible(text))[1] == {}


@pytest.mark.parametrize(
    "unit",
    [*module._NEEDED.replace("-", ""), "\u200b", "\U000e0041", "\x01", "\x1b", "\r", "\u2028", "\ud800", "\x1b[",
     "\x1b]", "a\u200d", "a\u2028", "\u0915\u200d", "\u200b\u200d", "\U0001f468\ufe0f\u200d\u200d"],
    ids=ascii,
)  # fmt: skip
def test_a_flood_of_what_hides_is_taken_out_without_a_line_for_each(unit: str, lines_run) -> None:
    clean(unit * 10), visible(unit * 10)  # what is made once
    few, many = (lines_run(lambda size=size: clean(unit * size)) for size in (10, 2_000))
    assert many <= few + 20
    assert clean(unit * 2_000) == _definition(unit * 2_000)


@pytest.mark.parametrize("unit", ["\u200d", "\u200b", "\U000e0041", "\x01", "\ufe0f", "\ud800"], ids=ascii)
def test_a_run_of_what_hides_is_made_visible_definition(unit: str, lines_run) -> None:
    visible(unit * 10)
    few, many = (lines_run(lambda size=size: visible(unit * size)) for size in (10, 2_000))
    assert many <= few + 20
    assert visible(unit * 2_000) == visible(unit) * 2_000
