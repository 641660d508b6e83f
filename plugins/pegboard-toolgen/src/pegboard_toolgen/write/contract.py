"""`tests/`: one fixed test program, and golden pairs that it holds the bindings against.

A golden file says of one tool what its examples become (words, a request, a Python call) and what responses mean (data,
or the code of an error). The pure halves of the bindings make it: nothing is started, sent or imported, and paths are
judged in a folder that is nowhere, so that no file of this machine has a say.
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from pegboard_toolgen.write._json import bytes_of

if TYPE_CHECKING:
    from pegboard_toolgen.write.view import ManifestView

_PROGRAM = files("pegboard_toolgen.write").joinpath("fixed", "contract.py").read_bytes()


def render(view: ManifestView) -> dict[str, bytes]:
    """The program, and one golden file a tool."""
    from pegboard_manifest import Manifest
    from pegboard_manifest.testing import GOLDEN_FOLDER, golden_of

    entries = {tool.name: tool.entry for tool in view.tools}
    manifest = Manifest(document=view.document, folder=GOLDEN_FOLDER, tools=entries)
    golden = {f"tests/golden/{name}.json": bytes_of(golden_of(entry, manifest)) for name, entry in entries.items()}
    return {test_file(view): _PROGRAM, **golden}


def test_file(view: ManifestView) -> str:
    """The program. Two folders of tools may lie in one project, and pytest takes one module of a name."""
    return f"tests/test_tools_of_{view.slug.replace('-', '_')}.py"
