"""The page to log in at begins with the name of a good host, which is the name of a user there.

Source: RFC 3986, 7.6, semantic attacks; CWE-1021.
Seen: nobody is shown such an address.
"""

from login import LoginServer, refused, says


class Attack(LoginServer):
    metadata = says(authorization_endpoint="https://login.good.example@login.evil.example/authorize")


SEEN = refused("it names no web page to log in at")
