"""Requests that MCP servers send back while they run: sampling, elicitation, roots; and their notifications.

A server may ask only while a call to it is in flight, and it asks the person of that call: `calling` marks the call.
What comes over the wire does not say which call it belongs to, so a question is answered where every call in flight is
of one session, and declined otherwise: nobody is asked in another's name. A call that was given up counts for a while,
since its server may not know yet. In protocol 2026-07-28 the question is part of the call's own answer, and the call's
own task asks: then it is that call.

Nothing waits for ever: a question ends with its call, and after the time a host gives for an approval. A call may ask
`MAX_ELICITATIONS` times. Texts of a server are cleaned of what hides in them and masked before a person or a log sees
them. Roots, logging and notifications belong to no call.

Shapes: https://modelcontextprotocol.io/specification, "Sampling", "Elicitation", "Roots", "Logging".
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import unquote, urlsplit

from pegboard import CallContext, Origin, Tool, ToolError
from pegboard.config import get_logger
from pegboard.text import clean as sanitised
from pegboard.text import is_page
from pegboard_mcp.client._plain import json_text, plain_surrogates, plain_text
from pegboard_mcp.client.budgets import DAY_S, HOUR_S, KeptBudget
from pegboard_mcp.client.forms import FormError, filled_in, form_of, secret_fields
from pegboard_mcp.client.names import plain_name
from pegboard_mcp.client.transports._lines import LOGGED_BYTES, LOGGED_LINES, LogBudget
from pegboard_mcp.texts import MAX_TEXT, clean

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    import mcp_types as types
    import trio
    from mcp.client.session import ClientRequestContext, IncomingMessage

    from pegboard import Session
    from pegboard_mcp.client.journal import Journal
    from pegboard_mcp.definitions import ServerDefinition

    AskPerson = Callable[..., Awaitable[Mapping[str, Any] | bool | None]]
    ByHandAnswers = Callable[[dict[str, Any], AskPerson | None], Awaitable[Mapping[str, Any] | None]]

GIVEN_UP_S = 60.0
"""How long after a call was cancelled its server may still ask for it."""
MAX_ELICITATIONS = 20
"""How often one call may ask."""
MAX_TRIES = 3
"""How often a person is asked to fill in one form, when what was filled in does not fit."""
MAX_TOKENS = 4_096
"""What a server may have a model write at once."""
MAX_MESSAGES = 100
MAX_REQUEST = 4_000_000
"""What a server may send to a model, images and sound included, in characters of JSON."""
MAX_SAID = 8_000_000
"""What a person is shown of it; no request is so long, so that nothing is cut."""
MAX_URL = 2_000
MAX_LOG = 2_000
MAX_LOGGERS = 50
"""How many loggers one server may have; those after them log as the server."""
MAX_FAULTS = 10
"""How many messages that are not valid are logged as warnings."""

REJECTED = -1
"""The person said no to sampling; the number that the specification shows."""
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "notice": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
    "alert": logging.CRITICAL,
    "emergency": logging.CRITICAL,
}
"""MCP's levels, those of syslog, as the standard ones."""

_NO_WORD = re.compile(r"[^\w-]+")

log = get_logger("pegboard.mcp.asks")
notice = logging.getLogger("pegboard.notice")  # what a person reads without looking for it


