"""What a function is said to do: by its own docstring, by those of its overloads, by that of its twin in pure Python
(`_twins`), by the library itself where somebody let it be imported (`_inspect`). The first that says something.

An inventory of Sphinx (`objects.inv`) names what is documented and where, and describes nothing, so it is not read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import griffe

from pegboard_toolgen.discover._docstrings import Doc, read_docstring

if TYPE_CHECKING:
    from pegboard_toolgen.discover._public import Found


def doc_of(found: Found, inspected: str = "") -> Doc:
    """The docstring that speaks for a function; an empty one where none says anything.

    Args:
        inspected: what the library itself has for it.
    """
    sources = [found.function, *found.overloads, *([found.twin] if found.twin else [])]
    docstrings = [one.docstring for one in sources]
    if inspected:
        docstrings.append(griffe.Docstring(without_signature(inspected, found.path)))
    docs = [read_docstring(one) for one in docstrings]
    return next((doc for doc in docs if doc.text), docs[0])


def without_signature(text: str, path: str) -> str:
    """A docstring less the signature that compilers of extensions write into its first line, with or without types."""
    first, _, rest = text.lstrip().partition("\n")
    name = re.escape(path.rpartition(".")[2])
    signature = re.match(rf"(?:[\w.]+\.)?{name}\(.*\)(?:\s*->\s*[\w.\[\], |]+)?\s*$", first)
    return text if signature is None else rest.removeprefix("--\n")


def describes(text: str, name: str) -> bool:
    """Whether a text says anything: more than an address, a sign, or the name of something."""
    words = re.sub(r"https?://\S+", "", text).strip(" .")
    is_name = words.lower() == name.lower() or re.fullmatch(r"\w*[\d_]\w*", words) is not None
    return re.search(r"[^\W\d_]{2}", words) is not None and not is_name
