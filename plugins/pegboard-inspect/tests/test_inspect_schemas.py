"""Schemas of real MCP servers in the form: filled in as a person does, called, and what is sent.

`schemas/real.json` has them as their servers list them, each with its package, version and licence, arguments for it,
and the fields that the form has as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pegboard import Tool

REAL = json.loads((Path(__file__).parent / "schemas" / "real.json").read_text(encoding="utf-8"))


async def sends(**arguments: Any) -> dict[str, Any]:
    return {"sent": arguments}


def name_of(one: Any) -> str:
    return f"{one['source'].rpartition('/')[2].rpartition(':')[2]}_{one['tool']}".replace(".", "_")


@pytest.fixture(scope="module")
def look(inspect_board: Any, let_in: Any) -> Iterator[Any]:
    tools = [
        Tool(name=name_of(one), handler=sends, description=one["source"], input_schema=one["schema"]) for one in REAL
    ]
    with inspect_board(tools) as served:
        looking = let_in(served.address())
        yield looking
        looking.context.close()


class Person:
    """Fills in a form by what can be seen of it."""

    def __init__(self, form: Any) -> None:
        self.as_json: set[str] = set()
        self._form = form

    def fill(self, arguments: dict[str, Any]) -> None:
        for name, value in arguments.items():
            self._give(self._row(self._form, name), name, value)

    def _row(self, where: Any, name: str) -> Any:
        label = f"./div[@class='head']/*[contains(@class, 'label')]/b[text()='{name}']"
        return where.locator(f"xpath=.//div[@class='row'][{label}]").first

    def _give(self, where: Any, name: str, value: Any) -> None:
        """Give a value to what stands in a row, or in the way that was chosen there."""
        if where.locator("> .union").count():
            self._choose(where.locator("> .union"), name, value)
        elif where.locator("> .list").count():
            for number, one in enumerate(value):
                where.locator("> .list > button").click()
                item = where.locator("> .list > ol > li").nth(number)
                self._give(item.locator("> .row"), name, one)
        elif where.locator("> .group").count():
            for key, one in value.items():
                self._give(self._row(where.locator("> .group"), key), key, one)
        elif where.locator("> textarea.code").count():
            self.as_json.add(name)
            assert "As JSON:" in where.inner_text()
            where.locator("> textarea").fill(json.dumps(value))
        elif where.locator("> select").count():
            where.locator("> select").select_option(label=value if isinstance(value, str) else json.dumps(value))
        else:
            control = where.locator("> input, > textarea")
            control.fill(str(value) or "x")
            control.fill(str(value))  # an empty text is one that was written and taken away

    def _choose(self, union: Any, name: str, value: Any) -> None:
        """Take the first way that has a place for the value."""
        for way in range(1, union.locator("> select option").count()):
            union.locator("> select").select_option(index=way)
            inside = union.locator("> .way")
            if self._takes(inside, value):
                self._give(inside, name, value)
                return
        pytest.fail(f"{name}: no way takes {value!r}")

    def _takes(self, inside: Any, value: Any) -> bool:
        if isinstance(value, dict):
            if inside.locator("> .group").count():
                return all(self._row(inside, key).count() for key in value)
            return bool(inside.locator("> textarea.code").count())
        if isinstance(value, bool):
            return bool(inside.locator("> select option", has_text="true").count())
        return bool(inside.locator("> textarea:not(.code), > input").count())


def untouched(schema: Any) -> dict[str, Any]:
    """What a form has to send that nobody touched: required lists, and required values that have a default."""
    found = {}
    for name in schema.get("required", ()):
        one = schema["properties"][name]
        if "default" in one or one.get("type") == "array":
            found[name] = one.get("default", [])
    return found


@pytest.mark.parametrize("one", REAL, ids=name_of)
def test_a_schema_of_a_real_server_is_filled_in_and_called(look: Any, one: Any) -> None:
    look.problems.clear()
    page = look.tool(name_of(one))
    raw = page.get_by_label("Arguments as JSON")
    tabs = page.get_by_role("tablist", name="Arguments")
    tabs.get_by_role("tab", name="JSON").click()
    assert json.loads(raw.input_value()) == untouched(one["schema"])
    tabs.get_by_role("tab", name="Form").click()
    person = Person(page.locator(".form"))
    person.fill(one["arguments"])
    assert look.call()["data"] == {"sent": one["arguments"]}
    assert person.as_json == set(one["as_json"])
    assert look.problems == []


def test_there_are_thirty_schemas_of_ten_servers_each_with_its_origin() -> None:
    assert len({name_of(one) for one in REAL}) >= 30
    assert len({one["source"] for one in REAL}) >= 10
    assert all(one["source"] and one["version"] and one["licence"] for one in REAL)