class RefusedError(Exception):
    """What a server asked is refused, as a JSON-RPC error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Elicitation:
    """Answers the requests of one server, and takes its notifications.

    Args:
        definition: the server.
        approval_s: how long a person may take to answer, in seconds; None: as long as the host's approvals may.
        counted_in: the file that what it took is kept in; None: it is counted for as long as this lives.

    .. versionadded:: 0.1
    """

    def __init__(
        self, definition: ServerDefinition, *, approval_s: float | None = None, counted_in: Path | None = None
    ) -> None:
        self.definition = definition
        self.approval_s = approval_s
        key = f"{definition.name}\0{definition.identity}\0"
        self.questions = KeptBudget(definition.asks_per_hour, HOUR_S, counted_in, f"{key}asks")
        self.tokens = KeptBudget(definition.sampling_tokens_per_day, DAY_S, counted_in, f"{key}tokens")
        self.over: set[str] = set()  # budgets of which the person was told that they were used up
        self._calls: dict[Call, None] = {}  # in the order they began
        self._given_up: dict[str, float] = {}  # sessions of calls that were cancelled, until when they count
        self._log = logging.getLogger(f"pegboard.mcp.server.{definition.name}")
        self._loggers: dict[str, logging.Logger] = {}
        self._budget = LogBudget(LOGGED_LINES, LOGGED_BYTES)
        self._faults = 0
        self.journal: Journal | None = None
        """Where what the server logs is kept."""
        self.by_hand: ByHandAnswers | None = None
        """Who answers everything that it asks, where a person inspects it: see `McpSource.answer_by`."""

    def call_here(self) -> Call | None:
        """The call in whose task this is, else the one that began last; None: none is in flight."""
        import trio

        task = trio.lowlevel.current_task()
        newest = next(reversed(self._calls), None)
        return next((call for call in self._calls if call.task is task), newest)

    def calling(self, asker: CallContext | Session) -> Call:
        """A call that is in flight while the block runs; its questions end with the block."""
        return Call(self, asker)

    async def answer(self, method: str, params: Any) -> dict[str, Any]:
        """Answer a request that came over the wire, as JSON.

        Raises:
            RefusedError: it is refused.
        """
        import trio

        if method == "roots/list":
            return self.roots()
        calls, here = self._calls, self.call_here()
        if here is not None and here.task is trio.lowlevel.current_task():
            return await here.answer(method, params)
        if len({call.session.id for call in calls} | self._still_asking()) != 1 or not calls:
            if method == "elicitation/create":
                return {"action": "decline"}
            raise RefusedError(
                REJECTED, "declined: no call is in flight" if not calls else "declined: calls of several sessions are"
            )
        assert here is not None
        return await here.answer(method, params)

    def _still_asking(self) -> set[str]:
        import trio

        now = trio.current_time()
        self._given_up = {session: until for session, until in self._given_up.items() if until > now}
        return set(self._given_up)

    def give_up(self, session: Session) -> None:
        """A call of this session was cancelled, and the server may still be at it."""
        import trio

        self._still_asking()
        self._given_up[session.id] = trio.current_time() + GIVEN_UP_S

    def roots(self) -> dict[str, Any]:
        """The folders that the server is shown, as `roots/list` gives them."""
        return {"roots": [_root_of(root) for root in self.definition.roots]}

    def shown(self, text: Any, limit: int) -> str:
        """A text of the server as a person may see it. What is cleaned away may part a secret, or take some of it
        along: so it is masked before and after.
        """
        mask = self.definition.mask
        return plain_text(mask(clean(mask(text if isinstance(text, str) else ""))[0]), limit)

    # What the SDK's `ClientSession` takes.

    def callbacks(self) -> dict[str, Any]:
        """All of it, by the names of its arguments; what the server may not ask it is not told of."""
        import mcp_types as types

        definition = self.definition
        every = types.SamplingCapability(
            context=types.SamplingContextCapability(), tools=types.SamplingToolsCapability()
        )
        return {
            **({"sampling_capabilities": every} if self.by_hand is not None else {}),
            **({"sampling_callback": self.sampling_callback} if definition.may_sample else {}),
            **({"elicitation_callback": self.elicitation_callback} if definition.may_elicit else {}),
            "list_roots_callback": self.list_roots_callback,
            "logging_callback": self.logging_callback,
            "message_handler": self.message_handler,
        }

    async def sampling_callback(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.CreateMessageResultWithTools | types.ErrorData:
        """`sampling/createMessage`."""
        import mcp_types as types

        answer = await self._answer_of("sampling/createMessage", params)
        if isinstance(answer, types.ErrorData):
            return answer
        kind = types.CreateMessageResultWithTools if isinstance(answer["content"], list) else types.CreateMessageResult
        try:
            return kind.model_validate(answer)
        except ValueError:
            return types.ErrorData(code=INTERNAL_ERROR, message="the model's answer is not a message of MCP")

    async def elicitation_callback(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        """`elicitation/create`, form and url."""
        import mcp_types as types

        answer = await self._answer_of("elicitation/create", params)
        return answer if isinstance(answer, types.ErrorData) else types.ElicitResult.model_validate(answer)

    async def list_roots_callback(self, context: ClientRequestContext) -> types.ListRootsResult | types.ErrorData:
        """`roots/list`."""
        import mcp_types as types

        return types.ListRootsResult.model_validate(self.roots())

    async def logging_callback(self, params: types.LoggingMessageNotificationParams) -> None:
        """`notifications/message`."""
        self.tell(params.level, params.logger, params.data)

    async def message_handler(self, message: IncomingMessage) -> None:
        """Every notification, and what the transport met that is not a message: both are logged. That a list or a
        resource changed, the connection itself tells its source."""
        if isinstance(message, Exception):
            self.hear_fault(message)
        else:
            self._log.debug("it told of %s", message.method)

    async def _answer_of(self, method: str, params: Any) -> Any:
        import mcp_types as types

        raw = params.model_dump(by_alias=True, mode="json", exclude_none=True)
        try:
            return await self.answer(method, raw)
        except RefusedError as refused:
            return types.ErrorData(code=refused.code, message=refused.message)

    # What a server tells.

    def tell(self, level: Any, logger: Any, data: Any) -> None:
        """Log what a server logs, under `pegboard.mcp.server.NAME`, and below it by the server's own logger."""
        to = self._logger_of(logger) if isinstance(logger, str) and logger else self._log
        number = LEVELS.get(level, logging.INFO) if isinstance(level, str) else logging.INFO
        size = min(len(data), MAX_LOG) if isinstance(data, str) else 0
        is_logged = to.isEnabledFor(number)
        if (is_logged or self.journal is not None) and self._budget.takes(size, monotonic()):
            if (count := self._budget.count()) > 0:
                self._log.info("%d more lines were not logged", count)
            text = data if isinstance(data, str) else json_text(data) or "(no JSON)"
            if self.journal is not None:
                self.journal.note(f"{logging.getLevelName(number).lower()}: {text[:MAX_LOG]}")
            if is_logged:
                to.log(number, "%s", self.definition.mask_words(self.shown(text, MAX_LOG)))

    def tell_refused(self, method: str, why: str) -> None:
        """Tell the person of a question that was refused before they were asked it."""
        what = "a question to you" if method == "elicitation/create" else "a request to your model"
        notice.warning(
            "%s of the MCP server %r was refused, and the server was told why: %s",
            what, self.definition.name, self.shown(why, 300),
        )  # fmt: skip

    def hear_fault(self, problem: Exception) -> None:
        """Log what came that is not a message, the first ones as warnings; a flood of them is for debugging."""
        self._faults += 1
        level = logging.WARNING if self._faults <= MAX_FAULTS else logging.DEBUG
        self._log.log(
            level, "it sent what is not a message: %s", self.shown(f"{type(problem).__name__}: {problem}", 200)
        )

    def progress_of(self, context: CallContext) -> Callable[[float, float | None, str | None], Awaitable[None]]:
        """What hears the progress of a call, as the SDK's dispatcher calls it."""

        async def on_progress(done: float, total: float | None = None, message: str | None = None) -> None:
            if not math.isfinite(done) or (total is not None and not math.isfinite(total)):
                return
            try:
                await context.progress(done, total, self.shown(message, 500) if message else None)
            except Exception:
                log.warning("a listener for progress of %r failed", context.tool.name, exc_info=True)

        return on_progress

    def _logger_of(self, name: str) -> logging.Logger:
        known = self._loggers.get(name)
        if known is None:
            if len(self._loggers) >= MAX_LOGGERS or len(name) > 200:
                return self._log
            words = [word for word in (_NO_WORD.sub("-", part).strip("-")[:40] for part in name.split(".")) if word]
            known = self._loggers[name] = self._log.getChild(".".join(words[:5])) if words else self._log
        return known


