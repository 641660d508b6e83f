"""A repository's own settings name programs in many ways; with git allowed, none of them is started.

Each way is first tried with git alone, where it has to start its program: else the test below it could not fail.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pegboard import open_host, thaw
from pegboard.testing import assert_error, assert_ok
from pegboard_confine import kernel
from pegboard_system._isolation import probe
from pegboard_system._judge import Policy, judge
from pegboard_system._rules import GIT
from pegboard_system.plugin import SystemPlugin

FOUND = probe()
LEVELS = [
    pytest.param(level, marks=pytest.mark.skipif(level not in FOUND.levels, reason=f"no {level} here"))
    for level in ("rlimits", "landlock", "bubblewrap")
]
pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed here"),
    pytest.mark.skipif(not kernel.can_forbid(), reason="git is refused on this system"),
]
LEAST_GIT = (2, 39)
MISSING = "1234567890123456789012345678901234567890"
ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_{what}": "ada@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}  # fmt: skip


class Repository:
    """A repository with two commits and a changed file, and a program that leaves a mark when it is started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "work"
        self.marks = folder / "marks"
        self.marks.mkdir(parents=True)
        self.folder.mkdir()
        self.program = self.folder / "evil"
        self.program.write_text(f"#!/bin/sh\n: > {self.marks}/started\nexit 1\n")
        self.program.chmod(0o755)
        self.git("init", "-q", "-b", "main")
        for text in ("one\n", "one\ntwo\n"):
            (self.folder / "notes.txt").write_text(text)
            self.git("add", "notes.txt")
            self.git("commit", "-qm", text[-4:])
        (self.folder / "notes.txt").write_text("one\nowt\n")  # as long as it was, so that git has to look at it

    def git(self, *words: str, stdin: str = "", fails: bool = False) -> str:
        ran = subprocess.run(
            ["git", *words], cwd=self.folder, env=ENVIRONMENT, input=stdin, capture_output=True, text=True, check=False,
            timeout=60,
        )  # fmt: skip
        assert fails or ran.returncode == 0, ran.stderr
        return ran.stdout

    def set(self, **settings: str) -> None:
        for name, value in settings.items():
            self.git("config", name.replace("__", "."), value)

    def attributes(self, line: str) -> None:
        (self.folder / ".git/info/attributes").write_text(line + "\n")

    @property
    def was_started(self) -> bool:
        return (self.marks / "started").exists()


def clean_filter(repository: Repository) -> None:
    (repository.folder / ".gitattributes").write_text("*.txt filter=evil\n")
    repository.set(filter__evil__clean=str(repository.program))


def process_filter(repository: Repository) -> None:
    repository.attributes("*.txt filter=evil")
    repository.set(filter__evil__process=str(repository.program))


def filter_of_an_included_file(repository: Repository) -> None:
    (repository.folder / "more").write_text(f'[filter "evil"]\n\tclean = {repository.program}\n\trequired = true\n')
    (repository.folder / "attributes").write_text("*.txt filter=evil\n")
    repository.set(include__path="../more", core__attributesFile=str(repository.folder / "attributes"))


def textconv(repository: Repository) -> None:
    repository.attributes("*.txt diff=evil")
    repository.set(diff__evil__textconv=str(repository.program))


def external_diff(repository: Repository) -> None:
    repository.set(diff__external=str(repository.program))


def diff_driver(repository: Repository) -> None:
    repository.attributes("*.txt diff=evil")
    repository.set(diff__evil__command=str(repository.program))


def _sign(repository: Repository, kind: str) -> None:
    tree = repository.git("rev-parse", "HEAD^{tree}").strip()
    commit = (
        f"tree {tree}\nauthor A <a@example.org> 1 +0000\ncommitter A <a@example.org> 1 +0000\n"
        f"gpgsig -----BEGIN {kind}-----\n \n x\n -----END {kind}-----\n\nsigned\n"
    )
    made = repository.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=commit).strip()
    repository.git("update-ref", "refs/heads/main", made)


def pgp_program(repository: Repository) -> None:
    _sign(repository, "PGP SIGNATURE")
    repository.set(gpg__program=str(repository.program))


def x509_program(repository: Repository) -> None:
    _sign(repository, "SIGNED MESSAGE")
    repository.set(gpg__x509__program=str(repository.program), format__pretty="%G?")


