"""A server says that it is another one of the same host, which belongs to somebody else.

Source: RFC 9728, 3.3; RFC 8707, 2.
Seen: nobody is shown a page.
"""

from login import LoginServer, refused


class Attack(LoginServer):
    resource = "https://tools.evil.example/other"


SEEN = refused("does not match")
