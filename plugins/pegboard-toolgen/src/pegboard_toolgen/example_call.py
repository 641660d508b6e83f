"""A call of a manifest's tools that a person can copy."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def example_command(document: Mapping[str, Any]) -> str | None:
    """A call that a person can type, of a tool that reads if there is one; None where no example is plain enough."""
    from pegboard_manifest import is_read_only

    def rank(tool: Mapping[str, Any]) -> tuple[bool, bool, int, str]:
        example = tool["examples"][0]
        return (
            not is_read_only(tool),
            "output" not in example,
            len(example["input"]),
            tool["name"],
        )

    for tool in sorted(document["tools"], key=rank):
        words = [tool["name"]]
        for key, value in tool["examples"][0]["input"].items():
            text = f"{key}={value}" if isinstance(value, str) else f"{key}:={json.dumps(value)}"
            words.append(text)
        line = "call " + shlex.join(words)
        if len(line) <= 160 and line.isascii() and line.isprintable():
            return line
    return None
