"""A server connects to what listens on sockets of files and names: docker, the agent of SSH, D-Bus, and abstract ones,
which no folder holds.

Source: CVE-2020-15257 of containerd, abstract sockets; MITRE ATT&CK T1611, Escape to Host, by docker.sock.
Seen: none of them can be reached.
"""

import os
import socket

from escaping import HELD, Escaping


class Attack(Escaping):
    def escape(self):
        agent = os.environ.get("SSH_AUTH_SOCK", "/none")
        places = [self.stage.socket, "\0" + self.stage.abstract, agent, "/var/run/docker.sock", "/run/user/0/bus"]
        found = []
        for place in places:
            with socket.socket(socket.AF_UNIX) as one:
                if one.connect_ex(place) == 0:
                    found.append(place)
        return ", ".join(found)


SEEN = HELD
