"""A page says itself which client asks: the person agrees to another one.

Source: RFC 6749, 3.1, parameters that are there twice; RFC 9700, 4.15, client impersonation.
Seen: nobody is shown that page.
"""

from login import EVIL, LoginServer, refused, says


class Attack(LoginServer):
    metadata = says(authorization_endpoint=f"{EVIL}/authorize?client_id=other")


SEEN = refused("client_id")
