"""Hooks that packages add: rubbish costs the plugin that gave it, as with those of the core."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

from pegboard import Tool, hookimpl

for needed in ("pegboard_mcp", "pegboard_chat", "pegboard_inspect"):
    pytest.importorskip(needed, reason=f"{needed} is not installed")

if TYPE_CHECKING:
    from collections.abc import Callable


def raising(problem: BaseException) -> Callable[[], Any]:
    def answer() -> Any:
        raise problem

    return answer


def halfway() -> Any:
    yield 1
    raise BaseException("in the middle")


async def nobody_awaits() -> None:
    """A coroutine."""


RUBBISH: dict[str, Callable[[], Any]] = {
    "an int": lambda: 7,
    "a text": lambda: "rubbish",
    "a list of ints": lambda: [1],
    "a generator that raises": halfway,
    "without end": lambda: itertools.repeat(3),
    "an error": raising(ValueError("no")),
    "the end of the program": raising(SystemExit(3)),
    "a group": raising(BaseExceptionGroup("several", [SystemExit(1)])),
    "a coroutine": nobody_awaits,
}


def plugin_of(hook: str, answer: Any) -> Any:
    """A plugin with that one hook, and a tool of its own."""
    if answer is nobody_awaits:

        async def implementation() -> None:
            """Nobody awaits it."""

    else:

        def implementation() -> Any:
            return answer()

    implementation.__name__ = hook
    marked = hookimpl(optionalhook=True)(implementation)
    return type("Guest", (), {"name": "guest", hook: staticmethod(marked)})()


class Good:
    """A plugin that goes on."""

    name = "good"

    @hookimpl
    def provide_tools(self) -> list[Tool]:
        return [Tool(name="coin", handler=lambda: "heads", run="inplace")]


@pytest.mark.parametrize("hook", ["provide_resources", "provide_prompts", "provide_models", "provide_pages"])
@pytest.mark.parametrize("answer", RUBBISH.values(), ids=RUBBISH)
async def test_rubbish_costs_the_plugin_that_gave_it(
    host_with: Any, hook: str, answer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pegboard_chat.plugin
    import pegboard_inspect.plugin
    import pegboard_mcp.plugin
    from pegboard.registry import asking
    from pegboard_chat.models import providers_of
    from pegboard_inspect.app import pages_of
    from pegboard_mcp.server.app import make_server

    monkeypatch.setattr(asking, "MAX_ANSWERS", 500)
    guest = plugin_of(hook, answer)
    host = await host_with(
        guest, Good(), pegboard_chat.plugin, pegboard_mcp.plugin, pegboard_inspect.plugin, config={"strict": False}
    )
    providers_of(host)
    pages_of(host)
    make_server(host)
    assert [(one.name, one.quarantined.partition(":")[0]) for one in host.board.plugins.quarantined] == [
        ("guest", hook)
    ]
    assert (await host.session().call("coin")).text == "heads"
