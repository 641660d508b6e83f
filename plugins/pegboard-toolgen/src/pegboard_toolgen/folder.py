"""The folder of outputs: what in it is ours, and how it is written.

What was written stands with its digest in `.toolgen/outputs.json`, and beside it which parts the folder is made with
(see `parts`). A file that is not in there is a person's and is never written over or deleted; one that is in there and
has other bytes now was changed by a person, and is left alone until they say otherwise. Every file is replaced whole or
not at all, none before all are written beside their places. Where a replacement fails all the same, those before it are
put back; only where that fails too, or the process is killed, files of two runs lie side by side. The digests are
written last: the next run then takes such files for ones that a person changed, and `--replace` repairs them. A link in
the folder is never followed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import attrs

from pegboard import ConfigError
from pegboard.config import write_hint
from pegboard.schema.jsontext import JsonTextError, loads
from pegboard_toolgen._texts import counted, shown, to_bytes
from pegboard_toolgen.parts import FULL

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

STATE = ".toolgen"
OUTPUTS = f"{STATE}/outputs.json"
BASE = f"{STATE}/base.json"
MANIFEST = "tool.manifest.json"
DRAFT = "tools.draft.json"
PROFILE = "project.profile.json"
LOCK = "names.lock"
HINTS = "toolgen.toml"
OVERRIDES = "overrides"
MERGED = frozenset((MANIFEST, LOCK, BASE))
"""Ours, and taken in again with what a person wrote there: their bytes are not watched."""
THEIRS = frozenset((HINTS,))
"""Made once, then the person's."""
MAX_BYTES = 256 * 1024 * 1024


@attrs.frozen
class State:
    """What the files of the folder are, seen from what we wrote.

    Args:
        missing: ours, and not there.
        changed: ours, and a person changed it.
        strange: in the way: a person's file or folder, or a link, where one of ours would be.
        stale: ours, and not what would be written now.
        gone: ours, and nothing that would be written now.
    """

    missing: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    strange: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()


