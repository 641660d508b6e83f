"""Programs, options and paths, as the judge sees them."""

from __future__ import annotations

import contextlib
import os
import socket
from pathlib import Path

import attrs
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pegboard import ErrorCode, ToolError
from pegboard_confine.bubblewrap import within
from pegboard_system._judge import DEVICES, MAX_DEPTH, Policy, judge, judge_arguments, locate
from pegboard_system._rules import GIT, RULES, STARTERS, WRAPPERS, starts_programs

PROGRAMS = ["ls", "cat", "cp", "sort", "grep", "tar", "dd", "git", "nice", "env", "timeout", "unknown", "uniq"]
LINKS = {
    "awk": "mawk", "xzcat": "xz", "head": "busybox", "sh": "busybox", "mysort": "sort", "mywrap": "env",
    "python3": "python3.11",
}  # fmt: skip


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    """A machine of its own: its programs are empty files in `bin`."""
    folder, work = tmp_path / "bin", tmp_path / "work"
    folder.mkdir()
    work.mkdir()
    (work / "notes.txt").touch()
    (tmp_path / "secret.txt").touch()
    (tmp_path / "out").mkdir()
    for name in [*PROGRAMS, "mawk", "xz", "busybox", "python3.11", "rm"]:
        program = folder / name
        program.touch()
        program.chmod(0o755)
    for link, target in LINKS.items():
        (folder / link).symlink_to(target)
    return Policy(
        allowed=(*PROGRAMS, *LINKS, "missing"),
        denied=("rm",),
        readable=(str(work),),
        writable=(str(tmp_path / "out"),),
        cwd=str(work),
        search=(str(folder),),
    )


def refused(policy: Policy, *words: str) -> ToolError:
    with pytest.raises(ToolError) as refusal:
        judge(words, policy)
    return refusal.value


def test_a_program_is_started_by_its_file_and_not_by_what_was_said(policy: Policy) -> None:
    judged = judge(["ls", "-l"], policy)
    assert judged.words == (f"{policy.search[0]}/ls", "-l")
    assert judge([f"{policy.search[0]}/../bin//ls"], policy).words == (f"{policy.search[0]}/ls",)


def test_a_program_is_allowed_by_what_it_is_under_the_name_it_was_allowed_by(policy: Policy, tmp_path: Path) -> None:
    assert judge(["xzcat", "notes.txt"], policy).words[0].endswith("/xzcat")
    assert refused(policy, "xz", "notes.txt").details["reason"] == "command"  # the same file, and another program
    (tmp_path / "work" / "ls").symlink_to(tmp_path / "bin" / "rm")
    assert refused(policy, "./ls").details["reason"] == "command"
    (tmp_path / "work" / "cat").symlink_to(tmp_path / "bin" / "cat")
    assert judge(["./cat", "notes.txt"], policy).words[0] == f"{policy.search[0]}/cat"


def test_of_a_file_that_is_many_programs_only_the_one_that_was_allowed_may_run(policy: Policy) -> None:
    assert judge(["head", "notes.txt"], policy).words[0].endswith("/head")
    assert refused(policy, "busybox", "rm").details["reason"] == "command"
    assert "starts other programs" in refused(policy, "sh", "-c", "id").message
    denied = attrs.evolve(policy, denied=("busybox",))
    assert judge(["head", "notes.txt"], denied).words[0].endswith("/head")


def test_denying_is_wider_than_allowing(policy: Policy, tmp_path: Path) -> None:
    both = attrs.evolve(policy, allowed=(*policy.allowed, "rm"), denied=("rm", "xz", str(tmp_path / "bin" / "sort")))
    assert "denied" in refused(both, "rm", "x").message
    assert "denied" in refused(both, "/no/such/rm", "x").message
    assert "denied" in refused(both, "xzcat", "x").message  # the same file by another name
    assert "denied" in refused(both, "mysort", "x").message
    assert judge(["ls"], both)


def test_a_program_that_starts_others_is_refused_under_every_name(policy: Policy) -> None:
    for name in ("awk", "python3"):
        assert "starts other programs" in refused(policy, name, "x").message
    for name in ("python3.12", "vim.basic", "nc.openbsd", "ld-linux-x86-64.so.2", "lua5.4", "php8.2", "xargs"):
        assert starts_programs(name)
    for name in ("ls", "sort", "node_exporter", "pythonic", "shuf", "view-logs"):
        assert not starts_programs(name)


