"""The board: what is registered, and how that changes. It needs no running loop, and no trio.

Registering a tool is the cold path: the hooks are asked (`pegboard.registry.planning`), and what they answer goes into
its plan.
"""

from __future__ import annotations

import functools
import os
import weakref
from collections import Counter
from time import monotonic
from typing import TYPE_CHECKING, Any

import attrs

from pegboard._renamed import Former
from pegboard.config import Config, load_config
from pegboard.config._config import NOTHING_SET
from pegboard.config._secrets import LOG_FILTER, get_logger
from pegboard.contract import SourceState
from pegboard.errors import ConfigError, ErrorCode, HeldBackError, PegboardError, PluginError, ToolError, reason_of
from pegboard.pipeline.plan import Plan, PlanEntry, Refusal
from pegboard.pipeline.runtime import Runtime
from pegboard.registry import Registry, search
from pegboard.registry.conflicts import (
    ClaimError,
    RejectedTool,
    ToolDisabledError,
    conflict,
    disabled,
    is_conflict,
    is_wanted,
)
from pegboard.registry.limit_stores import LimitStores
from pegboard.registry.planning import Planner
from pegboard.registry.plugins import Plugins, load_plugins, require_lists
from pegboard.registry.sources import Sources, is_source
from pegboard.registry.visible import ProfileTools, VisibleTools
from pegboard.starting import collector_paused
from pegboard.tools import READ_RESULT_NAME, Origin, Tool, as_tool

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from pegboard.config import Profile
    from pegboard.contract import Dialect, Export, Finding, SourceStatus, ToolSource
    from pegboard.registry.asking import PluginRecord
    from pegboard.secrets.mask import SecretMask
    from pegboard.tools import Limits

log = get_logger("pegboard")

PROGRAM = Origin()
"""The origin of tools that a program adds itself."""


_boards: weakref.WeakSet[Board] = weakref.WeakSet()
"""All boards of the process."""


def _without_secrets(text: str) -> str:
    """A text of a log without what any board of this process knows as a secret, or what looks like one."""
    from pegboard.secrets.carried import secrets_of_environment
    from pegboard.secrets.written import text_without_secrets

    told = [board._logged_secrets() for board in list(_boards)] or [tuple(secrets_of_environment(os.environ))]
    return text_without_secrets(text, tuple(sorted(set().union(*told), key=len, reverse=True)))


LOG_FILTER.hide = _without_secrets


