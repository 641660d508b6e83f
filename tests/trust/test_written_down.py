"""No key that the host knows is in what is written down of a call, whichever way the host was told it."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

for needed in ("pegboard_mcp", "pegboard_chat", "pegboard_otel", "pegboard_audit", "pegboard_tasks", "pegboard_nats"):
    pytest.importorskip(needed)

SERVER = Path(__file__).parent.parent / "kit" / "answering.py"
ENVIRON = {
    "variable": ("SOME_TOKEN", "{key}"),
    "header in a variable": ("SOME_AUTHORIZATION", "Bearer {key}"),
    "headers of a collector": ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20{key},x=y"),
    "address in a variable": ("DATABASE_URL", "postgres://ada:{key}@db.example/one"),
    "address without a user": ("QUEUE_URL", "amqp://{key}@queue.example/one"),
}
CONFIG = {
    "token of clients": '[plugins.mcp.tokens]\n"{key}" = "ada"',
    "token of the gateway": '[plugins.http.tokens]\n"{key}" = "ada"',
    "password of a database": '[plugins.tasks]\nurl = "postgresql+psycopg://ada:{key}@127.0.0.1/one"',
    "password of NATS": '[plugins.nats]\nservers = ["nats://ada:{key}@127.0.0.1:1"]',
    "key of a model": '[plugins.openai]\napi_key = "{key}"',
}
PROGRAMS = {
    "env": 'env = {{ DIARY = "{key}" }}',
    "address in env": 'env = {{ DSN = "postgres://ada:{key}@db.example/one" }}',
    "env_file": 'env_file = "some.env"',
    "argument": 'args = ["--api-key", "{key}"]',
    "address in an argument": 'args = ["--db=postgres://ada:{key}@db.example/one"]',
}
PLACES = {
    "header": 'url = "http://127.0.0.1:1/"\nheaders = {{ Authorization = "Bearer {key}" }}',
    "cookie": 'url = "http://127.0.0.1:1/"\nheaders = {{ Cookie = "a=b; sid={key}; c=d" }}',
    "basic authentication": 'url = "http://127.0.0.1:1/"\nheaders = {{ Authorization = "Basic {basic}" }}',
    "address of a server": 'url = "http://ada:{key}@127.0.0.1:1/"',
    "query of an address": 'url = "http://127.0.0.1:1/?api_key={key}"',
}
CONFIG |= {
    way: f"[plugins.mcp.servers.{way.replace(' ', '_')}]\n{text}"
    for way, text in {**{way: f'command = "true"\n{text}' for way, text in PROGRAMS.items()}, **PLACES}.items()
}
KEYS = {way: f"zq{at}Vt{at}mXk{at}LpR{at}wB7" for at, way in enumerate([*ENVIRON, *CONFIG], 11)}
"""Without a shape and without a name, as a tool answers with them."""


def _filled(way: str, text: str) -> str:
    basic = base64.b64encode(f"ada:{KEYS[way]}".encode()).decode()
    return text.format(key=KEYS[way], basic=basic)


@pytest.fixture(params=["mask", "allow"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A project whose host knows every key, and writes down all that it can."""
    (tmp_path / "some.env").write_text(f"DIARY={KEYS['env_file']}\n")
    (tmp_path / "keys.txt").write_text("".join(f"the key of the {way}: {key}\n" for way, key in KEYS.items()))
    config = [
        f'[secrets]\ndefault = "{request.param}"',
        f'[plugins.audit]\nfile = "{tmp_path}/out/audit.jsonl"\narguments = true',
        f'[plugins.audit_db]\nfile = "{tmp_path}/out/audit.sqlite3"\narguments = true',
        f'[plugins.record]\nmode = "record"\nfile = "{tmp_path}/out/recorded.json"',
        "[plugins.otel]\ncontent = true",
        f"[plugins.mcp.servers.own]\ncommand = {json.dumps(sys.executable)}\n"
        f"args = [{json.dumps(str(SERVER))}, {json.dumps(str(tmp_path / 'keys.txt'))}]",
        *(_filled(way, text) for way, text in CONFIG.items()),
    ]
    (tmp_path / "board.toml").write_text("\n".join(config))
    (tmp_path / "out").mkdir()
    return tmp_path


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "HOME": str(folder), "OTEL_TRACES_EXPORTER": "console", "PYTHONWARNINGS": "ignore"}
    env |= {f"XDG_{name}_HOME": str(folder / "out" / name) for name in ("CONFIG", "STATE", "DATA", "CACHE")}
    env |= {name: _filled(way, text) for way, (name, text) in ENVIRON.items()}
    command = [sys.executable, "-m", "pegboard", "--debug", "--config", str(folder / "board.toml"), *words]
    return subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def forms_in(text: str) -> set[str]:
    """The ways whose keys stand in a text, also in base64 or hexadecimal."""
    return {
        way
        for way, key in KEYS.items()
        if key in text or base64.b64encode(key.encode()).decode()[:20] in text or key.encode().hex() in text
    }


def test_no_key_of_the_host_is_written_down(folder: Path) -> None:
    """Attack: a tool answers with a key alone, of which the host knows an address, a cookie or a header; a model is
    told it, and whoever reads records, traces and saved conversations later."""
    lets_through = '"allow"' in (folder / "board.toml").read_text()
    asked = run(folder, "chat", "--model", "echo", "--quiet", "--save", str(folder / "out" / "talk.json"), "say {}")
    assert "the key of the cookie" in asked.stdout, asked.stderr
    text = " ".join(KEYS.values())
    called = run(folder, "call", "say", "--args", json.dumps({"text": text}), "--json")
    assert json.loads(called.stdout)["ok"], called.stderr
    assert forms_in(asked.stdout) == (set(KEYS) if lets_through else set())
    written = {"stderr": asked.stderr + called.stderr}
    written |= {
        str(file.relative_to(folder)): file.read_bytes().decode("latin-1")
        for file in (folder / "out").rglob("*")
        if file.is_file() and (file.name != "talk.json" or not lets_through)
    }
    assert {"out/audit.jsonl", "out/audit.sqlite3", "out/recorded.json"} <= set(written)
    assert "gen_ai.tool.call.arguments" in asked.stdout + written["stderr"]
    assert {name: found for name, said in written.items() if (found := forms_in(said))} == {}
