"""What a tool of a manifest is bound to: a program, a Python function, an HTTP API; one module for each.

A module is imported when the first tool of its kind is registered, and imports nothing heavy before the first call.
Each has

- `make_handler(entry, manifest)`: the handler of one tool, which compiles its binding at its first call;
- `run_of(entry, manifest)`: where that handler runs, as in `pegboard.Tool.run`.
"""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pegboard import Run
    from pegboard_manifest.document import Manifest

MODULES = {
    "subprocess": "pegboard_manifest.bindings.subprocess",
    "python": "pegboard_manifest.bindings.python",
    "http": "pegboard_manifest.bindings.http",
}


def make_handler(entry: Mapping[str, Any], manifest: Manifest) -> Callable[..., Any]:
    """The handler of one tool of a manifest.

    Args:
        entry: the tool, as the manifest has it.
        manifest: the manifest.

    .. versionadded:: 0.1
    """
    handler: Callable[..., Any] = _module_of(entry).make_handler(entry, manifest)
    return handler


def run_of(entry: Mapping[str, Any], manifest: Manifest) -> Run:
    """Where the handler of a tool runs.

    .. versionadded:: 0.1
    """
    run: Run = _module_of(entry).run_of(entry, manifest)
    return run


def shown(data: Any) -> Any:
    """What a handler returns for this data: of `{"result": text}` the text, which the board shows as it is and makes
    the same data of.

    .. versionadded:: 0.1
    """
    return data["result"] if type(data) is dict and len(data) == 1 and type(data.get("result")) is str else data


def _module_of(entry: Mapping[str, Any]) -> Any:
    return _import_module(entry["binding"]["kind"])


@functools.cache
def _import_module(kind: str) -> Any:
    return importlib.import_module(MODULES[kind])
