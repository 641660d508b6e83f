"""A conversation as a value: what was said, what was called, what came back; nothing here belongs to one provider.

Invariants:

- A `tool` message answers every call of the assistant's message before it, in the order of those calls.
- Every call has an id of its own among all calls, once `unique_ids` has seen the conversation: servers count theirs
  anew in every turn (`call_0`), and others refuse a history that has one twice, or match a result with the wrong call.
- What a provider wants echoed (thinking blocks, thought signatures, reasoning items, a tool plan) stands in
  `Message.raw`, exactly as its `dialect` sends an assistant's turn back. A dialect sends its own raw turns back as they
  are, and builds those of others from the neutral members; so a conversation goes on with any provider.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import attrs

from pegboard import Content, TextContent, ToolCall, ToolResult

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

Role = Literal["user", "assistant", "tool"]

VERSION = 1
"""Of the saved form; a newer one is refused."""


# A dict is filled faster than slots, and each round of a chat makes some of these.
@attrs.frozen(slots=False)
class Message:
    """One turn of one side.

    Args:
        role: who speaks; `tool` carries the results of one turn.
        content: text, images, audio and files of a user or an assistant.
        calls: what the assistant asks for, under the tools' own names; a call whose arguments were not a JSON object
            holds
            `{"INVALID_JSON": text}`, so that every dialect can repeat it.
        results: of a `tool` message: one for each call of the message before it, in that order.
        raw: the assistant's turn as JSON, as its provider wants it back; None: none but the neutral members.
        dialect: whose `raw` it is.
        model: who said it, as `provider:model`.
        cut: why an answer is half of one: `left` (Ctrl-C, or the block was left), `max_seconds`, `length` (the limit of
            output tokens), or the reason of the `ModelError` that ended it, as `half_answer`. None: it is whole.

    .. versionadded:: 0.1
    """

    role: Role
    content: tuple[Content, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    raw: Any = attrs.field(default=None, repr=False)
    dialect: str | None = None
    model: str | None = None
    cut: str | None = None

    @property
    def text(self) -> str:
        """Its text blocks, joined."""
        return "".join(block.text for block in self.content if isinstance(block, TextContent))

    def to_json(self) -> dict[str, Any]:
        """The message as JSON; members that say nothing are left out."""
        said: dict[str, Any] = {
            "role": self.role,
            "content": [block.to_json() for block in self.content],
            "calls": [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in self.calls],
            "results": [result.to_json() for result in self.results],
            "raw": self.raw,
            "dialect": self.dialect,
            "model": self.model,
            "cut": self.cut,
        }
        return {key: value for key, value in said.items() if key == "role" or value not in (None, [])}


@attrs.frozen(slots=False)
class Conversation:
    """Everything said so far. A value: `add` makes a new one.

    Args:
        system: what the model is told before anything else; None: nothing.
        messages: in the order they were said.

    .. versionadded:: 0.1
    """

    system: str | None = None
    messages: tuple[Message, ...] = ()
    # The ids of all calls, where each is known to have one of its own: nobody looks through the messages again.
    _ids: frozenset[str] | None = attrs.field(default=None, init=False, eq=False, repr=False)

    def add(self, *messages: Message) -> Conversation:
        """The conversation with these at its end."""
        return _with_known_ids(Conversation(self.system, self.messages + messages), _more_ids(self._ids, messages))

    def with_system(self, system: str | None) -> Conversation:
        """The same messages below another system prompt."""
        return _with_known_ids(Conversation(system, self.messages), self._ids)

    def ask(self, *content: str | Content) -> Conversation:
        """The conversation with a question of the user at its end; text may be given as it is."""
        blocks = tuple(TextContent(block) if isinstance(block, str) else block for block in content)
        return self.add(Message("user", blocks))

    @property
    def call_ids(self) -> set[str]:
        """The ids of all calls so far; a new one is to have another."""
        if self._ids is not None:
            return set(self._ids)
        return {call.id for message in self.messages for call in message.calls}

    @property
    def last_text(self) -> str:
        """The text of the assistant's last message; empty where there is none."""
        return next((one.text for one in reversed(self.messages) if one.role == "assistant"), "")

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """The calls at the end that no results follow: it was left in the middle of a turn."""
        return self.messages[-1].calls if self.messages and self.messages[-1].role == "assistant" else ()

    def to_json(self) -> dict[str, Any]:
        """The conversation as JSON, with its version."""
        return {
            "pegboard_conversation": VERSION,
            "system": self.system,
            "messages": [message.to_json() for message in self.messages],
        }

    @classmethod
    def from_json(cls, value: Any) -> Conversation:
        """Read back what `to_json` wrote.

        Raises:
            ValueError: it is not a conversation, of a newer version, or holds a message that breaks the invariants; the
                text names the place.
        """
        from pegboard_chat._saved import read

        system, messages = read(value, VERSION)
        return cls(system, tuple(Message(*one) for one in messages))


