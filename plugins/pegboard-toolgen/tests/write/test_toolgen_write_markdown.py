"""Documents around foreign texts: whatever these say, headings, sections, lists, tables, links and fences stay ours."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Collection
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from pegboard_toolgen.parts import FULL
from pegboard_toolgen.write import render
from pegboard_toolgen.write._json import text_of
from pegboard_toolgen.write._markdown import code, fence, inline, json_block, paragraphs
from pegboard_toolgen.write.skill import MAX_CHARACTERS, MAX_LINES

READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
HOSTILE = [
    "# Heading\n\nText\n===\n\n## Another",
    "```\nend of fence\n```\n\n~~~~~~~~\n",
    "a `tick` and ``two`` and ``` three ``````",
    "| a | b |\n| --- | --- |\n| c | d |",
    "[click](https://evil.example) ![x](javascript:alert(1)) <https://evil.example> <b>bold</b>",
    "see https://evil.example/a|b or www.evil.example, mail a@b.example, ftp://x.example",
    "<script>alert(1)</script><!-- --> <?php ?> &lt;i&gt; &#60;",
    "- item\n- item\n\n1. one\n1) two\n+ plus\n* star\n\n    code\n\tcode\n> quote\n***\n---\n___",
    "\x1b[31mred\x07 \u202eright to left\u202c \u200bzero\u2028line \U000e0041tag \x00",
    "---\nname: other\n---\n",
    "[a]: https://evil.example 'title'\n\n[a]",
    "\\", "\\`", "`", "``", "|", "a|b\\|c\\", "*", "__init__ and *emphasis* and ~~gone~~", "$x$ {{ template }} {% x %}",
    "A.\n\n\n\n\nB.", "", " ", "\n", "=", "-", "1.", "12) x", ":", "!", "![", "[ ]", "\\\n", "a  \nb\\\nc",
]  # fmt: skip


def structure(text: str) -> list[tuple[str, str, str]]:
    """Everything that a reader sees but words: blocks, their level and mark, and what stands inside lines."""
    seen: list[tuple[str, str, str]] = []
    for token in READER.parse(text):
        if token.type == "inline":
            seen += [("inline", one.type, one.attrGet("href") or "") for one in token.children or () if is_mark(one)]
        elif token.type == "fence":
            seen.append(("fence", token.info, ""))
        elif token.type not in ("paragraph_open", "paragraph_close"):
            seen.append((token.type, token.tag, token.markup))
    return seen


def is_mark(token: Token) -> bool:
    return token.type not in ("text", "text_special", "softbreak", "code_inline")


def words(text: str) -> str:
    """What a reader reads, in a row."""
    shown: list[str] = []
    for token in READER.parse(text):
        shown += [one.content for one in token.children or () if one.type != "softbreak"]
    return "".join(shown)


def hostile_everywhere(manifest: dict[str, Any], text: str) -> dict[str, Any]:
    """A manifest that says the text wherever one can be said that is not a name."""
    manifest = copy.deepcopy(manifest)
    manifest["project"].update(name=text or " ", version=text, description=text)
    manifest["servers"]["api"]["base_url"] = f"https://shop.example/{text}"
    manifest["programs"]["shop"]["argv0"] = [text or "x"]
    manifest["modules"]["prices"]["distribution"] = text
    for tool in manifest["tools"]:
        tool.update(title=text, description=text or " ", errors=[{"code": "NOT_FOUND", "when": text or "x"}])
        tool["examples"] = [{"input": {text or "x": text}, "description": text, "output": {text: text}}]
        tool["constraints"] = {key: [text or "x"] for key in ("side_effects", "notes")}
        tool["constraints"]["allowed_paths"] = [text.replace("\x00", "") or "x"]
        tool["constraints"]["rate_limit"] = text or "x"
        tool["input_schema"]["properties"] = {"a" + text: {"description": text, "enum": [text], "default": text}}
        tool["output_schema"] = {"type": "object", "properties": {"a" + text: {"description": text}}}
        if tool["binding"]["kind"] != "subprocess":
            continue
        tool["binding"]["arguments"] = []
    return manifest


def bodies(files: dict[str, bytes]) -> dict[str, str]:
    """The documents without their front matter, whatever the folder of the skill is called."""
    named = {("SKILL.md" if name.endswith("/SKILL.md") else name): text for name, text in files.items()}
    read = {name: named[name].decode() for name in ("README.md", "skill.md", "SKILL.md")}
    return {name: text.split("\n---\n", 1)[1] if text.startswith("---\n") else text for name, text in read.items()}


texts = st.one_of(
    st.sampled_from(HOSTILE),
    st.lists(st.sampled_from([*HOSTILE, "\n", "\n\n", " ", "word"]), max_size=5).map("".join),
    st.text(alphabet=st.sampled_from("#`|[]()<>!*_~-=+>&\\\n \t:/@.1a{}$\u2028\u202e\x00\x1b"), max_size=60),
    st.text(max_size=40),
)


@pytest.fixture
def calm(shop: dict[str, Any]) -> dict[str, Any]:
    """The structure of documents around a text that is harmless."""
    files = bodies(render(hostile_everywhere(shop, "calm words")))
    return {name: no_optional(structure(body)) for name, body in files.items()}


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=texts)
def test_no_text_changes_the_structure_of_a_document(text: str, shop: dict[str, Any], calm: dict[str, Any]) -> None:
    for name, body in bodies(render(hostile_everywhere(shop, text))).items():
        assert no_optional(structure(body)) == calm[name], name


def no_optional(seen: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Without the one row that an empty text leaves out, and code that was too long for a line."""
    return [(one, two if one != "fence" else "", three if one != "inline" else "") for one, two, three in seen]


