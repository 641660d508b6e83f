"""`pegboard eval`: runs that are right, wrong or not answered; thresholds, comparisons, pictures."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from typing import TYPE_CHECKING, Any

import pytest

from pegboard import ConfigError
from pegboard_chat.evals._faults import Faults
from pegboard_chat.evals.judge import Mistake
from pegboard_chat.evals.picture import PLAIN, Row, as_svg, as_text
from pegboard_chat.evals.questions import eval_of
from pegboard_chat.evals.report import Report, verdict_of
from pegboard_chat.evals.running import Ran, Series
from pegboard_chat.evals.statistics import Comparison, Interval

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ADD = 'add {"a": 1, "b": 2}'
RIGHT = {"id": "sum", "question": ADD, "calls": [{"name": "add", "arguments": {"a": 1, "b": 2}}]}
WRONG = {"id": "off", "question": ADD, "calls": [{"name": "add", "arguments": {"a": 1, "b": 3}}]}
NONE = {"id": "none", "question": "hello", "calls": []}


@pytest.fixture
def evaluate(chat_run: Callable[..., Any], chat_place: Path) -> Callable[..., Any]:
    """Run `eval` on a file that says this."""

    def run(said: dict[str, Any], *args: str, model: str | None = "echo") -> Any:
        (chat_place / "tools.json").write_text(json.dumps(said))
        named = ["--model", model] if model else []
        return chat_run("eval", "tools.json", *named, *args)

    return run


def test_a_table_and_a_picture_show_what_passed(evaluate: Callable[..., Any]) -> None:
    answer = evaluate({"runs": 2, "questions": [RIGHT, WRONG, NONE]})
    assert answer.status == 0
    assert "sum       add          2/2" in answer.out
    assert "add.b: expected 3, got 2" in answer.out
    assert "no call" in answer.out
    assert "echo:echo: 4 of 6 runs passed, 67 % (21-94 %)" in answer.out
    assert answer.out.count("●") == 4
    assert "tokens read" in answer.err


@pytest.mark.parametrize(
    ("thresholds", "status", "said"),
    [
        ({"rate": 0.5, "each": 0, "low": 0.09}, 0, ""),
        ({"rate": 0.51}, 1, "failed: the rate of all runs is 50.0 %, below 51.0 % (thresholds.rate)"),
        ({"rate": 0.5001}, 1, "failed: the rate of all runs is 50.00 %, below 50.01 % (thresholds.rate)"),
        ({"rate": 0.5, "each": 0, "low": 0}, 0, ""),
        ({"each": 0.5}, 1, "failed: question off: 0 of 3 runs passed, 0.0 %, below 50.0 % (thresholds.each)"),
        ({"low": 0.4}, 1, "(thresholds.low)"),
    ],
    ids=str,
)
def test_below_a_threshold_it_is_exit_1(
    evaluate: Callable[..., Any], thresholds: dict[str, float], status: int, said: str
) -> None:
    answer = evaluate({"thresholds": thresholds, "questions": [RIGHT, WRONG]})
    assert answer.status == status
    assert said in answer.err
    assert ("failed" in answer.err) is bool(said)


def test_json_is_the_whole_report(evaluate: Callable[..., Any]) -> None:
    answer = evaluate({"questions": [RIGHT, WRONG], "thresholds": {"rate": 1}}, "--json", "--runs", "1")
    assert (answer.status, answer.json["ok"], len(answer.json["failures"])) == (1, False, 1)
    (series,) = answer.json["series"]
    assert (series["model"], series["rate"]) == ("echo:echo", 0.5)
    first, second = series["questions"]
    assert (first["passed"], first["runs"], first["details"][0]["passed"]) == (1, 1, True)
    assert first["details"][0]["calls"] == [{"name": "add", "arguments": {"a": 1, "b": 2}}]
    assert second["details"][0]["mistakes"] == [{"kind": "argument", "where": "add.b", "expected": "3", "got": "2"}]
    assert answer.json["comparison"] is None


def test_calls_are_not_carried_out_unless_the_file_or_a_person_says_so(evaluate: Callable[..., Any]) -> None:
    calls = [{"name": "wipe", "arguments": {"disk": "c"}}]
    question = {"question": "c", "rounds": 2, "answer": {"text": "done"}, "calls": calls}
    assert evaluate({"questions": [question], "thresholds": {"rate": 1}}, model="kit:wiping").status == 0
    said = {**question, "answer": {"text": "erased"}}
    said["calls"] = [{"name": "wipe", "result": "erased"}]
    assert evaluate({"questions": [said], "thresholds": {"rate": 1}}, model="kit:wiping").status == 0
    real = {"questions": [{**question, "answer": {"text": "wiped c"}}], "thresholds": {"rate": 1}}
    assert evaluate(real, "--run", model="kit:wiping").status == 1  # nobody to ask
    assert evaluate({**real, "run": True}, "--yes", model="kit:wiping").status == 0


def test_calls_that_are_none_and_ids_that_are_missing_are_judged(evaluate: Callable[..., Any]) -> None:
    said = {"rounds": 2, "runs": 1, "questions": [{"question": "?", "calls": ["add"]}]}
    for args in ((), ("--run",)):
        answer = evaluate(said, "--json", *args, model="kit:wrong")
        (details,) = answer.json["series"][0]["questions"][0]["details"]
        assert [mistake["kind"] for mistake in details["mistakes"]] == ["refused", "extra", "extra", "extra"]
    broken = {"runs": 1, "questions": [{"question": "add {broken", "calls": ["add"], "rounds": 2}]}
    answer = evaluate(broken, "--json")
    assert answer.json["series"][0]["questions"][0]["details"][0]["mistakes"][0]["kind"] == "refused"


def test_a_run_that_is_not_answered_counts_neither_way_and_fails(evaluate: Callable[..., Any]) -> None:
    answer = evaluate({"runs": 2, "parallel": 1, "questions": [NONE]}, model="kit:sometimes")
    assert answer.status == 1
    assert "1/1" in answer.out
    assert "1 run was not answered" in answer.err
    assert "error: RATE_LIMITED: kit: too many" in answer.err
    answer = evaluate({"questions": [NONE]}, model="kit:silent")
    assert "not answered: kit:silent ended without an answer" in answer.out
    assert "kit:silent: no run was answered" in answer.out


def test_a_wrong_key_ends_it_at_once(evaluate: Callable[..., Any]) -> None:
    answer = evaluate({"runs": 100, "questions": [NONE]}, model="kit:locked")
    assert (answer.status, answer.out) == (1, "")
    assert answer.err.strip() == "error: UNAUTHORIZED: kit: the key is wrong; set KIT_KEY"


def test_two_models_are_compared(evaluate: Callable[..., Any]) -> None:
    questions = [{**RIGHT, "id": str(number)} for number in range(6)]
    answer = evaluate({"runs": 1, "questions": questions}, "--compare", "kit:blocks")
    assert answer.status == 0
    assert "echo:echo is better than kit:blocks by 100 points (100 to 100, for questions like these)" in answer.out
    compared = evaluate({"runs": 1, "questions": questions}, "--compare", "kit:blocks", "--json").json["comparison"]
    assert compared == {"difference": 1.0, "low": 1.0, "high": 1.0, "general": True, "better": "echo:echo"}


def test_two_sets_of_descriptions_are_compared(evaluate: Callable[..., Any], chat_place: Path) -> None:
    (chat_place / "other.toml").write_text('[descriptions]\nadd = "sums"\n')
    answer = evaluate({"runs": 3, "questions": [RIGHT]}, "--compare", "other.toml", "--picture", "p.svg")
    assert answer.status == 0
    assert "these runs do not tell as it is from other.toml" in answer.out
    assert "○ other.toml" in answer.out
    assert "other.toml" in (chat_place / "p.svg").read_text()
    (chat_place / "other.toml").write_text('[descriptions]\nadds = "sums"\n')
    assert "did you mean add?" in evaluate({"questions": [RIGHT]}, "--compare", "other.toml").err


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--only", "sun"), "did you mean sum?"),
        (("--only", "zzzz"), "there are sum"),
        (("--picture", "p.png"), "ends in .svg"),
        (("--picture", "nowhere/p.svg"), "folder"),
        (("--runs", "0"), "--runs"),
        (("--compare", "nope.toml"), "cannot be read"),
        (("--compare", "nobody:x"), "there is no provider"),
        (("--model", "kit:keyless"), "set KIT_KEY"),
    ],
)
def test_wrong_usage_is_exit_2(evaluate: Callable[..., Any], args: tuple[str, ...], said: str) -> None:
    answer = evaluate({"questions": [RIGHT]}, *args)
    assert (answer.status, answer.out) == (2, "")
    assert said in answer.err
    assert "Traceback" not in answer.err


def test_every_mistake_of_a_file_is_told_at_once(evaluate: Callable[..., Any]) -> None:
    answer = evaluate({"runs": 0, "questions": [{"question": "", "calls": [{"name": "add", "arguments": {"a": {}}}]}]})
    assert answer.status == 2
    assert [line.split(":")[0].strip() for line in answer.err.splitlines()[1:]] == [
        "questions[0].question", "questions[0].calls[0].arguments.a", "runs",
    ]  # fmt: skip
    answer = evaluate({"questions": [{"question": "?", "calls": ["ad", "wip"]}]})
    assert answer.err.count("did you mean") == 2


def test_only_the_named_questions_are_asked(evaluate: Callable[..., Any]) -> None:
    report = evaluate({"questions": [RIGHT, WRONG]}, "--only", "off", "--json").json
    assert [question["id"] for question in report["series"][0]["questions"]] == ["off"]


def test_the_file_says_how_a_request_is_made(evaluate: Callable[..., Any]) -> None:
    question = {**NONE, "answer": "7 tokens at 0.5"}
    said = {"max_tokens": 7, "temperature": 0.5, "questions": [question], "thresholds": {"rate": 1}}
    assert evaluate(said, model="kit:asked").status == 0


def test_the_file_names_the_model_and_the_tools(evaluate: Callable[..., Any]) -> None:
    said = {"model": "echo", "runs": 1, "tools": ["add"], "system": "x", "questions": [RIGHT]}
    assert (
        evaluate(
            said,
            model=None,
        ).status
        == 0
    )
    assert evaluate({**said, "tools": []}, model=None).status == 2


# -- small parts


def test_a_picture_is_whole_xml_whatever_is_in_it() -> None:
    rows = [Row('<a> & "b" \x00\x1b \ud800', [Interval(0.5, 0.1, 0.9), None])]
    root = ElementTree.fromstring(as_svg("t<&>", rows, ["x<", "y"], 0.5).encode())
    texts = [one.text for one in root.iter("{http://www.w3.org/2000/svg}text")]
    assert '<a> & "b" \\x00\\x1b \\ud800' in texts
    assert "no answer" in texts


def test_lines_draw_points_on_their_intervals() -> None:
    rows = [Row("sum", [Interval(0.5, 0.0, 1.0)]), Row("off", [None]), Row("x", [Interval(1.0, 1.0, 1.0)])]
    lines = as_text(rows, ["a"], 0.9, PLAIN).splitlines()
    assert lines[0] == "sum       [" + "-" * 24 + "*" + "-" * 24 + "]"
    assert lines[1] == "off       " + " " * 45 + ":"
    assert lines[2].endswith("*")


def series(label: str, *runs: list[Ran]) -> Series:
    return Series(label, "echo:echo", tuple(map(tuple, runs)), None)


def test_the_mistake_that_was_made_most_often_is_told() -> None:
    found = eval_of({"questions": [NONE, RIGHT]}, Faults())
    often, once = Mistake("extra", "add", "no more calls", "x"), Mistake("extra", "wipe", "no more calls", "y")
    report = Report(found, (series("a", [Ran((once,)), Ran((often,)), Ran((often, often))], [Ran()] * 3),))
    heads, rows = report.table()
    assert rows[0][-1] == "add: expected no more calls, got x (2 of 3)"
    assert rows[1][-1] == ""
    assert heads[0] == "question"


@pytest.mark.parametrize(
    ("comparison", "said"),
    [
        (
            Comparison(Interval(-0.2, -0.3, -0.1), general=True),
            "b is better than a by 20 points (10 to 30, for questions",
        ),
        (
            Comparison(Interval(0.2, 0.1, 0.3), general=False),
            "a is better than b by 20 points (10 to 30, for these very",
        ),
        (Comparison(Interval(0.1, -0.1, 0.3), general=True), "these runs do not tell a from b: +10 points (-10 to +30"),
    ],
)
def test_a_comparison_says_who_is_better_for_which_questions(comparison: Comparison, said: str) -> None:
    assert verdict_of(comparison, "a", "b").startswith(said)


def test_what_a_tool_prints_is_not_part_of_the_report(chat_start: Callable[..., Any], chat_place: Path) -> None:
    text = json.dumps({"run": True, "runs": 1, "questions": [{"question": "noisy {}", "calls": ["noisy"]}]})
    (chat_place / "noisy.json").write_text(text)
    out, err = chat_start("eval", "noisy.json", "--model", "echo", "--json").communicate(timeout=20)
    assert json.loads(out)["ok"] is True
    assert b"NOISE" in err


def test_a_series_that_nobody_answered_is_said_to_be_none(evaluate: Callable[..., Any]) -> None:
    answer = evaluate({"runs": 2, "questions": [RIGHT, WRONG, NONE]}, "--compare", "kit:broken")
    assert answer.status == 1
    assert "kit:broken: no run was answered" in answer.out
    assert "do not tell" not in answer.out
    assert "failed: kit:broken: 6 runs were not answered" in answer.err


@pytest.mark.parametrize("columns", [24, 40, 60, 80, 99, 100, 200])
def test_lines_fit_the_terminal(columns: int) -> None:
    row = Row("a name that is longer than anybody would like", [Interval(1.0, 0.9, 1.0), Interval(0.0, 0.0, 0.1)])
    drawn = as_text([row, row], ["a", "b"], 0.5, columns=columns)
    assert max(map(len, drawn.splitlines())) < max(columns, 43)
    assert "●" in drawn


def test_a_narrow_terminal_has_the_mistakes_below_the_table(
    chat_terminal: Callable[..., Any], chat_place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = json.dumps({"runs": 1, "questions": [{"id": "off", "question": 'add {"a": 1}', "calls": []}]})
    (chat_place / "off.json").write_text(text)
    monkeypatch.setenv("COLUMNS", "60")
    terminal = chat_terminal("eval", "off.json", "--model", "echo")
    assert terminal.end() == 0
    assert "off: add: expected no more calls" in terminal.seen
    assert max(map(len, terminal.seen.split("echo:echo:")[0].rpartition("95 %")[2].splitlines())) <= 70


def test_a_picture_that_cannot_be_written_does_not_cost_the_report(
    evaluate: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, text: str) -> None:
        raise ConfigError(f"{path} cannot be written: No space left on device")

    monkeypatch.setattr("pegboard_chat.commands._files.write_private", full)
    answer = evaluate({"runs": 2, "questions": [RIGHT, WRONG, NONE]}, "--picture", "p.svg")
    assert answer.status == 2
    assert "runs passed" in answer.out
