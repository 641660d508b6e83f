"""A new plugin package: it passes its own tests and the publish gate the moment it is made.

Its files stand in the folder `template`, in the form of `str.format`.
"""

from __future__ import annotations

import keyword
import pkgutil
import re
import shutil
from typing import TYPE_CHECKING

from pegboard.errors import PegboardError

if TYPE_CHECKING:
    from pathlib import Path

_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_TAKEN = {"count_words", "hookimpl", "int", "list", "provide_tools", "str", "tool"}
"""The names that `template/plugin.txt` uses itself."""


def make_plugin(name: str, folder: Path) -> Path:
    """Write the package `pegboard-NAME` into a new folder of that name.

    Args:
        name: the plugin, as in `coin`; `pegboard-coin` is understood.
        folder: where the package's own folder is made.

    Raises:
        PegboardError: the name is not valid, a plugin of that name is installed, or the folder is there already.
        OSError: it cannot be written; what was written of it is removed.

    .. versionadded:: 0.1
    """
    name = name.removeprefix("pegboard-")
    if not _NAME.fullmatch(name):
        raise PegboardError(
            f"{name[:40]!r} is not a name for a plugin",
            hint="use small letters (a to z), digits and hyphens, a letter first: coin, word-count",
        )
    tool = name.replace("-", "_")
    root = folder / f"pegboard-{name}"
    _refuse_known(tool, root.name)
    if root.exists():
        raise PegboardError(f"{root.name} is there already", hint="choose another name, or remove that folder")
    function = f"{tool}_" if keyword.iskeyword(tool) or tool in _TAKEN else tool
    names = {"name": name, "tool": tool, "function": function, "module": f"pegboard_{tool}"}
    module = names["module"]
    files = {
        "pyproject.toml": "pyproject.txt",
        "README.md": "readme.txt",
        f"src/{module}/__init__.py": "init.txt",
        f"src/{module}/words.py": "words.txt",
        f"src/{module}/plugin.py": "plugin.txt",
        f"tests/test_{tool}.py": "tests.txt",
    }
    try:
        for path, template in files.items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(_read(template).format(**names), encoding="utf-8")
        (root / "src" / module / "py.typed").touch()
    except OSError:
        shutil.rmtree(root, ignore_errors=True)  # half a package would be "there already" at the next try
        raise
    return root


def _refuse_known(plugin: str, distribution: str) -> None:
    from pegboard._installed import installed_plugins
    from pegboard.registry.plugins import BUILTINS, ON_DEMAND

    if plugin in {*BUILTINS, *ON_DEMAND}:
        raise PegboardError(f"pegboard has a plugin {plugin!r} of its own", hint="choose another name")
    for one in installed_plugins():
        if plugin == one.name or distribution == one.distribution:
            raise PegboardError(
                f"the plugin {one.name!r} of {one.distribution} is installed",
                hint=f"choose another name, or uninstall {one.distribution}",
            )


def _read(template: str) -> str:
    data = pkgutil.get_data(__package__, f"template/{template}")
    assert data is not None, "the package has its files"
    return data.decode("utf-8")