class Board:
    """Plugins, settings, registry, plans; what `list`, `show`, `export` and `plugins` need. Made by `load_board`.

    Attributes:
        config: the configuration in force.
        plugins: every plugin's record, and the hooks.
        registry: what is registered.
        runtime: what plans share; a host fills it.
        limit_stores: where cooldown, rate and concurrency are counted.
        rejected_tools: tools that were offered and refused.

    .. versionadded:: 0.1
    """

    def __init__(self, config: Config, plugins: Plugins) -> None:
        core = config.core
        self.config = config
        self.plugins = plugins
        self.registry = Registry()
        self.runtime = Runtime(
            timeout_s=core.timeout_s,
            max_result_bytes=core.max_result_bytes,
            approval_timeout_s=core.approval_timeout_s,
            make_secrets=self._make_secret_mask,
            has_secret_rules=bool(core.secrets),
        )
        self.rejected_tools: dict[str, RejectedTool] = {}
        self._logged: tuple[object, tuple[str, ...]] | None = None
        self._forms: tuple[object, frozenset[str]] | None = None
        self.limit_stores = LimitStores(config, plugins)
        self._planner = Planner(config, plugins, self.runtime, self.limit_stores)
        self._sources = Sources(config)
        self._visible_by_profile: dict[str | None, VisibleTools] = {}
        self._dialects: dict[str, Dialect] | None = None
        sources = self._find_sources()  # before any tool: whether all of them are trusted is part of each plan
        self._watch_flows()
        self._register_installed()
        self._register_all_known(sources)
        _boards.add(self)

    # -- reading

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools that can be called, by name, as of now; the mapping never changes."""
        return self.registry.snapshot.tools

    def categories(self) -> dict[str, int]:
        """How many tools there are of each category, by name."""
        counts: dict[str, int] = {}
        for one in self.tools.values():
            counts[one.category] = counts.get(one.category, 0) + 1
        return dict(sorted(counts.items()))

    def search(self, text: str | None = None, *, category: str | None = None, tag: str | None = None) -> list[Tool]:
        """Tools that hold every word of `text` in name, title, description, category or tags, the best match first."""
        return search(self.tools.values(), text, category=category, tag=tag)

    def state_of(self, name: str, visible: VisibleTools | None = None) -> str:
        """How a registered tool is doing: `ready`, `disabled`, `conflict`, or the state of its source.

        `refused`: sessions that see these tools (None: that of the configuration's own profile) are not offered it,
        since read-only mode or their profile leaves it out.
        """
        if name not in (visible or self.visible_tools()).offered.plans:
            return "refused"
        entry = self.registry.plans[name]
        if isinstance(entry, Refusal):
            return str(entry.error.details.get("reason", "conflict"))
        source = entry.tool.origin.source
        state = self.source_states.get(source) if source else None
        return state[0].value if state else "ready"

    def visible_tools(self, profile: str | None = None) -> VisibleTools:
        """What sessions of a profile see; None: of the configuration's default profile, or everything.

        Raises:
            ConfigError: there is no such profile.
        """
        profile = profile if profile is not None else self.config.core.profile
        if profile not in self._visible_by_profile:
            self._visible_by_profile[profile] = self._make_visible(profile)
        return self._visible_by_profile[profile]

    @property
    def failed_validators(self) -> Mapping[str, str]:
        """Plugins whose `make_validator` raised, with where; they counted as None."""
        return self._planner.failed_validators

    view = Former("visible_tools")
    not_hung = Former("rejected_tools")

    def _make_visible(self, profile: str | None) -> VisibleTools:
        read_only = self.config.core.read_only
        if profile is None:
            return VisibleTools(self.registry, read_only=read_only)
        found = self.config.profiles.get(profile)
        if found is None:
            from pegboard.schema.near import hint_of

            hint = hint_of(profile, self.config.profiles, none="write one: [profiles.NAME]")
            raise ConfigError(f"there is no profile {profile[:60]!r}", hint=hint)
        tighten = functools.partial(self._tightened, found)
        return ProfileTools(self.registry, profile, found, tighten, self._recompile, read_only=read_only)

    def _tightened(self, profile: Profile, one: Tool) -> Limits:
        """The tool's limits in sessions of a profile, which tightens what holds and loosens nothing."""
        limits, runtime = profile.tighten(one.limits), self.runtime
        if limits.timeout_s is not None:
            limits = attrs.evolve(limits, timeout_s=min(limits.timeout_s, runtime.timeout_of(one)))
        if limits.max_result_bytes is not None and one.limits.max_result_bytes is None:
            limits = attrs.evolve(limits, max_result_bytes=min(limits.max_result_bytes, runtime.max_result_bytes))
        return limits

    def _recompile(self, one: Tool) -> PlanEntry:
        try:
            return self._planner.plan(one)
        except (PegboardError, ValueError) as problem:
            return Refusal(
                one, ToolError(ErrorCode.INTERNAL_ERROR, f"{one.name!r} does not fit the profile: {problem}")
            )

    # -- registering and removing

    def add(self, *tools: Tool | Callable[..., Any], origin: Origin = PROGRAM) -> None:
        """Register tools, or functions that `tool` can make one of, in one swap: all of them or none.

        Raises:
            ToolError: CONFLICT: a name is taken.
            PluginError: a guard, validator or executor cannot be made for one, or its schema cannot be held.
            ToolDefinitionError: a function cannot be made into a tool.
        """
        # Nothing is put in place before all are made: a fault of the third leaves the first two off the board as well.
        put: dict[str, PlanEntry] = {}
        for given in tools:
            one = as_tool(given)
            if one.name in put or one.name in self.registry.plans:
                raise ToolError(ErrorCode.CONFLICT, f"a tool named {one.name!r} is already registered", tool=one.name)
            put[one.name] = self._register(one if origin is PROGRAM else _from(one, origin))
        self.registry.change(put=put)

    def remove(self, *names: str) -> None:
        """Remove tools; calls that are under way go on.

        Raises:
            ToolError: NOT_FOUND: nothing of that name is registered.
        """
        self._require(names)
        self.registry.change(drop=names)

    def disable(self, *names: str) -> None:
        """Keep the tools registered, answering FORBIDDEN.

        Raises:
            ToolError: NOT_FOUND: nothing of that name is registered.
        """
        self._require(names)
        plans = self.registry.plans
        # What two plugins claim is refused as it is, and must not come out of it settled.
        free = [name for name in names if not is_conflict(plans[name])]
        self.registry.change(put={name: disabled(plans[name].tool) for name in free})

    def enable(self, *names: str) -> None:
        """Make disabled tools answer again.

        Raises:
            ToolError: NOT_FOUND: nothing of that name is registered. CONFLICT: two plugins claim it.
        """
        self._require(names)
        put: dict[str, PlanEntry] = {}
        for name in names:
            entry = self.registry.plans[name]
            if isinstance(entry, Refusal):
                if is_conflict(entry):
                    raise entry.error
                put[name] = self._planner.plan(entry.tool)
        self.registry.change(put=put)

    def _require(self, names: Iterable[str]) -> None:
        for name in names:
            if type(name) is not str:
                raise ToolError(
                    ErrorCode.INVALID_INPUT, f"name: expected the name of a tool, got {type(name).__name__}"
                )
            if name not in self.registry.plans:
                from pegboard.absence import not_found

                raise self.held_back(name) or not_found(name, self.registry.plans, self.sources_away(name))

    def replace_source(self, source: str, tools: Iterable[Tool]) -> None:
        """Swap all tools of a source for these, in one step.

        A source never replaces a registered tool: its own is registered under the name that the source has for that
        (`ToolSource.other_name`), or not at all. One that was disabled stays so.
        """
        old = {name for name, entry in self.registry.plans.items() if entry.tool.origin.source == source}
        self.rejected_tools = {name: one for name, one in self.rejected_tools.items() if one.origin.source != source}
        origin = self._sources.origin_of(source)
        put: dict[str, PlanEntry] = {}

        def holder(name: str) -> PlanEntry | None:
            return put.get(name) or (None if name in old else self.registry.plans.get(name))

        for one in tools:
            named = _from(one, origin)
            if not is_wanted(self.config, named.name, named.origin):
                self._refuse(named, f"[tools.{one.name}] takes it from elsewhere", "change its `from`")
                continue
            if (taken := holder(named.name)) is not None:
                other = self._sources.other_name(source, named.name)
                if other is None or holder(other) is not None:
                    why = f"{taken.tool.origin} already has a tool of that name"
                    self._refuse(named, why, "give the source a prefix")
                    continue
                # Of a tool that is installed the name is its own, and so is what is said of that.
                plain_name = named.name if taken.tool.origin.source is not None else None
                named = attrs.evolve(named, name=other, plain_name=plain_name)
            known, entry = self._known_as(named), self._try_register(named)
            if isinstance(known, Plan) and isinstance(entry, Plan) and _is_same(known.tool, entry.tool):
                entry.guards = known.guards  # a swap is not a way around a limit: what was counted goes on counting
            if entry is not None:
                put[named.name] = disabled(entry.tool) if isinstance(known, Refusal) else entry
        self.registry.change(put=put, drop=old - put.keys())

    def _known_as(self, one: Tool) -> PlanEntry | None:
        """What a tool of a source was registered as until now, also under another name."""
        for name in filter(None, (one.name, one.plain_name)):
            known = self.registry.plans.get(name)
            if known is not None and known.tool.origin.source == one.origin.source:
                return known
        return None

    def offer_again(self) -> None:
        """Offer once more what was held back, now that a person accepted some of it: plugins are asked for it again,
        and sources offer theirs (see `ToolSource`).

        .. versionadded:: 0.1
        """
        held = {name for name, one in self.rejected_tools.items() if one.is_held and one.origin.source is None}
        held -= self.registry.plans.keys()
        if held:
            for name in held:
                del self.rejected_tools[name]
            self._register_installed(only=held)
        for record, source in self.sources:
            if (again := getattr(source, "offer_again", None)) is not None:
                self.plugins.run(record, "offer_again", functools.partial(_not_offered_again, source), again)

    def _register_installed(self, only: Collection[str] | None = None) -> None:
        """Ask every plugin for its tools, or for those of some names alone; what two of them claim is a CONFLICT that
        the configuration settles."""
        offered: dict[str, list[Tool]] = {}
        answers = list(
            self.plugins.ask_for_many("provide_tools", lambda one: isinstance(one, Tool), "Tool (use @tool)")
        )
        for record, tools in answers:
            if record.quarantined is None:
                for one in tools:
                    origin = Origin(record.distribution, record.name, one.origin.source)
                    offered.setdefault(one.name, []).append(_from(one, origin))
        put: dict[str, PlanEntry] = {}
        for name, claims in offered.items():
            if only is not None and name not in only:
                continue
            wanted = [one for one in claims if is_wanted(self.config, name, one.origin)]
            if len(wanted) == 1:
                entry = self._try_register(wanted[0])
                if entry is not None:
                    put[name] = entry
            elif wanted:
                put[name] = conflict(wanted)
            else:
                self._refuse(claims[0], f"[tools.{name}] takes it from elsewhere", "change its `from`")
        self.registry.change(put=put)

    def _try_register(self, one: Tool) -> PlanEntry | None:
        """Register a tool of a plugin: what cannot be registered is noted, and costs that tool alone."""
        try:
            return self._register(one)
        except ToolDisabledError as off:
            self.rejected_tools[one.name] = RejectedTool(
                one.name, one.origin, off.message, off.hint or "", is_disabled=True
            )
            return None
        except ConfigError:
            raise
        except ClaimError as claim:
            if self.plugins.strict and one.origin.source is None:
                raise
            self._refuse(one, claim.message, claim.hint or "")
            return claim.refusal(one)  # it is registered all the same, to say so to whoever calls it
        except PegboardError as problem:
            # What comes from outside does not make the host stricter: one bad tool costs that tool.
            if self.plugins.strict and one.origin.source is None and not isinstance(problem, HeldBackError):
                raise
            self._refuse(one, problem.message, problem.hint or "ask its author", problem)
            return None

    def _refuse(self, one: Tool, why: str, fix: str, problem: PegboardError | None = None) -> None:
        log.warning("tool %s of %s is not on the board: %s", one.name, one.origin, why)
        is_held, all_fix = isinstance(problem, HeldBackError), getattr(problem, "all_hint", None)
        self.rejected_tools[one.name] = RejectedTool(one.name, one.origin, why, fix, is_held=is_held, all_fix=all_fix)

    def _register(self, one: Tool) -> PlanEntry:
        """Apply the configuration's settings over the author's, then make the plan."""
        if one.name == READ_RESULT_NAME:
            _require_own(one)
        configured = self.config.tool_settings(name := self.config.settings_name(one))
        limits = one.limits if configured is NOTHING_SET else configured.override(one.limits)
        if limits is not one.limits:
            author = attrs.evolve(one.limits, timeout_s=one.limits.timeout_s or self.runtime.timeout_of_source(one))
            self.config.check_loosened(name, author, limits)
            one = attrs.evolve(one, limits=limits)
        return disabled(one) if configured.enabled is False else self._planner.plan(one)

    # -- sources

    @property
    def sources(self) -> list[tuple[PluginRecord, ToolSource]]:
        """The sources that plugins provide, each with the plugin's record; a host runs those that are left here."""
        return self._sources.provided

    @sources.setter
    def sources(self, left: list[tuple[PluginRecord, ToolSource]]) -> None:
        """Leave these alone to be run."""
        self._sources.provided = left

    @property
    def source_states(self) -> Mapping[str, tuple[SourceState, str | None]]:
        """How each source is doing, and the reason."""
        return self._sources.states

    def set_source_state(
        self, source: str, state: SourceState, reason: str | None = None, told: str | None = None
    ) -> None:
        """Note how a source is doing; a reason, which third parties write, becomes one bounded line.

        `told` stands for it in answers to callers, where the reason is for people in front of the host alone.
        """
        self._sources.set_state(source, state, reason, told)

    def source_statuses(self) -> list[SourceStatus]:
        """How every source is doing, in the order of their names.

        .. versionadded:: 0.1
        """
        counts = Counter(entry.tool.origin.source for entry in self.registry.plans.values()) if self.sources else {}
        return self._sources.statuses(counts, self.rejected_tools.values())

    def sources_away(self, name: str, *, profile: str | None = None) -> list[SourceStatus]:
        """The sources that could have brought a tool of that name to a session of the profile, and are not ready.

        Their reasons are those that callers may read.

        .. versionadded:: 0.1
        """
        return self._sources.away(name, profile, self)

    def held_back(self, name: str, *, profile: str | None = None) -> ToolError | None:
        """FORBIDDEN, reason `held`, of a tool that a person has to accept before sessions of the profile may call it;
        None: no such tool is held back.

        .. versionadded:: 0.1
        """
        return self._sources.held_back(name, profile, self)

    @property
    def held(self) -> list[RejectedTool]:
        """What a person has to accept before anybody is offered it, by name: tools, and what else sources have (see
        `ToolSource`).

        .. versionadded:: 0.1
        """
        return self._sources.held(self.rejected_tools.values())

    def _watch_flows(self) -> None:
        """Let the plans ask where words go that came from sources which nobody said to trust, if there are any."""
        if not (self._sources.has_untrusted or self.config.core.flows):
            return
        from pegboard.config._policies import PolicyTable
        from pegboard.config._settings import FLOW_WORDS
        from pegboard.flows.guard import Flows

        settings = PolicyTable.of(self.config.core.flows, FLOW_WORDS).on(self._places())
        if (self._sources.has_untrusted or settings.watches) and not settings.allows_all:
            self.runtime.flows = Flows(settings, self._sources.is_untrusted, self._sources.origin_of)

    def _places(self) -> Iterator[str]:
        """Where tools come from, by the names that a table of policies has for that."""
        yield from self.source_states
        for record in self.plugins:
            yield from filter(None, (record.name, record.distribution))

    def _make_secret_mask(self) -> SecretMask | None:
        """What masks secrets that go to models, and to servers that they do not belong to."""
        from pegboard.config._policies import PolicyTable
        from pegboard.config._settings import SECRET_WORDS

        settings = PolicyTable.of(self.config.core.secrets, SECRET_WORDS).on(self._places())
        if settings.allows_all:
            return None
        from pegboard.secrets.mask import SecretMask

        mask = SecretMask(settings, self.known_secrets, self._sources.secrets_of, self._sources.is_third_party)
        self.registry.watch(lambda _old, _new: mask.forget_known())  # other tools may declare other secrets
        return mask

    def known_secrets(self) -> Iterator[str]:
        """Every value that this host knows as a secret, and every key in one: of its configuration, its environment,
        its sources and its tools, whichever declares it.

        .. versionadded:: 0.1
        """
        from pegboard import secrets
        from pegboard.secrets.carried import keys_in, secrets_of_environment

        yield from secrets_of_environment(os.environ)
        declared = {name for entry in self.registry.plans.values() for name in entry.tool.secrets}
        of_tools = (value for name in sorted(declared) if (value := os.environ.get(name)))
        for value in (*self.config.secret_values, *self._sources.secrets(), *of_tools, *secrets.known):
            yield from keys_in(value)

    def known_forms(self) -> frozenset[str]:
        """Every form in which one of them may stand in a text, whatever `[secrets]` lets through: what is written down
        has none.

        .. versionadded:: 0.1
        """
        from pegboard import secrets
        from pegboard.secrets.mask import forms_of
        from pegboard.secrets.shapes import is_distinct

        stamp = secrets.changes, self.registry.plans
        if self._forms is None or self._forms[0] != stamp:
            known = filter(is_distinct, self.known_secrets())
            self._forms = stamp, frozenset(form for value in known for form in forms_of(value))
        return self._forms[1]

    def _logged_secrets(self) -> tuple[str, ...]:
        """What must not be logged, as it was known at most a second ago: tools that fail log again and again."""
        from pegboard import secrets
        from pegboard.secrets.shapes import is_distinct

        stamp = secrets.changes, self.registry.plans, int(monotonic())
        if self._logged is None or self._logged[0] != stamp:
            self._logged = stamp, tuple(filter(is_distinct, self.known_secrets()))
        return self._logged[1]

    def _find_sources(self) -> list[tuple[PluginRecord, ToolSource]]:
        found: list[tuple[PluginRecord, ToolSource]] = []
        for record, sources in self.plugins.ask_for_many("provide_sources", is_source, "ToolSource"):
            for source in sources:
                if source.name in self.source_states:
                    problem = PluginError(f"a second source is named {source.name!r}", hint="rename one of them")
                    self.plugins.quarantine(record, "provide_sources", problem)
                    break
                self._sources.add(record, source)
                timeout_s = getattr(source, "timeout_s", None)  # a source that says nothing has the host's
                if timeout_s is not None:
                    self.runtime.source_timeouts[source.name] = timeout_s
                found.append((record, source))
        return found

    def _register_all_known(self, sources: list[tuple[PluginRecord, ToolSource]]) -> None:
        for record, source in sources:
            self.plugins.run(
                record,
                "known",
                functools.partial(_unknown, source),
                functools.partial(self._register_known, source),
            )

    def _register_known(self, source: ToolSource) -> None:
        """Register the tools that a source offered when it last ran."""
        remember = getattr(source, "known", None)
        try:
            known = remember() if remember is not None else None
        except PluginError as problem:  # what keeps the source from running is said before anybody starts it
            reason = f"{problem.message}; {problem.hint}" if problem.hint else problem.message
            self.set_source_state(source.name, SourceState.CONFIGURED, reason)
            return
        if known is not None:
            self.replace_source(source.name, known)
            self.set_source_state(source.name, SourceState.KNOWN)

    # -- dialects

    @property
    def dialects(self) -> Mapping[str, Dialect]:
        """The ways in which consumers want tools, by name.

        Raises:
            PluginError: CONFLICT: two are of one name.
        """
        if self._dialects is None:
            from pegboard.registry.dialects import find_dialects

            self._dialects = find_dialects(self.plugins)
        return self._dialects

    def export(self, dialect: str, names: Sequence[str] | None = None) -> Export:
        """The tools as one consumer wants them: those that are named, or with None all that are offered, in the order
        of names.

        Raises:
            ConfigError: there is no such dialect.
            ToolError: NOT_FOUND: there is no such tool. FORBIDDEN: it cannot be called, or the board is read-only.
        """
        found = self.dialects.get(dialect)
        if found is None:
            raise self.no_dialect(dialect)
        names = self.visible_tools().offered.names if names is None else names
        self._require(names)
        tools = self.registry.snapshot.offered(read_only=self.config.core.read_only).tools
        missing = [name for name in names if name not in tools]
        if missing:
            raise self.not_offered(missing[0])
        return found.export([tools[name] for name in names])

    def no_dialect(self, name: str) -> ConfigError:
        """Why there is no such dialect: the package that brings it is not there, or it is called otherwise."""
        from pegboard.registry.dialects import no_dialect

        return no_dialect(name, self.dialects)

    def not_offered(self, name: str) -> ToolError:
        """FORBIDDEN: why a registered tool is offered to nobody here."""
        state = self.state_of(name)
        why = "read-only mode refuses it" if state == "refused" else state
        return ToolError(ErrorCode.FORBIDDEN, f"the tool {name!r} cannot be called: {why}")

    # -- doctor

    def findings(self) -> list[Finding]:
        """Everything that is or will be wrong, for `pegboard doctor`."""
        from pegboard.registry.checks import ask_checks

        found: list[Finding] = []
        for record, make in self.plugins.implementations("provide_checks"):
            found += ask_checks(functools.partial(make, settings=record.settings), self, record.label)
        return found


def _unknown(source: ToolSource, record: PluginRecord, where: str, problem: BaseException) -> None:
    """What a source remembers wrongly is not a reason to fail: it tells anew when it runs."""
    if isinstance(problem, ConfigError):
        raise problem
    log.warning("source %s of %s does not know its tools: %s", source.name, record.label, reason_of(problem))


def _not_offered_again(source: ToolSource, record: PluginRecord, where: str, problem: BaseException) -> None:
    log.error("source %s of %s does not offer its tools again", source.name, record.label, exc_info=problem)


def _require_own(one: Tool) -> None:
    from pegboard.result_store import read_result

    if one.handler is not read_result:
        raise PluginError(f"the name {READ_RESULT_NAME!r} is the core's own", hint="give the tool another name")


def _from(one: Tool, origin: Origin) -> Tool:
    return one if one.origin == origin else attrs.evolve(one, origin=origin)


_SEEN = tuple(field.name for field in attrs.fields(Tool) if field.name not in ("handler", "signature"))


def _is_same(one: Tool, other: Tool) -> bool:
    """Whether the tools differ in their handler alone."""
    return all(getattr(one, name) == getattr(other, name) for name in _SEEN)


def load_board(
    config: str | os.PathLike[str] | Mapping[str, Any] | Config | None = None,
    plugins: Sequence[Any] | None = None,
    *,
    without: Iterable[str] = (),
    overrides: Mapping[str, Any] | None = None,
) -> Board:
    """A board without a running loop: what `list`, `show` and `export` need. `open_host` makes one that runs.

    Args:
        config: a file or a mapping, which is all that is read; None: the files that are found (see the reference).
        plugins: names: only these of the installed plugins. Objects: these and the built-ins alone: no entry points
            and no files; variables of the environment hold all the same. None: everything that is installed.
        without: plugins to leave out, built-ins too.
        overrides: settings that override all others, as options of a program do.

    Raises:
        ConfigError: the configuration is wrong; it lists every fault.
        PluginError: a plugin failed whose failure is fatal.

    .. versionadded:: 0.1
    """
    require_lists(plugins, without)
    plugins = None if plugins is None else list(plugins)
    objects = plugins is not None and not all(isinstance(one, str) for one in plugins)
    closed = plugins is not None and (objects or not plugins)
    if not isinstance(config, Config):
        config = load_config(config, overrides=overrides, found=not closed, hold=True)
    try:
        loaded = load_plugins(config, plugins, without=without, strict=config.core.strict)
    except PluginError:
        config.raise_held()  # a plugin that fails may be one that the configuration names wrongly
        raise
    # What is made here stays for as long as the board does: to collect meanwhile finds nothing.
    with collector_paused():
        return Board(config, loaded)
