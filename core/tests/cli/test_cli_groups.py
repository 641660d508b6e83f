"""What a person is told where several things failed at once."""

from __future__ import annotations

import pytest

from pegboard import ConfigError, ToolError
from pegboard.cli._run import _first_of


@pytest.mark.parametrize(
    ("group", "told"),
    [
        (ExceptionGroup("", [ValueError("no"), ExceptionGroup("", [ConfigError("this")])]), (ConfigError, "this")),
        (ExceptionGroup("", [ToolError("TIMEOUT", "that"), ValueError("no")]), (ToolError, "that")),
        (BaseExceptionGroup("", [ConfigError("this"), KeyboardInterrupt()]), (KeyboardInterrupt, "")),
        (ExceptionGroup("", [ExceptionGroup("", [ValueError("no"), OSError("nor")])]), (ValueError, "no")),
    ],
)
def test_of_a_group_the_first_that_is_meant_for_a_person_is_told(
    group: BaseExceptionGroup[BaseException], told: tuple[type[BaseException], str]
) -> None:
    first = _first_of(group)
    assert (type(first), str(first)) == told
