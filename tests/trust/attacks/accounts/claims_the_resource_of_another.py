"""A server says that it is another one, so that the token which it is given counts there.

Source: RFC 9728, 3.3 and 7.3, impersonation; RFC 8707.
Seen: nobody is shown a page.
"""

from login import LoginServer, refused


class Attack(LoginServer):
    resource = "https://mail.good.example/mcp"


SEEN = refused("does not match")
