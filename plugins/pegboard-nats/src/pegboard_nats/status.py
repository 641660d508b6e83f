"""How the workers of a system do: who is there, what they serve, what they did in the last minute.

All of it is what workers answer to `$SRV.STATS`; no tool is called, and the key of a watcher is enough. What they say
is a third party's word: bounded, cleaned, and a number only where it is one.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import attrs

from pegboard.text import clean
from pegboard_nats.stats import MAX_NAMED, Tally

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MAX_WORD = 100
"""Of a word that a worker says of itself, in characters."""
MAX_CODES = 30


@attrs.frozen(kw_only=True, eq=False)
class WorkerStatus:
    """One worker, as it told last.

    Args:
        hash: of the definitions of its tools.
        seconds: how long what it counted last took, at most a minute.
        recent: its calls in that time; `tools` those of its worst tools.
        codes: errors by code, since it began.
    """

    group: str
    instance: str
    machine: str
    pid: str
    version: str
    started: str
    hash: str
    serves: int
    running: int
    concurrency: int
    seconds: float
    recent: Tally
    tools: Mapping[str, Tally]
    codes: Mapping[str, int]

    @property
    def calls_per_s(self) -> float:
        """In the last minute."""
        return self.recent.calls / self.seconds

    def to_json(self) -> dict[str, Any]:
        """All of it but the group."""
        return {
            "instance": self.instance,
            "machine": self.machine,
            "pid": self.pid,
            "version": self.version,
            "started": self.started,
            "definitions": self.hash,
            "serves": self.serves,
            "running": self.running,
            "concurrency": self.concurrency,
            "codes": dict(self.codes),
            **_rates(self.recent, self.calls_per_s),
        }


@attrs.frozen(eq=False)
class GroupStatus:
    """The workers of one group."""

    name: str
    workers: Sequence[WorkerStatus]

    @property
    def hashes(self) -> list[tuple[str, int]]:
        """The versions of the definitions, and how many workers have each; what most have comes first."""
        counted = Counter(one.hash for one in self.workers)
        return sorted(counted.items(), key=lambda one: (-one[1], one[0]))

    @property
    def differing(self) -> list[WorkerStatus]:
        """Workers whose definitions are not those that most have."""
        usual = self.hashes[0][0] if self.workers else ""
        return [one for one in self.workers if one.hash != usual]

    @property
    def tools(self) -> dict[str, Tally]:
        """The tools that failed most or took longest in the last minute, over all workers."""
        found: dict[str, Tally] = {}
        for worker in self.workers:
            for name, tally in worker.tools.items():
                found.setdefault(name, Tally()).add(tally)
        worst = sorted(found.items(), key=lambda one: (-one[1].failed, -one[1].longest_s, one[0]))
        return dict(worst[:MAX_NAMED])

    def to_json(self) -> dict[str, Any]:
        """All of it."""
        every = Tally()
        for worker in self.workers:
            every.add(worker.recent)
        return {
            "group": self.name,
            "running": sum(one.running for one in self.workers),
            **_rates(every, sum(one.calls_per_s for one in self.workers)),
            "definitions": dict(self.hashes),
            "differing": [one.instance for one in self.differing],
            "tools": {name: _rates(tally) for name, tally in self.tools.items()},
            "workers": [one.to_json() for one in self.workers],
        }


def groups_of(answers: Iterable[Mapping[str, Any]], names: Iterable[str] = ()) -> list[GroupStatus]:
    """The groups of workers that answered `$SRV.STATS`, in the order of their names.

    Args:
        answers: as `find_workers` gives them.
        names: of groups that are wanted; without a worker, one is there all the same.
    """
    groups: dict[str, list[WorkerStatus]] = {name: [] for name in names}
    for answer in answers:
        worker = _worker_of(answer)
        groups.setdefault(worker.group, []).append(worker)
    return [
        GroupStatus(name, sorted(groups[name], key=lambda one: (one.started, one.instance))) for name in sorted(groups)
    ]


def _worker_of(answer: Mapping[str, Any]) -> WorkerStatus:
    said = _table(answer.get("metadata"))
    endpoints = answer.get("endpoints")
    data = _table(_table(endpoints[0] if isinstance(endpoints, list) and endpoints else None).get("data"))
    recent = _table(data.get("recent"))
    tools = list(_table(recent.get("tools")).items())[:MAX_NAMED]
    codes = list(_table(data.get("codes")).items())[:MAX_CODES]
    return WorkerStatus(
        group=_word(said.get("group")),
        instance=_word(answer.get("id")),
        machine=_word(said.get("machine")),
        pid=_word(said.get("pid")),
        version=_word(answer.get("version")),
        started=_word(said.get("started")),
        hash=_word(said.get("hash")),
        serves=int(_number(said.get("tools"))),
        running=int(_number(data.get("running"))),
        concurrency=int(_number(said.get("concurrency"))),
        seconds=max(1.0, _number(recent.get("seconds"))),
        recent=_tally(recent),
        tools={_word(name): _tally(_table(one)) for name, one in tools},
        codes={_word(code): int(_number(count)) for code, count in codes},
    )


def _rates(tally: Tally, calls_per_s: float | None = None) -> dict[str, Any]:
    return {
        **({} if calls_per_s is None else {"calls_per_s": round(calls_per_s, 3)}),
        "calls": tally.calls,
        "failed": tally.failed,
        "mean_ms": round(1000 * tally.took_s / max(1, tally.calls), 3),
        "longest_ms": round(1000 * tally.longest_s, 3),
    }


def _tally(value: Mapping[str, Any]) -> Tally:
    calls, failed = (int(_number(value.get(key))) for key in ("calls", "failed"))
    return Tally(calls, failed, _number(value.get("took_ms")) / 1000, _number(value.get("longest_ms")) / 1000)


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _word(value: Any) -> str:
    return clean(value[:MAX_WORD])[0] if isinstance(value, str) else ""


def _number(value: Any) -> float:
    """A number that is finite and not below zero, also as digits; 0 of anything else."""
    if isinstance(value, str):
        value = int(value) if value.isascii() and value.isdigit() and len(value) < 12 else 0
    return value if type(value) in (int, float) and 0 <= value < 1e15 and math.isfinite(value) else 0
