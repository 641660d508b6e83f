"""`adapters/langchain_tools.py`: one fixed program that makes LangChain tools of the manifest beside it."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pegboard_toolgen.write.view import ManifestView

_PROGRAM = files("pegboard_toolgen.write").joinpath("fixed", "langchain_tools.py").read_bytes()


def render(_: ManifestView) -> dict[str, bytes]:
    """The program, which is the same for every manifest."""
    return {"adapters/langchain_tools.py": _PROGRAM}
