"""A tool compiled: what the hooks said about it, as one closure that answers calls.

    admit -> validate -> approve -> limit -> execute -> normalise -> filter

Hooks were asked when the tool was registered; the closure is made at its first call and is all that runs from then on.
What a tool does not use is not on its path: no guard, no loop over guards; nothing to wait for, no cancel scope.

Invariants: a refusal is raised as a `ToolError` between the stages and becomes the result in one place; what the
handler raises is classified in one place (`classify`); whatever a limit took is given back however the call ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard.errors import PluginError
from pegboard.results import ToolResult, stamped
from pegboard.tools import is_async

if TYPE_CHECKING:
    from collections.abc import Callable

    from pegboard.context import CallContext
    from pegboard.contract import Executor, Guard, Layer, Validator
    from pegboard.errors import ToolError
    from pegboard.pipeline.answering import Answer
    from pegboard.pipeline.runtime import Runtime
    from pegboard.pipeline.stages import Trace
    from pegboard.session import Session
    from pegboard.tools import Tool


class Plan:
    """One tool as it is on a board.

    `answer(session, arguments, call_id, parent, trace)` is the call itself, and never raises but for a genuine
    cancellation; `check(session, arguments)` runs its first two stages. `waits` says whether a call may wait for
    anything; that is not known before the first one, and so it may.
    """

    __slots__ = (
        "_check", "answer", "executor", "guards", "layers", "output_validator", "permissions", "runtime", "tool",
        "validator", "waits",
    )  # fmt: skip

    def __init__(
        self,
        tool: Tool,
        runtime: Runtime,
        *,
        guards: tuple[Guard, ...] = (),
        layers: tuple[Layer, ...] = (),
        validator: Validator | None = None,
        output_validator: Validator | None = None,
        executor: Executor | None = None,
        permissions: Any = None,
    ) -> None:
        self.tool = tool
        self.runtime = runtime
        self.guards = guards
        self.layers = layers
        self.validator = validator
        self.output_validator = output_validator
        self.executor = executor
        self.permissions = permissions
        self.answer: Answer = self._first_answer
        self.waits = True
        self._check: Callable[[Session, Any], ToolResult] | None = None

    async def _first_answer(
        self, session: Session, arguments: Any, call_id: str, parent: CallContext | None, trace: Trace | None
    ) -> ToolResult:
        # No checkpoint lies between the two: trio switches tasks at checkpoints alone, so nobody compiles it a second
        # time.
        self._compile()
        return await self.answer(session, arguments, call_id, parent, trace)

    def check(self, session: Session, arguments: Any) -> ToolResult:
        """What a call would meet: admit and validate for real, approve and limit as their guards foresee it."""
        return (self._check or self._compile())(session, arguments)

    def _compile(self) -> Callable[[Session, Any], ToolResult]:
        try:
            # What only calls need is imported with the first of them.
            from pegboard.pipeline.answering import make_call

            self.answer, self._check, self.waits = make_call(
                self.tool,
                self.runtime,
                guards=self.guards,
                layers=self.layers,
                validator=self.validator,
                output_validator=self.output_validator,
                executor=self.executor,
                permissions=self.permissions,
            )
        except Exception as problem:  # noqa: BLE001 - a handler that cannot be looked into, a type that breaks
            from pegboard.pipeline.stages import broken

            refusal = Refusal(self.tool, broken(self.tool, problem, executed=False))
            self.answer, self._check = refusal.answer, refusal.check
        return self._check


class Refusal:
    """What is registered in the place of a tool that cannot be called: one that is disabled, or claimed by two
    plugins.
    """

    __slots__ = ("error", "tool")
    guards: tuple[Guard, ...] = ()
    waits = False

    def __init__(self, tool: Tool, error: ToolError) -> None:
        self.tool = tool
        self.error = error

    async def answer(
        self, session: Session, arguments: Any, call_id: str, parent: CallContext | None, trace: Trace | None
    ) -> ToolResult:
        """The refusal, as the answer of a call."""
        return stamped(ToolResult.of_error(self.error), call_id, self.tool.name, 0.0)

    def check(self, session: Session, arguments: Any) -> ToolResult:
        """The refusal, as a call would meet it."""
        return ToolResult.of_error(self.error)


PlanEntry = Plan | Refusal


def check_plan(tool: Tool) -> None:
    """Refuse a tool whose way of running cannot work.

    Raises:
        PluginError: it wants a worker process, and has none or could not reach it.
    """
    if tool.run == "process":
        from pegboard.pipeline.execution import process_target, require_processes

        process_target(tool)
        require_processes(tool)
    elif tool.run == "async" and not is_async(tool):
        raise PluginError(f'tool {tool.name!r} has run="async", but its handler is a plain function')
