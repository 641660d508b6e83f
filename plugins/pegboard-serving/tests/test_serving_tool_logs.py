"""What tools log is heard as long as somebody listens, and the logger is as it was afterwards."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator

import pytest

from pegboard_serving.tool_logs import LOGGER, ToolLogHandler


class Lines(ToolLogHandler):
    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.append(record.getMessage())


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    found = logging.getLogger(LOGGER)
    level = found.level
    yield found
    found.setLevel(level)


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
@pytest.mark.parametrize("level", [logging.NOTSET, logging.ERROR, logging.DEBUG])
def test_whoever_listens_hears_and_the_level_is_put_back_whatever_the_order(
    order: tuple[int, ...], level: int, logger: logging.Logger
) -> None:
    logger.setLevel(level)
    listeners = [Lines() for _ in order]
    expected: list[list[str]] = [[] for _ in order]
    for listener in listeners:
        listener.__enter__()
    for said, ends in enumerate(order):
        logger.info("%s", said)
        for one in order[said:]:
            expected[one].append(str(said))
        listeners[ends].__exit__(None, None, None)
    logger.info("nobody listens")
    assert [one.heard for one in listeners] == expected
    assert logger.level == level
    assert not set(logger.handlers) & set(listeners)
