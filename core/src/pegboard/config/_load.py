"""The way from files, variables and options to a `Config`: what is read, and what overrides what."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pegboard.config._config import Config
from pegboard.config._environment import SECTIONS, environment_layers
from pegboard.config._folders import name_user_folder, working_folder
from pegboard.config._layers import PROGRAM, ConfigFault, Layer, Tree, ValueOrigin, expand
from pegboard.config._settings import CoreSettings, keys_of
from pegboard.config._structure import shorten, unknown_key
from pegboard.errors import ConfigError, Fault, Step
from pegboard.limits import CONFIG_LEVELS

if TYPE_CHECKING:
    from pathlib import Path

USER_FILE = "pegboard.toml"


def load_config(
    source: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    user_dir: Path | None = None,
    state_dir: Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    found: bool = True,
    look: bool = True,
    hold: bool = False,
    accept: bool = False,
) -> Config:
    """Read the configuration that holds here.

    The user's own file, over it the nearest one upwards from the working directory; or `source` alone: a file that
    was named, or a mapping from a program. Both are trusted. The variables of the environment lie over all of them,
    over those `overrides`.

    Args:
        source: a file or a mapping; None: what `PEGBOARD_CONFIG` names, else the user's own and the found file.
        environ: the environment; None: the process's.
        cwd: where the search begins; None: the working directory.
        user_dir: the folder of the user's own file; None: the platform's.
        state_dir: where trusted files are noted; None: the platform's.
        overrides: settings from options of the program, by key; None is an option that was not given.
        found: False reads no file but `source`.
        look: False reads the user's own file alone, and looks for none.
        hold: keep those faults in `Config.held`, to be raised together with those of plugins.
        accept: read the found file, and what it names, as if they were accepted: to ask what would be.

    Raises:
        ConfigError: with every fault that can be known without plugins.

    .. versionadded:: 0.1
    """
    environ = os.environ if environ is None else environ
    if source is None and found and environ.get("PEGBOARD_CONFIG"):
        source = environ["PEGBOARD_CONFIG"]
    faults: list[Fault] = []
    here = working_folder() if cwd is None else os.fspath(cwd)
    layers: list[Layer] = []
    if source is not None or found:
        layers = _read_layers(source, here, user_dir, state_dir, faults, look=look, accept=accept)
    for layer in layers:
        faults += _take_core_table(layer)
        faults += _take_tools_list(layer)
        faults += expand(layer, environ)
    tree = Tree(
        found={layer.origin for layer in layers if not layer.trusted},
        accepted=set() if accept else {layer.origin for layer in layers if layer.trusted and layer.found},
    )
    for layer in layers:
        tree.lay(layer)
    above, wrong = environment_layers(environ, tree.values)
    above += [layer for key, value in (overrides or {}).items() if value is not None for layer in _options(key, value)]
    for layer in above:
        tree.lay(layer)
    safe = None
    if tree.found:
        safe = Tree()
        for layer in (*layers, *above):
            if layer.trusted:
                safe.lay(layer)
    files = [layer.file for layer in layers if layer.file]
    return Config(tree, safe=safe, files=files, faults=[*faults, *wrong], state_dir=state_dir, hold=hold)


def find_found_file(cwd: Path | None = None) -> Path | None:
    """The configuration that would be found from a directory: what `pegboard trust` accepts where it names none.

    Raises:
        ConfigError: it cannot be read.

    .. versionadded:: 0.1
    """
    from pegboard.config._files import find_file

    there = find_file(working_folder() if cwd is None else cwd)
    return there.path if there else None


_OPTIONS = {("audit", "file"): "--log-json", ("mcp", "config_file"): "--mcp-config"}
"""Options of the program that are settings of a plugin."""


def _options(key: str, value: Any) -> list[Layer]:
    """What an option says, as a layer; those that are settings of plugins each as one of its own."""
    if key != "plugins":
        return [Layer(ValueOrigin("option", f"--{key.replace('_', '-')}"), {key: value})]
    return [
        Layer(ValueOrigin("option", _OPTIONS.get((plugin, name), "--plugins")), {"plugins": {plugin: {name: listed}}})
        for plugin, section in value.items()
        for name, listed in section.items()
    ]


def _read_layers(
    source: Any,
    cwd: str,
    user_dir: Path | None,
    state_dir: Path | None,
    faults: list[Fault],
    *,
    look: bool,
    accept: bool,
) -> list[Layer]:
    if isinstance(source, Mapping):
        return [Layer(PROGRAM, _plain(source, (), faults))]
    from pegboard.config import _files as files

    if source is not None:
        from pathlib import Path

        path = Path(cwd, source)
        # A person is told the name that they wrote: where the file lies is theirs to know.
        named = os.fspath(source) if cwd == working_folder() else str(path)
        values = files.read_file(path, files.load_bytes(path, named=named), named=named)
        if values is None:
            raise ConfigError(
                f"{named} has no [tool.pegboard]", [files.nothing_in(named)], hint="write it, or name another file"
            )
        return [_file_layer(path, values, named=named)]
    layers: list[Layer] = []
    own = os.path.join(user_dir or name_user_folder("config"), USER_FILE)  # noqa: PTH118
    try:
        if files.is_there(own):
            from pathlib import Path

            path = Path(own)
            layers.append(_file_layer(path, files.read_file(path, files.load_bytes(path)) or {}))
    except ConfigError as problem:
        faults += problem.faults
    try:
        there = files.find_file(cwd) if look else None
        if there is not None and os.path.realpath(there.path) != os.path.realpath(own):
            from pegboard.config._trust import is_trusted

            trusted = accept or is_trusted(there.path, there.content, state_dir=state_dir)
            layers.append(_file_layer(there.path, there.values, trusted=trusted, found=True))
    except ConfigError as problem:
        faults += problem.faults
    return layers


def _file_layer(
    path: Path, values: dict[str, Any], *, named: str | None = None, trusted: bool = True, found: bool = False
) -> Layer:
    return Layer(ValueOrigin("file", named or str(path)), values, trusted=trusted, found=found, file=path)


def _plain(value: Any, path: tuple[Step, ...], faults: list[Fault]) -> Any:
    """A copy of a program's mapping, of dicts and lists; its other values stay what they are."""
    if len(path) > CONFIG_LEVELS:
        faults.append(
            ConfigFault(path[:3], f"values nested no deeper than {CONFIG_LEVELS}", "deeper ones", origin=PROGRAM)
        )
        return None
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                faults.append(ConfigFault((*path, shorten(key)), "keys that are texts", shorten(key), origin=PROGRAM))
        return {key: _plain(item, (*path, key), faults) for key, item in value.items() if isinstance(key, str)}
    if isinstance(value, (list, tuple)):
        return [_plain(item, (*path, index), faults) for index, item in enumerate(value)]
    return value


