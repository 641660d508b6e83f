"""A bot on NATS that uses a board without a Pegboard of its own: the plain protocol, in the standard library alone.

    nats-server &
    pegboard nats serve --model echo &
    python examples/reach/nats_bot.py 127.0.0.1:4222 ada 'calculator {"expression": "6 * 7"}'

It asks as `ada`: the last word of the subject. Any library of NATS, in any language, does the same in a few lines.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def messages(link: socket.socket) -> Iterator[tuple[dict[str, str], bytes]]:
    """Headers and payload of each message that comes."""
    stream = link.makefile("rb")
    for line in stream:
        words = line.split()
        if words[0] == b"PING":
            link.sendall(b"PONG\r\n")
        elif words[0] == b"-ERR":
            raise SystemExit(line.decode().strip())
        elif words[0] in (b"MSG", b"HMSG"):
            size = int(words[-1])
            head = int(words[-2]) if words[0] == b"HMSG" else 0
            whole = stream.read(size + 2)[:-2]
            lines = whole[:head].decode().split("\r\n")[1:]
            yield dict(one.split(": ", 1) for one in lines if ": " in one), whole[head:]


def ask(address: str, user: str, question: str) -> int:
    """Ask a question and print the answer as it is written; 0: it came."""
    host, _, port = address.partition(":")
    inbox = f"_INBOX.bot.{user}.{os.urandom(8).hex()}"
    request = json.dumps({"message": question, "stream": True}).encode()
    with socket.create_connection((host, int(port or 4222)), timeout=60) as link:
        options = {"verbose": False, "pedantic": False, "headers": True, "no_responders": True}
        link.sendall(
            f"CONNECT {json.dumps(options)}\r\nSUB {inbox} 1\r\n"
            f"PUB pb.llm.chat.{user} {inbox} {len(request)}\r\n".encode()
            + request
            + b"\r\n"
        )
        for headers, payload in messages(link):
            kind = headers.get("Pb-Kind")
            if kind is None:
                print("nobody serves a board there: pegboard nats serve")
                return 1
            told = json.loads(payload)
            if kind == "error":
                print(f"{told['error']['code']}: {told['error']['message']}")
                return 1
            if kind == "result":
                print()
                return 0
            if told["type"] == "text":
                print(told["text"], end="", flush=True)
            elif told["type"] == "call":
                print(f"({told['name']} ...)")
    return 1


if __name__ == "__main__":
    sys.exit(ask(*sys.argv[1:4]))
