from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import ErrorCode
from pegboard_manifest.bindings.subprocess.exits import (
    MAX_OUTPUT,
    MAX_TAIL,
    answered,
    error_of,
    hide_paths,
    is_found,
    is_success,
    last_words,
    pattern_fault,
    scrubber,
)

TABLE = {
    "exits": [
        {
            "status": 1,
            "stderr": "no such (table|file)",
            "code": "NOT_FOUND",
            "message": "there is nothing of that name",
        },
        {"stderr": "(?i)permission denied", "code": "FORBIDDEN"},
        {"status": 3, "code": "CONFLICT"},
        {"status": 137, "code": "TIMEOUT"},
    ]
}


@pytest.mark.parametrize(
    ("status", "stderr", "code"),
    [
        (1, "Error: no such table: t", "NOT_FOUND"),
        (4, "Error: no such table: t", "UPSTREAM_ERROR"),
        (4, "open: Permission denied", "FORBIDDEN"),
        (2, "PERMISSION DENIED", "FORBIDDEN"),
        (3, "", "CONFLICT"),
        (2, "usage: x", "INVALID_INPUT"),
        (1, "", "UPSTREAM_ERROR"),
        (-9, "", "TIMEOUT"),
        (-11, "", "UPSTREAM_ERROR"),
    ],
)
def test_the_first_row_that_fits_gives_the_code(status: int, stderr: str, code: str) -> None:
    error = error_of(TABLE, status, stderr)

    assert error.code == code
    assert error.details["status"] == status
    assert error.details["executed"] is True


def test_the_message_is_the_rows_and_the_programs_last_line() -> None:
    assert error_of(TABLE, 1, "warning: x\nno such table: t\n").message == (
        "there is nothing of that name: no such table: t"
    )
    assert error_of({}, 1, "").message == "the program ended with status 1"
    assert error_of({}, -11, "").message == "the program was ended by SIGSEGV"
    assert error_of({}, -200, "").message == "the program was ended by signal 200"
    assert error_of({}, 2, "usage: x\n\nx: bad\n").details["stderr"] == "usage: x\nx: bad"


def test_only_what_may_be_repeated_says_so() -> None:
    assert error_of({}, 1, "").details["retry"] == "unknown"
    assert error_of({}, 1, "", idempotent=True).details["retry"] == "changed"
    assert error_of({}, -9, "", idempotent=True).details["retry"] == "same"
    assert error_of({}, 2, "", idempotent=True).details["retry"] == "changed"


@pytest.mark.parametrize("pattern", ["^(a+)+$", "(a|a)*b", "(.*)*x", "(x+x+)+y", "((a{0,100}){0,100}){0,100}b"])
def test_a_pattern_that_would_explode_does_not(pattern: str, in_time: Any) -> None:
    with in_time():
        error_of({"exits": [{"stderr": pattern, "code": "CONFLICT"}] * 100}, 1, "a" * 4_000 + "!")


def test_a_pattern_that_nothing_safe_can_search_for_fits_nothing_and_is_named() -> None:
    for pattern in ("(?=x)y", r"(a)\1", "(", "(?<!a)b"):
        assert pattern_fault(pattern)
        assert not is_found(pattern, "xyaab(")
    assert pattern_fault("no such .*") is None


def test_patterns_see_the_last_4096_characters_alone() -> None:
    table = {"exits": [{"stderr": "secret", "code": "CONFLICT"}]}

    assert error_of(table, 1, "secret" + "x" * 4_096).code is ErrorCode.UPSTREAM_ERROR
    assert error_of(table, 1, "secret" + "x" * 4_090).code is ErrorCode.CONFLICT


TRACEBACK = """Traceback (most recent call last):
  File "/usr/lib/python3/dist-packages/tool.py", line 5, in <module>
    main()
    ~~~~^^
  File "/home/ada/tool.py", line 9, in main
    raise ValueError("bad")
ValueError: bad value 'x'
"""


def test_of_a_traceback_the_last_line_is_told() -> None:
    assert last_words(TRACEBACK) == "ValueError: bad value 'x'"
    chained = TRACEBACK + "\nDuring handling of the above exception, another exception occurred:\n\n" + TRACEBACK
    assert last_words(chained) == "ValueError: bad value 'x'"
    node = "Error: bad\n    at main (/srv/app/index.js:3:9)\n    at Object.<anonymous> (/srv/app/index.js:9:1)\n"
    assert last_words(node) == "Error: bad"
    assert last_words("") == ""
    assert last_words("\n \n") == ""


