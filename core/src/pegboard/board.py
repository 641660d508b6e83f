"""The board: plugins, settings, the registry, and how tools are registered. It needs no running loop, and no trio.

Registering a tool is the cold path: here the hooks are asked - who validates this schema, who guards this tool, who
runs it - and what they answer goes into its plan.
"""

from __future__ import annotations

import functools
import logging
from collections import Counter
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING, Any

import attrs

from pegboard._renamed import Former, attribute_of, former_names
from pegboard._starting import collector_paused
from pegboard._values import Value
from pegboard.absence import not_found
from pegboard.config import Config, load_config
from pegboard.contract import Guard, SourceState, SourceStatus
from pegboard.errors import (
    ConfigError,
    ErrorCode,
    HeldBackError,
    PegboardError,
    PluginError,
    ToolDefinitionError,
    ToolError,
    reason_of,
)
from pegboard.pipeline.plan import Plan, PlanEntry, Refusal, check_plan
from pegboard.pipeline.runtime import Runtime
from pegboard.pipeline.stages import order_guards
from pegboard.plugins import PluginRecord, Plugins, load_plugins
from pegboard.registry import Registry, search
from pegboard.schema.jsontext import shorten_text
from pegboard.tools import Origin, Tool, tool
from pegboard.visible import AllTools, ProfileTools, VisibleTools

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pegboard.config import Profile
    from pegboard.contract import Dialect, Executor, Export, Finding, ToolSource, Validator
    from pegboard.tools import Limits

log = logging.getLogger("pegboard")

PROGRAM = Origin()
"""The origin of tools that a program adds itself."""
MAX_REASON = 600
"""The longest reason of a source's state, in characters."""
MAX_GUARDS = 1_000
"""More guards of one tool, from one plugin, are taken for a mistake."""
UP = (SourceState.READY, SourceState.KNOWN)
"""States of a source whose list of tools is the one that it offers."""
__getattr__ = former_names(__name__, {"NotHung": "RejectedTool", "ToolOffError": "ToolDisabledError"})

READ_RESULT = "read_result"
"""The core's own tool, which every profile sees where a result was cut; no other may be called so."""


DIALECT_PACKAGES = {
    "anthropic": "pegboard-anthropic",
    "cohere": "pegboard-cohere",
    "gemini": "pegboard-gemini",
    "mcp": "pegboard-mcp",
    "openai": "pegboard-openai",
    "openai-responses": "pegboard-openai",
}
"""Dialects that packages of this project bring, for those who miss one."""


@attrs.frozen(eq=False, repr=False)
class RejectedTool(Value):
    """A tool that was rejected: its origin, the reason, and how to repair it.

    `is_disabled`: nothing is wrong with it, its own permissions keep it off until somebody configures it. `is_held`:
    nothing is either, and somebody has to accept it (`HeldBackError`); `all_fix` is its `all_hint`.
    """

    name: str
    origin: Origin
    why: str
    fix: str
    is_disabled: bool = False
    is_held: bool = False
    all_fix: str | None = None

    @property
    def kind(self) -> str:
        """`tool`, or what stands before the colon of a name that is not a tool's."""
        kind, colon, _ = self.name.partition(":")
        return kind if colon else "tool"


class ToolDisabledError(PluginError):
    """The permissions of a tool keep it disabled until somebody configures it."""


