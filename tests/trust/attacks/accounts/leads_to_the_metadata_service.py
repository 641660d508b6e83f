"""A server names the address at which clouds hand out credentials as its authorization server.

Source: RFC 9728, 7.7, SSRF; MCP specification, "Security best practices", server-side request forgery.
Seen: nothing is asked there.
"""

from login import LoginServer, refused


class Attack(LoginServer):
    issuer = "https://169.254.169.254/latest"


SEEN = refused("neither its own origin nor a public address over https")
