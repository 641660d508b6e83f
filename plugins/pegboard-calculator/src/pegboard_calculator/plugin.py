"""The hook of pegboard-calculator: it registers `calculator`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard import hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pegboard import Tool


@hookimpl
def provide_tools() -> Iterable[Tool]:
    """`calculator`."""
    from pegboard_calculator.tools import calculator

    return [calculator]