def _take_core_table(layer: Layer) -> list[Fault]:
    """`[core]` is another place for the keys at the top, which in TOML have to stand before every table."""
    table = layer.values.get("core")
    if table is None:
        return []
    del layer.values["core"]
    if not isinstance(table, dict):
        return [layer.fault(("core",), "a table", shorten(table))]
    faults: list[Fault] = []
    known = keys_of(CoreSettings)
    for key, value in table.items():
        if key in SECTIONS:
            faults.append(layer.fault(("core", key), "a setting of the host", "a table", f"write [{key}]"))
        elif key not in known:
            wrong = unknown_key(("core", key), known)
            faults.append(layer.fault(wrong.path, wrong.expected, wrong.got, wrong.hint))
        elif key in layer.values:
            faults.append(layer.fault((key,), "at the top or under [core]", "both"))
        else:
            layer.values[key] = value
    return faults


def _configured_servers(values: Mapping[str, Any]) -> Any:
    """The file's table of MCP servers, or what stands in its place; None: nothing does."""
    section: Any = values
    for key in ("plugins", "mcp", "servers"):
        section = section.get(key) if isinstance(section, Mapping) else None
    return section


def _take_tools_list(layer: Layer) -> list[Fault]:
    """`tools:` as a list of `type: mcp` entries is `[plugins.mcp.servers.NAME]` in other words."""
    entries = layer.values.get("tools")
    if not isinstance(entries, list):
        return []
    faults: list[Fault] = []
    servers: dict[str, Any] = {}
    for index, entry in enumerate(entries):
        path: tuple[Step, ...] = ("tools", index)
        if not isinstance(entry, dict):
            hint = "as in - {type: mcp, name: files, command: npx}"
            faults.append(layer.fault(path, "a table with type: mcp", shorten(entry), hint))
            continue
        settings = dict(entry)
        kind, name = settings.pop("type", None), settings.pop("name", None) or settings.get("server")
        if kind != "mcp":
            hint = "write type: mcp; other tools come from their plugins"
            faults.append(layer.fault((*path, "type"), "mcp", shorten(kind), hint))
        elif not isinstance(name, str) or name in servers:
            is_taken = isinstance(name, str)
            got = "one that another entry has" if is_taken else shorten(name)
            hint = "rename one of them" if is_taken else "as in name: files"
            faults.append(layer.fault((*path, "name"), "a name of the server's own", got, hint))
        else:
            servers[name] = settings
    del layer.values["tools"]
    listed = _configured_servers(layer.values)
    if servers and listed:
        path = ("plugins", "mcp", "servers")
        faults.append(layer.fault(path, "servers here or under tools:", "both", "write all of them in one place"))
    if servers and not (listed and not isinstance(listed, Mapping)):
        servers = {name: table for name, table in servers.items() if not listed or name not in listed}
        Tree(layer.values).lay(Layer(layer.origin, {"plugins": {"mcp": {"servers": servers}}}))
    return faults
