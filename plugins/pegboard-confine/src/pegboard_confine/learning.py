"""Watching a confined program: whom it reached, who was refused, and what it looked for, as far as strace tells.

What strace writes goes through a pipe to the host at once. A file in the sandbox, where strace runs, would be the
program's too: it could take out of it what it did.

.. versionadded:: 0.1
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
from typing import IO, TYPE_CHECKING

import attrs

from pegboard_confine.bubblewrap import find_system_program
from pegboard_confine.network import Rules
from pegboard_confine.programs import needs_of
from pegboard_confine.trace import Wanted, trace_words, wanted_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pegboard_confine.relay import Relay
    from pegboard_confine.sandbox import Policy

__all__ = ["Learned"]

CHUNK = 65_536
ENDS_S = 5.0
"""A trace ends with the last process of the sandbox; so long is waited for that."""
MAX_BYTES = 500_000_000
"""Of a trace: what comes behind it is read and thrown away, so that the program goes on."""


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
    is_cut: bool = attrs.field(default=False, init=False)
    """Whether it looked for more than is kept: what came behind that was not seen."""
    _traces: list[tuple[threading.Thread, IO[bytes]]] = attrs.field(factory=list, init=False)
    """Of each start: who reads it, and where it goes."""

    def note(self, policy: Policy, argv: Sequence[str]) -> tuple[Policy, Sequence[str]]:
        """The policy and the command under which it is watched; who starts it closes the descriptors of the policy."""
        strace = find_system_program("strace")
        self.policy = attrs.evolve(
            policy,
            network=Rules(policy.network.written, everywhere=self.lets_out),
            programs=tuple(needs_of(argv[0], policy.path)),
            traced=strace is not None,
            descriptors=(self._open_trace(),) if strace is not None else (),
        )
        if strace is None:
            return self.policy, argv
        return self.policy, [*trace_words(strace, f"/proc/self/fd/{self.policy.descriptors[0]}"), *argv]

    def _open_trace(self) -> int:
        reading, writing = os.pipe()
        kept = tempfile.TemporaryFile()  # noqa: SIM115 - closed where it is read
        thread = threading.Thread(target=self._keep, args=(reading, kept), name="pegboard-trace", daemon=True)
        thread.start()
        self._traces.append((thread, kept))
        return writing

    def read_trace(self) -> None:
        """Read what was watched, once the program has ended; blocks."""
        traces, self._traces = self._traces, []
        if self.policy is None or not traces:
            return
        given = (*self.policy.read, *self.policy.write, *self.policy.files, *self.policy.programs)
        with contextlib.ExitStack() as stack:
            for thread, kept in traces:
                thread.join(ENDS_S)
                stack.enter_context(kept).seek(0)
            lines = (line.decode("utf-8", "surrogateescape") for _, kept in traces for line in kept)
            self.wanted = wanted_in(lines, self.policy.cwd, given, self.policy.write)
            self.is_cut |= next(lines, None) is not None  # as many as are looked at

    def _keep(self, reading: int, kept: IO[bytes]) -> None:
        """Read a pipe to its end; a trace that cannot be kept whole goes on without being kept."""
        size = 0
        try:
            while chunk := os.read(reading, CHUNK):
                size += len(chunk)
                if size > MAX_BYTES:
                    self.is_cut = True
                    continue
                try:
                    kept.write(chunk)
                except (OSError, ValueError):  # the disk is full, or nobody waits any more
                    self.is_cut = True
        finally:
            os.close(reading)