@settings(max_examples=50)
@given(text=texts)
@example("a\\|b")
@example("`|`")
def test_foreign_text_is_words_in_a_line_and_in_a_cell(text: str) -> None:
    for shown in (inline(text), code(text)):
        assert "\n" not in shown
        for document in (f"before {shown} after\n", f"{shown}\n", f"| a | b |\n| --- | --- |\n| {shown} | {shown} |\n"):
            marks = [one for one in structure(document) if one[0] == "inline"]
            assert marks == []
        table = READER.parse(f"| a | b |\n| --- | --- |\n| {shown} | {shown} |\n")
        assert [token.type for token in table].count("td_open") == 2
        assert [token.type for token in READER.parse(f"{shown}\n")] in (
            [],
            ["paragraph_open", "inline", "paragraph_close"],
        )


@settings(max_examples=35)
@given(text=st.text(alphabet=st.characters(codec="utf-8", min_codepoint=32, max_codepoint=0x2FF), max_size=60))
def test_a_reader_reads_the_words_that_were_said(text: str) -> None:
    from pegboard_manifest.hygiene import sanitise

    said = "".join(sanitise(text, one_line=True).split())
    assert "".join(words(f"x {inline(text)}\n").split()) == "x" + said


@settings(max_examples=20)
@given(text=texts)
def test_a_block_of_code_holds_all_of_its_text(text: str) -> None:
    (token,) = READER.parse("\n".join(json_block({"text": text})))
    assert token.type == "fence"
    assert json.loads(token.content) == {"text": text}
    clean = text.replace("\x00", "").replace("\r", "")
    (token,) = READER.parse("\n".join(fence(clean, "text")))
    assert token.content == clean + "\n"


@settings(max_examples=20)
@given(text=st.text(max_size=40))
def test_json_is_the_same_value_and_shows_every_character(text: str) -> None:
    written = text_of({"text": text, "n": [1, 2.5, None, True]})
    assert json.loads(written) == {"text": text, "n": [1, 2.5, None, True]}
    assert not set(written) & set("\u202e\u200b\u2028\x00\x1b\x7f\ud800")


def test_paragraphs_stay_paragraphs() -> None:
    assert paragraphs("One\ntwo.\n\n# Three\n\n\n- four") == ["One", "two.", "", "\\# Three", "", "\\- four", ""]


@pytest.mark.parametrize(
    "text",
    ["Request & Response", "C# and F#", "a -> b", "pip install x!", "10 $ a day", "snake_case", "x = 1", "2.5 litres"],
)
def test_harmless_signs_stay_as_they_are(text: str) -> None:
    assert inline(text) == text


@pytest.mark.parametrize("end", [".", ")", "?).", ""])
def test_a_sentence_ends_behind_its_address(end: str) -> None:
    assert inline(f"See https://x.example/options.html{end}") == f"See `https://x.example/options.html`{end}"


def test_a_long_text_is_cut() -> None:
    assert inline("word " * 1000, 20) == "word word word wo..."


