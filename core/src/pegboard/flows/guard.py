"""Notes what untrusted sources answer, and asks a person before it goes into a tool that could do harm with it.

A result of an untrusted source labels the session in which it was read: what it says is kept (`WordsRead`), in bounds
and for as long as the session lives. A tool of another source that is not read-only, reaches beyond the host or reads
secrets is asked about where words of its arguments stand in that. More is not claimed: where nothing is found, a model
may all the same do what a page told it to, in words of its own.

Precedents: the labels of FIDES (Costa et al., "Securing AI Agents with Information-Flow Control", 2025) and the
capabilities of CaMeL (Debenedetti et al., "Defeating Prompt Injections by Design", 2025). Both follow a value through a
planner of their own. A host has no planner: it sees calls and results of models that it does not run, so it compares.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from functools import partial
from itertools import chain, filterfalse
from types import MethodType
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from pegboard._beside import beside_loop, size_of
from pegboard._encodings import Part, decoded, may_hold_forms
from pegboard.content import TextContent, text_in
from pegboard.contract import Guard, Stage
from pegboard.errors import ErrorCode, ToolError
from pegboard.flows.definitions import Definitions
from pegboard.flows.passages import is_passage
from pegboard.flows.refusals import MOST, Refusals
from pegboard.flows.said import WordsSaid
from pegboard.flows.words import Label, Match, WordsRead, chosen, is_common, texts_in, unsaid
from pegboard.limits import LONG_TEXT
from pegboard.results import ToolResult
from pegboard.schema.jsontext import shorten_text
from pegboard.text import CLEANED
from pegboard.tools import READ_RESULT_NAME

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from pegboard.config._policies import PolicyTable
    from pegboard.context import CallContext
    from pegboard.session import Session
    from pegboard.tools import Origin, Tool

    Found = tuple[list[Match], list[Label]]
    """Words of others, and the sources of which more was read than is kept."""

MEMORY = "memory"
"""The tag of tools that keep what a model is to know in other sessions."""
MAX_SHOWN = 5
"""How many values a question shows; the arguments stand below it as a whole."""
MAX_QUOTE = 80
MAX_NAME = 100
"""Characters of a name that somebody else gave: of an argument, of a tool in a saved conversation."""
AROUND = 40
"""Characters before and behind the marked words."""
MAX_MAYBE = 8_000
"""Letters of bytes that may be a text."""
MAX_OURS = 20
"""Characters of the name of a detail: a longer one is hardly ours."""
MAX_MARKED = 400
"""Characters of marked words that follow each other."""


class Flows:
    """What the sessions of one board have read of untrusted sources.

    Args:
        settings: `[flows]`.
        is_untrusted: whether what comes from there is of a source that nobody has said to trust.
        origin_of: the origin of what a source has.
    """

    def __init__(
        self, settings: PolicyTable, is_untrusted: Callable[[Origin], bool], origin_of: Callable[[str], Origin]
    ) -> None:
        self._settings = settings
        self._is_untrusted = is_untrusted
        self._origin_of = origin_of
        self._definitions = Definitions()
        self._read: WeakKeyDictionary[Session, WordsRead] = WeakKeyDictionary()
        self._said: WeakKeyDictionary[Session, WordsSaid] = WeakKeyDictionary()
        self._refused: WeakKeyDictionary[Session, Refusals] = WeakKeyDictionary()
        # Of all tools, since the context of a call knows its own: nearly every tool of a large board has these guards.
        self._result_noted, self._page_noted = _noting(self._note_result), _noting(self._note_page)
        self._asks, self._foresees = self._check, self._peek
        self._asks_passages = partial(self._check, passages=True)
        self._foresees_passages = partial(self._peek, passages=True)

    def guards_of(self, tool: Tool) -> list[Guard]:
        """What notes the results of a tool, and what asks before its calls."""
        guards: list[Guard] = []
        if tool.name == READ_RESULT_NAME and tool.origin.plugin == "core":
            guards.append(self._page_noted)
        elif (label := self._label_of(tool)) is not None:
            guards.append(self._result_noted)
            self._definitions.note(label._replace(shown=f"the definitions of {tool.origin}"), tool)
        said = self._settings.said_to(tool)
        is_asked = said not in (None, "allow") or (said is None and could_harm(tool))
        # It does no harm, as its source says, which is told what is looked for all the same.
        passages = said is None and not is_asked and self._is_untrusted(tool.origin)
        if is_asked or passages:
            peek = MethodType(self._foresees_passages if passages else self._foresees, tool)  # half of a `partial`
            asks = self._asks_passages if passages else self._asks
            check = asks if _source_of_calls(tool) is None else _asks_itself
            guards.append(Guard(name="flows", stage=Stage.APPROVE, check=check, peek=peek))
        return guards

    def _label_of(self, one: Tool | str) -> Label | None:
        """The label of what a tool answers, or of what a source has beside tools; None: nobody is asked about it."""
        if isinstance(one, str):
            origin = self._origin_of(one)
            said, shown = self._settings.said_of(origin), str(origin)
        else:
            origin, said, shown = one.origin, self._settings.said_from(one), shown_source(one)
        if said == "allow" or (said is None and not self._is_untrusted(origin)):
            return None
        return Label(key_of(origin), shown, said, plugin_key_of(origin))

    def _labels_of(self, tool: Tool, session: Session, arguments: Any, read: Any) -> Iterator[tuple[Label, Any]]:
        """Whose each part of what a call answered is: a tool that serves several sources tells it by `said_by(session,
        arguments, result)` of its handler; None: of its plugin, whichever source said it."""
        if (label := self._label_of(tool)) is None:
            return
        said_by = getattr(tool.handler, "said_by", None) if isinstance(read, ToolResult) else None
        for source, said in [(None, read)] if said_by is None else said_by(session, arguments, read):
            if source is None:
                yield label, said
            elif label.policy is not None:
                yield label._replace(key=f"source {source}"), said
            elif (own := self._label_of(source)) is not None:
                yield own, said

    def note_read(self, session: Session, read: Any, by: Tool | str | None, name: str, arguments: Any) -> None:
        """See `Session.note_read`.

        Args:
            by: the tool or the source; None: nobody who is here.
            name: how it was called.
        """
        if by is None or isinstance(by, str):
            label = Label(f"tool {name}", f"`{shorten_text(name, MAX_NAME)}`") if by is None else self._label_of(by)
            labels = [] if label is None else [(label, read)]
        else:
            labels = list(self._labels_of(by, session, arguments, read))
        for label, said in labels:
            self._note(session, label, list(_texts_of(said)), arguments)

    def note_defined(self, definition: Mapping[str, Any], source: str) -> None:
        """See `Session.note_defined`."""
        if (label := self._label_of(source)) is not None:
            self._definitions.note(label._replace(shown=f"the definitions of {label.shown}"), definition)

    def note_refused(self, session: Session, tool: Tool, refusal: ToolError, arguments: Any) -> None:
        """Note what the refusal of arguments quotes of the tool's schema: values, patterns, names. What came instead is
        the caller's own."""
        if refusal.code is ErrorCode.INVALID_INPUT and (label := self._label_of(tool)) is not None:
            faults = refusal.details.get("faults") or ()
            quoted = [one[part] for one in faults for part in ("path", "expected", "hint") if one.get(part)]
            self._note(session, label, ["\n".join(quoted)] if quoted else [], arguments)

    def note_said(self, session: Session, text: str) -> None:
        """See `Session.note_said`."""
        self._said.setdefault(session, WordsSaid()).note(text)
        self._refused.pop(session, None)  # they may want now what they did not want

    def _note(self, session: Session, label: Label, texts: list[str], arguments: Any = None) -> None:
        if texts:
            reader = session.reads_with or session
            read = self._read.get(reader)
            if read is None:
                read = self._read[reader] = WordsRead(self._definitions.say)
            read.note(label, texts, arguments)

    def _note_result(self, context: CallContext, result: ToolResult) -> ToolResult:
        session, arguments = context.session, context.arguments
        for label, said in self._labels_of(context.tool, session, arguments, result):
            self._note(session, label, list(_texts_of(said)), arguments)
        return result

    def _note_page(self, context: CallContext, result: ToolResult) -> ToolResult:
        """Of `read_result`: of a result that is longer than what is kept of it, this page counts from now on."""
        if answered := context.session.kept.tool_of(context.arguments["id"]):
            context.session.note_read(result, tool=answered)
        return result

    _note_result.reads_only = _note_page.reads_only = True  # type: ignore[attr-defined]

    # -- asking before calls that words of untrusted sources would go into

    def _check(
        self, context: CallContext, arguments: Mapping[str, Any], *, passages: bool = False
    ) -> Awaitable[ToolError | None] | ToolError | None:
        tool, session = context.tool, context.session
        others = self._others(tool, session, arguments, passages=passages)
        return None if others is None else self._judged(tool, session, arguments, others)

    def _judged(
        self, tool: Tool, session: Session, arguments: Mapping[str, Any], others: Others
    ) -> Awaitable[ToolError | None] | ToolError | None:
        read = others.read
        if size_of(arguments) > LONG_TEXT or self._definitions.is_behind or (read is not None and read.is_behind):
            return self._judged_beside_loop(tool, session, arguments, others)
        asked = self._refusal_or_question(tool, session, *self._find(tool, arguments, others))
        return self._ask(tool, session, arguments, asked) if isinstance(asked, _Question) else asked

    async def _judged_beside_loop(
        self, tool: Tool, session: Session, arguments: Mapping[str, Any], others: Others
    ) -> ToolError | None:
        found, dropped = await beside_loop(self._find, tool, arguments, others)
        asked = self._refusal_or_question(tool, session, found, dropped)
        return await self._ask(tool, session, arguments, asked) if isinstance(asked, _Question) else asked

    def _peek(
        self, tool: Tool, session: Session, arguments: Mapping[str, Any], *, passages: bool = False
    ) -> ToolError | str | None:
        others = self._others(tool, session, arguments, passages=passages)
        asked = others and self._refusal_or_question(tool, session, *self._find(tool, arguments, others))
        return f"asks: {asked.text}" if isinstance(asked, _Question) else asked

    async def require(self, session: Session, tool: Tool, arguments: Mapping[str, Any], *, asks: bool) -> None:
        """See `Session.require_flow`."""
        others = None if self._settings.said_to(tool) == "allow" else self._others(tool, session, arguments)
        if others is None:
            return
        if asks:
            refusal = self._judged(tool, session, arguments, others)
            if refusal is not None and not isinstance(refusal, ToolError):
                refusal = await refusal
            if refusal is not None:
                raise refusal
            return
        found, _ = await beside_loop(self._find, tool, arguments, others)
        if told := [one for one in found if not is_common(one.plain)]:
            raise _refusal(tool, told, [], f"{_said(tool, told, [])}, and nobody is asked about that; {_how(tool)}")

    async def _ask(
        self, tool: Tool, session: Session, arguments: Mapping[str, Any], asked: _Question
    ) -> ToolError | None:
        first = asked.text.partition("\n")[0]
        refused = self._refused.setdefault(session, Refusals())
        sources = frozenset(label.key for label in ([one.label for one in asked.found] or asked.dropped))
        if (left_s := refused.left_s(tool.name, sources)) > 0:
            why = f"{first}, which the person refused {MOST} times; they are asked again in {left_s:.0f} s"
            return _refusal(tool, asked.found, asked.dropped, why)
        try:
            # As of a running tool: a yes is for these words, and never for the session.
            is_let = await session.ask(tool, arguments, asked.text, is_running=True)
            refused.note(tool.name, sources, is_refused=not is_let)
            if is_let:
                return None
            why = f"{first}, and the person who was asked refused"
        except ToolError as problem:
            why = f"{first}, and nobody could be asked: {problem.message}; {_how(tool)}"
        return _refusal(tool, asked.found, asked.dropped, why)

    def _refusal_or_question(
        self, tool: Tool, session: Session, found: list[Match], dropped: list[Label]
    ) -> ToolError | _Question | None:
        if not (found or dropped):
            return None
        said = self._settings.said_to(tool)
        policies = [self._settings.judge(one.policy, said) for one in ([one.label for one in found] or dropped)]
        is_refused = "refuse" in policies
        if not (found or is_refused or session.can_ask):
            return None  # a source that says much must not end all other work where nobody can answer
        what = _said(tool, found, dropped)
        if is_refused:
            return _refusal(tool, found, dropped, f"{what}; the configuration refuses that")
        if not session.can_ask:
            return _refusal(tool, found, dropped, f"{what}, and there is nobody to ask here; {_how(tool)}")
        return _Question("\n".join([what, *_marked(found)]), found, dropped)

    def _others(
        self, tool: Tool, session: Session, arguments: Mapping[str, Any], *, passages: bool = False
    ) -> Others | None:
        """What others said that counts for a call, how strictly, and what the person said; None: nobody said anything,
        as in a host of one source. Its own tools cost nothing there."""
        said = self._settings.said_to(tool)
        own = None if said is not None else key_of(tool.origin)
        source_of, judge, words = _source_of_calls(tool), self._settings.judge, self._settings.words
        if is_served := own is not None and source_of is not None:
            own = f"source {source_of(session, arguments)}"

        def strictness(label: Label) -> int:
            is_own = label.key == own if is_served else own in (label.key, label.plugin)
            return 0 if is_own else words.index(judge(label.policy, said))

        read = self._read.get(session.reads_with or session)
        if not any(map(strictness, chain(read.labels if read else (), self._definitions.labels))):
            return None
        return Others(strictness, read, self._said.get(session), passages)

    def _find(self, tool: Tool, arguments: Mapping[str, Any], others: Others) -> Found:
        """The words of others in the arguments of a call, and the sources of which more was read than is kept. It may
        be called in a thread."""
        if tool.sanitises:
            arguments = {key: value for key, value in arguments.items() if key not in tool.sanitises}
            if not arguments or "*" in tool.sanitises:
                return [], []
        strictness, read, own_said, passages = others
        values, keys = chosen(arguments, own_words_of(tool))
        leaves = [*values, *keys]
        texts = [one.text for one in leaves]
        forms = _Forms().__getitem__ if may_hold_forms(texts) else _no_forms
        found, dropped = [], list[Label]()
        if read is not None:
            found = read.find(values, keys, name=tool.name, strictness=strictness, said=own_said, forms=forms)
            if passages:
                return [one for one in found if is_passage(one, read.says)], []
            dropped = [one for one in list(read.dropped.values()) if strictness(one)]
        if passages:
            return [], []
        told = {one.path for one in found}
        for one in self._definitions.find(leaves, tool, strictness, forms):
            if one.path not in told and (others_words := unsaid(one, own_said)) is not None:
                found.append(others_words)
        return found, dropped


