"""Listing and searching: bounded, in order, with the same answer whether ripgrep helps or not."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pegboard import ErrorCode, ToolError
from pegboard.testing import assert_error, assert_ok
from pegboard_files import _grepping as grepping
from pegboard_files import _ripgrep as ripgrep
from pegboard_files._ignoring import Ignored, compile_lines
from pegboard_files._names import parse
from pegboard_files._opening import FOLDER
from pegboard_files._places import Root, Scope, find_ripgrep
from pegboard_files._rules import Entry, Rules, parts_of
from pegboard_files._walking import Budget, list_folder, walk

RIPGREP = find_ripgrep("rg")


@pytest.fixture(params=["ripgrep", "own"])
def engine(request: pytest.FixtureRequest) -> str:
    """With ripgrep, where it is installed, and without."""
    if request.param == "ripgrep" and RIPGREP is None:
        pytest.skip("ripgrep is not installed here")
    return str(request.param)


@pytest.fixture
def tree(root: Path) -> Path:
    (root / "docs" / "deep").mkdir(parents=True)
    (root / "b.md").write_text("# B\nTODO one\n")
    (root / "a.txt").write_text("todo two\n")
    (root / "docs" / "c.md").write_text("three\nTODO four\nfive\n")
    (root / "docs" / "deep" / "d.md").write_text("nothing\n")
    for path, seconds in [("b.md", 0), ("a.txt", 1_783_348_200)]:
        os.utime(root / path, (seconds, seconds))
    return root


def paths(result: Any, key: str) -> list[str]:
    return [entry["path"] for entry in assert_ok(result).data[key]]


# -- listing


async def test_a_folder_is_listed_in_order_with_what_a_program_needs(tree: Path, open_files: Any, opening: str) -> None:
    files = await open_files(opening=opening)
    result = assert_ok(await files.call("list_directory"))
    assert result.data["entries"][:2] == [
        {"name": "a.txt", "path": "a.txt", "type": "file", "size": 9, "modified": "2026-07-06T14:30:00Z"},
        {"name": "b.md", "path": "b.md", "type": "file", "size": 13, "modified": "1970-01-01T00:00:00Z"},
    ]
    folder = result.data["entries"][2]
    assert (folder["name"], folder["type"], folder["size"]) == ("docs", "directory", None)
    assert result.data["truncated"] is False
    assert result.text.splitlines() == ["'.' holds 3 entries:", "a.txt  9 bytes", "b.md  13 bytes", "docs/"]


async def test_paths_are_relative_to_the_root_wherever_a_listing_begins(tree: Path, open_files: Any) -> None:
    files = await open_files()
    assert paths(await files.call("list_directory", {"path": "docs"}), "entries") == ["docs/c.md", "docs/deep"]
    everything = ["a.txt", "b.md", "docs", "docs/c.md", "docs/deep", "docs/deep/d.md"]
    assert paths(await files.call("list_directory", {"path": str(tree), "recursive": True}), "entries") == everything


async def test_an_empty_folder_holds_nothing(root: Path, files: Any) -> None:
    assert_ok(await files.call("list_directory"), text="'.' holds 0 entries")


async def test_names_that_are_hard_to_read_break_no_line(root: Path, files: Any) -> None:
    (root / "two\nlines").write_text("")
    (root / "\u202egnp.exe").write_text("")
    os.close(os.open(os.fsencode(root) + b"/caf\xe9", os.O_CREAT | os.O_WRONLY))
    result = assert_ok(await files.call("list_directory"))
    assert {entry["name"] for entry in result.data["entries"]} == {"two\nlines", "gnp.exe", "caf\\xe9"}
    assert "two\\nlines  0 bytes" in result.text.splitlines()
    assert "\u202e" not in result.text
    assert_ok(await files.call("read_file", {"path": "two\nlines"}), text="")


async def test_a_listing_is_cut_and_says_so(root: Path, open_files: Any) -> None:
    files = await open_files(max_entries=5)
    for number in range(5):
        (root / f"{number}").write_text("")
    assert assert_ok(await files.call("list_directory")).data["truncated"] is False
    (root / "5").write_text("")
    result = assert_ok(await files.call("list_directory"))
    assert (len(result.data["entries"]), result.data["truncated"]) == (5, True)
    assert "[truncated" in result.text


@pytest.mark.parametrize("tool", ["list_directory", "search_files", "search_text"])
async def test_only_so_much_is_looked_at(root: Path, open_files: Any, tool: str) -> None:
    files = await open_files(max_scanned=5, ripgrep="")
    for number in range(10):
        (root / f"{number}").write_text("")
    arguments = {"list_directory": {}, "search_files": {"pattern": "x"}, "search_text": {"pattern": "x"}}[tool]
    assert assert_ok(await files.call(tool, arguments)).data["truncated"] is True


async def test_a_folder_that_is_too_deep_is_not_gone_into(root: Path, files: Any) -> None:
    deep = root
    for _ in range(70):
        deep = deep / "d"
        deep.mkdir()
    result = assert_ok(await files.call("list_directory", {"recursive": True}))
    assert (len(result.data["entries"]), result.data["truncated"]) == (64, True)


@pytest.mark.parametrize("tool", ["list_directory", "search_files", "search_text"])
@pytest.mark.parametrize(
    ("path", "code"), [("nothing", ErrorCode.NOT_FOUND), ("../x", ErrorCode.FORBIDDEN), ("", ErrorCode.INVALID_INPUT)]
)
async def test_what_cannot_be_listed_is_said(files: Any, tool: str, path: str, code: ErrorCode) -> None:
    arguments = {"path": path, **({"pattern": "x"} if tool == "search_text" else {})}
    assert_error(await files.call(tool, arguments), code)


async def test_a_file_is_not_a_folder(tree: Path, files: Any) -> None:
    assert_error(await files.call("list_directory", {"path": "a.txt"}), ErrorCode.INVALID_INPUT, reason="not_a_folder")


async def test_what_is_denied_is_not_shown(tree: Path, open_files: Any, engine: str) -> None:
    denied = {"denied_paths": ["docs/deep", "**/*.txt"]}
    tools = dict.fromkeys(("list_directory", "search_files", "search_text"), denied)
    files = await open_files(tools=tools, ripgrep="rg" if engine == "ripgrep" else "")
    shown = ["b.md", "docs", "docs/c.md"]
    assert paths(await files.call("list_directory", {"recursive": True}), "entries") == shown
    assert paths(await files.call("search_files"), "matches") == shown
    found = await files.call("search_text", {"pattern": "o", "ignore_case": True})
    assert set(paths(found, "matches")) == {"b.md", "docs/c.md"}
    assert_error(await files.call("list_directory", {"path": "docs/deep"}), ErrorCode.FORBIDDEN, reason="denied")


# -- searching names


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"pattern": "*.md"}, ["b.md", "docs/c.md", "docs/deep/d.md"]),
        ({"pattern": "*.{md,txt}", "path": "docs"}, ["docs/c.md", "docs/deep/d.md"]),
        ({"pattern": "docs/*.md"}, ["docs/c.md"]),
        ({"pattern": "deep/*", "path": "docs"}, ["docs/deep/d.md"]),
        ({"pattern": "d*"}, ["docs", "docs/deep", "docs/deep/d.md"]),
        ({"pattern": "*.PY"}, []),
    ],
)
async def test_files_are_found_by_globs(tree: Path, files: Any, arguments: dict[str, str], found: list[str]) -> None:
    result = await files.call("search_files", arguments)
    assert paths(result, "matches") == found
    assert result.text.startswith(f"Found {len(found)} match")


@pytest.mark.parametrize("pattern", ["../*", "**/../../outside/*", "/etc/*", ""])
async def test_no_glob_leads_out(tree: Path, files: Any, pattern: str) -> None:
    assert_error(await files.call("search_files", {"pattern": pattern}), ErrorCode.INVALID_INPUT)


# -- searching text


async def test_lines_are_found_with_their_numbers(tree: Path, open_files: Any, engine: str) -> None:
    files = await open_files(ripgrep="rg" if engine == "ripgrep" else "")
    result = await files.call("search_text", {"pattern": "TODO"})
    data = {
        "path": ".",
        "matches": [
            {"path": "b.md", "line": 2, "text": "TODO one"},
            {"path": "docs/c.md", "line": 2, "text": "TODO four"},
        ],
        "files": 2,
        "skipped": 0,
        "truncated": False,
        "engine": engine,
    }
    text = "Found 2 matches in 2 files:\nb.md:2: TODO one\ndocs/c.md:2: TODO four"
    assert_ok(result, text=text, data=data)


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ({"pattern": "todo", "ignore_case": True}, ["a.txt:1", "b.md:2", "docs/c.md:2"]),
        ({"pattern": "^T.*r$"}, ["docs/c.md:2"]),
        ({"pattern": ".*", "path": "docs"}, ["docs/c.md:1", "docs/c.md:2", "docs/c.md:3", "docs/deep/d.md:1"]),
        ({"pattern": "TODO", "glob": "docs/*"}, ["docs/c.md:2"]),
        ({"pattern": "TODO", "glob": "*.txt"}, []),
        ({"pattern": "TODO", "path": "b.md"}, ["b.md:2"]),
        ({"pattern": "# B", "literal": True}, ["b.md:1"]),
        ({"pattern": "T.DO", "literal": True}, []),
        ({"pattern": "--", "literal": True}, []),
        ({"pattern": "-e"}, []),
        ({"pattern": "--pre=sh"}, []),
        ({"pattern": "TODO", "limit": 1}, ["b.md:2"]),
    ],
)
async def test_lines_are_found_as_asked_for(
    tree: Path, open_files: Any, engine: str, arguments: dict[str, Any], lines: list[str]
) -> None:
    files = await open_files(ripgrep="rg" if engine == "ripgrep" else "")
    result = assert_ok(await files.call("search_text", arguments))
    assert [f"{match['path']}:{match['line']}" for match in result.data["matches"]] == lines
    assert result.data["truncated"] is (arguments.get("limit") == 1)


async def test_the_lines_around_a_match_are_shown(tree: Path, files: Any) -> None:
    result = assert_ok(await files.call("search_text", {"pattern": "TODO", "path": "docs", "context_lines": 2}))
    (match,) = result.data["matches"]
    assert (match["before"], match["after"]) == (["three"], ["five"])
    assert result.text.splitlines()[1:] == ["docs/c.md-1- three", "docs/c.md:2: TODO four", "docs/c.md-3- five"]


async def test_what_is_not_text_to_search_is_passed_over(tree: Path, open_files: Any, engine: str) -> None:
    (tree / "binary").write_bytes(b"TODO\0\n")
    (tree / "large.txt").write_text("TODO\n" * 300)
    (tree / ".hidden").write_text("TODO\n")
    (tree / ".git").mkdir()
    (tree / ".git" / "config").write_text("TODO\n")
    (tree / "latin").write_bytes(b"TODO caf\xe9\r\n")
    (tree / "wide").write_text("TODO " + "x" * 1000)
    files = await open_files(max_search_bytes=1100, ripgrep="rg" if engine == "ripgrep" else "")
    result = await files.call("search_text", {"pattern": "TODO"})
    assert paths(result, "matches") == ["b.md", "docs/c.md", "latin", "wide"]
    texts = [match["text"] for match in result.data["matches"]]
    assert texts[2] == "TODO caf\\xe9"
    assert (len(texts[3]), texts[3][-3:]) == (500, "...")
    for path, reason in [("binary", "binary"), ("large.txt", "too_large")]:
        named = await files.call("search_text", {"pattern": "TODO", "path": path})
        assert_error(named, ErrorCode.INVALID_INPUT, reason=reason)
    assert paths(await files.call("search_text", {"pattern": "TODO", "path": ".hidden"}), "matches") == [".hidden"]


async def test_what_gitignore_names_is_passed_over(tree: Path, open_files: Any, engine: str) -> None:
    (tree / ".gitignore").write_text("*.txt\n/docs/deep/\n# a comment\n!keep.txt\n[z-a]\n\\\n")
    (tree / "keep.txt").write_text("TODO\n")
    (tree / "docs" / ".gitignore").write_text("local.md\n!*.txt\n")
    (tree / "docs" / "local.md").write_text("TODO\n")
    (tree / "docs" / "again.txt").write_text("TODO\n")
    (tree / "docs" / "deep" / "d.md").write_text("TODO\n")
    files = await open_files(ripgrep="rg" if engine == "ripgrep" else "")
    found = ["b.md", "docs/again.txt", "docs/c.md", "keep.txt"]
    assert paths(await files.call("search_text", {"pattern": "TODO", "ignore_case": True}), "matches") == found
    (tree / "docs" / "c.txt").write_text("TODO\n")
    # What lies above the folder that is searched counts too, and nothing above the root does.
    (tree.parent / ".gitignore").write_text("*\n")
    below = await files.call("search_text", {"pattern": "TODO", "path": "docs"})
    assert paths(below, "matches") == ["docs/again.txt", "docs/c.md", "docs/c.txt"]
    assert paths(await files.call("search_text", {"pattern": "TODO", "path": "docs/deep"}), "matches") == []


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("(a", "missing )"),
        ("(?=a)", "look-around"),
        ("(a)\\1", "backreferences"),
        ("", "is empty"),
        ("a\nb", "line break"),
        ("a\0b", "NUL"),
        ("x" * 1001, "at most 1000"),
        ("\ud800", "surrogate"),
        ("(((x{100}){100}){100})", "not a regular expression"),
    ],
)
async def test_what_is_not_a_pattern_is_explained(files: Any, pattern: str, says: str) -> None:
    result = await files.call("search_text", {"pattern": pattern})
    assert_error(result, ErrorCode.INVALID_INPUT, says=says)


async def test_no_pattern_and_no_gitignore_hangs_a_search(
    root: Path, open_files: Any, engine: str, in_time: Any
) -> None:
    (root / "a.txt").write_text(("a" * 60_000 + "\n") * 5)
    (root / ("a" * 200)).write_text("x")
    (root / ".gitignore").write_text("*a" * 30 + "b\n" + "**/" * 30 + "b\n")
    files = await open_files(ripgrep="rg" if engine == "ripgrep" else "")
    with in_time():
        for pattern in ("^(a+)+$x", "(a|aa)+b", "(.*)*=.*", "a{1,500}a{1,500}b"):
            assert paths(await files.call("search_text", {"pattern": pattern}), "matches") == []


def budget() -> Budget:
    return Budget(1000, float("inf"), lambda: None, lambda seen: None)


@pytest.fixture
def scope(root: Path) -> Iterator[Scope]:
    made = Scope("search_text", (Root(str(root)),), Rules(denied=(Entry(parts_of(f"{root}/denied")),)), True)
    yield made
    made.roots[0].close()


def test_what_ripgrep_says_is_not_believed(root: Path, scope: Scope) -> None:
    (root / "to_outside").symlink_to(root.parent / "outside")
    (root / "to_denied").symlink_to("denied")
    (root / "denied").mkdir()
    (root / "denied" / "x").write_text("SECRET")
    (root / "plain").write_text("no match")
    os.mkfifo(root / "pipe")
    named = [
        ("to_outside", "secret.txt"),
        ("denied", "x"),
        ("to_denied", "x"),
        ("gone",),
        ("plain",),
        ("denied",),
        ("pipe",),
    ]
    wanted = grepping.Wanted(
        grepping.compile_wanted("SECRET", ignore_case=False, literal=False), None, 0, 100, 1_000_000
    )
    assert grepping.search_candidates(scope, parse("."), named, wanted, budget()).items == []


@given(
    st.binary(max_size=60) | st.lists(st.sampled_from([b"./", b"../", b"/", b"a", b"\0", b"./../x\0"])).map(b"".join)
)
def test_whatever_ripgrep_prints_is_read_as_names_that_lead_down(output: bytes) -> None:
    for parts in ripgrep.parse(output):
        assert not set(parts) & {"", ".", ".."}


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20))
def test_a_pattern_is_never_an_option(pattern: str) -> None:
    command = ripgrep.arguments(
        "/usr/bin/rg", pattern, ignore_case=False, literal=False, max_bytes=1, deny_secrets=True
    )
    assert command[-3:] == [f"--regexp={pattern}", "--", "./"]
    assert all(argument.startswith("--") for argument in command[1:-1])


@pytest.mark.parametrize("program", ["/nonexistent/rg", "/bin/sh"])
async def test_where_ripgrep_fails_the_search_goes_on_without(tree: Path, open_files: Any, program: str) -> None:
    files = await open_files(ripgrep=program)
    result = assert_ok(await files.call("search_text", {"pattern": "TODO"}))
    assert (len(result.data["matches"]), result.data["engine"]) == (2, "own")


async def tell_nobody(found: int) -> None:
    """Nobody wants to know how far it is."""


async def test_ripgrep_that_cannot_be_started_or_names_nothing_is_not_an_answer(tree: Path) -> None:
    fd = os.open(tree, FOLDER)
    try:
        assert await ripgrep.candidates(["/nonexistent/rg"], fd, 5, tell_nobody) is None
        assert await ripgrep.candidates(["/bin/sh", "-c", "exit 2"], fd, 5, tell_nobody) is None
        names = await ripgrep.candidates(["/bin/sh", "-c", "printf './b.md\\0'; pwd -P >&2"], fd, 5, tell_nobody)
        assert names == ([("b.md",)], False)
    finally:
        os.close(fd)


@pytest.mark.parametrize("ends", ["cancelled", "out of time"])
async def test_ripgrep_never_outlives_its_search(root: Path, ends: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ripgrep, "_REPORT_EVERY_S", 0.02)
    fd = os.open(root, FOLDER)
    started = trio.Path(root / "pid")
    command = ["/bin/sh", "-c", "echo $$ > pid; exec sleep 60"]
    answer: list[object] = []
    reports: list[int] = []

    async def heard(found: int) -> None:
        reports.append(found)

    async def search() -> None:
        answer.append(await ripgrep.candidates(command, fd, 60 if ends == "cancelled" else 0.5, heard))

    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(search)
            if ends == "cancelled":
                with trio.fail_after(30):
                    while not await started.exists() or not await started.read_text():
                        await trio.lowlevel.checkpoint()
                nursery.cancel_scope.cancel()
    finally:
        os.close(fd)
    if ends == "out of time":
        assert set(reports) == {0}
    assert answer == ([] if ends == "cancelled" else [([], True)])
    with pytest.raises(ProcessLookupError):
        os.kill(int((root / "pid").read_text()), 0)


# -- .gitignore


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.lists(
            st.sampled_from(
                ["a", "b", "*", "**", "?", "/", "!", "[ab]", "[!a]", "[", "]", "\\", " ", "#", ".", "-", "z-a"]
            ),
            min_size=1,
            max_size=5,
        ).map("".join),
        min_size=1,
        max_size=3,
    )
)
def test_any_gitignore_is_read_and_decides(lines: list[str]) -> None:
    spec = compile_lines(lines)
    assert spec is None or spec.check_file("a/b").include in (True, False, None)


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git here to compare with")
def test_gitignore_means_what_git_says(root: Path) -> None:
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    lines = ["*.log", "!keep.log", "/only", "build/", "a/**/z", "x?", "[ab].c", "doc/*.txt", "#c", "\\#d", "sp\\ "]
    (root / ".gitignore").write_text("\n".join(lines))
    names = "a.log sub/a.log keep.log sub/keep.log only sub/only build/x sub/build/x buildx a/z a/b/z a/b/c/z"
    names += " x xy xyz a.c c.c doc/a.txt doc/sub/a.txt #c #d a/zz"
    ran = subprocess.run(
        ["git", "-C", str(root), "check-ignore", "--no-index", "--stdin"],
        input=names.replace(" ", "\n"),
        text=True,
        capture_output=True,
    )
    ignored = Ignored()
    fd = os.open(root, FOLDER)
    ignored.enter(fd, ())
    os.close(fd)

    def says(name: str) -> bool:
        parts = tuple(name.split("/"))
        return any(ignored.says(parts[:end], is_folder=end < len(parts)) for end in range(1, len(parts) + 1))

    assert [name for name in names.split() if says(name)] == ran.stdout.split("\n")[:-1]


# -- long work


async def test_long_work_reports_how_far_it_is(root: Path, files: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from pegboard_files import _walking

    monkeypatch.setattr(_walking, "_REPORT_EVERY_S", 0.0)
    for number in range(200):
        (root / f"{number}").write_text("")
    assert_ok(await files.call("list_directory", {"recursive": True}))
    done = [report[1] for report in files.progress]
    assert done
    assert done == sorted(done)
    assert "looked at" in files.progress[0][3]


async def test_a_cancelled_listing_ends_at_once(root: Path, files: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from pegboard_files import _walking

    began = trio.Event()
    endless = iter(int, 1)

    def never_ends(*arguments: Any, **more: Any) -> Iterator[Any]:
        budget: Budget = arguments[4]
        trio.from_thread.run_sync(began.set)
        for _ in endless:
            budget.left = 1000
            budget.spend()
            yield from ()

    monkeypatch.setattr(_walking, "walk", never_ends)
    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(files.call, "list_directory")
            await began.wait()
            nursery.cancel_scope.cancel()
    assert files.results == []


async def test_a_listing_that_runs_out_of_time_shows_what_it_has(root: Path, scope: Scope) -> None:
    for number in range(200):
        (root / f"{number:03}").write_text("")
    now = iter(range(1000))
    late = Budget(10_000, 3.0, lambda: None, lambda seen: None, clock=lambda: float(next(now)))
    data = list_folder(scope, parse("."), True, 1000, late).data
    assert data is not None
    assert data["truncated"] is True
    assert 0 < len(data["entries"]) < 200


def test_what_vanishes_during_a_walk_is_passed_over(root: Path, scope: Scope) -> None:
    for name in ("a", "b", "c"):
        (root / name).mkdir()
        (root / name / "x").write_text("")
    seen = []
    fd = os.open(root, FOLDER)
    for found in walk(scope, scope.roots[0], fd, (), budget()):
        seen.append(found.path)
        if found.path == "a":
            (root / "b" / "x").unlink()
            (root / "b").rmdir()
        if found.path == "c":
            (root / "c" / "x").unlink()
            (root / "c").rmdir()
    os.close(fd)
    assert seen == ["a", "a/x", "c"]


def test_a_walk_that_is_left_early_gives_its_descriptors_back(root: Path, scope: Scope) -> None:
    (root / "a" / "b").mkdir(parents=True)
    before = len(os.listdir("/dev/fd"))
    fd = os.open(root, FOLDER)
    walking = walk(scope, scope.roots[0], fd, (), budget())
    assert [next(walking).path, next(walking).path] == ["a", "a/b"]
    walking.close()
    os.close(fd)
    scope.roots[0].close()
    assert len(os.listdir("/dev/fd")) == before


def test_a_time_outside_of_the_calendar_is_none() -> None:
    from pegboard_files._walking import _moment

    assert _moment(1e18) is None
    assert _moment(0.9) == "1970-01-01T00:00:00Z"


def test_a_relative_part_of_path_does_not_lead_to_ripgrep(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "rg").write_text("#!/bin/sh\n")
    (root / "rg").chmod(0o755)
    monkeypatch.chdir(root)
    monkeypatch.setenv("PATH", ".:")
    assert find_ripgrep("rg") is None
    monkeypatch.setenv("PATH", str(root))
    assert find_ripgrep("rg") == str(root / "rg")
    assert find_ripgrep("") is None


def test_errors_of_the_tools_are_typed(root: Path, scope: Scope) -> None:
    with pytest.raises(ToolError) as caught:
        scope.open_folder(parse("denied/x"))
    assert caught.value.details["reason"] == "denied"
