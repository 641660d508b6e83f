"""Tools that become tasks of their clients: they say so themselves, before they take their time."""

from __future__ import annotations

import trio

from pegboard import CallContext, ErrorCode, ToolError, tool
from pegboard_conformance.asking import _peer, form

TASKS = "extensions.io.modelcontextprotocol/tasks"


@tool
async def greet(name: str) -> str:
    """Greet at once.

    Args:
        name: who is greeted.
    """
    return f"Hello, {name}!"


@tool(timeout_s=120)
async def slow_compute(context: CallContext, seconds: float, label: str = "") -> str:
    """Take some seconds.

    Args:
        seconds: how many.
        label: what it is for.
    """
    if seconds:
        await _peer(context).start_task()
        await trio.sleep(seconds)
    return f"{label} took {seconds:g} s"


@tool
async def failing_job(context: CallContext) -> str:
    """Fail after a second, and only as a task."""
    peer = _peer(context)
    peer.require(TASKS)
    await peer.start_task()
    await trio.sleep(1)
    raise ToolError(ErrorCode.UPSTREAM_ERROR, "the job failed")


@tool
async def protocol_error_job(context: CallContext) -> str:
    """Need what no client of the suite has, which is an error of the protocol."""
    peer = _peer(context)
    await peer.start_task()
    return str(await peer.roots())


@tool
async def confirm_delete(context: CallContext, filename: str) -> str:
    """Ask before something is deleted.

    Args:
        filename: what would be.
    """
    peer = _peer(context)
    await peer.start_task()
    answer = await peer.elicit(**form(f"Delete {filename}?", "confirm", "boolean"))
    return f"{filename}: {answer['action']}"


@tool
async def multi_input(context: CallContext) -> str:
    """Ask two things at once."""
    peer = _peer(context)
    await peer.start_task()
    answers: dict[str, str] = {}

    async def ask(name: str) -> None:
        answers[name] = (await peer.elicit(**form(f"Your {name} name?", "name")))["action"]

    async with trio.open_nursery() as nursery:
        for name in ("first", "last"):
            nursery.start_soon(ask, name)
    return str(sorted(answers.items()))


@tool
async def test_tool_with_task(context: CallContext) -> str:
    """Ask for a name, then take some time."""
    peer = _peer(context)
    peer.require(TASKS)
    answer = await peer.elicit(**form("What is your name?", "name", key="user_name"))
    await peer.start_task()
    return f"Hello, {(answer.get('content') or {}).get('name', 'nobody')}!"


TOOLS = [greet, slow_compute, failing_job, protocol_error_job, confirm_delete, multi_input, test_tool_with_task]
