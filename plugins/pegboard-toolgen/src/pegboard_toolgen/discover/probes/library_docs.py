"""Imports a library, and answers with the docstrings of what is called by some dotted paths.

It runs as a program of its own (`python -I -c`) and knows nothing of the package it lies in. `sys.argv` is the
descriptor for the answer, and a file with a JSON object: `paths`, folders for `sys.path`; `module` to import; `names`,
dotted paths that begin with it. The answer is a JSON object: `docs` by path, and `why` there are none.
"""

# ruff: noqa: BLE001 - what a library raises while it is imported may be anything, and is told by its type

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

MAX_DOC = 30_000


def main() -> None:
    """Ask, answer, and end before anything that the library may have started can wait."""
    descriptor, asked = int(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text("utf-8"))
    sys.path[:0] = asked["paths"]
    sys.argv = [""]
    module = asked["module"]
    docs: dict[str, str] = {}
    answer: dict[str, Any] = {"docs": docs}
    try:
        library = importlib.import_module(module)
        for name in asked["names"]:
            doc = doc_of(library, module, name[len(module) + 1 :])
            if doc:
                docs[name] = doc[:MAX_DOC]
    except BaseException as problem:
        answer["why"] = f"importing it raised {type(problem).__name__}"
    view = memoryview(json.dumps(answer).encode("ascii"))
    while view:
        view = view[os.write(descriptor, view) :]
    os._exit(0)


def doc_of(found: Any, path: str, rest: str) -> str:
    """The docstring of what attributes lead to; an empty one for what cannot be called or has none of its own."""
    try:
        for part in rest.split("."):
            path = f"{path}.{part}"
            found = getattr(found, part) if hasattr(found, part) else importlib.import_module(path)
        doc = found.__doc__
        kind = type(found)
        # A `functools.partial` speaks of partials.
        is_own = doc != kind.__doc__ or kind.__module__.partition(".")[0] == path.partition(".")[0]
        return doc if callable(found) and isinstance(doc, str) and is_own else ""
    except Exception:
        return ""


if __name__ == "__main__":
    main()