class Others(NamedTuple):
    """What others said that counts for a call.

    Args:
        strictness: of what came from there: 0 does not count.
        read: what the session has read.
        said: what its person said.
        passages: whether passages of it count alone, and neither names nor what was defined.
    """

    strictness: Callable[[Label], int]
    read: WordsRead | None
    said: WordsSaid | None
    passages: bool


class _Question(NamedTuple):
    """What a person is asked before a call, and why."""

    text: str
    found: list[Match]
    dropped: list[Label]


class _Forms(dict[str, Collection[Part]]):
    """The texts that each text of one call holds in another form: what was read and what is defined both ask."""

    def __missing__(self, text: str) -> Collection[Part]:
        found = self[text] = tuple(decoded(text))
        return found


def _no_forms(text: str) -> tuple[Part, ...]:
    return ()


def could_harm(tool: Tool) -> bool:
    """Whether words of others could do harm in it: it may change or overwrite something, it reaches beyond the host, or
    it reads secrets. What a tool does not say counts against it, as in MCP, but that a read-only one reaches out.
    What is kept for other sessions is read there without a label, so that words that wait in it act then."""
    marks = tool.annotations
    changes = not marks.read_only and (marks.destructive is not False or MEMORY in tool.tags)
    return changes or bool(marks.open_world) or bool(tool.secrets)


