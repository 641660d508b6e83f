"""No path leaves its root: not by its text, by links, by /proc, nor by folders that are swapped meanwhile."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pegboard import ErrorCode, ToolError
from pegboard.testing import assert_error, assert_ok
from pegboard_files import _opening as way
from pegboard_files._grepping import Wanted, compile_wanted, search_folder
from pegboard_files._names import parse
from pegboard_files._places import Root, Scope
from pegboard_files._reading import Caps, read
from pegboard_files._rules import Entry, Rules, parts_of
from pegboard_files._walking import Budget, list_folder
from pegboard_files._writing import place_of, replace, still_there

CAPS = Caps(text=10_000, scan=100_000, binary=100_000)
WAYS = {"openat2": way.Openat2(), "walk": way.Walk()}


def nobody_waits_less() -> None:
    """The check of a call that is not cancelled."""


def scope_of(folder: Path, opening: str) -> Scope:
    return Scope("test", (Root(str(folder), WAYS[opening]),), Rules(), writable=True)


ESCAPES = [
    "../outside/secret.txt",
    "sub/../../outside/secret.txt",
    "/etc/passwd",
    "//etc/passwd",
    "/proc/self/environ",
    "to_outside/secret.txt",
    "to_secret",
    "absolute",
    "sub/up/outside/secret.txt",
    "chain",
    "to_proc/environ",
    "to_fd/0",
    "to_root_of_all/etc/passwd",
]


@pytest.fixture
def traps(root: Path) -> Path:
    """A root with links of every kind that lead out of it."""
    outside = root.parent / "outside"
    (root / "sub").mkdir()
    (root / "to_outside").symlink_to(outside)
    (root / "to_secret").symlink_to("../outside/secret.txt")
    (root / "absolute").symlink_to(outside / "secret.txt")
    (root / "sub" / "up").symlink_to("../..")
    (root / "chain").symlink_to("to_secret")
    (root / "to_proc").symlink_to("/proc/self")
    (root / "to_fd").symlink_to("/proc/self/fd")
    (root / "to_root_of_all").symlink_to("/")
    return root


@pytest.mark.parametrize("path", ESCAPES)
async def test_no_tool_follows_a_path_out(traps: Path, open_files: Any, opening: str, path: str) -> None:
    files = await open_files(opening=opening)
    for name, more in [
        ("read_file", {}),
        ("write_file", {"content": "mine"}),
        ("write_file", {"content": "mine", "create_dirs": True}),
        ("edit_file", {"edits": [{"old_text": "SECRET", "new_text": "mine"}]}),
        ("edit_file", {"edits": [{"old_text": "SECRET", "new_text": "mine"}], "dry_run": True}),
        ("list_directory", {"recursive": True}),
        ("search_files", {}),
        ("search_text", {"pattern": "."}),
    ]:
        result = assert_error(await files.call(name, {"path": path, **more}), ErrorCode.FORBIDDEN)
        assert "SECRET" not in str(result.to_json())
        assert str(traps) not in str(result.to_json())
    assert (traps.parent / "outside" / "secret.txt").read_text() == "SECRET"
    assert [one.name for one in (traps.parent / "outside").iterdir()] == ["secret.txt"]


async def test_a_walk_shows_links_and_goes_through_none(traps: Path, open_files: Any, opening: str) -> None:
    files = await open_files(opening=opening, ripgrep="")
    listed = assert_ok(await files.call("list_directory", {"recursive": True}))
    assert {entry["path"]: entry["type"] for entry in listed.data["entries"]}["to_outside"] == "symlink"
    for result in (
        listed,
        await files.call("search_files", {"pattern": "**"}),
        await files.call("search_files", {"pattern": "*/secret.txt"}),
        await files.call("search_text", {"pattern": "SECRET"}),
    ):
        assert "to_outside/" not in str(assert_ok(result).to_json())
    assert files.results[-1].data["matches"] == []


async def test_a_link_that_stays_beneath_is_followed_where_the_kernel_holds_it(root: Path, open_files: Any) -> None:
    (root / "sub").mkdir()
    (root / "sub" / "real.txt").write_text("one\n")
    (root / "link.txt").symlink_to("sub/real.txt")
    (root / "folder").symlink_to("sub")
    files = await open_files(opening="openat2", tools={"read_file": {"denied_paths": ["sub/private"]}})
    assert_ok(await files.call("read_file", {"path": "link.txt"}), text="one\n")
    assert_ok(await files.call("read_file", {"path": "folder/real.txt"}), text="one\n")
    assert_ok(await files.call("write_file", {"path": "link.txt", "content": "two\n"}))
    assert_ok(await files.call("write_file", {"path": "folder/new.txt", "content": "three\n"}))
    assert (root / "link.txt").is_symlink()
    assert (root / "sub" / "real.txt").read_text() == "two\n"
    assert (root / "sub" / "new.txt").read_text() == "three\n"


async def test_an_absolute_link_is_followed_where_it_says_that_it_stays(root: Path, open_files: Any) -> None:
    """By the root's real name, and by the one that the configuration gives it."""
    (root / "sub" / "deep").mkdir(parents=True)
    (root / "sub" / "real.txt").write_text("one\n")
    other = root.parent / "other"
    other.symlink_to(root)
    for number, name in enumerate((root, other)):
        (root / f"file-{number}").symlink_to(name / "sub" / "real.txt")
        (root / f"folder-{number}").symlink_to(name / "sub")
        (root / f"all-{number}").symlink_to(name)
        (root / f"dots-{number}").symlink_to(f"{name}/sub/deep/.././/real.txt")
        (root / "sub" / f"chain-{number}").symlink_to(name / f"all-{number}" / f"file-{number}")
    files = await open_files(opening="openat2", roots=[str(other)])
    for number in range(2):
        for path in (
            "file-N",
            "folder-N/real.txt",
            "all-N/sub/real.txt",
            "dots-N",
            "sub/chain-N",
            "all-N/all-N/file-N",
        ):
            path = path.replace("N", str(number))
            assert_ok(await files.call("read_file", {"path": path}), text="one\n")
        assert_ok(await files.call("list_directory", {"path": f"folder-{number}"}))
        assert_ok(await files.call("write_file", {"path": f"folder-{number}/new-{number}", "content": "x"}))
        assert_ok(
            await files.call("edit_file", {"path": f"file-{number}", "edits": [{"old_text": "o", "new_text": "o"}]})
        )
        assert (root / "sub" / f"new-{number}").read_text() == "x"
        assert (root / f"file-{number}").is_symlink()


