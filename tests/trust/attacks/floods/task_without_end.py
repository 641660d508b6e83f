"""A call is answered with a task, which works for ever, and of which a client shall ask without a pause.

Source: ours.
Seen: the call ends at its deadline, as one that is not answered does, and the task is given up.
"""

from attacking import Seen, Server, tool

TASK = {"taskId": "t", "status": "working", "pollIntervalMs": 0, "createdAt": "2026-11-28T00:00:00Z", "ttlMs": None}


class Attack(Server):
    is_modern = True

    def tools(self):
        return [tool("work", "Work.")]

    def call(self, name, arguments):
        return {**TASK, "resultType": "task"}

    def answer(self, method, params):
        return (
            {"result": {**TASK, "resultType": "complete"}} if method == "tasks/get" else super().answer(method, params)
        )


SEEN = Seen(calls=(("work", {}),), says=("TIMEOUT",), ends_s=0.1)
