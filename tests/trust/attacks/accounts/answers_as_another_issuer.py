"""The browser comes back with a code that another issuer gave, as it says itself.

Source: RFC 9207, authorization server issuer identification; RFC 9700, 4.4.
Seen: the code goes nowhere.
"""

from login import EVIL, GOOD, LoginServer, says, shown


class Attack(LoginServer):
    iss = GOOD
    metadata = says(authorization_response_iss_parameter_supported=True)


SEEN = shown(f"{EVIL}/authorize?", refused="iss")
