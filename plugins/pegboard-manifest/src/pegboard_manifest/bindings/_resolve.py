"""From the qualified name of a binding to the function, by import and `getattr`, and no step beyond what is allowed.

No part of a name begins with an underscore, so neither `__globals__` nor `__class__` is in reach. A name that leads
through a module leads through its own package: `humanize.os.system` has the right beginning, and is refused at `os`.
"""

from __future__ import annotations

import importlib
import types
from typing import TYPE_CHECKING, Any

from pegboard import ErrorCode, ToolError

if TYPE_CHECKING:
    from collections.abc import Iterable


def resolve(qualified_name: str, module: str, allow: Iterable[str] | None = None) -> Any:
    """Import a module, and get what the name means from it.

    Args:
        qualified_name: from the module on: `humanize.intcomma`.
        module: the module's own dotted name: `humanize`.
        allow: qualified names; only these. None: all within the module.

    Raises:
        ToolError: FORBIDDEN: the name is not allowed. UPSTREAM_ERROR: the module cannot be imported, or has no such
            name.
    """
    require_allowed(qualified_name, module, allow)
    found: Any = import_module(module)
    package, here = module.partition(".")[0], module
    for part in qualified_name[len(module) + 1 :].split("."):
        found = _step(found, here, part, qualified_name)
        here = f"{here}.{part}"
        if isinstance(found, types.ModuleType) and found.__name__.partition(".")[0] != package:
            raise _forbidden(qualified_name, "leads out of its package")
    return found


def require_allowed(qualified_name: str, module: str, allow: Iterable[str] | None) -> None:
    """Require that a binding may name this.

    Raises:
        ToolError: FORBIDDEN.
    """
    if not qualified_name.startswith(f"{module}."):
        raise _forbidden(qualified_name, "is not within its module")
    if any(part.startswith("_") or not part.isidentifier() for part in qualified_name.split(".")):
        raise _forbidden(qualified_name, "is not a public name")
    if allow is not None and qualified_name not in allow:
        raise _forbidden(qualified_name, "is not in the allow list of its module")


def import_module(name: str) -> types.ModuleType:
    """Import a module that the manifest names.

    Raises:
        ToolError: UPSTREAM_ERROR: it is not installed, or failed.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as problem:
        missing = problem.name or name
        message = f"the Python module {missing!r} is not installed where the host runs"
        raise ToolError(
            ErrorCode.UPSTREAM_ERROR,
            f"{message}; install it there",
            reason="not_installed",
            executed=False,
            retry="never",
        ) from problem
    except (Exception, SystemExit) as problem:
        kind = type(problem).__name__
        raise ToolError(
            ErrorCode.UPSTREAM_ERROR,
            f"the Python module {name!r} cannot be imported ({kind}); repair its installation, then call again",
            reason="import",
            executed=False,
            retry="never",
        ) from problem


def _step(found: Any, here: str, part: str, qualified_name: str) -> Any:
    try:
        return getattr(found, part)
    except AttributeError as problem:
        if isinstance(found, types.ModuleType) and found.__name__ == here:
            try:
                return importlib.import_module(f"{here}.{part}")
            except ModuleNotFoundError:
                pass
        raise ToolError(
            ErrorCode.UPSTREAM_ERROR,
            f"{qualified_name} is not there in the installed version; make the manifest anew, or install its version",
            reason="no_such_name",
            executed=False,
            retry="never",
        ) from problem


def _forbidden(qualified_name: str, why: str) -> ToolError:
    return ToolError(ErrorCode.FORBIDDEN, f"{qualified_name[:80]!r} {why}", reason="not_allowed", executed=False)
