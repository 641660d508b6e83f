"""An authorization server says nothing of PKCE: it may ignore what it is sent.

Source: RFC 9700, 2.1.1; CVE-2025-4144 of workers-oauth-provider, which let PKCE be left out.
Seen: nobody is shown a page.
"""

from login import LoginServer, refused, says


class Attack(LoginServer):
    metadata = says(code_challenge_methods_supported=None)


SEEN = refused("does not say that it holds codes by PKCE (S256)")