def key_of(origin: Origin) -> str:
    """Tools of one source, or of one plugin that has none, are not asked about what the others of it said; nor is a
    tool of a plugin about what its sources said, but where it says which of them a call goes to."""
    return f"source {origin.source}" if origin.source else plugin_key_of(origin)


def _source_of_calls(tool: Tool) -> Callable[[Session, Mapping[str, Any]], str | None] | None:
    """What tells whom a call of a plugin's tool goes to, where that serves several sources; it may not be known before
    the call runs, which asks by `Session.require_flow` then. None: it is the tool's own source."""
    return getattr(tool.handler, "source_of", None)


def _asks_itself(context: CallContext, arguments: Mapping[str, Any]) -> None:
    """The check of such a tool."""


def plugin_key_of(origin: Origin) -> str:
    """The key of the plugin that something is of."""
    return f"plugin {origin.distribution} {origin.plugin}"


def shown_source(tool: Tool) -> str:
    """How a question names where words came from: the tool, and its source where that is called otherwise."""
    source = str(tool.origin)
    return f"`{tool.name}`" if source == tool.name else f"`{tool.name}` of {source}"


@functools.lru_cache(maxsize=256)
def own_words_of(tool: Tool) -> frozenset[str]:
    """Names of arguments and values that the tool's own schema offers: who chooses one of them says nothing new."""
    words: set[str] = set()
    waiting: list[Any] = [tool.input_schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Mapping):
            words.update(one.get("properties") or ())
            offered = [*(one.get("enum") or ()), one.get("const"), one.get("default")]
            words.update(value for value in offered if isinstance(value, str))
            waiting.extend(one.values())
        elif isinstance(one, (list, tuple)):
            waiting.extend(one)
    return frozenset(words)


