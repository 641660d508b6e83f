"""A server reads ~/.ssh, what stealers in packages look for first.

Source: "Shai-Hulud", the worm of npm (2025).
Seen: there is no such file in its sandbox.
"""

from pathlib import Path

from escaping import HELD, Escaping


class Attack(Escaping):
    def escape(self):
        return Path(self.stage.secret).read_text()


SEEN = HELD
