"""The settings the core itself has, and the marks that any settings class can put on its fields.

A settings class is an attrs class whose fields are the keys of a table. `setting` declares a field with its marks:
whether the value is a secret, whether it may start programs or widen what tools may do, and what it means.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal

import attrs

from pegboard._frozen import EMPTY, freeze
from pegboard._values import Value
from pegboard.config._strictness import Order, least, looser, most, strictest_rate
from pegboard.limits import LEAST_BODY_BYTES, MOST_BODY_BYTES
from pegboard.tools import Limits, RateLimit

if TYPE_CHECKING:
    from pegboard.errors import Fault
    from pegboard.tools import Tool

FLOW_WORDS = ("allow", "ask", "refuse")
SECRET_WORDS = ("allow", "mask", "refuse")
"""What `[flows]` and `[secrets]` can say of a tool, the loosest first; nothing said means the second."""

Widens = bool | Callable[[Any, Any], bool]
"""True, or `widens(value, otherwise)`: whether `value` widens what would hold without it."""


def setting(
    default: Any = attrs.NOTHING,
    *,
    factory: Callable[[], Any] | None = None,
    secret: bool | Literal["values"] = False,
    widens: Widens = False,
    stricter: Order | None = None,
    names_file: bool = False,
    beside_file: bool = False,
    help: str = "",  # noqa: A002 - what attrs, click and argparse call it
    converter: Any = None,
    validator: Any = None,
) -> Any:
    """Declare one field of a settings class: `attrs.field` with marks.

    Args:
        default: the value where nobody says one; without it and `factory` the setting is required.
        factory: makes the default, where it is a list or a table.
        secret: its value is never shown: not by `pegboard config`, not in a fault, not in the `repr` of its class. Of a
            table marked "values" the keys are, but in the `repr`.
        widens: it may start programs or widen what tools may do, so that a file which was discovered but not trusted
            may not say it
            before `pegboard trust`. A function `widens(value, otherwise)` decides by the value and by what would hold
            without that file. What is marked neither so nor with `stricter` is a preference: such a file may say it
            where nobody else does.
        stricter: which way its value holds callers back more, so that such a file may say it that way alone: "lower" or
            "higher" (None is not a bound), "true", "false", "more" or "fewer" (of a list), "rate", or the words of a
            choice, the loosest first.
        names_file: it names a file that says what may widen permissions, as one of programs to start. Where a file that
            was discovered and then trusted says the name, the named file is accepted with it, as it stands.
        beside_file: a path, or a list of them: a relative one that a file says begins at that file's folder, and what
            the settings class gets is absolute. Said elsewhere it begins at the working directory.
        help: one sentence for people: what it does, in which unit.
        converter, validator: as in `attrs.field`. They run on the structured value; a `ValueError` or `TypeError`
            becomes a fault of this setting.

    What no field can say alone, the class says in a class method `find_faults(raw)`: it is given the table and yields
    `Fault`s, their paths from that table on. What no field names alone - the script among the arguments of a program -
    it yields in `find_files(raw)`, as pairs of such a path and a file; those are held as what `names_file` names.

    Raises:
        ValueError: both `widens` and `stricter` are given, or no such order is known.

    .. versionadded:: 0.1
    """
    if stricter is not None and widens is not False:
        raise ValueError("widens, stricter: expected one of them")
    marks = {
        "secret": secret,
        "widens": widens if stricter is None else looser(stricter),
        "stricter": stricter,
        "names_file": names_file,
        "beside_file": beside_file,
        "help": help,
    }
    default = default if factory is None else attrs.Factory(factory)
    return attrs.field(default=default, repr=not secret, converter=converter, validator=validator, metadata=marks)


def keys_of(cls: type) -> dict[str, attrs.Attribute[Any]]:
    """The keys that a table of this settings class may have, in the order of its fields."""
    return {field.alias or field.name: field for field in attrs.fields(cls) if field.init}


def above_zero(_: Any, field: attrs.Attribute[Any], value: float | None) -> None:
    """A validator for `setting`: a finite number above zero, or None where the type takes it.

    Raises:
        ValueError: it is not; the text says what was expected.

    .. versionadded:: 0.1
    """
    if value is not None and not 0 < value < math.inf:
        raise ValueError("a number above zero")


def not_negative(_: Any, field: attrs.Attribute[Any], value: float | None) -> None:
    """A validator for `setting`: a finite number that is zero or above, or None where the type takes it.

    Raises:
        ValueError: it is not; the text says what was expected.

    .. versionadded:: 0.1
    """
    if value is not None and not 0 <= value < math.inf:
        raise ValueError("a number not below zero")


def body_bytes(_: Any, field: attrs.Attribute[Any], value: int) -> None:
    """A validator for `setting`: how long a request or a message may be that is read, in bytes.

    Raises:
        ValueError: it is not; the text says what was expected.

    .. versionadded:: 0.1
    """
    if not LEAST_BODY_BYTES <= value <= MOST_BODY_BYTES:
        raise ValueError(f"a number of bytes from {LEAST_BODY_BYTES} to {MOST_BODY_BYTES}")


def _a_rate(_: Any, field: attrs.Attribute[Any], value: str | None) -> None:
    try:
        RateLimit.parse(value or "1/s")
    except ValueError:
        raise ValueError("a rate such as '10/minute' or '5/10s'") from None


def _removes_limit(value: Any, otherwise: Any) -> bool:
    """A limit that somebody may have set - the tool's author, whom the configuration does not see - is removed."""
    return not value and value is not otherwise


