"""`calculator` as a caller meets it: through a host."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import pegboard_calculator.plugin
from pegboard import ErrorCode, open_host


async def test_the_text_is_the_bare_value_and_the_data_says_the_rest() -> None:
    async with open_host(plugins=[pegboard_calculator.plugin]) as host:
        session = host.session()
        four = await session.call("calculator", {"expression": "2 + 2"})
        third = await session.call("calculator", {"expression": "1/3"})
        truth = await session.call("calculator", {"expression": "1 < 2"})
        large = await session.call("calculator", {"expression": "2**100"})
    assert (four.text, four.data) == ("4", {"value": 4, "exact": "4", "rounded": False})
    assert (third.text, third.data) == (
        "0.333333333333333",
        {"value": 0.333333333333333, "exact": "1/3", "rounded": True},
    )
    assert (truth.text, truth.data) == ("true", {"value": True, "exact": None, "rounded": False})
    assert large.text == "1267650600228229401496703205376"
    assert large.data is not None
    assert large.data["value"] == large.text


async def test_a_mistake_is_invalid_input_with_its_place() -> None:
    async with open_host(plugins=[pegboard_calculator.plugin]) as host:
        result = await host.session().call("calculator", {"expression": "2 + * 3"})
    assert result.error is not None
    assert result.error.code is ErrorCode.INVALID_INPUT
    assert result.error.message == "position 5: a value is missing before * (2 + »*« 3)"
    assert result.error.details == {"position": 5, "excerpt": "2 + »*« 3", "retry": "changed"}


@pytest.mark.parametrize(
    "arguments",
    [{}, {"expression": None}, {"expression": ["1"]}, {"expression": ""}, {"text": "1"}, {"expression": "1" * 10**6}],
)
async def test_arguments_that_are_no_expression_are_invalid_input(arguments: dict[str, object]) -> None:
    async with open_host(plugins=[pegboard_calculator.plugin]) as host:
        result = await host.session().call("calculator", arguments)
    assert result.error is not None
    assert result.error.code is ErrorCode.INVALID_INPUT
    assert len(result.error.message) < 1000


async def test_the_tool_says_what_it_is_and_its_examples_hold() -> None:
    async with open_host(plugins=[pegboard_calculator.plugin]) as host:
        tool = host.tools["calculator"]
        session = host.session()
        for example in tool.examples:
            assert (await session.call("calculator", dict(example.arguments))).text == example.text
    assert (tool.category, tool.read_only, tool.annotations.idempotent, tool.run) == ("math", True, True, "inplace")
    assert "half away from zero: round(7.125, 2) is 7.13" in tool.description
    assert set(tool.input_schema["required"]) == {"expression"}


CHILD = """
import json, sys
from pegboard_calculator.tools import calculator
expressions = json.load(sys.stdin)

def call(expression):
    try:
        return calculator(expression=expression).text
    except Exception as error:
        return str(error)

call("sin(1) + qwe")  # loads what the first call loads
call("qwe")
events = []
sys.addaudithook(lambda event, arguments: events.append(event))
answers = [call(expression) for expression in expressions]
seen = sorted(set(events))
print(json.dumps([len(answers), seen]))
"""


def test_calls_open_no_socket_process_or_file() -> None:
    """No audit event but those of the interpreter's own memory at all: not open, exec, import, socket, subprocess."""
    expressions = ["2 + 2", "sqrt(2)", "__import__('os').system('id')", "open('/etc/passwd')", "eval(1)", "sine(1)"]
    expressions += ["10**4000000", "tan(3)**acos(0.2)", "9" * 4000, "(" * 500, "1 <", "max([1, 2]) % 3"]
    child = subprocess.run(
        [sys.executable, "-c", CHILD], input=json.dumps(expressions), capture_output=True, text=True, check=True
    )
    count, seen = json.loads(child.stdout)
    assert count == len(expressions)
    assert seen == []


def test_the_plugin_is_light_to_import() -> None:
    heavy = {"decimal", "fractions", "difflib"}
    code = f"import sys, pegboard_calculator.plugin; print(sorted({heavy} & set(sys.modules)))"
    before = f"import sys, pegboard.hookspecs; print(sorted({heavy} & set(sys.modules)))"
    run = [
        subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout
        for text in (before, code)
    ]
    assert run[0] == run[1]
