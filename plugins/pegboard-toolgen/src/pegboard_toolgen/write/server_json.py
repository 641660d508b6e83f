"""`adapters/server.json`: what the MCP registry says of a server (schema of 2025-12-11).

The namespace `com.example` stands for one that the publisher owns: the registry checks it, and the manifest has none.
The server is the board itself, run by `uvx` from PyPI; a variable says where the manifest is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard_toolgen.write._json import bytes_of
from pegboard_toolgen.write.mcpb import semver_of, summary_of
from pegboard_toolgen.write.serve import FILES_VARIABLE, MANIFEST

if TYPE_CHECKING:
    from pegboard_toolgen.write.view import ManifestView, Variable

SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
NAMESPACE = "com.example"
BOARD_VERSION = "0.1.0"
"""The first release that serves manifests of this format."""
_SECRET = frozenset({"secret", "passed"})
"""Of a variable that is only passed on nobody knows what it holds."""


_MANIFEST: dict[str, Any] = {
    "name": FILES_VARIABLE,
    "description": f"Full path of {MANIFEST}.",
    "format": "filepath",
    "isRequired": True,
}


def render(view: ManifestView) -> dict[str, bytes]:
    """The registry's entry."""
    return {"adapters/server.json": bytes_of(server_of(view))}


def server_of(view: ManifestView) -> dict[str, Any]:
    """The entry."""
    version = semver_of(view.version)
    package: dict[str, Any] = {
        "registryType": "pypi",
        "identifier": "pegboard",
        "version": BOARD_VERSION,
        "runtimeHint": "uvx",
        "transport": {"type": "stdio"},
        "runtimeArguments": [
            {"type": "named", "name": "--with", "value": f"{name}=={BOARD_VERSION}", "isRepeated": True}
            for name in ("pegboard-mcp", "pegboard-manifest")
        ],
        "packageArguments": [{"type": "positional", "value": "serve"}],
        "environmentVariables": [_MANIFEST, *(_variable(variable) for variable in view.variables)],
    }
    return {
        "$schema": SCHEMA,
        "name": f"{NAMESPACE}/{view.slug}",
        "title": view.title[:100].rstrip(),
        "description": summary_of(view, 100),
        "version": version,
        "packages": [package],
    }


def _variable(variable: Variable) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": variable.name,
        "description": variable.about,
        "isRequired": variable.required,
        "isSecret": variable.kind in _SECRET,
    }
    return {**entry, "default": variable.default} if variable.default else entry
