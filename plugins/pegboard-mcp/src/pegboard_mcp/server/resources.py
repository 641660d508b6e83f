"""Prompts and resources that are served: those of plugins, and behind them those of the MCP servers on the board.

Here they are found, listed page by page in the order of their names, and read; what is answered is JSON of the
protocol's shapes.
"""

from __future__ import annotations

import base64
import binascii
import bisect
from typing import TYPE_CHECKING, Any, TypeVar

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS

from pegboard import BinaryContent, ErrorCode, TextContent, ToolError, ToolResult
from pegboard.absence import absent
from pegboard.config import get_logger
from pegboard.content import clean_blocks
from pegboard_mcp.client.source import servers_away
from pegboard_mcp.collected import Capabilities
from pegboard_mcp.dialect import block_json, embedded_text
from pegboard_mcp.prompts_and_resources import Message, Prompt, Resource, ResourceTemplate
from pegboard_mcp.server.errors import invalid_params, protocol_error

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping, Sequence

    from pegboard import Content, Host, Session

log = get_logger("pegboard.mcp.serve")

T = TypeVar("T")

MAX_COMPLETIONS = 100
"""The protocol's own bound."""
MAX_ARGUMENTS = 100
MAX_ARGUMENT = 1_000_000
"""Characters of one argument of a prompt."""


def page_of(ordered: Mapping[str, T], cursor: str | None, limit: int) -> tuple[list[T], str | None]:
    """The elements after the cursor, at most `limit`, and the next cursor.

    A cursor holds the last name that was seen, so it stays good while elements come and go.

    Raises:
        MCPError: -32602: the cursor is not one of ours.
    """
    names = sorted(ordered)
    start = 0 if cursor is None else bisect.bisect_right(names, _name_of(cursor))
    shown = names[start : start + limit]
    more = start + len(shown) < len(names)
    after = base64.urlsafe_b64encode(b"1:" + shown[-1].encode("utf-8")).decode("ascii") if more else None
    return [ordered[name] for name in shown], after


def _name_of(cursor: str) -> str:
    try:
        version, _, name = base64.urlsafe_b64decode(cursor.encode("ascii")).decode("utf-8").partition(":")
    except (UnicodeError, binascii.Error):
        version = name = ""
    if version != "1" or not name:
        raise invalid_params("the cursor is not one of this board; start again without one")
    return name


