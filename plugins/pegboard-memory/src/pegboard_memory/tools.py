"""The tools: arguments in, the store around, a result out. Whose memories they are is the session's user alone."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Annotated

from pegboard import CallContext, ErrorCode, Example, ToolError, ToolResult, tool
from pegboard.schema import Ge, Le
from pegboard_memory._schema import (
    MAX_ID,
    MAX_LIMIT,
    MAX_TAG,
    MAX_TAGS,
    MAX_TEXT,
    FoundData,
    MemoryData,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pegboard_memory._database import Memory
    from pegboard_memory._store import Found, MemoryStore
    from pegboard_memory._trouble import StorageError

CATEGORY = "memory"


@tool(
    title="Remember",
    category=CATEGORY,
    tags=("memory", "notes", "write"),
    requires_user=True,
    destructive=False,
    open_world=False,
    examples=(
        Example({"text": "Ada takes her tea without milk."}),
        Example({"text": "The flat's lease ends in March.", "tags": ["home"]}, "with a tag to search by"),
    ),
)
async def remember(context: CallContext, text: str, tags: list[str] | None = None) -> Annotated[ToolResult, MemoryData]:
    """Keep a text in the user's memory, for later conversations too. It can be found with search_memory.

    Args:
        text: what to remember, in whole sentences that are understood on their own; at most 10,000 characters.
        tags: up to 20 words to select it by, of at most 50 characters; case does not matter.
    """
    from pegboard_memory._trouble import StorageError

    if not text.strip():
        raise _invalid("text", "text is empty; write what is to be remembered")
    if len(text) > MAX_TEXT:
        raise _invalid("text", f"text has {len(text):,} characters, at most {MAX_TEXT:,} are kept; split it")
    labels = _labels(tags or ())
    user_id = _who(context)
    try:
        store = await _opened(context, writes=True)
        memory = await store.remember(user_id, text, labels, _left_s())
    except StorageError as trouble:
        raise _failed(context, "Failed to remember", trouble, "it was remembered") from None
    if memory is None:
        raise ToolError(
            ErrorCode.FORBIDDEN,
            f"memory is full: {store.max_memories:,} memories are kept; forget some with forget_memory",
            reason="full",
            retry="changed",
        )
    return ToolResult.text(f"Remembered with the id {memory.id}", data=memory.to_json())


@tool(
    title="Search memory",
    category=CATEGORY,
    tags=("memory", "notes", "search", "read"),
    read_only=True,
    idempotent=True,
    requires_user=True,
    open_world=False,
    examples=(
        Example({"query": "how does Ada like her tea?"}),
        Example({"query": "lease", "limit": 3, "tag": "home"}, "among those with a tag"),
        Example({"query": ""}, "the newest"),
    ),
)
async def search_memory(
    context: CallContext, query: str, limit: Annotated[int, Ge(1), Le(MAX_LIMIT)] = 10, tag: str | None = None
) -> Annotated[ToolResult, FoundData]:
    """Search the user's memory by relevance. Any text is a query; a blank one gives the newest memories.

    Args:
        query: words, parts of words, or a question; nothing in it is an operator.
        limit: how many memories at most, 1 to 100.
        tag: only memories with this tag.
    """
    from pegboard_memory._trouble import StorageError

    label = None if tag is None else _label(tag)
    user_id = _who(context)
    try:
        store = await _opened(context, writes=False)
        found = await store.search(user_id, query, limit, label, _left_s())
    except StorageError as trouble:
        raise _failed(context, "Failed to search memory", trouble) from None
    memories = [{**memory.to_json(), "score": score} for memory, score in found.hits]
    return ToolResult.text(_shown(found), data={"memories": memories, "total": found.total})


@tool(
    title="Forget a memory",
    category=CATEGORY,
    tags=("memory", "notes", "write"),
    destructive=True,
    requires_user=True,
    open_world=False,
    examples=(Example({"id": "0b6f9a9e-6f0a-4d5e-9d0c-3c1f6a1f7a11"}, "an id that search_memory gave"),),
)
async def forget_memory(context: CallContext, id: str) -> Annotated[ToolResult, MemoryData]:  # noqa: A002 - callers know it by this name
    """Forget one of the user's memories for good.

    Args:
        id: the id that remember or search_memory gave.
    """
    from pegboard_memory._trouble import StorageError

    name = id.strip()
    if not name:
        raise _invalid("id", "id is empty; search_memory shows the ids")
    user_id, memory = _who(context), None
    try:
        if len(name) <= MAX_ID:  # anything else is the id of no memory
            store = await _opened(context, writes=True)
            memory = await store.forget(user_id, name, _left_s())
    except StorageError as trouble:
        raise _failed(context, "Failed to forget", trouble, "it was forgotten") from None
    if memory is None:
        raise ToolError(
            ErrorCode.NOT_FOUND, f"no memory has the id {_shorten(id)}; search_memory shows the ids", parameter="id"
        )
    return ToolResult.text(f"Forgot {_shorten(memory.text)}", data=memory.to_json())


TOOLS = (remember, search_memory, forget_memory)


# --- whose, where, how long


def _who(context: CallContext) -> str:
    user_id = context.session.user_id
    if user_id is None or not user_id.strip() or not _is_whole(user_id):  # the host refuses the first two already
        raise ToolError(ErrorCode.UNAUTHORIZED, "the session has no valid user, whose memory this would be")
    return user_id


async def _opened(context: CallContext, *, writes: bool) -> MemoryStore:
    """The store; the first call does not pay for the start."""
    from pegboard_memory._memories import Memories

    memories = context.resource(Memories)
    store = memories.find_open(writes=writes)
    return store if store is not None else await context.prepare(lambda: memories.open(writes=writes))


def _left_s() -> float:
    import trio

    return trio.current_effective_deadline() - trio.current_time()


# --- what comes in


def _labels(tags: Iterable[str]) -> tuple[str, ...]:
    labels = tuple(dict.fromkeys(map(_label, tags)))
    if len(labels) > MAX_TAGS:
        raise _invalid("tags", f"{len(labels)} tags, at most {MAX_TAGS} are kept")
    return labels


def _label(tag: str) -> str:
    """A tag as it is kept and compared: `Home` and `home` are one."""
    label = " ".join(unicodedata.normalize("NFKC", tag[: 4 * MAX_TAG]).casefold().split())
    if not label or len(label) > MAX_TAG or len(tag) > 4 * MAX_TAG or not label.isprintable():
        raise _invalid("tags", f"{_shorten(tag)} is not a tag; write 1 to {MAX_TAG} printable characters")
    return label


def _is_whole(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _invalid(parameter: str, message: str) -> ToolError:
    return ToolError(ErrorCode.INVALID_INPUT, message, parameter=parameter)


# --- what goes out


def _shown(found: Found) -> str:
    count = len(found.hits)
    if not count:
        return "No memories found"
    lines = [_line(number, memory) for number, (memory, _) in enumerate(found.hits, 1)]
    return "\n".join([f"Found {count} {'memory' if count == 1 else 'memories'}", *lines])


def _line(number: int, memory: Memory) -> str:
    about = ", ".join([memory.created_at[:10], *(f"#{tag}" for tag in memory.tags), f"id {memory.id}"])
    return f"{number}. {' '.join(memory.text.split())} ({about})"


def _shorten(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _failed(context: CallContext, what: str, trouble: StorageError, done: str = "") -> ToolError:
    """What is said of a failure; `done` is what a write would have done, where nobody knows."""
    context.log.error("%s: %s", what, trouble.words, exc_info=trouble)
    details = {"reason": trouble.reason, **trouble.details}
    if trouble.may_have_run:
        return ToolError(ErrorCode.OUTCOME_UNKNOWN, f"it is not known whether {done}; search the memory first", details)
    return ToolError(ErrorCode.UPSTREAM_ERROR, f"{what}: {trouble.words}", details, executed=False)
