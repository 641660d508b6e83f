"""`batch`: calls in, results out, in the order they came."""

from __future__ import annotations

import json
import sys
from time import perf_counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pegboard import _session
from pegboard.cli import _batch


def lines_of(*calls) -> str:
    return "".join(json.dumps(call) + "\n" for call in calls)


def call(name: str, id: str = "", **arguments):
    return {"id": id, "name": name, "arguments": arguments}


def test_results_come_in_the_order_of_the_calls(run, tools):
    answer = run("batch", input=lines_of(*(call("add_async" if n % 3 else "add", str(n), a=n, b=1) for n in range(50))))
    assert answer.status == 0
    assert [(line["id"], line["data"]["result"]) for line in answer.lines] == [(str(n), n + 1) for n in range(50)]
    assert set(answer.lines[0]) == {"id", "name", "ok", "content", "data", "error", "duration_ms"}


def test_a_line_that_is_not_a_valid_call_is_answered_and_the_next_ones_run(run, tools):
    bad = [
        b"nonsense", b"[1]", b"{}", b'{"name": 3}', b'{"name": ""}', b'{"name": "add", "arguments": [1]}',
        b'{"name": "add", "user_id": 3}', b'"\xff"', b'{"name": "add", "arguments": {"a": NaN}}', b"[" * 100_000,
        b'{"id": "x", "name": "add", "arguments": null}',
    ]  # fmt: skip
    good = lines_of(call("add", "good", a=1)).encode()
    answer = run("batch", input=b"".join(line + b"\r\n" + good for line in bad))
    assert answer.status == 1
    for number, (refused, right) in enumerate(zip(answer.lines[::2], answer.lines[1::2], strict=True)):
        assert refused["error"]["code"] == "INVALID_INPUT"
        assert refused["error"]["details"]["line"] == 2 * number + 1
        assert str(2 * number + 1) in refused["error"]["message"]
        assert (right["id"], right["ok"]) == ("good", True)
    assert answer.lines[-2]["id"] == "x"


def test_what_is_not_a_valid_call_is_told_in_the_words_of_json(run, tools):
    answer = run("batch", input=b'[]\n{"name": "add", "arguments": null}\n{"name": "add", "arguments": "{}"}')
    assert [line["error"]["message"].rpartition(", got ")[2] for line in answer.lines] == ["array", "null", "string"]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(max_size=40) | st.sampled_from([b'{"name": "add"', b'{"name": "add"}', b"{}"]), max_size=6))
def test_any_bytes_are_answered_by_one_result_a_line(run, tools, parts):
    data = b"\n".join(parts)
    lines = [line for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip()]
    answers = run("batch", input=data).lines
    assert len(answers) == len(lines)
    assert all(line["ok"] or line["error"]["code"] in ("INVALID_INPUT", "NOT_FOUND") for line in answers)


def test_blank_lines_and_a_byte_order_mark_are_skipped(run, tools):
    data = b"\xef\xbb\xbf" + lines_of(call("add", a=1)).encode() + b"\r\n  \n\n" + b"no"
    answer = run("batch", input=data)
    assert [line["ok"] for line in answer.lines] == [True, False]
    assert answer.lines[1]["error"]["details"]["line"] == 5


def test_a_line_that_is_too_long_is_refused_and_not_read(run, tools, tmp_path):
    (tmp_path / "c.toml").write_text("max_arguments_bytes = 1000\n")
    data = lines_of(call("echo", "1", value="x" * 200_000), call("add", "2", a=1))
    answer = run("--config", str(tmp_path / "c.toml"), "batch", input=data)
    assert "longer than 66,536 bytes" in answer.lines[0]["error"]["message"]
    assert answer.lines[1]["ok"] is True


def test_a_name_of_any_length_is_shown_short(run, tools):
    name = "n" * 1_000_000
    calls = [{"name": name}, {"name": name, "arguments": 3}, {"name": name, "user_id": 3}]
    answer = run("batch", input=lines_of(*calls))
    assert [line["name"] for line in answer.lines] == ["n" * 128] * 3
    assert len(answer.out) < 5000
    called = run("call", name[:100_000], "--json")
    assert called.json["name"] == "n" * 128
    assert len(called.out) < 2000


def test_no_input_is_not_an_output(run, tools):
    answer = run("batch", input="")
    assert (answer.status, answer.out, answer.err) == (0, "", "")


