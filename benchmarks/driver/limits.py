"""What pegboard must reach, as data: each limit finds its figure in the results of a run."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from driver.catalog import CONTESTANTS, PEERS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Results = dict[str, Any]
Row = dict[str, Any]

FLOOR = ("floors", "fastjsonschema + await")
LEAN = ("floors", "lean host")
IN_PLACE = ("pegboard", "session.call, in place")
ASYNC = ("pegboard", "session.call, async")
LAYERED = ("pegboard-layers", "session.call, in place, a layer")
HIT = ("pegboard-layers", "session.call, in place, cached")
IN_PLACE_THERE = ("pegboard-layers", "session.call, in place")
UNOBSERVED = ("pegboard-observed", "session.call, in place")
OBSERVED = ("pegboard-observed", "session.call, in place, an observer")
RECORDED = ("pegboard-observed", "session.call, in place, recorded")
NOT_SAMPLED = ("pegboard-observed", "session.call, in place, not sampled")
SPAN = ("pegboard-observed", "start_span and end")
AUDITED = ("pegboard-audited", "session.call, in place, audited")
AUDITED_ASYNC = ("pegboard-audited", "session.call, async, audited")
UNAUDITED = ("pegboard-audited", "session.call, in place")
UNAUDITED_ASYNC = ("pegboard-audited", "session.call, async")
ALL_TRUSTED = ("pegboard-flows", "session.call, async")
NOTHING_READ = ("pegboard-flows", "session.call, async, nothing read")
MANY_DEFINED = ("pegboard-flows", "session.call, async, nothing read of 500 tools")
MUCH_READ = ("pegboard-flows", "session.call, async, 100 of 100 kB read")
OBSERVED_ASYNC = ("pegboard-observed", "session.call, async, an observer")
NOT_SAMPLED_ASYNC = ("pegboard-observed", "session.call, async, not sampled")
UNOBSERVED_ASYNC = ("pegboard-observed", "session.call, async")
PLAIN = ("Chat.ask, in place", "trio nursery")
TIMED = ("Chat.ask, async", "trio nursery, with deadlines")
"""Loops that are compared: without deadlines, and with one for every call."""
REGISTRY = "host.add(*functions)"


@dataclass(frozen=True)
class Limit:
    """One thing that must be reached: at most `limit` of `unit`; `find` gives None where it was not measured."""

    what: str
    limit: float
    unit: str
    find: Callable[[Results], float | None]


@dataclass(frozen=True)
class Verdict:
    """A limit and what was measured."""

    limit: Limit
    measured: float | None

    @property
    def word(self) -> str:
        """`holds`, `MISSED` or `not measured`."""
        if self.measured is None:
            return "not measured"
        return "holds" if self.measured <= self.limit.limit else "MISSED"


def judge(results: Results) -> list[Verdict]:
    """Every limit with its figure."""
    return [Verdict(limit, limit.find(results)) for limit in LIMITS]


def paired(row: Row | None, reference: Row | None, rounds: str = "rounds") -> float | None:
    """The median of the ratios of two rows, round by round."""
    if row is None or reference is None:
        return None
    return float(median(one / other for one, other in zip(row[rounds], reference[rounds], strict=False)))


def find_row(results: Results, section: str, **keys: str) -> Row | None:
    """The row of a section with these values, if it was measured."""
    rows: list[Row] = results.get("sections", {}).get(section, {}).get("rows", [])
    return next((row for row in rows if all(row[key] == value for key, value in keys.items())), None)


def call_row(results: Results, who: tuple[str, str], tool: str) -> Row | None:
    """The row of one path with one tool."""
    return find_row(results, "calls", contestant=who[0], path=who[1], tool=tool)


def lean_parallel(results: Results) -> Row | None:
    """The lean host's row of the parallel section."""
    return find_row(results, "parallel", contestant="floors", path=LEAN[1])


def _call_ratio(who: tuple[str, str], reference: tuple[str, str], tool: str) -> Callable[[Results], float | None]:
    return lambda results: paired(call_row(results, who, tool), call_row(results, reference, tool))


def _recording(results: Results) -> float | None:
    """What recording a call costs over an observer that does nothing, as a ratio to the SDK's own work for a span."""
    recorded, observed, span = (call_row(results, who, "add") for who in (RECORDED, OBSERVED, SPAN))
    if recorded is None or observed is None or span is None:
        return None
    rounds = zip(recorded["rounds"], observed["rounds"], span["rounds"], strict=False)
    return float(median((one - without) / bare for one, without, bare in rounds))


def _call_more(
    who: tuple[str, str], reference: tuple[str, str], tool: str = "add"
) -> Callable[[Results], float | None]:
    """What one way of calling a tool costs over another, in microseconds."""

    def find(results: Results) -> float | None:
        ours, theirs = call_row(results, who, tool), call_row(results, reference, tool)
        if ours is None or theirs is None:
            return None
        return float(median(one - other for one, other in zip(ours["rounds"], theirs["rounds"], strict=False)))

    return find


