"""The board and the host as checks, hooks and sessions see them, without the classes that are them.

The contract speaks of a board, and a board is made of what the contract has: with these types nothing of the contract
needs what stands above it. Annotate with them: `def check(board: Board)`. A session's is `pegboard.session.Session`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from pegboard.config import Config
    from pegboard.contract import Dialect, SourceState, SourceStatus, SpanKind, ToolSource
    from pegboard.errors import ToolError
    from pegboard.limit_stores.shared import SharedLimits
    from pegboard.pipeline.runtime import Runtime
    from pegboard.registry import Registry
    from pegboard.registry.asking import Asking, PluginRecord
    from pegboard.registry.conflicts import RejectedTool
    from pegboard.registry.limit_stores import LimitStores
    from pegboard.registry.visible import VisibleTools
    from pegboard.tools import Tool

T = TypeVar("T")


class Board(Protocol):
    """What is registered, and why the rest is not; `pegboard.load_board` gives one, which says what each member is.

    .. versionadded:: 0.1
    """

    config: Config
    runtime: Runtime
    registry: Registry
    limit_stores: LimitStores
    rejected_tools: dict[str, RejectedTool]

    @property
    def plugins(self) -> Asking:
        """Every plugin's record, and the hooks."""
        ...

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools that can be called, by name."""
        ...

    @property
    def dialects(self) -> Mapping[str, Dialect]:
        """The ways in which consumers want tools, by name."""
        ...

    @property
    def failed_validators(self) -> Mapping[str, str]:
        """Plugins whose `make_validator` raised, with where."""
        ...

    @property
    def sources(self) -> Sequence[tuple[PluginRecord, ToolSource]]:
        """The sources that plugins provide, each with the plugin's record."""
        ...

    @property
    def source_states(self) -> Mapping[str, tuple[SourceState, str | None]]:
        """How each source is doing, and the reason."""
        ...

    def offer_again(self) -> None:
        """Offer once more what was held back, now that a person accepted some of it."""
        ...

    @property
    def held(self) -> list[RejectedTool]:
        """What a person has to accept before anybody is offered it."""
        ...

    def source_statuses(self) -> list[SourceStatus]:
        """How every source is doing."""
        ...

    def sources_away(self, name: str, *, profile: str | None = None) -> list[SourceStatus]:
        """The sources that could have brought a tool of that name, and are not ready."""
        ...

    def held_back(self, name: str, *, profile: str | None = None) -> ToolError | None:
        """FORBIDDEN of a tool that a person has to accept first."""
        ...

    def visible_tools(self, profile: str | None = None) -> VisibleTools:
        """What sessions of a profile see."""
        ...

    def state_of(self, name: str, visible: VisibleTools | None = None) -> str:
        """How a registered tool is doing."""
        ...

    def not_offered(self, name: str) -> ToolError:
        """FORBIDDEN: why a registered tool is offered to nobody here."""
        ...


class Host(Protocol):
    """A board that runs, as sessions see it; `pegboard.open_host` gives one, which says what each member is.

    .. versionadded:: 0.1
    """

    runtime: Runtime
    last_checkpoint: float

    @property
    def board(self) -> Board:
        """The board."""
        ...

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools that can be called, by name."""
        ...

    @property
    def limit_store(self) -> SharedLimits | None:
        """Where limits are counted that other processes share; None: in this process."""
        ...

    @property
    def sources_starting(self) -> bool:
        """Whether a source is still about to offer its first tools."""
        ...

    def may_come(self, name: str, profile: str | None = None) -> bool:
        """Whether one of those sources could bring a tool of that name."""
        ...

    async def wait_for_sources(
        self, name: str | None = None, *, timeout_s: float = ..., profile: str | None = None
    ) -> None:
        """Wait until the sources have offered their first tools, or have failed to."""
        ...

    def require_open(self) -> None:
        """Refuse what comes after the host's end."""
        ...

    async def checkpoint(self, *, shield: bool = False) -> None:
        """Pass a trio checkpoint."""
        ...

    def span(self, name: str, kind: SpanKind, attributes: Mapping[str, Any]) -> AbstractContextManager[dict[str, Any]]:
        """Work beside calls, as observers hear it."""
        ...

    def measure(self, name: str, value: float, attributes: Mapping[str, Any]) -> None:
        """A figure that belongs to no call, as observers hear it."""
        ...

    def resource(self, kind: type[T]) -> T:
        """The resource of that type."""
        ...

    def offer_read_result(self) -> None:
        """Register `read_result`, now that there is something to read."""
        ...

    def watch(self, watcher: Callable[[Any, Any], None]) -> Callable[[], None]:
        """Call `watcher(old, new)` after every change of the tools."""
        ...
