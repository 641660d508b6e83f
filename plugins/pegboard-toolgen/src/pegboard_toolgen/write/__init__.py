"""What `build` writes beside the manifest. Values in, bytes out: no I/O, no clock, no machine.

Everything here is made of the manifest and of the parts that were asked for, and the same manifest gives the same
bytes, whatever the order of its keys. Texts of the manifest are third-party text: they go through serialisers (JSON),
through `_markdown` (documents), or not at all (programs, TOML).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard_toolgen.parts import FULL
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
    from collections.abc import Callable, Collection, Mapping

    Output = Callable[[ManifestView], dict[str, bytes]]

__all__ = ["render"]

_LEAN: tuple[Output, ...] = (readme.render, skill.render, serve.render)
_OF_PART: Mapping[str, tuple[Output, ...]] = {
    "adapters": (openai.render, langchain.render, openapi.render),
    "mcpb": (mcpb.render,),
    "routes": (),  # it is of the source, and stands in the profile
    "schemas": (schemas.render,),
    "server": (server_json.render,),
    "tests": (contract.render,),
    "utcp": (utcp.render,),
}


def render(manifest: Mapping[str, Any], parts: Collection[str] = FULL) -> dict[str, bytes]:
    """The outputs of a manifest that is valid: relative path (with `/`) to bytes, in the order of paths.

    Args:
        manifest: with fingerprints or without.
        parts: what is made beside the lean folder (see `parts`); everything, unless it is said.

    Raises:
        ValueError: the manifest is not JSON, or a schema of it refers to what is not there (`ProjectionError`).

    .. versionadded:: 0.1
    """
    view = view_of(manifest, parts)
    files: dict[str, bytes] = {}
    for output in (*_LEAN, *(one for part in sorted(view.parts) for one in _OF_PART[part])):
        files |= output(view)
    return dict(sorted(files.items()))
