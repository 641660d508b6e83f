"""The browser comes back with a code that nobody says to have given, though the authorization server always says so.

Source: RFC 9207, 2.4, an answer without `iss`.
Seen: the code goes nowhere.
"""

from login import EVIL, LoginServer, says, shown


class Attack(LoginServer):
    metadata = says(authorization_response_iss_parameter_supported=True)


SEEN = shown(f"{EVIL}/authorize?", refused="iss")
