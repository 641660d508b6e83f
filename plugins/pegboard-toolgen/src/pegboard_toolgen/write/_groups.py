"""Many tools by what they belong to: the module of a function, the command of a subcommand, where a path begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pegboard_toolgen.write.view import ToolView


def groups_of(tools: Sequence[ToolView]) -> dict[str, list[ToolView]]:
    """Tools by the name of their group, both in order.

    What all ids of a kind begin with tells nothing apart, so it is the part behind that which counts; in a group that
    holds most of the tools (`/api` beside `/feeds`), it is again.
    """
    above = [_above(str(tool.entry["id"])) for tool in tools]
    common = {kind: _shared([parts for other, parts in above if other == kind]) for kind in {kind for kind, _ in above}}
    found: dict[str, list[ToolView]] = {}
    for (kind, parts), tool in zip(above, tools, strict=True):
        found.setdefault(_SEPARATORS.get(kind, " ").join(parts[: common[kind] + 1]), []).append(tool)
    largest = max(found, key=lambda name: len(found[name]), default="")
    if len(found) > 1 and len(tools) // 2 < len(found[largest]) > 1:
        found |= groups_of(found.pop(largest))
    return dict(sorted(found.items()))


_SEPARATORS = {"python": ".", "http": "/"}


def _shared(lists: Sequence[Sequence[str]]) -> int:
    """How many parts all of them begin with."""
    columns = enumerate(zip(*lists, strict=False))
    return next((at for at, parts in columns if len({*parts}) > 1), min(map(len, lists)))


def _above(id_: str) -> tuple[str, list[str]]:
    """The kind of an id, and what it lies in: `python:a.b.f` in a.b, `program:git remote add` in git remote,
    `http:GET /pets/{id}` in /pets/{id}."""
    kind, _, rest = id_.partition(":")
    if kind == "http":
        return kind, rest.partition(" ")[2].split(" ")[0].split("/")
    parts = rest.split(_SEPARATORS.get(kind, " "))
    return kind, parts[:-1] or parts
