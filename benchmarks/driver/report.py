"""The results as a page of Markdown tables; the same text is printed and written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from driver.limits import (
    ASYNC,
    BARE,
    FLOOR,
    IN_PLACE,
    LEAN,
    Results,
    Verdict,
    bridge_rows,
    call_row,
    find_row,
    judge,
    lean_parallel,
    loop_floor,
    paired,
    servers_rows,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

TITLE = "# Benchmarks"
_HOW = """CPU time unless it says otherwise; medians of interleaved rounds; ratios are medians of ratios of one
round. Gaps under 1.5 x between contestants are noise. Made by `nox -s bench`; see `benchmarks/README.md`."""
_PATHS = f"""The floor is `{FLOOR[1]}`. The lean host looks a name up, validates with fastjsonschema, sets a trio
deadline and makes an attrs result; `{IN_PLACE[1]}` needs no deadline. The 12-parameter tool of
`{ASYNC[1]}` takes attrs classes, so its arguments are structured too, as in `lean host, structured`."""


def page(results: Results, picture: str | None = None) -> str:
    """The whole report; `picture` is the address of the drawing beside it."""
    parts = [TITLE, _preface(results)]
    if picture:
        parts.append(f"![Pegboard beside its peers]({picture})")
    parts += ["## What must be reached", _limits(judge(results))]
    parts += [text for section, write in _WRITERS.items() if (text := _section(results, section, write))]
    if skipped := results.get("skipped"):
        parts += ["## Not measured", _skipped(skipped)]
    return "\n\n".join(parts) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table that also reads well as it is; the first column is text, the others are figures."""
    lines = [list(head), *map(list, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]

    def drawn(line: Sequence[str]) -> str:
        cells = (
            text.ljust(width) if at == 0 else text.rjust(width)
            for at, (text, width) in enumerate(zip(line, widths, strict=True))
        )
        return f"| {' | '.join(cells)} |"

    rule = [("-" * width if at == 0 else "-" * (width - 1) + ":") for at, width in enumerate(widths)]
    return "\n".join([drawn(lines[0]), drawn(rule), *map(drawn, lines[1:])])


def figure(value: float | None, unit: str = "") -> str:
    """Three significant digits, and a thin grouping of thousands; empty where there is none."""
    if value is None:
        return ""
    if value >= 100:
        text = f"{value:,.0f}"
    elif value >= 10:
        text = f"{value:.1f}"
    else:
        text = f"{value:.2f}"
    return f"{text} {unit}".rstrip()


def _preface(results: Results) -> str:
    machine = results["machine"]
    names = ", ".join(f"{name} {version}" for name, version in sorted(results["versions"].items()))
    where = (
        f"Python {machine['python']} on {machine['system']}, {machine['cores']} cores, {results['measured']}: {names}."
    )
    return f"{where}\n\n{_HOW}"


def _limits(verdicts: Iterable[Verdict]) -> str:
    rows = (
        (
            one.limit.what,
            f"at most {one.limit.limit:g} {one.limit.unit}",
            figure(one.measured, one.limit.unit),
            one.word,
        )
        for one in verdicts
    )
    return table(("what", "limit", "measured", "verdict"), rows)


def _section(results: Results, section: str, write: Any) -> str:
    found = results["sections"].get(section)
    return write(results, found) if found and found["rows"] else ""


def _calls(results: Results, section: dict[str, Any]) -> str:
    paths = dict.fromkeys((row["contestant"], row["path"]) for row in section["rows"])
    rows = []
    for who in paths:
        found = {tool: call_row(results, who, tool) for tool in ("add", "rich", "bad")}
        rows.append(
            (
                f"{who[0]}: {who[1]}",
                *(figure(row["cpu_us"] if row else None) for row in found.values()),
                figure(paired(found["add"], call_row(results, FLOOR, "add")), "x"),
                figure(paired(found["add"], call_row(results, LEAN, "add")), "x"),
                figure(paired(found["rich"], call_row(results, LEAN, "rich")), "x"),
            )
        )
    head = ("one call, CPU us", "add", "12 parameters", "wrong argument", "add / floor", "add / lean", "12 / lean")
    return f"## One validated call\n\n{table(head, rows)}\n\n{_PATHS}"


def _registry(results: Results, section: dict[str, Any]) -> str:
    rows = [
        (
            f"{row['contestant']}: {row['registry']}",
            *(figure(row[key]) for key in ("register_us", "first_list_ms", "list_ms", "kb_per_tool")),
            figure(row["call_us_of_few"]),
            figure(row["call_us"]),
            figure(row["call_ratio"], "x"),
        )
        for row in section["rows"]
    ]
    tools = section["rows"][0]["tools"]
    head = (
        f"{tools:,} tools",
        "register us/tool",
        "first list ms",
        "list ms",
        "KB/tool",
        "call of 10, us",
        "call us",
        "ratio",
    )
    return f"## Many tools\n\n{table(head, rows)}"


def _parallel(results: Results, section: dict[str, Any]) -> str:
    lean = lean_parallel(results)
    rows = [
        (
            f"{row['contestant']}: {row['path']}",
            figure(row["wall_ms"]),
            figure(row["cpu_ms"]),
            figure(paired(row, lean), "x"),
            figure(paired(row, lean, "cpu_rounds"), "x"),
        )
        for row in section["rows"]
    ]
    calls = section["rows"][0]["calls"]
    head = (f"{calls:,} calls of a 10 ms tool", "wall ms", "CPU ms", "wall / lean", "CPU / lean")
    return f"## Parallel calls\n\n{table(head, rows)}"


def _batch(results: Results, section: dict[str, Any]) -> str:
    rows = [(row["kind"], figure(row["cpu_us"])) for row in section["rows"]]
    lines = section["rows"][0]["lines"]
    note = (
        "CPU of the whole program, its start included. The bare loop reads, validates with fastjsonschema, adds and "
        "prints a line of the same shape, and does nothing else."
    )
    return f"## `pegboard batch`\n\n{table((f'{lines:,} lines', 'CPU us/line'), rows)}\n\n{note}"


def _cold(results: Results, section: dict[str, Any]) -> str:
    rows = [
        (f"{row['contestant']}: {row['command']}", figure(row["cpu_ms"]), figure(row["ratio"], "x"))
        for row in section["rows"]
    ]
    note = "`pegboard list` and `pegboard call` with the calculator, dice and time packages installed."
    return f"## Cold start\n\n{table(('command', 'CPU ms', 'against `python -c pass`'), rows)}\n\n{note}"


def _bridge(results: Results, section: dict[str, Any]) -> str:
    _, theirs = bridge_rows(results)
    rows = [
        (
            f"{row['contestant']}: {row['path']}",
            row["version"],
            figure(row["cpu_us"]),
            figure(paired(row, theirs[0] if theirs else None), "x"),
        )
        for row in section["rows"]
    ]
    head = ("one call over stdio, CPU us of the client", "protocol", "add", "against the SDK")
    note = "All call the same server program: the SDK's lowlevel server with one tool."
    return f"## A tool of an MCP server\n\n{table(head, rows)}\n\n{note}"


def _served(results: Results, section: dict[str, Any], *, name: str, lowlevel: str, title: str, note: str) -> str:
    rows = []
    for row in section["rows"]:
        least = find_row(results, name, contestant="mcp", path=lowlevel, way=row["way"])
        ratio = figure(paired(row, least), "x")
        rows.append((f"{row['contestant']}: {row['path']}", row["way"], figure(row["cpu_us"]), ratio))
    head = ("one round trip, CPU us of the server", "protocol", "add", "against lowlevel")
    return f"## {title}\n\n{table(head, rows)}\n\n{note}"


def _stdio(results: Results, section: dict[str, Any]) -> str:
    note = """One client, one call after the other. `session` is the handshake era; the floor knows just enough of it.
Throughput per CPU second is the inverse of these figures."""
    title = "Serving MCP on stdio"
    return _served(results, section, name="mcp-stdio", lowlevel="lowlevel", title=title, note=note)


def _http(results: Results, section: dict[str, Any]) -> str:
    note = """32 connections that stay open, one request after the other on each, answered with JSON. `stateless` is the
handshake era without a handshake. uvicorn as the SDK installs it: h11, asyncio."""
    title = "Serving MCP over HTTP"
    return _served(results, section, name="mcp-http", lowlevel="lowlevel under uvicorn", title=title, note=note)


def _servers(results: Results, section: dict[str, Any]) -> str:
    rows = []
    for begin in ("`pegboard list`", "start"):
        found = servers_rows(results, begin)
        for row in found:
            name = row["what"] if begin != "start" else f"starting {row['servers']}"
            ratio = figure(paired(row, found[0]), "x")
            rows.append((name, figure(row["wall_ms"]), figure(row["cpu_ms"]), ratio))
    note = """`pegboard list` starts no server and waits for none: it reads what they offered when they last ran. What
it costs more than without servers is what so many tools cost on any board. `starting` is from opening the host until
all are ready; each server takes a second."""
    return f"## Many MCP servers\n\n{table(('what', 'wall ms', 'CPU ms', 'wall / first'), rows)}\n\n{note}"


def _skipped(skipped: Iterable[dict[str, Any]]) -> str:
    rows = ((f"{one['section']}: {one['contestant']} {one['what']}".strip(), one["reason"]) for one in skipped)
    return table(("what", "why"), rows)


def _loop(results: Results, section: dict[str, Any]) -> str:
    floor = loop_floor(results)
    rows = [
        (
            f"{row['contestant']}: {row['path']}",
            figure(row["round_us"]),
            figure(paired(row, floor), "x"),
            figure(row["call_us"]),
            figure(paired(row, floor, "call_rounds"), "x"),
        )
        for row in section["rows"]
    ]
    head = ("CPU us", "a round of one call", "against the floor", "a call in a round of ten", "against the floor")
    note = """The model is a fake that answers at once; the tool is `add`. The floor validates and runs each round's
calls in a nursery, and keeps nothing else; no tool of it has a deadline, as none has that runs in place. What a
conversation without a call costs is taken off."""
    return f"## The loop of a chat\n\n{table(head, rows)}\n\n{note}"


def _export(results: Results, section: dict[str, Any]) -> str:
    rows = [(row["dialect"], figure(row["first_ms"]), figure(row["again_ms"])) for row in section["rows"]]
    tools = section["rows"][0]["tools"]
    return f"## Tools in a provider's words\n\n{table((f'{tools:,} tools, CPU ms', 'the first time', 'again'), rows)}"


def _tokens(results: Results, section: dict[str, Any]) -> str:
    rows = [(row["path"], figure(row["first_ms"]), figure(row["slowest_ms"])) for row in section["rows"]]
    head = ("from the server's socket to the terminal, wall ms", "the first token", "the slowest of an answer")
    return f"## Streamed text\n\n{table(head, rows)}"


def _bindings(results: Results, section: dict[str, Any]) -> str:
    rows = []
    for row in section["rows"]:
        bare = find_row(results, "bindings", path=BARE[row["tool"]], tool=row["tool"])
        wall = figure(paired(row, bare, "wall_rounds"), "x")
        cells = (figure(row["cpu_us"]), figure(paired(row, bare), "x"), figure(row["wall_us"]), wall)
        rows.append((f"{row['tool']}: {row['contestant']}, {row['path']}", *cells))
    head = ("a call", "CPU us", "against the bare one", "wall us", "against the bare one")
    note = """The function adds two numbers, the process is `true`, the request is a GET of a server on loopback that
answers with JSON. All are called in turn in one process. What a child costs is in its wall time alone."""
    return f"## What a manifest binds\n\n{table(head, rows)}\n\n{note}"


def _load(results: Results, section: dict[str, Any]) -> str:
    rows = [(f"{row['tools']:,} tools of 12 parameters", figure(row["load_ms"])) for row in section["rows"]]
    return f"## Loading a manifest\n\n{table(('in a process of its own', 'wall ms'), rows)}"


_WRITERS = {
    "calls": _calls,
    "registry": _registry,
    "parallel": _parallel,
    "batch": _batch,
    "cold": _cold,
    "mcp-bridge": _bridge,
    "mcp-stdio": _stdio,
    "mcp-http": _http,
    "mcp-servers": _servers,
    "loop": _loop,
    "export": _export,
    "tokens": _tokens,
    "bindings": _bindings,
    "manifest-load": _load,
}
