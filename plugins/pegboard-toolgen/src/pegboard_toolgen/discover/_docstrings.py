"""Docstrings in the styles of Google, numpy and Sphinx: the text, what is said of parameters, results and exceptions.

Griffe parses; what comes out is bounded and sanitised here. A docstring that no parser takes is its text alone.
"""

from __future__ import annotations

import inspect
import logging
import re
from typing import TYPE_CHECKING

import attrs
import griffe

from pegboard_manifest import sanitise

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_DOCSTRING = 30_000
MAX_DESCRIPTION = 2_000
MAX_PARAMETER = 600
_FENCE = re.compile(r"^[ \t]*(```|~~~)[^\n]*\n.*?(^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_ROLE = re.compile(r":(?:[a-zA-Z_+.-]{1,40}:){1,3}`~?\.?([^`\n<]{1,200})(?:<[^`\n]{0,200}>)?`")
_EXAMPLES = re.compile(r"(?im)^[ \t]*(?:examples?|doctests?|usage)[ \t]*:{0,2}[ \t]*(?:\n[ \t]*[-=~^]{3,}[ \t]*)?$")
_HEADING = re.compile(
    r"(?m)^([ \t]*(?:Args|Arguments|Parameters|Params|Returns|Raises):)[ \t]*\n(?:[ \t]*\n)+(?=[ \t]+\S)"
)
"""Of a section in Google's style, with the empty lines that no parser expects below it."""
_FIELD = re.compile(r"(?m)^:(?:param|parameter|arg|type)\b[^:\n]*:")
"""A field of Sphinx; one alone is not enough for griffe to guess the style."""
_DIRECTIVE = re.compile(r"(?m)^[ \t]*\.\. (?:versionadded|versionchanged|index|autofunction|testsetup|plot)::.*\n?")


@attrs.frozen
class Said:
    """What a docstring says of one parameter."""

    text: str = ""
    annotation: str | None = None


@attrs.frozen
class Doc:
    """A docstring, taken apart.

    Args:
        text: what it does, without the sections.
        parameters: by name; of a class its attributes too, which a generated constructor takes.
        returns: what comes back, in words.
        returns_type: the type that is named for it.
        raises: type and when, in order.
        deprecated: what it says of that.
        raw: the whole text, for its examples.
    """

    text: str = ""
    parameters: Mapping[str, Said] = attrs.field(factory=dict)
    returns: str = ""
    returns_type: str | None = None
    raises: tuple[tuple[str, str], ...] = ()
    deprecated: str | None = None
    raw: str = ""


def read_docstring(docstring: griffe.Docstring | None) -> Doc:
    """Take a docstring apart; an empty one for None."""
    if docstring is None or not docstring.value.strip():
        return Doc()
    raw = inspect.cleandoc(docstring.value[:MAX_DOCSTRING])
    try:
        sections = _sections(raw)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError, griffe.GriffeError):
        return Doc(text=_prose(raw), raw=raw)
    return _gather(sections, raw)


def _sections(raw: str) -> list[griffe.DocstringSection]:
    logger = logging.getLogger("griffe")
    was, logger.disabled = logger.disabled, True
    try:
        # Without its parent: types stay the words that stand there.
        return list(griffe.Docstring(_HEADING.sub(r"\1\n", raw)).parse("sphinx" if _FIELD.search(raw) else "auto"))
    finally:
        logger.disabled = was


def _gather(sections: list[griffe.DocstringSection], raw: str) -> Doc:
    texts: list[str] = []
    parameters: dict[str, Said] = {}
    raises: list[tuple[str, str]] = []
    returns, returns_type, deprecated = "", None, None
    kinds = griffe.DocstringSectionKind
    for section in sections:
        value = section.value
        if section.kind is kinds.text:
            texts.append(str(value))
        elif section.kind in {kinds.parameters, kinds.other_parameters, kinds.attributes}:
            for one in value[:200]:
                name = str(one.name).lstrip("*\\")
                told = str(one.annotation) if one.annotation is not None else None
                parameters.setdefault(name, Said(clean(one.description, MAX_PARAMETER), told))
        elif section.kind is kinds.raises:
            raises += [(str(one.annotation or ""), clean(one.description, MAX_PARAMETER)) for one in value[:30]]
        elif section.kind is kinds.returns and value:
            returns = clean("; ".join(str(one.description) for one in value[:5]), MAX_PARAMETER)
            if len(value) == 1 and value[0].annotation is not None:
                returns_type = str(value[0].annotation)
        elif section.kind is kinds.deprecated:
            deprecated = clean(getattr(value, "description", ""), MAX_PARAMETER)
        elif section.kind is kinds.admonition and getattr(value, "kind", "") in {"note", "warning", "important"}:
            texts.append(f"{str(value.kind).capitalize()}: {value.description}")
    return Doc(
        text=_prose("\n\n".join(texts)),
        parameters=parameters,
        returns=returns,
        returns_type=returns_type,
        raises=tuple(raises),
        deprecated=deprecated,
        raw=raw,
    )


def _prose(text: str) -> str:
    """The words of a docstring without its fenced code, its doctests and its directives."""
    text = _DIRECTIVE.sub("", _FENCE.sub("", text))
    if found := _EXAMPLES.search(text):
        head = text[: found.start()].strip()
        text = head or text
    lines: list[str] = []
    in_doctest = False
    for line in text.splitlines():
        stripped = line.strip()
        in_doctest = stripped.startswith(">>>") or (in_doctest and bool(stripped))
        if not in_doctest:
            lines.append(line)
    return clean(re.sub(r"\n{3,}", "\n\n", "\n".join(lines)), MAX_DESCRIPTION)


def is_visible(value: object) -> bool:
    """Whether a JSON value may be shown as it is: no text in it hides characters; line breaks and tabs are seen."""
    if isinstance(value, str):
        text = f"x{value}x".replace("\n", "x").replace("\t", "x")
        return sanitise(text, len(text)) == text
    if isinstance(value, dict):
        return all(is_visible(one) for pair in value.items() for one in pair)
    return all(is_visible(one) for one in value) if isinstance(value, list) else True


def clean(text: object, limit: int) -> str:
    """Third-party words as they may be shown: sanitised, without roles of reST, bounded."""
    return sanitise(_ROLE.sub(r"`\1`", str(text)[: limit * 4]).replace("\\_", "_"), limit).strip()