class ServedResources:
    """What one server offers beside tools."""

    def __init__(self, host: Host) -> None:
        self._prompts: dict[str, Prompt] = {}
        self._resources: dict[str, Resource] = {}
        self._templates: dict[str, ResourceTemplate] = {}
        for one in _provided(host, "provide_prompts", (Prompt,)):
            self._prompts.setdefault(one.name, one)
        for one in _provided(host, "provide_resources", (Resource, ResourceTemplate)):
            if isinstance(one, Resource):
                self._resources.setdefault(one.uri, one)
            else:
                self._templates.setdefault(one.uri_template, one)
        try:
            self.capabilities = host.resource(Capabilities)
        except ToolError:  # the plugin's resources could not be opened: doctor says why
            self.capabilities = Capabilities()

    @property
    def prompts(self) -> Mapping[str, Prompt]:
        """By name, as of now."""
        return {**self.capabilities.prompts, **self._prompts}

    @property
    def resources(self) -> Mapping[str, Resource]:
        """By URI, as of now."""
        return {**self.capabilities.resources, **self._resources}

    @property
    def templates(self) -> Mapping[str, ResourceTemplate]:
        """By template, as of now."""
        return {**self.capabilities.templates, **self._templates}

    # -- prompts

    async def get_prompt(self, session: Session, name: str, arguments: Mapping[str, str]) -> dict[str, Any]:
        """The messages of a prompt, as `GetPromptResult`.

        Raises:
            MCPError, ToolError: there is none, its arguments are wrong, or it failed.
        """
        prompt = self.prompts.get(name) or await self._accepted(session, "prompt", name)
        known = {one.name for one in prompt.arguments}
        missing = [one.name for one in prompt.arguments if one.required and one.name not in arguments]
        unknown = [one for one in arguments if one not in known]
        if missing or unknown:
            faults = [f"{one}: required" for one in missing] + [f"{one[:60]}: unknown" for one in unknown[:10]]
            raise invalid_params(f"arguments of the prompt {name[:80]!r}: {'; '.join(faults)}", faults=faults)
        if len(arguments) > MAX_ARGUMENTS or any(len(value) > MAX_ARGUMENT for value in arguments.values()):
            raise invalid_params("the arguments are too many or too long")
        got = await _held(prompt.get(session, dict(arguments)), f"the prompt {name!r}", session, prompt.source)
        messages = [Message("user", TextContent(got))] if isinstance(got, str) else list(got)
        if prompt.source is None:  # those of a server were cleaned where they came in, as its table says
            messages = [Message(one.role, clean_blocks((one.content,))[0][0]) for one in messages]
        answer: dict[str, Any] = {
            "messages": [
                {"role": one.role, "content": block_json(_shown(session, one.content, prompt.source))}
                for one in messages
            ]
        }
        if prompt.description:
            answer["description"] = prompt.description
        return answer

    async def _accepted(self, session: Session, kind: str, name: str) -> Any:
        """What is there of that name once a person has accepted it.

        Raises:
            MCPError, ToolError: they did not, or there is none, perhaps since a server is not ready.
        """
        await self.capabilities.require_accepted(session, f"{kind}:{name}")
        found = (self.prompts if kind == "prompt" else self.templates).get(name)
        if found is None:
            error = absent(f"there is no {kind} {name[:80]!r}", servers_away(session))
            raise protocol_error(error, INVALID_PARAMS)
        return found

    # -- resources

    async def read(self, session: Session, uri: str) -> dict[str, Any]:
        """What lies at a URI, as `ReadResourceResult`.

        Raises:
            MCPError, ToolError: there is none, or it cannot be read.
        """
        if self.find(uri) is None:
            await self.capabilities.require_accepted(session, f"resource:{uri}")
        if (found := self.find(uri)) is None:
            raise absent("there is no such resource", servers_away(session), uri=uri[:500])
        got = await _held(found.read(session, uri), "the resource", session, found.source)
        if isinstance(got, (bytes, bytearray)):  # they stay bytes, also where they are a text
            whole = BinaryContent(bytes(got), found.mime_type or "application/octet-stream")
            whole = _shown(session, whole, found.source)
            return {"contents": [_blob(uri, whole.data or b"", whole.mime_type)]}
        blocks = (TextContent(got),) if isinstance(got, str) else tuple(got)
        blocks = clean_blocks(blocks)[0] if found.source is None else blocks
        shown = (_shown(session, block, found.source) for block in blocks)
        return {"contents": [_contents_of(uri, block, found.mime_type) for block in shown]}

    def find(self, uri: str) -> Resource | ResourceTemplate | None:
        """The resource at a URI, else the first template in the order of templates that fits it."""
        exact = self.resources.get(uri)
        if exact is not None:
            return exact
        for form, template in sorted(self.templates.items()):
            if _matches(form, uri):
                return template
        return None

    # -- completion

    async def complete(self, session: Session, params: Any) -> dict[str, Any]:
        """Values for an argument of a prompt, or a variable of a template, as `CompleteResult`.

        Raises:
            MCPError, ToolError: there is no such prompt or template.
        """
        ref, name, value = params.ref, params.argument.name, params.argument.value
        others = dict((params.context.arguments if params.context else None) or {})
        if ref.type == "ref/prompt":
            asked = self.prompts.get(ref.name) or await self._accepted(session, "prompt", ref.name)
        else:
            asked = self.templates.get(ref.uri)
            if asked is None and ref.uri not in self.resources:
                asked = await self._accepted(session, "template", ref.uri)
        complete = asked.complete if asked is not None else None
        source = None if asked is None else asked.source
        work = None if complete is None else complete(session, name, value, others)
        found = [] if work is None else await _held(work, "the completion", session, source)
        values = [str(one) for one in found]
        shown = values[:MAX_COMPLETIONS]
        if asked is not None and shown:
            if asked.source is not None:
                session.note_read(ToolResult(content=(TextContent("\n".join(shown)),)), source=asked.source)
            shown = session.masked(shown, source=asked.source)
        return {"completion": {"values": shown, "total": len(values), "hasMore": len(values) > len(shown)}}


