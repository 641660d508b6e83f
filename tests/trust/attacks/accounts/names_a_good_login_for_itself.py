"""A server names the authorization server of a good one, to be given a token that counts at the good one.

Source: RFC 9700, 4.9, access token leakage at the resource server; RFC 8707.
Seen: the good one is told for whom the token is to be, on its page and where the code is redeemed.
"""

from login import GOOD, LoginServer, shown


class Attack(LoginServer):
    issuer = GOOD


SEEN = shown(f"{GOOD}/authorize?", "resource=https%3A%2F%2Ftools.evil.example%2Fmcp")