def _brings_back(value: Any, otherwise: Any) -> bool:
    """What was switched off is switched on."""
    return otherwise is False and value is not False


def _asks_otherwise(value: Any, otherwise: Any) -> bool:
    """The question to a person is removed or reworded; only the owner may do that."""
    if isinstance(value, str) or (otherwise and isinstance(otherwise, str)):
        return bool(value != otherwise)
    return _removes_limit(value, otherwise)


def _loosens(words: tuple[str, ...]) -> Callable[[Any, Any], bool]:
    """More is let through: less is asked about, masked or refused."""

    def widens(value: Any, otherwise: Any) -> bool:
        from pegboard.config._policies import loosens

        return loosens(value, otherwise, words)

    return widens


class FaultsError(ValueError):
    """What is wrong with a value, each fault with its place in it."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("; ".join(map(str, faults)))
        self.faults = faults


def _a_policy_table(words: tuple[str, ...]) -> Callable[..., None]:
    def validate(_: Any, field: attrs.Attribute[Any], table: Mapping[str, Any]) -> None:
        if table:
            from pegboard.config._policies import policy_faults

            if faults := list(policy_faults(table, words)):
                raise FaultsError(faults)

    return validate


@attrs.frozen(eq=False, kw_only=True, repr=False)
class CoreSettings(Value):
    """The settings at the top of a configuration: those of the host itself.

    .. versionadded:: 0.1
    """

    timeout_s: float = setting(
        30.0, stricter="lower", validator=above_zero, help="deadline of a tool that has none of its own, in seconds"
    )
    approval_timeout_s: float = setting(
        300.0, stricter="lower", validator=above_zero, help="how long a call waits for a person's yes, in seconds"
    )
    read_only: bool = setting(False, stricter="true", help="refuse tools that may change something")
    user_id: str | None = setting(None, help="who calls, where nobody says it")
    profile: str | None = setting(None, help="the profile of sessions that name none")
    strict: bool = setting(False, stricter="true", help="any plugin that fails is fatal")
    validator: str | None = setting(None, help="the plugin that validates where several would")
    without: tuple[str, ...] = setting((), widens=True, help="plugins that are left out")
    observe: tuple[str, ...] = setting((), stricter="fewer", help="guards that decide and are audited without refusing")
    limit_store: str | None = setting(
        None, widens=True, help="where limits are counted: memory, sqlite, or a plugin that brings a store"
    )
    limit_store_fails: Literal["closed", "open"] = setting(
        "closed", stricter=("open", "closed"), help="what a limit does whose store fails: closed refuses the call"
    )
    flows: Mapping[str, str | Mapping[str, str]] = setting(
        factory=dict,
        widens=_loosens(FLOW_WORDS),
        validator=_a_policy_table(FLOW_WORDS),
        help="whether words that came from untrusted sources may go into other tools: default, from, to",
    )
    secrets: Mapping[str, str | Mapping[str, str]] = setting(
        factory=dict,
        widens=_loosens(SECRET_WORDS),
        validator=_a_policy_table(SECRET_WORDS),
        help="whether keys and passwords in results and arguments are masked: default, from, to",
    )
    max_arguments_bytes: int = setting(
        1_000_000, stricter="lower", validator=above_zero, help="a longer line of batch is refused, in bytes"
    )
    max_result_bytes: int = setting(
        100_000, stricter="lower", validator=above_zero, help="a larger result is cut and kept, in bytes"
    )
    kept_results_bytes: int = setting(
        16_000_000, stricter="lower", validator=not_negative, help="memory for cut results of a session, in bytes"
    )
    kept_results_s: float = setting(
        900.0, stricter="lower", validator=above_zero, help="how long a cut result is kept, in seconds"
    )


@attrs.frozen(eq=False, kw_only=True, repr=False)
class ToolSettings(Value):
    """What `[tools.NAME]` says of one tool; None is not said.

    Args:
        enabled: false takes the tool off the board of this host.
        from_: the key `from`: the distribution whose tool it is, where several bring one of this name.
        executor: the plugin that runs it, where several would.
        timeout_s, cooldown_s, rate_limit, concurrency, requires_user, requires_confirmation, max_result_bytes: as in
            `pegboard.tools.Limits`; a cooldown of 0 lifts the author's.
        permissions: every other key, raw: what the tool's own `permissions` class is structured from.

    .. versionadded:: 0.1
    """

    enabled: bool | None = setting(None, widens=_brings_back)
    from_: str | None = setting(None)
    executor: str | None = setting(None, widens=True)
    timeout_s: float | None = setting(None, stricter="lower", validator=above_zero)
    cooldown_s: float | None = setting(None, stricter="higher", validator=not_negative)
    rate_limit: str | None = setting(None, stricter="rate", validator=_a_rate)
    concurrency: int | None = setting(None, stricter="lower", validator=above_zero)
    requires_user: bool | None = setting(None, widens=_removes_limit)
    requires_confirmation: bool | str | None = setting(None, widens=_asks_otherwise)
    max_result_bytes: int | None = setting(None, stricter="lower", validator=above_zero)
    permissions: Mapping[str, Any] = attrs.field(default=EMPTY, converter=freeze, init=True)

    def override(self, limits: Limits) -> Limits:
        """The limits of a tool's author, with everything that is said here in their place; a confirmation that is asked
        for without words keeps the author's."""
        given = {name: value for name in LIMITS if (value := getattr(self, name)) is not None}
        if given.get("cooldown_s") == 0:
            given["cooldown_s"] = None
        if given.get("requires_confirmation") is True and limits.requires_confirmation:
            del given["requires_confirmation"]
        return attrs.evolve(limits, **given) if given else limits


