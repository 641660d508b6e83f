"""The HTTP API of the section of bindings, as a process of its own, and its OpenAPI document."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

API = Path(__file__).resolve().parent.parent / "manifest_api.py"


@contextmanager
def api():
    """Its base URL, while it serves."""
    server = subprocess.Popen([sys.executable, str(API)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield f"http://127.0.0.1:{int(server.stdout.readline())}"
    finally:
        server.stdin.close()
        server.wait()
        server.stdout.close()


def document_of(url):
    """Its OpenAPI document."""
    number = {"type": "number"}
    parameters = [{"name": name, "in": "query", "required": True, "schema": number} for name in ("a", "b")]
    schema = {"type": "object", "properties": {"result": number}, "required": ["result"]}
    answer = {"description": "The sum.", "content": {"application/json": {"schema": schema}}}
    get = {"operationId": "sum", "summary": "Add.", "parameters": parameters, "responses": {"200": answer}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "sum", "version": "1"},
        "servers": [{"url": url}],
        "paths": {"/sum": {"get": get}},
    }
