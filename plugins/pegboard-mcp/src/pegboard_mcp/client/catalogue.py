"""What one MCP server offers, as it stands on the board: tools, prompts, resources, and what the lock holds back.

A catalogue has the last list of the server (`Listing`) and makes of it what is registered. It knows no connection: what
is called goes through `Handlers`. A list is swapped as a whole, and the old one stays where the new one cannot be read.

Nothing of the `mcp` SDK is imported here.
"""

from __future__ import annotations

import contextlib
import functools
import logging
from collections import Counter
from typing import TYPE_CHECKING, Any, Protocol

import attrs

from pegboard import (
    Annotations,
    CallContext,
    ErrorCode,
    HeldBackError,
    Limits,
    Origin,
    PegboardError,
    Tool,
    ToolError,
)
from pegboard.errors import reason_of
from pegboard.text import visible
from pegboard_mcp.client import cache
from pegboard_mcp.client.comparison import Comparison
from pegboard_mcp.client.names import DIGITS, MAX_NAME, board_names, plain_name, qualified_name
from pegboard_mcp.lock.pins import identity_of, pin_of
from pegboard_mcp.sdk import REACHING, problem_with

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pegboard import Content, PluginError, Session, SourceSlot
    from pegboard.absence import HeldQuestion
    from pegboard_mcp.client.discovery import Entry, Listing
    from pegboard_mcp.collected import Capabilities
    from pegboard_mcp.definitions import ServerDefinition
    from pegboard_mcp.lock.memory import Changed
    from pegboard_mcp.lock.pins import Pin
    from pegboard_mcp.prompts_and_resources import Prompt, Resource, ResourceTemplate
    from pegboard_mcp.settings import McpSettings

log = logging.getLogger("pegboard.mcp")

PROMPT_MARK = "prompt_"
"""Before the name of a prompt that is registered as a tool."""
KEPT_OF_NAMES = MAX_NAME - 1 - DIGITS
"""How a name begins stays so, however long it is: see `pegboard_mcp.client.names`."""


class Handlers(Protocol):
    """What does the work of what is offered: see `pegboard_mcp.client.calls.Calls`. Names are the server's own."""

    def call_tool(self, wire: str, *, repeatable: bool) -> Callable[..., Any]:
        """The handler of a tool; `repeatable`: calling it twice does no more than calling it once."""

    def call_prompt(self, wire: str) -> Callable[..., Any]:
        """The handler of a prompt that is registered as a tool."""

    def get_prompt(self, wire: str) -> Callable[..., Any]:
        """`Prompt.get`."""

    def complete(self, ref: dict[str, Any]) -> Callable[..., Any]:
        """`Prompt.complete` or `ResourceTemplate.complete`, of what the reference names."""

    async def read_resource(self, session: Session, uri: str) -> Sequence[Content]:
        """What lies at an address, for whoever cuts it."""

    async def give_resource(self, session: Session, uri: str) -> Sequence[Content]:
        """`Resource.read`."""


class SourceGroup:
    """The MCP servers of one board. A name that two servers have gets the server's name as a prefix in both, so
    that no name depends on which server started first."""

    def __init__(self) -> None:
        self.catalogues: list[Catalogue] = []
        self._contested: frozenset[str] | None = None

    @functools.cached_property
    def sdk_problem(self) -> PluginError | None:
        """Why none of them can be started: the installed SDK is of another release. It is not imported for that."""
        return problem_with(needs=REACHING)

    @property
    def contested(self) -> frozenset[str]:
        """Names that more than one server wants; each is asked for what it remembers first."""
        if self._contested is None:
            # With another release of the SDK no server can be started: what it offered before is not offered now.
            for one in self.catalogues if self.sdk_problem is None else ():
                one.remember()
            wanted = Counter(name for one in self.catalogues for name in one.plain_names.values())
            self._contested = frozenset(name for name, count in wanted.items() if count > 1)
        return self._contested

    def renamed(self, changed: Catalogue) -> None:
        """Let the others take the names that are theirs, now that one changed."""
        before, self._contested = self._contested, None
        if self.contested != before:
            for one in self.catalogues:
                if one is not changed:
                    one.rename()


