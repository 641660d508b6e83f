"""Docstrings of compiled functions, asked of the library itself: it is imported, in a child process, and only where
somebody said so (`--inspect`). The child is scrubbed as that of every probe is (`_child`); importing runs the library's
own code, as the user who asked."""

from __future__ import annotations

import json
import sys
import tempfile
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from pegboard_toolgen.discover._child import run_child

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

DEADLINE_S = 30.0
MAX_ANSWER = 8_000_000


def inspected(module: str, names: Collection[str], folders: Sequence[Path]) -> tuple[dict[str, str], str | None]:
    """The docstrings of what is called by dotted paths; and why there are none, where the library could not be asked.

    Args:
        module: what is imported.
        names: dotted paths that begin with it.
        folders: where it and what it needs are found, before what this interpreter has.
    """
    probe = resources.files("pegboard_toolgen.discover.probes").joinpath("library_docs.py").read_text("utf-8")
    paths = [str(folder.resolve()) for folder in folders]
    with tempfile.TemporaryDirectory(prefix="toolgen-") as folder:
        asked = Path(folder, "asked.json")  # as a word of a command it would be bounded
        asked.write_text(json.dumps({"paths": paths, "module": module, "names": sorted(names)}), encoding="utf-8")
        words = [sys.executable, "-I", "-c", probe, "{fd}", str(asked)]
        finished = run_child(words, deadline_s=DEADLINE_S, max_bytes=MAX_ANSWER, answers=True)
    if finished.why is not None:
        return {}, f"importing it was ended: {finished.why}"
    try:
        answer = json.loads(finished.answer)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict) or not isinstance(docs := answer.get("docs"), dict):
        return {}, "importing it ended without an answer"
    why = answer.get("why")
    return {name: docs[name] for name in names if isinstance(docs.get(name), str)}, str(why)[:200] if why else None
