"""How much a confined program may use, and by what it is known that it wanted more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pegboard_confine import kernel
from pegboard_confine.bounds import TOGETHER, Bounds, unbounded_together

resource = pytest.importorskip("resource", reason="nothing is confined where there are no rlimits")
pytestmark = pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="prlimit is Linux's")

WAITS = "import sys, resource; sys.stdin.read(); print(*(resource.getrlimit(one)[1] for one in map(int, sys.argv[1:])))"


def test_bounds_are_set_from_outside_before_a_program_goes_on_and_never_above_what_it_had() -> None:
    kinds = [resource.RLIMIT_DATA, resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE, resource.RLIMIT_CORE]
    words = [sys.executable, "-c", WAITS, *map(str, kinds)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (5_000_000, 5_000_000))
        Bounds(max_memory_bytes=10**9, max_processes=7_000, max_file_bytes=10**7).apply(process.pid)
        said, _ = process.communicate("")
    assert list(map(int, said.split())) == [10**9, 7_000, 5_000_000, 0]


@pytest.mark.parametrize(
    ("status", "words", "reached"),
    [
        (153, "", "max_file_bytes"),
        (-25, "", "max_file_bytes"),
        (1, "OSError: [Errno 27] File too large", "max_file_bytes"),
        (134, "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory", "max_memory_bytes"),
        (1, "MemoryError", "max_memory_bytes"),
        (1, "RuntimeError: can't start new thread", "max_processes"),
        (1, "Error: spawn EAGAIN", "max_processes"),
        (1, "ValueError: no such city", None),
        (0, "", None),
    ],
)
def test_a_bound_that_was_reached_is_told_by_the_end_or_the_last_words(
    status: int, words: str, reached: str | None
) -> None:
    assert Bounds().reached(status, words) == reached


def test_the_filter_of_a_program_that_is_watched_lets_tracing_through_and_nothing_else() -> None:
    if not kernel.can_forbid():
        pytest.skip("no filter is known for this system")
    for machine, numbers in kernel.BEYOND_PROCESSES.items():
        assert set(numbers) - set(kernel.BEYOND_NAMESPACES[machine]) == set(kernel.TRACING[machine])
    assert len(kernel.program_of(kernel.BEYOND_NAMESPACES)) < len(kernel.program_of(kernel.BEYOND_PROCESSES))


@pytest.mark.parametrize(
    ("own", "files", "left"),
    [
        ("0::/user/a\n", {}, ("memory", "processes", "the processor")),
        ("0::/user/a\n", {"user/a/memory.max": "max\n", "user/a/cpu.max": "max 100000\n"}, tuple(TOGETHER)),
        ("0::/user/a\n", {"user/a/memory.max": "max\n", "user/memory.max": "8000\n"}, ("processes", "the processor")),
        ("0::/user/a\n", {"user/b/memory.max": "8000\n"}, tuple(TOGETHER)),
        ("0::/\n", {"memory.max": "1\n", "pids.max": "9\n", "cpu.max": "200000 100000\n"}, ()),  # of a container
        ("4:memory:/x\n3:cpu,cpuacct:/\n0::/\n", {}, ("processes",)),
        ("", {}, tuple(TOGETHER)),
        ("nothing that is known\n", {}, tuple(TOGETHER)),
    ],
)
def test_what_no_control_group_bounds_is_known(
    tmp_path: Path, own: str, files: dict[str, str], left: tuple[str, ...]
) -> None:
    (tmp_path / "own").write_text(own)
    for name, text in files.items():
        (tmp_path / "groups" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "groups" / name).write_text(text)
    assert unbounded_together(tmp_path / "own", tmp_path / "groups") == left
