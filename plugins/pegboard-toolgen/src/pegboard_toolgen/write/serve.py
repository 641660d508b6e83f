"""`pegboard.toml` and `mcp.json`: the manifest served by one command.

The board of this file shows the tools of the manifest alone, whatever else is installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard_toolgen.write._json import bytes_of

if TYPE_CHECKING:
    from pegboard_toolgen.write.view import ManifestView

CONFIG = "pegboard.toml"
MANIFEST = "tool.manifest.json"
COMMAND = ("pegboard", "--config", CONFIG, "serve")
FILES_VARIABLE = "PEGBOARD_PLUGINS__MANIFEST__FILES"
"""Says where manifests are, over the configuration: for whoever starts in another folder."""
_TOML = f"""\
# Serves {MANIFEST}: pegboard --config {CONFIG} serve

profile = "manifest"

[plugins.manifest]
files = ["{MANIFEST}"]

[profiles.manifest]
sources = ["pegboard-manifest"]
"""


def render(view: ManifestView) -> dict[str, bytes]:
    """The two files; no text of the manifest is in the first."""
    command, *arguments = COMMAND
    servers = {"mcpServers": {view.slug: {"command": command, "args": arguments}}}
    return {CONFIG: _TOML.encode(), "mcp.json": bytes_of(servers)}
