"""A server looks for private keys beside the certificates that every program is shown; one of root's has root's eyes.

Source: MITRE ATT&CK T1552.004, Private Keys.
Seen: the folders are there and hold nothing.
"""

import os

from escaping import HELD, Escaping

FOLDERS = ("/etc/ssl/private", "/etc/pki/tls/private", "/etc/pki/CA/private")


class Attack(Escaping):
    def escape(self):
        return ", ".join(one for folder in FOLDERS if os.path.exists(folder) for one in os.listdir(folder))


SEEN = HELD
