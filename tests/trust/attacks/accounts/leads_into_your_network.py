"""A public server names a place in the person's own network as that which is sent the code.

Source: RFC 9728, 7.7, SSRF; RFC 8414, 6.
Seen: nothing is sent there.
"""

from login import EVIL, LoginServer, says, shown


class Attack(LoginServer):
    metadata = says(token_endpoint="https://[::ffff:192.168.1.1]/token")


SEEN = shown(f"{EVIL}/authorize?", refused="neither its own origin nor a public address over https")
