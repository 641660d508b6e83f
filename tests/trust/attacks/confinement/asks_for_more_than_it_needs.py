"""A server reaches for keys, hosts and what it may only read while somebody watches what it needs, to be given them.

Source: ours, after permission creep (MITRE ATT&CK T1548).
Seen: it gets none of it; `pegboard confine suggest` proposes no credential, and no private host without a word.
"""

import contextlib
from dataclasses import replace
from pathlib import Path

from escaping import HELD, Escaping, fetch, refused


class Attack(Escaping):
    def escape(self):
        got = []
        for reach in (
            lambda: Path(self.stage.secret).read_text(),
            lambda: str(Path(self.stage.read, "note.txt").open("r+").close()),
            lambda: fetch("http://192.0.2.7/"),
            lambda: fetch("http://169.254.169.254/"),
            lambda: fetch(self.stage.named + "redirect"),
        ):
            with contextlib.suppress(OSError):
                got.append(reach())
        return ", ".join(got)


SEEN = replace(HELD, told=(refused("192.0.2.7:80"), refused("169.254.169.254:80")))
