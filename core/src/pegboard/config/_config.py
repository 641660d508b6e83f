"""The configuration in force: loaded once, asked by the board, shown by `pegboard config`.

Loading settles what can be settled without plugins: files, variables, the core's own settings, tools and profiles. What
a plugin or a tool declares is structured when its class is known, with `plugin_settings` and `structure_permissions`.
Both refuse what a file that was discovered but not trusted may not say: there is no way to the value around that check.
"""

from __future__ import annotations

import functools
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from pegboard._frozen import EMPTY, thaw
from pegboard._values import Value
from pegboard.config._environment import SECTIONS, fold
from pegboard.config._layers import (
    DEFAULT,
    ConfigFault,
    Tree,
    ValueOrigin,
    leaves,
)
from pegboard.config._secrets import MASKED, looks_secret, mask_path, mask_text, mask_value
from pegboard.config._settings import LIMITS, SELECTORS, CoreSettings, Profile, ToolSettings, Widens, keys_of
from pegboard.config._structure import read_loose, set_fields, shorten, structure, unknown_key
from pegboard.errors import ConfigError, Fault, Step, UntrustedError, format_path

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from pegboard.tools import Limits, Tool

T = TypeVar("T")

MAX_FAULTS = 100
MIN_SECRET = 6
"""A shorter secret is hidden where it stands, but not looked for in other texts: it would be found everywhere."""


@attrs.frozen(eq=False, repr=False)
class Row(Value):
    """One setting as `pegboard config` shows it: key, value with secrets masked, and its origin.

    .. versionadded:: 0.1
    """

    key: str
    value: Any
    origin: str

    def to_json(self) -> dict[str, Any]:
        """One element of `pegboard config --json`."""
        return {"key": self.key, "value": self.value, "origin": self.origin}


_in_use: set[str] = set()


def files_in_use() -> frozenset[str]:
    """The files that this process read as configuration: whoever changes one says what the next start does.

    .. versionadded:: 0.1
    """
    return frozenset(_in_use)