def test_who_names_a_program_unjudged_gets_it_with_any_option(policy: Policy) -> None:
    free = attrs.evolve(policy, unjudged=("python3",))
    assert judge(["python3", "-c", "print(1)", "/etc/passwd"], free).words[1:] == ("-c", "print(1)", "/etc/passwd")
    assert refused(attrs.evolve(free, denied=("python3",)), "python3").details["reason"] == "command"


def test_a_link_is_judged_by_the_rules_of_its_file(policy: Policy) -> None:
    assert refused(policy, "mysort", "--compress-program=sh", "notes.txt").details["reason"] == "option"
    assert refused(policy, "mywrap", "A=1", "ls").details["reason"] == "option"


def test_a_wrapper_starts_exactly_what_was_judged(policy: Policy) -> None:
    judged = judge(["nice", "-n", "5", "timeout", "-s", "KILL", "3", "ls", "-l"], policy)
    folder = policy.search[0]
    assert judged.words == (
        f"{folder}/nice", "-n", "5", f"{folder}/timeout", "-s", "KILL", "3", f"{folder}/ls", "-l",
    )  # fmt: skip
    assert [program.name for program in judged.programs] == ["nice", "timeout", "ls"]
    assert judge(["nice", "-5", "--", "ls"], policy)
    assert judge(["env", "-i", "-u", "HOME", "ls"], policy)
    assert judge(["nice", "--adjustment=3", "ls"], policy)
    assert "too many" in refused(policy, *["nice"] * MAX_DEPTH, "ls").message
    assert refused(policy, "nice").code is ErrorCode.INVALID_INPUT


def test_an_allowed_program_that_is_not_there_is_not_found(policy: Policy) -> None:
    assert refused(policy, "missing").code is ErrorCode.NOT_FOUND
    assert refused(policy, "other").code is ErrorCode.FORBIDDEN
    assert locate("missing", policy) is None


def test_a_refusal_is_the_same_whether_what_was_asked_for_exists_or_not(policy: Policy, tmp_path: Path) -> None:
    there, gone = tmp_path / "secret.txt", tmp_path / "nothing"
    for program in (["cat"], ["unknown"], ["unknown", "-f"]):
        first, second = (refused(policy, *program, str(path)) for path in (there, gone))
        assert first.message.replace(str(there), "") == second.message.replace(str(gone), "")
    there, gone = tmp_path / "bin" / "rm2", tmp_path / "bin" / "xz"
    first, second = (refused(policy, str(path)) for path in (there, gone))
    assert first.message.replace(str(there), "") == second.message.replace(str(gone), "")


def test_no_refusal_names_a_path_of_the_host_that_the_caller_did_not(policy: Policy, tmp_path: Path) -> None:
    for words in (["cat", ".."], ["tar", "-xf", "x"], ["git", "-C", "..", "log"], ["cp", "notes.txt", "x"], ["./x"]):
        assert str(tmp_path) not in refused(policy, *words).message


@pytest.mark.parametrize(
    "words",
    [
        ["unknown", "../secret.txt"], ["unknown", "--file=../secret.txt"], ["unknown", "-f../secret.txt"],
        ["unknown", "a=../secret.txt"], ["unknown", "@../secret.txt"], ["unknown", "a:../secret.txt"],
        ["unknown", "x,../secret.txt"], ["unknown", "-I/etc"],
        ["dd", "if=../secret.txt"], ["dd", "of=x"], ["uniq", "notes.txt", "x"], ["tar", "-cf", "x", "."], ["tar", "-x"],
        ["sort", "-o", "../x"], ["cp", "notes.txt", "notes2.txt"], ["ls", "@../secret.txt"],
    ],
)  # fmt: skip
def test_paths_are_judged_wherever_they_hide(policy: Policy, words: list[str]) -> None:
    assert refused(policy, *words).details["reason"] == "path"


