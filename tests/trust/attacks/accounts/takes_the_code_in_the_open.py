"""An authorization server takes codes over http, where whoever is between reads them, and the verifier.

Source: RFC 6749, 3.2, "MUST require the use of TLS"; RFC 9700, 2.6.
Seen: nothing is sent there.
"""

from login import EVIL, LoginServer, says, shown


class Attack(LoginServer):
    metadata = says(token_endpoint="http://login.evil.example/token")


SEEN = shown(f"{EVIL}/authorize?", refused="neither its own origin nor a public address over https")