def test_the_user_is_the_lines_own_else_the_options_else_the_configurations(run, tools, tmp_path):
    (tmp_path / "c.toml").write_text('user_id = "conf"\n')
    data = lines_of(
        {"name": "who"}, {"name": "who", "user_id": "ada"}, {"name": "who", "user_id": None},
        {"name": "who", "user_id": " "}, {"name": "who", "user_id": "conf"}, {"name": "who", "user_id": "ada "},
    )  # fmt: skip
    config = ("--config", str(tmp_path / "c.toml"))

    def users(answer):
        return [line["data"]["result"].removesuffix(" on cli") for line in answer.lines]

    assert users(run(*config, "batch", input=data)) == ["conf", "ada", "None", "None", "conf", "ada"]
    assert users(run(*config, "batch", "--user", "bob", input=data)) == ["bob", "ada", "None", "None", "conf", "ada"]
    assert users(run("batch", input=data))[:3] == ["None", "ada", "None"]


BRISK = """
from time import perf_counter
from pegboard import hookimpl, tool

@hookimpl
def provide_tools():
    @tool(run="inplace", read_only=True)
    def spin() -> None:
        "Hold the loop for two milliseconds."
        end = perf_counter() + 0.002
        while perf_counter() < end:
            pass

    @tool(run="inplace", read_only=True, cooldown_s=60)
    def rare() -> str:
        "Once a minute."
        return "now"

    return [spin, rare]
"""


@pytest.mark.parametrize("busy", [None, _batch, _session])
def test_of_two_calls_beside_each_other_the_later_meets_the_cooldown(run, site, monkeypatch, busy):
    site.install("brisk", BRISK)
    if busy is not None:  # wherever one looks it is time for a checkpoint, or in calls alone
        monkeypatch.setattr(_batch, "CHECKPOINT_S", 1_000)
        monkeypatch.setattr(_session, "CHECKPOINT_S", 1_000)
        monkeypatch.setattr(busy, "CHECKPOINT_S", 0)
    users = [f"user {number}" for number in range(20)]
    calls = [{"name": name, "user_id": user} for user in users for name in ("spin", "rare", "rare")]
    answers = run("batch", input=lines_of(*calls), plugins=("brisk",)).lines
    assert [answer["ok"] for answer in answers] == [True, True, False] * len(users)


def test_a_line_that_takes_long_to_read_is_not_overtaken(run, site, monkeypatch):
    site.install("brisk", BRISK)
    read = _batch.loads

    def slowly(line, **options):
        end = perf_counter() + (0.003 if b"long" in bytes(line) else 0)
        while perf_counter() < end:
            pass
        return read(line, **options)

    monkeypatch.setattr(_batch, "loads", slowly)
    users = [f"user {number}" for number in range(20)]
    calls = [
        {"name": "rare", "user_id": user, "id": f"{user} {length}"} for user in users for length in ("long", "short")
    ]
    assert [line["ok"] for line in run("batch", input=lines_of(*calls), plugins=("brisk",)).lines] == [
        True,
        False,
    ] * len(users)


def test_a_cooldown_counts_for_each_user(run, tools):
    data = lines_of(*({"name": "rare", "user_id": user} for user in ("ada", "ada", "bob")))
    answer = run("batch", "--parallel", "1", input=data)
    assert [line["ok"] for line in answer.lines] == [True, False, True]


def test_sessions_are_kept_for_those_who_called_last(run, tools, monkeypatch):
    monkeypatch.setattr(_batch, "SESSIONS", 2)
    data = lines_of(*({"name": "who", "user_id": str(user)} for user in [*range(10), 9, 8]))
    answer = run("batch", input=data)
    assert [line["data"]["result"] for line in answer.lines[-2:]] == ["9 on cli", "8 on cli"]


def test_a_file_is_read_as_stdin_is(run, tools, tmp_path):
    (tmp_path / "in.jsonl").write_text(lines_of(call("add", a=1), call("nope")))
    answer = run("batch", str(tmp_path / "in.jsonl"))
    assert (answer.status, len(answer.lines)) == (1, 2)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["/no/such/file"], "cannot be read: No such file"),
        (["."], "cannot be read: Is a directory"),
        (["\x00"], "cannot be read"),
        (["--parallel", "0"], "--parallel"),
    ],
)
def test_wrong_usage_is_exit_2(run, tools, args, said):
    answer = run("batch", *args)
    assert (answer.status, answer.out) == (2, "")
    assert said in answer.err


