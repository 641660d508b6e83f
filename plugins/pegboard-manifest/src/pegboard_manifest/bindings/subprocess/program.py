"""The program of a binding: where it is, what it sees of the environment, where it works.

It is found once. A name is looked for on PATH, in absolute folders only, and then beside the interpreter of the host,
where the programs of its own environment are; a path is relative to the folder of the manifest.
"""

# Paths are words of others here; pathlib would fold what has to be seen as it is.
# ruff: noqa: PTH100, PTH111, PTH113, PTH117, PTH118, PTH119, PTH120

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Any

from pegboard import ErrorCode, Retry, ToolError
from pegboard.trace import to_environment
from pegboard_manifest.hygiene import MIN_SECRET

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

ALWAYS = frozenset({"HOME", "LANG", "PATH", "TMPDIR", "TZ"})
"""Variables that every program sees; so are all that begin with `LC_`."""

# Whole words: AUTHOR, KEYBOARD, COMPASS, TOKENIZERS, CURL, XDG_SESSION_TYPE and MAX_TOKENS are not secrets.
_SECRET_NAME = re.compile(
    r"(?:(?<![a-z])(?:auth|o?auth2?|authorization|creds?|credentials?|dsn|jwt|pass|private|urls?)"
    r"|(?<![a-z])(?:api|access|account|auth|encryption|license|master|private|secret|signing|ssh)?keys?"
    r"|(?<!max_)(?<!min_)(?<!num_)tokens?"
    r"|secrets?|cookies?|passw(?:or)?ds?|passphrase|passcode|_pwd"
    r"|(?:ssh|smtp|user|db|pg|basic|http)(?:pass|auth)|(?:database|db|base|webhook)url"
    r"|(?:^|(?<!xdg)(?<!desktop)_)session(?:_?id)?$"
    r")(?![a-z])"
    r"|^op_session_",
    re.IGNORECASE,
)
_SWITCHES = frozenset({"true", "false", "none", "null", "auto", "always", "never", "enabled", "disabled"})
"""Values that say whether, and not what: USE_AUTH=true."""
MIN_VALUE = 8
"""Shorter values are not secrets where a name does not say so, and taking them out would shred a text, in
characters.
"""


def secret_names(entry: Mapping[str, Any]) -> frozenset[str]:
    """The variables of the host that a program sees and whose names say that they hold a secret.

    A tool that declares them in `Tool.secrets` has their values masked in its results, errors, log and audit.

    .. versionadded:: 0.1
    """
    return frozenset(name for name in entry.get("environment", ()) if _SECRET_NAME.search(name))


class Program:
    """One program of a manifest.

    Args:
        entry: as the manifest has it.
        name: its id, for errors.
        folder: of the manifest.

    .. versionadded:: 0.1
    """

    def __init__(self, entry: Mapping[str, Any], name: str, folder: Path) -> None:
        self.entry = entry
        self.name = name
        self.folder = os.path.abspath(folder)
        self.cwd = os.path.realpath(os.path.join(self.folder, entry.get("cwd", ".")))
        self.secret_names = secret_names(entry)
        self._allowed = ALWAYS.union(entry.get("environment", ()))
        self._found: dict[tuple[str, str], str] = {}

    @property
    def word(self) -> str:
        """What is looked for: the first word, or the value of `argv0_env` where that is set."""
        variable = self.entry.get("argv0_env")
        return (os.environ.get(variable, "") if variable else "") or str(self.entry["argv0"][0])

    def path(self) -> str:
        """Where the program is, absolute; links in it stand, since programs go by what they are called.

        Raises:
            ToolError: UPSTREAM_ERROR: it is not installed, or may not be executed.
        """
        key = (self.word, os.environ.get("PATH", os.defpath))
        if (path := self._found.get(key)) is None:
            path = self._found[key] = self._look_up(*key)
        return path

    def forget(self) -> None:
        """What was found is gone: look again."""
        self._found.clear()

    def _look_up(self, word: str, search: str) -> str:
        there = [path for path in self._candidates(word, search) if os.path.isfile(path)]
        for path in there:
            if os.access(path, os.X_OK):
                return path
        raise self.not_executable() if there else self.missing()

    def _candidates(self, word: str, search: str) -> Iterator[str]:
        if os.path.dirname(word):
            yield os.path.join(self.folder, word)
            return
        for folder in (*search.split(os.pathsep), os.path.dirname(sys.executable)):
            if os.path.isabs(folder):  # an empty or relative entry means wherever the host happens to be
                yield os.path.join(folder, word)

    def missing(self) -> ToolError:
        """UPSTREAM_ERROR: the program is not there."""
        variable = self.entry.get("argv0_env")
        other = f", or set {variable} to its path" if variable else ""
        return self._refusal(f"the program {self._called!r} was not found; install it{other}", "not_installed")

    def not_executable(self) -> ToolError:
        """UPSTREAM_ERROR: the file is there, and the system does not run it."""
        return self._refusal(
            f"the program {self._called!r} cannot be executed; make it executable, or install it again",
            "not_executable",
        )

    def no_folder(self) -> ToolError:
        """UPSTREAM_ERROR: the working directory is not there."""
        return self._refusal(
            f"the working directory of the program {self._called!r} is missing; make the folder that its 'cwd' names",
            "no_cwd",
        )

    @property
    def _called(self) -> str:
        return os.path.basename(str(self.entry["argv0"][0]))[:60]

    def _refusal(self, message: str, reason: str) -> ToolError:
        return ToolError(
            ErrorCode.UPSTREAM_ERROR,
            message,
            reason=reason,
            program=self.name,
            executed=False,
            retry=Retry.NEVER.value,
        )

    def environment(self) -> dict[str, str]:
        """All that the program sees of it: what the manifest allows and sets, the trace that the call belongs to, and
        nothing else of the host's."""
        allowed = self._allowed
        seen = {name: value for name, value in os.environ.items() if name in allowed or name.startswith("LC_")}
        seen.update(to_environment())
        seen.update(self.entry.get("set_environment", {}))
        return seen

    def secrets(self) -> list[str]:
        """Values of the host's environment that the program may repeat and a caller may not read."""
        named = self.named_secrets()
        values = (os.environ.get(name, "") for name in self.entry.get("environment", ()) if name not in ALWAYS)
        return named + [value for value in values if len(value) >= MIN_VALUE and value not in named]

    def named_secrets(self) -> list[str]:
        """Those of them whose names say that they are secrets: nobody may read them in a result either."""
        values = (os.environ.get(name, "") for name in self.secret_names - ALWAYS)
        return [value for value in values if len(value) >= MIN_SECRET and value.casefold() not in _SWITCHES]

    def folders(self) -> dict[str, str]:
        """Folders of the host that a program's words may name, and what is said instead."""
        said = {
            sys.prefix: "<python>",
            sys.base_prefix: "<python>",
            os.environ.get("TMPDIR", "/tmp").rstrip("/"): "<tmp>",  # noqa: S108 - nothing is made there
            os.path.expanduser("~"): "~",
            os.path.dirname(next(iter(self._found.values()), "")): "<program>",
            self.folder: ".",
            self.cwd: ".",
        }
        return {folder: name for folder, name in said.items() if len(folder) > 1}