def test_what_was_said_is_short_and_clean() -> None:
    said = last_words("\x1b[31merror\x1b[0m\u202e " + "x" * 5_000 + "\n" + "line\n" * 100)

    assert said == "\n".join(["line"] * 8)
    assert len(last_words("y" * 10_000)) == 300
    assert last_words("\x1b[31merror\x1b[0m\u202e") == "error"


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("cannot open '/home/ada/.ssh/id_rsa'", "cannot open '…/id_rsa'"),
        ("/usr/lib/x.so: no version", "…/x.so: no version"),
        ("no /data2/customers/acme.db", "no …/acme.db"),  # whatever the first part is called
        ("GET /api/v1/items failed", "GET …/items failed"),  # nobody can tell
        ("no '/srv/my data/a key.pem' or \"/x y/z\"", "no '…/a key.pem' or \"…/z\""),
        ("PATH=/usr/bin:/home/ada/bin", "PATH=…/bin:…/bin"),
        ("error:/etc/ssl/key", "error:…/key"),
        ("cc -I/home/ada/include x.c", "cc -I…/include x.c"),
        ("//etc//ssl/key", "…/key"),
        ("file:///etc/ssl/key", "file:…/key"),
        ("sqlite:////data2/acme.db", "sqlite:…/acme.db"),
        (r"in \\server\share\x.txt and C:/Users/ada/x.txt", "in …/x.txt and …/x.txt"),
        ("http://[::1]:80/usr/lib/x?f=/a/b", "http://[::1]:80/usr/lib/x?f=/a/b"),
        ("<tmp>/a/b ~/c/d ../e/f", "<tmp>/a/b ~/c/d ../e/f"),
        ("see https://docs.example/usr/lib/x", "see https://docs.example/usr/lib/x"),
        ("postgres://ada:hunter2@db/x is down", "postgres://***@db/x is down"),
        (r"in C:\Users\ada\x.txt", "in …/x.txt"),
        ("either/or, and/or", "either/or, and/or"),
        ("./data/x is missing", "./data/x is missing"),
        ("open(/etc/ssl/)", "open(…/ssl)"),
    ],
)
def test_paths_of_the_host_and_credentials_are_not_told(text: str, hidden: str) -> None:
    assert hide_paths(text) == hidden


def test_a_caller_reads_its_own_names_and_no_secret() -> None:
    scrub = scrubber(
        {"./data/real.db": "link.db", "/srv/else/x": "alias"},
        {"/srv/project": ".", "/srv": "<srv>"},
        ["hunter2", "", "hunter2-long"],
        ["/etc/hosts.d/mine"],
    )

    said = scrub("./data/real.db in /srv/project/sub: hunter2-long hunter2 /srv/else/x /etc/hosts.d/mine /etc/ssl/key")

    assert said == "link.db in ./sub: *** *** alias /etc/hosts.d/mine …/key"
    assert (
        last_words("\x1b[31mhunter2\x1b[0m hun\u200bter2", scrub) == "*** ***"
    )  # neither before nor after it is cleaned
    error = error_of({}, 1, "key hunter2 in /srv/project/x", scrub=scrub)
    assert error.message == "the program ended with status 1: key *** in ./x"


def test_a_caller_reads_the_whole_paths_that_it_named_and_no_others() -> None:
    given = ["/data/my file.csv", "/data/in"]

    said = hide_paths("/data/my file.csv: bad. See /data/in, /data/in.bak/x, /data/in/sub/x, /x/data/in", given)

    assert said == "/data/my file.csv: bad. See /data/in, …/x, …/x, …/in"
    assert hide_paths("no /data/in.", given) == "no /data/in."


@given(
    st.lists(st.from_regex(r"[a-z0-9_-]{3,8}", fullmatch=True), min_size=2, max_size=5), st.sampled_from(" =:,(['\"@")
)
def test_of_no_absolute_path_more_than_the_last_part_is_told(parts: list[str], before: str) -> None:
    assert hide_paths(f"xy{before}/{'/'.join(parts)}") == f"xy{before}…/{parts[-1]}"


def test_texts_full_of_slashes_take_no_time(in_time: Any) -> None:
    with in_time():
        for text in (
            "/a" * 8_000,
            "a:" * 8_000,
            "'/" * 8_000,
            '"/ ' * 5_000,
            "a+" * 8_000,
            "\\\\a" * 5_000,
            "/" * 16_000,
        ):
            hide_paths(text)


LINES = st.lists(
    st.text(max_size=20)
    | st.sampled_from(["Traceback (most recent call last):", '  File "/etc/x", line 1', "hunter2", "/home/ada/x"]),
    max_size=8,
).map("\n".join)  # fmt: skip


@given(
    LINES,
    st.integers(-70, 260),
    st.lists(
        st.fixed_dictionaries(
            {"code": st.sampled_from(list(ErrorCode))},
            optional={"status": st.integers(0, 3), "stderr": st.text("ab()[]*+\\|{}1,?^$", max_size=12)},
        ),
        max_size=3,
    ),
)
@settings(max_examples=300)  # fmt: skip
def test_any_end_is_one_bounded_error_without_paths_and_secrets(
    stderr: str, status: int, rows: list[dict[str, Any]]
) -> None:
    error = error_of({"exits": rows}, status, stderr, scrub=scrubber({}, {}, ["hunter2"]))

    text = json.dumps(error.to_json(), ensure_ascii=False)
    assert len(text) < 4_000
    assert "hunter2" not in text
    assert "/home/ada" not in text
    assert "Traceback (most" not in text
    assert sys.prefix not in text


