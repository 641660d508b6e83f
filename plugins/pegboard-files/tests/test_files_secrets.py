"""What is a secret by its name is closed to every tool, and so is each file by whatever name a denied one has."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard import ErrorCode, load_board, thaw
from pegboard.testing import assert_error, assert_ok
from pegboard_files import _places as places
from pegboard_files import _rules as rules
from pegboard_files._secrets import NO_SECRETS, SECRETS, is_secret
from pegboard_files.plugin import FilesPlugin

CANARY = "CANARY-91c3"
CLOSED = [
    ".env", ".env.local", ".env.production", ".ENV", "deep/er/.env", ".envrc", "id_rsa", "id_rsa.old",
    "keys/id_ed25519", "server.pem", "Server.PEM", "tls.key", ".ssh/config", "home/.ssh/known_hosts",
    ".aws/credentials", ".netrc", ".npmrc", ".pypirc", ".git-credentials", ".docker/config.json", ".kube/config",
    ".pgpass", ".gnupg/x", "a.p12",
]  # fmt: skip
OPEN = [
    ".env.example", ".env.sample", "env", "environment.txt", "my.env.py", ".aws/config", "credentials", "pem.txt",
    "ssh/x", "docker/config.json", "a.pem.txt", "keyboard", "notes.keys",
]  # fmt: skip


@pytest.fixture
def home(root: Path) -> Path:
    for name in (*CLOSED, *OPEN):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"{CANARY} {name}\n")
    return root


def calls(path: str) -> list[tuple[str, dict[str, Any]]]:
    edits = [{"old_text": "CANARY", "new_text": "x"}]
    return [
        ("read_file", {"path": path}),
        ("write_file", {"path": path, "content": "x"}),
        ("edit_file", {"path": path, "edits": edits}),
        ("edit_file", {"path": path, "edits": edits, "dry_run": True}),
        ("search_text", {"path": path, "pattern": "CANARY"}),
    ]


async def test_no_tool_uses_a_secret(home: Path, open_files: Any, opening: str) -> None:
    files = await open_files(opening=opening)
    for path in CLOSED:
        (home / "link").unlink(missing_ok=True)
        (home / "link").symlink_to(path)
        for name, arguments in (*calls(path), *calls(f"{home}/{path}")):
            assert_error(
                await files.call(name, arguments), ErrorCode.FORBIDDEN, reason="denied", says="keys or passwords"
            )
        for name, arguments in calls("link"):
            assert_error(await files.call(name, arguments), ErrorCode.FORBIDDEN)
        assert (home / path).read_text() == f"{CANARY} {path}\n"
    for path in OPEN:
        assert_ok(await files.call("read_file", {"path": path}), text=f"{CANARY} {path}\n")


@pytest.mark.parametrize("ripgrep", ["", "rg"])
async def test_a_listing_and_a_search_pass_them_over(home: Path, open_files: Any, ripgrep: str) -> None:
    files = await open_files(ripgrep=ripgrep)

    async def items_of(tool: str, key: str, **arguments: Any) -> list[dict[str, Any]]:
        data: dict[str, Any] = thaw(assert_ok(await files.call(tool, arguments)).data)
        return list(data[key])

    listed = await items_of("list_directory", "entries", recursive=True)
    named = await items_of("search_files", "matches", pattern="*")
    found = await items_of("search_text", "matches", pattern="CANARY")
    for items in (listed, named):
        files_seen = {item["path"] for item in items if item["type"] == "file"}
        assert files_seen == set(OPEN)
    assert {item["path"] for item in found} == {path for path in OPEN if not path.startswith(".")}


@pytest.mark.skipif(places.find_ripgrep("rg") is None, reason="ripgrep is not installed here")
async def test_ripgrep_does_not_even_read_them(home: Path, open_files: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It opens what it searches, which moves the time of the last access."""
    for path in (*CLOSED, "keyboard"):
        os.utime(home / path, (1, 10**9))
    files = await open_files()
    assert_ok(await files.call("search_text", {"pattern": "CANARY"}))
    if (home / "keyboard").stat().st_atime == 1:
        pytest.skip("this file system does not tell when a file was read")
    assert {path for path in CLOSED if (home / path).stat().st_atime != 1} == set()


@pytest.mark.skipif(places.find_ripgrep("rg") is None, reason="ripgrep is not installed here")
async def test_what_is_denied_does_not_show_in_what_is_counted(root: Path, open_files: Any) -> None:
    """Whether a pattern occurs in a denied file would else be told by how far a search has come."""
    (root / "private").mkdir()
    for number in range(300):
        (root / "private" / f"{number}.txt").write_text(CANARY)
    files = await open_files(denied_paths=["private"], max_scanned=100)
    answers = [
        thaw(assert_ok(await files.call("search_text", {"pattern": pattern})).data) for pattern in (CANARY, "not there")
    ]
    assert answers[0] == answers[1]
    assert not answers[0]["truncated"]
    assert {number for _, number, *_ in files.progress} <= {0}


async def test_the_switch_opens_them_and_doctor_says_so(home: Path, open_files: Any) -> None:
    files = await open_files(deny_secrets=False)
    for path in CLOSED:
        assert_ok(await files.call("read_file", {"path": path}), text=f"{CANARY} {path}\n")
    for said, what in ((True, []), (False, ["the file tools may use secrets"])):
        config = {"plugins": {"files": {"roots": [str(home)], "deny_secrets": said}}}
        assert [found.what for found in load_board(config, plugins=[FilesPlugin()]).findings()] == what


