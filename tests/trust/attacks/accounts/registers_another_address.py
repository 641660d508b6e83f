"""An authorization server registers the client with another address that codes are sent to, and says so.

Source: RFC 7591, 3.2.1 and 5; CVE-2025-4143 of workers-oauth-provider.
Seen: the address that is asked for is this machine's, as it was.
"""

from login import LoginServer, says, shown


class Attack(LoginServer):
    registered = says(redirect_uris=["https://evil.example/callback"], scope="admin")


SEEN = shown("redirect_uri=http%3A%2F%2F127.0.0.1%3A")