def test_a_message_of_the_table_is_a_third_party_text_too() -> None:
    table = {"exits": [{"status": 1, "code": "CONFLICT", "message": "a\u202eb\x1b[31mc\nd"}]}
    assert error_of(table, 1, "").message == "abc d"
    table["exits"][0]["message"] = "\u200b"
    assert error_of(table, 1, "").message == "the program ended with status 1"


@pytest.mark.parametrize(
    ("stderr", "said"),
    [
        (
            "Error: UNIQUE constraint failed: dogs.id\nsql = INSERT\nparameters = [1]\n",
            "Error: UNIQUE constraint failed",
        ),
        ("reading\ngit: fatal: no repository\nhint: make one\n", "git: fatal: no repository"),
        ("error[E0001]: it broke\n  in line 3\n", "error[E0001]: it broke"),
        ("it failed\nfor good\n", "for good"),
    ],
)
def test_the_message_is_the_line_that_names_itself_an_error_or_the_last(stderr, said):
    error = error_of({}, 1, stderr)
    assert error.message.startswith(f"the program ended with status 1: {said}")


GUESSES = {"success_with_output": [1]}


@pytest.mark.parametrize(
    ("binding", "status", "stdout", "stderr", "answers"),
    [
        ({}, 0, "", "", True),
        ({}, 1, "found", "", False),
        ({"success": [0, 1]}, 1, "", "", True),
        ({"success": [0, 1]}, 1, "", "cannot", True),
        ({"success": [0, 1]}, 2, "found", "", False),
        (GUESSES, 1, "found", "", True),
        (GUESSES, 1, "found", "\n", True),
        (GUESSES, 1, "", "", False),
        (GUESSES, 1, " \n", "", False),
        (GUESSES, 1, "found", "cannot", False),
        (GUESSES, 2, "found", "", False),
        (GUESSES, -9, "found", "", False),
        ({"success": [3], "success_with_output": [1]}, 0, "found", "", False),
    ],
)
def test_a_status_is_an_answer_as_the_binding_says(
    binding: dict[str, Any], status: int, stdout: str, stderr: str, answers: bool
) -> None:
    assert is_success(binding, status, stdout, stderr) is answers
    assert is_success(binding, status, stdout.encode(), stderr) is answers


def test_who_called_is_told_of_a_status_that_is_an_answer() -> None:
    known = answered({"success": [0, 1]}, 1, {"result": "1c1\n"})
    silent = answered({"success": [0, 1]}, 1, {"result": ""})
    guessed = answered(GUESSES, 1, {"result": "1c1\n"})
    plain = answered({"success": [0, 1]}, 1, {"found": 3})

    assert (known.ok, known.data, known.details, known.text) == (True, {"result": "1c1\n"}, {"status": 1}, "1c1\n")
    assert (silent.data, silent.details, silent.text) == ({"result": ""}, {"status": 1}, "\n(no output; exit status 1)")
    assert guessed.data == {"result": "1c1\n"}
    assert guessed.details is not None
    assert guessed.details["status"] == 1
    assert "guessed" in guessed.details["success"]
    assert "exit status 1" in guessed.text
    assert (plain.data, plain.text) == ({"found": 3}, '{"found": 3}')


def test_the_output_of_a_failed_program_is_in_the_details() -> None:
    error = error_of({}, 3, "bad\n", b"line 1\nline 2\n")

    assert (error.message, error.details["stdout"]) == ("the program ended with status 3: bad", "line 1\nline 2")
    assert error_of({}, 3, "", b"line 1\nE: why\n").message == "the program ended with status 3: E: why"
    assert "stdout" not in error_of({}, 3, "bad", b" \n").details


@given(
    size=st.integers(0, 3 * MAX_TAIL),
    place=st.integers(0, 3 * MAX_TAIL),
    secret=st.text("abcdef", min_size=8, max_size=200),
)
@settings(max_examples=60, deadline=None)
def test_a_long_output_is_capped_and_shows_no_part_of_a_secret(size: int, place: int, secret: str) -> None:
    noise = "." * size
    stdout = f"begin {noise[:place]}{secret}{noise[place:]} end /srv/app/secret.txt"
    shown = error_of({}, 3, "", stdout.encode(), scrub=scrubber({}, {}, [secret])).details["stdout"]

    assert len(shown) <= MAX_OUTPUT + 10
    assert shown.startswith("begin ")
    assert shown.endswith("secret.txt")
    assert "/srv/app" not in shown
    assert not any(secret[i : i + 8] in shown for i in range(len(secret) - 7))