def test_everything_runs_within_small_bounds(run, tools, monkeypatch):
    for name, value in {"AHEAD": 2, "HELD": 300, "WAITING": 1, "CHUNK": 2000, "FLUSH": 100}.items():
        monkeypatch.setattr(_batch, name, value)
    calls = [
        call("add_async" if n % 2 else "echo", str(n), **({"a": n, "b": 1} if n % 2 else {"value": "é"}))
        for n in range(200)
    ]
    answer = run("batch", "--parallel", "3", input=lines_of(*calls))
    assert [line["id"] for line in answer.lines] == [str(n) for n in range(200)]


def test_calls_overlap_up_to_parallel_and_a_slow_one_holds_back_the_order_alone(run, site):
    site.install(
        "pace",
        """
        import trio
        from pegboard import hookimpl, tool

        seen = []

        @hookimpl
        def provide_tools():
            gate = trio.Event()

            @tool(parallel=True)
            async def first() -> list[str]:
                "Wait for the second."
                await gate.wait()
                return list(seen)

            @tool(parallel=True)
            async def second(n: int) -> str:
                "Let the first go at the last."
                seen.append(str(n))
                if n == 9:
                    gate.set()
                return str(n)

            return [first, second]
    """,
    )
    calls = [call("first"), *(call("second", n=n) for n in range(10))]
    answer = run("batch", "--parallel", "2", input=lines_of(*calls), plugins=("pace",))
    assert answer.lines[0]["data"]["result"] == [str(n) for n in range(10)]
    assert [line["content"][0]["text"] for line in answer.lines[1:]] == [str(n) for n in range(10)]


def test_what_a_source_brings_can_be_called(run, site):
    site.install(
        "flow",
        """
        import trio
        from pegboard import hookimpl, tool

        @tool
        async def late() -> str:
            "From a source."
            return "here"

        class Source:
            name = "flow"
            timeout_s = None

            async def run(self, slot):
                await trio.sleep(0.01)
                slot.replace([late])
                slot.set_state("ready")
                await trio.sleep_forever()

        @hookimpl
        def provide_sources():
            return [Source()]
    """,
    )
    assert run("batch", input=lines_of(call("late")), plugins=("flow",)).status == 0
    assert run("call", "late", plugins=("flow",)).out == "here\n"


def test_an_input_that_cannot_be_read_on_is_said(run, tools, monkeypatch):
    class Broken:
        def fileno(self):
            raise ValueError

        def read(self, size):
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(_batch, "_open", lambda file: (_batch.contextlib.nullcontext(Broken()), None))
    answer = run("batch")
    assert answer.status == 2
    assert "the input cannot be read: Input/output error" in answer.err


def test_a_closed_stdin_is_wrong_usage(monkeypatch):
    import click

    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(click.UsageError, match="stdin is closed"):
        _batch._open("-")


def test_what_is_done_is_written_once_and_in_order(capfdbinary):
    batch = _batch.Batch(1, None, None)
    batch._out.add(b"1\n")
    batch._done = {3: b"4\n", 2: b"3\n"}
    batch.leave()
    batch.leave()
    assert capfdbinary.readouterr().out == b"1\n3\n4\n"
    assert batch._out.drain() == 0


def test_a_write_that_hangs_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(_batch, "LEAVE_S", 0.01)
    writer = _batch.Writer()
    writer.add(b"never\n")
    with writer._lock:
        writer.close({})
    assert writer.waiting == 6


def test_files_of_the_system_are_read_and_written_below_pythons_buffers(tools, tmp_path, monkeypatch, capfdbinary):
    from pegboard.cli._program import Program

    (tmp_path / "in.jsonl").write_text(lines_of(call("add", "1", a=1), call("who", "2")))
    with open(tmp_path / "in.jsonl", encoding="utf-8") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert Program().run(["--plugin", "kit", "batch"]) == 0
    assert [json.loads(line)["id"] for line in capfdbinary.readouterr().out.splitlines()] == ["1", "2"]


@pytest.mark.parametrize("where", ["while it runs", "at the end"])
def test_a_stdout_that_fails_ends_the_run(run, tools, monkeypatch, where):
    def fail(stream: object, data: bytes) -> None:
        raise BrokenPipeError(32, "?")

    dropped = []
    monkeypatch.setattr(_batch, "_write_all", fail)
    monkeypatch.setattr(_batch, "drop_stdout", lambda: dropped.append(True))
    if where == "at the end":
        monkeypatch.setattr(_batch.Writer, "drain", lambda self: 0)
    calls = [call("add_async", a=n, b=1) for n in range(100)]
    if where == "while it runs":
        calls.append(call("wait"))
    answer = run("batch", input=lines_of(*calls))
    assert (answer.status, answer.out) == (1, "")
    assert answer.err == "error: stdout was closed by its reader before the end\n"
    assert dropped


