"""What these tests share: folders of their own for what is noted as trusted, the program in this process, a project."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest

from pegboard_toolgen import program

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path


@pytest.fixture(autouse=True)
def _own_state(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))


@pytest.fixture(autouse=True)
def _streams_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function of a manifest that is called without a host leaves stand-ins before stdin and stdout, which a source
    takes away when its host ends. pytest puts back its own stdout after each test, and no stdin."""
    for name in ("stdin", "stdout"):
        monkeypatch.setattr(sys, name, getattr(sys, name))


class Run(NamedTuple):
    """One run of the program: its exit status, and what it wrote."""

    status: int
    out: str
    err: str


@pytest.fixture
def run_toolgen(capsys: pytest.CaptureFixture[str]) -> Callable[..., Run]:
    """`run_toolgen("init", ...)`: the program `llm-toolgen`, run here."""

    def started(*words: str) -> Run:
        status = program.run(list(words))
        return Run(status, *capsys.readouterr())

    return started


@pytest.fixture(scope="session")
def put_files() -> Callable[[Path, Mapping[str, str]], Path]:
    """`put_files(folder, {name: text})`: a folder with these files; gives the folder."""

    def put(root: Path, files: Mapping[str, str]) -> Path:
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return root

    return put
