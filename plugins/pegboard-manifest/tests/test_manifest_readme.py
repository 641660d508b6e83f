"""What the README says is what happens."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from pegboard import load_board
from pegboard_manifest import plugin
from pegboard_manifest.bindings import _quiet
from pegboard_manifest.document import load
from pegboard_manifest.testing import contract_cases

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def manifest(tmp_path, monkeypatch):
    """The manifest of the README, in the working directory."""
    (text,) = re.findall(r"```json\n(.*?)```", README, re.DOTALL)
    (tmp_path / "tool.manifest.json").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return load(tmp_path)


async def test_the_call_of_the_readme_answers_what_it_says(manifest, host_with):
    (table,) = re.findall(r"    (\[plugins\.manifest\])\n    (files = .*)\n", README)
    host = await host_with(plugin, config=tomllib.loads("\n".join(table)))
    ((text, width, answer),) = re.findall(r'call textwrap_shorten text="(.*)" width=(\d+)\n    (.*)\n', README)
    result = await host.session().call("textwrap_shorten", {"text": text, "width": int(width)})
    _quiet.restore()
    assert result.text == answer
    assert result.data == manifest.tools["textwrap_shorten"]["examples"][0]["output"]


def test_the_manifest_of_the_readme_keeps_its_contract(manifest):
    for case in contract_cases(manifest.folder):
        case.run()


def test_every_kind_of_coercion_is_named_in_the_readme():
    from pegboard_manifest.document import format_schema

    kinds = set(format_schema()["$defs"]["coercion"]["enum"]) - {"none"}
    assert kinds <= set(re.findall(r"[a-z]+", README))


def test_a_board_that_serves_it_lists_it(manifest):
    board = load_board({"plugins": {"manifest": {"files": ["tool.manifest.json"]}}}, [plugin])
    assert list(board.tools) == ["textwrap_shorten"]
