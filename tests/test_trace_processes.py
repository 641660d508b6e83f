"""One trace over two processes, from a question over a tool, an MCP server and its tool to what that asks of an HTTP
server, as a collector gets it: a small receiver of OTLP, and a real one where `--thorough` is asked for."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

for needed in ("pegboard_otel", "pegboard_mcp", "pegboard_chat", "pegboard_manifest"):
    pytest.importorskip(needed, reason=f"{needed} is not installed")

if TYPE_CHECKING:
    from collections.abc import Iterator

PHOENIX = "arize-phoenix==20.26.1"
WAY = [
    ("invoke_agent pegboard", None),
    ("execute_tool far_get_weather", "invoke_agent pegboard"),
    ("tools/call get_weather", "execute_tool far_get_weather"),
    ("execute_tool get_weather", "tools/call get_weather"),
    ("GET", "execute_tool get_weather"),
]
"""The spans of the way, each with the one that it lies below; the last is the parent of the HTTP request."""


def load_drawing() -> Any:
    """`docs/trace_picture.py`, which is of no package: it has the two processes."""
    spec = importlib.util.spec_from_file_location(
        "trace_picture", Path(__file__).parent.parent / "docs" / "trace_picture.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


drawing = load_drawing()


@pytest.fixture
def receiver() -> Iterator[Any]:
    with drawing.receiving() as found:
        yield found


def test_a_question_is_one_trace_over_two_processes(tmp_path: Path, receiver: Any) -> None:
    done = drawing.ask(tmp_path, receiver.url, receiver.url)
    assert done.returncode == 0, done.stderr
    spans = {span["name"]: span for span in receiver.spans}
    assert {name for name, _ in WAY} <= spans.keys(), sorted(spans)
    for name, parent in WAY:
        assert spans[name]["parent_span_id"] == (spans[parent]["span_id"] if parent else ""), name
    assert len({spans[name]["trace_id"] for name, _ in WAY}) == 1
    last = spans[WAY[-1][0]]
    assert [(one or "")[:53] for one in receiver.asked] == [f"00-{last['trace_id']}-{last['span_id']}-"]  # then flags
    assert spans[WAY[1][0]]["attributes"]["mcp.method.name"] == "tools/call"
    named = [span["name"] for span in receiver.spans if span["trace_id"] == last["trace_id"]]
    assert len([name for name in named if name.startswith("tools/call")]) == 1
    picture, drawn = drawing.draw(receiver.spans), drawing.PICTURE.read_text(encoding="utf-8")
    for name, _ in WAY:
        assert f">{name}</text>" in picture
        assert f">{name}</text>" in drawn


def test_a_call_is_answered_where_the_collector_is_gone(tmp_path: Path, receiver: Any, peer_programs: Any) -> None:
    gone = f"http://127.0.0.1:{peer_programs.free_port()}"
    done = drawing.ask(tmp_path, receiver.url, gone)
    assert done.returncode == 0, done.stderr
    assert len(receiver.asked) == 1
    assert "Traceback" not in done.stderr
    assert "4318" not in done.stderr
    assert "encountered while exporting" not in done.stderr
    assert "what was recorded was not sent within 3 s" in done.stderr


def test_a_real_collector_has_the_same_trace(tmp_path: Path, receiver: Any, peers: Any, thorough: bool) -> None:
    """Phoenix, which takes OTLP and gives its spans back as JSON. It is large, so it is installed when asked for."""
    if not thorough:
        pytest.skip("Phoenix has 600 MB; --thorough installs it")
    phoenix = peers.venv("phoenix", PHOENIX)
    port, grpc = peers.free_port(), peers.free_port()
    env = {
        "PHOENIX_WORKING_DIR": str(tmp_path), "PHOENIX_PORT": str(port), "PHOENIX_GRPC_PORT": str(grpc),
        "PHOENIX_HOST": "127.0.0.1", "PHOENIX_TELEMETRY_ENABLED": "false",
    }  # fmt: skip
    with peers.serving("phoenix", [str(phoenix / "bin" / "phoenix"), "serve"], port, "/healthz", env=env) as collector:
        done = drawing.ask(tmp_path, receiver.url, collector)
        assert done.returncode == 0, done.stderr
        hold_in_phoenix(collector, tmp_path)


def hold_in_phoenix(collector: str, folder: Path) -> None:
    """It writes what it takes a moment later."""
    deadline = time.monotonic() + 60
    while True:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{collector}/v1/projects/default/spans") as answer:
            spans = {one["name"]: one for one in json.load(answer)["data"]}
            if {name for name, _ in WAY} <= spans.keys():
                break
        assert time.monotonic() < deadline, "the collector does not show the trace"
        time.sleep(0.2)
    for name, parent in WAY:
        assert spans[name]["parent_id"] == (spans[parent]["context"]["span_id"] if parent else None), name
    assert len({spans[name]["context"]["trace_id"] for name, _ in WAY}) == 1
