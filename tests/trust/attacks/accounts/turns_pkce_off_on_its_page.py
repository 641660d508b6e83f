"""A page has a parameter of its own that turns PKCE off; of two of one name a server may take the first.

Source: RFC 9700, 4.8, PKCE downgrade; RFC 6749, 3.1, parameters that are there twice.
Seen: nobody is shown that page.
"""

from login import EVIL, LoginServer, refused, says


class Attack(LoginServer):
    metadata = says(authorization_endpoint=f"{EVIL}/a?code_challenge_method=plain")


SEEN = refused("code_challenge_method")