@attrs.frozen(eq=False, kw_only=True, repr=False)
class Profile(Value):
    """What a session may see and use: `[profiles.NAME]`.

    A tool is selected if any of `tools`, `tags`, `categories` or `sources` names it (all of them are, where none is
    given), and `without` does not. Names of tools may hold `*` and `?`.

    Args:
        tools: names.
        tags, categories: words; one in common is enough.
        sources: names of sources, plugins or distributions.
        without: names of tools that are left out, whatever selects them.
        read_only: refuse tools that may change something.
        user_id: who calls in a session of this profile, where nobody says it.
        timeout_s, cooldown_s, rate_limit, concurrency, requires_user, requires_confirmation, max_result_bytes: limits
            of every tool in such a session, where they are tighter than the tool's own.

    .. versionadded:: 0.1
    """

    tools: tuple[str, ...] = setting(())
    tags: frozenset[str] = setting(frozenset())
    categories: frozenset[str] = setting(frozenset())
    sources: frozenset[str] = setting(frozenset())
    without: tuple[str, ...] = setting((), stricter="more")
    read_only: bool = setting(False, stricter="true")
    user_id: str | None = setting(None, widens=True)
    timeout_s: float | None = setting(None, stricter="lower", validator=above_zero)
    cooldown_s: float | None = setting(None, stricter="higher", validator=above_zero)
    rate_limit: str | None = setting(None, stricter="rate", validator=_a_rate)
    concurrency: int | None = setting(None, stricter="lower", validator=above_zero)
    requires_user: bool = setting(False, stricter="true")
    requires_confirmation: bool | str = setting(False, widens=_asks_otherwise)
    max_result_bytes: int | None = setting(None, stricter="lower", validator=above_zero)

    def selects(self, tool: Tool) -> bool:
        """Whether a session of this profile sees the tool."""
        if _names(self.without, tool.name) or (tool.plain_name is not None and _names(self.without, tool.plain_name)):
            return False
        if not (self.tools or self.tags or self.categories or self.sources):
            return True
        origin = tool.origin
        return (
            _names(self.tools, tool.name)
            or not self.tags.isdisjoint(tool.tags)
            or tool.category in self.categories
            or not self.sources.isdisjoint((origin.source, origin.plugin, origin.distribution))
        )

    def may_select(self, name: str, origins: Iterable[str | None]) -> bool:
        """Whether a tool of that name and origin could be selected, of which nothing else is known."""
        if _names(self.without, name):
            return False
        if self.tags or self.categories or not (self.tools or self.sources):
            return True
        return _names(self.tools, name) or not self.sources.isdisjoint(origins)

    def tighten(self, limits: Limits) -> Limits:
        """The tighter of each: the tool's own limit, or the profile's."""
        return Limits(
            timeout_s=least(self.timeout_s, limits.timeout_s),
            cooldown_s=most(self.cooldown_s, limits.cooldown_s),
            rate_limit=strictest_rate(RateLimit.parse(self.rate_limit) if self.rate_limit else None, limits.rate_limit),
            concurrency=least(self.concurrency, limits.concurrency),
            requires_user=self.requires_user or limits.requires_user,
            requires_confirmation=limits.requires_confirmation or self.requires_confirmation,
            max_result_bytes=least(self.max_result_bytes, limits.max_result_bytes),
        )


LIMITS = tuple(field.name for field in attrs.fields(Limits))
SELECTORS = ("tools", "tags", "categories", "sources")
"""The settings of a profile that say which tools are its: one in addition to others widens it."""


def _names(patterns: tuple[str, ...], name: str) -> bool:
    return any(pattern == name or fnmatchcase(name, pattern) for pattern in patterns)
