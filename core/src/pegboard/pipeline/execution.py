"""Where a handler runs. Each way answers one question: what ends it when its deadline comes?

async     the scope around it; work that shields itself delays the answer, which then says so
inplace   nothing: it cannot wait, so it gets no scope and no deadline
thread    nothing ends a thread: the call answers, the thread is counted and holds its own tool's limiter
process   the deadline kills the worker process
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
from typing import TYPE_CHECKING, Any

import attrs

from pegboard.errors import ErrorCode, PluginError, ToolDefinitionError, ToolError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pegboard.context import CallContext
    from pegboard.pipeline.runtime import Runtime
    from pegboard.tools import Tool

    Invoke = Callable[[Mapping[str, Any], CallContext | None], Any]

THREADS_PER_TOOL = 16
"""Threads that one tool may hold at once; its `concurrency`, where that is smaller. A tool whose threads all hang
starves itself alone."""


@attrs.define
class Started:
    """Whether the handler of one call was reached: a TIMEOUT in a queue may be repeated, one in the work may not."""

    call_id: str = ""
    yes: bool = False


def make_invoke(tool: Tool) -> tuple[Invoke, bool]:
    """How the handler is called with its keyword arguments, and whether it wants the context."""
    handler = tool.handler
    name, positional = _context_parameter(tool)
    if name is None:
        return (lambda arguments, context: handler(**arguments)), False
    if positional:
        return (lambda arguments, context: handler(context, **arguments)), True
    return (lambda arguments, context: handler(**arguments, **{name: context})), True


def _context_parameter(tool: Tool) -> tuple[str | None, bool]:
    if tool.signature is not None:
        return tool.signature.context_parameter, tool.signature.context_positional
    from pegboard.schema.derive import find_context_parameter

    return find_context_parameter(tool.handler)


async def run_in_thread(runtime: Runtime, tool: Tool, limiter: Any, invoke: Callable[[], Any], started: Started) -> Any:
    """Run the handler in a thread that is left behind, and counted, if the call ends before it does."""
    import trio

    ticket = runtime.threads.ticket(tool.name, started.call_id)

    def work() -> Any:
        started.yes = True
        try:
            return _refuse_awaitable(invoke())
        finally:
            ticket.ended()

    try:
        return await trio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=limiter, thread_name=tool.name[:15])
    except BaseException:
        if started.yes and not ticket.is_over:
            ticket.abandoned()
        raise


def _refuse_awaitable(value: Any) -> Any:
    """A plain function that returns a coroutine is its author's slip; awaiting it elsewhere would hide that."""
    if not inspect.iscoroutine(value):
        return value
    value.close()
    raise ToolError(
        ErrorCode.INTERNAL_ERROR,
        "the tool returned something to be awaited; its author has to write `async def`",
        executed=True,
    )


def process_target(tool: Tool) -> tuple[str, str]:
    """The module and qualified name by which a worker process finds the handler.

    Raises:
        ToolDefinitionError: it cannot be found by name, or wants a context, which does not reach another process.
    """
    handler = inspect.unwrap(tool.handler)
    module, qualname = getattr(handler, "__module__", None), getattr(handler, "__qualname__", "<")
    if module is None or "<" in qualname:
        raise ToolDefinitionError(
            f"tool {tool.name!r} runs in a process, but its handler is no function of a module",
            hint='move it to the top of a module, or use run="thread"',
        )
    if inspect.iscoroutinefunction(handler):
        raise ToolDefinitionError(f"tool {tool.name!r} runs in a process, but its handler is async")
    if _context_parameter(tool)[0] is not None:
        raise ToolDefinitionError(
            f"tool {tool.name!r} runs in a process, where there is no CallContext",
            hint='take no context, or use run="thread"',
        )
    return module, qualname


def call_by_name(module: str, qualname: str, arguments: dict[str, Any]) -> Any:
    """In the worker process: find the handler and call it."""
    found: Any = functools.reduce(getattr, qualname.split("."), importlib.import_module(module))
    return getattr(found, "handler", found)(**arguments)


async def run_in_process(runtime: Runtime, target: tuple[str, str], arguments: Mapping[str, Any], limiter: Any) -> Any:
    """Run the handler in a worker process, which is killed if the call ends before it does."""
    workers = await runtime.workers()
    return await workers.run_sync(call_by_name, *target, dict(arguments), kill_on_cancel=True, limiter=limiter)


def require_processes(tool: Tool) -> None:
    """Refuse a tool that wants a worker process where none can be had.

    Raises:
        PluginError: trio-parallel is not installed.
    """
    if importlib.util.find_spec("trio_parallel") is None:
        raise PluginError(
            f"tool {tool.name!r} runs in a worker process, and trio-parallel is not installed",
            hint="pip install 'pegboard[process]'",
        )
