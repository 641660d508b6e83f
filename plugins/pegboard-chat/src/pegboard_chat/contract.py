"""What a bridge to a provider is: a dialect that thinks, a model that talks, a provider that opens models.

The dialect holds everything that can be said without a network: request bodies, answers, streams, tools, calls and
results, all as JSON values. `pegboard_chat.wire` carries them. A bridge is its dialect and a table for the wire.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import attrs

from pegboard import Dialect, Export, ToolError
from pegboard_chat.conversation import Conversation, unique_ids

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from pegboard import Tool, ToolCall, ToolResult
    from pegboard_chat.conversation import Message, Usage


class ModelError(ToolError):
    """A provider did not answer as it should. It is a `ToolError`: a tool that talks to a model may pass it on.

    `message` names the provider and says what to do; `details` carry `provider`, `status` (of HTTP, where there was
    one), `reason` (`no_key`, `wrong_key`, `no_model`, `no_network`, `no_json`, `half_answer`, `refused`, `limit`,
    `server`, `timeout`, `tool_use_failed`) and `retry_after_s` where the provider said it; with `tool_use_failed`, a
    call that the provider could not read, `failed_generation`: what the model wrote. No key and no header is ever in
    any of it.

    .. versionadded:: 0.1
    """


class Stop(StrEnum):
    """Why a model stopped.

    .. versionadded:: 0.1
    """

    END = "end"
    CALLS = "calls"
    LENGTH = "length"
    """The limit of output tokens; a call may be cut in the middle."""
    REFUSED = "refused"
    """The provider's filter, or the model itself, would not."""
    OTHER = "other"


class TextDelta(NamedTuple):
    """The next piece of the answer's text.

    .. versionadded:: 0.1
    """

    text: str


class ThinkingDelta(NamedTuple):
    """The next piece of what the model thinks aloud; no part of the answer.

    .. versionadded:: 0.1
    """

    text: str


class CallDelta(NamedTuple):
    """The next piece of a call that the model is writing.

    Args:
        position: which call of this turn, from 0.
        name: the tool's own name, in the first piece of a call; else empty.
        arguments: the next piece of the arguments' JSON text; may be empty.

    .. versionadded:: 0.1
    """

    position: int
    name: str
    arguments: str


Delta = TextDelta | ThinkingDelta | CallDelta
"""A piece of an answer that comes while it is made.

.. versionadded:: 0.1
"""


@attrs.frozen(slots=False)
class Reply:
    """A whole answer of a model: the last thing that its stream gives.

    Args:
        message: the assistant's turn, as it goes into the conversation.
        calls: what `Export.parse` made of it, one for each of `message.calls` and in that order: a call to be
            answered, or the error result that answers what is not a valid call.
        usage: what it cost.
        stop: why it ended.

    .. versionadded:: 0.1
    """

    message: Message
    calls: tuple[ToolCall | ToolResult, ...]
    usage: Usage
    stop: Stop


class ForcedTool(NamedTuple):
    """A tool choice: this very tool, by its own name.

    .. versionadded:: 0.1
    """

    name: str


ToolChoice = Literal["auto", "required", "none"] | ForcedTool
"""Whether the model has to call: as it likes, some tool, none, or this one.

.. versionadded:: 0.1
"""


@attrs.frozen(slots=False)
class ModelRequest:
    """One request to a model.

    Args:
        conversation: all of it; the last message is the user's or the tools'. Every call has an id of its own here,
            and a dialect gives the calls of the answer ids that none of them has.
        export: the tools, of the model's own dialect; None: none are there, and the conversation may hold calls of
            earlier ones all the same.
        tool_choice: what the model may or must call; servers ignore it at times, so the loop checks the answer. `none`
            with an export is the last request of a question: the tools stay defined, since providers want those of the
            calls that a conversation holds and keep them in their cache, and none may be called. A dialect whose
            provider has no such choice, or whose servers ignore it, leaves the tools out.
        parallel: whether several calls in one turn are welcome; the loop checks that as well.
        stream: whether deltas are wanted; without, the stream gives the `Reply` alone.
        max_tokens: of output; None: the provider's own limit, or the bridge's where the provider wants one.
        temperature: None: the provider's own.
        options: members to put into the request's body as they are.

    .. versionadded:: 0.1
    """

    conversation: Conversation = attrs.field(converter=unique_ids)
    export: ModelExport | None = None
    tool_choice: ToolChoice = "auto"
    parallel: bool = True
    stream: bool = True
    max_tokens: int | None = None
    temperature: float | None = None
    options: Mapping[str, Any] = attrs.field(factory=dict)