async def test_who_gives_the_folder_itself_means_it(home: Path, open_files: Any) -> None:
    files = await open_files(roots=[str(home), str(home / ".ssh")])
    assert_ok(await files.call("read_file", {"path": f"{home}/.ssh/config"}))
    (home / ".ssh" / "id_rsa").write_text(CANARY)
    assert_error(await files.call("read_file", {"path": f"{home}/.ssh/id_rsa"}), ErrorCode.FORBIDDEN, reason="denied")


PART = st.text("ab.-", min_size=1, max_size=6).filter(lambda part: part.strip("."))


@given(st.sampled_from(SECRETS), st.text("ab.-", max_size=4), st.lists(PART, max_size=2), st.lists(PART, max_size=2))
def test_a_secret_is_one_wherever_it_lies_and_with_all_that_lies_in_it(
    pattern: str, more: str, above: list[str], below: list[str]
) -> None:
    name = pattern.replace("*", more)
    assert is_secret("/".join([*above, name, *below])) == (name not in NO_SECRETS)
    assert is_secret("/".join([*above, name.upper(), *below])) == (name not in NO_SECRETS)


@pytest.mark.parametrize("denied", ["private", "private/diary.txt", "**/diary.txt"])
async def test_a_hard_link_to_a_denied_file_is_denied(root: Path, open_files: Any, opening: str, denied: str) -> None:
    (root / "private").mkdir()
    for number, target in enumerate(["private/diary.txt", ".env"]):
        (root / target).write_text(CANARY)
        (root / f"innocent-{number}.txt").hardlink_to(root / target)
    (root / "open.txt").write_text("open")
    (root / "open-too.txt").hardlink_to(root / "open.txt")
    files = await open_files(opening=opening, denied_paths=[denied])
    for number in range(2):
        path = f"innocent-{number}.txt"
        for name, arguments in calls(path):
            result = assert_error(await files.call(name, arguments), ErrorCode.FORBIDDEN, reason="denied")
            assert "another name" in result.text or denied == "private/diary.txt"
        assert (root / path).read_text() == CANARY
    assert_ok(await files.call("read_file", {"path": "open-too.txt"}), text="open")
    looking: list[tuple[str, dict[str, Any]]] = [
        ("list_directory", {"recursive": True}), ("search_text", {"pattern": "CANARY"}), ("search_files", {}),
    ]  # fmt: skip
    for name, arguments in looking:
        assert "innocent" not in json.dumps(assert_ok(await files.call(name, arguments)).to_json())


async def test_a_link_that_is_made_later_is_seen(root: Path, open_files: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "LINKS_KEPT_NS", 10**18)
    (root / ".env").write_text(CANARY)
    (root / "open.txt").write_text("open")
    (root / "open-too.txt").hardlink_to(root / "open.txt")
    files = await open_files()
    assert_ok(await files.call("read_file", {"path": "open-too.txt"}))  # the names are looked for now
    (root / "innocent.txt").hardlink_to(root / ".env")
    assert_error(await files.call("read_file", {"path": "innocent.txt"}), ErrorCode.FORBIDDEN, reason="denied")


async def test_names_are_looked_for_as_far_as_the_bounds_reach_and_only_for_files_with_several(
    root: Path, open_files: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = []
    look = places.Linked._denied

    def counted(self: Any) -> Any:
        looked.append(1)
        return look(self)

    monkeypatch.setattr(places.Linked, "_denied", counted)
    (root / "a.txt").write_text("x")
    (root / "z").mkdir()
    (root / "z" / ".env").write_text(CANARY)
    files = await open_files()
    assert_ok(await files.call("read_file", {"path": "a.txt"}))
    assert looked == []
    (root / "b.txt").hardlink_to(root / "z/.env")
    monkeypatch.setattr(places, "LINKS_LOOKED_AT", 0)
    assert_ok(await files.call("read_file", {"path": "b.txt"}))  # not known to be another name
    assert looked == [1]
    assert stat.S_ISREG((root / "b.txt").stat().st_mode)


def test_a_file_whose_clock_is_ahead_is_not_looked_for_each_time(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []
    monkeypatch.setattr(places.Linked, "_denied", lambda self: looked.append(1) or iter(()))
    linked = places.Linked((), rules.Rules(secrets_below=((),)))
    now = 10**18
    monkeypatch.setattr(places.time, "time_ns", lambda: now)  # type: ignore[attr-defined]
    for changed, times in [(now + 10**9, 1), (now + 10**9, 1), (now - 10**9, 1), (now - 1, 2), (now - 1, 3)]:
        linked.since(changed)
        assert len(looked) == times
    now += places.LINKS_AHEAD_NS + 1
    linked.since(now + 1)
    assert len(looked) == 4


def test_folders_of_the_kernel_are_not_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    walked: list[str] = []
    walk = os.walk

    def seen(top: str) -> Any:
        for found in walk(top):
            walked.append(found[0])
            yield found

    monkeypatch.setattr(places.os, "walk", seen)  # type: ignore[attr-defined]
    denied = tuple(rules.Entry(folder) for folder in rules.KERNEL_FOLDERS)
    places.Linked((), rules.Rules(denied=denied)).since(0)
    assert set(walked) <= {"/proc", "/sys", "/dev"}
