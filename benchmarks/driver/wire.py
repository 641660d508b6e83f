"""MCP servers as processes, and the load that they get: raw JSON-RPC, the same bytes for all, every answer checked.

What a round trip costs is the CPU time of the server's process, all threads of it, read from /proc before and after.
What the load costs is not counted; it comes from another process, so that the two share no interpreter.
"""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from driver import venvs
from driver.processes import WorkerError, clean_environment

if TYPE_CHECKING:
    from driver.catalog import Server

MODERN = "2026-07-28"
HANDSHAKE = "2025-06-18"
START_S = 60.0
_INFO = {"name": "bench", "version": "0"}
_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": _INFO,
}


class ServerProcess:
    """A server of the catalog that runs, and the CPU time that it took."""

    def __init__(self, server: Server, log: Path, folder: Path) -> None:
        self.server = server
        self.port = _free_port()
        self._log = log
        name, *arguments = (str(self.port) if part == "PORT" else part for part in server.command)
        command: list[str | Path] = [venvs.program(server.venv, name), *arguments]
        with log.open("ab") as err:
            self.process: subprocess.Popen[bytes] = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE if "PORT" not in server.command else err,
                stderr=err,
                cwd=folder,
                env=clean_environment(folder),
            )

    def cpu_us(self) -> float:
        """User and system time of all its threads."""
        tasks = Path(f"/proc/{self.process.pid}/task")
        try:
            return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir()) / 1e3
        except OSError as problem:
            raise WorkerError(f"ended: {self.last_words()}") from problem

    def last_words(self) -> str:
        """The last line of its log."""
        lines = self._log.read_text(errors="replace").splitlines()
        return lines[-1].strip()[:200] if lines else "it said nothing"

    def close(self) -> None:
        """End it: by closing its stdin, then by SIGTERM, then by force."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        if "PORT" in self.server.command:
            self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


def call_of(tool: str, way: str, number: int = 1) -> dict[str, Any]:
    """The call that everybody gets."""
    params: dict[str, Any] = {"name": tool, "arguments": {"a": 1.5, "b": 2.5}}
    if way == MODERN:
        params["_meta"] = _META
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


_INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": _INFO},
}
_INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


class StdioLoad:
    """One client of one server on stdio, one call after the other."""

    def __init__(self, process: ServerProcess, way: str) -> None:
        assert process.process.stdin is not None
        assert process.process.stdout is not None
        self._process = process
        self._way = way
        self._to: IO[bytes] = process.process.stdin
        self._from: IO[bytes] = process.process.stdout
        self._number = 0
        if way != MODERN:
            self._exchange(_INITIALIZE)
            self._write(_INITIALIZED)

    def run(self, calls: int) -> float:
        """CPU time of the server for each of so many calls, in microseconds."""
        before = self._process.cpu_us()
        for _ in range(calls):
            self._number += 1
            line = self._exchange(call_of(self._process.server.tool, self._way, self._number))
            if b"4.0" not in line or b'"isError":true' in line:
                raise WorkerError(f"answered {line[:120]!r}")
        return (self._process.cpu_us() - before) / calls

    def _exchange(self, message: dict[str, Any]) -> bytes:
        self._write(message)
        line = self._from.readline()
        if not line:
            self._process.process.wait()
            raise WorkerError(f"ended: {self._process.last_words()}")
        return line

    def _write(self, message: dict[str, Any]) -> None:
        self._to.write(json.dumps(message).encode() + b"\n")
        self._to.flush()


class HttpLoad:
    """Many clients of one server over streamable HTTP, on connections that stay open."""

    def __init__(self, process: ServerProcess, way: str, connections: int) -> None:
        self._process = process
        self._way = way
        self._connections = connections
        self._wait()

    def _wait(self) -> None:
        give_up = time.monotonic() + START_S
        while time.monotonic() < give_up:
            try:
                socket.create_connection(("127.0.0.1", self._process.port), 1).close()
            except OSError:
                if self._process.process.poll() is not None:
                    break
                time.sleep(0.05)
            else:
                return
        raise WorkerError(f"does not listen: {self._process.last_words()}")

    def run(self, calls: int) -> float:
        """CPU time of the server for each of so many calls, in microseconds."""
        return asyncio.run(self._run(calls))

    async def _run(self, calls: int) -> float:
        clients = [await self._client() for _ in range(self._connections)]
        left = calls

        async def work(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> None:
            nonlocal left
            while left > 0:
                left -= 1
                head, body = await _exchange(reader, writer, request)
                if not head.startswith(b"HTTP/1.1 200") or b"4.0" not in body:
                    raise WorkerError(f"answered {head[:15]!r} {body[:120]!r}")

        before = self._process.cpu_us()
        try:
            await asyncio.gather(*(work(*client) for client in clients))
        except (asyncio.IncompleteReadError, OSError) as problem:
            raise WorkerError(f"hung up: {self._process.last_words()}") from problem
        cost = (self._process.cpu_us() - before) / calls
        for _, writer, _ in clients:
            writer.close()
        return cost

    async def _client(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, bytes]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._process.port)
        session = ""
        if self._way == "session":
            head, body = await _exchange(reader, writer, self._post(_INITIALIZE))
            found = [line for line in head.split(b"\r\n") if line.lower().startswith(b"mcp-session-id:")]
            if not found:
                raise WorkerError(f"began no session: {head[:15]!r} {body[:120]!r}")
            session = found[0].split(b":", 1)[1].strip().decode()
            await _exchange(reader, writer, self._post(_INITIALIZED, session))
        return reader, writer, self._post(call_of(self._process.server.tool, self._way), session)

    def _post(self, message: dict[str, Any], session: str = "") -> bytes:
        body = json.dumps(message).encode()
        modern = self._way == MODERN
        head = [
            "POST /mcp HTTP/1.1",
            f"Host: 127.0.0.1:{self._process.port}",
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
            f"Content-Length: {len(body)}",
            f"MCP-Protocol-Version: {MODERN if modern else HANDSHAKE}",
        ]
        if modern:
            head += [f"Mcp-Method: {message['method']}", f"Mcp-Name: {self._process.server.tool}"]
        if session:
            head.append(f"Mcp-Session-Id: {session}")
        return "\r\n".join(head).encode() + b"\r\n\r\n" + body


async def _exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> tuple[bytes, bytes]:
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    told = head.lower()
    if b"content-length:" in told:
        return head, await reader.readexactly(int(told.split(b"content-length:")[1].split(b"\r\n")[0]))
    body = b""
    if b"chunked" in told:
        while size := int(await reader.readuntil(b"\r\n"), 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readexactly(2)
    return head, body


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
