"""`roll_dice` as a caller meets it: through a host."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import attrs
import pytest

import pegboard_dice.plugin
from pegboard import ErrorCode, open_host, thaw
from pegboard_dice.plugin import DicePlugin

SEEDED = {"plugins": {"dice": {"seed": 7}}}


class Fixed:
    """Dice that show 6, 4, 3, 2, and that again."""

    def __init__(self) -> None:
        self._next = 0

    def randint(self, a: int, b: int, /) -> int:
        value = (6, 4, 3, 2)[self._next % 4]
        self._next += 1
        return max(a, min(b, value))


async def test_a_roll_shows_its_dice_and_carries_them_as_data() -> None:
    async with open_host(plugins=[DicePlugin(lambda session: Fixed())]) as host:
        result = await host.session().call("roll_dice", {"notation": "4D6 kh3"})
    assert result.text == "Rolled 4d6kh3: [6, 4, 3, 2] → kept [6, 4, 3] = **13**"
    assert result.data is not None
    assert result.data["total"] == 13
    assert [die["kept"] for die in result.data["terms"][0]["dice"]] == [True, True, True, False]


async def test_the_tool_says_what_it_is() -> None:
    async with open_host(plugins=[pegboard_dice.plugin]) as host:
        tool = host.tools["roll_dice"]
    assert (tool.category, tool.read_only, tool.annotations.open_world) == ("fun", True, False)
    assert tool.input_schema["required"] == ["notation"]
    assert tool.description


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"notation": "4d6kh5"}, "character 6: the number of dice to keep must be from 1 to 4, got 5"),
        ({"notation": "0d6"}, "character 1"),
        ({"notation": ""}, "nothing to roll"),
        ({"notation": 6}, "string"),
        ({}, "notation"),
        ({"dice": "2d6"}, "notation"),
    ],
)
async def test_a_wrong_call_is_answered_with_how_to_repair_it(arguments: dict[str, Any], says: str) -> None:
    async with open_host(plugins=[pegboard_dice.plugin]) as host:
        result = await host.session().call("roll_dice", arguments)
    assert result.error is not None
    assert result.error.code is ErrorCode.INVALID_INPUT
    assert says in result.error.message


async def test_the_largest_answer_fits_its_own_schema() -> None:
    async with open_host(plugins=[DicePlugin(lambda session: random.Random(7))]) as host:
        session = host.session()
        largest = await session.call("roll_dice", {"notation": "100d1000!>1"})
        fudge = await session.call("roll_dice", {"notation": "4dFr-1!kh2-1d4+2"})
    assert largest.ok, largest.error
    assert fudge.ok, fudge.error


async def test_with_a_seed_every_session_rolls_the_same_and_not_always_the_same() -> None:
    async with open_host(SEEDED, plugins=[pegboard_dice.plugin]) as host:
        first, second = host.session(), host.session()
        ones = [(await first.call("roll_dice", {"notation": "1d1000"})).text for _ in range(5)]
        twos = [(await second.call("roll_dice", {"notation": "1d1000"})).text for _ in range(5)]
    assert ones == twos
    assert len(set(ones)) > 1


async def test_without_a_seed_no_two_sessions_roll_the_same() -> None:
    async with open_host(plugins=[pegboard_dice.plugin]) as host:
        texts = [(await host.session().call("roll_dice", {"notation": "50d1000"})).text for _ in range(2)]
    assert texts[0] != texts[1]


async def test_a_seed_set_through_the_settings_leaves_randomness_of_ones_own_alone() -> None:
    async with open_host(SEEDED, plugins=[DicePlugin(lambda session: Fixed())]) as host:
        result = await host.session().call("roll_dice", {"notation": "1d6"})
    assert result.text == "Rolled 1d6: **6**"


def test_the_settings_are_one_seed() -> None:
    assert [field.name for field in attrs.fields(pegboard_dice.plugin.provide_settings())] == ["seed"]


async def test_the_examples_are_calls_that_answer_as_they_say() -> None:
    async with open_host(plugins=[pegboard_dice.plugin]) as host:
        for tool in host.tools.values():
            assert tool.examples
            for example in tool.examples:
                result = await host.session().call(tool.name, thaw(example.arguments))
                assert result.ok, result.error
                assert example.text in (None, result.text)


async def test_the_readme_shows_what_a_call_answers() -> None:
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    async with open_host(plugins=[DicePlugin(lambda session: Fixed())]) as host:
        for notation in ("4d6kh3", "4d6kh5"):
            result = await host.session().call("roll_dice", {"notation": notation})
            assert f"    $ pegboard call roll_dice notation={notation}\n    {result.text}\n" in readme


CHILD = """
import os
import sys

import trio

import pegboard_dice.plugin
from pegboard import open_host

seen = []
watching = False


def watch(event, arguments):
    if watching and event.startswith(("open", "os.", "socket.", "subprocess.", "shutil.", "ctypes.")):
        seen.append(event)


async def main():
    global watching
    async with open_host(plugins=[pegboard_dice.plugin]) as host:
        session = host.session()
        calls = [{"notation": text} for text in ("4d6kh3", "100d1000!>1", "4dF-1", "0d6", "qqq")] + [{"dice": "d6"}]
        for arguments in calls:  # the host imports and compiles what it needs at the first call
            await session.call("roll_dice", arguments)
        watching = True
        for arguments in calls:
            await session.call("roll_dice", arguments)
        seen.append("done")
        open(os.devnull).close()


sys.addaudithook(watch)
trio.run(main)
print(*seen)
"""


def test_a_call_opens_no_socket_process_or_file() -> None:
    child = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, timeout=60)
    assert child.returncode == 0, child.stderr
    assert child.stdout.split() == ["done", "open"], "the last one shows that the hook hears"


def test_listing_the_tool_imports_neither_the_parser_nor_trio() -> None:
    program = (
        "import sys, pegboard_dice.plugin as plugin; tools = plugin.provide_tools(plugin.DiceSettings());"
        "print(len(tools), sorted({'trio', 'secrets', 'random', 'pegboard_dice._notation'} & set(sys.modules)))"
    )
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert child.stdout.strip() == "1 []", child.stderr