def ssh_program(repository: Repository) -> None:
    _sign(repository, "SSH SIGNATURE")
    repository.set(
        gpg__ssh__program=str(repository.program), gpg__ssh__allowedSignersFile="/dev/null", pretty__mine="%GS"
    )


def shown_signatures(repository: Repository) -> None:
    pgp_program(repository)
    repository.set(log__showSignature="true")


def _lacks_an_object(repository: Repository, url: str, **settings: str) -> None:
    repository.set(
        core__repositoryFormatVersion="1", extensions__partialClone="origin", remote__origin__promisor="true",
        remote__origin__url=url, **settings,
    )  # fmt: skip
    tree = repository.git("mktree", "--missing", stdin=f"100644 blob {MISSING}\tnotes.txt\n").strip()
    commit = f"tree {tree}\nauthor A <a@example.org> 1 +0000\ncommitter A <a@example.org> 1 +0000\n\nlacking\n"
    made = repository.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=commit).strip()
    repository.git("update-ref", "refs/heads/main", made)


def fetch_by_ext(repository: Repository) -> None:
    _lacks_an_object(repository, f"ext::{repository.program}", protocol__ext__allow="always")


def fetch_by_ssh(repository: Repository) -> None:
    _lacks_an_object(
        repository, "ssh://host/x", core__sshCommand=str(repository.program), protocol__ssh__allow="always"
    )


def fetch_from_a_folder(repository: Repository) -> None:
    _lacks_an_object(
        repository, str(repository.folder), remote__origin__uploadpack=str(repository.program),
        protocol__file__allow="always",
    )  # fmt: skip


def fsmonitor(repository: Repository) -> None:
    repository.set(core__fsmonitor=str(repository.program))


def fsmonitor_of_a_worktree(repository: Repository) -> None:
    repository.set(core__repositoryFormatVersion="1", extensions__worktreeConfig="true")
    repository.git("config", "--worktree", "core.fsmonitor", str(repository.program))