class Catalogue:
    """What one server offers.

    Attributes:
        handlers: set by whoever makes the catalogue, before anything is made of a list.
        listing: what the server offers as far as is known, or None.
        plain_names: the names that its tools would have, whatever others want, by `tool:NAME` and `prompt:NAME`, which
            no server's own names can be mistaken for.
        names: those that they have on the board, by the same.
        held_back: what a person has to accept first, with what a call of it answers; by `prompt:NAME` and the like.
        comparison: what of it is other than it was first seen or accepted.
        capabilities: those of the host, while it runs.
    """

    handlers: Handlers

    def __init__(self, definition: ServerDefinition, group: SourceGroup, settings: McpSettings | None) -> None:
        self.definition = definition
        self.name = definition.name
        self.listing: Listing | None = None
        self.plain_names: dict[str, str] = {}
        self.names: dict[str, str] = {}
        self.held_back: dict[str, ToolError] = {}
        self.comparison = Comparison(definition, settings)
        self.capabilities: Capabilities | None = None
        self._group = group
        self._group.catalogues.append(self)
        self._settings = settings
        self._moved: set[str] = set()
        self._is_stale = False
        self._slot: SourceSlot | None = None
        self._offered: Listing | None = None
        self._is_remembered = False
        if self.comparison.holding == "changes" and settings is not None:
            from pegboard_mcp.lock.watch import watch_of

            watch_of(settings).judges[self.name] = self.why_tool_held

    @contextlib.contextmanager
    def registered(self, slot: SourceSlot) -> Iterator[None]:
        """Have the tools in this slot, and what else there is in the `Capabilities` of the host that runs."""
        from pegboard_mcp.collected import find_capabilities

        self._slot, self._offered = slot, None
        self.capabilities = find_capabilities(self._settings)
        try:
            if self.listing is not None:
                self._offer(self.listing)
                self.rename()
            yield
        finally:
            self._slot = self.capabilities = None

    # -- the list

    @property
    def sdk_problem(self) -> PluginError | None:
        """Why the server cannot be started, whatever it is: see `SourceGroup.sdk_problem`."""
        return self._group.sdk_problem

    def known(self) -> tuple[Tool, ...] | None:
        """The tools that the server offered when it last ran; None where that is not known."""
        contested = self._group.contested
        if self.listing is None:
            return None
        self.names = self.names_on_board(contested)
        return self.tools()

    def remember(self) -> None:
        """Read what the server offered when it last ran; once."""
        if self._is_remembered:
            return
        self._is_remembered = True
        if (
            self._remembers
            and self.listing is None
            and (listing := cache.read(cache.path_of(self.definition))) is not None
        ):
            self.take(listing)

    def take(self, listing: Listing) -> None:
        """Have a list from here on; nothing is registered yet."""
        self._take(self.comparison.looked_at(listing))

    def _take(self, listing: Listing) -> None:
        keys = [f"tool:{entry['key']}" for entry in listing.tools]
        if self.definition.load_prompts:
            keys += [f"prompt:{entry['key']}" for entry in listing.prompts]
        self.listing = listing
        wanted = {key: _wire_of(key) for key in keys}
        self.plain_names = board_names(wanted, prefix=self.definition.prefix, server=self.name)

    def adopt(self, listing: Listing) -> None:
        """Swap the tools for those of a new list, which was looked at (`look_at`), keep it for the next start, and tell
        who else is concerned."""
        if self._slot is None:
            return
        if listing == self.listing and self.names and not self._is_stale:
            self._offer(listing)
            return
        self._is_stale = False
        for name, why in listing.left_out.items():
            log.warning("%s of the MCP server %s is left out: %s", visible(name), self.name, visible(why))
        self._take(listing)
        self._group.renamed(self)
        self.names = self.names_on_board(self._group.contested)
        self._slot.replace(self.tools())
        self._offer(self.listing or listing)
        if self._remembers:
            cache.write(cache.path_of(self.definition), self.listing or listing)

    def offer_again(self, *, at_once: bool) -> None:
        """Register all of the list once more, now or with the next list: a person decided anew about some of it."""
        self._is_stale = True
        if at_once and self._slot is not None and self.listing is not None:
            self._is_stale = False
            self._offered = None
            self.listing = self.comparison.decided(self.listing)
            self._offer(self.listing)
            self._slot.replace(self.tools())
            if self._remembers:
                cache.write(cache.path_of(self.definition), self.listing)

    @property
    def stripped(self) -> dict[str, tuple[str, ...]]:
        """What hid in the texts of its tools and was taken out of them, by the names on the board."""
        found: dict[str, tuple[str, ...]] = {}
        if self.listing is not None:
            entries = [(f"tool:{entry['key']}", entry) for entry in self.listing.tools]
            entries += [(f"prompt:{entry['key']}", entry) for entry in self.listing.prompts]
            for key, entry in entries:
                if key in self.names and isinstance(what := entry.get("hidden"), (list, tuple)) and what:
                    found[self.names[key]] = tuple(map(str, what))
        return found

    # -- names

    def rename(self) -> None:
        """Register the tools under other names where another server's list made that necessary."""
        names = self.names_on_board(self._group.contested)
        if names != self.names and self._slot is not None:
            self.names = names
            self._slot.replace(self.tools())

    def other_name(self, name: str) -> str | None:
        """The name of a tool whose own name something else on the board has already: behind that of its server."""
        key = next((key for key, registered in self.names.items() if registered == name), None)
        if key is None or key in self._moved:
            return None
        self._moved.add(key)
        self.names = self.names_on_board(self._group.contested)
        return self.names[key]

    def may_bring(self, name: str) -> bool:
        """Whether a tool of that name on the board could be one of this server, whatever it offers."""
        definition = self.definition
        prefix = plain_name(definition.prefix)[:KEPT_OF_NAMES] if definition.prefix else ""
        qualified = plain_name(f"{self.name}-{definition.prefix or ''}")[:KEPT_OF_NAMES]
        if not name.startswith((prefix, qualified)):
            return False
        if definition.allowed_tools is None or definition.load_prompts:  # prompts are registered as tools too
            return definition.load_tools or definition.load_prompts
        wanted = board_names(definition.allowed_tools, prefix=definition.prefix, server=self.name).values()
        return definition.load_tools and (name in wanted or name.startswith(qualified))

    def names_on_board(self, contested: frozenset[str]) -> dict[str, str]:
        """The names of the tools, behind that of the server where others want them too."""
        prefix = self.definition.prefix
        return {
            key: qualified_name(_wire_of(key), prefix=prefix, server=self.name)
            if registered in contested or key in self._moved
            else registered
            for key, registered in self.plain_names.items()
        }

    # -- tools

    def why_empty(self) -> str | None:
        """Why none of the server's tools is offered, where its table leaves out some of them."""
        listing, definition = self.listing, self.definition
        is_sifted = definition.load_tools and (definition.allowed_tools is not None or definition.disabled_tools)
        if listing is None or listing.tools or not is_sifted:
            return None
        return (
            "it has no tool that its `allowed_tools` and `disabled_tools` leave; pegboard doctor names those it lacks"
        )

    def tools(self) -> tuple[Tool, ...]:
        """The tools of the list, as they are on the board."""
        listing = self.listing
        if listing is None:
            return ()
        made = [self._made(self._tool, entry) for entry in listing.tools]
        if self.definition.load_prompts:
            made += [self._made(self._prompt_tool, entry) for entry in listing.prompts]
        return tuple(tool for tool in made if tool is not None)

    def _made(self, make: Callable[[Entry], Tool], entry: Entry) -> Tool | None:
        try:
            return make(entry)
        except (PegboardError, KeyError, ValueError, TypeError, RecursionError) as problem:
            log.warning("%r of the MCP server %s cannot be offered: %s", entry["key"], self.name, reason_of(problem))
            return None

    def _tool(self, entry: Entry) -> Tool:
        annotations = _marks(**entry.get("annotations", {}))
        handler = self.handlers.call_tool(entry["key"], repeatable=annotations.read_only or annotations.idempotent)
        return self._make(
            entry,
            f"tool:{entry['key']}",
            handler,
            input_schema=entry["input_schema"],
            output_schema=entry.get("output_schema"),
            annotations=annotations,
        )

    def _prompt_tool(self, entry: Entry) -> Tool:
        arguments = entry.get("arguments", ())
        schema = {
            "type": "object",
            "properties": {
                one["name"]: {
                    "type": "string",
                    "description": one.get("description") or one.get("title") or one["name"],
                }
                for one in arguments
            },
            "required": [one["name"] for one in arguments if one.get("required")],
            "additionalProperties": False,
        }
        handler = self.handlers.call_prompt(entry["key"])
        return self._make(
            entry,
            f"prompt:{entry['key']}",
            handler,
            input_schema=schema,
            output_schema=None,
            annotations=Annotations(read_only=True),
            tags=_tags("mcp", "prompt", self.name),
        )

    def _make(self, entry: Entry, key: str, handler: Callable[..., Any], **more: Any) -> Tool:
        server = self.listing.server if self.listing is not None else {}
        name, plain_name = self.names[key], self.plain_names[key]
        return Tool(
            name=name,
            plain_name=None if name == plain_name or key in self._moved else plain_name,
            handler=handler,
            description=entry.get("description", ""),
            title=entry.get("title"),
            category="mcp",
            icons=entry.get("icons", ()),
            version=identity_of(server.get("name"), server.get("version")),
            run="async",
            results=self.definition.results,
            limits=_limits(self.definition.max_result_bytes),
            **{"tags": _tags("mcp", self.name), **more},
        )

    # -- prompts and resources

    def _offer(self, listing: Listing) -> None:
        capabilities = self.capabilities
        if capabilities is None:
            return
        before, self._offered = self._offered, listing
        held, self.held_back = self.held_back, self._find_held(listing)
        if held.keys() != self.held_back.keys():
            before = None
        prompts = {f"prompt:{wire}": f"prompt:{name}" for wire, name in self.prompt_names(listing).items()}
        capabilities.replace_held(self.name, {prompts.get(key, key): error for key, error in self.held_back.items()})
        capabilities.add_reader(self.name, self.handlers.read_resource)
        if before is None or before.prompts != listing.prompts:
            capabilities.replace_prompts(self.name, self.prompts(listing))
        if before is None or (before.resources, before.templates) != (listing.resources, listing.templates):
            capabilities.replace_resources(self.name, self.resources(listing))
        capabilities.arrived(self.name)

    def prompts(self, listing: Listing) -> list[Prompt]:
        """The prompts of a list, but for those that are held back."""
        from pegboard_mcp.prompts_and_resources import Prompt

        if not self.definition.load_prompts:
            return []
        names = self.prompt_names(listing)
        return [
            Prompt(
                name=names[entry["key"]],
                get=self.handlers.get_prompt(entry["key"]),
                description=entry.get("description", ""),
                title=entry.get("title"),
                arguments=_arguments_of(entry),
                complete=self.handlers.complete({"type": "ref/prompt", "name": entry["key"]}),
                icons=tuple(entry.get("icons", ())),
                source=self.name,
            )
            for entry in listing.prompts
            if f"prompt:{entry['key']}" not in self.held_back
        ]

    def prompt_names(self, listing: Listing | None = None) -> dict[str, str]:
        """What the prompts of a list are called on the board, by the server's own names."""
        listing = listing or self.listing
        wires = [entry["key"] for entry in listing.prompts] if listing is not None else []
        return board_names(wires, prefix=self.definition.prefix, server=self.name)

    def resources(self, listing: Listing) -> list[Resource | ResourceTemplate]:
        """The resources and templates of a list, but for those that are held back."""
        from pegboard_mcp.prompts_and_resources import Resource, ResourceTemplate

        offered: list[Resource | ResourceTemplate] = [
            Resource(uri=entry["key"], read=self.handlers.give_resource, size=entry.get("size"), **self._labels(entry))
            for entry in listing.resources
            if f"resource:{entry['key']}" not in self.held_back
        ]
        offered += [
            ResourceTemplate(
                uri_template=entry["key"],
                read=self.handlers.give_resource,
                complete=self.handlers.complete({"type": "ref/resource", "uri": entry["key"]}),
                **self._labels(entry),
            )
            for entry in listing.templates
            if f"template:{entry['key']}" not in self.held_back
        ]
        return offered

    def _labels(self, entry: Entry) -> dict[str, Any]:
        return {
            "name": entry.get("name", entry["key"]),
            "description": entry.get("description", ""),
            "title": entry.get("title"),
            "mime_type": entry.get("mime_type"),
            "annotations": entry.get("annotations"),
            "icons": tuple(entry.get("icons", ())),
            "source": self.name,
        }

    @property
    def _remembers(self) -> bool:
        """Whether lists are kept on disk."""
        return getattr(self._settings, "remember", True)

    # -- what was first seen

    def why_tool_held(self, tool: Tool) -> HeldBackError | None:
        """Why a tool of the server is held back, since it is not as it was first seen; None: it is, or was accepted."""
        return self.comparison.why_held(self._key_of(tool.name), tool.name) if self.comparison.holds else None

    def question_of_held(self, name: str) -> HeldQuestion | None:
        """What a person is asked about what is used and held back: of all that changed of this server, that first, as
        much as a person reads. What is shown is what yes accepts.

        Args:
            name: of a tool on the board; or `prompt:NAME`, `resource:URI`.
        """
        key = self._held_key(name)
        if key not in self.comparison.changed or self.comparison.holding != "changes":
            return None
        if (tool := self._tool_that_uses(key, name)) is None:
            return None
        from pegboard_mcp.client.questions import question_about

        return question_about(self.comparison.changed, key, tool, self.accept_seen)

    def _held_key(self, name: str) -> str:
        """What holds back what is asked for: of an address that is not listed it is a template."""
        kind, colon, rest = name.partition(":")
        if not colon:
            return self._key_of(name)
        if kind == "prompt":
            return f"prompt:{next((wire for wire, one in self.prompt_names().items() if one == rest), rest)}"
        from pegboard_mcp.prompts_and_resources import key_of_held

        return key_of_held(self.held_back, name) or name

    def _tool_that_uses(self, key: str, name: str) -> Tool | None:
        """The tool that a person is asked about: the one that is called, or through which a model gets the rest."""
        kind, _, wire = key.partition(":")
        if kind == "tool":
            return next((tool for tool in self.tools() if tool.name == name), None)
        if kind == "prompt":
            prompts = self.listing.prompts if self.listing is not None else ()
            return next((self._made(self._prompt_tool, one) for one in prompts if one["key"] == wire), None)
        from pegboard_mcp.client.questions import reading_tool

        return reading_tool(self.handlers.read_resource)

    def asked_through(self, kind: str, what: str) -> Tool:
        """The tool by which a person knows a prompt, or the reading of resources, of this server.

        Args:
            kind: `prompt` or `resource`.
            what: the name of the prompt, as the server has it.
        """
        from pegboard_mcp.client.questions import reading_tool

        found = self._tool_that_uses(f"{kind}:{what}", "") or reading_tool(self.handlers.read_resource)
        return attrs.evolve(found, origin=Origin("pegboard-mcp", "mcp", self.name))

    def seen_changes(self) -> dict[str, Changed]:
        """What a person may accept here of what changed since it was first seen, by the names that the lock has: those
        of tools on the board, and what starts the server."""
        if self.comparison.memory is None:
            return {}
        found = {self.names.get(key, key): one for key, one in self.comparison.changed.items()}
        started = self.comparison.memory.changed_server()
        return found if started is None else {**found, started.key: started}

    def accept_seen(self, pins: Iterable[Pin]) -> None:
        """Know these as they are now; see `Comparison.accept`."""
        self.comparison.accept(pins)

    def _key_of(self, name: str) -> str:
        """How what was first seen calls a tool of the board."""
        return next((key for key, registered in self.names.items() if registered == name), f"tool:{name}")

    # -- what the lock holds back

    def resource_pins(self, listing: Listing | None = None) -> list[Pin]:
        """The resources and templates of the list, as the lock has them; prompts are held as tools are."""
        if (listing := listing or self.listing) is None:
            return []
        from pegboard_mcp.client.seen import seen_pins

        return seen_pins(listing, self.name, ("resource", "template"), has_icons=False)

    @property
    def held(self) -> dict[str, HeldBackError]:
        """Resources and templates that a person has to accept first, each with why; by the names that the lock has for
        them."""
        return dict(self._held_of({pin.name: pin for pin in self.resource_pins()})) if self._holds else {}

    @property
    def _holds(self) -> bool:
        """Whether anything could be held back."""
        return self.comparison.holding == "all" or self.comparison.holds

    def _held_of(self, pins: Mapping[str, Pin]) -> Iterator[tuple[str, HeldBackError]]:
        """Those that a person has to accept first; of `notice`, those that changed and that no lock has as they are.

        Args:
            pins: as the lock has them, by how what was first seen calls them.
        """
        if not self._holds or self._settings is None:
            return
        from pegboard_mcp.lock.watch import watch_of

        watch = watch_of(self._settings)
        for key, pin in pins.items():
            if self.comparison.holding == "all":
                problem = watch.why_held(pin)
            else:
                problem = self.comparison.why_held(key, pin.name)
                problem = problem and (None if watch.is_accepted(pin) else problem)
            if problem is not None:
                yield key, problem

    def _find_held(self, listing: Listing) -> dict[str, ToolError]:
        """What of a list is held back, with what a call of it answers."""
        if not self._holds:
            return {}
        from pegboard.absence import held_back

        held: dict[str, ToolError] = {}
        for key, problem in self._held_of({pin.name: pin for pin in self.resource_pins(listing)}):
            kind, _, uri = key.partition(":")
            held[key] = held_back(uri, self.name, problem.message, problem.hint or "", kind=kind)
        prompts: dict[str, Pin] = {}  # a prompt is held as the tool that it is
        for entry in listing.prompts if self.definition.load_prompts else ():
            if tool := self._made(self._prompt_tool, entry):
                prompts[f"prompt:{entry['key']}"] = pin_of(attrs.evolve(tool, origin=Origin(source=self.name)))
        for key, problem in self._held_of(prompts):
            held[key] = held_back(prompts[key].name, self.name, problem.message, problem.hint or "", kind="prompt")
        return held

    def require_registered(self, context: CallContext, method: str, what: str, *, is_new: bool) -> None:
        """Require that a tool is still on the board when it is sent to its server: what that offers now may be held
        back, since a person took their time to answer, or since the server was started for this call.

        Args:
            is_new: it was started for this call.

        Raises:
            ToolError: NOT_FOUND: it is not; FORBIDDEN: it is held back. The server did not see the call.
        """
        name = self.names.get(f"prompt:{what}" if method == "prompts/get" else f"tool:{what}")
        called = name or context.tool.name  # one that the server no longer lists has no name here
        if called in context.session.tools:
            return
        error = context.session.missing(called)
        if error.details.get("reason") == "held":
            raise error.reworded(error.message, {**error.details, "server": self.name, "executed": False})
        if is_new and name is not None:
            raise ToolError(
                ErrorCode.NOT_FOUND,
                f"{name!r} is no longer on the board: the MCP server {self.name!r}, which was started for this call, "
                "offers another tool of that name now, and that one is not registered; pegboard doctor says why",
                server=self.name,
                executed=False,
            )

    async def require_accepted(self, session: Session, method: str, what: str) -> None:
        """Require that a person accepts a prompt, or what lies at an address, as the server lists it now.

        Raises:
            ToolError: FORBIDDEN, reason `held`.
        """
        if (error := self._why_not_accepted(method, what)) is not None:
            is_prompt = method == "prompts/get"
            key = f"prompt:{self.prompt_names().get(what, what)}" if is_prompt else f"resource:{what}"
            await session.accept_held(key, error)
            if (error := self._why_not_accepted(method, what)) is not None:
                raise error

    def _why_not_accepted(self, method: str, what: str) -> ToolError | None:
        if method not in ("prompts/get", "resources/read"):
            return None
        from pegboard_mcp.prompts_and_resources import find_held, template_fits

        listing, key = self._offered, f"{'prompt' if method == 'prompts/get' else 'resource'}:{what}"
        resources, templates = (listing.resources, listing.templates) if listing is not None else ((), ())
        free = method == "resources/read" and (
            any(one["key"] == what for one in resources)  # it is not held itself: that is looked at before
            or any(
                f"template:{one['key']}" not in self.held_back and template_fits(one["key"], what) for one in templates
            )
        )
        return self.held_back.get(key) or (None if free else find_held(self.held_back, key))


def _wire_of(key: str) -> str:
    """What a tool is called after, by how what was first seen calls it: its own name, of a prompt behind a mark."""
    kind, _, name = key.partition(":")
    return PROMPT_MARK + name if kind == "prompt" else name


# Tools that are alike share what they are made of.
_marks = functools.lru_cache(Annotations)


@functools.lru_cache
def _tags(*tags: str) -> frozenset[str]:
    return frozenset(tags)


@functools.lru_cache
def _limits(max_result_bytes: int | None) -> Limits:
    return Limits(max_result_bytes=max_result_bytes)


def _arguments_of(entry: Entry) -> Any:
    from pegboard_mcp.prompts_and_resources import PromptArgument

    return tuple(
        PromptArgument(one["name"], one.get("description", ""), one.get("required") is True, one.get("title"))
        for one in entry.get("arguments", ())
    )