class Config:
    """The settings in force and their origins; made by `load_config`.

    Args:
        tree: the layers merged.
        safe: the same without what was discovered but not trusted; None where there is no such file.
        files: the files that were read, in the order they lie on each other.
        faults: what was wrong with them, to be told with what is wrong with their values.
        state_dir: where trusted files are noted; None: the platform's.
        hold: keep faults in `held`, for whoever can find those of plugins too; such a configuration is of no other use.

    Attributes:
        held: faults that are still to be raised.

    Raises:
        ConfigError: a setting of the core, of a tool or a profile is wrong, or its file may not say it.

    .. versionadded:: 0.1
    """

    core: CoreSettings
    tools: Mapping[str, ToolSettings]
    profiles: Mapping[str, Profile]

    def __init__(
        self,
        tree: Tree | None = None,
        *,
        safe: Tree | None = None,
        files: Iterable[Path] = (),
        faults: Iterable[Fault] = (),
        state_dir: Path | None = None,
        hold: bool = False,
    ) -> None:
        self.held: tuple[Fault, ...] = ()
        self._tree = tree or Tree()
        self._state_dir = state_dir
        self._safe = safe
        self.files = tuple(files)
        _in_use.update(map(str, self.files))
        self._folded = {name: self._fold_variables(name) for name in SECTIONS}
        self._found = self._paths_of_found_files()
        self._classes: dict[tuple[str, ...], type] = {}
        self._secret_fields: dict[tuple[Step, ...], bool | str] = {}
        try:
            self._raise([*faults, *self._structure_own()])
        except ConfigError as problem:
            if not (hold and self._has_sections()):
                raise
            self.held = problem.faults
            return
        unjudged = ", what it says of plugins too" if ("plugins",) in self._found else ""  # they read theirs later
        self._refuse_untrusted(self._untrusted_own(), also=unjudged)

    def raise_held(self) -> None:
        """Raise what was held back.

        Raises:
            ConfigError: anything was.
        """
        if self.held:
            raise ConfigError.of_faults(self.held)

    # -- what the core reads itself

    def _structure_own(self) -> list[Fault]:
        values = self._tree.values
        sections = {name: values.get(name, {}) for name in SECTIONS}
        own = {key: value for key, value in values.items() if key not in SECTIONS}
        known = (*keys_of(CoreSettings), *SECTIONS)
        unknown = (unknown_key((key,), known) for key in own if key not in keys_of(CoreSettings))
        faults: list[Fault] = list(islice(unknown, MAX_FAULTS))
        self.core = CoreSettings()
        core, wrong = _structure_core({key: own[key] for key in own if key in keys_of(CoreSettings)})
        faults += wrong
        for name, section in sections.items():
            faults += _faults_of_section(name, section)
        self.tools, wrong_tools = _structure_each(sections["tools"], _structure_tool, "tools")
        self.profiles, wrong_profiles = _structure_each(sections["profiles"], _structure_profile, "profiles")
        faults += [*wrong_tools, *wrong_profiles]
        if core is not None:
            self.core = core
            if core.profile is not None and core.profile not in sections["profiles"]:
                faults.append(_unknown_profile(core.profile, self.profiles))
        return faults

    def _has_sections(self) -> bool:
        """Whether the sections are tables, so that plugins can read theirs."""
        return not any(_faults_of_section(name, self._tree.values.get(name, {})) for name in SECTIONS)

    def _untrusted_own(self) -> list[tuple[Step, ...]]:
        if self._safe is None:
            return []
        paths = self._widening(CoreSettings, ())
        for name in self.tools:
            paths += self._widening(ToolSettings, ("tools", name)) + self._changed([("tools", name, "from")])
        for name in self.profiles:
            paths += self._widening(Profile, ("profiles", name))
            if self._safe.at(("profiles", name)) is not None:
                # One selector widens what the others narrow, and a profile that selects nothing has everything.
                paths += self._changed([("profiles", name, key) for key in SELECTORS], known=False)
        if self._found_at(("profile",)) and self._safe.at(("profiles", self.core.profile or "", "user_id")) is not None:
            paths.append(("profile",))  # by choosing that profile it would say who calls
        return list(dict.fromkeys(paths))

    def _changed(self, places: list[tuple[Step, ...]], *, known: bool = True) -> list[tuple[Step, ...]]:
        """The places at which a discovered file changes a value; with `known`, only where
        there was one."""
        safe = self._safe or self._tree
        there = [place for place in places if self._found_at(place) and not (known and safe.at(place) is None)]
        return [place for place in there if self._tree.at(place) != safe.at(place)]

    @property
    def observe(self) -> tuple[str, ...]:
        """Names of the guards that run in mode observe."""
        return self.core.observe

    def tool_settings(self, name: str) -> ToolSettings:
        """What the configuration says of one tool; a variable of the environment names it in any case."""
        key = self._find_key("tools", name)
        return self.tools[key] if key is not None else NOTHING_SET

    def settings_name(self, tool: Tool) -> str:
        """Under which name it says something of a tool: the tool's own, else the one that others want, too."""
        if tool.plain_name is None or self.tool_settings(tool.name) is not NOTHING_SET:
            return tool.name
        return tool.plain_name

    # -- what plugins and tools declare

    @property
    def named_plugins(self) -> tuple[str, ...]:
        """The plugins that have a section `[plugins.NAME]`."""
        return tuple(self._tree.values.get("plugins", {}))

    def says_of_plugin(self, name: str) -> bool:
        """Whether there is a section `[plugins.NAME]`, or a variable of one.

        .. versionadded:: 0.1
        """
        return self._find_key("plugins", name) is not None

    def plugin_settings(self, name: str, cls: type[T]) -> T:
        """A plugin's own settings: its section, structured into its attrs class.

        Raises:
            ConfigError: with every fault at once; or a file that was discovered but not trusted says what it may not.
            PluginError: the class names a type that cannot be resolved.
        """
        key = self._find_key("plugins", name) or name
        return self._settings_at(("plugins", key), self._tree.at(("plugins", key)) or {}, cls)

    def structure_permissions(self, tool: str, cls: type[T] | None) -> T | None:
        """The permissions that a tool declares, from the keys under `[tools.NAME]` that are not limits.

        With None for a tool that declares none, every such key is unknown.

        Raises:
            ConfigError: with every fault at once; or a file that was discovered but not trusted says what it may not.
        """
        key = self._find_key("tools", tool)
        if key is None and cls is None:
            return None
        path = ("tools", key or tool)
        raw = self.tools[key].permissions if key is not None else EMPTY
        known = [*(keys_of(cls) if cls else ()), *_TOOL_KEYS]
        self._raise(unknown_key((*path, name), known) for name in raw if name not in known)
        return None if cls is None else self._settings_at(path, raw, cls)

    def check_none_set(self, name: str) -> None:
        """Require that the section of a plugin without settings holds nothing.

        Raises:
            ConfigError: it has keys, which nobody would read.
        """
        path = ("plugins", self._find_key("plugins", name) or name)
        hint = "limits and permissions of its tools stand under [tools.NAME]"
        section = self._tree.at(path)
        keys = section if isinstance(section, dict) else ()
        self._raise(Fault((*path, key), "no key: this plugin has no settings", "one", hint) for key in keys)

    def check_unknown(self, known_plugins: Iterable[str], quarantined: Iterable[str] = ()) -> None:
        """Require that each section `[plugins.NAME]` belongs to a plugin; those of quarantined ones are not unknown.

        Raises:
            ConfigError: naming every section that no plugin has, with the nearest that one has.
        """
        known = tuple(known_plugins)
        sections = {self._find_key("plugins", name) for name in (*known, *quarantined)}
        unknown = [name for name in self.named_plugins if name not in sections]
        self._raise(_not_installed(name, known) for name in unknown)

    def _settings_at(self, path: tuple[str, ...], raw: Mapping[str, Any], cls: type[T]) -> T:
        self._remember(path, cls)
        if not raw and all(field.default is not attrs.NOTHING for field in keys_of(cls).values()):
            return cls()
        raw = self._placed(cls, path, raw)
        settings, faults = structure(raw, cls, path)
        self._raise(_with_those_of_class(cls, raw, path, faults))
        if self._found:
            self._refuse_untrusted(self._widening(cls, path))
        if self._tree.accepted:
            self._refuse_unread(cls, path, raw)
        assert settings is not None
        return settings

    def _placed(self, cls: type, path: tuple[Step, ...], raw: Mapping[str, Any]) -> Mapping[str, Any]:
        """The table with each relative path that begins beside the file that says it made absolute."""
        marked = [
            (place, value)
            for place, field, _, value in set_fields(cls, raw, path)
            if field.metadata.get("beside_file") and type(value) in (str, list)
        ]
        if not marked:
            return raw
        placed: dict[str, Any] = thaw(raw)
        for place, value in marked:
            table: Any = placed
            for step in place[len(path) : -1]:
                table = table[step]
            if isinstance(value, str):
                table[place[-1]] = self._beside(value, place)
            else:
                table[place[-1]] = [self._beside(one, (*place, index)) for index, one in enumerate(value)]
        return placed

    def _beside(self, value: Any, place: tuple[Step, ...]) -> Any:
        origin = self._tree.origin_of(place)
        # What a variable says begins where the variables of the environment do.
        if origin.kind != "file" or type(value) is not str or not value or value.startswith("~"):
            return value
        from pathlib import Path

        return str(Path(origin.name).absolute().parent / value)

    def _remember(self, path: tuple[str, ...], cls: type) -> None:
        """Note which class a table fills: what is secret in it must be known before anything is said about it."""
        self._classes[path] = cls
        for place, field, _, _ in set_fields(cls, self._tree.at(path), path):
            if mark := field.metadata.get("secret"):
                self._secret_fields[place] = mark
        self.__dict__.pop("secret_values", None)

    def _find_key(self, section: str, name: str) -> str | None:
        keys = self._tree.values.get(section)
        if not keys:
            return None
        return name if name in keys else self._folded[section].get(fold(name))

    def _fold_variables(self, section: str) -> dict[str, str]:
        """The keys of a section that only variables name: those cannot spell what a name is written like."""
        keys = self._tree.values.get(section)
        if not isinstance(keys, dict):
            return {}
        return {fold(key): key for key in keys if self._tree.origin_of((section, key)).kind == "environment"}

    # -- trust

    @property
    def untrusted(self) -> tuple[tuple[Step, ...], ...]:
        """The paths of all values that come from a file which was discovered and not trusted."""
        return tuple(path for path, _ in leaves(self._tree.values) if path and self._found_at(path))

    def _paths_of_found_files(self) -> frozenset[tuple[Step, ...]]:
        """Every path at which, or somewhere below which, a file speaks that was discovered but not trusted."""
        if self._safe is None:
            return frozenset()
        given = [path for path, origin in self._tree.origins.items() if origin in self._tree.found]
        return frozenset(path[:length] for path in given for length in range(1, len(path) + 1))

    def _found_at(self, path: tuple[Step, ...]) -> bool:
        return path in self._found or self._tree.origin_of(path) in self._tree.found

    def _widening(self, cls: type, path: tuple[Step, ...]) -> list[tuple[Step, ...]]:
        """Where a found file says what it may not: what `cls` marks as widening, what is looser than without it, and a
        preference that somebody else has said. It may say so by leaving out of a list of its own what another file says
        in that list."""
        safe = self._safe or self._tree
        given = {place: (field, kind) for place, field, kind, _ in set_fields(cls, self._tree.at(path), path)}
        left_out = {place: (field, kind) for place, field, kind, _ in set_fields(cls, safe.at(path), path)}
        fields = {**left_out, **given}
        tables = {place[:length] for place in fields for length in range(len(path) + 1, len(place))}
        widening: list[tuple[Step, ...]] = []
        for place, (field, kind) in fields.items():
            mark = field.metadata.get("widens", False)
            if not self._found_at(place) or any(place[: len(other)] == other for other in widening):
                continue
            if mark is False and (place in tables or safe.at(place) is None):
                continue  # its own fields are judged, or it is a preference that nobody else has said
            value, otherwise = _value_of(field, kind, self._tree.at(place)), _value_of(field, kind, safe.at(place))
            if _widens(mark, value, otherwise):
                widening.append(place)
        return widening

    def _refuse_untrusted(self, paths: list[tuple[Step, ...]], *, also: str = "") -> None:
        if not paths:
            return
        origin = self._tree.origin_of(paths[0])
        fix = f"look at the file{also}, then accept it as it stands: pegboard trust {_quoted(origin.name)}"
        faults = [
            ConfigFault(
                path, "a file that you trust to say this", "one that was discovered but not trusted", origin=origin
            )
            for path in paths
        ]
        raise UntrustedError.of_faults(faults, hint=fix)

    def named_files(self, by: Path) -> tuple[Path, ...]:
        """The files that one of the files of this configuration names and that are held with it, as far as the classes
        of plugins and tools were asked for.

        .. versionadded:: 0.1
        """
        named: dict[Path, None] = {}
        for path, cls in self._classes.items():
            raw = self._placed(cls, path, self._tree.at(path) or {})
            found = self._files_named(cls, path, raw)
            named |= dict.fromkeys(file for place, file in found if self._origin_near(place).name == str(by))
        return tuple(named)

    def _files_named(
        self, cls: type, path: tuple[Step, ...], raw: Mapping[str, Any]
    ) -> Iterator[tuple[tuple[Step, ...], Path]]:
        """The files that a table names: in fields that are marked so, and in what its class finds (`find_files`)."""
        from pathlib import Path

        from pegboard.config._folders import expand_home

        for place, field, _, value in set_fields(cls, raw, path):
            if field.metadata.get("names_file"):
                for one in value if isinstance(value, list) else [value]:
                    if isinstance(one, str):
                        yield place, expand_home(one)
        find = getattr(cls, "find_files", None)
        for below, file in find(read_loose(raw, cls)) if find is not None else ():
            yield (*path, *below), Path(file)

    def _refuse_unread(self, cls: type, path: tuple[Step, ...], raw: Mapping[str, Any]) -> None:
        """Require that a file which was found and accepted names no other that nobody accepted, or that has changed.

        Raises:
            ConfigError: naming the files, and how to trust them.
        """
        from pegboard.config._trust import is_held

        accepted = self._tree.accepted
        named = {
            file: place for place, file in self._files_named(cls, path, raw) if self._origin_near(place) in accepted
        }
        # One that is not there is for who reads it.
        unread = {file: place for file, place in named.items() if is_held(file, state_dir=self._state_dir) is False}
        if not unread:
            return
        origin = self._origin_near(next(iter(unread.values())))
        expected, got = "a file that you trust as it stands", "one that is new, or has changed"
        shown = ", ".join(str(file) for file in islice(unread, 5)) + (", ..." if len(unread) > 5 else "")
        raise UntrustedError(
            f"{origin} may not yet name {self._scrub(shown)}, which nobody here accepted as it stands",
            [ConfigFault(place, expected, got, origin=origin) for place in unread.values()],
            hint=f"look at it, then accept all of it as it stands: pegboard trust {_quoted(origin.name)}",
        )

    def check_loosened(self, tool: str, author: Limits, now: Limits) -> None:
        """Require that no file which was discovered but not trusted makes a limit of a tool looser than it is without
        that file: as the tool's author, its source, the host and every other file have it.

        Args:
            tool: its name.
            author: its limits before the configuration spoke, those of its source among them.
            now: its limits as they are configured.

        Raises:
            ConfigError: naming each, and how to trust the file.
        """
        key = self._find_key("tools", tool)
        if key is None or self._safe is None:
            return
        otherwise = self._without_found(("tools", key), author)
        paths: list[tuple[Step, ...]] = [
            ("tools", key, name)
            for name, mark in _LIMIT_MARKS.items()
            if self._found_at(("tools", key, name)) and _widens(mark, getattr(now, name), getattr(otherwise, name))
        ]
        self._refuse_untrusted(paths)

    def _without_found(self, path: tuple[str, str], author: Limits) -> Limits:
        """The limits of a tool as they would be without the found file."""
        safe = self._safe or self._tree
        given, _ = _structure_tool(safe.at(path) or {}, path)
        core, _ = _structure_core({key: value for key, value in safe.values.items() if key in _HOSTS_LIMITS})
        limits, host = (given or NOTHING_SET).override(author), core or CoreSettings()
        unsaid = {name: getattr(host, name) for name in _HOSTS_LIMITS if getattr(limits, name) is None}
        return attrs.evolve(limits, **unsaid)

    # -- origins, and what may be shown

    def origin_of(self, path: Iterable[Step]) -> ValueOrigin:
        """The origin of the value at this path, as in `("plugins", "tasks", "url")`."""
        return self._tree.origin_of(path)

    def describe(self) -> list[Row]:
        """Every setting in force with its origin, secrets masked: the core's, then what else was said, in order.

        The defaults of plugins and tools are there as far as their classes were asked for.
        """
        places: dict[tuple[Step, ...], Any] = dict.fromkeys((key,) for key in keys_of(CoreSettings))
        values = dict(leaves(self._tree.values))
        # By the names of plugins, since some are asked for their class later than others; then the tools.
        asked = sorted(self._classes.items(), key=lambda pair: pair[0] if pair[0][0] == "plugins" else ("tools",))
        for path, cls in [((), CoreSettings), *asked]:
            table = self._tree.at(path) or {}
            for key, field in keys_of(cls).items():
                if path == ():
                    values[(key,)] = getattr(self.core, field.name)
                elif key not in table and field.default is not attrs.NOTHING:
                    values[(*path, key)] = _default_of(field)
                    if mark := field.metadata.get("secret"):
                        self._secret_fields[(*path, key)] = mark
        ordered = [*(path for path in places if path in values), *(path for path in values if path not in places)]
        return [
            Row(
                self._scrub(format_path(self._shown(path))),
                self._masked(path, values[path]),
                str(self._tree.origin_of(path)),
            )
            for path in ordered
            if path
        ]

    def _is_secret(self, path: tuple[Step, ...]) -> bool:
        if self._tree.is_hidden(path):
            return True
        if path[:1] == ("plugins",) and path[:2] not in self._classes:
            return True  # nobody said what is secret in it: its plugin is not on the board
        if self._is_marked(path):
            return True
        return any(isinstance(step, str) and looks_secret(step) for step in path[2:-1])

    def _is_marked(self, path: tuple[Step, ...]) -> bool:
        """Whether the value, or a table around it, is marked as a secret by its settings class."""
        return any(path[:length] in self._secret_fields for length in range(1, len(path) + 1))

    def _hides_keys(self, path: tuple[Step, ...]) -> bool:
        """Whether what lies below is marked as a secret with its very keys."""
        marks = (self._secret_fields.get(path[:length]) for length in range(1, len(path) + 1))
        return any(mark and mark != "values" for mark in marks)

    def _masked(self, path: tuple[Step, ...], value: Any) -> Any:
        if self._is_secret(path) and value not in (None, "", [], {}):
            return MASKED
        keys = [step for step in path if isinstance(step, str)]
        shown = mask_value(_plain_default(value), key=keys[-1] if keys else "")
        if isinstance(shown, list):
            return [MASKED if self._tree.is_hidden((*path, at)) else self._scrub(item) for at, item in enumerate(shown)]
        return self._scrub(shown)

    def _scrub(self, value: Any) -> Any:
        """The text without any value that is known to be secret, wherever it turns up again."""
        if not isinstance(value, str):
            return value
        for secret in self.secret_values:
            value = value.replace(secret, MASKED)
        return value

    @functools.cached_property
    def secret_values(self) -> list[str]:
        """Every text in it that is known to be secret, the longest first.

        .. versionadded:: 0.1
        """
        found: set[Any] = set()
        for path, value in leaves(self._tree.values):
            items = enumerate(value) if isinstance(value, list) else [(None, value)]
            for at, item in items:
                place = path if at is None else (*path, at)
                named = isinstance(path[-1], str) and looks_secret(path[-1]) if path else False
                if isinstance(item, str) and (named or self._is_secret(place)):
                    found.add(str(item))
            found |= {step for step, shown in zip(path, self._shown(path), strict=True) if shown != step}
        # A short one may be part of a longer: masked first, it would leave the rest of that to be read.
        return sorted((secret for secret in found if len(secret) >= MIN_SECRET), key=len, reverse=True)

    def _raise(self, faults: Iterable[Fault]) -> None:
        shown = islice(faults, MAX_FAULTS)
        dressed = [fault if isinstance(fault, ConfigFault) else self._dress(fault) for fault in shown]
        if dressed:
            raise ConfigError.of_faults(dressed, more=len(dressed) == MAX_FAULTS)

    def _dress(self, fault: Fault) -> ConfigFault:
        """The fault with its origin, and without what must not be shown."""
        path, got = fault.path, fault.got
        value = self._tree.at(path)
        keys = [step for step in path if isinstance(step, str)]
        if _quotes(got):
            if self._is_secret(path) or (keys and looks_secret(keys[-1])):
                got = "a hidden value"
            else:
                got = shorten(self._scrub(mask_text(value))) if isinstance(value, str) else self._scrub(mask_text(got))
        expected = self._scrub(mask_text(fault.expected) if "://" in fault.expected else fault.expected)
        return ConfigFault(
            self._shown(path), expected, got, fault.hint, fault.expected_types, origin=self._origin_near(path)
        )

    def _shown(self, path: tuple[Step, ...]) -> tuple[Step, ...]:
        """The path without steps that are secrets: those that only look so, and the keys of a table that is marked."""
        return tuple(
            MASKED if isinstance(step, str) and self._hides_keys(path[:depth]) else shown
            for depth, (step, shown) in enumerate(zip(path, mask_path(path), strict=True))
        )

    def _origin_near(self, path: tuple[Step, ...]) -> ValueOrigin:
        """The origin of the value; or, where it is missing, of the table in which it is missing."""
        places = (path[:length] for length in range(len(path), 0, -1))
        return next((origin for place in places if (origin := self._tree.origin_of(place)) is not DEFAULT), DEFAULT)