@pytest.mark.parametrize(
    "words",
    [
        ["cp", "notes.txt", "../out/copy"], ["sort", "-o", "../out/x", "notes.txt"],
        ["dd", "if=notes.txt", "of=../out/x", "bs=1"], ["tar", "-xf", "notes.txt", "-C", "../out"],
        ["tar", "-cf", "../out/x", "."], ["tar", "-cf", "-", "."], ["uniq", "notes.txt", "../out/x"],
        ["grep", "/etc/passwd", "notes.txt"], ["grep", "-e", "/etc", "notes.txt"],
        ["grep", "-A3", "--", "-x", "notes.txt"], ["grep", "--color", "x", "notes.txt"],
        ["unknown", "word", "12", "-la", "--flag", "notes.txt"], ["cat", "-", "/dev/null"],
        ["git", "--no-pager", "-C", ".", "log", "--oneline"], ["git", "grep", "/etc"], ["git", "--version"],
        ["git", "diff", "--text"], ["sort", "-t", "/", "notes.txt"], ["xzcat", "notes.txt"],
        ["tar", "-tf", "notes.txt"], ["tar", "--list", "--file=notes.txt"], ["ls", "../out"], ["ls", ""],
    ],
)  # fmt: skip
def test_ordinary_commands_pass(policy: Policy, words: list[str]) -> None:
    assert judge(words, policy).words[0].startswith(policy.search[0])


@pytest.mark.parametrize(
    "words",
    [
        ["tar", "-txf", "notes.txt"], ["git"], ["git", "log", "--help"], ["git", "-p", "log"], ["git", "nothing"],
        ["tar", "tf", "x"], ["timeout", "--foreground", "3", "ls"], ["sort", "notes.txt", "-o"],
        ["sort", "--files0-f=x"],
    ],
)  # fmt: skip
def test_what_an_option_would_do_is_refused(policy: Policy, words: list[str]) -> None:
    assert refused(policy, *words).details["reason"] == "option"


def test_behind_two_dashes_stand_names_of_files(policy: Policy) -> None:
    assert judge(["sort", "--", "--files0-from=x", "-T"], policy)
    assert refused(policy, "sort", "--", "../secret.txt").details["reason"] == "path"


def test_denied_paths_beat_allowed_ones(policy: Policy, tmp_path: Path) -> None:
    (tmp_path / "work" / "kept").mkdir()
    (tmp_path / "work" / "link").symlink_to("kept")
    hidden = attrs.evolve(policy, hidden=(str(tmp_path / "work" / "kept"),))
    for word in ("kept", "kept/x", "link", "./link/x"):
        assert "denied" in refused(hidden, "cat", word).message


OPTIONS = st.sampled_from(
    ["-o", "-uo", "-ofile", "--output=x", "--outp", "-T", "--compress-program", "-k2", "-t", ",", "--", "-", "-r",
     "notes.txt", "../secret.txt", "/etc/passwd", "--files0", "--k=1", "-n", "--parallel=2",
     "--random-source=../secret.txt"]
)  # fmt: skip


@settings(max_examples=150)
@given(st.lists(OPTIONS, max_size=5))
def test_no_order_of_options_lets_sort_write_or_start_or_read_outside(arguments: list[str]) -> None:
    codes = []
    policy = Policy(allowed=("sort",), readable=("/usr/share",), cwd="/usr/share")
    try:
        judge(["sort", *arguments], policy)
    except ToolError as refusal:
        codes.append(refusal.code)
    if codes:
        assert codes[0] in (ErrorCode.FORBIDDEN, ErrorCode.NOT_FOUND)
        return
    before = arguments[: arguments.index("--")] if "--" in arguments else arguments
    takes = [index for index, word in enumerate(before) if word == "-t"]
    values = {index + 1 for index in takes}
    read = [word for index, word in enumerate(before) if index not in values]
    assert not any(word.startswith(("-o", "-uo", "--out", "--comp", "--files0", "-T")) for word in read)
    assert not any(word in ("../secret.txt", "/etc/passwd") for word in read)


PARTS = st.sampled_from(
    ["..", ".", "/", "//", "etc", "passwd", "a", "-", "--", "=", ":", ",", "@", "-I", "share", "doc", "usr",
     "proc", "self", "root", " ", "\n"]
)  # fmt: skip


