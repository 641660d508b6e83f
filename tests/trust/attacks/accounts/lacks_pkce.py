"""An authorization server can hold codes in the open way alone, so that who sees one may redeem it.

Source: RFC 9700, 4.8, PKCE downgrade; MCP specification 2025-11-25, "Authorization Code Protection".
Seen: nobody is shown a page.
"""

from login import LoginServer, refused, says


class Attack(LoginServer):
    metadata = says(code_challenge_methods_supported=["plain"])


SEEN = refused("does not say that it holds codes by PKCE (S256)")
