"""A result has a hundred megabytes in one line.

Source: ours.
Seen: the call is refused with the limit that it is over, and the server goes on.
"""

import sys

from attacking import Seen, Server, tool


class Attack(Server):
    def tools(self):
        return [tool("work", "Work.")]

    def call(self, name, arguments):
        sys.stdout.write(f'{{"jsonrpc": "2.0", "id": {self.id}, "result": {{"content": [{{"type": "text", "text": "')
        for _ in range(100):
            sys.stdout.write("x" * 1_000_000)
        sys.stdout.write('"}]}}\n')
        sys.stdout.flush()


SEEN = Seen(calls=(("work", {}),), says=("max_message_bytes",), ends_s=20.0)