def _quotes(got: str) -> bool:
    """Whether the fault quotes the value itself; `.vscode/mcp.json: no such file` are words of who found it."""
    return got[:1] in "\"'" or (got[:1] in "-+.0123456789" and ": " not in got)


_KEY_OF: dict[Step, Step] = {"from_": "from"}  # no field can be called `from`
_FIELD_OF = {"from": "from_"}
_LIMIT_MARKS: dict[str, Widens] = {
    field.name: field.metadata["widens"] for field in attrs.fields(ToolSettings) if field.name in LIMITS
}
_HOSTS_LIMITS = ("timeout_s", "max_result_bytes")
"""The limits of a tool that are the host's where neither its author nor the configuration says them."""

_TOOL_KEYS = tuple(str(_KEY_OF.get(name, name)) for name in keys_of(ToolSettings) if name != "permissions")
NOTHING_SET = ToolSettings()
"""Those of a tool of which the configuration says nothing."""
_FACTORY: Any = type(attrs.Factory(list))  # attrs types `Factory` as a function


def _widens(mark: Widens, value: Any, otherwise: Any) -> bool:
    if not callable(mark):
        return bool(value != otherwise)
    try:
        return bool(mark(value, otherwise))
    except Exception:  # noqa: BLE001 - a plugin's own function, and one that cannot tell must not let pass
        return True


