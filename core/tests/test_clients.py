"""What HTTP clients of packages share."""

from __future__ import annotations

import logging
from typing import Any

from pegboard.clients import MAX_CAUSES, causes_of, masked_http_logs


def test_the_causes_of_a_problem_are_those_behind_it_and_inside_of_groups() -> None:
    inner = OSError("refused")
    try:
        try:
            raise ExceptionGroup("", [inner, ValueError("no")])
        except ExceptionGroup as group:
            raise RuntimeError("connect") from group
    except RuntimeError as problem:
        found = list(causes_of(problem))
    assert [type(one) for one in found[:2]] == [RuntimeError, ExceptionGroup]
    assert inner in found


def test_causes_that_go_in_a_circle_end() -> None:
    one, other = ValueError("one"), ValueError("other")
    one.__context__, other.__cause__ = other, one
    assert len(list(causes_of(one))) == MAX_CAUSES


def test_lines_of_the_http_libraries_are_masked_within_the_block_alone(caplog: Any) -> None:
    log = logging.getLogger("httpcore2.http11")
    with caplog.at_level(logging.DEBUG):
        with masked_http_logs(lambda text: text.replace("hunter2", "***")):
            log.debug("GET /?key=%s", "hunter2")
            logging.getLogger("other").debug("hunter2 of others")
        log.debug("hunter2 after")
    assert [record.getMessage() for record in caplog.records] == ["GET /?key=***", "hunter2 of others", "hunter2 after"]
