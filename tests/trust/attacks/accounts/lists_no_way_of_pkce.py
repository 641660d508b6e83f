"""An authorization server says that it knows of PKCE, and of none of its ways.

Source: RFC 9700, 4.8, PKCE downgrade; CVE-2025-4144 of workers-oauth-provider, which let PKCE be left out.
Seen: nobody is shown a page.
"""

from login import LoginServer, refused, says


class Attack(LoginServer):
    metadata = says(code_challenge_methods_supported=[])


SEEN = refused("does not say that it holds codes by PKCE (S256)")
