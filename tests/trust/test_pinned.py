"""What of a definition reaches a model, a person or a client, and whether a change of it is held.

The table is the whole of it: each member that MCP gives a tool, a prompt, a resource, a template or the server is
pinned, or does not reach anybody, or is named with the reason why it is not pinned. A member that is new here fails.

Sources: "rug pull" (Invariant Labs, April 2025); MCP specification 2025-11-25 and 2026-07-28, `Tool`, `Prompt`,
`Resource`, `ResourceTemplate`, `Implementation`, `Icon`.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest

pytest.importorskip("pegboard_mcp", reason="pegboard_mcp is not installed")

from pegboard_mcp.client.discovery import Listing, prompt_entry, resource_entry, template_entry, tool_entry
from pegboard_mcp.client.seen import seen_pins

PIXEL = "data:image/png;base64,AAAA"
ICON = [{"src": PIXEL, "mimeType": "image/png", "sizes": ["16x16"]}]
PINNED, NOBODY = "pinned", "reaches nobody"
PER_CALL = "each answer is judged when it comes: what hides is taken out, keys are masked, words are noted"
GIVEN: dict[str, dict[str, Any]] = {
    "tools": {
        "name": "a", "title": "A", "description": "Do a.", "inputSchema": {"type": "object"},
        "outputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True, "title": "A"}, "icons": ICON,
        "execution": {"taskSupport": "optional"}, "_meta": {"x": 1},
    },
    "prompts": {
        "name": "a", "title": "A", "description": "Do a.", "icons": ICON, "_meta": {"x": 1},
        "arguments": [{"name": "b", "title": "B", "description": "The b.", "required": False}],
    },
    "resources": {
        "uri": "a://b", "name": "a", "title": "A", "description": "The a.", "mimeType": "text/plain", "size": 1,
        "annotations": {"audience": ["user"], "priority": 0.5}, "icons": ICON, "_meta": {"x": 1},
    },
    "templates": {
        "uriTemplate": "a://{b}", "name": "a", "title": "A", "description": "The a.", "mimeType": "text/plain",
        "annotations": {"audience": ["user"]}, "icons": ICON, "_meta": {"x": 1},
    },
}  # fmt: skip
READ = {"tools": tool_entry, "prompts": prompt_entry, "resources": resource_entry, "templates": template_entry}
CHANGED: dict[tuple[str, ...], Any] = {
    ("name",): "z", ("title",): "Z", ("description",): "Do z.", ("inputSchema",): {"type": "object", "x-note": "z"},
    ("outputSchema",): {"type": "object", "title": "z"}, ("annotations", "readOnlyHint"): False,
    ("annotations", "title"): "Z", ("annotations", "audience"): ["assistant"], ("annotations", "priority"): 0.9,
    ("icons",): [{"src": PIXEL + "Z"}], ("execution", "taskSupport"): "required", ("_meta", "x"): 2,
    ("arguments", 0, "name"): "z", ("arguments", 0, "title"): "Z", ("arguments", 0, "description"): "The z.",
    ("arguments", 0, "required"): True, ("uri",): "z://z", ("uriTemplate",): "z://{z}", ("mimeType",): "text/z",
    ("size",): 2,
}  # fmt: skip
NOT_PINNED = {
    ("tools", "execution"): NOBODY,
    ("tools", "_meta"): NOBODY,
    ("prompts", "_meta"): NOBODY,
    ("resources", "_meta"): NOBODY,
    ("templates", "_meta"): NOBODY,
    ("tools", "annotations", "title"): "the title of the tool itself counts, where it has one",
    ("resources", "size"): "it is of the content, which changes",
}
"""Of MCP's members those whose change is not held, each with the reason."""
NO_MEMBERS = {
    "the server's name and version": PINNED,
    "the server's instructions": "told to a person, in `describe` and `probe`; no model is given them",
    "the server's title, description, icons and website": NOBODY,
    "its capabilities": "what it offers by them is pinned",
    "completions": PER_CALL,
    "messages of a prompt, contents of a resource": PER_CALL,
    "results, logs, progress, questions": PER_CALL,
}
"""What else a server says of itself; no test of its own."""


def listing(kind: str, raw: dict[str, Any]) -> Listing:
    return Listing(**{kind: (READ[kind](raw),)}, server={"name": "s", "version": "1"})


def changes() -> list[tuple[str, tuple[Any, ...]]]:
    found = []
    for kind, raw in GIVEN.items():
        for member, value in raw.items():
            if isinstance(value, dict) and member in ("annotations", "execution", "_meta"):
                found += [(kind, (member, name)) for name in value]
            elif member == "arguments":
                found += [(kind, (member, 0, name)) for name in value[0]]
            else:
                found.append((kind, (member,)))
    return found


@pytest.mark.parametrize(("kind", "path"), changes(), ids=str)
def test_every_member_of_a_definition_is_pinned_or_named_with_the_reason(kind: str, path: tuple[Any, ...]) -> None:
    before, after = GIVEN[kind], copy.deepcopy(GIVEN[kind])
    at: Any = after
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = CHANGED[path]
    was, now = listing(kind, before), listing(kind, after)
    is_pinned = [one.fingerprint for one in seen_pins(was, "s")] != [one.fingerprint for one in seen_pins(now, "s")]
    reason = NOT_PINNED.get((kind, *path)) or NOT_PINNED.get((kind, path[0]))
    assert is_pinned is (reason is None)
    if reason == NOBODY:
        assert getattr(was, kind) == getattr(now, kind)


@pytest.mark.parametrize("part", ["name", "version"])
def test_who_the_server_says_it_is_is_pinned(part: str) -> None:
    was = Listing(tools=(tool_entry(GIVEN["tools"]),), server={"name": "s", "version": "1"})
    now = Listing(tools=was.tools, server={"name": "s", "version": "1", part: "other"})
    assert seen_pins(was, "s")[0].fingerprint != seen_pins(now, "s")[0].fingerprint


ADDRESSES = {
    "data:image/png;base64,AAAA": True,
    "https://example.org/icon.png": True,
    "javascript:alert(1)": False,
    "JavaScript:alert(1)": False,
    " javascript:alert(1)": False,
    "data:text/html,<script>alert(1)</script>": False,
    "data:image/svg+xml,<svg onload=alert(1)>": False,
    "file:///etc/passwd": False,
    "http://192.168.1.1/reboot": False,
    "https://192.168.1.1/reboot": False,
    "https://localhost/x": False,
    "https://ada:secret@example.org/x": False,
    "ftp://example.org/x": False,
    "ws://example.org/x": False,
    "//example.org/x": False,
    "https://": False,
    "x" * 200_000: False,
}


@pytest.mark.parametrize("address", ADDRESSES, ids=lambda one: one[:40])
@pytest.mark.parametrize("kind", GIVEN)
def test_a_client_is_given_pictures_alone(kind: str, address: str) -> None:
    """Attack: a client that shows icons runs a script, reads a file, or calls a router. Source: MCP specification
    2025-11-25, "Icons", "Security Considerations"."""
    entry = READ[kind]({**GIVEN[kind], "icons": [{"src": address}, *ICON]})
    sources = [one["src"] for one in entry.get("icons", ())]
    assert (address in sources) is ADDRESSES[address]
    assert PIXEL in sources
