"""Draw docs/how-to/trace.svg, the picture of one trace over two processes, from what the processes really send.

    python docs/trace_picture.py

A question in one process calls a tool of an MCP server in another, which asks an HTTP server. Both processes send their
spans by OTLP to a small receiver here. It needs the core, pegboard-chat, -manifest, -mcp and -otel.
tests/test_trace_processes.py holds the same two processes to their trace, and the picture to its names.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

PICTURE = Path(__file__).parent / "how-to" / "trace.svg"


class Receiver:
    """A receiver of OTLP over HTTP, which is the HTTP server that the tool asks, too."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.spans: list[dict[str, Any]] = []
        self.asked: list[str | None] = []

    def take(self, body: bytes) -> None:
        """What one process sends."""
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        for of in ExportTraceServiceRequest.FromString(body).resource_spans:
            process = {one.key: one.value.string_value for one in of.resource.attributes}["service.name"]
            for scope in of.scope_spans:
                for span in scope.spans:
                    ids = {name: getattr(span, name).hex() for name in ("trace_id", "span_id", "parent_span_id")}
                    told = {one.key: one.value.string_value for one in span.attributes}
                    at = {"began": span.start_time_unix_nano / 1e6, "ended": span.end_time_unix_nano / 1e6}
                    self.spans.append({"name": span.name, "process": process, "attributes": told, **ids, **at})


