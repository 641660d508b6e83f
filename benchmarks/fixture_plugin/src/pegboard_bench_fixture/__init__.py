"""The two tools that the sections call: `bench_add` runs in place, `bench_add_async` under a deadline.

`BENCH_TOOLS` in the environment adds so many functions, which are only listed.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal

from pegboard import hookimpl, tool

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pegboard import Tool


@hookimpl
def provide_tools() -> Iterable[Tool]:
    """Both tools, and those that are only listed."""

    @tool(run="inplace", read_only=True)
    def bench_add(a: float, b: float) -> float:
        """Add two numbers."""
        return a + b

    @tool(read_only=True)
    async def bench_add_async(a: float, b: float) -> float:
        """Add two numbers."""
        return a + b

    return [bench_add, bench_add_async, *(_listed(index) for index in range(int(os.environ.get("BENCH_TOOLS", "0"))))]


def _listed(index: int) -> Any:
    @tool(name=f"s_tool_{index}")
    async def listed(
        path: str, limit: int = 10, mode: Literal["fast", "safe"] = "fast", tags: list[str] | None = None
    ) -> str:
        """Tool of a plugin.

        Args:
            path: Where it is.
        """
        return path

    return listed
