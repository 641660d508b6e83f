"""Environment variables as a layer: `PEGBOARD_TIMEOUT_S`, `PEGBOARD_PLUGINS__TASKS__URL`, `READ_ONLY`.

Two underscores go one table down. A name finds a key that a file already has, whatever its case and its hyphens;
otherwise it is taken in lower case. An empty variable says nothing. What a value means is up to its setting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from pegboard.config._layers import ConfigFault, Layer, LooseText, ValueOrigin
from pegboard.config._settings import CoreSettings
from pegboard.config._structure import FALSE
from pegboard.limits import CONFIG_LEVELS
from pegboard.trace import VARIABLES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PREFIX = "PEGBOARD_"
NO_SETTINGS = VARIABLES | {"PEGBOARD_CONFIG"}
"""Variables of the prefix that are not settings: `PEGBOARD_CONFIG` names a file, as `--config` does, and those of
`pegboard.trace` say which trace the program belongs to."""
SECTIONS = ("plugins", "tools", "profiles")
_CORE = tuple(field.name for field in attrs.fields(CoreSettings))


def fold(key: str) -> str:
    """The form in which a variable's name and a key are the same."""
    return key.lower().replace("-", "_")


def environment_layers(environ: Mapping[str, str], values: Mapping[str, Any]) -> tuple[list[Layer], list[ConfigFault]]:
    """One layer for each variable, to lie over `values`; and what is wrong with their names."""
    layers, faults = [], []
    # Sorted: which of two spellings of one key holds must not depend on the order in which a shell passed them.
    for name in sorted(environ):
        if not name.startswith(PREFIX) or name in NO_SETTINGS or not environ[name]:
            continue
        steps = name[len(PREFIX) :].split("__")
        if len(steps) == 2 and steps[0].lower() == "core":  # as `[core]` in a file: the keys at the top
            del steps[0]
        path = tuple(_find_keys(steps, values))
        if _is_setting(steps, path):
            layers.append(_layer(name, path, environ[name]))
        else:
            faults.append(_unknown(name, steps))
    if environ.get("READ_ONLY"):  # two variables of one setting: the stricter value wins
        brakes = environ["READ_ONLY"].strip().lower() not in FALSE
        layers.insert(len(layers) if brakes else 0, _layer("READ_ONLY", ("read_only",), environ["READ_ONLY"]))
    return layers, faults


def _layer(name: str, path: tuple[str, ...], text: str) -> Layer:
    values: Any = LooseText(text)
    for step in reversed(path):
        values = {step: values}
    return Layer(ValueOrigin("environment", name), values)


def _find_keys(steps: list[str], values: Any) -> Iterator[str]:
    for step in steps:
        known = values if isinstance(values, dict) else {}
        key = next((key for key in known if fold(key) == fold(step)), step.lower())
        values = known.get(key)
        yield key


def _is_setting(steps: list[str], path: tuple[str, ...]) -> bool:
    if not all(steps) or len(path) > CONFIG_LEVELS:
        return False
    return len(path) >= 3 if path[0] in SECTIONS else len(path) == 1 and path[0] in _CORE


def _unknown(name: str, steps: list[str]) -> ConfigFault:
    origin = ValueOrigin("environment", name[:100])
    section = steps[0].lower()
    if section in SECTIONS:
        return ConfigFault((name[:100],), f"{PREFIX}{section.upper()}__NAME__KEY", "another shape", origin=origin)
    from pegboard.schema.near import nearest

    near = nearest(steps[0], _CORE + SECTIONS)
    hint = f"did you mean {PREFIX}{near.upper()}?" if near else None
    return ConfigFault((name[:100],), "a variable that names a setting", "an unknown one", hint, origin=origin)
