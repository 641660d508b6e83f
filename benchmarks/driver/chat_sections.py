"""The sections of chat: the loop around a model that answers at once, tools in a provider's words, the first token."""

from __future__ import annotations

import json
import os
import pty
import select
import socket
import subprocess
import threading
import time
from contextlib import ExitStack, closing
from statistics import median
from typing import TYPE_CHECKING, Any

from driver import venvs
from driver.catalog import HERE, PEGBOARD_CHAT
from driver.processes import WorkerError, WorkerProcess

if TYPE_CHECKING:
    from collections.abc import Iterator

    from driver.catalog import Contestant
    from driver.run import Row, Run

SHAPES = {"none": (0, 0), "one": (10, 1), "ten": (10, 10)}
"""Rounds and calls a round; what a conversation without a call costs is taken off the others."""
EXPORTED = 1_000
"""Tools of one export."""
TOKENS = 40
"""Of a streamed answer whose way to the terminal is timed."""
PAUSE_S = 0.02
"""Between two of them."""


def measure_loop(run: Run) -> list[Row]:
    """A round of one call, and a call in a round of ten, in microseconds of CPU."""
    with ExitStack() as stack:
        plan: list[tuple[Row, WorkerProcess]] = []
        for contestant in run.contestants:
            worker = stack.enter_context(closing(_worker(run, contestant)))
            try:
                paths = worker.ask("describe")["loops"]
            except WorkerError as problem:
                run.skip("loop", contestant.name, "", problem)
                continue
            plan += [({"contestant": contestant.name, "path": path, "counts": {}}, worker) for path in paths]
        for number in range(run.rounds):
            run.say(f"  loop, round {number + 1} of {run.rounds}")
            for row, worker in plan:
                if "failed" not in row:
                    _time_loop(run, row, worker)
    rows = [row for row, _ in plan if "failed" not in row]
    for row in rows:
        row["round_us"] = median(row["rounds"])
        row["call_us"] = median(row["call_rounds"])
    return rows


def _worker(run: Run, contestant: Contestant) -> WorkerProcess:
    venv = contestant.chat_venv or contestant.venv
    module = contestant.chat_module or contestant.module
    log = run.folder / f"{contestant.name}-chat.log"
    return WorkerProcess(venvs.program(venv, "python"), HERE / "worker.py", module, log, run.folder)


def _time_loop(run: Run, row: Row, worker: WorkerProcess) -> None:
    costs = {}
    for shape, (rounds, calls) in SHAPES.items():
        try:
            timed = worker.ask("loop", path=row["path"], rounds=rounds, calls=calls, count=row["counts"].get(shape))
        except WorkerError as problem:
            row["failed"] = True
            run.skip("loop", row["contestant"], row["path"], problem)
            return
        row["counts"][shape] = timed["count"]
        costs[shape] = timed["cpu_us"]
    row.setdefault("rounds", []).append((costs["one"] - costs["none"]) / 10)
    row.setdefault("call_rounds", []).append((costs["ten"] - costs["none"]) / 100)


def measure_export(run: Run) -> list[Row]:
    """Exporting a thousand tools to each dialect, the first time and again, in milliseconds of CPU."""
    ours = next((one for one in run.contestants if one.chat_module), None)
    if ours is None:
        return []
    rows: dict[str, Row] = {}
    for number in range(run.rounds):
        run.say(f"  export, round {number + 1} of {run.rounds}")
        with closing(_worker(run, ours)) as worker:  # a new one each time: the first time is the first
            for name in worker.ask("describe")["exports"]:
                timed = worker.ask("export", dialect=name, tools=EXPORTED)
                row = rows.setdefault(
                    name,
                    {"contestant": ours.name, "dialect": name, "tools": EXPORTED, "rounds": [], "again_rounds": []},
                )
                row["rounds"].append(timed["first_ms"])
                row["again_rounds"].append(timed["again_ms"])
    return [
        {**row, "first_ms": median(row["rounds"]), "again_ms": median(row["again_rounds"])} for row in rows.values()
    ]


def measure_tokens(run: Run) -> list[Row]:
    """From a server's write to the terminal: `pegboard chat` with a streamed answer, in milliseconds of wall time."""
    if not run.has("pegboard", PEGBOARD_CHAT):
        return []
    rounds: list[float] = []
    first: list[float] = []
    for number in range(run.rounds):
        run.say(f"  tokens, round {number + 1} of {run.rounds}")
        delays = _delays(run)
        first.append(delays[0])
        rounds.append(max(delays))
    row = {"contestant": "pegboard", "path": "pegboard chat", "rounds": first, "slowest_rounds": rounds}
    return [{**row, "first_ms": median(first), "slowest_ms": median(rounds)}]


def _delays(run: Run) -> list[float]:
    """For each token, how long it took from the server's socket to the terminal."""
    written: list[float] = []
    with socket.create_server(("127.0.0.1", 0)) as listener, run.home() as home:
        server = threading.Thread(target=_stream, args=(listener, written), daemon=True)
        server.start()
        terminal, child_side = pty.openpty()
        port = listener.getsockname()[1]
        # Its own environment: no key and no address of whoever measures.
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "TERM": "xterm",
            "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1",
        }
        command = [str(venvs.program(PEGBOARD_CHAT, "pegboard")), "chat", "--model", "openai:any", "hello"]
        process = subprocess.Popen(
            command, stdin=child_side, stdout=child_side, stderr=subprocess.DEVNULL, env=env, cwd=home
        )
        os.close(child_side)
        try:
            seen = list(_arrivals(terminal))
        finally:
            os.close(terminal)
            process.kill()
            process.wait()
        server.join(5)
    if len(seen) != TOKENS or len(written) != TOKENS:
        raise WorkerError(f"{len(seen)} of {TOKENS} tokens reached the terminal")
    return [(at - since) * 1e3 for at, since in zip(seen, written, strict=True)]


def _arrivals(terminal: int) -> Iterator[float]:
    """When each token was there to be read."""
    text, found = "", 0
    until = time.monotonic() + 30
    while found < TOKENS and time.monotonic() < until:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # the program ended
            return
        now = time.monotonic()
        text += piece.decode("utf-8", "replace")
        while f"token{found:03}" in text:
            found += 1
            yield now


def _stream(listener: socket.socket, written: list[float]) -> None:
    """Answer one request as a server of chat completions does, one token after the other."""
    connection, _ = listener.accept()
    with connection:
        received = b""
        while b"\r\n\r\n" not in received:
            received += connection.recv(65536)
        head, _, body = received.partition(b"\r\n\r\n")
        length = next(
            int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-le")
        )
        while len(body) < length:
            body += connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        for number in range(TOKENS):
            time.sleep(PAUSE_S)
            data = _chunk({"content": f"token{number:03} "})
            written.append(time.monotonic())
            connection.sendall(data)
        connection.sendall(_chunk({}, "stop") + b"data: [DONE]\n\n")


def _chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    chunk = {"id": "1", "object": "chat.completion.chunk", "model": "any", "created": 0, "choices": [choice]}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"
