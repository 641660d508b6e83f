"""`manifest_api.py`: an HTTP API of one operation on loopback, for the section of bindings; prints its port.

It answers `GET /sum?a=1&b=2` with the sum as JSON, on connections that stay, and ends with its standard input.
"""

from __future__ import annotations

import socketserver
import sys
import threading
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlsplit


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self):
        query = parse_qs(urlsplit(self.path).query)
        body = b'{"result":%r}' % (float(query["a"][0]) + float(query["b"][0]))
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *said):
        """Say nothing."""


class Server(socketserver.ThreadingTCPServer):
    """Many connections."""

    daemon_threads = True


if __name__ == "__main__":
    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(server.server_address[1], flush=True)
        sys.stdin.read()
