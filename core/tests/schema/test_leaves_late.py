"""Types of modules that are imported late are the types that they are, whenever their module comes in."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from pathlib import Path, PurePath, PurePosixPath

import pytest

from pegboard import ToolDefinitionError, tool
from pegboard.schema.kinds import is_leaf, kinds_of


@pytest.mark.parametrize(
    ("hint", "kinds"), [(Decimal, {"string", "integer", "number"}), (Path, {"string"}), (PurePath, {"string"})]
)
def test_a_type_is_found_once_its_module_is_there(hint: type, kinds: set[str]) -> None:
    assert is_leaf(hint)
    assert kinds_of(hint) == kinds


def test_a_type_that_is_only_called_so_is_another() -> None:
    fake = type("Path", (), {"__module__": "pathlib"})
    assert not is_leaf(fake)
    assert not is_leaf(PurePosixPath)

    def read(path: object) -> None:
        """Read."""

    read.__annotations__["path"] = fake
    with pytest.raises(ToolDefinitionError):
        tool(read)


def test_a_tool_may_import_the_module_after_the_core_is_there() -> None:
    code = """
import sys
import pegboard

def plain(n: int, names: list[str] | None = None) -> str:
    "Plain."
    return ""

board = pegboard.load_board({}, [])
board.add(plain)
print(*{"pathlib", "decimal"} & set(sys.modules))
from decimal import Decimal
from pathlib import Path

def late(path: Path, price: Decimal | None = None, to: Path = Path("x")) -> Decimal:
    "Late."
    return Decimal("1.50")

board.add(late)
said = board.tools["late"].input_schema["properties"]
print(said["path"]["type"], said["to"]["default"], said["price"]["anyOf"][0]["type"][1])
"""
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["", "string x number"]
