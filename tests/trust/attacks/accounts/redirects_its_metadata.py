"""The metadata of a server lead to another place: by a redirect, that was looked at by nobody.

Source: RFC 9728, 7.7, SSRF; OWASP, SSRF Prevention Cheat Sheet, redirects.
Seen: it is not followed, and nobody is shown a page of the other.
"""

from login import ORIGIN, Answer, LoginServer, shown


class Attack(LoginServer):
    def of_resource(self, asked):
        return Answer(307, headers={"location": "https://192.168.1.1/oauth-protected-resource"})


SEEN = shown(f"{ORIGIN}/authorize?")
