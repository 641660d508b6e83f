"""What a child process of discovery sees, may say and leaves behind."""

from __future__ import annotations

import json
import os
import select
import sys
from pathlib import Path

import pytest

from pegboard_toolgen.discover._child import run_child


def python(code: str, **named: object):
    options = {"deadline_s": 20.0, "max_bytes": 100_000, **named}
    return run_child([sys.executable, "-c", code, *(["{fd}"] if options.get("answers") else [])], **options)


def test_a_child_sees_path_and_constants_and_no_variable_of_ours(monkeypatch):
    monkeypatch.setenv("MY_SECRET_TOKEN", "hunter2")
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    seen = json.loads(python("import os, json; print(json.dumps(dict(os.environ)))").stdout)
    assert "hunter2" not in json.dumps(seen)
    assert "PYTHONPATH" not in seen
    assert seen["PATH"] == os.environ["PATH"]
    assert (seen["LANG"], seen["NO_COLOR"], seen["PYTHONHASHSEED"]) == ("C.UTF-8", "1", "0")


def test_its_folders_are_its_own_empty_and_gone_afterwards_and_their_names_are_not_told():
    code = (
        "import os, pathlib, sys\n"
        "print(os.getcwd(), os.environ['HOME'], os.listdir('.'), os.listdir(os.environ['HOME']))\n"
        "sys.stdout.flush(); os.write(2, ''.join(reversed(os.getcwd())).encode())"
    )
    finished = python(code)
    assert finished.stdout.decode().split() == [".", "~", "[]", "[]"]
    assert not Path("".join(reversed(finished.stderr.decode()))).exists()


def test_standard_input_is_empty_and_the_session_is_its_own():
    finished = python("import os, sys; print(repr(sys.stdin.read()), os.getsid(0) == os.getpid())")
    assert finished.stdout.decode().split() == ["''", "True"]


def test_the_answer_comes_by_a_pipe_of_its_own_whatever_is_printed():
    finished = python("import os, sys; print('noise'); os.write(int(sys.argv[1]), b'answer')", answers=True)
    assert (finished.answer, finished.stdout, finished.status) == (b"answer", b"noise\n", 0)


def test_at_the_deadline_the_child_and_its_children_are_killed(tmp_path, in_time):
    pids = tmp_path / "pids"
    code = (
        "import os, subprocess, sys, time\n"
        "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{p.pid}}'); time.sleep(600)"
    )
    with in_time():
        finished = python(code, deadline_s=2.0)
        assert (finished.status, finished.why) == (None, "deadline")
    for pid in map(int, pids.read_text().split()):
        assert _ends(pid)


def _ends(pid: int) -> bool:
    """Whether a process is gone, or goes within some seconds: what is killed may take a moment."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], 10)[0])
    finally:
        os.close(descriptor)


def test_a_child_that_leaves_its_output_open_to_a_grandchild_is_waited_for_no_longer_than_the_deadline(in_time):
    code = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])"
    with in_time():
        assert python(code, deadline_s=2.0).why == "deadline"


def test_more_output_than_the_bound_ends_it():
    finished = python("while True: print('x' * 1000)", max_bytes=50_000)
    assert finished.why == "too much output"
    assert len(finished.stdout) == 50_000


def test_no_descriptor_is_left_open():
    python("pass", answers=True)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        python("pass", answers=True)
    assert len(os.listdir("/proc/self/fd")) == before


def test_what_cannot_be_started_is_an_os_error():
    with pytest.raises(OSError, match="No such file"):
        run_child(["/nonexistent/program"], deadline_s=1, max_bytes=10)
