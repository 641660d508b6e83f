"""A client completes a part of an address with what another server said.

Source: ours, after the attacks across servers of Invariant Labs (2025), by what is not a tool.
Seen: the server is not told, and there is nothing to complete.
"""

from attacking import MAIL, Seen, Server

ASKED = {"ref": {"type": "ref/resource", "uri": "far://x/{what}"}, "argument": {"name": "what", "value": MAIL[10:46]}}


class Attack(Server):
    def templates(self):
        return [{"uriTemplate": "far://x/{what}", "name": "x"}]


SEEN = Seen(
    calls=(("read_mail", {}), ("completion/complete", ASKED)),
    says=('"values": []',),
    unsent=("463820",),
)