@contextlib.contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver, as long as the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                import gzip

                body = gzip.decompress(body)
            if self.path == "/v1/traces":
                found.take(body)
            self._say(b"", "application/x-protobuf")

        def do_GET(self) -> None:
            found.asked.append(self.headers.get("traceparent"))
            self._say(b'{"done": true}', "application/json")

        def _say(self, body: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found = Receiver(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield found
        finally:
            server.shutdown()
            thread.join()


def manifest(folder: Path, url: str) -> Path:
    """A manifest with one tool, which asks an HTTP server."""
    tool = {
        "id": "http:tell", "name": "get_weather", "description": "Asks.", "category": "read", "risk": "low",
        "idempotency": "idempotent", "examples": [{"input": {}}],
        "input_schema": {"type": "object", "properties": {}, "additionalProperties": False},
        "binding": {"kind": "http", "server": "there", "method": "GET", "path": "/told", "output": {"parser": "json"}},
    }  # fmt: skip
    document = {
        "manifest_version": "1.0",
        "schema_dialect": "https://json-schema.org/draft/2020-12/schema",
        "project": {"name": "Trace", "runtime": "other", "execution_model": "remote-http"},
        "servers": {"there": {"base_url": url}},
        "tools": [tool],
    }
    place = folder / "tool.manifest.json"
    place.write_text(json.dumps(document), encoding="utf-8")
    return place


def ask(folder: Path, http: str, collector: str, **more: str) -> subprocess.CompletedProcess[str]:
    """A question in one process, whose tool is that of a board in another."""
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector, "OTEL_METRICS_EXPORTER": "none", **more}
    far = folder / "far.toml"
    far.write_text(f"[plugins.manifest]\nfiles = ['{manifest(folder, http)}']\n")
    said = ", ".join(f"{name} = '{value}'" for name, value in env.items())
    near = folder / "near.toml"
    near.write_text(
        "[plugins.mcp.servers.far]\n"
        f"command = '{sys.executable}'\nprefix = 'far_'\nrequired = true\nallowed_tools = ['get_weather']\n"
        f"args = ['-m', 'pegboard', '--config', '{far}', '--plugin', 'manifest', '--plugin', 'mcp', '--plugin', 'otel',"
        f" 'serve']\nenv = {{ {said}, OTEL_SERVICE_NAME = 'the server' }}\n"
    )
    words = ["--config", str(near), "chat", "--model", "echo", "--json", "far_get_weather {}"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    env |= {"XDG_CACHE_HOME": str(folder / "cache")}
    return subprocess.run(
        [sys.executable, "-m", "pegboard", *words],
        capture_output=True, text=True, timeout=120, check=False, env=kept | env, cwd=folder,
    )  # fmt: skip


# -- the picture

STYLE = """\
    text { font: 13px ui-sans-serif, system-ui, 'DejaVu Sans', sans-serif }
    .paper { fill: #f6f8fa } .frame { stroke: #d0d7de } .said { fill: #1f2933 } .aside { fill: #5b6672 }
    .one { fill: #7cb7ff } .two { fill: #86cfa3 }
    @media (prefers-color-scheme: dark) {
      .paper { fill: #14181f } .frame { stroke: #343b46 } .said { fill: #d9dfe7 } .aside { fill: #94a0ae }
      .one { fill: #2f6fb3 } .two { fill: #3a7d57 }
    }
"""
WIDTH, LINE, MARGIN, NAMES = 860, 26, 20, 330
"""In the picture's own units, which are pixels where it is not scaled."""


def in_order(spans: list[dict[str, Any]]) -> list[tuple[int, dict[str, Any]]]:
    """The spans of the question's trace as a tree: how deep each lies, in the order of their beginnings."""
    (root,) = [span for span in spans if span["name"].startswith("invoke_agent")]

    def below(span: dict[str, Any], depth: int) -> Iterator[tuple[int, dict[str, Any]]]:
        yield depth, span
        for one in sorted(spans, key=lambda one: one["began"]):
            if one["parent_span_id"] == span["span_id"]:
                yield from below(one, depth + 1)

    return list(below(root, 0))


def draw(spans: list[dict[str, Any]]) -> str:
    """The picture as SVG; it is light or dark as the reader's system is."""
    rows = in_order(spans)
    began, whole = rows[0][1]["began"], rows[0][1]["ended"] - rows[0][1]["began"]
    height = 2 * MARGIN + LINE * (len(rows) + 1)
    scale = (WIDTH - NAMES - 2 * MARGIN - 70) / whole
    title = (
        "One trace over two processes: a question, the tool it calls, the MCP server that has it, and what that asks"
    )
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{title}">',
        f"  <title>{title}</title>\n  <style>\n{STYLE}  </style>",
        f'  <rect class="paper frame" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>',
    ]
    for row, (depth, span) in enumerate(rows):
        y = MARGIN + row * LINE
        kind = "two" if span["process"] == "the server" else "one"
        took = span["ended"] - span["began"]
        left, wide = NAMES + (span["began"] - began) * scale, max(took * scale, 2)
        lines += [
            f'  <text class="said" x="{MARGIN + 16 * depth}" y="{y + 15}">{escape(span["name"])}</text>',
            f'  <rect class="{kind}" x="{left:.1f}" y="{y + 3}" width="{wide:.1f}" height="16" rx="3"/>',
            f'  <text class="aside" x="{left + wide + 6:.1f}" y="{y + 15}">{took:.1f} ms</text>',
        ]
    y = MARGIN + len(rows) * LINE + 6
    for x, kind, text in (
        (MARGIN, "one", "the process of the chat"),
        (MARGIN + 200, "two", "the process of the server"),
    ):
        lines += [
            f'  <rect class="{kind}" x="{x}" y="{y + 2}" width="14" height="14" rx="3"/>',
            f'  <text class="aside" x="{x + 20}" y="{y + 14}">{text}</text>',
        ]
    return "\n".join([*lines, "</svg>", ""])


def main() -> None:
    """Run the two processes and write the picture."""
    with tempfile.TemporaryDirectory() as place, receiving() as receiver:
        ask(Path(place), receiver.url, receiver.url)  # a server that nobody knows yet is started for its list first
        receiver.spans.clear()
        done = ask(Path(place), receiver.url, receiver.url)
        assert done.returncode == 0, done.stderr
        PICTURE.write_text(draw(receiver.spans), encoding="utf-8")


if __name__ == "__main__":
    main()
