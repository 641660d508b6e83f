"""Programs as tools: typed data becomes a command line, the program is run without a shell, its output is read.

words, values     arguments -> words, or INVALID_INPUT before anything is started
process           the words -> a process group of its own -> bytes; whatever happens, nothing of it is left
output            bytes -> data
exits             a status and the program's last words -> a `ToolError`
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard import CallContext  # noqa: TC001 - the board resolves the handler's annotation

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from typing import Literal

    from pegboard_manifest.document import Manifest


def make_handler(entry: Mapping[str, Any], manifest: Manifest) -> Callable[..., Awaitable[dict[str, Any]]]:
    """The handler of a tool whose binding is of kind subprocess; the binding is compiled at the first call.

    .. versionadded:: 0.1
    """
    call: Any = None

    async def handler(context: CallContext, /, **arguments: Any) -> dict[str, Any]:
        nonlocal call
        if call is None:
            from pegboard_manifest.bindings.subprocess.call import compile_call

            call = compile_call(entry, manifest)
        data: dict[str, Any] = await call(context, arguments)
        return data

    return handler


def run_of(entry: Mapping[str, Any], manifest: Manifest) -> Literal["async"]:
    """A program is waited for in the loop.

    .. versionadded:: 0.1
    """
    return "async"