@pytest.mark.parametrize("text", [*HOSTILE, "a" * 5000, "--- --- ----", "é: 'x' \"y\" #z {a} [b]", "日本"])
def test_the_front_matter_is_two_texts_by_the_rules_of_skills(text: str, shop: dict[str, Any]) -> None:
    files = render(hostile_everywhere(shop, text))
    (path,) = (name for name in files if name.endswith("/SKILL.md"))
    beside = files["skill.md"].decode().replace(f"]({path.split('/')[0]}/references/", "](references/")
    assert files[path].decode().replace("../", "") == beside
    opening, matter, _ = files[path].decode().split("---", 2)
    assert opening == ""
    said = yaml.safe_load(matter)
    assert set(said) == {"name", "description", "compatibility"}
    assert said["name"] == path.split("/")[0]
    assert 1 <= len(said["name"]) <= 64
    assert 1 <= len(said["description"]) <= 1024
    assert not set("<>\n") & set(said["description"])


def test_a_skill_has_its_sections_and_every_tool_its_examples(shop: dict[str, Any]) -> None:
    text = render(shop)["skill.md"].decode()
    tokens = READER.parse(text.split("\n---\n", 1)[1])
    headings = [(token.tag, tokens[at + 1].content) for at, token in enumerate(tokens) if token.type == "heading_open"]
    assert [content for tag, content in headings if tag == "h2"] == [
        "What it does",
        "When to use it, and when not",
        "Tools",
        "Inputs and outputs",
        "Examples",
        "Failure modes and codes",
        "Safety and constraints",
        "Operational notes",
    ]
    blocks = [json.loads(token.content) for token in tokens if token.type == "fence"]
    for tool in shop["tools"]:
        call = {"name": tool["name"], "arguments": tool["examples"][0]["input"]}
        assert blocks.count(call) == 1
    (request,) = (block for block in blocks if "jsonrpc" in block)
    assert request["params"] in blocks
    assert {**request, "params": None} == {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": None}


def links_of(text: str) -> set[str]:
    children = [child for token in READER.parse(text) for child in token.children or ()]
    return {str(child.attrGet("href")) for child in children if child.type == "link_open"}


@pytest.mark.parametrize(
    ("count", "parts"), [(3, FULL), (3, ("schemas",)), (3, FULL - {"schemas"}), (70, FULL), (70, ())]
)
def test_every_link_leads_to_a_file_that_is_there(count: int, parts: Collection[str], shop: dict[str, Any]) -> None:
    import posixpath

    shop["tools"] = [{**shop["tools"][at % 3], "name": f"{shop['tools'][at % 3]['name']}_{at}"} for at in range(count)]
    files = render(shop, parts)
    seen = set()
    for name, content in files.items():
        if name.endswith(".md"):
            for link in links_of(content.decode()):
                target = posixpath.normpath(posixpath.join(posixpath.dirname(name), link))
                assert target in files, (name, link)
                seen.add(target)
    assert {name for name in files if name.startswith("schemas/")} <= seen


def test_a_skill_says_nothing_twice(shop: dict[str, Any]) -> None:
    """What holds of several tools stands in one row, and no sentence comes again."""
    one = {**shop["tools"][2], "errors": [{"code": "NOT_FOUND", "when": "There is no such thing in the whole shop."}]}
    words = ("first", "second", "third")
    shop["tools"] = [
        {
            **one,
            "name": f"shop_{word}",
            "description": f"It finds the {word} thing that is asked for. See {word} there.",
        }
        for word in words
    ]
    text = render(shop, set())["skill.md"].decode().split("\n---\n", 1)[1]
    sentences = re.findall(r"[A-Z][^.|\n]{25,}\\.", text)
    assert [said for said in sentences if sentences.count(said) > 1] == []
    assert "| all | `NOT_FOUND` | There is no such thing in the whole shop. |" in text
    assert "| Tool | What it does |\n" in text
    assert "Of all of them: category read, risk low, repeat safe." in text


def test_arguments_of_every_tool_are_said_once_and_choices_too(shop: dict[str, Any]) -> None:
    one = shop["tools"][2]
    color = {"type": "string", "enum": ["auto", "never"], "description": "When to use colors: auto or never."}
    sort = {"type": "string", "enum": ["up", "upper"], "description": "One way up."}
    schema = {**one["input_schema"], "properties": {"color": color, "sort": sort}, "required": []}
    shop["tools"] = [{**one, "name": f"shop_{number}", "input_schema": schema} for number in range(3)]
    shop["tools"][2] = {**shop["tools"][2], "input_schema": {**schema, "properties": {"color": color}}}
    text = render(shop, set())["skill.md"].decode()
    assert text.count("| `color` | string | no | When to use colors: auto or never. |") == 1
    assert text.count('| `sort` | string | no | One way up. One of `"up"`, `"upper"`. |') == 2
    assert "### shop_2\n\n" in text
    assert text.count("Takes no others.") == 1


def test_examples_that_ran_stand_before_those_that_did_not(shop: dict[str, Any]) -> None:
    ran = {"input": {"data": [3]}, "output": {"result": 3}}
    shop["tools"][1]["examples"] = [{"input": {"data": [1]}}, ran]
    text = render(shop)["skill.md"].decode()
    blocks = [json.loads(token.content) for token in READER.parse(text.split("\n---\n", 1)[1]) if token.type == "fence"]
    assert {"name": shop["tools"][1]["name"], "arguments": {"data": [3]}} in blocks
    assert {"name": shop["tools"][1]["name"], "arguments": {"data": [1]}} not in blocks


def test_a_skill_stays_a_page(shop: dict[str, Any]) -> None:
    one = shop["tools"][2]
    for count in (1, 8, 30):
        shop["tools"] = [{**one, "name": f"shop_{number:03}"} for number in range(count)]
        files = render(shop)
        assert len(files["skill.md"].decode().splitlines()) <= MAX_LINES
        assert len(files["skill.md"]) <= MAX_CHARACTERS
        assert ("shop-tools/references/shop_000.md" in files) is (count == 30)


IDS = (
    ("python:zoo.cats.feed", "python:zoo.cats.wash", "python:zoo.dogs.feed"),
    ("program:git remote add", "program:git remote show", "program:git status"),
    ("http:GET /v1/cats", "http:GET /v1/cats/{id}", "http:POST /v1/dogs"),
)
GROUPS = (["zoo.cats", "zoo.dogs"], ["git", "git remote"], ["/v1/cats", "/v1/dogs"])


@pytest.mark.parametrize(("ids", "groups"), [*zip(IDS, GROUPS, strict=True)])
def test_very_many_tools_are_listed_by_what_they_belong_to(
    ids: Collection[str], groups: list[str], shop: dict[str, Any]
) -> None:
    one = shop["tools"][2]
    shop["tools"] = [
        {**one, "id": f"{id_}{number if number else ''}", "name": f"tool_{place}_{number:03}"}
        for place, id_ in enumerate(ids)
        for number in range(40)
    ]
    files = render(shop, set())
    text = files["skill.md"].decode()
    assert len(text) <= MAX_CHARACTERS
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| `") and line.count(" | ") == 2]
    found = {row[0].strip("| `"): int(row[1]) for row in rows if row[1].isdigit()}
    assert sum(found.values()) == 120
    assert {name.rstrip("0123456789") for name in found} == {*groups}
    index = files["shop-tools/tools.md"].decode()
    assert index.count("](references/tool_") == 120
    assert all(f"shop-tools/references/tool_{place}_000.md" in files for place in range(3))


def test_of_many_tools_each_has_a_page(shop: dict[str, Any]) -> None:
    shop["tools"] = [{**shop["tools"][2], "name": f"shop_{number:03}"} for number in range(70)]
    files = render(shop)
    assert len(files["skill.md"]) < 20_000
    page = files["shop-tools/references/shop_069.md"].decode()
    assert page.startswith("# shop_069\n")
    assert '"method": "tools/call"' in page
    assert "| `shop_069` |  | paths in `.` |  |" in page


def test_a_tool_of_no_arguments_and_a_long_answer_are_said(shop: dict[str, Any]) -> None:
    tool = shop["tools"][1]
    tool["input_schema"] = {"type": "object", "additionalProperties": False}
    tool["output_schema"] = {"type": "object"}
    tool["examples"] = [{"input": {}, "output": {"result": "x" * 5000}}]
    text = render(shop)["skill.md"].decode()
    assert "Takes no arguments." in text
    assert "x" * 1000 in text
    assert "x" * 3000 not in text


def test_types_are_said_through_references_and_choices(shop: dict[str, Any]) -> None:
    text = render(shop)["skill.md"].decode()
    assert "| `item` | object | yes |" in text
    assert "| `note` | string | no |" in text
    tool = shop["tools"][0]
    tool["input_schema"]["properties"] = {
        "a": True,
        "b": {"type": ["integer", "null"], "enum": [*range(20)]},
        "c": {"type": "array", "items": {"type": "string"}},
        "d": {"type": "array", "items": {}},
        "e": {"$ref": "#/$defs/loop"},
    }
    shop["$defs"]["loop"] = {"$ref": "#/$defs/loop"}
    text = render(shop)["skill.md"].decode()
    for row in (
        "| `a` | any |",
        "| `b` | integer or null |",
        "| `c` | array of string |",
        "| `d` | array |",
        "| `e` | any |",
    ):
        assert row in text
    assert "..., " not in text
    assert "`11`, ...." in text