def _slowest_against_peers(tool: str) -> Callable[[Results], float | None]:
    """The ratio to the fastest peer: the largest of all."""

    def find(results: Results) -> float | None:
        ours = call_row(results, ASYNC, tool)
        paths = {one.name: one.full_path for one in CONTESTANTS if one.name in PEERS}
        ratios = [paired(ours, call_row(results, (name, str(path)), tool)) for name, path in paths.items()]
        return max((ratio for ratio in ratios if ratio is not None), default=None)

    return find


def bridge_rows(results: Results) -> tuple[Row | None, list[Row]]:
    """The board's calls of an MCP server, and the SDK's own on each loop."""
    rows: list[Row] = results.get("sections", {}).get("mcp-bridge", {}).get("rows", [])
    ours = next((row for row in rows if row["contestant"] == "pegboard"), None)
    return ours, [row for row in rows if row["contestant"] == "mcp"]


def _bridge(results: Results) -> float | None:
    """The ratio to the SDK's client on the loop where that costs least."""
    ours, theirs = bridge_rows(results)
    return max((ratio for row in theirs if (ratio := paired(ours, row)) is not None), default=None)


def _server(section: str, ours: str, lowlevel: str) -> Callable[[Results], float | None]:
    """The ratio to the SDK's lowlevel server, in the era of the protocol where that is largest."""

    def find(results: Results) -> float | None:
        ratios = [
            paired(
                find_row(results, section, contestant="pegboard", path=ours, way=way),
                find_row(results, section, contestant="mcp", path=lowlevel, way=way),
            )
            for way in ("2026-07-28", "session")
        ]
        return max((ratio for ratio in ratios if ratio is not None), default=None)

    return find


def servers_rows(results: Results, begin: str) -> list[Row]:
    """The rows of the section of many servers whose names begin so, in the order that they were measured in."""
    rows: list[Row] = results.get("sections", {}).get("mcp-servers", {}).get("rows", [])
    return [row for row in rows if row["what"].startswith(begin)]


def _started(results: Results) -> float | None:
    rows = servers_rows(results, "start")
    return paired(rows[-1], rows[0]) if len(rows) == 2 else None


def _listed(results: Results) -> float | None:
    """What the cache of many servers costs, against as many tools of a plugin and no server."""
    rows = servers_rows(results, "`pegboard list`")
    return paired(rows[-1], rows[1], "cpu_rounds") if len(rows) == 3 else None


def _value(section: str, key: str, **keys: str) -> Callable[[Results], float | None]:
    def find(results: Results) -> float | None:
        row = find_row(results, section, **keys)
        return None if row is None else float(row[key])

    return find


def loop_floor(results: Results) -> Row | None:
    """The floor's row of the loop."""
    return find_row(results, "loop", contestant="floors", path="trio nursery")


def _loop(rounds: str, ours: str, floor: str) -> Callable[[Results], float | None]:
    return lambda results: paired(
        find_row(results, "loop", contestant="pegboard", path=ours),
        find_row(results, "loop", contestant="floors", path=floor),
        rounds,
    )


def _slowest_export(key: str) -> Callable[[Results], float | None]:
    def find(results: Results) -> float | None:
        rows: list[Row] = results.get("sections", {}).get("export", {}).get("rows", [])
        return max((float(row[key]) for row in rows), default=None)

    return find


BARE = {"function": "native tool, in place", "process": "subprocess.run", "request": "httpx2.AsyncClient"}
"""What each kind of binding is held against."""


def binding_rows(results: Results, tool: str) -> tuple[Row | None, Row | None]:
    """The manifest's tool and what it stands on."""
    bound, bare = (find_row(results, "bindings", path=path, tool=tool) for path in ("manifest tool", BARE[tool]))
    return bound, bare


def _binding(tool: str) -> Callable[[Results], float | None]:
    return lambda results: paired(*binding_rows(results, tool))


def _process_above(results: Results) -> float | None:
    """What a bound process takes longer than the bare one, in milliseconds of wall time."""
    bound, bare = binding_rows(results, "process")
    if bound is None or bare is None:
        return None
    pairs = zip(bound["wall_rounds"], bare["wall_rounds"], strict=True)
    return float(median((one - other) / 1e3 for one, other in pairs))


def _parallel_ratio(path: str) -> Callable[[Results], float | None]:
    return lambda results: paired(
        find_row(results, "parallel", contestant="pegboard", path=path), lean_parallel(results), "cpu_rounds"
    )