class Board:
    """Plugins, settings, registry, plans; what `list`, `show`, `export` and `plugins` need. Made by `load_board`.

    Attributes:
        config: the configuration in force.
        plugins: every plugin's record, and the hooks.
        registry: what is registered.
        runtime: what plans share; a host fills it.
        sources: the sources that plugins provide, with the plugin's record.
        rejected_tools: tools that were offered and refused.
        failed_validators: plugins whose `make_validator` raised, with where; they counted as None.

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
        )
        self.sources: list[tuple[PluginRecord, ToolSource]] = []
        self._owners: dict[str, tuple[PluginRecord, ToolSource]] = {}
        self.rejected_tools: dict[str, RejectedTool] = {}
        self.failed_validators: dict[str, str] = {}
        self.source_states: dict[str, tuple[SourceState, str | None]] = {}
        self._source_since: dict[str, float] = {}
        self._source_reasons: dict[str, str | None] = {}
        self._visible_by_profile: dict[str | None, VisibleTools] = {}
        self._dialects: dict[str, Dialect] | None = None
        self._register_installed()
        self._find_sources()

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

    view = Former("visible_tools")
    not_hung = Former("rejected_tools")

    def _make_visible(self, profile: str | None) -> VisibleTools:
        read_only = self.config.core.read_only
        if profile is None:
            return AllTools(self.registry, read_only=read_only)
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
            return self._plan(one)
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
        put: dict[str, PlanEntry] = {}
        for given in tools:
            one = given if isinstance(given, Tool) else tool(given)
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
        free = [name for name in names if not _is_conflict(plans[name])]
        self.registry.change(put={name: _disabled(plans[name].tool) for name in free})

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
                if _is_conflict(entry):
                    raise entry.error
                put[name] = self._plan(entry.tool)
        self.registry.change(put=put)

    def _require(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.registry.plans:
                raise self.held_back(name) or not_found(name, self.registry.plans, self.sources_away(name))

    def replace_source(self, source: str, tools: Iterable[Tool]) -> None:
        """Swap all tools of a source for these, in one step.

        A source never replaces a registered tool: its own is registered under the name that the source has for that
        (`ToolSource.other_name`), or not at all. One that was disabled stays so.
        """
        old = {name for name, entry in self.registry.plans.items() if entry.tool.origin.source == source}
        self.rejected_tools = {name: one for name, one in self.rejected_tools.items() if one.origin.source != source}
        owner = self._owners.get(source)
        origin = Origin(owner[0].distribution, owner[0].name, source) if owner else Origin(source=source)
        put: dict[str, PlanEntry] = {}

        def holder(name: str) -> PlanEntry | None:
            return put.get(name) or (None if name in old else self.registry.plans.get(name))

        for one in tools:
            named = _from(one, origin)
            if not self._is_wanted(named.name, named.origin):
                self._refuse(named, f"[tools.{one.name}] takes it from elsewhere", "change its `from`")
                continue
            if (taken := holder(named.name)) is not None:
                other = self._other_name(source, named.name)
                if other is None or holder(other) is not None:
                    why = f"{taken.tool.origin} already has a tool of that name"
                    self._refuse(named, why, "give the source a prefix")
                    continue
                named = attrs.evolve(named, name=other)
            known, entry = self.registry.plans.get(named.name), self._try_register(named)
            if isinstance(known, Plan) and isinstance(entry, Plan) and _is_same(known.tool, entry.tool):
                entry.guards = known.guards  # a swap is no way around a limit: what was counted goes on counting
            if entry is not None:
                put[named.name] = _disabled(entry.tool) if isinstance(known, Refusal) else entry
        self.registry.change(put=put, drop=old - put.keys())

    def _other_name(self, source: str, name: str) -> str | None:
        """How a source calls a tool whose name is taken, if it can tell."""
        ask = getattr(self._owners[source][1], "other_name", None) if source in self._owners else None
        return None if ask is None else ask(name)

    def _register_installed(self) -> None:
        """Ask every plugin for its tools; what two of them claim is a CONFLICT that the configuration settles."""
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
            wanted = [one for one in claims if self._is_wanted(name, one.origin)]
            if len(wanted) == 1:
                entry = self._try_register(wanted[0])
                if entry is not None:
                    put[name] = entry
            elif wanted:
                put[name] = _conflict(wanted)
            else:
                self._refuse(claims[0], f"[tools.{name}] takes it from elsewhere", "change its `from`")
        self.registry.change(put=put)

    def _is_wanted(self, name: str, origin: Origin) -> bool:
        """Whether the configuration takes the tool of that name from there."""
        wanted = self.config.tool_settings(name).from_
        return wanted is None or wanted in (origin.distribution, origin.plugin, origin.source)

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
        if one.name == READ_RESULT:
            _require_own(one)
        configured = self.config.tool_settings(one.name)
        limits = configured.override(one.limits)
        if limits is not one.limits:
            author = attrs.evolve(one.limits, timeout_s=one.limits.timeout_s or self.runtime.timeout_of_source(one))
            self.config.check_loosened(one.name, author, limits)
            one = attrs.evolve(one, limits=limits)
        return _disabled(one) if configured.enabled is False else self._plan(one)

    def _plan(self, one: Tool) -> Plan:
        check_plan(one)
        permissions = self.config.structure_permissions(one.name, one.permissions)
        off = attribute_of(permissions, "disabled_reason", "why_off")
        if off is not None:
            why, fix = off
            raise ToolDisabledError(why, hint=fix)
        return Plan(
            one,
            self.runtime,
            guards=self._guards(one),
            validator=self._validator(one, one.input_schema, "input_schema"),
            output_validator=self._validator(one, one.output_schema, "output_schema"),
            executor=self._executor(one),
            permissions=permissions,
        )

    def _guards(self, one: Tool) -> tuple[Guard, ...]:
        guards: list[Guard] = []
        for record, make in self.plugins.implementations("make_guards"):
            try:
                answer = make(tool=one, settings=record.settings)
                if answer is not None:
                    given = [answer] if isinstance(answer, Guard) else list(islice(answer, MAX_GUARDS + 1))
                    if len(given) > MAX_GUARDS:
                        raise TypeError(f"gave more than {MAX_GUARDS:,} guards")
                    if odd := [guard for guard in given if not isinstance(guard, Guard)]:
                        raise TypeError(f"gave {type(odd[0]).__name__}, expected Guard")
                    guards += given
            except (KeyboardInterrupt, PegboardError):  # who says what is wrong and how to repair it says it best
                raise
            except BaseException as problem:
                raise PluginError(
                    f"plugin {record.label} could not guard it: {reason_of(problem)}",
                    hint=f"repair or uninstall {record.distribution or record.name}",
                ) from problem
        if not guards:
            return ()
        observed = self.config.observe
        if observed:
            guards = [attrs.evolve(one, mode="observe") if one.name in observed else one for one in guards]
        return order_guards(guards)

    def _validator(self, one: Tool, schema: Mapping[str, Any] | None, what: str) -> Validator | None:
        if schema is None:
            return None
        foreign = one.origin.source is not None
        answers: list[tuple[PluginRecord, Validator]] = []
        fallback: Validator | None = None
        wanted = self.config.core.validator
        for record, make in self.plugins.implementations("make_validator"):
            if wanted is not None and record.name != wanted and not record.builtin:
                continue
            try:
                answer = make(schema=schema, foreign=foreign)
                if answer is not None and not callable(answer):
                    raise TypeError(f"gave {type(answer).__name__}, expected a callable")
            except PluginError:
                raise  # the schema itself is wrong: a fault of whoever wrote the tool
            except KeyboardInterrupt:
                raise
            except BaseException as problem:
                log.exception("plugin %s failed at a schema of %s", record.label, one.name, exc_info=problem)
                self.failed_validators[record.label] = f"{type(problem).__name__} at the {what} of {one.name!r}"
                continue
            if answer is not None:
                if record.builtin:
                    fallback = answer
                else:
                    answers.append((record, answer))
        if len(answers) > 1:
            raise ClaimError("validate", answers, f'validator = "{answers[0][0].name}"')
        if answers:
            from pegboard.third_party import checked_validator  # where nobody but the core validates, it costs nothing

            return checked_validator(answers[0][1], answers[0][0].label)
        if fallback is None:
            self._refuse_schema(one, schema, what)
        return fallback

    def _refuse_schema(self, one: Tool, schema: Mapping[str, Any], what: str) -> None:
        from pegboard.validation import why_declined

        keyword, package = why_declined(schema)
        installed = any(record.distribution == package for record in self.plugins)
        raise ToolDefinitionError(
            f"no validator on the board holds the {what} of {one.name!r}: {keyword}",
            hint=f"write the schema without {keyword}" if installed else f"pip install {package}",
        )

    def _executor(self, one: Tool) -> Executor | None:
        answers: list[tuple[PluginRecord, Executor]] = []
        wanted = self.config.tool_settings(one.name).executor
        for record, make in self.plugins.implementations("make_executor"):
            if wanted is not None and wanted != record.name:
                continue
            try:
                answer = make(tool=one, settings=record.settings)
                if answer is not None and not callable(answer):
                    raise TypeError(f"gave {type(answer).__name__}, expected a callable")
            except KeyboardInterrupt:
                raise
            except BaseException as problem:
                why = reason_of(problem)
                raise PluginError(f"plugin {record.label} could not make its executor: {why}") from problem
            if answer is not None:
                answers.append((record, answer))
        if len(answers) > 1:
            raise ClaimError("run", answers, f'executor = "{answers[0][0].name}" under [tools.{one.name}]')
        return answers[0][1] if answers else None

    # -- sources

    def set_source_state(
        self, source: str, state: SourceState, reason: str | None = None, told: str | None = None
    ) -> None:
        """Note how a source is doing; a reason, which third parties write, becomes one bounded line.

        `told` stands for it in answers to callers, where the reason is for people in front of the host alone.
        """
        before = self.source_states.get(source)
        if before is None or before[0] is not state:
            self._source_since[source] = monotonic()
        line = " ".join(reason.split()) if reason is not None else None
        self.source_states[source] = (state, line and shorten_text(line, MAX_REASON))
        self._source_reasons[source] = told

    def source_statuses(self) -> list[SourceStatus]:
        """How every source is doing, in the order of their names.

        .. versionadded:: 0.1
        """
        counts = Counter(entry.tool.origin.source for entry in self.registry.plans.values()) if self.sources else {}
        found = (self._status_of(record, source.name, counts.get(source.name, 0)) for record, source in self.sources)
        return sorted(found, key=lambda one: one.source)

    def held_back(self, name: str, *, profile: str | None = None) -> ToolError | None:
        """FORBIDDEN, reason `held`, of a tool that a person has to accept before sessions of the profile may call it;
        None: no such tool is held back.

        .. versionadded:: 0.1
        """
        from pegboard.absence import held_back

        if name in self.registry.plans:  # it is here, and the profile leaves it out
            return None
        offered = self.rejected_tools.get(name)
        if offered is not None:
            is_told = offered.is_held and self._may_have(name, offered.origin, profile)
            return held_back(name, offered.origin, offered.why, offered.fix) if is_told else None
        for origin, asked in self._who_may_have_had(name):
            if self._may_have(name, origin, profile) and (found := _first_pair(asked)):
                return held_back(name, origin, *found)
        return None

    @property
    def held(self) -> list[RejectedTool]:
        """What a person has to accept before anybody is offered it, by name: tools, and what else sources have (see
        `ToolSource`).

        .. versionadded:: 0.1
        """
        found = [one for one in self.rejected_tools.values() if one.is_held]
        for record, source in self.sources:
            origin = Origin(record.distribution, record.name, source.name)
            for name, problem in getattr(source, "held", {}).items():
                why, fix = problem.message, problem.hint or ""
                found.append(RejectedTool(name, origin, why, fix, is_held=True, all_fix=problem.all_hint))
        return sorted(found, key=lambda one: (one.kind != "tool", one.name))

    def _who_may_have_had(self, name: str) -> Iterator[tuple[Origin, list[Callable[[], Any]]]]:
        """Every source and plugin, with what to ask of a tool of that name which it no longer has. Of one that is not
        up nobody but itself can tell whether it still has it."""
        hooks = [
            functools.partial(ask, name=name, board=self, settings=one.settings)
            for one, ask in self.plugins.implementations("why_held")
        ]
        for record, source in self.sources:
            origin = Origin(record.distribution, record.name, source.name)
            own = getattr(source, "why_held", None)
            asked: list[Callable[[], Any]] = [] if own is None else [functools.partial(own, name)]
            if self.source_states[source.name][0] in UP:
                asked += [functools.partial(ask, origin=origin) for ask in hooks]
            yield origin, asked
        for record in self.plugins.records.values() if hooks else ():
            if not record.builtin and record.quarantined is None:
                origin = Origin(record.distribution, record.name)
                yield origin, [functools.partial(ask, origin=origin) for ask in hooks]

    def _may_have(self, name: str, origin: Origin, profile: str | None) -> bool:
        """Whether a tool of that name from there is one that sessions of the profile could have."""
        selected = self.config.profiles.get(profile) if profile is not None else None
        origins = (origin.source, origin.plugin, origin.distribution)
        return self._is_wanted(name, origin) and (selected is None or selected.may_select(name, origins))

    def sources_away(self, name: str, *, profile: str | None = None) -> list[SourceStatus]:
        """The sources that could have brought a tool of that name to a session of the profile, and are not ready.

        Their reasons are those that callers may read.

        .. versionadded:: 0.1
        """
        told = self._source_reasons
        is_held = any(one.is_held for one in self.rejected_tools.values())
        if not is_held and all(state in UP for state, _ in self.source_states.values()):
            return []  # at once: models miss names all day
        away = {
            one.source: attrs.evolve(one, reason=told.get(one.source) or one.reason)
            for one in self.source_statuses()
            if not one.is_ready
        }
        if not away:
            return []
        for record, source in self.sources:
            origin = Origin(record.distribution, record.name, source.name)
            if source.name in away and not (self._may_have(name, origin, profile) and _may_bring(source, name)):
                del away[source.name]
        return list(away.values())

    def _status_of(self, record: PluginRecord, source: str, tools: int) -> SourceStatus:
        state, reason = self.source_states[source]
        is_up = state in UP
        if is_up and not tools:
            rejected = [one for one in self.rejected_tools.values() if one.origin.source == source]
            one = next((one for one in rejected if one.is_held), rejected[0] if rejected else None)
            state = SourceState.HELD if one is not None and one.is_held else state
            empty, off = "its list of tools is empty", "its tools are not on the board"
            reason = empty if one is None else f"{off}: {one.why}; {one.fix}"
        since_s = monotonic() - self._source_since.get(source, monotonic())
        return SourceStatus(source, record.name, state, since_s, reason or (None if is_up else state.meaning), tools)

    def _find_sources(self) -> None:
        for record, sources in self.plugins.ask_for_many("provide_sources", _is_source, "ToolSource"):
            for source in sources:
                if source.name in self.source_states:
                    problem = PluginError(f"a second source is named {source.name!r}", hint="rename one of them")
                    self.plugins.quarantine(record, "provide_sources", problem)
                    break
                self.sources.append((record, source))
                self._owners[source.name] = record, source
                self.set_source_state(source.name, SourceState.CONFIGURED)
                timeout_s = getattr(source, "timeout_s", None)  # a source that says nothing has the host's
                if timeout_s is not None:
                    self.runtime.source_timeouts[source.name] = timeout_s
                self._register_known(record, source)

    def _register_known(self, record: PluginRecord, source: ToolSource) -> None:
        """Register the tools that a source offered when it last ran; what it remembers wrongly is no reason to fail."""
        try:
            remember = getattr(source, "known", None)
            known = remember() if remember is not None else None
            if known is not None:
                self.replace_source(source.name, known)
                self.set_source_state(source.name, SourceState.KNOWN)
        except ConfigError:
            raise
        except KeyboardInterrupt:
            raise
        except BaseException as problem:  # noqa: BLE001 - the memory of a third party; the source tells anew when it runs
            log.warning("source %s of %s does not know its tools: %s", source.name, record.label, reason_of(problem))

    # -- dialects

    @property
    def dialects(self) -> Mapping[str, Dialect]:
        """The ways in which consumers want tools, by name.

        Raises:
            PluginError: CONFLICT: two are of one name.
        """
        if self._dialects is None:
            from pegboard.dialects._checked import CheckedDialect

            found: dict[str, Dialect] = {}
            owners: dict[str, str] = {}
            for record, dialects in self.plugins.ask_for_many("provide_dialects", _is_dialect, "Dialect"):
                for dialect in dialects:
                    if dialect.name in found:
                        both = f"{owners[dialect.name]} and {record.label}"
                        raise PluginError(
                            f"CONFLICT: the dialect {dialect.name!r} comes from {both}",
                            hint=f'leave one out: without = ["{record.name}"]',
                        )
                    found[dialect.name] = dialect if record.builtin else CheckedDialect(dialect, record.label)
                    owners[dialect.name] = record.label
            self._dialects = found
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
        from pegboard.schema.near import NearNames

        here = ", ".join(sorted(self.dialects))
        package = DIALECT_PACKAGES.get(name)
        if package is not None:
            message = f"the dialect {name!r} comes with {package}, which is not there; on the board: {here}"
            return ConfigError(message, hint=f"pip install {package}; where it is installed, pegboard doctor says more")
        near = NearNames().find(name, {*self.dialects, *DIALECT_PACKAGES})
        more = ", ".join(sorted({*DIALECT_PACKAGES.values()}))
        hint = f"did you mean {near[0]}?" if near else f"others come with packages: {more}"
        return ConfigError(f"there is no dialect {name[:60]!r}; on the board: {here}", hint=hint)

    def not_offered(self, name: str) -> ToolError:
        """FORBIDDEN: why a registered tool is offered to nobody here."""
        state = self.state_of(name)
        why = "read-only mode refuses it" if state == "refused" else state
        return ToolError(ErrorCode.FORBIDDEN, f"the tool {name!r} cannot be called: {why}")

    # -- doctor

    def findings(self) -> list[Finding]:
        """Everything that is or will be wrong, for `pegboard doctor`."""
        from pegboard.third_party import ask_checks

        found: list[Finding] = []
        for record, make in self.plugins.implementations("provide_checks"):
            found += ask_checks(functools.partial(make, settings=record.settings), self, record.label)
        return found


def _is_source(one: object) -> bool:
    if not (isinstance(getattr(one, "name", None), str) and callable(getattr(one, "run", None))):
        return False
    return isinstance(getattr(one, "timeout_s", None), (int, float, type(None)))


def _may_bring(source: ToolSource, name: str) -> bool:
    """Whether a source that is not ready could have a tool of that name; one that cannot tell may have any."""
    ask = getattr(source, "may_bring", None)
    try:
        return ask is None or bool(ask(name))
    except Exception:  # noqa: BLE001 - a third-party rule; in doubt the source is named
        return True


def _first_pair(asked: Iterable[Callable[[], Any]]) -> tuple[str, str] | None:
    """The first answer of two texts; whoever fails at it has none, and the name is not there."""
    for ask in asked:
        try:
            answer = ask()
            if answer is None:
                continue
            why, fix = answer
            if isinstance(why, str) and isinstance(fix, str):
                return why, fix
        except KeyboardInterrupt:
            raise
        except BaseException:  # a third-party rule, asked while somebody waits for an answer
            log.exception("who was asked why a tool is held back failed")
    return None


def _is_dialect(one: object) -> bool:
    return isinstance(getattr(one, "name", None), str) and callable(getattr(one, "export", None))


def _require_own(one: Tool) -> None:
    from pegboard.result_store import read_result

    if one.handler is not read_result:
        raise PluginError(f"the name {READ_RESULT!r} is the core's own", hint="give the tool another name")


def _from(one: Tool, origin: Origin) -> Tool:
    return attrs.evolve(one, origin=origin)


class ClaimError(PluginError):
    """Two plugins want to do the same for one tool; which one does is for the configuration to say."""

    def __init__(self, what: str, claims: Sequence[tuple[PluginRecord, Any]], setting: str) -> None:
        self.owners = [record.label for record, _ in claims]
        self.setting = setting
        super().__init__(f"CONFLICT: {' and '.join(self.owners)} both want to {what} it", hint=f"write {setting}")

    def refusal(self, one: Tool) -> Refusal:
        """What is registered in the place of the tool, and answers its calls."""
        claim = self.message.removeprefix("CONFLICT: ")
        message = f"{one.name!r}: {claim}; settle it in the configuration: {self.setting}"
        details = {"reason": "conflict", "owners": self.owners, "retry": "never"}
        return Refusal(one, ToolError(ErrorCode.CONFLICT, message, details))


def _disabled(one: Tool) -> Refusal:
    error = ToolError(ErrorCode.FORBIDDEN, f"the tool {one.name!r} is disabled", reason="disabled", retry="never")
    return Refusal(one, error)


_SEEN = tuple(field.name for field in attrs.fields(Tool) if field.name not in ("handler", "signature"))


def _is_same(one: Tool, other: Tool) -> bool:
    """Whether the tools differ in their handler alone."""
    return all(getattr(one, name) == getattr(other, name) for name in _SEEN)


def _is_conflict(entry: PlanEntry) -> bool:
    return isinstance(entry, Refusal) and entry.error.code is ErrorCode.CONFLICT


def _conflict(claims: Sequence[Tool]) -> Refusal:
    """What is registered where two plugins claim one name: both are named, and load order decides nothing."""
    name = claims[0].name
    owners = sorted(str(one.origin.distribution or one.origin.plugin) for one in claims)
    error = ToolError(
        ErrorCode.CONFLICT,
        f"{' and '.join(owners)} both bring a tool {name!r}; settle it in the configuration: "
        f'[tools.{name}] from = "{owners[0]}"',
        reason="conflict",
        owners=owners,
        retry="never",
    )
    return Refusal(claims[0], error)


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
    objects = plugins is not None and not all(isinstance(one, str) for one in plugins)
    closed = plugins is not None and (objects or not plugins)
    if not isinstance(config, Config):
        config = load_config(config, overrides=overrides, found=not closed, hold=True)
    try:
        loaded = load_plugins(config, plugins, without=without, strict=config.core.strict)
    except PluginError:
        config.raise_held()  # a plugin that fails may be one that the configuration names wrongly
        raise
    with collector_paused():
        return Board(config, loaded)