def _value_of(field: attrs.Attribute[Any], kind: Any, raw: Any) -> Any:
    """What a raw value means to a field; where nothing is said, or nothing that it takes, the default."""
    value, _ = structure(raw, kind)
    return _default_of(field) if value is None and field.default is not attrs.NOTHING else value


def _with_those_of_class(cls: type, raw: Mapping[str, Any], path: tuple[Step, ...], faults: list[Fault]) -> list[Fault]:
    """The faults of the fields, and what no field can say alone: a settings class may have `find_faults(raw)`, with
    paths from its own table on.

    It is asked even where fields are wrong, so that one list names everything. Of a place that is named already the
    field has the word, and the class says how to repair it where the field does not.
    """
    find = getattr(cls, "find_faults", None)
    if find is None:
        return faults
    found = [attrs.evolve(fault, path=(*path, *fault.path)) for fault in find(read_loose(raw, cls))]
    hints = {fault.path: fault.hint for fault in reversed(found)}
    given = {fault.path for fault in faults}
    with_hints = [fault if fault.hint else attrs.evolve(fault, hint=hints.get(fault.path)) for fault in faults]
    return [*with_hints, *(fault for fault in found if fault.path not in given)]


def _default_of(field: attrs.Attribute[Any]) -> Any:
    default: Any = field.default
    if not isinstance(default, _FACTORY):
        return default
    return None if default.takes_self else default.factory()


