"""Hostile commands: each is refused as the table says, or runs and neither reads nor changes what is not allowed.

All of them are run for real, under the strongest isolation that the machine has. Around the working directory lies a
secret; whatever a command answers, the secret must not be in it, and nothing around may have changed.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import pegboard_system.plugin
from pegboard import open_host
from pegboard_confine.bubblewrap import SEARCH
from pegboard_system._isolation import probe
from pegboard_system._schema import Level
from pegboard_system.plugin import SystemPlugin

FOUND = probe()
CANARY = "canary-5b1f0c"
TRAPPED = "trapped"
"""What a program says that must not have been started."""
FORBIDDEN = "FORBIDDEN"
CONTAINED = "contained"
"""It may run, or be refused by the program itself; the secret stays where it is."""

ALLOWED = """
    ls cat grep egrep find sort sed tar git env nice nohup timeout stdbuf head tail wc cp mv rm tee
    touch dd echo printf diff uniq cut tr od stat readlink realpath file split shuf date du rg fd jq
    gawk tree xxd ln mkdir truncate chmod
    sh bash dash python3 perl xargs busybox awk mawk less more man vi vim ed ssh curl wget make sudo su
    setsid script strace gdb nc socat node ruby php zip unzip rsync crontab at watch parallel flock
    unshare nsenter chroot
""".split()  # noqa: SIM905 - words read best as words
"""Those that can be judged, and many that start what they are told: listed, and refused all the same."""

CORPUS = [
    json.loads(line)
    for line in (Path(__file__).parent / "hostile_commands.jsonl").read_text(encoding="utf-8").splitlines()
]
KINDS = list(dict.fromkeys(case["kind"] for case in CORPUS))


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory full of traps, and a secret beside it."""
    work = tmp_path / "work"
    (work / "sub").mkdir(parents=True)
    (work / "kept").mkdir()
    (work / "kept" / "key").write_text(CANARY)
    (tmp_path / "secret.txt").write_text(CANARY)
    (work / "notes.txt").write_text("one\ntwo\n")
    (work / "link-out").symlink_to("../secret.txt")
    (work / "SECRET").symlink_to(tmp_path / "secret.txt")
    (work / "link-dir").symlink_to("..")
    for name in ("ls", "cat", "grep"):
        trap = work / name
        trap.write_text("#!/bin/sh\necho tr''apped\n")
        trap.chmod(0o755)
    (work / "a.tar").write_bytes(bytes(10_240))
    (work / "innocent").symlink_to("/bin/sh")
    (work / "to-chown").symlink_to("/bin/chown")
    _hostile_repository(work)
    monkeypatch.setenv("HOST_CANARY", CANARY)
    monkeypatch.chdir(work)
    return tmp_path


def _hostile_repository(work: Path) -> None:
    """A repository whose own settings start programs."""
    git = work / ".git"
    for folder in ("objects", "refs/heads"):
        (git / folder).mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    trap = f"echo tr''apped >&2; touch {work.parent}/made"
    (git / "config").write_text(
        "[core]\n\trepositoryformatversion = 0\n"
        f'\tfsmonitor = "{trap}"\n\tpager = "{trap}"\n\tsshCommand = "{trap}"\n[diff]\n\texternal = "{trap}"\n'
        f'[alias]\n\tevil = "!{trap}"\n[pager]\n\tlog = "{trap}"\n'
    )


def snapshot(folder: Path) -> dict[str, Any]:
    """Everything in a folder: kinds, modes and contents."""
    seen: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        found = path.lstat()
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else None
        seen[str(path.relative_to(folder))] = (found.st_mode, found.st_size if content is not None else 0, content)
    return seen