def _more_ids(ids: frozenset[str] | None, messages: Iterable[Message]) -> frozenset[str] | None:
    """The ids with those of more calls; None where one of these has none of its own, or `ids` are not known."""
    if ids is None:
        return None
    more = [call.id for message in messages for call in message.calls]
    if not more:
        return ids
    both = ids.union(more)
    return both if len(both) == len(ids) + len(more) and "" not in both else None


def _with_known_ids(conversation: Conversation, ids: frozenset[str] | None) -> Conversation:
    object.__setattr__(conversation, "_ids", ids)  # of a value that nobody has yet, or one that they are true of
    return conversation


_IDS = frozenset({"id", "call_id", "tool_call_id", "tool_use_id"})
"""What providers call the member of a turn that holds the id of a call."""


def unique_ids(conversation: Conversation) -> Conversation:
    """The conversation with another id for every call whose id an earlier one has, and for its result.

    What an id becomes depends on the turns before it alone, so it stays the same while the conversation grows. The same
    conversation where nothing changes.
    """
    if conversation._ids is not None:
        return conversation
    ids = _more_ids(frozenset(), conversation.messages)
    if ids is not None:
        return _with_known_ids(conversation, ids)
    taken: set[str] = set()
    asked: list[str] = []
    messages: list[Message] = []
    for message in conversation.messages:
        if message.calls:
            before = [call.id for call in message.calls]
            others = set(before)
            asked = [own_id(given, taken, others) for given in before]
            message = _with_ids(message, asked)
        elif message.results and len(message.results) == len(asked):
            results = zip(message.results, asked, strict=True)
            message = attrs.evolve(message, results=tuple(attrs.evolve(one, id=given) for one, given in results))
        messages.append(message)
    return _with_known_ids(Conversation(conversation.system, tuple(messages)), frozenset(taken))


def own_id(given: str, taken: set[str], others: Collection[str] = ()) -> str:
    """The id, or `ID_2` or the like where another call has it; it is added to `taken`.

    Args:
        given: by a server; empty: by none.
        taken: the ids of the calls before it.
        others: the ids of its own turn, none of which another call of that turn is given.

    .. versionadded:: 0.1
    """
    base = found = given or "call"
    number = len(taken)  # not from 2 on: a history may have the same one very many times
    while found in taken or (found != given and found in others):
        number += 1
        found = f"{base}_{number}"
    taken.add(found)
    return found


def _with_ids(message: Message, ids: list[str]) -> Message:
    before = [call.id for call in message.calls]
    if ids == before:
        return message
    calls = tuple(attrs.evolve(call, id=given) for call, given in zip(message.calls, ids, strict=True))
    if len(set(before)) < len(before):  # its raw turn does not tell its own calls apart
        return attrs.evolve(message, calls=calls, raw=None, dialect=None)
    return attrs.evolve(message, calls=calls, raw=_renamed(message.raw, dict(zip(before, ids, strict=True))))


def _renamed(raw: Any, ids: Mapping[str, str]) -> Any:
    if isinstance(raw, list):
        return [_renamed(one, ids) for one in raw]
    if not isinstance(raw, dict):
        return raw
    return {
        key: ids.get(value, value) if key in _IDS and isinstance(value, str) else _renamed(value, ids)
        for key, value in raw.items()
    }


@attrs.frozen(slots=False)
class Usage:
    """What a request cost, in tokens as the provider counts them. Sums with `+`.

    Args:
        input_tokens: all that was read, cached ones included.
        output_tokens: all that was written, thinking included.
        cached_tokens: of the read ones, those that came from the provider's cache.

    .. versionadded:: 0.1
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """Read and written together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
        )

    def to_json(self) -> Mapping[str, int]:
        """`{"input_tokens", "output_tokens", "cached_tokens"}`."""
        return {
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cached_tokens": self.cached_tokens,
        }


MAX_TOKENS = 10**12
"""No request costs as many."""


def tokens_of(value: Any) -> int:
    """A number of tokens as a provider says it; 0 for anything else.

    .. versionadded:: 0.1
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < MAX_TOKENS:
        return 0
    return int(value)