def _hook_in(repository: Repository, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    shutil.copy(repository.program, folder / "post-index-change")
    os.utime(repository.folder / ".git/index", (1, 1))
    (repository.folder / "notes.txt").write_text("one\ntwo\n")  # as in the index, at another time: it is refreshed


def hook(repository: Repository) -> None:
    _hook_in(repository, repository.folder / ".git/hooks")


def hook_in_a_folder_of_its_own(repository: Repository) -> None:
    _hook_in(repository, repository.folder / "hooks")
    repository.set(core__hooksPath=str(repository.folder / "hooks"))


def submodule(repository: Repository) -> None:
    inner = repository.folder / "inner"
    repository.git("init", "-q", "inner")
    repository.git("-C", "inner", "commit", "-q", "--allow-empty", "-m", "x")
    repository.git("-c", "advice.addEmbeddedRepo=false", "add", "inner")
    repository.git("-C", str(inner), "config", "core.fsmonitor", str(repository.program))
    (repository.folder / ".gitmodules").write_text('[submodule "inner"]\n\tpath = inner\n\turl = ./inner\n')
    repository.set(submodule__inner__ignore="none", submodule__inner__url="./inner", diff__ignoreSubmodules="none")


def shown_submodule(repository: Repository) -> None:
    submodule(repository)
    inner = repository.folder / "inner"
    repository.git("-C", str(inner), "config", "core.fsmonitor", "false")
    (inner / "file").write_text("x\n")
    repository.git("-C", str(inner), "add", "file")
    repository.git("-C", str(inner), "commit", "-qm", "y")
    repository.git("-C", str(inner), "config", "diff.external", str(repository.program))
    repository.git("-C", str(inner), "config", "core.fsmonitor", str(repository.program))
    repository.set(diff__submodule="diff")


def alternate_refs(repository: Repository) -> None:
    repository.git("clone", "-q", "--bare", ".", "other.git")
    (repository.folder / ".git/objects/info/alternates").write_text(str(repository.folder / "other.git/objects") + "\n")
    repository.set(core__alternateRefsCommand=str(repository.program))


def repository_without_a_tree(repository: Repository) -> None:
    pgp_program(repository)
    repository.git("clone", "-q", "--bare", ".", "bare")
    config = repository.folder / "bare/config"
    config.write_text(config.read_text() + f"[log]\n\tshowSignature\n[gpg]\n\tprogram = {repository.program}\n")


def alias(repository: Repository) -> None:
    repository.set(alias__evil=f"!{repository.program}", alias__log=f"!{repository.program}")


Way = Callable[[Repository], None]
WAYS: dict[Way, list[list[str]]] = {
    clean_filter: [["diff"], ["status"], ["blame", "notes.txt"], ["describe", "--always", "--dirty"]],
    process_filter: [["diff"], ["status"]],
    filter_of_an_included_file: [["diff"]],
    textconv: [
        ["diff"], ["blame", "notes.txt"], ["log", "-p"], ["show"], ["grep", "--textconv", "one"],
        ["cat-file", "--textconv", "HEAD:notes.txt"], ["cat-file", "--text", "HEAD:notes.txt"],
    ],
    external_diff: [["diff"], ["log", "-p", "--ext-diff"], ["show", "--ext-diff"]],
    diff_driver: [["diff"]],
    pgp_program: [["log", "--format=%G?"], ["show", "--pretty=format:%GK"], ["log", "--show-signature"]],
    x509_program: [["log"], ["show"]],
    ssh_program: [["log", "--pretty=mine"]],
    shown_signatures: [["log"], ["show"]],
    fetch_by_ext: [["show"], ["cat-file", "-p", MISSING], ["diff", "HEAD"], ["grep", "one", "HEAD"]],
    fetch_by_ssh: [["show"], ["log", "-p"]],
    fetch_from_a_folder: [["show"], ["blame", "HEAD", "notes.txt"]],
    fsmonitor: [["status"], ["diff"], ["ls-files", "-m"], ["describe", "--always", "--broken"]],
    fsmonitor_of_a_worktree: [["status"]],
    hook: [["status"]],
    hook_in_a_folder_of_its_own: [["status"]],
    submodule: [["status"], ["diff"], ["diff", "--ignore-submodules=none"]],
    shown_submodule: [["diff"], ["diff", "--submodule=diff"]],
    alternate_refs: [["rev-list", "--alternate-refs"]],
    repository_without_a_tree: [["-C", "bare", "log"]],
    alias: [["evil"]],
}  # fmt: skip
EACH = [
    ["blame", "notes.txt"], ["cat-file", "-p", "HEAD"], ["cat-file", "-p", MISSING],
    ["describe", "--always", "--dirty"], ["diff"],
    ["diff", "--cached"], ["diff", "HEAD"], ["diff", "--submodule=diff"], ["grep", "one"],
    ["grep", "--recurse-submodules", "one"], ["log"], ["log", "-p"], ["log", "--pretty=mine"], ["ls-files", "-m", "-o"],
    ["ls-tree", "HEAD"], ["rev-list", "--all", "--objects"], ["rev-parse", "HEAD"], ["shortlog", "HEAD"], ["show"],
    ["status"], ["status", "-v"], ["-C", "inner", "status"],
]  # fmt: skip


def permissions(repository: Repository, level: str, **more: Any) -> dict[str, Any]:
    said = {"least_level": level, "allowed_paths": ["."], "writable_paths": [str(repository.marks)], **more}
    return {"tools": {"execute_command": said}}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    found = subprocess.run(["git", "--version"], capture_output=True, text=True, check=True).stdout.split()[2]
    if tuple(map(int, found.split(".")[:2])) < LEAST_GIT:
        pytest.skip(f"git {found} lacks some of what is tried here")
    made = Repository(tmp_path)
    monkeypatch.chdir(made.folder)
    return made


@pytest.mark.parametrize(
    ("way", "words"),
    [
        pytest.param(way, words, id=f"{way.__name__}-{'-'.join(words)}")
        for way, all_of in WAYS.items()
        for words in all_of
    ],
)
def test_git_alone_starts_what_the_repository_names(repository: Repository, way: Way, words: list[str]) -> None:
    way(repository)
    repository.git(*words, fails=True)
    assert repository.was_started


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("way", WAYS)
async def test_no_way_starts_a_program(repository: Repository, level: Any, way: Way) -> None:
    way(repository)
    config = permissions(repository, level, allowed_commands=["git"])
    async with open_host(config, plugins=[SystemPlugin((level,))]) as host:
        for words in WAYS[way]:
            result = await host.session().call("execute_command", {"command": ["git", *words]})
            assert result.error is None or result.error.code.value == "FORBIDDEN", (words, result)
            assert not repository.was_started, words


@pytest.mark.parametrize("level", LEVELS)
async def test_no_command_of_git_starts_a_program_whatever_the_repository_says(
    repository: Repository, level: Any
) -> None:
    for way in (pgp_program, submodule, textconv, hook_in_a_folder_of_its_own, alias, external_diff, fetch_by_ext):
        way(repository)
    (repository.folder / ".gitattributes").write_text("* filter=evil\n")
    repository.set(
        filter__evil__clean=str(repository.program), core__fsmonitor=str(repository.program), pretty__mine="%G?",
        log__showSignature="true", core__pager=str(repository.program), trailer__x__command=str(repository.program),
        core__editor=str(repository.program), pager__log=str(repository.program), diff__submodule="diff",
        status__submoduleSummary="true", credential__helper=str(repository.program),
    )  # fmt: skip
    tried = {next(word for word in words if word in GIT) for words in EACH}
    assert tried == set(GIT)
    async with open_host(
        permissions(repository, level, allowed_commands=["git"]), plugins=[SystemPlugin((level,))]
    ) as host:
        for words in EACH:
            assert_ok(await host.session().call("execute_command", {"command": ["git", *words]}))
            assert not repository.was_started, words


@pytest.mark.parametrize("level", LEVELS)
async def test_it_is_not_the_isolation_alone_that_starts_none(
    repository: Repository, level: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsmonitor(repository)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")  # Landlock shows no /etc/gitconfig, and git ends where there is one
    config = permissions(repository, level, unjudged_commands=["git"], environment=["GIT_CONFIG_NOSYSTEM"])
    async with open_host(config, plugins=[SystemPlugin((level,))]) as host:
        await host.session().call("execute_command", {"command": "git status"})
    assert repository.was_started


@pytest.mark.parametrize("level", LEVELS)
async def test_an_ordinary_repository_is_read_as_ever(repository: Repository, level: Any) -> None:
    config = permissions(repository, level, allowed_commands=["git", "env", "nice"])
    for number in range(40):
        (repository.folder / f"file-{number}").write_text("one\n")
    repository.git("add", "file-*")
    answers = {
        "git status --short": " M notes.txt", "git diff": "+owt", "git log --oneline": " two",
        "git blame notes.txt": "one", "git grep --threads 4 one": "file-39:one", "git show HEAD:notes.txt": "two",
        "git describe --always --dirty": "-dirty", "git shortlog HEAD": "(2):", "nice env git ls-files": "notes.txt",
    }  # fmt: skip
    async with open_host(config, plugins=[SystemPlugin((level,))]) as host:
        for command, says in answers.items():
            result = assert_ok(await host.session().call("execute_command", {"command": command}))
            said = thaw(result.data)
            assert (said["exit_code"], said["stderr"]) == (0, ""), (command, result)
            assert says in said["stdout"], (command, result)


def test_a_wrapper_that_stays_may_not_start_git() -> None:
    policy = Policy(allowed=("git", "timeout", "nice", "sort"), readable=("/",), cwd="/")
    for words in (["timeout", "5", "git", "log"], ["nice", "timeout", "5", "git", "log"]):
        with pytest.raises(Exception, match="may not be started by 'timeout'"):
            judge(words, policy)
    assert judge(["nice", "git", "log"], policy).only_alone
    assert not judge(["timeout", "5", "sort", "/etc/hosts"], policy).alone


async def test_where_the_kernel_cannot_hold_git_it_is_refused(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    config = permissions(repository, "rlimits", allowed_commands=["git", "sort"])
    async with open_host(config, plugins=[SystemPlugin(("rlimits",))]) as host:
        refused = await host.session().call("execute_command", {"command": "git log"})
        assert_error(refused, "FORBIDDEN", reason="level", says="git is refused on this host")
        assert_ok(await host.session().call("execute_command", {"command": "sort notes.txt"}))
        assert "an allowed command is refused" in [finding.what for finding in host.board.findings()]
