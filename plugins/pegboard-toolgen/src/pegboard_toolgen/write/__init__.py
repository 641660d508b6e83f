"""What `build` writes beside the manifest. Values in, bytes out: no I/O, no clock, no machine.

Everything here is made of the manifest alone, and the same manifest gives the same bytes, whatever the order of its
keys. Texts of the manifest are third-party text: they go through serialisers (JSON), through `_markdown` (documents),
or not at all (programs, TOML).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard_toolgen.write import (
    contract,
    langchain,
    mcpb,
    openai,
    openapi,
    readme,
    schemas,
    serve,
    server_json,
    skill,
    utcp,
)
from pegboard_toolgen.write.view import ManifestView, view_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["render"]

_OUTPUTS: tuple[Callable[[ManifestView], dict[str, bytes]], ...] = (
    schemas.render,
    readme.render,
    skill.render,
    serve.render,
    openai.render,
    langchain.render,
    openapi.render,
    utcp.render,
    mcpb.render,
    server_json.render,
    contract.render,
)


def render(manifest: Mapping[str, Any]) -> dict[str, bytes]:
    """Every output of a manifest that is valid: relative path (with `/`) to bytes, in the order of paths.

    Raises:
        ValueError: the manifest is not JSON, or a schema of it refers to what is not there (`ProjectionError`).

    .. versionadded:: 0.1
    """
    view = view_of(manifest)
    files: dict[str, bytes] = {}
    for output in _OUTPUTS:
        files |= output(view)
    return dict(sorted(files.items()))