@pytest.mark.parametrize(
    "says",
    [
        "{root}/../outside/secret.txt", "{root}-too/secret.txt", "{root}/sub/../../outside/secret.txt", "{root}/loop",
        "{root}/up/outside/secret.txt", "{outside}/secret.txt", "/proc/self/root{outside}/secret.txt",
        "{outside}/back/a", "/proc/self/cwd", "{root}/abs/secret.txt",
    ],
)  # fmt: skip
async def test_an_absolute_link_that_leads_out_is_not_followed(root: Path, open_files: Any, says: str) -> None:
    outside = root.parent / "outside"
    (root / "sub").mkdir()
    (root / "a").write_text("SECRET")
    (root / "up").symlink_to("..")
    (root / "abs").symlink_to(outside)
    (root / "loop").symlink_to(root / "link")
    (outside / "back").symlink_to(root)  # it comes back in, by a place that may be anybody's
    Path(f"{root}-too").mkdir()
    Path(f"{root}-too/secret.txt").write_text("SECRET")
    (root / "link").symlink_to(says.format(root=root, outside=outside))
    files = await open_files(opening="openat2")
    for name, more in [("read_file", {}), ("write_file", {"content": "x"}), ("search_text", {"pattern": "SECRET"})]:
        error = assert_error(await files.call(name, {"path": "link", **more}), ErrorCode.FORBIDDEN).error
        assert error is not None
        assert error.details["reason"] in ("outside", "link", "not_regular")