@pytest.mark.parametrize(
    "level",
    [
        pytest.param(
            level,
            marks=pytest.mark.skipif(level not in FOUND.levels, reason=f"no {level} here: {FOUND.why.get(level)}"),
        )
        for level in ("bubblewrap", "landlock")
    ],
)
@pytest.mark.parametrize("kind", KINDS)
async def test_hostile_commands_are_refused_or_contained(kind: str, level: Level, stage: Path) -> None:
    permissions: dict[str, Any] = {"allowed_commands": ALLOWED, "denied_commands": ["mkfs", "rm"], "least_level": level}
    cases = [case for case in CORPUS if case["kind"] == kind]
    if level == "bubblewrap":
        permissions["denied_paths"] = ["kept"]
    else:  # which cannot hide a part of what is allowed
        shutil.rmtree(stage / "work" / "kept")
        cases = [case for case in cases if "kept" not in case["command"]]
    before = snapshot(stage)
    wrong = []
    async with open_host({"tools": {"execute_command": permissions}}, plugins=[SystemPlugin((level,))]) as host:
        session = host.session()
        for command, expected in ((case["command"], case["expected"]) for case in cases):
            result = await session.call("execute_command", {"command": command, "timeout": 10})
            code = CONTAINED if result.error is None else result.error.code.value
            said = json.dumps(result.to_json(), ensure_ascii=False)
            if expected == CONTAINED:
                fits = code in (CONTAINED, "NOT_FOUND", FORBIDDEN)
            else:
                # A program that this machine lacks is refused before its options are looked at.
                fits = code == expected or (code == "NOT_FOUND" and not _is_installed(command))
            leaked = CANARY in said or TRAPPED in said
            if not fits or leaked:
                wrong.append((command, expected, code, result.text[:200]))
    assert wrong == []
    assert snapshot(stage) == before


def _is_installed(command: Any) -> bool:
    words = command.split() if isinstance(command, str) else list(command)
    # In the folders in which the tool looks: what else the path of this process has is not installed for it.
    return all(shutil.which(word, path=os.pathsep.join(SEARCH)) for word in words if word in ALLOWED)


def test_the_corpus_is_large_and_says_each_command_once() -> None:
    commands = [json.dumps(case["command"]) for case in CORPUS]
    assert len(commands) >= 400
    assert len(set(commands)) == len(commands)


@pytest.mark.skipif("bubblewrap" not in FOUND.levels, reason=f"no bubblewrap here: {FOUND.why.get('bubblewrap')}")
async def test_what_a_program_does_behind_the_judges_back_meets_the_isolation(stage: Path) -> None:
    """A shell that may run anything stands for every program that the judge did not see through."""
    permissions = {"unjudged_commands": ["sh"], "least_level": "bubblewrap", "denied_paths": ["kept"]}
    attempts = [
        "cat ../secret.txt", f"cat {stage}/secret.txt", "cat link-out", "cat kept/key", "ls kept", "cat /etc/passwd",
        "env", "cat /proc/*/environ", "cat /proc/1/root/etc/shadow", "cat /proc/net/tcp",
        # Not the whole disk: how long that takes is the machine's, and a deadline would hide what was found.
        "find / -maxdepth 2 -name '*secret*'", f"find {stage} -name '*secret*' -exec cat {{}} +",
        "echo x > made", "echo x > ../made", "rm -rf notes.txt", "mv notes.txt other", "chmod 777 notes.txt",
        "mount -t tmpfs none /mnt", "umount kept", "unshare -U id", "kill -9 1",
        "mknod /tmp/sda b 8 0 && cat /tmp/sda", "ln -s /etc/passwd /tmp/x && cat /tmp/x", "echo x > /usr/bin/made",
        "cat /dev/sda", "cat /dev/mem", "head -c 10 /proc/kcore", "echo x > /proc/sys/kernel/core_pattern",
        "ls /root /home /var /run", "echo h > /proc/sysrq-trigger", "dd if=/dev/zero of=/x count=1", "touch /dev/shm/x",
    ]  # fmt: skip
    before = snapshot(stage)
    async with open_host({"tools": {"execute_command": permissions}}, plugins=[pegboard_system.plugin]) as host:
        session = host.session()
        for attempt in attempts:
            result = await session.call("execute_command", {"command": ["sh", "-c", attempt], "timeout": 10})
            assert result.data is not None, (attempt, result)
            assert CANARY not in json.dumps(result.to_json()), attempt
            assert "root:x:" not in result.data["stdout"], attempt
    assert snapshot(stage) == before
    assert os.environ["HOST_CANARY"] == CANARY
