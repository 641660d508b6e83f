"""A server that does nothing bad: it is there while another one attacks."""

from __future__ import annotations

from attacking import Server, tool


class Calm(Server):
    name = "calm"

    def tools(self) -> list[dict[str, object]]:
        return [tool("calm_call", "Answer.", reads=True)]

    def note(self, kind: str, text: str) -> None:
        """Of this one nothing is counted."""


if __name__ == "__main__":
    Calm().run()
