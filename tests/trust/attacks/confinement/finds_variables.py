"""A server looks for tokens in its environment, and in that of every process that it sees.

Source: "Shai-Hulud" (2025), which sends all variables; proc(5), environ.
Seen: it has a handful of variables that say nothing of the person, and sees those of no other process.
"""

import contextlib
import os
from pathlib import Path

from escaping import HELD, Escaping

GIVEN = {
    "HOME", "LANG", "LC_CTYPE", "MCP_BOARD_DEPTH", "PATH", "PWD", "TMPDIR",
    "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE",
}  # fmt: skip


class Attack(Escaping):
    def escape(self):
        found = sorted(os.environ.keys() - GIVEN)
        for place in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                found += [str(place)] if self.stage.variable.encode() in place.read_bytes() else []
        return ", ".join(found)


SEEN = HELD
