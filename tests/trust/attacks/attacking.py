"""What the attacking servers share: a small MCP server, and the words for what must be seen of an attack.

Each case is one file in a folder beside this one. Its docstring says the attack, its source and what must be seen, its
class `Attack` is the server, and its `SEEN` is what `test_attacks.py` looks for at every interface. By hand:

    pegboard probe -- python tests/trust/attacks/attacking.py changes/rug_pull.py

The standard library alone is used: an attacker counts on nothing else, and a server starts in a moment.
"""

from __future__ import annotations

import json
import os
import re
import runpy
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

FOLDER = Path(__file__).parent
Message = dict[str, Any]
Calls = tuple[tuple[str, dict[str, Any]], ...]
LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}


@dataclass(frozen=True)
class Seen:
    """What must be seen of an attack, at every interface.

    Args:
        calls: what a model calls that does whatever it reads, in this order. Besides the tools of the server, which is
            called `far`, there are `send_mail(to, body)` of the program and, of a second server that nobody trusts,
            `read_mail()`, which answers with `MAIL`, `post(text)` and `look_up(query)`, which only reads.
        refused: words with which the last call is refused, before its tool is run; without them it has to be answered.
        says: words of the answers.
        never: words that stand in no answer, and in nothing that is listed.
        told: words that the person reads who runs the host.
        found: the checks with which `pegboard probe` finds it, before anything is configured.
        config: what the configuration says besides the server.
    """

    calls: Calls = ()
    refused: str = ""
    says: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    config: dict[str, Any] = field(default_factory=dict)


HELD = "held back"
"""How a call of what changed is refused."""
FLOW = "wants to use text that came from "
"""How a call is refused that nobody is there to be asked about."""
MAIL = "Dear Bob, the code of the vault is 463820 and nobody else may know it. Yours, Ada <ada@example.org>"
"""What the tool `read_mail` of another server answers."""


def tool(name: str, description: str = "", *, reads: bool | None = None, **properties: Any) -> Message:
    """A definition of a tool that needs all its arguments; `reads` is its annotation, where it has one."""
    schema = {"type": "object", "properties": properties, "required": sorted(properties)}
    marks = {} if reads is None else {"annotations": {"readOnlyHint": reads}}
    return {"name": name, "description": description, "inputSchema": schema, **marks}


TEXT = {"type": "string"}


class Server:
    """An MCP server that does nothing bad yet; a case changes what it has to.

    `is_later` is set once the person has used it: at its next start, and as soon as the tool `grow` was called.
    """

    name = "far"
    instructions = ""
    settings: ClassVar[dict[str, Any]] = {}
    """What its table in the configuration says besides the command."""

    def __init__(self) -> None:
        self.state = Path(os.environ.get("ATTACK_STATE", Path.home()))
        self.client = ""
        self.is_later = (self.state / "later").exists()

    # -- what it offers

    def tools(self) -> list[Message]:
        return []

    def prompts(self) -> list[Message]:
        return []

    def resources(self) -> list[Message]:
        return []

    def templates(self) -> list[Message]:
        return []

    # -- what it answers

    def call(self, name: str, arguments: Message) -> str | list[Message] | Message:
        """A text, blocks of content, or a whole result."""
        return "done"

    def prompt(self, name: str, arguments: Message) -> str:
        return "A prompt."

    def read(self, uri: str) -> str:
        return "What lies there."

    def complete(self, value: str) -> list[str]:
        return [f"{value}-all"]

    # -- what it does besides

    def begin(self) -> None:
        """Before it reads anything."""

    def initialized(self) -> None:
        """Once its client is ready."""

    def send(self, **message: Any) -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()

    def refuse(self, message: str, code: int = -32000) -> Message:
        """An answer that is an error."""
        return {"error": {"code": code, "message": message}}

    def run(self) -> None:
        """Speak MCP, the little of it that is needed, until nobody asks any more."""
        self.begin()
        for line in sys.stdin:
            asked = json.loads(line)
            if asked.get("method") == "notifications/initialized":
                self.initialized()
            if "id" in asked and "method" in asked:
                answer = self.answer(asked["method"], asked.get("params") or {})
                if answer is not None:
                    self.send(id=asked["id"], **answer)

    def answer(self, method: str, params: Message) -> Message | None:
        """The answer to one request; None: it never comes."""
        if method == "initialize":
            self.client = params["clientInfo"]["name"]
            return {"result": self.initialize(params)}
        if method in LISTS:
            return {"result": {LISTS[method]: getattr(self, LISTS[method].replace("resourceT", "t"))()}}
        if method == "tools/call":
            return self.answer_call(params)
        if method == "prompts/get":
            said = {"type": "text", "text": self.prompt(params["name"], params.get("arguments") or {})}
            return {"result": {"messages": [{"role": "user", "content": said}]}}
        if method == "resources/read":
            return {"result": {"contents": [{"uri": params["uri"], "text": self.read(params["uri"])}]}}
        if method == "completion/complete":
            return {"result": {"completion": {"values": self.complete(params["argument"]["value"])}}}
        return self.refuse("no such method", -32601)

    def initialize(self, params: Message) -> Message:
        """Who it is, and what it has."""
        has: Message = {"tools": {"listChanged": True}, "completions": {}}
        has |= {"prompts": {"listChanged": True}} if self.prompts() else {}
        has |= {"resources": {"listChanged": True}} if self.resources() or self.templates() else {}
        about = {"name": self.name, "version": "1"}
        said = {"instructions": self.instructions} if self.instructions else {}
        return {"protocolVersion": params["protocolVersion"], "capabilities": has, "serverInfo": about, **said}

    def answer_call(self, params: Message) -> Message:
        with (self.state / "called").open("a") as file:
            file.write(params["name"] + "\n")
        if params["name"] == "grow":
            self.is_later = True
            for kind in ("tools", "prompts", "resources"):
                self.send(method=f"notifications/{kind}/list_changed")
        answer = self.call(params["name"], params.get("arguments") or {})
        if isinstance(answer, str):
            answer = [{"type": "text", "text": answer}]
        if isinstance(answer, list):
            answer = {"content": answer}
        return answer if "error" in answer else {"result": answer}


GROW = tool("grow", "Have more.")
"""The tool that has a list change within a conversation; every server that changes has it."""


@dataclass(frozen=True)
class Case:
    """One file: what it says, and what it is."""

    path: Path
    attack: str
    source: str
    seen_in_words: str
    server: type[Server]
    seen: Seen

    @property
    def key(self) -> str:
        return self.path.relative_to(FOLDER).with_suffix("").as_posix()

    @classmethod
    def load(cls, path: Path) -> Case:
        """Read the case that is in a file.

        Raises:
            ValueError: its docstring does not say the attack, its source and what must be seen, in this order.
        """
        module = runpy.run_path(str(path))
        said = re.fullmatch(r"(.+?)\n\nSource: (.+?)\nSeen: (.+)", (module["__doc__"] or "").strip(), re.DOTALL)
        if said is None:
            raise ValueError(f"{path.name}: expected a docstring of the attack, 'Source: ...' and 'Seen: ...'")
        return cls(path, *said.groups(), module["Attack"], module["SEEN"])


def cases(*folders: str) -> dict[str, Case]:
    """All cases of these folders by their keys, as `changes/rug_pull`."""
    found = [Case.load(path) for folder in folders for path in sorted((FOLDER / folder).glob("*.py"))]
    return {case.key: case for case in found}


if __name__ == "__main__":
    sys.modules["attacking"] = sys.modules["__main__"]  # the case imports it by this name
    Case.load(FOLDER / sys.argv[1]).server().run()
