"""Who is calling, what they may use, and what a person is asked for them.

The contract speaks of sessions, and a session is made of what the contract has; so this is the type alone
(`typing.Protocol`), and `Host.session` makes what it says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import attrs

from pegboard._values import Value

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping
    from contextlib import AbstractContextManager

    import trio

    from pegboard.errors import ToolError
    from pegboard.results import ToolResult
    from pegboard.tools import Page, Tool, ToolCall

    Answer = bool | str | Mapping[str, Any] | None
    Confirm = Callable[["Confirmation"], Awaitable[Answer]]
    Sampler = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
    OnProgress = Callable[[str, float, float | None, str | None], Awaitable[None]]

T = TypeVar("T")

CHECKPOINT_S = 0.001
"""Calls in a row that never wait pass a checkpoint at least this often."""
HOST_ENDED = "the host has ended; make its calls inside the block that opened it"
SOURCES_WAIT_S = 35.0
"""How long a call of a name that is not there waits for sources that are about to offer their first tools and could
bring it: longer than the 30 s that a server may take to start, so that the answer says why one did not."""


@attrs.frozen(eq=False, repr=False)
class Confirmation(Value):
    """What a person is asked before a tool runs, or by a running one.

    Answered by True, False, or `"session"`: yes, and do not ask for this very tool again in this session. Where a
    `schema` is there, yes is the object that the person filled in. None: the person left without an answer.

    Args:
        question: what a person reads.
        tool: whose call it is about.
        arguments: of that call, where it has not begun; empty for a question of a running tool.
        session: whose person is asked.
        schema: JSON Schema of an object of plain values that the answer is to be; None: yes or no.
        url: an address that the person is asked to open and to come back from; None: there is none.
        is_running: whether a running tool asks, which a yes "for the session" does not answer.
        is_acceptance: whether yes accepts, from now on and for everybody on this machine, what changed since it was
            first seen: a yes that was given beforehand, or by somebody elsewhere, does not count.

    .. versionadded:: 0.1
    """

    question: str
    tool: Tool
    arguments: Mapping[str, Any]
    session: Session
    schema: Mapping[str, Any] | None = None
    url: str | None = None
    is_running: bool = False
    is_acceptance: bool = False

    @property
    def is_answered(self) -> bool:
        """Whether a yes "for the session" answers it, which was given while the question waited for its turn."""
        return not self.is_running and self.tool.fingerprint in self.session.approvals


class StoredResults(Protocol):
    """Results that were too large to show (`pegboard.result_store.ResultStore`).

    Attributes:
        make_id: makes the id of each.
    """

    make_id: Callable[[], str]

    def page(self, key: str, number: int) -> ToolResult:
        """One page of a result."""
        ...

    def tool_of(self, key: str) -> str:
        """The name of the tool that answered a result; nothing: it is not kept."""
        ...

    def cut(self, result: ToolResult, max_bytes: int) -> ToolResult:
        """Cut a result that is too large, and keep the whole of it."""
        ...


@runtime_checkable
class Session(Protocol):
    """Who is calling and what they may use. Made by `Host.session`.

    Attributes:
        host: the host that the session is of.
        id: unique in this run of the host.
        user_id: who calls, None for nobody; the only identity that a tool may trust.
        channel: how they came: "program", "cli", "chat", "mcp", ...
        profile: the name of the profile that selects their tools, or None.
        read_only: whether the host or the profile is in read-only mode.
        approvals: fingerprints of tools that a person approved for this session.
        approval_timeout_s: how long a person may take to answer, in seconds.
        sampler: the model behind the session, where there is one: `async sampler(request)` takes the parameters of
            MCP's `sampling/createMessage` and gives its result, both as JSON. Who asks it has asked the person first.
        cuts_results: whether a result that is too large is cut, and kept for `read_result`. False: it is given whole,
            to whoever carries it to another host, which cuts it for a session of its own.
        counts_limits: whether cooldown, rate and concurrency of its calls are counted. False: another host, that sent
            them, has counted them; what they call themselves is counted here.
        masks_secrets: whether a model reads the results: then keys and passwords in them are masked (see `[secrets]`).
        reads_with: a session whose reader is that of this one, too: what either has read counts for both (see
            `[flows]`). None: nobody but its own.

    .. versionadded:: 0.1
    """

    id: str
    user_id: str | None
    channel: str
    read_only: bool
    approvals: set[str]
    sampler: Sampler | None
    cuts_results: bool
    counts_limits: bool
    masks_secrets: bool
    reads_with: Session | None
    approval_timeout_s: float

    @property
    def host(self) -> Any:
        """The host that the session is of; `pegboard.protocols.Host` says what it has."""
        ...

    @property
    def kept(self) -> StoredResults:
        """Results that were too large to show."""
        ...

    @property
    def profile(self) -> str | None:
        """The profile that selects the tools of this session."""
        ...

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools this session is offered, by name, as of now; without those that read-only mode would refuse."""
        ...

    def masked(self, value: Any, *, source: str | None = None, target: str | None = None) -> Any:
        """A JSON value or a content block with keys and passwords masked, as results and arguments are: `[secrets]`.

        Args:
            value: what is not of a tool: the messages of a prompt, a resource, the arguments of either.
            source: whose it is, for the model behind the session; nothing is masked where there is none.
            target: the source that it is sent to.

        Raises:
            ToolError: FORBIDDEN, reason `secrets`: the configuration refuses that.

        .. versionadded:: 0.1
        """
        ...

    def note_read(
        self, read: Any, *, source: str | None = None, tool: str | None = None, arguments: Any = None
    ) -> None:
        """Note what the model behind the session reads though no call of the session answered it: a prompt, a resource,
        results of a conversation that goes on. Words of it then count as those of a result (see `[flows]`).

        Args:
            read: JSON, or a `ToolResult`.
            source: whose it is.
            tool: the tool that answered it, in an earlier session; one that is not here any more is nobody's, and so
                is not trusted.
            arguments: of that call.

        .. versionadded:: 0.1
        """
        ...

    def note_defined(self, definition: Mapping[str, Any], *, source: str) -> None:
        """Note what a source says of something that it has beside tools, and that is listed to the model or its client:
        a prompt, a resource. It counts as the definition of a tool does: the places in it that something may be sent
        to.

        Args:
            definition: JSON.
            source: whose it is.

        .. versionadded:: 0.1
        """
        ...

    async def require_flow(self, tool: Tool, arguments: Mapping[str, Any], *, asks: bool = True) -> None:
        """Require that no words which another source said go into what a source is asked beside its tools, or that the
        person lets them: what a call of a tool is asked before it runs (see `[flows]`).

        Args:
            tool: by which a person knows it; `origin.source` is whose it is.
            arguments: what the source would be told.
            asks: whether the person is asked. Where not, single common words pass: somebody may be typing.

        Raises:
            ToolError: FORBIDDEN, reason `flow`.

        .. versionadded:: 0.1
        """
        ...

    def note_said(self, text: str) -> None:
        """Note what the person of the session typed themself, before a model is asked. Words of it are theirs, also
        where an untrusted source says them: a call with these alone needs no question (see `[flows]`).

        Only for what a person typed: no file, no piped text, no earlier conversation and nothing of another program,
        since whoever wrote that would speak for the person. A text of more than 2,000 characters was hardly typed, and
        is not noted.

        .. versionadded:: 0.1
        """
        ...

    def list_tools(self, cursor: str | None = None, limit: int = 100) -> Page:
        """The same, page by page in the order of names.

        Raises:
            ToolError: INVALID_INPUT: the cursor is not one of ours.
        """
        ...

    async def call(
        self,
        name: str,
        arguments: Any = None,
        *,
        id: str | None = None,  # noqa: A002 - a public name
        timeout_s: float | None = None,
    ) -> ToolResult:
        """Call a tool. Any JSON is answered by a `ToolResult`; nothing that a tool does is raised.

        Args:
            name: the tool.
            arguments: a JSON object; checked against the tool's schema before anything runs. Never changed.
            id: of the call, text or an integer; drawn where it is missing.
            timeout_s: bounds everything, waits for approval and limits included, in seconds. The tool's own deadline
                bounds its execution all the same.

        Raises:
            trio.Cancelled: a scope around the call was cancelled.
            RuntimeError: the host has ended.

        .. versionadded:: 0.1
        """
        ...

    async def call_nested(self, name: str, arguments: Any, parent: Any) -> ToolResult:
        """A call that a running tool makes; handlers use `CallContext.call`."""
        ...

    async def call_many(
        self, calls: Iterable[ToolCall | Mapping[str, Any]], *, timeout_s: float | None = None
    ) -> list[ToolResult]:
        """Call several tools; the results come in the order of the calls, and one failure cancels nothing.

        Neighbours overlap if their tools are all read-only or declare that they may (`parallel=True`); any other call
        waits for those before it and holds back those after it.

        .. versionadded:: 0.1
        """
        ...

    def may_overlap(self, name: str) -> bool:
        """Whether a call may run beside others: its tool is read-only, or declares it, or is not there."""
        ...

    def may_wait(self, name: str) -> bool:
        """Whether others could run while a call waits; one of a tool that runs in place, and that nothing guards that
        might wait, is over at once. Before its first call that is not known: it may."""
        ...

    def check(self, name: str, arguments: Any = None) -> ToolResult:
        """What `call` would meet, without running or spending anything.

        The closures of a real call judge who calls and the arguments; the guards of approve and limit say what they
        would ask (`data["asks"]`). An error is the one that the call would answer.

        .. versionadded:: 0.1
        """
        ...

    def refuse_line(self, error: ToolError, *, id: str = "", name: str = "", line: Any = None) -> ToolResult:  # noqa: A002
        """Answer what was not a valid call at all, a broken line of a batch, and let the observers hear it."""
        ...

    def missing(self, name: Any) -> ToolError:
        """Why no tool of this session has the name: NOT_FOUND, with near names and the sources that are not ready; or
        FORBIDDEN, reason `held`, where a person has to accept the tool first.

        `details["sources"]` lists those of them that could have brought it, as `list --sources --json` does.

        .. versionadded:: 0.1
        """
        ...

    async def accept_held(self, name: str, error: ToolError) -> bool:
        """Ask the person about what is held back, once a session; whether a tool of that name is on the board now.

        Args:
            name: of the tool; or, of what else a source offers, what that takes (`ToolSource.question_of_held`).
            error: FORBIDDEN, reason `held`, as a call of it answers; any other error is nobody's question.

        .. versionadded:: 0.1
        """
        ...

    def resource(self, kind: type[T]) -> T:
        """The resource of that type; see `CallContext.resource`."""
        ...

    async def report_progress(self, call_id: str, done: float, total: float | None, message: str | None) -> None:
        """Hand progress to whoever listens."""
        ...

    @property
    def can_ask(self) -> bool:
        """Whether there is somebody to ask."""
        ...

    def nobody_to_ask(self, tool: Tool) -> ToolError:
        """FORBIDDEN: a person must confirm, and there is none."""
        ...

    async def ask(self, tool: Tool, arguments: Mapping[str, Any], question: str, *, is_running: bool = False) -> bool:
        """Ask the person behind the session: before a call, or for one that is running.

        Raises:
            ToolError: FORBIDDEN, reason `confirmation`: there is nobody to ask.
        """
        ...

    async def elicit(
        self, tool: Tool, question: str, *, schema: Mapping[str, Any] | None = None, url: str | None = None
    ) -> Mapping[str, Any] | bool | None:
        """Ask the person behind the session for more than a yes: values of a form, or to visit an address.

        Returns:
            The object that was filled in, or True where no schema was given; False: declined; None: left without an
            answer. What was filled in is as it came: who asked checks it against the schema.

        Raises:
            ToolError: FORBIDDEN, reason `confirmation`: there is nobody to ask.
        """
        ...

    def hold_while_asked(self, scope: trio.CancelScope) -> AbstractContextManager[None]:
        """Within the block the scope's deadline stands still whenever the person behind the session is asked.

        For those who give a whole turn some time, a conversation for one: a person takes as long as a person takes.
        How long that may be is said by `approval_timeout_s`.

        .. versionadded:: 0.1
        """
        ...

    def cut(self, result: ToolResult, max_bytes: int) -> ToolResult:
        """Cut a result that is too large, and offer `read_result` where that was needed."""
        ...