def _noting(note: Callable[[CallContext, ToolResult], ToolResult]) -> Guard:
    return Guard(name="flows.note", stage=Stage.FILTER, check=note)


def _texts_of(read: Any) -> Iterator[str]:
    if not isinstance(read, ToolResult):
        yield from filter(None, ["\n".join(texts_in(read))])
        return
    if read.error is not None and read.error.is_in_our_words:
        return
    for block in read.content:
        if isinstance(block, TextContent):
            yield block.text
            continue
        for name in ("uri", "name", "mime_type"):
            if label := getattr(block, name, None):
                yield label
        yield from _texts_of_bytes(block.data or b"")
    if read.data and read.data != {"result": read.text}:  # a plain text is its own data
        yield "\n".join(texts_in(read.data))
    if read.error is not None and read.error.details:
        yield "\n".join(texts_in(read.error.details))
    if read.details:
        yield from _texts_of_details(read.details)


def _texts_of_details(details: Mapping[str, Any]) -> Iterator[str]:
    """What a source says beside its content: the title of a link, `_meta`, a block that nobody knows. Short words are
    those in which a host says what it did."""
    texts: list[str] = []
    for name, said in details.items():
        texts += () if name.isidentifier() and len(name) <= MAX_OURS else (name,)
        is_ours = name == CLEANED or not isinstance(said, (Mapping, list, tuple))
        texts += filterfalse(is_common, texts_in(said)) if is_ours else texts_in(said)
    if texts:
        yield "\n".join(texts)


