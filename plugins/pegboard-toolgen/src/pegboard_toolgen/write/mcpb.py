"""`adapters/mcpb/`: the manifest of an MCP bundle (MCPB 0.3), and the program that starts the board in it.

Secrets are settings of the person who installs it, marked sensitive; they reach the board as variables of its
environment and are in no file.
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from pegboard_manifest import sanitise
from pegboard_toolgen.write._json import bytes_of

if TYPE_CHECKING:
    from pegboard_toolgen.write.view import ManifestView

MANIFEST_VERSION = "0.3"
FOLDER = "adapters/mcpb"
_SEMVER = re.compile(r"^(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})(-[0-9A-Za-z.-]+)?$")
_SETTINGS = frozenset({"secret", "username", "address"})
_MAIN = files("pegboard_toolgen.write").joinpath("fixed", "mcpb_main.py").read_bytes()


def render(view: ManifestView) -> dict[str, bytes]:
    """The manifest and the program."""
    return {f"{FOLDER}/manifest.json": bytes_of(manifest_of(view)), f"{FOLDER}/server/main.py": _MAIN}


def manifest_of(view: ManifestView) -> dict[str, Any]:
    """The bundle's manifest."""
    settings = [variable for variable in view.variables if variable.kind in _SETTINGS]
    mcp_config: dict[str, Any] = {"command": "python", "args": ["${__dirname}/server/main.py"]}
    if settings:
        mcp_config["env"] = {variable.name: "${user_config." + variable.name + "}" for variable in settings}
    manifest: dict[str, Any] = {
        "manifest_version": MANIFEST_VERSION,
        "name": view.slug,
        "display_name": _inert(view.title),
        "version": semver_of(view.version),
        "description": _inert(summary_of(view, 200)),
        "author": {"name": _inert(view.title)},
        "server": {"type": "python", "entry_point": "server/main.py", "mcp_config": mcp_config},
        "tools": [
            {"name": tool.name, "description": _inert(sanitise(tool.description, 300, one_line=True))}
            for tool in view.tools
        ],
        "compatibility": {"platforms": ["darwin", "linux"], "runtimes": {"python": ">=3.11"}},
    }
    if settings:
        # An optional one without a default would reach the board as the literal text "${user_config.NAME}".
        manifest["user_config"] = {
            variable.name: {
                "type": "string",
                "title": variable.name,
                "description": variable.about,
                "sensitive": variable.kind == "secret",
                "required": variable.required,
                **({} if variable.required else {"default": _inert(variable.default)}),
            }
            for variable in settings
        }
    return manifest


def summary_of(view: ManifestView, limit: int) -> str:
    """What the project is, on one line; ours where it says nothing."""
    text = sanitise(view.description, limit, one_line=True)
    return text or sanitise(f"Tools of {view.title}", limit, one_line=True)


def semver_of(version: str) -> str:
    """The version where it is a semantic one; of another its first three numbers."""
    if _SEMVER.match(version):
        return version
    numbers = [str(int(number)) for number in re.findall(r"[0-9]{1,9}", version)[:3]]
    return ".".join([*numbers, "0", "0", "0"][:3])


def _inert(text: str) -> str:
    """A text that no client takes for one of its variables."""
    return text.replace("${", "$ {")
