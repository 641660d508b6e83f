"""What a source of tools tells of itself beside its tools and its state: for whoever looks after it.

    ToolSource.describe() -> SourceDetails       how it is reached, what was agreed on, what it said last
                             .offers             what it has beside tools, to be opened by hand
    ToolSource.listen(hear)  -> SourceMessage    what goes to and fro, as long as somebody looks

All of it is optional, and the same for every kind of source: an MCP server, a manifest, tools of another host. Values
and nothing else: whoever shows them needs to know no kind. Texts are those of third parties, cleaned of what hides in
them, without secrets, and bounded by the source.

.. versionadded:: 0.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import attrs

from pegboard._values import Shown, Value

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from pegboard.results import ToolResult
    from pegboard.session import Session

    Complete = Callable[[Session, str, str, Mapping[str, str]], Awaitable[Sequence[str]]]

__all__ = ["Direction", "SourceDetails", "SourceMessage", "SourceOffer"]

Direction = Literal["sent", "received", "log", "unreadable"]
"""Which way a message went, or that it is not one.

.. versionadded:: 0.1
"""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class SourceMessage(Value):
    """Something that went between the board and a source, or that the source wrote beside it.

    Args:
        at: when, in seconds since the epoch.
        direction: `sent` by the board, `received` from the source, a line of its `log`, or `unreadable`: what came
            where a message should have been.
        text: the message; JSON where it is a message. It may be cut.
        size: how long it was as a whole, in characters.
        method: of a request or a notification; None of an answer and of a line.
        id: of a request or its answer, as text; None of a notification and of a line.
        is_error: whether it is the answer of a request that failed.

    .. versionadded:: 0.1
    """

    at: float
    direction: Direction
    text: str
    size: int
    method: str | None = None
    id: str | None = None
    is_error: bool = False

    def to_json(self) -> dict[str, Any]:
        """All of it, by the names of the fields."""
        return attrs.asdict(self)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class SourceOffer(Shown):
    """Something that a source has beside tools, and that a person may open by hand: a prompt, a resource.

    Args:
        kind: what it is, as in `prompt`, `resource`, `template`.
        name: by which it is told from others of its kind: a name, an address.
        open: `await open(session, arguments)` gives what is in it. It raises `ToolError`.
        title, description: what a person reads.
        mime_type: of what is in it, where that is known.
        input_schema: what `arguments` may be, as JSON Schema of an object; None: it takes none.
        complete: `await complete(session, argument, value, others)` proposes values of an argument that begins so, the
            `others` as they are filled in; it raises `ToolError`. None: nothing is proposed.

    .. versionadded:: 0.1
    """

    kind: str
    name: str
    open: Callable[[Session, Mapping[str, Any]], Awaitable[ToolResult]] = attrs.field(repr=False)
    complete: Complete | None = attrs.field(default=None, repr=False)
    title: str | None = None
    description: str = ""
    mime_type: str | None = None
    input_schema: Mapping[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """What is shown of it."""
        shown = attrs.asdict(self, filter=lambda field, _: field.name not in ("open", "complete"))
        return shown | {"completes": self.complete is not None}


@attrs.frozen(kw_only=True, eq=False, repr=False)
class SourceDetails(Value):
    """A source as `ToolSource.describe` tells of it. What it does not know, or has not, it leaves out.

    Args:
        location: how it is reached: a command, an address, a file; secrets are masked.
        transport: what carries its messages, as in `stdio`.
        starts: how often it was started since the host opened.
        last_words: why it was not ready the last time, and what repairs that; None: it never failed.
        protocol: the version of the protocol that was agreed on when it last ran.
        server: what the other side says it is: its name, its version.
        capabilities: what the other side says it can, as JSON.
        instructions: what it tells models.
        left_out: what it lists and does not offer, by name, and why.
        log: the last lines that it wrote, the oldest first.
        offers: what it has beside tools.
        status: how the other side does, as JSON, where it is more than up or down: its workers, what they did.

    .. versionadded:: 0.1
    """

    location: str = ""
    transport: str | None = None
    starts: int = 0
    last_words: str | None = None
    protocol: str | None = None
    server: Mapping[str, Any] = attrs.field(factory=dict)
    capabilities: Mapping[str, Any] = attrs.field(factory=dict)
    instructions: str | None = None
    left_out: Mapping[str, str] = attrs.field(factory=dict)
    log: tuple[SourceMessage, ...] = ()
    offers: tuple[SourceOffer, ...] = ()
    status: Mapping[str, Any] = attrs.field(factory=dict)

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON, by the names of the fields."""
        plain = {field.name: getattr(self, field.name) for field in attrs.fields(type(self))}
        return plain | {"log": [one.to_json() for one in self.log], "offers": [one.to_json() for one in self.offers]}
