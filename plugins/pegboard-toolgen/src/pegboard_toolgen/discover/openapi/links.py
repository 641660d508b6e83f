"""Where an answer of a server says that its OpenAPI document is: in a header, a list of links, a page for people.

RFC 8631 names the relation, `service-desc`; RFC 8288 its header; RFC 9727 a catalogue of APIs; OGC's APIs a landing
page of links; and the pages of Swagger UI, ReDoc and Scalar hold the address in their script. Only what lies on the
same origin is asked.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import attrs

from pegboard.schema.jsontext import JsonTextError, loads
from pegboard_httpclient import redirect_target

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = Any

MAX_LINKS = 5
"""Of one answer."""
MAX_LOOKED_AT = 200_000
"""Of a page, in bytes."""
_HEADER = re.compile(r"<([^<>]{1,500})>((?:\s*;[^,;<>]{0,200}){0,9})")
_RELATION = re.compile(r"""\brel\s*=\s*["']?[^"';]*\bservice-desc\b""", re.IGNORECASE)
_SCRIPT = re.compile(rb"""\b(?:url|spec-url|data-url|specUrl|configUrl)["']?\s*[:=]\s*["']([^"'<>\s]{1,500})["']""")
_INITIALIZER = re.compile(rb"""\bsrc\s*=\s*["']([^"'<>\s]{0,400}swagger-initializer\.js)["']""")
_TAG = re.compile(rb"""<link\b[^<>]{0,500}\bservice-desc\b[^<>]{0,500}>""", re.IGNORECASE)
_HREF = re.compile(rb"""\bhref\s*=\s*["']([^"'<>\s]{1,500})["']""", re.IGNORECASE)


@attrs.frozen
class Page:
    """An answer of a server.

    Args:
        url: of the answer, behind redirects.
        data: its body.
        link: its header `Link`.
        why: why it is not an answer; empty where it is one.
    """

    url: str
    data: bytes = b""
    link: str = ""
    why: str = ""


def linked(page: Page) -> list[str]:
    """The places that an answer names as those of its document, on the same origin, each once."""
    found = (redirect_target(page.url, one) for one in (*_in_header(page.link), *_in_body(page.data)) if one.isascii())
    return [*dict.fromkeys(one for one in found if one is not None)][:MAX_LINKS]


def _in_header(text: str) -> Iterator[str]:
    for match in _HEADER.finditer(text[:10_000]):
        if _RELATION.search(match[2]):
            yield match[1]


def _in_body(data: bytes) -> Iterator[str]:
    data = data[:MAX_LOOKED_AT]
    if data.lstrip()[:1] == b"{":
        yield from _in_links(data)
    for tag in _TAG.findall(data):
        yield from map(_text, _HREF.findall(tag))
    yield from map(_text, [*_SCRIPT.findall(data)[:MAX_LINKS], *_INITIALIZER.findall(data)[:1]])


def _text(link: bytes) -> str:
    return link.decode("ascii", "replace")


def _in_links(data: bytes) -> Iterator[str]:
    """`links` of a landing page, `linkset` of a catalogue."""
    try:
        value = loads(data, max_bytes=MAX_LOOKED_AT)
    except JsonTextError:
        return
    for key in ("links", "linkset"):
        links = value.get(key)
        for link in links[:100] if isinstance(links, list) else ():
            if not isinstance(link, dict):
                continue
            described = link.get("service-desc")
            targets = described if isinstance(described, list) else [link] if link.get("rel") == "service-desc" else []
            hrefs = [one.get("href") for one in targets[:MAX_LINKS] if isinstance(one, dict)]
            yield from (href for href in hrefs if isinstance(href, str))
