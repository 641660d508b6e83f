"""Whether a distribution was made for the version of the core that is here.

An installer says so while it installs, and goes on: `pip install --upgrade pegboard` leaves the plugins that want an
older one. Only comparisons of plain numbers are read; what else a requirement may say is the installer's to judge.

Source: https://packaging.python.org/en/latest/specifications/dependency-specifiers/
"""

from __future__ import annotations

import operator
import re
from importlib.metadata import PackageNotFoundError, requires

_WANTED = re.compile(r"pegboard\s*(?:\[[^\]]*\])?\s*\(?\s*([^;)]*)\)?", re.IGNORECASE)
_CLAUSE = re.compile(r"\s*(>=|<=|==|!=|>|<)\s*([0-9]+(?:\.[0-9]+)*)\s*")
_HOLDS = {
    ">=": operator.ge, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, "<": operator.lt,
}  # fmt: skip


def refused_version(distribution: str, version: str) -> str | None:
    """Which versions of the core a distribution wants, where this is not one of them; None: it is, or nobody knows."""
    try:
        wanted = requires(distribution) or []
    except (PackageNotFoundError, OSError, ValueError):
        return None
    for requirement in wanted:
        found = _WANTED.fullmatch(requirement.partition(";")[0].strip())
        if found is not None and "extra" not in requirement.partition(";")[2]:
            clauses = [_CLAUSE.fullmatch(one) for one in found[1].split(",")]
            if any(one and not _HOLDS[one[1]](_numbers(version), _numbers(one[2])) for one in clauses):
                return requirement.partition(";")[0].strip()
    return None


def _numbers(version: str) -> tuple[int, ...]:
    """`0.1.0` as 0.1: a version has as many zeros at its end as anybody likes."""
    numbers = [int(one) for one in re.findall(r"\d+", version.partition("+")[0])[:4]]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
