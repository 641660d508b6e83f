"""The ways in which consumers want tools: found when one is asked for, each name once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard.dialects._checked import CheckedDialect
from pegboard.errors import ConfigError, PluginError
from pegboard.schema.near import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pegboard.contract import Dialect
    from pegboard.registry.asking import Asking

DIALECT_PACKAGES = {
    "anthropic": "pegboard-anthropic",
    "cohere": "pegboard-cohere",
    "gemini": "pegboard-gemini",
    "mcp": "pegboard-mcp",
    "openai": "pegboard-openai",
    "openai-responses": "pegboard-openai",
}
"""Dialects that packages of this project bring, for those who miss one."""


def find_dialects(plugins: Asking) -> dict[str, Dialect]:
    """Every dialect, by name.

    Raises:
        PluginError: CONFLICT: two are of one name.
    """
    found: dict[str, Dialect] = {}
    owners: dict[str, str] = {}
    for record, dialects in plugins.ask_for_many("provide_dialects", _is_dialect, "Dialect"):
        for dialect in dialects:
            if dialect.name in found:
                both = f"{owners[dialect.name]} and {record.label}"
                raise PluginError(
                    f"CONFLICT: the dialect {dialect.name!r} comes from {both}",
                    hint=f'leave one out: without = ["{record.name}"]',
                )
            found[dialect.name] = dialect if record.builtin else CheckedDialect(dialect, record.label)
            owners[dialect.name] = record.label
    return found


def no_dialect(name: str, names: Iterable[str]) -> ConfigError:
    """Why none of the dialects has that name: the package that brings it is not there, or it is called otherwise."""
    here = ", ".join(sorted(names))
    package = DIALECT_PACKAGES.get(name)
    if package is not None:
        message = f"the dialect {name!r} comes with {package}, which is not there; on the board: {here}"
        return ConfigError(message, hint=f"pip install {package}; where it is installed, pegboard doctor says more")
    near = nearest(name, {*names, *DIALECT_PACKAGES})
    more = ", ".join(sorted({*DIALECT_PACKAGES.values()}))
    hint = f"did you mean {near}?" if near else f"others come with packages: {more}"
    return ConfigError(f"there is no dialect {name[:60]!r}; on the board: {here}", hint=hint)


def _is_dialect(one: object) -> bool:
    return isinstance(getattr(one, "name", None), str) and callable(getattr(one, "export", None))
