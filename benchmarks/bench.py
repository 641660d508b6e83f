"""Pegboard beside its peers: one program that makes the venvs, measures, judges, prints and draws.

    python benchmarks/bench.py                                    # everything, a quarter of an hour
    python benchmarks/bench.py -s calls,batch -r 5                # chosen sections, five rounds
    python benchmarks/bench.py -c floors,pegboard                 # chosen contestants
    python benchmarks/bench.py --report                           # the last results once more
    python benchmarks/bench.py --report --publish docs/reference  # and the page with its picture for the documentation

Results are kept in `benchmarks/results`: a section that is measured again replaces its rows there, the others stay.
The program fails only where it cannot measure; a limit that is missed is a line in the table, for a person to read.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

from driver import picture, report, venvs
from driver.catalog import CONTESTANTS, HERE, Contestant
from driver.limits import judge
from driver.processes import WorkerError
from driver.run import Run
from driver.sections import SECTIONS

RESULTS = HERE / "results"


def main() -> int:
    """Measure what was asked for; 0, or 2 where nothing could be measured."""
    options = _options()
    options.results.mkdir(parents=True, exist_ok=True)
    kept = options.results / "benchmarks.json"
    results: dict[str, Any] = json.loads(kept.read_text()) if kept.is_file() else {}
    if options.report:
        if not results:
            print(f"{kept} holds no results yet: run without --report first", file=sys.stderr)
            return 2
    else:
        results = _measure(options, results)
        if not results["sections"]:
            return 2
        kept.write_text(json.dumps(results, indent=1) + "\n")
    _publish(options, results)
    return 0


def _options() -> argparse.Namespace:
    names = [one.name for one in CONTESTANTS]
    parser = argparse.ArgumentParser(description="Measure pegboard beside its peers.")
    parser.add_argument(
        "-s",
        "--sections",
        type=_chosen(SECTIONS),
        default=list(SECTIONS),
        metavar="A,B",
        help="of: " + ", ".join(SECTIONS),
    )
    parser.add_argument(
        "-c", "--contestants", type=_chosen(names), default=names, metavar="A,B", help="of: " + ", ".join(names)
    )
    parser.add_argument("-r", "--rounds", type=_positive, default=7, help="rounds of each section (default 7)")
    parser.add_argument("--tools", type=_positive, default=10_000, help="tools in the large registry (default 10000)")
    parser.add_argument("--parallel", type=_positive, default=1_000, help="calls at once (default 1000)")
    parser.add_argument("--lines", type=_positive, default=100_000, help="lines of batch (default 100000)")
    parser.add_argument("--no-refresh", action="store_true", help="measure pegboard as it was last installed")
    parser.add_argument("--report", action="store_true", help="only print and draw what was measured before")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIR", help="where JSON, Markdown and SVG go")
    parser.add_argument("--publish", type=Path, metavar="DIR", help="write Markdown and SVG there too")
    return parser.parse_args()


def _chosen(known: Any) -> Any:
    def parse(text: str) -> list[str]:
        asked = [name.strip() for name in text.split(",") if name.strip()]
        if unknown := [name for name in asked if name not in known]:
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: not one of {', '.join(known)}")
        return asked

    return parse


def _positive(text: str) -> int:
    value = int(text) if text.isascii() and text.isdigit() else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text}: not a number of 1 or more")
    return value


def _measure(options: argparse.Namespace, results: dict[str, Any]) -> dict[str, Any]:
    for log in options.results.glob("*.log"):
        log.unlink()
    results.setdefault("sections", {})
    results.setdefault("versions", {})
    skipped = [one for one in results.get("skipped", ()) if one["section"] not in (*options.sections, "install")]
    run = Run(
        contestants=(),
        rounds=options.rounds,
        tools=options.tools,
        parallel=options.parallel,
        lines=options.lines,
        folder=options.results,
        say=_say,
        skipped=skipped,
    )
    run.contestants = [
        one for one in CONTESTANTS if one.name in options.contestants and _ready(one, options, run, results)
    ]
    for name in options.sections:
        began = time.monotonic()
        try:
            rows = SECTIONS[name](run)
        except WorkerError as problem:
            run.skip(name, "all", "", problem)
            continue
        if rows:
            results["sections"][name] = {"measured": _now(), "rounds": options.rounds, "rows": rows}
        _say(f"{name}: {time.monotonic() - began:.0f} s")
    machine = {"python": platform.python_version(), "system": platform.system(), "cores": os.cpu_count()}
    return {**results, "measured": _now(), "machine": machine, "skipped": run.skipped}


def _ready(contestant: Contestant, options: argparse.Namespace, run: Run, results: dict[str, Any]) -> bool:
    needed = [contestant.venv]
    if contestant.cold_venv and "cold" in options.sections:
        needed.append(contestant.cold_venv)
    if contestant.mcp_venv and any(name.startswith("mcp-") for name in options.sections):
        needed.append(contestant.mcp_venv)
    if contestant.chat_venv and {"loop", "export", "tokens"} & set(options.sections):
        needed.append(contestant.chat_venv)
    if contestant.bindings_venv and {"bindings", "manifest-load"} & set(options.sections):
        needed.append(contestant.bindings_venv)
    for venv in needed:
        _say(f"venv {venv.name}")
        try:
            results["versions"] |= venvs.prepare(venv, refresh=not options.no_refresh)
        except venvs.VenvError as problem:
            run.skip("install", contestant.name, venv.name, problem)
            return False
    return True


def _publish(options: argparse.Namespace, results: dict[str, Any]) -> None:
    drawing, text = picture.draw(results), report.page(results, "benchmarks.svg")
    folders = [options.results, *([options.publish] if options.publish else [])]
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "benchmarks.svg").write_text(drawing)
        (folder / "benchmarks.md").write_text(text)
    print(text)
    missed = [one.limit.what for one in judge(results) if one.word == "MISSED"]
    _say(f"missed: {'; '.join(missed)}" if missed else "no measured limit is missed")
    _say(f"written: benchmarks.md and benchmarks.svg in {', '.join(map(str, folders))}")


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
