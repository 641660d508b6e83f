"""A server says that it is another one, whose name begins with its own.

Source: RFC 9728, 3.3; CWE-1023, comparison of a part.
Seen: nobody is shown a page.
"""

from login import LoginServer, refused


class Attack(LoginServer):
    resource = "https://tools.evil.example.good.example/mcp"


SEEN = refused("does not match")
