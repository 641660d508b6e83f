"""One run of the program, which every section is given, and the rows that each gives back."""

from __future__ import annotations

import tempfile
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driver import venvs
from driver.catalog import HERE
from driver.processes import WorkerProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from driver.catalog import Contestant, Venv

Row = dict[str, Any]


@dataclass
class Run:
    """One run of the program: who takes part, how often, and what could not be measured and why."""

    contestants: Sequence[Contestant]
    rounds: int
    tools: int
    parallel: int
    lines: int
    folder: Path
    say: Callable[[str], None]
    skipped: list[Row] = field(default_factory=list)

    def skip(self, section: str, contestant: str, what: str, problem: object) -> None:
        """Note that something was not measured."""
        self.say(f"  {contestant} {what}: skipped, {problem}")
        self.skipped.append({"section": section, "contestant": contestant, "what": what, "reason": str(problem)})

    def has(self, contestant: str, venv: Venv) -> bool:
        """Whether a contestant takes part, with this venv of it."""
        return any(one.name == contestant for one in self.contestants) and venvs.program(venv, "python").exists()

    @contextmanager
    def home(self) -> Iterator[Path]:
        """An empty working folder that is also the home: no configuration is found."""
        with tempfile.TemporaryDirectory(prefix="pegboard-bench-") as name:
            yield Path(name)

    @contextmanager
    def worker(self, contestant: Contestant) -> Iterator[WorkerProcess]:
        """A worker of this contestant, ended by the block."""
        process = WorkerProcess(
            venvs.program(contestant.venv, "python"),
            HERE / "worker.py",
            contestant.module,
            self.folder / f"{contestant.name}.log",
            self.folder,
        )
        with closing(process):
            yield process
