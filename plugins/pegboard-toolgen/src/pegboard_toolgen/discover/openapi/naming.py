"""Names of operations: by their operation id where it is one, else by method and path; `names` chooses among them.

An operation id is a name that its author gave. Where a framework made it of the method and the path, what is left
without them is the name of the function behind it; where nothing is left, it says nothing that the path does not.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pegboard_manifest import sanitise
from pegboard_toolgen.names import MAX_NAME, snake

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


Json = Any

MAX_ID = 200
_COUNTED = re.compile(r"(?i)(op|operation|endpoint|route|method|path|handler|fn|anonymous)?[_-]?[0-9]+")
_NUMBER = r"[0-9]{1,2}(?:\.[0-9]{1,2})?"
_PREFIX = re.compile(rf"(?i)(?:(?:/rest)?/api(?:/v?{_NUMBER})?|/v{_NUMBER})(?=/(?!v?{_NUMBER}(?:/|$)).)")
"""What many paths begin with and none is told by: `/api/v1`."""
_DIGEST = re.compile(r"(?i)(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{8,}")
_VERBS = frozenset(
    ("add", "all", "call", "check", "count", "create", "delete", "destroy", "do", "fetch", "find", "get", "head",
    "index", "insert", "list", "make", "new", "options", "patch", "post", "put", "query", "read", "remove", "replace",
    "retrieve", "run", "save", "search", "send", "set", "show", "trace", "update", "upsert")
)  # fmt: skip
"""Words that say what is done: no name is left with nothing else."""


def words_of(method: str, path: str) -> tuple[str, ...]:
    """Method and path, in words."""
    return (method, *(word for part in path.split("/") if (word := part.replace("{", "").replace("}", ""))))


def own_name(said: Mapping[str, Json], method: str, path: str) -> str:
    """What the author called an operation: its id without what method and path say; empty where that is nothing.

    FastAPI makes `read_item_items__item_id__get` of `read_item`, `/items/{item_id}` and `get`; Springfox makes
    `readItemUsingGET_1`.
    """
    id_ = said.get("operationId")
    id_ = sanitise(id_, MAX_ID, one_line=True) if isinstance(id_, str) and len(id_) <= MAX_ID else ""
    made = re.sub(r"\W", "_", f"{path}_{method}")
    if id_.lower().endswith(made.lower()):
        id_ = id_[: -len(made)].rstrip("_")
    name = re.sub(rf"_using_{method}(_[0-9]+)?$", "", snake((id_,)))
    if not re.search("[a-z]{2}", name) or _COUNTED.fullmatch(id_) or any(map(_DIGEST.fullmatch, name.split("_"))):
        return ""
    return name


def names_of(own: Sequence[str], tags: Sequence[str], method: str, path: str) -> tuple[tuple[str, ...], ...]:
    """The names of an operation beside method and path, the best first, each in words.

    Args:
        own: what its author called it, see `without_shared_prefix`.
        tags: its groups.
        method: in small letters.
        path: with its placeholders.
    """
    tag = snake(tags[:1])
    found: list[tuple[str, ...]] = [(name,) for name in own]
    if own and tag and not f"{own[0]}_".startswith(f"{tag}_"):
        found.append((tag, own[0]))
    if not own and (plain := _PREFIX.match(path)):
        found.append(words_of(method, path[plain.end() :]))
    if len(snake(words_of(method, path))) > MAX_NAME:
        fixed = words_of(method, re.sub(r"\{[^{}]*\}", "", path))
        found += [fixed] if len(snake(fixed)) <= MAX_NAME else [(method, tag, *fixed[1:])]
    return tuple(found)


def without_shared_prefix(own: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Of each operation of a document its own names, the best first: without the words that all begin with, and whole.

    Args:
        own: of each id; empty for an operation without a name of its own.
    """
    count = _shared([name.split("_") for name in own.values() if name])
    return {
        id_: tuple(dict.fromkeys(("_".join(name.split("_")[count:]), name))) if name else ()
        for id_, name in own.items()
    }


def _shared(names: Sequence[Sequence[str]]) -> int:
    """How many words all of these names begin with and none of them needs."""
    count = 0
    while len(names) > 1 and len({tuple(name[: count + 1]) for name in names}) == 1:
        rests = [name[count + 1 :] for name in names]
        if names[0][count] in _VERBS or any(map(_is_bare, rests)):
            break
        count += 1
    return count


def _is_bare(words: Sequence[str]) -> bool:
    return not words or words[0].isdigit() or all(word in _VERBS or word.isdigit() for word in words)