LIMITS: Sequence[Limit] = (
    Limit("add in place, against the fastjsonschema floor", 3.0, "x", _call_ratio(IN_PLACE, FLOOR, "add")),
    Limit("add async with a deadline, against the lean host", 1.3, "x", _call_ratio(ASYNC, LEAN, "add")),
    Limit("12 parameters, against the lean host", 1.3, "x", _call_ratio(ASYNC, LEAN, "rich")),
    Limit("a hit of the cache, against a call in place", 2.0, "x", _call_ratio(HIT, IN_PLACE_THERE, "add")),
    Limit("a layer that does nothing, against a call in place", 5.0, "x", _call_ratio(LAYERED, IN_PLACE_THERE, "add")),
    Limit("an observer that does nothing, against none", 1.3, "x", _call_ratio(OBSERVED, UNOBSERVED, "add")),
    Limit(
        "an observer that does nothing, async, against none",
        1.15,
        "x",
        _call_ratio(OBSERVED_ASYNC, UNOBSERVED_ASYNC, "add"),
    ),
    Limit("recording a call, against a span of OpenTelemetry", 1.5, "x", _recording),
    Limit("a call that is not sampled, against one unobserved", 1.3, "x", _call_ratio(NOT_SAMPLED, UNOBSERVED, "add")),
    Limit(
        "a call that is not sampled, async, against one unobserved",
        1.3,
        "x",
        _call_ratio(NOT_SAMPLED_ASYNC, UNOBSERVED_ASYNC, "add"),
    ),
    Limit("the audit of a call in place, writing included", 20, "us", _call_more(AUDITED, UNAUDITED)),
    Limit("the audit of a call async, writing included", 20, "us", _call_more(AUDITED_ASYNC, UNAUDITED_ASYNC)),
    Limit("looking a mail through for words of 100 results", 50, "us", _call_more(MUCH_READ, ALL_TRUSTED, "mail")),
    Limit("the same where only definitions were read", 50, "us", _call_more(NOTHING_READ, ALL_TRUSTED, "mail")),
    Limit("the same of 500 tools of ten sources", 50, "us", _call_more(MANY_DEFINED, ALL_TRUSTED, "mail")),
    Limit("add async, against the fastest peer's full path", 1.0, "x", _slowest_against_peers("add")),
    Limit("12 parameters, against the fastest peer's full path", 1.0, "x", _slowest_against_peers("rich")),
    Limit("many tools: registering in bulk, each", 60, "us", _value("registry", "register_us", registry=REGISTRY)),
    Limit("many tools: listing", 8, "ms", _value("registry", "list_ms", registry=REGISTRY)),
    Limit("many tools: memory until called, each", 8, "KB", _value("registry", "kb_per_tool", registry=REGISTRY)),
    Limit("many tools: a call, against one with 10", 1.2, "x", _value("registry", "call_ratio", registry=REGISTRY)),
    Limit("parallel calls, against the lean host", 1.2, "x", _parallel_ratio("session.call, async")),
    Limit("a line of batch, in place", 20, "us", _value("batch", "cpu_us", kind="in place")),
    Limit("a line of batch, async", 30, "us", _value("batch", "cpu_us", kind="async")),
    Limit("cold `pegboard list`, against `python -c pass`", 12, "x", _value("cold", "ratio", command="pegboard list")),
    Limit("cold `pegboard call`, against `python -c pass`", 20, "x", _value("cold", "ratio", command="pegboard call")),
    Limit("an MCP server's tool, against the SDK's client", 1.15, "x", _bridge),
    Limit("serving on stdio, against lowlevel", 1.0, "x", _server("mcp-stdio", "pegboard serve, async", "lowlevel")),
    Limit(
        "serving over HTTP, against lowlevel under uvicorn",
        1.25,
        "x",
        _server("mcp-http", "pegboard serve, async", "lowlevel under uvicorn"),
    ),
    Limit("a round of chat with one call, in place, against the floor", 2.0, "x", _loop("rounds", *PLAIN)),
    Limit("a round of chat with one call, async, against the floor", 2.0, "x", _loop("rounds", TIMED[0], PLAIN[1])),
    Limit("a call in a round of ten, in place, against the floor", 1.5, "x", _loop("call_rounds", *PLAIN)),
    Limit("a call in a round of ten, async, against the floor with deadlines", 1.5, "x", _loop("call_rounds", *TIMED)),
    Limit("exporting 1,000 tools, the first time, slowest dialect", 50, "ms", _slowest_export("first_ms")),
    Limit("exporting 1,000 tools again, slowest dialect", 5, "ms", _slowest_export("again_ms")),
    Limit("a streamed token to the terminal, the first", 5, "ms", _value("tokens", "first_ms", contestant="pegboard")),
    Limit("a tool bound to a function in place, against a native tool", 1.5, "x", _binding("function")),
    Limit("a tool bound to a program, above the bare process, wall", 3.0, "ms", _process_above),
    Limit("a tool bound to an HTTP API, against bare httpx2", 1.3, "x", _binding("request")),
    Limit(
        "loading a manifest of 1,000 tools, wall", 150, "ms", _value("manifest-load", "load_ms", contestant="pegboard")
    ),
    Limit("listing 500 tools of 50 servers, against a plugin's", 1.1, "x", _listed),
    Limit("starting 50 servers, against 1, wall", 2.0, "x", _started),
)