def _plain_default(value: Any) -> Any:
    """A default as a file would write it."""
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    if isinstance(value, (list, tuple)):
        return list(value)
    return value if value is None or isinstance(value, (dict, str, bool, int, float)) else str(value)


def _faults_of_section(name: str, section: Any) -> list[Fault]:
    if not isinstance(section, dict):
        return [Fault((name,), f"tables, as in [{name}.NAME]", shorten(section))]
    return [Fault((name, key), "a table", shorten(item)) for key, item in section.items() if not isinstance(item, dict)]


def _unknown_profile(name: str, profiles: Collection[str]) -> Fault:
    from pegboard.schema.near import hint_of

    hint = hint_of(name, profiles, none="write one: [profiles.NAME]")
    return Fault(("profile",), "a profile that is configured", shorten(name), hint)


def _not_installed(name: str, known: Iterable[str]) -> Fault:
    from pegboard.schema.near import nearest

    near = nearest(name, known)
    hint = f"did you mean {near!r}?" if near else f"pip install pegboard-{name[:60]}, or remove the section"
    return Fault(("plugins", name), "the section of an installed plugin", "one of a plugin that is not installed", hint)


def _structure_core(given: Mapping[str, Any]) -> tuple[CoreSettings | None, list[Fault]]:
    return structure(given, CoreSettings) if given else (CoreSettings(), [])  # what is not said need not be structured


