"""A schema is made of itself, so that whoever looks through it never ends.

Source: CWE-674, uncontrolled recursion.
Seen: the tool is refused or the call is answered; nobody waits.
"""

from attacking import Seen, Server


class Attack(Server):
    def tools(self):
        own = {"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}}}
        return [
            {"name": "work", "inputSchema": {"type": "object", **own, "properties": {"text": {"$ref": "#/$defs/a"}}}}
        ]


SEEN = Seen(calls=(("work", {"text": "a"}),), ends_s=20.0)
