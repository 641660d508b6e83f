"""`pegboard audit` as a person and a script meet it: what it prints, and with which status it ends."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pegboard import Stage, Timings, Verdict
from pegboard.cli._program import Program
from pegboard_audit._checks import findings
from pegboard_audit._database import COLUMNS, INSERT, open_for_writing
from pegboard_audit._rows import row_of
from pegboard_audit.settings import AuditDbSettings

HOSTILE = "x\x1b[2J\u202ey\nz\t\ud800"


class Answer(NamedTuple):
    """What one run of the program wrote, and its status."""

    status: int
    out: str
    err: str


@pytest.fixture
def audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """`audit(*words)` runs `pegboard audit` for a user whose file is `audit.path`."""
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> Answer:
        status = Program().run(["--plugin", "audit_db", "audit", *words])
        return Answer(status, *capsys.readouterr())

    run.path = tmp_path / "pegboard" / "audit.sqlite3"  # type: ignore[attr-defined]
    return run


def write(path: Path, *calls: dict[str, Any]) -> None:
    path.parent.mkdir(exist_ok=True)
    connection = open_for_writing(path, make_folder=False)
    for number, call in enumerate(calls):
        given = {
            "id": f"c{number}", "parent_id": None, "started_at": time.time(), "duration_ms": 1.0, "name": "halve",
            "user_id": "ada", "session": "s", "channel": "cli", "origin": "pegboard-x", "status": "ok", "code": None,
            "reason": None, "timings": {"execute": 900.0, "normalise": 10.0}, "verdicts": (),
            "traceparents": None, "arguments": None,
        } | call  # fmt: skip
        process = given.pop("process", 1)
        row = dict(zip(COLUMNS, row_of(tuple(given.values())), strict=True)) | {"process": process}
        connection.execute(INSERT, tuple(row.values()))
    connection.close()


FAILED = {"status": "error", "code": "FORBIDDEN", "reason": "read_only", "name": "drop", "user_id": "bob"}


def test_a_table_has_a_head_line_and_a_row_a_call(audit: Any) -> None:
    write(audit.path, {"duration_ms": 12.34}, FAILED, {"status": "cancelled"})
    status, out, err = audit()
    head, empty, titles, *rows = out.splitlines()
    assert head == "3 calls, 2 errors, p50 1.00 ms, p95 12.3 ms, slowest 12.3 ms (halve), by the minute █"
    assert titles.split("  ")[0] == "TIME"
    assert [row.split()[1:6] for row in rows] == [
        ["halve", "ada", "pegboard-x", "done", "12.3"],
        ["drop", "bob", "pegboard-x", "FORBIDDEN", "(read_only)"],
        ["halve", "ada", "pegboard-x", "CANCELLED", "1.00"],
    ]
    assert "execute 0.90" in rows[0]
    assert "normalise" not in rows[0]
    assert rows[0].split()[-1] == "c0"
    assert (status, empty, err) == (0, "", "")


def test_options_choose_calls(audit: Any) -> None:
    write(audit.path, {"started_at": time.time() - 7200}, FAILED, {"name": "add"})

    def ids(*words: str) -> list[str]:
        return [json.loads(line)["id"] for line in audit("--json", *words).out.splitlines()]

    assert ids() == ["c0", "c1", "c2"]
    assert ids("--since", "1h") == ["c1", "c2"]
    assert ids("--since", "3h", "--user", "ada") == ["c0", "c2"]
    assert ids("--errors") == ["c1"]
    assert ids("--tool", "add") == ["c2"]
    assert ids("--limit", "2") == ["c1", "c2"]
    for ever in ("0001-01-01", "0001-01-01T00:00:00+14:00", "1969-12-31", "99999999999999999999d"):
        assert ids("--since", ever) == ids()
    for never in ("9999-12-31", "9999-12-31T23:59:59-14:00"):
        assert ids("--since", never) == []
    assert ids("--limit", str(10**30)) == ids()
    assert ids("--since", time.strftime("%Y-%m-%dT%H:%M", time.localtime(time.time() - 3600))) == ["c1", "c2"]


def test_the_newest_are_shown_and_it_is_said_that_there_are_more(audit: Any) -> None:
    write(audit.path, *[{}] * 60)
    answer = audit()
    assert answer.out.count("halve ") == 50
    assert "the newest 50 of 60 calls" in answer.err
    assert audit("--limit", "0").err == ""


@pytest.mark.parametrize("words", [(), ("--json",), ("show", "evil"), ("stats",)])
def test_nothing_of_a_callers_choosing_reaches_the_terminal(
    audit: Any, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    import pegboard.cli._output as output

    for module in (output, __import__("pegboard_audit._shown", fromlist=["_shown"])):
        monkeypatch.setattr(module, "is_terminal", lambda stream: True)
    write(
        audit.path,
        {"id": "evil", "name": HOSTILE, "user_id": HOSTILE, "origin": HOSTILE, "channel": HOSTILE, "session": HOSTILE}
        | {"status": "error", "code": "TIMEOUT", "reason": HOSTILE, "arguments": json.dumps({"a": HOSTILE})}
        | {"verdicts": (Verdict(HOSTILE, Stage.LIMIT, "passed", 1.0),)},
        {"id": "below", "parent_id": "evil", "name": HOSTILE, "session": HOSTILE},
    )
    answer = audit(*words)
    assert answer.status == 0
    assert not set("\u202e\t\ud800") & set(answer.out.replace("\x1b[1m", "").replace("\x1b[0m", ""))
    assert "\x1b[2J" not in answer.out
    assert "y\nz" not in answer.out


def test_one_call_is_shown_with_its_stages_its_guards_and_its_family(audit: Any) -> None:
    now = time.time()
    guards = (Verdict("rate", Stage.LIMIT, "passed", 250.0),)
    write(
        audit.path,
        {"id": "a", "parent_id": "top", "started_at": now + 0.01, "name": "inner", "verdicts": guards},
        {"id": "top", "started_at": now, "duration_ms": 50.0, "name": "outer"},
    )
    out = audit("show", "a").out
    assert "parent:    top" in out
    assert "execute       0.90 ms  █" in out
    assert [line.split() for line in out.splitlines() if "rate" in line] == [["rate", "limit", "passed", "0.25"]]
    outer, inner = out.splitlines()[-2:]
    assert outer.split()[:4] == ["outer", "50.0", "ms", "done"]
    assert inner.split()[:5] == ["inner", "*", "1.00", "ms", "done"]
    assert inner.index("█") > outer.index("█")
    shown = json.loads(audit("show", "a", "--json").out)
    assert [one["id"] for one in shown["family"]] == ["top", "a"]
    assert shown["verdicts"] == [{"guard": "rate", "stage": "limit", "verdict": "passed", "us": 250.0}]


def test_calls_of_another_process_are_marked_in_the_waterfall(audit: Any) -> None:
    trace = {"traceparents": (f"00-{'a' * 32}-{'b' * 16}-01", f"00-{'a' * 32}-{'b' * 16}-01")}
    now = time.time()
    write(
        audit.path,
        {"id": "far", "name": "far_add", "started_at": now, "duration_ms": 9.0, "session": "s", "process": 7} | trace,
        {"id": "mcp-1", "name": "add", "started_at": now + 0.002, "session": "t", "process": 8} | trace,
        {"id": "no", "code": "NOT_FOUND", "status": "error", "timings": dict.fromkeys(Timings.STAGES, 0.0)},
    )
    out = audit("show", "far").out
    assert "process:   7" in out
    assert [line.split("  ")[1:3] for line in out.splitlines()[-2:]] == [["far_add *", ""], ["", "add (process 8)"]]
    shown = json.loads(audit("show", "mcp-1", "--json").out)
    assert (shown["process"], shown["session"]) == (8, "t")
    assert [(one["id"], one["process"], one["depth"]) for one in shown["family"]] == [("far", 7, 0), ("mcp-1", 8, 1)]
    assert "stages" not in audit("show", "no").out


def test_of_several_calls_of_one_id_the_last_is_shown_and_the_others_told(audit: Any) -> None:
    write(audit.path, {"id": "1", "name": "first", "session": "t"}, {"id": "1", "name": "second"})
    answer = audit("show", "1")
    assert "tool:      second" in answer.out
    assert answer.err == "another call has this id too, this is the last one; --session t\n"
    assert "tool:      first" in audit("show", "1", "--session", "t").out
    assert audit("show", "1", "--session", "nobody's").status == 2


def test_stats_sum_by_tool_by_user_and_by_error(audit: Any) -> None:
    write(audit.path, {"duration_ms": 3.0}, FAILED, {})
    out = audit("stats").out
    assert [
        line.split()[:3] for line in out.splitlines() if line.split()[:1] in (["halve"], ["bob"], ["FORBIDDEN"])
    ] == [
        ["halve", "2", "0"],
        ["bob", "1", "1"],
        ["FORBIDDEN", "1", "1"],
    ]
    shown = json.loads(audit("--user", "ada", "stats", "--json").out)
    assert json.loads(audit("--json", "--user", "ada", "stats").out) == shown
    assert shown["tools"] == [
        {"name": "halve", "calls": 2, "errors": 0, "p50_ms": 1.0, "p95_ms": 3.0, "slowest_ms": 3.0}
    ]
    assert shown["errors"] == []


def test_where_nothing_is_kept_a_person_is_told_and_a_script_reads_nothing(audit: Any) -> None:
    answer = audit()
    assert (answer.status, answer.out) == (0, "")
    assert "no call is written down yet" in answer.err
    assert audit("--json") == Answer(0, "", "")
    write(audit.path, {})
    assert "did you mean 'halve'" in audit("--tool", "halv").err
    assert "no call matches" in audit("--user", "eve").err


def test_what_is_followed_is_what_ends_from_now_on_whatever_the_clock_says_by_then(
    audit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    followed: list[Any] = []

    @contextlib.asynccontextmanager
    async def follow(query: Any, *, path: Path) -> Any:
        async def none() -> Any:
            for one in ():
                yield one

        followed.append(query)
        yield none()

    monkeypatch.setattr("pegboard_audit.following.follow", follow)
    write(audit.path, {})
    audit("--follow", "--since", "1h", "--user", "ada")
    assert [(one.since, one.after, one.user_id) for one in followed] == [(None, 1, "ada")]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--since", "yesterday"), "expected a span"),
        (("--since", "-1h"), "expected a span"),
        (("--limit", "x"), "--limit"),
        (("stats", "more"), "unexpected extra argument"),
        (("--follow", "stats"), "--follow and --limit are not of stats"),
        (("show",), "ID"),
        (("show", "nope"), "no call has the id 'nope'"),
        (("bogus",), "No such command 'bogus'"),
        (("--sinc", "1h"), "did you mean --since"),
        (("--file", "missing.db"), "there is no file"),
        (("--file", "other.db"), "another program's"),
        (("--file", "words.db"), "is not a database"),
        (("--file", "newer.db", "stats"), "newer version"),
        (("show", "1", "--file", "words.db"), "is not a database"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_is_wrong_is_told_in_a_line_and_a_hint_with_status_2(
    audit: Any, tmp_path: Path, words: tuple[str, ...], says: str
) -> None:
    Path("words.db").write_text("no database at all" * 100)
    other = sqlite3.connect("other.db")
    other.execute("CREATE TABLE notes (name TEXT)")
    other.close()
    write(tmp_path / "newer.db", {})
    newer = sqlite3.connect("newer.db")
    newer.execute("PRAGMA user_version = 99")
    newer.close()
    answer = audit(*words)
    assert (answer.status, answer.out) == (2, "")
    assert says in answer.err
    assert "Traceback" not in answer.err


def test_doctor_tells_where_calls_go_and_what_keeps_them_from_it(tmp_path: Path) -> None:
    def found(**settings: Any) -> list[tuple[str, str]]:
        return [(one.severity, one.what) for one in findings(AuditDbSettings(**settings))]

    path = tmp_path / "audit.sqlite3"
    assert found(file=str(path)) == [("note", "calls are written down")]
    assert not path.exists()
    assert found(file=str(path), enabled=False) == []
    assert found(file=str(tmp_path / "no" / "audit.sqlite3")) == [("error", "calls are not written down")]
    path.write_text("no database at all" * 100)
    assert found(file=str(path)) == [("error", "calls are not written down")]
