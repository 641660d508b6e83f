"""Metadata that are those of a good authorization server, but for the endpoint that is sent the code.

Source: RFC 8414, 6.2, impersonation; RFC 9700, 4.4, mix-up.
Seen: they are not believed, and nobody is shown a page.
"""

from login import EVIL, GOOD, LoginServer, refused, says


class Attack(LoginServer):
    metadata = says(issuer=GOOD, token_endpoint=f"{EVIL}/token")


SEEN = refused("issuer")