def _texts_of_bytes(data: bytes) -> Iterator[str]:
    """What a model may read in bytes, whatever their media type says; of those that may be a picture, not all: that
    would look like a source that says more than can be kept."""
    if found := text_in(data):
        text, encoding = found
        yield text[:MAX_MAYBE] if encoding == "latin-1" else text


def _said(tool: Tool, found: list[Match], dropped: list[Label]) -> str:
    """In one line: which tool wants to use whose words, where."""
    if not found:
        sources = ", ".join(sorted({one.shown for one in dropped})[:MAX_SHOWN])
        return f"{tool.name} wants to run, and more came from {sources} than can be looked through"
    if not found[0].path:
        return f"{tool.name} wants to run, and its name stands in what came from {found[0].label.shown}"
    words: dict[str, list[str]] = {}
    for one in found[:MAX_SHOWN]:
        words.setdefault(one.label.shown, []).append(f"{_quoted(one.plain)} ({_place(one)})")
    said = ", and from ".join(f"{source}: {', '.join(quoted)}" for source, quoted in words.items())
    more = f", and {len(found) - MAX_SHOWN} more" if len(found) > MAX_SHOWN else ""
    return f"{tool.name} wants to use text that came from {said}{more}"


def _place(match: Match) -> str:
    where = shorten_text(" ".join(".".join(map(str, match.path)).split()), MAX_NAME)
    if match.path[-1] == match.text:
        return f"the name of {where}"
    return f"{where}, in {match.form}" if match.form else where


def _quoted(text: str) -> str:
    return f"'{shorten_text(' '.join(text.split()), MAX_QUOTE)}'"


def _marked(found: list[Match]) -> Iterator[str]:
    """The values that hold more than the words which stand in what was read, with those between angle quotes; others of
    those go."""
    for one in found[:MAX_SHOWN]:
        if one.plain == one.text:  # the first line says it
            continue
        text = one.text.replace("«", "<").replace("»", ">")
        pieces, done = [], max(one.spans[0][0] - AROUND, 0)
        before = "..." if done else ""
        for start, end in one.spans:
            between = text[done:start]
            if len(between) > 2 * AROUND:
                between = f"{between[:AROUND]}...{between[-AROUND:]}"
            pieces.append(f"{between}«{_ends(text[start:end])}»")
            done = end
        after = text[done : done + AROUND] + ("..." if len(text) > done + AROUND else "")
        yield f"{_place(one)}: {' '.join((before + ''.join(pieces) + after).split())}"


def _ends(text: str) -> str:
    """Beginning and end of a long text, as far as a person reads it here."""
    return text if len(text) <= MAX_MARKED else f"{text[: MAX_MARKED // 2]} ... {text[-MAX_MARKED // 2 :]}"


def _how(tool: Tool) -> str:
    return (
        f'to allow it, say trusted = true where the source is configured, or "{tool.name}" = "allow" under [flows.to]'
    )


def _refusal(tool: Tool, found: list[Match], dropped: list[Label], why: str) -> ToolError:
    sources = sorted({one.label.shown for one in found} or {one.shown for one in dropped})
    return ToolError(
        ErrorCode.FORBIDDEN,
        why,
        reason="flow",
        sources=sources,
        arguments=sorted({".".join(map(str, one.path)) for one in found if one.path}),
        executed=False,
        retry="changed",
    )
