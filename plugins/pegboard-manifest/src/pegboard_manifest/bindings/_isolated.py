"""What runs in a worker process: one call of a bound function, with the host's streams out of its reach."""

from __future__ import annotations

import contextlib
import json
import os
from threading import get_ident
from typing import TYPE_CHECKING, Any

from pegboard import ErrorCode, ToolError
from pegboard_manifest.bindings import _quiet
from pegboard_manifest.bindings._results import to_data

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_compiled: dict[str, Any] = {}
"""What this worker has called before, by all that its binding says."""
MAX_COMPILED = 200


def call(spec: Mapping[str, Any], arguments: Mapping[str, Any]) -> Any:
    """Call the function of a binding.

    Raises:
        ToolError: it failed, or may not be called.
    """
    from pegboard_manifest.bindings._exceptions import compile_errors
    from pegboard_manifest.bindings.python import compile_call

    key = json.dumps(spec, sort_keys=True)
    with _without_output():
        error_of = compile_errors((), spec["qualified_name"])
        try:
            if key not in _compiled:
                if len(_compiled) >= MAX_COMPILED:
                    _compiled.clear()
                _compiled[key] = compile_call(spec)
            function, bind, error_of = _compiled[key]
            args, kwargs = ((), arguments) if bind is None else bind(arguments)
            return to_data(function(*args, **kwargs))
        except BaseException as problem:  # noqa: BLE001 - the function's own, as this process is; classified below
            told = _told(problem, error_of, spec["name"])
        # The cause stays here: an exception of a library may not survive the way to the host.
        raise told


def _told(problem: BaseException, error_of: Callable[[BaseException], ToolError], name: str) -> ToolError:
    from pegboard_manifest.bindings.python import noted

    try:
        return noted(problem, error_of, name)
    except BaseException:  # noqa: BLE001 - what the exception says of itself breaks
        return ToolError(ErrorCode.UPSTREAM_ERROR, f"{name} failed; its cause cannot be told", executed=True)


@contextlib.contextmanager
def _without_output() -> Iterator[None]:
    """File descriptor 1 leads to the null device, so that what is written past Python does not reach the host's."""
    _quiet.stand_in()
    _quiet.running.add(get_ident())
    kept = os.dup(1)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        _quiet.running.discard(get_ident())
