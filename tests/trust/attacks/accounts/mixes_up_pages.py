"""An authorization server has the person log in at the page of another one, which they know; the code comes to its own
token endpoint, which redeems it at the good one.

Source: Fett, Küsters and Schmitz, "A Comprehensive Formal Security Analysis of OAuth 2.0" (2016); RFC 9700, 4.4.
Seen: nobody is shown the page of the other.
"""

from login import GOOD, LoginServer, refused, says


class Attack(LoginServer):
    metadata = says(authorization_endpoint=f"{GOOD}/authorize")


SEEN = refused("has you log in at login.good.example, which is not it")