def _structure_each(section: Any, one: Callable[..., Any], name: str) -> tuple[dict[str, Any], list[Fault]]:
    """Each table of a section; what is not a table has its fault already."""
    made, faults = {}, []
    for key, table in section.items() if isinstance(section, dict) else ():
        if isinstance(table, dict):
            settings, wrong = one(table, (name, key))
            faults += wrong
            if settings is not None:
                made[key] = settings
    return made, faults


def _structure_tool(table: Mapping[str, Any], path: tuple[Step, ...]) -> tuple[ToolSettings | None, list[Fault]]:
    given = {_FIELD_OF.get(key, key): value for key, value in table.items() if key in _TOOL_KEYS}
    settings, faults = structure(given, ToolSettings, path)
    if settings is None:
        return None, [
            attrs.evolve(fault, path=tuple(_KEY_OF.get(step, step) for step in fault.path)) for fault in faults
        ]
    return attrs.evolve(settings, permissions={key: table[key] for key in table if key not in _TOOL_KEYS}), []


def _structure_profile(table: Mapping[str, Any], path: tuple[Step, ...]) -> tuple[Profile | None, list[Fault]]:
    return structure(table, Profile, path)


def _quoted(word: str) -> str:
    """As a shell takes it; every board loads this module, and next to none has anything to quote."""
    import shlex

    return shlex.quote(word)
