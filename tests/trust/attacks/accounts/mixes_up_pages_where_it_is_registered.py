"""An authorization server has the client registered at the good one, too, so that its page takes it for a known one.

Source: RFC 9700, 4.4, mix-up, and 4.4.1, with dynamic registration (RFC 7591).
Seen: nobody is shown the page of the other.
"""

from login import GOOD, LoginServer, refused, says


class Attack(LoginServer):
    metadata = says(authorization_endpoint=f"{GOOD}/authorize", registration_endpoint=f"{GOOD}/register")


SEEN = refused("has you log in at login.good.example, which is not it")
