"""Former names of public things work for one more release, and warn."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import attrs
import pytest

from pegboard import load_board, open_host, tool
from pegboard.asyncio import AsyncioHost
from pegboard.errors import Fault
from pegboard.host import Host

NAMES = [
    ("pegboard.fronts", "Tokens", "pegboard_serving", "Tokens"),
    ("pegboard.fronts", "refuse_open_door", "pegboard_serving", "require_credential"),
    ("pegboard.fronts.bodies", "Bodies", "pegboard_serving.bodies", "Bodies"),
    ("pegboard.fronts.sharing", "owner_of", "pegboard_serving.sharing", "owner_of"),
    ("pegboard.fronts.worker", "Worker", "pegboard_serving.worker", "Worker"),
    ("pegboard.serving", "Tokens", "pegboard_serving", "Tokens"),
    ("pegboard.serving.bodies", "Bodies", "pegboard_serving.bodies", "Bodies"),
    ("pegboard.serving.sharing", "owner_of", "pegboard_serving.sharing", "owner_of"),
    ("pegboard.serving.worker", "Worker", "pegboard_serving.worker", "Worker"),
    ("pegboard.clients", "causes_of", "pegboard_httpclient", "causes_of"),
    ("pegboard.clients", "masked_http_logs", "pegboard_httpclient", "masked_http_logs"),
    ("pegboard.text", "HIDDEN", "pegboard.text", "HIDDEN_CHARACTERS"),
    ("pegboard.doctor", "HIDDEN", "pegboard.text", "HIDDEN_CHARACTERS"),
    ("pegboard.marks", "HIDDEN", "pegboard.marks", "HIDDEN_TEXT"),
    ("pegboard.board", "NotHung", "pegboard.registry.board", "RejectedTool"),
    ("pegboard.board", "Board", "pegboard.registry.board", "Board"),
    ("pegboard.board", "load_board", "pegboard.registry.board", "load_board"),
    ("pegboard.board", "ClaimError", "pegboard.registry.board", "ClaimError"),
    ("pegboard.board", "DIALECT_PACKAGES", "pegboard.registry.dialects", "DIALECT_PACKAGES"),
    ("pegboard.plugins", "BUILTINS", "pegboard.registry.plugins", "BUILTINS"),
    ("pegboard.plugins", "PluginRecord", "pegboard.registry.plugins", "PluginRecord"),
    ("pegboard.plugins", "WATCHER", "pegboard.registry.asking", "WATCHER"),
    ("pegboard.visible", "ProfileTools", "pegboard.registry.visible", "ProfileTools"),
    ("pegboard.third_party", "readable", "pegboard.registry.checks", "readable"),
    ("pegboard.third_party", "checked_validator", "pegboard.registry.planning", "checked_validator"),
]


@pytest.mark.parametrize(("module", "name", "now", "present"), NAMES)
def test_a_former_name_of_a_module_gives_the_present_thing(module: str, name: str, now: str, present: str) -> None:
    pytest.importorskip(now.partition(".")[0], reason="its package is not installed")
    with pytest.warns(DeprecationWarning, match=f"{module}.{name} is called .*{present} now") as warned:
        given = getattr(import_module(module), name)
    assert given is getattr(import_module(now), present)
    assert warned[0].filename == __file__, "the warning points at whoever uses the name"


class Absent:
    """A finder in front of all others, for which a package is not installed."""

    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == self.package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


MOVED = [(module, now) for module, _, now, _ in NAMES if now.startswith("pegboard_")]


@pytest.mark.parametrize(("module", "now"), MOVED)
def test_what_moved_into_a_package_that_is_not_installed_names_the_package(
    module: str, now: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = now.partition(".")[0]
    for name in [one for one in sys.modules if one.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Absent(package), *sys.meta_path])
    with pytest.raises(ImportError, match=f"{module} is called {now} now.*pip install {package.replace('_', '-')}$"):
        _ = import_module(module).anything


@pytest.mark.parametrize(
    "module", ["pegboard.fronts", "pegboard.text", "pegboard.doctor", "pegboard.marks", "pegboard.board"]
)
def test_what_never_was_a_name_of_a_module_is_none(module: str) -> None:
    with pytest.raises(AttributeError, match="has no attribute"):
        _ = import_module(module).nothing_of_that_name


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def test_former_names_of_a_host_do_what_the_present_ones_do() -> None:
    async with open_host(plugins=[]) as host:
        with pytest.warns(DeprecationWarning, match=r"Host\.is_settling is called sources_starting now"):
            assert host.is_settling is False
        with pytest.warns(DeprecationWarning, match=r"Host\.settle is called wait_for_sources now"):
            await host.settle(timeout_s=1)
        with pytest.warns(DeprecationWarning, match=r"Host\.breathe is called checkpoint now"):
            await host.breathe()


def test_the_host_for_asyncio_has_the_former_name_too() -> None:
    with pytest.warns(DeprecationWarning, match=r"AsyncioHost\.settle"):
        assert AsyncioHost.settle is AsyncioHost.wait_for_sources
    with pytest.warns(DeprecationWarning, match=r"Host\.settle"):
        assert Host.settle is Host.wait_for_sources


def test_former_names_of_a_board_a_tool_and_a_fault_give_the_same() -> None:
    board = load_board(plugins=[])
    with pytest.warns(DeprecationWarning, match=r"Board\.view is called visible_tools now"):
        assert board.view() is board.visible_tools()
    with pytest.warns(DeprecationWarning, match=r"Board\.not_hung is called rejected_tools now"):
        assert board.not_hung is board.rejected_tools
    with pytest.warns(DeprecationWarning, match=r"Tool\.face is called public_definition now"):
        assert add.face == add.public_definition
    fault = Fault((), "an integer", "a text", None, frozenset({"integer"}))
    with pytest.warns(DeprecationWarning, match=r"Fault\.due is called expected_types now"):
        assert fault.due == fault.expected_types


async def test_permissions_may_say_by_the_former_name_why_a_tool_is_disabled(make_plugin: Any) -> None:
    @attrs.frozen
    class Permissions:
        why_off = ("no path is allowed", "allow one")

    @tool(permissions=Permissions)
    def dormant() -> None:
        """Do nothing."""

    with pytest.warns(DeprecationWarning, match="why_off is called disabled_reason now"):
        board = load_board(plugins=[make_plugin("p", provide_tools=[dormant])])
    rejected = board.rejected_tools["dormant"]
    assert (rejected.why, rejected.fix, rejected.is_disabled) == ("no path is allowed", "allow one", True)
