"""Build packages as wheels: `python wheels.py FOLDER PROJECT...`, in an environment with hatchling.

It calls the hooks of PEP 517 that every installer calls, for all projects in one process: an environment and an
interpreter for each of two dozen builds cost thirty times what they build. Each wheel is made of what the source
distribution holds, as `python -m build` does it, so a file that is missing there is missing here.
"""

from __future__ import annotations

import os
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from hatchling.build import build_sdist, build_wheel

SAFELY: Any = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
"""Python 3.11.2, Debian 12's, has no filters; 3.12 warns where none is named."""


def build(project: Path, out: Path) -> None:
    """Put the wheel of a project into a folder."""
    with tempfile.TemporaryDirectory() as place:
        os.chdir(project)
        source = Path(place, build_sdist(place))
        with tarfile.open(source) as packed:
            packed.extractall(place, **SAFELY)
        os.chdir(Path(place, source.name.removesuffix(".tar.gz")))
        build_wheel(str(out))
        os.chdir(out)  # a folder that goes is nobody's current one


if __name__ == "__main__":
    folder, *projects = (Path(word).resolve() for word in sys.argv[1:])
    folder.mkdir(parents=True, exist_ok=True)
    for one in projects:
        build(one, folder)