class ModelExport(Export, Protocol):
    """An export that can say more than the core asks for.

    .. versionadded:: 0.1
    """

    @property
    def strict(self) -> Mapping[str, bool]:
        """By the tool's own name: whether the provider holds the model to its schema."""
        ...


class StreamReader(Protocol):
    """Takes the events of one streamed answer, in order. One reader an answer.

    Servers leave connections open behind an answer, or break them off there. A reader may therefore have two
    attributes: `complete`, true from the event on that makes the answer whole (counts of tokens may follow, and are
    waited for a moment), and `done`, true from the one on that nothing follows.

    .. versionadded:: 0.1
    """

    def feed(self, event: str, data: str) -> Iterable[Delta]:
        """One server-sent event: its name (empty where it has none) and its data.

        Raises:
            ModelError: the provider reports an error in mid-stream, or the data is not JSON where JSON is expected.
        """
        ...

    def close(self) -> Reply:
        """The stream ended.

        Raises:
            ModelError: reason `half_answer`: it ended before the answer did.
        """
        ...


class ModelDialect(Dialect, Protocol):
    """How one API speaks: a core dialect that knows whole conversations too. No I/O, no httpx2.

    .. versionadded:: 0.1
    """

    def export(self, tools: Iterable[Tool]) -> ModelExport:
        """Compile the tools; the same tools a second time cost next to nothing."""
        ...

    def body(self, request: ModelRequest, model: str) -> dict[str, Any]:
        """The body of the request as JSON; `model` is the provider's name of it."""
        ...

    def read(self, answer: Any, request: ModelRequest, model: str) -> Reply:
        """A whole answer that was not streamed; `model` is `provider:model`, for `Message.model`.

        Raises:
            ModelError: it is not an answer.
        """
        ...

    def reader(self, request: ModelRequest, model: str) -> StreamReader:
        """What reads a streamed answer."""
        ...


class Model(Protocol):
    """A model that is open: something that answers.

    .. versionadded:: 0.1
    """

    @property
    def name(self) -> str:
        """`provider:model`."""
        ...

    @property
    def dialect(self) -> ModelDialect:
        """What it speaks."""
        ...

    def respond(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[Delta | Reply]]:
        """Ask; the stream gives deltas and, last, one `Reply`. Leaving the block early frees the connection.

        Raises (on entry, or while iterating):
            ModelError: see there.
        """
        ...


class Provider(Protocol):
    """A place where models are, as `provide_models` gives it.

    .. versionadded:: 0.1
    """

    # Properties: a class or an instance may hold them, and nobody sets them.
    @property
    def name(self) -> str:
        """What stands before the colon of `--model`."""
        ...

    @property
    def default_model(self) -> str | None:
        """The model where only the provider is named; None: it has to be named, or the provider finds out."""
        ...

    def missing(self) -> str | None:
        """What a person has to set before this works, as a sentence; None: nothing. Cheap: no network, no keyring."""
        ...

    def open(self, model: str | None) -> AbstractAsyncContextManager[Model]:
        """A model, and what it holds until the block is left.

        Raises:
            ModelError: reason `no_key`, or `no_network` where a server has to be found first.
        """
        ...

    async def list_models(self) -> Sequence[str]:
        """The names of the models that can be had there.

        Raises:
            ModelError: see there.
        """
        ...
