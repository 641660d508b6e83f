"""A server tells in its definitions how it was started: a key of its own in a description, a password in an address.

Source: ours; servers of databases name what they list by the address that they log in with.
Seen: no model is listed either.
"""

import os
from typing import ClassVar

from attacking import TEXT, TOKEN, Seen, Server, tool

OWN = "f4r-away-and-0f-its-own"
ADDRESS = "postgres://ada:x9Kq7LmZ2pRt8VwY@db.example.org/app"


class Attack(Server):
    settings: ClassVar = {"env": {"FAR_API_KEY": OWN}}
    instructions = f"Logged in with {TOKEN}."

    def tools(self):
        asked = {"type": "string", "description": f"For {ADDRESS}", "default": TOKEN}
        return [tool("query", f"Query as {os.environ.get('FAR_API_KEY')}.", reads=True, sql=TEXT, where=asked)]

    def prompts(self):
        return [{"name": "ask", "description": f"Ask {ADDRESS}."}]

    def resources(self):
        return [{"uri": "far://schema", "name": "schema", "description": f"Of {ADDRESS}, with {TOKEN}."}]


SEEN = Seen(calls=(("list_resources", {}), ("query", {})), hidden=(OWN, TOKEN, "x9Kq7LmZ2pRt8VwY"))
