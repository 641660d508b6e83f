"""The page of the dialects says of every keyword what the profiles say."""

from __future__ import annotations

from pathlib import Path

import pytest

from pegboard_chat.portable.merge import KNOWN
from pegboard_chat.portable.profiles import JSON_SCHEMA, PROFILES, Profile
from pegboard_chat.portable.words import WORDS

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "dialects.md"
REWRITTEN = {
    "$ref": "written out",
    "$defs": "written out",
    "allOf": "folded",
    "oneOf": "`anyOf`",
    "const": "`enum`",
    "prefixItems": "`items`",
    "title": "left out",
    "nullable": "",
}
LIMITS = (
    "max_levels",
    "max_properties",
    "max_enum",
    "max_text",
    "max_description",
    "max_tools",
    "max_optional",
    "max_unions",
    "max_fields",
)


@pytest.fixture
def lines() -> list[str]:
    if not PAGE.is_file():
        pytest.skip("the documentation is not here: this is the package alone")
    return PAGE.read_text(encoding="utf-8").splitlines()


def cell(keyword: str, profile: Profile) -> str:
    """What becomes of a keyword."""
    if keyword not in profile.keywords:
        if keyword == "additionalProperties" and profile.closed:
            return "`false`, unsaid"
        return REWRITTEN.get(keyword, "words")
    if keyword == "additionalProperties" and profile.closed:
        return "`false`"
    if keyword == "minItems" and profile.min_items is not None:
        return " or ".join(map(str, profile.min_items))
    if keyword == "format" and profile.formats is not None:
        return "some"
    if keyword == "$ref":
        return "circles" if profile.recursion else "written out"
    if keyword == "enum" and len(profile.enum_kinds) < 7:
        return "scalars" if "boolean" in profile.enum_kinds else ", ".join(_kinds(profile))
    return "kept"


def _kinds(profile: Profile) -> list[str]:
    names = {"string": "strings", "number": "numbers"}
    return [names[kind] for kind in names if kind in profile.enum_kinds]


def row(keyword: str) -> str:
    return f"| `{keyword}` | " + " | ".join(cell(keyword, profile) for profile in PROFILES) + " |"


def limits(name: str) -> str:
    values = (getattr(profile, name) for profile in PROFILES)
    return f"| `{name}` | " + " | ".join("" if value is None else f"{value:,}" for value in values) + " |"


def test_the_page_has_a_row_for_every_keyword_as_the_profiles_say(lines: list[str]) -> None:
    keywords = sorted(JSON_SCHEMA.union(*(profile.keywords for profile in PROFILES)) - {"$defs"}, key=str.lower)
    missing = [row(keyword) for keyword in keywords if row(keyword) not in lines]
    assert not missing, "\n".join(missing)
    assert [line for line in lines if line.startswith("| `") and " | " in line[3:]]


def test_the_page_has_no_row_that_no_profile_has(lines: list[str]) -> None:
    start = lines.index("## Keywords")
    stop = next(n for n, line in enumerate(lines) if n > start and line.startswith("## "))
    named = {line.split("`")[1] for line in lines[start:stop] if line.startswith("| `")}
    assert named == JSON_SCHEMA.union(*(profile.keywords for profile in PROFILES)) - {"$defs"}


def test_the_page_has_every_limit(lines: list[str]) -> None:
    missing = [limits(name) for name in LIMITS if limits(name) not in lines]
    assert not missing, "\n".join(missing)


def test_the_page_names_the_formats(lines: list[str]) -> None:
    for profile in PROFILES:
        if profile.formats is not None:
            text = f"| {profile.name} | {', '.join(f'`{name}`' for name in sorted(profile.formats))} |"
            assert text in lines, text


def test_every_keyword_that_can_be_lost_has_words() -> None:
    silent = {"type", "title", "description", "properties", "allOf"}
    assert KNOWN - silent <= WORDS.keys()
