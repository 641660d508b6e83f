"""Watching a confined program: whom it reached, who was refused, and what it looked for, as far as strace tells.

.. versionadded:: 0.1
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import attrs

from pegboard_confine.bubblewrap import find_system_program
from pegboard_confine.network import Rules
from pegboard_confine.programs import needs_of
from pegboard_confine.sandbox import HOME, Policy
from pegboard_confine.trace import Wanted, trace_words, wanted_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pegboard_confine.relay import Relay

__all__ = ["Learned"]

TRACE = ".pegboard-trace"
"""In its home: what it was seen to do."""


@attrs.define
class Learned:
    """What a server did in its sandbox, for a person who asks what it needs.

    Attributes:
        relay: its network: whom it reached, and who was refused.
        wanted: files that it looked for.
        policy: under which it was watched.
        lets_out: whether it reaches every public host meanwhile; False: those that its policy names.

    .. versionadded:: 0.1
    """

    relay: Relay | None = None
    wanted: Wanted = attrs.field(factory=Wanted)
    policy: Policy | None = None
    lets_out: bool = True

    def note(self, policy: Policy, argv: Sequence[str]) -> tuple[Policy, Sequence[str]]:
        """The policy and the command under which it is watched."""
        strace = find_system_program("strace")
        self.policy = attrs.evolve(
            policy,
            network=Rules(policy.network.written, everywhere=self.lets_out),
            files=(*policy.files, *needs_of(argv[0], policy.path)),
            traced=strace is not None,
        )
        with contextlib.suppress(FileNotFoundError):
            self._trace.unlink()
        return self.policy, [*trace_words(strace, f"{HOME}/{TRACE}"), *argv] if strace else argv

    @property
    def _trace(self) -> Path:
        assert self.policy is not None
        return Path(self.policy.home) / TRACE

    def read_trace(self) -> None:
        """Read what was watched; it is taken away then."""
        if self.policy is None:
            return
        given = (*self.policy.read, *self.policy.write, *self.policy.files)
        with contextlib.suppress(OSError), _open_regular(self._trace) as lines:
            self.wanted = wanted_in(lines, self.policy.cwd, given, self.policy.write)
        with contextlib.suppress(OSError):
            self._trace.unlink()


def _open_regular(path: Path) -> TextIO:
    """A file that another program wrote, opened where it is one, and no link or pipe.

    Raises:
        OSError: it is none.
    """
    number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError("no regular file")
    return os.fdopen(number, encoding="utf-8", errors="surrogateescape")
