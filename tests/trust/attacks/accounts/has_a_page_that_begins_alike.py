"""An authorization server names a page whose host begins with its own name, and is another's.

Source: OWASP, "Unvalidated Redirects and Forwards Cheat Sheet"; CWE-1023, comparison of a part.
Seen: nobody is shown that page.
"""

from login import LoginServer, refused, says


class Attack(LoginServer):
    metadata = says(authorization_endpoint="https://login.evil.example.good.example/a")


SEEN = refused("which is not it")
