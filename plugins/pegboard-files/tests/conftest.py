"""What the tests of the file tools share: folders, hosts over them, and both ways of opening files."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from pegboard.testing import RecordingSession, record
from pegboard_files._opening import FOLDER, Openat2
from pegboard_files.plugin import FilesPlugin


def _has_openat2() -> bool:
    fd = os.open("/", FOLDER)
    try:
        Openat2().open(fd, (), FOLDER).close()
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


@pytest.fixture(params=["openat2", "walk"])
def opening(request: pytest.FixtureRequest) -> str:
    """Both ways of opening files; a system without openat2 has one."""
    if request.param == "openat2" and not _has_openat2():
        pytest.skip("openat2 is missing here: Linux before 5.6, or a sandbox")
    return str(request.param)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder to be given, beside one that is not."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("SECRET")
    made = tmp_path / "root"
    made.mkdir()
    return made


@pytest.fixture
async def open_files(root: Path, host_with: Any) -> Callable[..., Awaitable[RecordingSession]]:
    """`await open_files(tools={...}, opening=..., **settings)` opens a host whose only root is `root`."""

    async def opened(
        *, tools: dict[str, Any] | None = None, opening: str | None = None, **settings: Any
    ) -> RecordingSession:
        config = {"plugins": {"files": {"roots": [str(root)], **settings}}, "tools": tools or {}}
        return record(await host_with(FilesPlugin(opening), config=config))

    return opened


@pytest.fixture
async def files(open_files: Any) -> RecordingSession:
    """A host whose only root is `root`, with everything else as it is by default."""
    made: RecordingSession = await open_files()
    return made