def _provided(host: Host, hook: str, kinds: tuple[type, ...]) -> list[Any]:
    """What the plugins give; nothing where the board does not have the hooks of this package."""
    plugins = host.board.plugins
    if not hasattr(plugins.manager.hook, hook):
        return []
    names = " or ".join(kind.__name__ for kind in kinds)
    answers = plugins.ask_for_many(hook, lambda one: isinstance(one, kinds), names)
    return [one for _, values in answers for one in values]


async def _held(work: Awaitable[T], what: str, session: Session, source: str | None) -> T:
    try:
        return await work
    except MCPError:
        raise
    except ToolError as refused:  # a model reads it as it reads an answer
        if source is not None:
            session.note_read(ToolResult.of_error(refused), source=source)
        message, details = (session.masked(said, source=source) for said in (refused.message, refused.details))
        if (message, details) == (refused.message, refused.details):
            raise
        raise ToolError(refused.code, message, details) from None
    except Exception as problem:
        log.exception("%s failed", what)
        error = ToolError(ErrorCode.INTERNAL_ERROR, f"{what} failed; its cause is in the host's log")
        raise protocol_error(error, INTERNAL_ERROR) from problem


def _matches(form: str, uri: str) -> bool:
    from mcp.shared.uri_template import InvalidUriTemplate, UriTemplate

    try:
        return UriTemplate.parse(form).match(uri) is not None
    except InvalidUriTemplate:
        return False


def _shown(session: Session, block: Content, source: str | None) -> Any:
    """A block as the model behind the session reads it: noted as its source's, and without keys and passwords."""
    if source is not None:
        session.note_read(ToolResult(content=(block,)), source=source)
    return session.masked(block, source=source)


def _blob(uri: str, data: bytes, mime_type: str) -> dict[str, Any]:
    return {"uri": uri, "mimeType": mime_type, "blob": base64.b64encode(data).decode("ascii")}


def _contents_of(uri: str, block: Content, mime_type: str | None) -> dict[str, Any]:
    if isinstance(block, TextContent):
        return {"uri": uri, "mimeType": mime_type or "text/plain", "text": block.text}
    if isinstance(block, BinaryContent):
        text = embedded_text(block)
        if text is not None:
            return {"uri": block.uri or uri, "mimeType": block.mime_type, "text": text}
        return _blob(block.uri or uri, block.data or b"", block.mime_type)
    return _blob(uri, block.data, block.mime_type)


def prompt_json(prompt: Prompt) -> dict[str, Any]:
    """A prompt as one element of `prompts/list`."""
    arguments: Sequence[Any] = [
        _without_nothing(
            {"name": one.name, "title": one.title, "description": one.description, "required": one.required}
        )
        for one in prompt.arguments
    ]
    return _without_nothing(
        {
            "name": prompt.name,
            "title": prompt.title,
            "description": prompt.description,
            "arguments": arguments,
            "icons": list(prompt.icons),
        }
    )


def resource_json(resource: Resource) -> dict[str, Any]:
    """A resource as one element of `resources/list`."""
    return _without_nothing({"uri": resource.uri, **_labels_of(resource), "size": resource.size})


def template_json(template: ResourceTemplate) -> dict[str, Any]:
    """A template as one element of `resources/templates/list`."""
    return _without_nothing({"uriTemplate": template.uri_template, **_labels_of(template)})


def _labels_of(one: Resource | ResourceTemplate) -> dict[str, Any]:
    """The members that both have: `Annotated` and `Icons` of MCP's schema."""
    return {
        "name": one.name,
        "title": one.title,
        "description": one.description,
        "mimeType": one.mime_type,
        "annotations": one.annotations,
        "icons": list(one.icons),
    }


def _without_nothing(members: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in members.items() if value not in (None, "", [], False)}