NAMES = ("a", "b", "c")
TARGETS = st.lists(st.sampled_from([*NAMES, "..", "."]), min_size=1, max_size=4).map("/".join)
LINKS = st.tuples(st.sampled_from(["", "{root}/", "{above}/"]), TARGETS)
THINGS = st.sampled_from(["file", "folder"]) | LINKS


@pytest.mark.skipif(sys.platform != "linux", reason="where a descriptor lies is asked of /proc")
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join), THINGS, max_size=8), TARGETS
)
def test_what_is_followed_by_hand_lies_where_the_system_says_and_never_outside(
    tmp_path_factory: pytest.TempPathFactory, tree: dict[str, Any], path: str
) -> None:
    root = tmp_path_factory.mktemp("tree") / "root"
    root.mkdir()
    for name, what in tree.items():
        with contextlib.suppress(OSError):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            if what == "file":
                (root / name).write_text("x")
            elif what == "folder":
                (root / name).mkdir()
            else:
                (root / name).symlink_to("".join(what).format(root=root, above=root.parent))
    fd = os.open(root, way.FOLDER)
    try:
        opened = way.follow(fd, tuple(path.split("/")), way.READ)
    except OSError as problem:
        if problem.errno not in (errno.EXDEV, errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            raise
    else:
        real = os.path.realpath(root / path)
        assert os.path.samestat(os.fstat(opened), os.stat(real))
        assert real == str(root) or real.startswith(f"{root}/")
        os.close(opened)
    finally:
        os.close(fd)


async def test_no_link_is_followed_name_by_name(root: Path, open_files: Any) -> None:
    (root / "sub").mkdir()
    (root / "sub" / "real.txt").write_text("one\n")
    (root / "link.txt").symlink_to("sub/real.txt")
    (root / "folder").symlink_to("sub")
    files = await open_files(opening="walk")
    for path in ("link.txt", "folder/real.txt"):
        assert_error(await files.call("read_file", {"path": path}), ErrorCode.FORBIDDEN, reason="link")
        written = await files.call("write_file", {"path": path, "content": "x"})
        assert_error(written, ErrorCode.FORBIDDEN, reason="link")
    assert_error(await files.call("list_directory", {"path": "folder"}), ErrorCode.FORBIDDEN, reason="link")
    assert (root / "sub" / "real.txt").read_text() == "one\n"


async def test_a_link_that_leads_nowhere_is_no_way_to_make_a_file(root: Path, open_files: Any, opening: str) -> None:
    (root / "dangling").symlink_to("nothing.txt")
    (root / "dangling_out").symlink_to("../outside/new.txt")
    files = await open_files(opening=opening)
    for path in ("dangling", "dangling_out"):
        assert_error(await files.call("write_file", {"path": path, "content": "x"}), ErrorCode.FORBIDDEN)
    assert not (root / "nothing.txt").exists()
    assert not (root.parent / "outside" / "new.txt").exists()


async def test_links_are_judged_by_where_they_lead(root: Path, open_files: Any) -> None:
    (root / "private").mkdir()
    (root / "private" / "key").write_text("SECRET")
    (root / "open").mkdir()
    (root / "open" / "way").symlink_to("../private/key")
    (root / "side").symlink_to("open")
    (root / "open" / "plain").write_text("plain")
    tools = {"read_file": {"allowed_paths": ["."], "denied_paths": ["private"]}}
    files = await open_files(opening="openat2", tools=tools)
    for path in ("open/way", "private/key", "side/way", "./open/../private/key", "private/nothing"):
        assert_error(await files.call("read_file", {"path": path}), ErrorCode.FORBIDDEN, reason="denied")
    assert_ok(await files.call("read_file", {"path": "side/plain"}), text="plain")


async def test_a_denied_folder_is_denied_under_another_name_too(root: Path, open_files: Any, opening: str) -> None:
    (root / "private").mkdir()
    (root / "private" / "key").write_text("SECRET")
    (root / "copy").write_text("other")
    files = await open_files(opening=opening, tools={"read_file": {"denied_paths": ["private", "copy"]}})
    assert_error(await files.call("read_file", {"path": "private/key"}), ErrorCode.FORBIDDEN, reason="denied")
    # As on a file system that folds case: another spelling, the same folder.
    (root / "private").rename(root / "PRIVATE")
    os.link(root / "copy", root / "hard")
    for path in ("PRIVATE/key", "hard"):
        assert_error(await files.call("read_file", {"path": path}), ErrorCode.FORBIDDEN, reason="denied")


async def test_only_regular_files_are_opened_and_none_blocks(root: Path, open_files: Any, opening: str) -> None:
    os.mkfifo(root / "pipe")
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(str(root / "socket"))
        names = ["pipe", "socket"]
        with contextlib.suppress(PermissionError):
            os.mknod(root / "device", 0o600 | 0o020000, os.makedev(1, 5))
            names.append("device")
        files = await open_files(opening=opening, ripgrep="")
        for name in names:
            for tool, more in [
                ("read_file", {}),
                ("write_file", {"content": "x"}),
                ("edit_file", {"edits": [{"old_text": "a", "new_text": "b"}]}),
                ("search_text", {"pattern": "x"}),
            ]:
                result = await files.call(tool, {"path": name, **more}, timeout_s=5)
                assert_error(result, ErrorCode.FORBIDDEN)
        assert_ok(await files.call("search_text", {"pattern": "x"}))
        listed = assert_ok(await files.call("list_directory"))
        assert {entry["type"] for entry in listed.data["entries"]} == {"other"}


async def test_files_of_the_kernel_are_closed_below_the_root_of_all(host_with: Any, opening: str) -> None:
    from pegboard.testing import record
    from pegboard_files.plugin import FilesPlugin

    files = record(await host_with(FilesPlugin(opening), config={"plugins": {"files": {"roots": ["/"]}}}))
    for path in ("proc/self/environ", "/proc/self/status", "proc/self/root/etc/passwd", "/dev/null", "sys"):
        assert_error(await files.call("read_file", {"path": path}), ErrorCode.FORBIDDEN)
    assert_ok(await files.call("list_directory", {"path": "/"}))
    assert not {"proc", "dev", "sys"} & {entry["name"] for entry in files.results[-1].data["entries"]}


HARD = st.text(
    st.sampled_from("ab./\\\n\t .~-*%$:;|&'\"<>") | st.characters(exclude_characters="\0/", exclude_categories=["Cs"]),
    min_size=1,
    max_size=20,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(HARD)
def test_whatever_a_path_says_what_is_written_lies_beneath(root: Path, opening: str, text: str) -> None:
    scope = scope_of(root, opening)
    beside = sorted(root.parent.iterdir())
    refusal = None
    try:
        with place_of(scope, asked := parse(text), create_dirs=True) as place:
            replace(place, b"mine", nobody_waits_less)
        _, opened = scope.open_file(asked)
        with opened:
            real = Path(os.readlink(f"/proc/self/fd/{opened.fd}")) if Path("/proc/self/fd").exists() else root
            assert real.is_relative_to(root)
            assert os.pread(opened.fd, 100, 0) == b"mine"
    except ToolError as error:
        refusal = error
    finally:
        scope.roots[0].close()
    assert refusal is None or refusal.code in ("INVALID_INPUT", "FORBIDDEN", "NOT_FOUND")
    assert sorted(root.parent.iterdir()) == beside
    assert (root.parent / "outside" / "secret.txt").read_text() == "SECRET"


# -- the two ways themselves


@pytest.fixture
def folder_fd(traps: Path) -> Iterator[int]:
    fd = os.open(traps, way.FOLDER)
    yield fd
    os.close(fd)


@pytest.mark.parametrize("parts", [("to_outside",), ("to_secret",), ("sub", "up"), ("absolute",), ("to_proc", "fd")])
def test_a_descriptor_never_lies_outside(folder_fd: int, opening: str, parts: tuple[str, ...]) -> None:
    with pytest.raises(OSError) as caught:
        WAYS[opening].open(folder_fd, parts, way.READ)
    assert caught.value.errno in (errno.EXDEV, errno.ELOOP)


@pytest.mark.skipif(sys.platform != "linux", reason="openat2 is a call of Linux")
def test_dots_do_not_climb_even_where_the_text_was_not_read(folder_fd: int) -> None:
    for parts in [("..",), ("sub", "..", "..", "outside"), ("/etc/passwd",)]:
        with pytest.raises(OSError) as caught:
            WAYS["openat2"].open(folder_fd, parts, way.READ)
        assert caught.value.errno == errno.EXDEV


def test_where_openat2_is_forbidden_names_are_walked(folder_fd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if way.best_opening(folder_fd).name == "walk":
        pytest.skip("openat2 is missing here anyway")

    def forbidden(*arguments: object) -> int:
        ctypes.set_errno(errno.EPERM)
        return -1

    monkeypatch.setattr(way, "_syscall", forbidden)
    assert way.best_opening(folder_fd).name == "walk"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert way.best_opening(folder_fd).name == "walk"


def test_a_folder_that_moves_too_fast_is_given_up(folder_fd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tries = []

    def again(*arguments: object) -> int:
        tries.append(arguments)
        ctypes.set_errno(errno.EAGAIN)
        return -1

    monkeypatch.setattr(way, "_syscall", again)
    with pytest.raises(OSError) as caught:
        WAYS["openat2"].open(folder_fd, ("sub",), way.FOLDER)
    assert caught.value.errno == errno.EAGAIN
    assert len(tries) > 10


def test_a_file_that_was_replaced_since_is_still_known_by_its_place(folder_fd: int, traps: Path) -> None:
    (traps / "file").write_text("old")
    fd = os.open(traps / "file", os.O_RDONLY)
    try:
        (traps / "new").write_text("new")
        (traps / "new").rename(traps / "file")
        if sys.platform == "linux":
            assert way.real_parts(folder_fd, fd) == ("file",)
    finally:
        os.close(fd)


@pytest.mark.parametrize("when", ["before the first call", "between two calls", "deleted between two calls"])
async def test_a_link_in_the_place_of_a_root_leads_nobody_elsewhere(
    root: Path, open_files: Any, opening: str, when: str
) -> None:
    (root / "secret.txt").write_text("mine")
    files = await open_files(opening=opening)
    if when != "before the first call":
        assert_ok(await files.call("read_file", {"path": "secret.txt"}), text="mine")
    if when == "deleted between two calls":
        (root / "secret.txt").unlink()
        root.rmdir()
    else:
        root.rename(root.parent / "elsewhere")
    root.symlink_to("outside")
    for path in ("secret.txt", f"{root}/secret.txt"):
        for name, more in [("read_file", {}), ("write_file", {"content": "x"}), ("search_text", {"pattern": "SECRET"})]:
            result = await files.call(name, {"path": path, **more})
            assert "SECRET" not in str(result.to_json())
            if when != "between two calls":  # where the folder that was given is still held
                assert_error(result, ErrorCode.FORBIDDEN, reason="link")
    assert (root.parent / "outside" / "secret.txt").read_text() == "SECRET"


async def test_a_root_that_is_given_by_a_link_is_where_that_led_when_the_host_opened(
    root: Path, open_files: Any
) -> None:
    (root / "secret.txt").write_text("mine")
    current = root.parent / "current"
    current.symlink_to(root)
    files = await open_files(roots=[str(current)])
    current.unlink()
    current.symlink_to("outside")
    for path in ("secret.txt", f"{current}/secret.txt", f"{root}/secret.txt"):
        assert_ok(await files.call("read_file", {"path": path}), text="mine")


# -- races

SWAPPER = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
here, link = (path.encode() for path in sys.argv[1:])
EXCHANGE = 2
swaps = 0
print("ready", flush=True)
while True:
    if libc.renameat2(-100, here, -100, link, EXCHANGE):
        sys.exit(ctypes.get_errno())
    swaps += 1
"""


@contextlib.contextmanager
def swapping(here: Path, link: Path) -> Iterator[None]:
    """Another process exchanges two names as fast as it can, in one step each time."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SWAPPER), str(here), str(link)], stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        if process.stdout.readline() != b"ready\n":
            pytest.skip("names cannot be exchanged here")
        yield
        if process.poll() is not None:
            pytest.skip("this file system cannot exchange names")
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def quick_root(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A root in memory where there is one, since each write waits for the disk."""
    import shutil
    import tempfile

    if not os.access("/dev/shm", os.W_OK):
        yield root
        return
    base = Path(tempfile.mkdtemp(dir="/dev/shm", prefix="pegboard-files-"))
    (base / "outside").mkdir()
    (base / "outside" / "secret.txt").write_text("SECRET")
    (base / "root").mkdir()
    yield base / "root"
    shutil.rmtree(base)


@pytest.mark.skipif(sys.platform != "linux", reason="names are exchanged by a call of Linux")
@pytest.mark.unmeasured
def test_nothing_leaks_in_10000_reads_and_writes_while_a_folder_is_swapped(quick_root: Path, opening: str) -> None:
    root, outside = quick_root, quick_root.parent / "outside"
    (root / "sub").mkdir()
    (root / "sub" / "secret.txt").write_text("mine")
    (root / "link").symlink_to(outside)
    scope = scope_of(root, opening)
    wanted = Wanted(compile_wanted("SECRET|mine", ignore_case=False, literal=False), None, 0, 100, 10_000)
    asked, folder = parse("sub/secret.txt"), parse("sub")
    done = refused = 0

    def write() -> str:
        with place_of(scope, asked) as place:
            replace(place, b"mine", nobody_waits_less, lambda: still_there(scope, asked, place))
        return ""

    def read_it() -> str:
        return read(scope, asked, "utf-8", 0, None, CAPS, nobody_waits_less).text

    def budget() -> Budget:
        return Budget(1000, float("inf"), nobody_waits_less, lambda seen: None)

    def list_it() -> str:
        return str(list_folder(scope, parse("."), True, 100, budget()).data)

    def search() -> str:
        return str(search_folder(scope, folder, wanted, budget()).items)

    with swapping(root / "sub", root / "link"):
        for number in range(10_000):
            work = search if number % 20 == 0 else list_it if number % 20 == 1 else write if number % 2 else read_it
            refusal = None
            try:
                said = work()
                done += 1
            except ToolError as error:
                refusal = error
                said = error.message
                refused += 1
            assert refusal is None or refusal.code in ("FORBIDDEN", "NOT_FOUND", "CONFLICT")
            assert "SECRET" not in said
    scope.roots[0].close()
    assert (outside / "secret.txt").read_text() == "SECRET"
    assert [one.name for one in outside.iterdir()] == ["secret.txt"]
    assert done > 500, "the folder was there often enough to be used"
    assert refused > 500, "and the link often enough to lead astray"


@pytest.mark.skipif(sys.platform != "linux", reason="names are exchanged by a call of Linux")
@pytest.mark.parametrize("swapped", ["a link to it", "itself"])
@pytest.mark.unmeasured
def test_what_is_denied_stays_closed_while_it_is_swapped(quick_root: Path, opening: str, swapped: str) -> None:
    root = quick_root
    for name, text in (("open", "mine"), ("private", "SECRET")):
        (root / name).mkdir()
        (root / name / "a").write_text(text)
    (root / "link").symlink_to("private")
    seen = (root / "private").stat()
    rules = Rules(None, (Entry(parts_of(f"{root}/private")),), frozenset({(seen.st_dev, seen.st_ino)}))
    scope = Scope("test", (Root(str(root), WAYS[opening]),), rules, writable=True)
    asked = parse("open/a")
    said = []
    with swapping(root / "open", root / ("link" if swapped == "a link to it" else "private")):
        for _ in range(3000):
            try:
                said.append(read(scope, asked, "utf-8", 0, None, CAPS, nobody_waits_less).text)
            except ToolError as error:
                said.append(str(error.code))
    scope.roots[0].close()
    assert {"mine", "FORBIDDEN"} <= set(said) <= {"mine", "FORBIDDEN", "NOT_FOUND", "CONFLICT"}
