"""The host of the page to log in at is written with letters of another script, and looks like that of a good one.

Source: E. Gabrilovich and A. Gontmakher, "The Homograph Attack" (2002).
Seen: the person reads the name as it is looked up, in which the letters are seen.
"""

from login import LoginServer, shown


class Attack(LoginServer):
    issuer = "https://login.g\u043e\u043ed.example"


SEEN = shown("https://login.xn--gd-fmca.example/authorize?")
