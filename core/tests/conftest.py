"""What the core's tests share: plugins made of a few functions, and a host with given tools."""

from __future__ import annotations

import contextlib
import types
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

import pytest

from pegboard import hookimpl, open_host
from pegboard.contract import Outcome


def _constant(answer: Any) -> Callable[[], Any]:
    def implementation() -> Any:
        return answer

    return implementation


@pytest.fixture(scope="session")
def make_plugin() -> Callable[..., Any]:
    """`make_plugin(name, hook=function or answer, ...)`: a plugin object; what is not a function is a constant
    answer.
    """

    def make(name: str, **hooks: Any) -> Any:
        plugin = types.SimpleNamespace(name=name)
        for hook, answer in hooks.items():
            function = answer if isinstance(answer, types.FunctionType) else _constant(answer)
            setattr(plugin, hook, hookimpl(function))
        return plugin

    return make


@pytest.fixture(scope="session")
def hosted(make_plugin: Callable[..., Any]) -> Callable[..., Any]:
    """`async with hosted(*tools, config=..., plugins=[...]) as host`: a host whose plugin `here` brings the tools."""

    @contextlib.asynccontextmanager
    async def open_one(*tools: Any, config: Any = None, plugins: Iterable[Any] = (), **more: Any) -> AsyncIterator[Any]:
        here = make_plugin("here", provide_tools=list(tools))
        async with open_host(config or {}, [here, *plugins], **more) as host:
            yield host

    return open_one


class Ear:
    """Keeps what an observer hears."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []

    @property
    def said(self) -> list[tuple[str, str, str | None]]:
        """Name, status and error code of every call."""
        return [
            (
                outcome.call.name,
                outcome.status,
                None if outcome.result is None or outcome.result.error is None else outcome.result.error.code.value,
            )
            for outcome in self.outcomes
        ]

    def verdicts(self) -> list[tuple[str, str]]:
        """What the guards said in the last call."""
        return [(verdict.guard, verdict.verdict) for verdict in self.outcomes[-1].verdicts]


@pytest.fixture
def ear() -> Ear:
    """What the observer of the plugin `listening` heard."""
    return Ear()


@pytest.fixture
def listening(ear: Ear, make_plugin: Callable[..., Any]) -> Any:
    """A plugin that observes every outcome, into `ear`."""
    return make_plugin("listening", provide_observers=[ear.outcomes.append])
