"""Tools that refuse, each in its way: `CASES` says what a caller reads of each, at every interface."""

from __future__ import annotations

from typing import Any, NamedTuple

import trio

from pegboard import CallContext, Guard, SourceState, Tool, ToolError, hookimpl, tool


class Case(NamedTuple):
    """One call, and what is answered.

    Attributes:
        title: what happens, as the table of docs/reference/errors.md says it.
        name, arguments: the call.
        code, reason, retry, executed: of the answer; None: it is not there.
        before: how many calls go before it.
    """

    title: str
    name: str
    code: str
    retry: str
    reason: str | None = None
    executed: bool | None = None
    arguments: dict[str, Any] = {}  # noqa: RUF012 - read only
    before: int = 0


CASES = (
    Case("no such tool", "nope", "NOT_FOUND", "changed"),
    Case("no such tool, and a source that is not ready", "brought_later", "NOT_FOUND", "same"),
    Case("arguments that do not fit", "takes", "INVALID_INPUT", "changed", arguments={"count": "x", "other": 1}),
    Case("two plugins bring the tool", "brought_twice", "CONFLICT", "never", "conflict"),
    Case("the tool is disabled", "disabled", "FORBIDDEN", "never", "disabled"),
    Case("the tool wants a user", "wants_user", "UNAUTHORIZED", "changed", "user"),
    Case("a guard refuses", "guarded", "FORBIDDEN", "changed", "permission"),
    Case("a guard breaks", "badly_guarded", "INTERNAL_ERROR", "same", None, False),
    Case("a filter breaks", "badly_filtered", "INTERNAL_ERROR", "unknown", None, True),
    Case("nobody is there to confirm it", "wants_person", "FORBIDDEN", "changed", "confirmation"),
    Case("a cooldown", "cooling", "RATE_LIMITED", "same", "cooldown", before=1),
    Case("a rate", "rated", "RATE_LIMITED", "same", "rate_limit", before=1),
    Case("a limit that the call itself holds", "holding", "RATE_LIMITED", "never", "recursion"),
    Case("calls nested too deep", "nesting", "FORBIDDEN", "never", "depth"),
    Case("the time is over", "slow", "TIMEOUT", "unknown"),
    Case("the time is over, of a read-only tool", "slow_reader", "TIMEOUT", "same"),
    Case("a secret is not set", "secretive", "FORBIDDEN", "changed", "secret"),
    Case("a resource is not open", "wants_resource", "INTERNAL_ERROR", "never", "resource"),
    Case("the tool raises something", "raising", "INTERNAL_ERROR", "unknown"),
    Case("the tool ends the program", "exiting", "INTERNAL_ERROR", "unknown"),
    Case("the tool's own words", "failing", "UPSTREAM_ERROR", "never", "odd", True),
    Case("the reply was lost", "losing", "OUTCOME_UNKNOWN", "unknown"),
    Case("the result breaks its schema", "untrue", "INTERNAL_ERROR", "unknown", None, True),
)


@tool
async def takes(count: int) -> str:
    """Take a number."""
    return "never"


@tool
async def disabled() -> str:
    """Be taken off."""
    return "never"


@tool(requires_user=True)
async def wants_user() -> str:
    """Want a user."""
    return "never"


@tool
async def guarded() -> str:
    """Be guarded."""
    return "never"


@tool
async def badly_guarded() -> str:
    """Be guarded badly."""
    return "never"


@tool
async def badly_filtered() -> str:
    """Be filtered badly."""
    return "never"


@tool(requires_confirmation=True)
async def wants_person() -> str:
    """Want a person."""
    return "never"


@tool(cooldown_s=600)
async def cooling() -> str:
    """Cool down."""
    return "once"


@tool(rate_limit="1/hour")
async def rated() -> str:
    """Be called once an hour."""
    return "once"


async def _again(context: CallContext, name: str) -> str:
    result = await context.call(name, {})
    if result.error is not None:
        raise result.error
    return "never"


@tool(concurrency=1)
async def holding(context: CallContext) -> str:
    """Call oneself, with one place for all."""
    return await _again(context, "holding")


@tool
async def nesting(context: CallContext) -> str:
    """Call oneself."""
    return await _again(context, "nesting")


@tool(timeout_s=0.05)
async def slow() -> str:
    """Take for ever."""
    await trio.sleep_forever()
    return "never"


@tool(timeout_s=0.05, read_only=True)
async def slow_reader() -> str:
    """Read for ever."""
    await trio.sleep_forever()
    return "never"


@tool(secrets=["REFUSING_KEY"])
async def secretive(context: CallContext) -> str:
    """Want a secret."""
    return context.secret("REFUSING_KEY")


@tool
async def wants_resource(context: CallContext) -> str:
    """Want what nobody opened."""
    return str(context.resource(Case))


@tool
async def raising() -> str:
    """Raise."""
    raise RuntimeError("/secret/path")


@tool
async def exiting() -> str:
    """End the program."""
    raise SystemExit(3)


@tool
async def failing() -> str:
    """Fail in words of one's own, with what a program may read."""
    raise ToolError("UPSTREAM_ERROR", "it said “no” twice", reason="odd", hint="ask", executed=True, retry="never")


@tool
async def losing() -> str:
    """Lose the reply."""
    raise ToolError("OUTCOME_UNKNOWN", "the reply was lost")


@tool(output_schema={"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]})
async def untrue() -> dict[str, Any]:
    """Return what is not true."""
    return {"count": "many"}


def _twice() -> Tool:
    async def brought_twice() -> str:
        """Be brought by two plugins."""
        return "never"

    return tool(brought_twice)


def _refuse(*_: Any) -> ToolError:
    return ToolError("FORBIDDEN", "not for you", reason="permission", retry="changed")


def _break(*_: Any) -> None:
    raise RuntimeError("/secret/path")


GUARDS = {
    "guarded": Guard("house", "admit", _refuse),
    "badly_guarded": Guard("house", "admit", _break),
    "badly_filtered": Guard("house", "filter", _break),
}


class AwaySource:
    """A source that does not come."""

    name, timeout_s = "away", None

    async def run(self, slot: Any) -> None:
        """Be away."""
        slot.set_state(SourceState.BACKING_OFF, "nobody is there")
        await trio.sleep_forever()


class Refusing:
    """The tools, and their guards."""

    name = "refusing"

    @hookimpl
    def provide_tools(self) -> list[Tool]:
        """Those of this module, and one that a rival brings too."""
        return [*(one for one in globals().values() if isinstance(one, Tool)), _twice()]

    @hookimpl
    def make_guards(self, tool: Tool) -> list[Guard]:
        """The guard of a tool that has one."""
        return [GUARDS[tool.name]] if tool.name in GUARDS else []


class Rival:
    """Brings a tool of another's."""

    name = "rival"

    @hookimpl
    def provide_tools(self) -> list[Tool]:
        """That tool."""
        return [_twice()]


class Away:
    """Brings a source that does not come."""

    name = "away"

    @hookimpl
    def provide_sources(self) -> list[Any]:
        """That source."""
        return [AwaySource()]


refusing, rival, away = Refusing(), Rival(), Away()
CONFIG = {"tools": {"disabled": {"enabled": False}}}
