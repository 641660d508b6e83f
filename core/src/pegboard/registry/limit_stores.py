"""Which store the limits of a board are counted in: the one that the configuration names, else the one that a plugin
brings, else the default of whoever runs the board.

Whoever counts in several processes needs a place that they share; where there is none each counts alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard.errors import ConfigError, PluginError, reason_of
from pegboard.registry.conflicts import ClaimError

if TYPE_CHECKING:
    from typing import NoReturn

    from pegboard.config import Config
    from pegboard.contract import LimitStore
    from pegboard.limit_stores.shared import SharedLimits
    from pegboard.registry.asking import Asking, PluginRecord

MEMORY = "memory"
"""The name of no store: each process counts alone."""


class LimitStores:
    """The stores that plugins bring to one board, and which of them counts. Nobody is asked before a tool has a limit.

    Attributes:
        default: where limits are counted if neither the configuration names a store nor a plugin brings one.

    Raises:
        ConfigError: the configuration names a store that nobody brings.
    """

    def __init__(self, config: Config, plugins: Asking) -> None:
        self._config = config
        self._plugins = plugins
        self._brought: list[tuple[PluginRecord, LimitStore]] | None = None
        self.default = MEMORY
        if config.core.limit_store is not None:
            self._check_name(config.core.limit_store)

    def require(self) -> None:
        """Require that limits can be counted.

        Raises:
            ClaimError: two plugins bring a store, and the configuration names none of them.
            PluginError: a plugin failed to bring its store, or the one that is named brought none.
        """
        wanted = self._config.core.limit_store
        if self._brought is None:
            asked = self._plugins.ask("provide_limit_store", _store, _failed, self._is_asked)
            self._brought = [] if wanted == MEMORY else list(asked)
        if len(self._brought) > 1:
            setting = f'[core] limit_store = "{self._brought[0][0].name}"'
            raise ClaimError("count the calls of", self._brought, setting)
        if wanted not in (None, MEMORY) and not self._brought:
            raise PluginError(
                f"the plugin {wanted!r} brought no limit store", hint=f"repair [plugins.{wanted}], or name another one"
            )

    def problem(self) -> PluginError | None:
        """Why limits cannot be counted on this board; None: they can."""
        try:
            self.choose()
        except PluginError as problem:
            return problem
        return None

    def _is_asked(self, record: PluginRecord) -> bool:
        wanted = self._config.core.limit_store
        if wanted is not None:
            return record.name == wanted
        # A store that needs more than to be installed, a server for one, counts only where it is named.
        return not record.builtin and record.name not in self._plugins.only_named("provide_limit_store")

    def choose(self) -> tuple[str, LimitStore | None]:
        """The name of the store that counts, and the store; None: each process counts alone.

        Raises:
            PluginError: as `require`.
        """
        self.require()
        chosen = self._brought
        if not chosen and self._config.core.limit_store is None:
            is_default = lambda record: record.name == self.default  # noqa: E731
            chosen = list(self._plugins.ask("provide_limit_store", _store, _failed, is_default))
        return (chosen[0][0].name, chosen[0][1]) if chosen else (MEMORY, None)

    def open(self) -> SharedLimits | None:
        """The store as guards ask it; None: each process counts alone.

        Raises:
            PluginError: as `require`.
        """
        name, store = self.choose()
        if store is None:
            return None
        from pegboard.limit_stores.shared import SharedLimits

        return SharedLimits(name, store, fails_open=self._config.core.limit_store_fails == "open")

    def _check_name(self, name: str) -> None:
        names = [MEMORY, *(record.name for record, _ in self._plugins.implementations("provide_limit_store"))]
        if name in names:
            return
        from pegboard.config import ConfigFault
        from pegboard.schema.near import hint_of

        expected = "memory, sqlite, or a plugin that brings a limit store"
        origin = self._config.origin_of(("limit_store",))
        quarantined = next((one for one in self._plugins.quarantined_so_far if one.name == name), None)
        hint = f"it is quarantined: {quarantined.quarantined}" if quarantined else hint_of(name, names)
        raise ConfigError.of_faults([ConfigFault(("limit_store",), expected, repr(name[:60]), hint, origin=origin)])


def _store(answer: Any) -> Any:
    missing = [name for name in ("take", "claim", "lease") if not callable(getattr(answer, name, None))]
    if missing:
        raise TypeError(f"gave {type(answer).__name__} without {missing[0]}, expected a LimitStore")
    return answer


def _failed(record: PluginRecord, where: str, problem: BaseException) -> NoReturn:
    """A limit that cannot be counted must not be missing: the tools that have one are not registered."""
    raise PluginError(
        f"plugin {record.label} could not bring its limit store: {reason_of(problem)}",
        hint=f"repair or uninstall {record.distribution or record.name}",
    ) from problem