class Call:
    """One call in flight; a context manager, for the task that makes the call.

    .. versionadded:: 0.1
    """

    __slots__ = ("_asked", "_elicitation", "_over", "_scopes", "_tool", "context", "session", "task")

    def __init__(self, elicitation: Elicitation, asker: CallContext | Session) -> None:
        self._elicitation = elicitation
        self.context: CallContext | None = None
        if isinstance(asker, CallContext):
            self.context, self.session = asker, asker.session
        else:
            self.session = asker
        self._tool: Tool | None = None if self.context is None else self.context.tool
        self._asked = 0
        self._over = False
        self._scopes: set[trio.CancelScope] = set()
        self.task: trio.lowlevel.Task | None = None

    def __enter__(self) -> Call:
        import trio

        self.task = trio.lowlevel.current_task()
        self._elicitation._calls[self] = None
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        del self._elicitation._calls[self]
        if kind is not None and not issubclass(kind, Exception):
            self._elicitation.give_up(self.session)
        self._over = True
        for scope in tuple(self._scopes):
            scope.cancel()

    async def answer(self, method: str, params: Any) -> dict[str, Any]:
        """Answer a request that belongs to this call, as JSON.

        Raises:
            RefusedError: it is refused.
        """
        if method == "roots/list":
            return self._elicitation.roots()
        if method not in ("sampling/createMessage", "elicitation/create"):
            raise RefusedError(METHOD_NOT_FOUND, f"there is no {plain_text(method, 60)} here")
        self._require_allowed(method)
        self._asked += 1
        if self._asked == MAX_ELICITATIONS + 1:
            self._elicitation.tell_refused(method, f"one call may ask {MAX_ELICITATIONS} times")
        if self._over or self._asked > MAX_ELICITATIONS:
            raise RefusedError(REJECTED, "declined: the call is over" if self._over else "declined: it asked too often")
        try:
            return await self._asked_of_person(method, params)
        except RefusedError as refused:
            if refused.code == INVALID_PARAMS:  # nobody was asked, and the person should know that something wanted to
                self._elicitation.tell_refused(method, refused.message)
            raise

    def _require_allowed(self, method: str) -> None:
        definition = self._elicitation.definition
        may, key = (
            (definition.may_sample, "may_sample")
            if method == "sampling/createMessage"
            else (definition.may_elicit, "may_elicit")
        )
        if not may:
            raise RefusedError(METHOD_NOT_FOUND, f"declined: this host does not let you ask that ({key} = false)")

    async def _asked_of_person(self, method: str, params: Any) -> dict[str, Any]:
        import trio

        if not isinstance(params, Mapping):
            raise RefusedError(INVALID_PARAMS, "params: expected an object")
        own_s = self._elicitation.approval_s
        with trio.move_on_after(self.session.approval_timeout_s if own_s is None else own_s) as scope:
            self._scopes.add(scope)
            try:
                if method == "sampling/createMessage":
                    return await self._sample(params)
                return await self._elicit(params)
            finally:
                self._scopes.discard(scope)
        if method == "elicitation/create":
            return {"action": "cancel"}
        raise RefusedError(REJECTED, "nobody agreed in time")

    # A model's answer.

    async def _sample(self, params: Mapping[str, Any]) -> dict[str, Any]:
        sampler = self.session.sampler
        if sampler is None:
            raise RefusedError(METHOD_NOT_FOUND, "declined: there is no model behind this session")
        request = self._request_of(params)
        tokens, taken = self._elicitation.tokens, request["maxTokens"] + _tokens_in(request)
        # What is read counts, and what may be written: no answer says what it took. It is taken before anybody is
        # asked, since others ask meanwhile.
        if await tokens.take_kept(taken) > 0:
            self._refuse_over("sampling/createMessage", f"{tokens.most:,} tokens a day", "sampling_tokens_per_day")
        try:
            is_agreed = await self._consents(request)
        except BaseException:
            await tokens.give_back_kept(taken)
            raise
        if not is_agreed:
            await tokens.give_back_kept(taken)
            raise RefusedError(REJECTED, "User rejected sampling request")
        try:
            answer: Any = await sampler(request)
        except ToolError as problem:
            why = self.session.masked(problem.message, target=self._elicitation.definition.name)
            raise RefusedError(INTERNAL_ERROR, plain_text(why, 500)) from problem
        except Exception as problem:
            log.warning("the model behind the session failed", exc_info=True)
            raise RefusedError(INTERNAL_ERROR, "the model failed") from problem
        if not isinstance(answer, Mapping) or not isinstance(answer.get("content"), (Mapping, list)):
            raise RefusedError(INTERNAL_ERROR, "the model gave no answer")
        try:  # a model may have read keys that are not this server's, and words that others said
            answer = self.session.masked(dict(answer), target=self._elicitation.definition.name)
            await self.session.require_flow(self._answered, {"answer": _said(answer["content"])})
        except ToolError as problem:  # which quotes the very words
            log.info("an answer of the model was not given to the server: %s", plain_text(problem.message, 500))
            raise RefusedError(REJECTED, "declined: nobody agreed to give you the answer") from problem
        return {"role": "assistant", "model": "unknown", **answer}

    def _refuse_over(self, method: str, budget: str, key: str) -> NoReturn:
        why = f"declined: the budget of {budget} is used up ({key})"
        if key not in self._elicitation.over:  # once: what is over a budget comes often
            self._elicitation.over.add(key)
            self._elicitation.tell_refused(method, why)
        raise RefusedError(REJECTED, why)

    def _request_of(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters as they go to the model: bounded, with texts that hide nothing."""
        messages, tokens = params.get("messages"), params.get("maxTokens")
        if not isinstance(messages, list) or not 0 < len(messages) <= MAX_MESSAGES:
            many = f", got {len(messages):,}" if isinstance(messages, list) else ""
            raise RefusedError(INVALID_PARAMS, f"messages: expected 1 to {MAX_MESSAGES}{many}")
        if type(tokens) is not int or tokens < 1:
            raise RefusedError(INVALID_PARAMS, "maxTokens: expected a positive integer")
        if params.get("tools") or params.get("toolChoice"):
            raise RefusedError(INVALID_PARAMS, "tools: the capability sampling.tools was not declared")
        text = json_text(params)
        if text is None or len(text) > MAX_REQUEST:
            long = "no JSON" if text is None else f"{len(text):,} characters"
            raise RefusedError(INVALID_PARAMS, f"the request: {long}, expected at most {MAX_REQUEST:,} characters")
        if not all(isinstance(one, Mapping) and one.get("role") in ("user", "assistant") for one in messages):
            raise RefusedError(INVALID_PARAMS, "messages: expected each to have the role user or assistant")
        # The context of other servers is not a server's to ask for; the rest goes as it came.
        taken = {key: value for key, value in params.items() if key not in ("includeContext", "task", "_meta")}
        request: dict[str, Any] = _cleaned(taken)
        request["maxTokens"] = min(tokens, MAX_TOKENS)
        return request

    async def _consents(self, request: Mapping[str, Any]) -> bool:
        # All that is sent: who agrees has to have seen it. How it is shown is for the interface to decide.
        lines = [f"{one.get('role')}: {_said(one.get('content'))}" for one in request["messages"]]
        if isinstance(system := request.get("systemPrompt"), str):
            lines.insert(0, f"system: {system}")
        rest = {key: value for key, value in request.items() if key not in ("messages", "systemPrompt", "maxTokens")}
        lines += [f"{key}: {json_text(value)}" for key, value in rest.items()]
        question = (
            f"The server {self._elicitation.definition.name!r} asks your model for an answer of up to "
            f"{request['maxTokens']} tokens. Send it this, and give the answer to the server?"
        )
        question = f"{question}\n{self._elicitation.definition.mask(plain_text(chr(10).join(lines), MAX_SAID))}"
        try:  # `elicit`, since a yes "for the session" is about this question and not about the tool
            return await self.ask_person(question) is True
        except ToolError as problem:
            raise RefusedError(REJECTED, "declined: there is nobody to agree") from problem

    # A form, or a page.

    async def _elicit(self, params: Mapping[str, Any]) -> dict[str, Any]:
        mode = params.get("mode", "form")
        elicitation = self._elicitation
        message = params.get("message")
        if isinstance(message, str) and len(message) > MAX_TEXT:
            raise _too_long("message", message)
        text = elicitation.shown(message, MAX_SAID)
        if mode == "url":
            url = _url_of(params.get("url"), elicitation.definition)
            question = f"The server {elicitation.definition.name!r} asks you to open a page at {_host_of(url)}: {text}"
            return {"action": _action(await self._ask(question, url=url))}
        if mode != "form":
            raise RefusedError(INVALID_PARAMS, f"mode: expected form or url, got {plain_text(mode, 40)!r}")
        try:
            form = form_of(params.get("requestedSchema"), self._shown_whole)
        except FormError as problem:
            raise RefusedError(INVALID_PARAMS, plain_text(str(problem), 300)) from problem
        secrets = secret_fields(form, text)
        about = f" for what looks like a password or a key ({', '.join(secrets[:5])})" if secrets else ""
        question = f"The server {elicitation.definition.name!r} asks{about}: {text}"
        faults: list[str] = []
        for _ in range(MAX_TRIES):
            again = "".join(f"\n- {fault}" for fault in faults[:10])
            answer = await self._ask(f"{question}\nNot yet right:{again}" if faults else question, schema=form)
            if not isinstance(answer, Mapping):
                return {"action": _action(answer)}
            content, faults = filled_in(form, answer)
            if not faults:
                return self._given(form, content)
        return {"action": "cancel"}

    def _given(self, form: Mapping[str, Any], content: dict[str, Any]) -> dict[str, Any]:
        """What was filled in, as the server is given it. A client may have its model fill in a form, and that may have
        read keys: they are masked as in arguments. What a person types here is theirs to say."""
        if self.session.channel == "mcp":
            try:
                given = self.session.masked(content, target=self._elicitation.definition.name)
            except ToolError as problem:
                raise RefusedError(REJECTED, plain_text(problem.message, 500)) from problem
            if given != content:
                content, faults = filled_in(form, given)
                if faults:
                    return {"action": "decline"}
        return {"action": "accept", "content": content}

    def _shown_whole(self, text: str) -> str:
        if len(text) > MAX_TEXT:  # who answers has to have seen all of it
            raise _too_long("requestedSchema", text)
        return self._elicitation.shown(text, MAX_SAID)

    async def _ask(
        self, question: str, *, schema: Mapping[str, Any] | None = None, url: str | None = None
    ) -> Mapping[str, Any] | bool | None:
        try:
            return await self.ask_person(question, schema=schema, url=url)
        except ToolError:
            return False  # there is nobody to ask

    async def ask_person(self, question: str, **wanted: Any) -> Mapping[str, Any] | bool | None:
        """Ask the person behind the session; the deadlines of a tool's call stand still meanwhile."""
        questions = self._elicitation.questions
        if self.session.can_ask and await questions.take_kept() > 0:
            self._refuse_over("elicitation/create", f"{questions.most:,} questions an hour", "asks_per_hour")
        if self.context is not None:
            return await self.context.elicit(question, **wanted)
        return await self.session.elicit(self._asking, question, **wanted)

    @property
    def _answered(self) -> Tool:
        """What stands for the server where a person is asked about what a model answered it."""
        name = self._elicitation.definition.name
        schema = {"type": "object", "properties": {"answer": {"type": "string"}}}
        return Tool(name=plain_name(name)[:64], handler=_nothing, input_schema=schema, origin=Origin(source=name))

    @property
    def _asking(self) -> Tool:
        """The tool that a person is told of; where a prompt or a resource asks, one that stands for the server."""
        if self._tool is None:
            name = self._elicitation.definition.name
            self._tool = Tool(name=plain_name(name)[:64], handler=_nothing, origin=Origin(source=name))
        return self._tool


async def _nothing() -> None:
    """Stands for what is not a tool."""


def _root_of(text: str) -> dict[str, str]:
    """A configured folder, a path or the URI of one."""
    from pathlib import Path, PurePosixPath

    if text.startswith("file://"):
        return {"uri": text, "name": PurePosixPath(unquote(urlsplit(text).path)).name or text}
    folder = Path(text).absolute()
    return {"uri": folder.as_uri(), "name": folder.name or text}


def _too_long(what: str, text: str) -> RefusedError:
    return RefusedError(INVALID_PARAMS, f"{what}: expected at most {MAX_TEXT:,} characters, got {len(text):,}")


def _action(answer: object) -> str:
    return "accept" if answer is True else "cancel" if answer is None else "decline"


def _url_of(raw: Any, definition: ServerDefinition) -> str:
    """The address as it is shown and opened."""
    if not isinstance(raw, str) or len(raw) > MAX_URL or not is_page(raw):
        raise RefusedError(INVALID_PARAMS, "url: expected an address of http or https, in ASCII, without a user in it")
    if not may_open(definition, raw):
        raise RefusedError(INVALID_PARAMS, "url: expected one of your own origin, or a public one over https")
    return raw


def may_open(definition: ServerDefinition, url: str) -> bool:
    """Whether a server may have a person open that page: one that shows where it leads, and where the server could have
    them log in, too. A program that is not confined is of this machine, and may have a page here."""
    if not is_page(url) or (definition.url is None and not definition.confine):
        return is_page(url)
    from pegboard_mcp.client.oauth import may_name

    return may_name(None if definition.url is None else re.sub("(?i)^ws", "http", definition.url), url)


def _host_of(url: str) -> str:
    return urlsplit(url).netloc


def _said(content: Any) -> str:
    """What a message holds: its texts, of images and sound how much there is, and everything else as JSON."""
    return "\n".join(map(_said_of, content if isinstance(content, list) else [content]))


def _said_of(block: Any) -> str:
    kind = block.get("type") if isinstance(block, Mapping) else None
    if kind == "text" and isinstance(block.get("text"), str) and block.keys() <= {"type", "text"}:
        return str(block["text"])
    if kind in ("image", "audio") and isinstance(block.get("data"), str):
        told = {key: value for key, value in block.items() if key not in ("type", "data")}
        return f"[{kind}, {len(block['data']):,} characters of base64, {json_text(told)}]"
    return json_text(block) or "[no JSON]"


def _tokens_in(value: Any, key: str = "") -> int:
    """About how many tokens a model reads of a request: one for four bytes of text, which is what tokenizers of most
    languages come to or more, and one for 300 letters of an image or of sound in base64."""
    if isinstance(value, str):
        return -(-len(value) // 300) if key == "data" else -(-len(value.encode("utf-8", "replace")) // 4)
    if isinstance(value, Mapping):
        return sum(_tokens_in(item, name) for name, item in value.items())
    return sum(_tokens_in(item, key) for item in value) if isinstance(value, list) else 0


def _cleaned(value: Any, key: str = "") -> Any:
    """A request whose texts hide nothing; its depth is bounded, since it was written as JSON before."""
    if isinstance(value, str):
        return _clean_whole(value) if key in ("text", "systemPrompt") else sanitised(plain_surrogates(value))[0]
    if isinstance(value, Mapping):
        return {name: _cleaned(item, name) for name, item in value.items()}
    return [_cleaned(item, key) for item in value] if isinstance(value, list) else value


def _clean_whole(text: str) -> str:
    if len(text) > MAX_TEXT:
        raise _too_long("text", text)
    return clean(text)[0]
