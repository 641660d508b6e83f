"""Why there is no answer, and what is logged of it."""

from __future__ import annotations

import errno
import logging
import socket
import ssl
import subprocess
import sys
from typing import Any

import httpx2
import pytest

from pegboard_httpclient import Failure, Kind, cause_of, causes_of, failure_of, masked_http_logs
from pegboard_httpclient.causes import MAX_CAUSES


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


def _because(problem: Exception, cause: BaseException | None) -> Exception:
    problem.__cause__ = cause
    return problem


def _untrusted() -> ssl.SSLCertVerificationError:
    problem = ssl.SSLCertVerificationError(1, "certificate verify failed")
    problem.verify_message = "self-signed certificate"
    return problem


REFUSED = ConnectionRefusedError(errno.ECONNREFUSED, "refused")
CASES = [
    (_because(httpx2.ConnectError("x"), _untrusted()), Kind.CERTIFICATE, False),
    (_because(httpx2.ConnectError("x"), ExceptionGroup("", [REFUSED, _untrusted()])), Kind.CERTIFICATE, False),
    (_because(httpx2.ConnectError("x"), ssl.SSLError(1, "wrong version")), Kind.TLS, False),
    (_because(httpx2.ConnectError("x"), socket.gaierror(socket.EAI_NONAME, "unknown")), Kind.NAME, False),
    (_because(httpx2.ConnectError("x"), socket.gaierror(socket.EAI_AGAIN, "later")), Kind.NAME, True),
    (_because(httpx2.ConnectError("x"), ExceptionGroup("", [REFUSED])), Kind.REFUSED, True),
    (httpx2.ProxyError("407"), Kind.PROXY, False),
    (httpx2.ConnectTimeout("late"), Kind.SILENT, True),
    (httpx2.PoolTimeout("late"), Kind.SILENT, True),
    (httpx2.ConnectError("x"), Kind.UNREACHABLE, True),
    (httpx2.InvalidURL("x"), Kind.UNSENDABLE, False),
    (httpx2.UnsupportedProtocol("x"), Kind.UNSENDABLE, False),
    (httpx2.LocalProtocolError("x"), Kind.UNSENDABLE, False),
    (UnicodeEncodeError("ascii", "é", 0, 1, "x"), Kind.UNSENDABLE, False),
    (httpx2.ReadError("x"), Kind.LOST, False),
    (httpx2.RemoteProtocolError("x"), Kind.LOST, False),
    (_because(httpx2.ReadError("x"), REFUSED), Kind.LOST, False),
]


@pytest.mark.parametrize(("problem", "kind", "may_pass"), CASES)
def test_what_a_library_raised_is_a_failure_of_one_kind(problem: Exception, kind: Kind, may_pass: bool) -> None:
    failure = failure_of(problem)
    assert (failure.kind, failure.may_pass) == (kind, may_pass)


@pytest.mark.parametrize("kind", Kind)
def test_a_connection_that_never_stood_has_words_and_no_other_failure_has(kind: Kind) -> None:
    failure = Failure(kind, "what TLS said")
    if not failure.never_stood:
        assert kind in (Kind.UNSENDABLE, Kind.LOST, Kind.LATE, Kind.IDLE, Kind.PACKED, Kind.TOO_LONG)
        return
    why, fix = failure.words("models.example", "the base_url")
    assert why
    assert "{" not in why + fix
    assert fix or kind is Kind.ENVIRONMENT


def test_a_cause_that_nobody_knows_is_none() -> None:
    assert cause_of(ValueError("x")) is None


def test_lines_of_the_http_libraries_are_masked_within_the_block_alone(caplog: Any) -> None:
    log = logging.getLogger("httpcore2.http11")
    with caplog.at_level(logging.DEBUG):
        with masked_http_logs(lambda text: text.replace("swordfish-4711", "***")):
            log.debug("GET /?key=%s", "swordfish-4711")
            logging.getLogger("other").debug("swordfish-4711 of others")
            try:
                raise ValueError("key=swordfish-4711")
            except ValueError:
                log.debug("failed", exc_info=True)
        log.debug("swordfish-4711 after")
    said = [record.getMessage() for record in caplog.records]
    assert said == ["GET /?key=***", "swordfish-4711 of others", "failed", "swordfish-4711 after"]
    assert "ValueError: key=***" in (caplog.records[2].exc_text or "")


def test_importing_the_package_is_light() -> None:
    code = "import sys, pegboard_httpclient; print({'httpx2', 'trio', 'ssl', 'email', 'asyncio'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
