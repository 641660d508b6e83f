"""The two tools that the batch section calls: `bench_add` runs in place, `bench_add_async` under a deadline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard import hookimpl, tool

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pegboard import Tool


@hookimpl
def provide_tools() -> Iterable[Tool]:
    """Both tools."""

    @tool(run="inplace", read_only=True)
    def bench_add(a: float, b: float) -> float:
        """Add two numbers."""
        return a + b

    @tool(read_only=True)
    async def bench_add_async(a: float, b: float) -> float:
        """Add two numbers."""
        return a + b

    return [bench_add, bench_add_async]
