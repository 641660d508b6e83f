"""The metadata of an authorization server says that it is another one.

Source: RFC 8414, 3.3 and 6.2, impersonation.
Seen: it is not believed, and nobody is shown a page.
"""

from login import GOOD, LoginServer, refused, says


class Attack(LoginServer):
    metadata = says(issuer=GOOD)


SEEN = refused("issuer")
