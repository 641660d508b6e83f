"""What a folder can hold beside the lean one: the words of `--with`, and how a folder remembers them.

A lean folder is the manifest, hints, configuration, skill and README, with what keeps them. Each part is written where
somebody asked for it, and from then on by every `init` and `build` of that folder: `.toolgen/outputs.json` says which.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

PARTS: Mapping[str, str] = {
    "adapters": "OpenAI functions, LangChain tools and an OpenAPI document, in adapters/",
    "mcpb": "an MCP bundle, in adapters/mcpb/",
    "routes": "routes of web frameworks that no OpenAPI document covers: init names them, and project.profile.json",
    "schemas": "a JSON Schema of each tool, in schemas/",
    "server": "an entry for the MCP registry, adapters/server.json",
    "tests": "contract tests for pytest, in tests/",
    "utcp": "a UTCP manual, adapters/utcp.json",
}
"""Each word, and what it adds."""
FULL = frozenset(PARTS)


def parts_of(words: str) -> frozenset[str]:
    """The parts that a list of words names, separated by commas.

    Raises:
        ValueError: a word names no part; the sentence says which there are.
    """
    found = frozenset(word.strip() for word in words.split(","))
    for word in sorted(found - FULL):
        from pegboard.schema import NearNames, listed_names
        from pegboard_toolgen._texts import shown

        near = NearNames().find(word, PARTS)
        meant = f": did you mean {near[0]!r}?" if near else ";"
        raise ValueError(f"there is no part '{shown(word, 60)}'{meant} {listed_names(PARTS)}")
    return found


def parts_now(before: Collection[str], added: Collection[str], *, full: bool | None) -> frozenset[str]:
    """The parts of a folder from now on.

    Args:
        before: what it was made with.
        added: what is asked for beside.
        full: True: all there are; False: no others than are asked for; None: those before, too.
    """
    return frozenset(added) | (frozenset(before) if full is None else FULL if full else frozenset())
