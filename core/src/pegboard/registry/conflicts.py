"""What is on the board in the place of a tool, and what is not: conflicts, disabled tools and rejected ones.

Two plugins that want the same are a CONFLICT, which the configuration settles; in which order they were installed
decides nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from pegboard._values import Value
from pegboard.errors import ErrorCode, PluginError, ToolError
from pegboard.pipeline.plan import Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pegboard.config import Config
    from pegboard.pipeline.plan import PlanEntry
    from pegboard.registry.asking import PluginRecord
    from pegboard.tools import Origin, Tool


@attrs.frozen(eq=False, repr=False)
class RejectedTool(Value):
    """A tool that was rejected: its origin, the reason, and how to repair it.

    `is_disabled`: nothing is wrong with it, its own permissions keep it off until somebody configures it. `is_held`:
    nothing is either, and somebody has to accept it (`HeldBackError`); `all_fix` is its `all_hint`.
    """

    name: str
    origin: Origin
    why: str
    fix: str
    is_disabled: bool = False
    is_held: bool = False
    all_fix: str | None = None

    @property
    def kind(self) -> str:
        """`tool`, or what stands before the colon of a name that is not a tool's."""
        kind, colon, _ = self.name.partition(":")
        return kind if colon else "tool"


class ToolDisabledError(PluginError):
    """The permissions of a tool keep it disabled until somebody configures it."""


def is_wanted(config: Config, name: str, origin: Origin) -> bool:
    """Whether the configuration takes the tool of that name from there."""
    wanted = config.tool_settings(name).from_
    return wanted is None or wanted in (origin.distribution, origin.plugin, origin.source)


def conflict(claims: Sequence[Tool]) -> Refusal:
    """What is registered where two plugins claim one name: both are named, and load order decides nothing."""
    name = claims[0].name
    owners = sorted(str(one.origin.distribution or one.origin.plugin) for one in claims)
    error = ToolError(
        ErrorCode.CONFLICT,
        f"{' and '.join(owners)} both bring a tool {name!r}; settle it in the configuration: "
        f'[tools.{name}] from = "{owners[0]}"',
        reason="conflict",
        owners=owners,
        retry="never",
    )
    return Refusal(claims[0], error)


def is_conflict(entry: PlanEntry) -> bool:
    """Whether two plugins claim it, and the configuration does not say which of them has it."""
    return isinstance(entry, Refusal) and entry.error.code is ErrorCode.CONFLICT


def disabled(one: Tool) -> Refusal:
    """What is registered in the place of a tool that is switched off."""
    error = ToolError(ErrorCode.FORBIDDEN, f"the tool {one.name!r} is disabled", reason="disabled", retry="never")
    return Refusal(one, error)


class ClaimError(PluginError):
    """Two plugins want to do the same for one tool; which one does is for the configuration to say."""

    def __init__(self, what: str, claims: Sequence[tuple[PluginRecord, Any]], setting: str) -> None:
        self.owners = [record.label for record, _ in claims]
        self.setting = setting
        super().__init__(f"CONFLICT: {' and '.join(self.owners)} both want to {what} it", hint=f"write {setting}")

    def refusal(self, one: Tool) -> Refusal:
        """What is registered in the place of the tool, and answers its calls."""
        claim = self.message.removeprefix("CONFLICT: ")
        message = f"{one.name!r}: {claim}; settle it in the configuration: {self.setting}"
        details = {"reason": "conflict", "owners": self.owners, "retry": "never"}
        return Refusal(one, ToolError(ErrorCode.CONFLICT, message, details))