class Folder:
    """One folder of outputs.

    Args:
        path: where it is; it need not be there yet.

    .. versionadded:: 0.1
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def exists(self, name: str) -> bool:
        """Whether there is a file of this name, no link on the way."""
        return self._kind(name) == "file"

    def read(self, name: str, *, max_bytes: int = MAX_BYTES) -> bytes | None:
        """A file's bytes; None where there is none.

        Raises:
            ConfigError: it is a link or no file, too large, or cannot be read.
        """
        kind = self._kind(name)
        if kind is None:
            return None
        if kind != "file":
            raise ConfigError(f"{shown(name)} is {kind}", hint="move it away")
        try:
            with (self.path / name).open("rb") as file:
                content = file.read(max_bytes + 1)
        except OSError as problem:
            raise ConfigError(
                f"{shown(name)} cannot be read: {problem.strerror}", hint="correct its permissions"
            ) from None
        if len(content) > max_bytes:
            raise ConfigError(f"{shown(name)} has more than {max_bytes:,} bytes", hint="move it away")
        return content

    def read_json(self, name: str) -> Any:
        """A file's JSON; None where there is none.

        Raises:
            ConfigError: it is not JSON.
        """
        content = self.read(name)
        if content is None:
            return None
        try:
            return loads(content, max_bytes=MAX_BYTES)
        except JsonTextError as problem:
            raise ConfigError(
                f"{shown(name)} cannot be read: {problem}", hint="repair it, or take it back from version control"
            ) from None

    def written(self) -> dict[str, str]:
        """The digest of each file that we wrote last.

        Raises:
            ConfigError: the record is not what was written.
        """
        files = self._record().get("files", {})
        if not isinstance(files, dict) or not all(isinstance(one, str) for one in files.values()):
            raise _not_ours()
        return {name: digest for name, digest in files.items() if _is_plain(name)}

    def parts(self) -> frozenset[str]:
        """What the folder was made with beside the lean one; nothing where we wrote nothing yet.

        Raises:
            ConfigError: the record is not what was written, or names a part that is not known here.
        """
        record = self._record()
        if record and "with" not in record:
            return FULL  # of the time when every folder had all of them
        words = record.get("with", [])
        if not isinstance(words, list) or not all(isinstance(one, str) for one in words):
            raise _not_ours()
        if unknown := sorted({*words} - FULL):
            raise ConfigError(
                f"{OUTPUTS} names a part that is not known here: {shown(unknown[0], 60)}",
                hint="install a newer pegboard-toolgen, or take the file back from version control",
            )
        return frozenset(words)

    def _record(self) -> dict[str, Any]:
        value = self.read_json(OUTPUTS)
        if value is None:
            return {}
        if not isinstance(value, dict) or "files" not in value:
            raise _not_ours()
        return value

    def compare(self, files: Mapping[str, bytes], *, also_ours: Collection[str] = ()) -> State:
        """How the folder differs from these files; `also_ours` are ours as they are there."""
        written = self.written()
        found: dict[str, list[str]] = {field: [] for field in ("missing", "changed", "strange", "stale", "gone")}
        for name, content in sorted(files.items()):
            state = self._state_of(name, content, written)
            if state is not None:
                found[state].append(name)
        for name in sorted(set(written) - {*files, *also_ours} - MERGED - THEIRS):
            kind = self._kind(name)
            if kind is not None:
                is_ours = kind == "file" and digest_of(self.read(name) or b"") == written[name]
                found["gone" if is_ours else "changed"].append(name)
        return State(**{field: tuple(names) for field, names in found.items()})

    def _state_of(self, name: str, content: bytes, written: Mapping[str, str]) -> str | None:
        kind = self._kind(name)
        if kind is None:
            return "missing"
        if kind != "file":
            return "strange"
        there = self.read(name) or b""
        if there == content:
            return None
        if name in MERGED:
            return "stale"
        if name not in written:
            return "strange"
        return "stale" if digest_of(there) == written[name] else "changed"

    def write(
        self,
        files: Mapping[str, bytes],
        *,
        parts: Collection[str] = (),
        replace: bool = False,
        also_ours: Collection[str] = (),
    ) -> list[str]:
        """Make the folder hold these files, and none that we wrote before and would not write now.

        Args:
            files: content by relative path; all that are ours.
            parts: what it is made with, for the next run.
            replace: write over what a person changed in our files.
            also_ours: paths that are ours though this run does not write them; they stay.

        Returns:
            The names that were written or deleted.

        Raises:
            ConfigError: a person's file is in the way, or was made of ours: nothing was changed. Or the folder cannot
                be written: what was replaced before that was put back, and what could not be is named; empty folders
                that were made for files may remain.
        """
        kept = {name: digest for name, digest in self.written().items() if name in also_ours}
        state = self.compare(files, also_ours=also_ours)
        if state.strange:
            raise ConfigError(
                f"{_listed(state.strange)} in {shown(self.path.name)} {_are(state.strange)} not ours and in the way",
                hint="move it away, or choose another folder by --out",
            )
        changed = list(state.changed)
        if changed and not replace:
            raise ConfigError(
                f"{_listed(changed)} in {shown(self.path.name)} {_are(changed, 'was', 'were')} changed by hand",
                hint=f"lasting changes belong into {OVERRIDES}/ or {HINTS}; --replace writes over them",
            )
        digests = {name: digest_of(content) for name, content in files.items() if name not in MERGED | THEIRS}
        listing = to_bytes({"files": {**kept, **digests}, "with": sorted(parts)})
        todo = {name: files[name] for name in sorted({*state.missing, *state.stale, *changed} & set(files))}
        if self.read(OUTPUTS) != listing:
            todo[OUTPUTS] = listing  # the last
        self._replace(todo)
        gone = [name for name in (*state.gone, *changed) if name not in files]
        self._delete(gone)
        return [*todo, *gone]

    def _replace(self, files: Mapping[str, bytes]) -> None:
        """Put these files in their places, in this order; all, or none as far as that can be had."""
        beside: dict[str, str] = {}  # what was written, by the name that it will have
        replaced: dict[str, bytes | None] = {}
        try:
            for name, content in files.items():
                (self.path / name).parent.mkdir(parents=True, exist_ok=True)
                beside[name] = self._beside(name, content)
            for name, path in beside.items():
                before = self.read(name)
                os.replace(path, self.path / name)  # noqa: PTH105
                replaced[name] = before
        except (OSError, ConfigError) as problem:
            stuck = self._put_back(replaced)
            why = problem.strerror if isinstance(problem, OSError) else problem
            text = f"; {_listed(stuck)} {_are(stuck)} new already" if stuck else ""
            hint = write_hint(problem, "look at its rights")
            raise ConfigError(f"{shown(self.path.name)} cannot be written: {why}{text}", hint=hint) from None
        finally:
            for path in beside.values():
                with contextlib.suppress(OSError):
                    os.unlink(path)  # noqa: PTH108

    def _beside(self, name: str, content: bytes) -> str:
        """Write a file beside its place, and say where."""
        number, path = tempfile.mkstemp(prefix=".toolgen-", suffix=".new", dir=(self.path / name).parent)
        try:
            with os.fdopen(number, "wb") as file:
                file.write(content)
            os.chmod(path, 0o666 & ~_umask())  # noqa: PTH101 - a path of mkstemp
        except OSError:
            os.unlink(path)  # noqa: PTH108
            raise
        return path

    def _put_back(self, replaced: Mapping[str, bytes | None]) -> list[str]:
        """Give files their former content; the names of those that could not have it."""
        stuck = []
        for name, before in reversed([*replaced.items()]):
            try:
                if before is None:
                    (self.path / name).unlink()
                else:
                    path = self._beside(name, before)
                    try:
                        os.replace(path, self.path / name)  # noqa: PTH105
                    finally:
                        with contextlib.suppress(OSError):
                            os.unlink(path)  # noqa: PTH108
            except OSError:
                stuck.append(name)
        return stuck

    def _delete(self, names: Iterable[str]) -> None:
        for name in names:
            place = self.path / name
            with contextlib.suppress(OSError):
                place.unlink()
                for parent in PurePosixPath(name).parents:
                    if str(parent) != ".":
                        (self.path / parent).rmdir()

    def _kind(self, name: str) -> str | None:
        """`file`, None for nothing, or what is in the way, as words."""
        if not _is_plain(name):
            raise ConfigError(f"{shown(name)!r} is not a path inside the folder")
        *above, last = PurePosixPath(name).parts
        place = self.path
        for part in above:
            place /= part
            mode = _mode_of(place)
            if mode is None:
                return None
            if stat.S_ISLNK(mode):
                return "behind a link"
            if not stat.S_ISDIR(mode):
                return "behind something that is not a folder"
        mode = _mode_of(place / last)
        if mode is None:
            return None
        return "a link" if stat.S_ISLNK(mode) else "file" if stat.S_ISREG(mode) else "no file"


def _not_ours() -> ConfigError:
    return ConfigError(f"{OUTPUTS} is not what was written there", hint="take it back from version control")


def open_folder(out: Path) -> Folder:
    """The folder of outputs.

    Raises:
        ConfigError: it is not a folder.
    """
    if out.exists() and not out.is_dir():
        raise ConfigError(f"{shown(out, 100)} is not a folder", hint="name another one by --out")
    return Folder(out.resolve())


def digest_of(content: bytes) -> str:
    """SHA-256, as 64 hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def _mode_of(place: Path) -> int | None:
    try:
        return place.lstat().st_mode
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise ConfigError(
            f"{shown(place.name)} cannot be looked at: {problem.strerror}", hint="correct its permissions"
        ) from None


def _is_plain(name: str) -> bool:
    path = PurePosixPath(name)
    return (
        bool(name)
        and not path.is_absolute()
        and str(path) == name
        and ".." not in path.parts
        and not set(name) & {"\\", ":", "\0"}
    )


def _listed(names: Collection[str], most: int = 3) -> str:
    first = ", ".join(shown(name, 80) for name in list(names)[:most])
    return first if len(names) <= most else f"{first} and {counted(len(names) - most, 'other file')}"


def _are(names: Collection[str], one: str = "is", many: str = "are") -> str:
    return one if len(names) == 1 else many


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
