"""A page says itself where the code is sent.

Source: RFC 9700, 4.1; CVE-2025-4143 of workers-oauth-provider, which did not look where a code goes.
Seen: nobody is shown that page.
"""

from login import EVIL, LoginServer, refused, says


class Attack(LoginServer):
    metadata = says(authorization_endpoint=f"{EVIL}/a?redirect_uri=https://evil.example/")


SEEN = refused("redirect_uri")
