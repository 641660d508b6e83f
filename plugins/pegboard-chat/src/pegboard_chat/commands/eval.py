"""`pegboard eval`: does a model choose the right tool with the right arguments."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from pegboard import ConfigError
from pegboard.config import expand_home
from pegboard_chat.commands._talk import tell_absent, wait_for_sources
from pegboard_chat.commands.chat import _complete_model

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pegboard import Host, Session
    from pegboard.cli import ProgramRun
    from pegboard_chat.evals.questions import Described, EvalFile
    from pegboard_chat.evals.report import Report
    from pegboard_chat.evals.running import Series

DONE, FAILED = 0, 1
NARROW, NARROW_LABEL = 100, 16
"""A terminal of fewer columns has no room for mistakes beside the table, and shows so much of a name."""


@click.command("eval", short_help="Does a model choose the right tool with the right arguments.")
@click.argument("file", metavar="FILE")
@click.option(
    "--model", metavar="PROVIDER:MODEL", shell_complete=_complete_model, help="Else the file's, or the configured one."
)
@click.option("--compare", metavar="MODEL|FILE", help="Another model, or a file with other descriptions of tools.")
@click.option("--json", "as_json", is_flag=True, help="The whole report as one object.")
@click.option("--picture", metavar="FILE.svg", help="Draw the rates and their intervals there.")
@click.option("--runs", type=click.IntRange(1, 1_000), metavar="N", help="How often each question is asked.")
@click.option("--parallel", type=click.IntRange(1, 64), metavar="N", help="How many runs at once.")
@click.option("--only", metavar="ID", multiple=True, help="Only this question; repeatable.")
@click.option("--run", "carry_out", is_flag=True, help="Carry calls out, whatever the file says.")
@click.option("--yes", is_flag=True, help="Answer yes where a tool asks a person first.")
@click.option("--user", metavar="ID", help="Who calls; else user_id of the configuration.")
@click.pass_obj
def evaluate(run: ProgramRun, /, file: str, **said: Any) -> int:
    """Ask a model the questions of FILE, and judge the calls it makes.

    Calls are not carried out unless the file says `run = true`. Exit status: 0 the file's thresholds are reached; 1
    they are not, or a run was not answered; 2 something is wrong with the file or the configuration.
    """
    from pegboard.cli import running_third_party_code
    from pegboard_chat.commands._leaving import unless_ended
    from pegboard_chat.evals.questions import SUFFIXES, read_descriptions, read_eval

    options = Options(**said)
    found = options.over(read_eval(file))
    other = options.compare
    described = read_descriptions(other) if other is not None and other.endswith(SUFFIXES) else None
    evaluation = Evaluation(options, found, described, Path(file).name)
    run.load_board()
    with running_third_party_code():  # what tools print is not part of the report
        status = run.open_host(lambda host: unless_ended(lambda: evaluation.run(host)))
    return status if evaluation.report is None else evaluation.tell(evaluation.report)


@attrs.frozen
class Options:
    """What the command's options say."""

    model: str | None = None
    compare: str | None = None
    as_json: bool = False
    picture: str | None = None
    runs: int | None = None
    parallel: int | None = None
    only: tuple[str, ...] = ()
    carry_out: bool = False
    yes: bool = False
    user: str | None = None

    def __attrs_post_init__(self) -> None:
        if self.picture is not None:
            from pegboard_chat.commands._files import require_writable

            if Path(self.picture).suffix.lower() != ".svg":
                raise click.UsageError("--picture writes SVG: name a file that ends in .svg")
            require_writable(expand_home(self.picture))

    def over(self, found: EvalFile) -> EvalFile:
        """The file with what the options say over it.

        Raises:
            ConfigError: `--only` names a question that is not there.
        """
        from pegboard.schema import NearNames

        ids = [question.id for question in found.questions]
        for name in self.only:
            if name not in ids:
                near = NearNames().find(name, ids)
                hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(ids[:20])}"
                raise ConfigError(f"there is no question {name[:60]!r}", hint=hint)
        chosen = found.questions
        if self.only:
            chosen = tuple(question for question in found.questions if question.id in self.only)
        return attrs.evolve(
            found,
            questions=chosen,
            runs=self.runs or found.runs,
            parallel=self.parallel or found.parallel,
            run=found.run or self.carry_out,
        )


