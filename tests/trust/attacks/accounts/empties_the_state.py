"""A page says that there is no state.

Source: RFC 6749, 10.12, cross-site request forgery; RFC 9700, 4.7.
Seen: nobody is shown that page.
"""

from login import EVIL, LoginServer, refused, says


class Attack(LoginServer):
    metadata = says(authorization_endpoint=f"{EVIL}/a?state=")


SEEN = refused("state")
