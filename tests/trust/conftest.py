"""A board with a source that nobody trusts, and the interpreter that has AgentDojo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import trio

from pegboard import SourceState, hookimpl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from pegboard import SourceSlot, Tool


class Source:
    """A source of tools that are known at once; `trusted` is there only where it is given."""

    timeout_s = None

    def __init__(self, name: str, tools: Iterable[Tool], **marks: Any) -> None:
        self.name, self.tools = name, list(tools)
        self.__dict__.update(marks)

    def known(self) -> list[Tool]:
        return self.tools

    async def run(self, slot: SourceSlot) -> None:
        slot.set_state(SourceState.READY)
        await trio.sleep_forever()


class Sources:
    """A plugin that brings sources, and tools of its own."""

    def __init__(self, *sources: Source, tools: Iterable[Tool] = (), name: str = "web") -> None:
        self.sources, self.tools, self.name = sources, list(tools), name

    @hookimpl
    def provide_sources(self) -> list[Source]:
        return list(self.sources)

    @hookimpl
    def provide_tools(self) -> list[Tool]:
        return self.tools


@pytest.fixture(scope="session")
def source() -> Callable[..., Source]:
    return Source


@pytest.fixture(scope="session")
def sources() -> Callable[..., Sources]:
    return Sources


@pytest.fixture(scope="session")
def dojo_python(peers: Any) -> Path:
    """An interpreter with AgentDojo; where it cannot be installed, a skip that says why."""
    venv: Path = peers.venv("agentdojo", "agentdojo==0.1.35")
    return venv / "bin" / "python"