class Evaluation:
    """One run of the command.

    Args:
        described: the descriptions that are compared with those in force; None: no descriptions are compared.
        name: of the file, for the picture.
    """

    def __init__(self, options: Options, found: EvalFile, described: Mapping[str, Described] | None, name: str) -> None:
        self._options = options
        self._found = found
        self._described = described
        self._name = name
        self._currency = ""
        self.report: Report | None = None

    async def run(self, host: Host) -> int:
        """Run both series, or the one; what came of it is the report."""
        from pegboard.cli import say_yes
        from pegboard_chat.commands._shown import Shown
        from pegboard_chat.evals.report import Report

        options, found = self._options, self._found
        session = host.session(options.user, channel="eval", confirm=say_yes if options.yes else None)
        shown = Shown()
        await wait_for_sources(host, shown)
        tell_absent(host, shown)
        self._check(session)
        model = options.model or found.model
        total = found.runs * len(found.questions) * (1 if options.compare is None else 2)
        with _progress(total) as on_ran:
            label = None if self._described is None else "as it is"
            series = [await self._series(host, session, model, found.descriptions, label, on_ran)]
            if self._described is not None:
                other = {**found.descriptions, **self._described}
                series.append(await self._series(host, session, model, other, options.compare, on_ran))
            elif options.compare is not None:
                series.append(await self._series(host, session, options.compare, found.descriptions, None, on_ran))
        self.report = Report(found, tuple(series))
        return DONE

    def _check(self, session: Session) -> None:
        from pegboard_chat.evals._faults import Faults
        from pegboard_chat.evals.questions import check_descriptions, check_names

        faults = Faults()
        check_names(self._found, session.tools, faults)
        faults.raise_if_any(f"{self._name} does not fit the board")
        if self._described is not None:
            check_descriptions(self._described, session.tools, faults)
            faults.raise_if_any(f"{self._options.compare} does not fit the board")

    async def _series(
        self, host: Host, session: Session, model: str | None, descriptions: Mapping[str, Described],
        label: str | None, on_ran: Callable[[], None],
    ) -> Series:  # fmt: skip
        from pegboard_chat.commands._talk import opened
        from pegboard_chat.evals.running import run_series
        from pegboard_chat.loop import settings_of
        from pegboard_chat.prices import bundled_prices

        prices = bundled_prices().with_own(settings_of(host).prices)
        self._currency = prices.currency
        async with opened(host, model) as answering:
            return await run_series(
                session, answering, self._found, label=label or answering.name, descriptions=descriptions,
                price=prices.find(answering.name), on_ran=on_ran,
            )  # fmt: skip

    def tell(self, report: Report) -> int:
        """Print the report; the exit status."""
        from pegboard.cli import emit_json, emit_line, note

        if self._options.as_json:
            emit_json(report.to_json())
        else:
            self._draw(report)
            for sentence in report.sentences():
                emit_line(sentence)
            for one in report.series:
                note(self._cost_of(one))
        if self._options.picture is not None:
            self._save_picture(self._options.picture, report)
        for failure in report.failures:
            note(f"failed: {failure}")
        for one in report.series:
            for problem in {error.message: error for error in one.errors}.values():
                note(f"error: {problem.code.value}: {problem.message}")
        return FAILED if report.failures else DONE

    def _draw(self, report: Report) -> None:
        """The table and the picture; on a narrow terminal the mistakes stand below the table."""
        from pegboard.cli import answer_stream, columns_of, emit, emit_line, emit_table, is_terminal
        from pegboard_chat.evals import picture

        stream = answer_stream()
        columns = columns_of(stream) if is_terminal(stream) else None
        is_narrow = columns is not None and columns < NARROW
        heads, rows = report.table(NARROW_LABEL) if is_narrow else report.table()
        wrong = [(row[0], row[-1]) for row in rows if row[-1]] if is_narrow else []
        if is_narrow:
            heads, rows = heads[:-1], [row[:-1] for row in rows]
        emit_table(heads, rows, right=[index for index, head in enumerate(heads) if head.startswith(("passed", "95"))])
        for name, what in wrong:
            emit_line(f"{name}: {what}")
        encoding = (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "")
        signs = picture.PLAIN if columns is not None and not encoding.startswith("utf") else picture.DRAWN
        labels = [one.label for one in report.series]
        emit("\n" + picture.as_text(report.rows, labels, self._found.thresholds.rate, signs, columns) + "\n")

    def _save_picture(self, name: str, report: Report) -> None:
        from pegboard_chat.commands._files import write_private
        from pegboard_chat.evals.picture import as_svg

        title = f"{self._name}: {', '.join(dict.fromkeys(one.model for one in report.series))}"
        drawn = as_svg(title, report.rows, [one.label for one in report.series], self._found.thresholds.rate)
        write_private(expand_home(name), drawn)

    def _cost_of(self, series: Series) -> str:
        from pegboard_chat.commands._shown import counted, money

        usage = series.usage
        cost = money(series.cost, self._currency)
        return f"{series.label}: {counted(usage.input_tokens, 'token')} read, {usage.output_tokens:,} written, {cost}"


@contextlib.contextmanager
def _progress(total: int) -> Any:
    """Count runs on stderr while they are made, where a person watches."""
    from pegboard.cli import waiting

    done = 0

    def on_ran() -> None:
        nonlocal done
        done += 1
        wait.text = f"{done:,} of {total:,} runs"

    with waiting(f"0 of {total:,} runs") as wait:
        yield on_ran
