"""A manifest as a source of tools.

Its tools are known from the moment the board is loaded, and never change while it runs: nothing is watched. A manifest
that cannot be used costs its own tools: the source says so in its state, and doctor lists every fault.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pegboard import SourceState
from pegboard.config import expand_home
from pegboard.limits import DIGESTED_BYTES
from pegboard.schema.jsontext import shorten_text
from pegboard_manifest._reading import without_collector
from pegboard_manifest.document import FILE, ManifestError, load
from pegboard_manifest.tools import other_name, tool_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pegboard import SourceSlot, Tool
    from pegboard.sources import SourceDetails
    from pegboard_manifest.document import Manifest


MAX_DIGESTED = DIGESTED_BYTES
"""Of a file that only its content tells from another, in bytes."""


class ManifestSource:
    """The tools of one manifest.

    Args:
        name: unique on the board.
        file: how the settings name the manifest.
        manifest: what was read of it, or why it cannot be used.
        trusted: whether a person said that what its HTTP tools answer may go into other tools without a question.

    .. versionadded:: 0.1
    """

    timeout_s: float | None = None

    def __init__(self, name: str, file: str, manifest: Manifest | ManifestError, *, trusted: bool = False) -> None:
        self.name = name
        self.file = file
        self.manifest = manifest
        self._slot: SourceSlot | None = None
        # Programs and functions of a project that somebody put on the board speak for it; a service does not.
        self.third_party = _has_services(manifest)
        self.trusted = trusted or not self.third_party

    def __repr__(self) -> str:
        return f"<ManifestSource {self.name}>"

    def known(self) -> Iterator[Tool] | None:
        """Its tools, each made when it is asked for; None where the manifest cannot be used."""
        return None if isinstance(self.manifest, ManifestError) else _tools_of(self.manifest)

    def other_name(self, name: str) -> str | None:
        """PROJECT_name, where another tool has the name already."""
        return None if isinstance(self.manifest, ManifestError) else other_name(self.manifest.name, name)

    def offer_again(self) -> None:
        """Offer its tools once more: a person accepted some of them."""
        if self._slot is not None and not isinstance(self.manifest, ManifestError):
            self._slot.replace(_tools_of(self.manifest))

    def describe(self) -> SourceDetails:
        """Which file it is, and which tools of it are not offered."""
        from pegboard.sources import SourceDetails

        if isinstance(self.manifest, ManifestError):
            return SourceDetails(location=self.file, last_words=_explained(self.manifest))
        return SourceDetails(location=self.file, server={"name": self.manifest.name})

    async def run(self, slot: SourceSlot) -> None:
        """Say how it is, and stay: its tools are registered already, and answer for themselves."""
        import trio

        self._slot = slot
        if isinstance(self.manifest, ManifestError):
            slot.set_state(SourceState.FAILED, _explained(self.manifest))
        else:
            slot.set_state(SourceState.READY)
        try:
            await trio.sleep_forever()
        finally:
            self._slot = None
            from pegboard_manifest.bindings import _quiet

            _quiet.restore()


def _explained(problem: ManifestError) -> str:
    return f"{problem.message}; {problem.hint}" if problem.hint else problem.message


def _tools_of(manifest: Manifest) -> Iterator[Tool]:
    with without_collector():  # while they are registered, too: thousands of values that all stay
        for entry in manifest.tools.values():
            yield tool_of(entry, manifest)


def _has_services(manifest: Manifest | ManifestError) -> bool:
    if isinstance(manifest, ManifestError):
        return False
    return any(entry["binding"]["kind"] == "http" for entry in manifest.tools.values())


def make_sources(files: Iterable[str], *, trusted: bool = False) -> list[ManifestSource]:
    """One source for each manifest that the settings name; a file that is named twice is one.

    A source is called by its project. Where two projects have one name, or a manifest cannot be used, what stands in
    the file decides, and neither its place nor the order: its digest is put behind. Of files that hold the same, the
    second has a 2 behind that.

    .. versionadded:: 0.1
    """
    read = {file: _load_or_error(file) for file in _once(files)}
    projects = [one.name for one in read.values() if not isinstance(one, ManifestError)]
    sources: dict[str, ManifestSource] = {}
    for file, one in read.items():
        name = own = _source_name(file, one, projects)
        count = 1
        while name in sources:
            name = f"{own}-{(count := count + 1)}"
        sources[name] = ManifestSource(name, file, one, trusted=trusted)
    return list(sources.values())


def _once(files: Iterable[str]) -> list[str]:
    seen: dict[str, str] = {}
    for file in files:
        try:
            key = str(expand_home(file).resolve())
        except (OSError, ValueError, RuntimeError):  # who reads it says what is wrong
            key = file
        seen.setdefault(key, file)
    return list(seen.values())


def _load_or_error(file: str) -> Manifest | ManifestError:
    try:
        if expand_home(file).is_dir():
            # Whoever trusts a configuration trusts the files that it names, as they stand; a folder has no such state.
            return ManifestError(f"{file} is a folder", hint=f"name the file: {Path(file, FILE)}")
        return load(file)
    except ManifestError as problem:
        return problem
    except (OSError, ValueError, RuntimeError):
        return ManifestError(f"{shorten_text(file, 200)!r} is not a path", hint="name the file")


def _source_name(file: str, manifest: Manifest | ManifestError, projects: list[str]) -> str:
    if not isinstance(manifest, ManifestError) and projects.count(manifest.name) == 1:
        return f"manifest:{manifest.name}"
    called = Path(file).parent.name if isinstance(manifest, ManifestError) else manifest.name
    return f"manifest:{called or 'file'}-{_digest(file)}"


def _digest(file: str) -> str:
    """Of what stands in a file; of its own name where it cannot be read. Never of its place: that differs between
    machines."""
    import hashlib  # 3 ms that only clashes pay

    path = Path(file)
    try:
        if not (found := expand_home(path)).is_file():  # a pipe would wait for its writer
            raise FileNotFoundError
        with found.open("rb") as opened:
            content = opened.read(MAX_DIGESTED)
    except (OSError, ValueError, RuntimeError):
        content = path.name.encode("utf-8", "replace")
    return hashlib.sha256(content).hexdigest()[:6]
