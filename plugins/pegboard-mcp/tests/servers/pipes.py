"""A process at the other end of two pipes, for the tests of the stdio transport. Arguments: MODE [FOLDER].

It answers each request with `{"echo": params}`; its mode says what else it does:

    echo       nothing else; at the end of its stdin it notes "eof" in FOLDER/notes
    exit       two lines on stderr, status 3
    silent     reads, never answers
    garbage    prints lines that are not JSON-RPC, without end
    chatty     prints a line that is not JSON-RPC before each answer
    bytes      answers with bytes that are not UTF-8 in a text
    utf-16     speaks UTF-16, latin-1 speaks ISO 8859-1
    env        answers with its environment and its folder
    huge       answers with `params.size` bytes; the id stands first, or last with `params.late`, or nowhere
    endless    answers with a line that never ends
    deaf       reads nothing before FOLDER/hear exists, then counts the lines that are JSON in its answers
    shut       closes its stdout and stays
    stubborn   ignores the end of its stdin and SIGTERM
    parent     starts a child that ignores all that and holds the pipes; the child's pid is noted in FOLDER/notes
    flood      prints answers until nobody reads, and looks for the end of its stdin in between
"""

import json
import os
import signal
import subprocess
import sys
import time

mode = sys.argv[1]
folder = sys.argv[2] if len(sys.argv) > 2 else None
encoding = mode if mode in ("utf-16", "latin-1") else "utf-8"
write, flush = sys.stdout.buffer.write, sys.stdout.buffer.flush
first = True


def note(text: object) -> None:
    if folder is None:
        return
    with open(folder + "/notes", "a") as file:
        file.write(f"{text}\n")


def send(message: object) -> None:
    global first
    data = (json.dumps(message, ensure_ascii=encoding == "latin-1" and "€" in str(message)) + "\n").encode(encoding)
    if encoding == "utf-16" and not first:
        data = data[2:]  # the mark stands once, at the beginning
    first = False
    write(data)
    flush()


def wait() -> None:
    while True:
        time.sleep(60)


if mode == "exit":
    sys.stderr.write("reading the configuration\nKeyError: 'hunter2-token'\n")
    sys.exit(3)
if mode == "garbage":
    while True:
        write(b"<html>\x1b[31mhunter2-token\n")
        flush()
if mode == "shut":
    os.close(1)
    wait()
if mode == "flood":
    line = b'{"jsonrpc":"2.0","method":"notifications/x","params":{"x":"' + b"x" * 1000 + b'"}}\n'
    import select

    while not select.select([0], [], [], 0)[0]:
        os.write(1, line)
    note("eof")
    sys.exit()
if mode == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    note(os.getpid())
if mode == "parent":
    child = subprocess.Popen([sys.executable, "-S", "-E", __file__, "stubborn", folder])
    while not (os.path.exists(folder + "/notes") and os.path.getsize(folder + "/notes")):
        time.sleep(0.005)
if mode == "deaf":
    while not os.path.exists(folder + "/hear"):
        time.sleep(0.005)

source = sys.stdin.buffer
if encoding == "utf-16":
    source = (line.encode() for line in open(0, encoding="utf-16"))  # noqa: SIM115 - it ends with the process
heard = 0
for raw in source:
    message = json.loads(raw.decode(encoding if encoding == "latin-1" else "utf-8"))
    heard += 1
    number = message.get("id")
    if number is None or mode == "silent":
        continue
    if mode == "chatty":
        write(b"Listening on port 3000...\n\n\xef\xbb\xbf\n")
    params = message.get("params") or {}
    if mode == "bytes":
        write(b'{"jsonrpc":"2.0","id":%d,"result":{"text":"a\xff\xfeb"}}\n' % number)
        flush()
    elif mode == "env":
        send({"jsonrpc": "2.0", "id": number, "result": {"env": dict(os.environ), "cwd": os.getcwd()}})
    elif mode == "huge" and "size" in params:
        body = "x" * params["size"]
        where = params.get("id", "first")
        if where == "first":
            send({"jsonrpc": "2.0", "id": number, "result": {"text": body}})
        elif where == "last":
            send({"result": {"text": body}, "jsonrpc": "2.0", "id": number})
        else:
            send({"result": {"text": body}, "id": number, "jsonrpc": "2.0", "more": {"id": 77, "x": body}})
    elif mode == "endless":
        while True:
            write(b"x" * 65_536)
    elif mode == "deaf":
        send({"jsonrpc": "2.0", "id": number, "result": {"heard": heard}})
    else:
        send({"jsonrpc": "2.0", "id": number, "result": {"echo": params}})
if mode == "stubborn":
    wait()
note("eof")