def test_a_stdout_that_was_never_open_is_an_error(tools, monkeypatch, capfd):
    from pegboard.cli._program import Program

    with monkeypatch.context() as patch:  # it ends before `capfd`
        patch.setattr(sys, "stdout", None)
        assert Program().run(["--plugin", "kit", "batch"]) == 1
    assert capfd.readouterr().err == "error: stdout is closed\n"


def test_a_person_who_watches_sees_how_far_it_is(run, site, tmp_path, monkeypatch):
    site.install(
        "busy",
        """
        import trio
        from pegboard import hookimpl, tool

        @hookimpl
        def provide_tools():
            @tool(parallel=True)
            async def turn(n: int) -> int:
                "Let others run, n times."
                for _ in range(n):
                    await trio.lowlevel.checkpoint()
                return n
            return [turn]
        """,
    )
    monkeypatch.setattr(_batch, "is_terminal", lambda stream: stream is sys.stderr)
    monkeypatch.setattr(_batch, "PROGRESS_S", 0)
    data = lines_of(call("turn", n=1), call("turn", n=500), call("nope"))
    (tmp_path / "in.jsonl").write_text(data)
    answer = run("batch", str(tmp_path / "in.jsonl"), plugins=("busy",))
    assert "\r\x1b[K 100% 1 lines" in answer.err
    assert "3 lines, 1 errors" in answer.err.splitlines()[-1]
    assert "\r\x1b[K 0 lines" in run("batch", input=data, plugins=("busy",)).err


def test_calls_that_did_not_end_are_counted(capfd):
    batch = _batch.Batch(1, None, None)
    batch._taken, batch._next, batch._done = 4, 1, {2: b"x"}
    batch.say_how_it_went()
    assert capfd.readouterr().err == "2 calls did not end; what was done is written\n"


@pytest.mark.parametrize(("bound", "value", "most"), [("WAITING", 10, 12), ("HELD", 10_000, 12)])
def test_a_slow_call_holds_back_those_after_it_once_the_bound_is_reached(run, site, monkeypatch, bound, value, most):
    site.install(
        "slow",
        """
        import trio
        from pegboard import hookimpl, tool

        seen = []

        @hookimpl
        def provide_tools():
            @tool(parallel=True)
            async def slow() -> int:
                "Say how many others ran meanwhile."
                for _ in range(1000):
                    await trio.lowlevel.checkpoint()
                return len(seen)

            @tool(parallel=True)
            async def quick() -> str:
                "A thousand bytes."
                seen.append(1)
                await trio.lowlevel.checkpoint()
                return "x" * 400

            return [slow, quick]
        """,
    )
    monkeypatch.setattr(_batch, bound, value)
    data = lines_of(call("slow"), *(call("quick") for _ in range(200)))
    answer = run("batch", "--parallel", "2", input=data, plugins=("slow",))
    assert len(answer.lines) == 201
    assert 1 < answer.lines[0]["data"]["result"] <= most


def test_calls_that_may_change_something_keep_the_order_of_their_lines(run, site):
    site.install(
        "ledger",
        """
        import trio
        from pegboard import hookimpl, tool

        heard = []

        @hookimpl
        def provide_tools():
            @tool
            async def write(n: int) -> list[str]:
                "Change something."
                heard.append(f"begin {n}")
                for _ in range(20 - n):
                    await trio.lowlevel.checkpoint()
                heard.append(f"end {n}")
                return list(heard)

            @tool(read_only=True)
            async def look() -> list[str]:
                "Change nothing."
                await trio.lowlevel.checkpoint()
                return list(heard)

            return [write, look]
    """,
    )
    calls = [call("write", n=0), call("look"), call("look"), *(call("write", n=n) for n in range(1, 6)), call("look")]
    answer = run("batch", input=lines_of(*calls), plugins=("ledger",))
    told = [line["data"]["result"] for line in answer.lines]
    assert told[1] == told[2] == ["begin 0", "end 0"]
    assert told[-1] == [f"{what} {n}" for n in range(6) for what in ("begin", "end")]
