"""An authorization server and the page that it names are of two customers of one host, where everybody may have a name
below the same one.

Source: ours, after RFC 9700, 4.4; publicsuffix.org, "private domains".
Seen: nobody is shown the page of the other customer.
"""

from login import LoginServer, refused, says


class Attack(LoginServer):
    issuer = "https://evil.workers.dev"
    metadata = says(authorization_endpoint="https://good.workers.dev/authorize")


SEEN = refused("has you log in at good.workers.dev, which is not it")