@settings(max_examples=300)
@given(st.lists(PARTS, max_size=8).map("".join))
@example("--..")
def test_no_word_that_passes_is_a_path_that_leads_out(word: str) -> None:
    policy = Policy(allowed=(), readable=("/usr/share",), cwd="/usr/share")
    for name in ("a-program-of-no-table", "ls-like", "unknown"):
        try:
            judge_arguments(name, [word], policy)
        except ToolError:
            continue
        for path in (word, *word.split("=")[1:], word[2:] if word.startswith("-") else ""):
            real = os.path.realpath(os.path.join(policy.cwd, path))
            assert within(real, policy.readable) or path in DEVICES


def test_within_takes_whole_names_only() -> None:
    assert within("/a/b", ["/a"])
    assert within("/a", ["/a"])
    assert within("/x", ["/"])
    assert not within("/ab", ["/a"])
    assert "-" in DEVICES


def test_the_tables_do_not_contradict_each_other() -> None:
    assert not STARTERS & WRAPPERS.keys()
    assert STARTERS & RULES.keys() == {"gawk"}  # judged by a table of its own, since it can be told to start nothing
    for name, rule in {**RULES, **GIT}.items():
        # An option that is read as one with a value is not refused as one without: the refusal would never be reached.
        assert not set(rule.flags) & set(rule.values), name
        assert all(option.startswith("-") for option in (*rule.free, *rule.writes, *rule.no_pattern)), name


def test_find_may_have_none_of_the_nine_options_that_act(policy: Policy) -> None:
    acts = {"-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"}
    assert acts <= RULES["find"].words
    assert os.sep not in "".join(acts)


DEVICES_AND_PIPES = [
    "/dev/zero", "/dev/urandom", "/dev/random", "/dev/full", "/dev/tty", "/dev/fd/0", "/dev/fd/3", "/dev/./zero",
    "/dev/shm/../zero", "/proc/self/fd/0", "/proc/self/environ", "/proc/kmsg", "/sys/kernel/debug", "fifo", "./fifo",
    "to-zero", "to-fifo", "socket",
]  # fmt: skip
READERS = [
    ["cat", "{}"], ["sort", "{}"], ["grep", "x", "{}"], ["grep", "-f", "{}", "notes.txt"], ["dd", "if={}"],
    ["cp", "{}", "../out/x"], ["uniq", "{}"], ["unknown", "{}"], ["unknown", "--file={}"], ["nice", "cat", "{}"],
    ["tar", "-tf", "{}"], ["env", "timeout", "1", "cat", "{}"], ["git", "diff", "notes.txt", "{}"],
]  # fmt: skip


@pytest.mark.parametrize("everything", [False, True])
@pytest.mark.parametrize("path", DEVICES_AND_PIPES)
def test_no_program_reads_a_device_or_a_pipe(policy: Policy, path: str, everything: bool) -> None:
    os.mkfifo(f"{policy.cwd}/fifo")
    os.symlink("/dev/zero", f"{policy.cwd}/to-zero")
    os.symlink("fifo", f"{policy.cwd}/to-fifo")
    with socket.socket(socket.AF_UNIX) as bound, contextlib.chdir(policy.cwd):
        bound.bind("socket")
    if everything:
        policy = attrs.evolve(policy, readable=("/",))
    for words in READERS:
        refusal = refused(policy, *(word.replace("{}", path) for word in words))
        assert (refusal.code, refusal.details["reason"]) == (ErrorCode.FORBIDDEN, "path"), words


def test_what_has_an_end_is_read(policy: Policy) -> None:
    everything = attrs.evolve(policy, readable=("/", "/proc/cpuinfo"))
    for path in ("notes.txt", "/dev/null", "-", "/dev/stdin", ".", "/etc/hostname", "/proc/cpuinfo", "not-there"):
        assert judge(["cat", path], everything).words[-1] == path


def test_a_refusal_of_tar_names_the_folder_that_was_said(policy: Policy) -> None:
    for said, words in {".": ["tar", "-xf", "notes.txt"], "../..": ["tar", "-xf", "notes.txt", "-C", "../.."]}.items():
        assert str(refused(policy, *words).message).startswith(repr(said))
