"""What is wrong with an http binding or a server of a manifest, whatever the arguments: for whoever reads one.

Light, since every binding is looked at when a manifest is loaded.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pegboard import Fault
from pegboard.schema.jsontext import shorten
from pegboard_manifest.bindings.http.base import Base
from pegboard_manifest.bindings.http.styles import DEFAULT_STYLE, STYLES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pegboard import Step

Path = tuple["Step", ...]

RESERVED_HEADERS = frozenset(
    {
        "accept-charset",
        "accept-encoding",
        "authorization",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "cookie",
        "cookie2",
        "expect",
        "forwarded",
        "host",
        "http2-settings",
        "keep-alive",
        "origin",
        "set-cookie",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "user-agent",
        "via",
        "x-http-method",
        "x-http-method-override",
        "x-method-override",
        "x-original-url",
        "x-real-ip",
        "x-rewrite-url",
    }
)
"""Headers that frame a request, say who sends it or where from, or make another request of it."""
_RESERVED_PREFIXES = ("proxy-", "sec-", "x-forwarded-", ":")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_MEDIA_TYPE = re.compile(r"[!#$&^_.+A-Za-z0-9-]+/[!#$&^_.+*A-Za-z0-9-]+(\s*;[ -~]*)?")
_SLOT = re.compile(r"\{([^{}/]+)\}")
_DOTS = re.compile(r"(?:\.|%2e){1,2}(?:;.*)?", re.IGNORECASE)
_NO_PATH = re.compile(r"[?#\\\x00-\x20\x7f]|%(?![0-9a-fA-F]{2})|%(?:2f|5c|0[0-9a-f]|1[0-9a-f]|7f)", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def is_reserved(header: str) -> bool:
    """Whether no parameter may set this header.

    .. versionadded:: 0.1
    """
    name = header.strip().lower()
    return name in RESERVED_HEADERS or name.startswith(_RESERVED_PREFIXES)


def faults_of(binding: Mapping[str, Any], servers: Mapping[str, Any], path: Path = ()) -> list[Fault]:
    """Everything that is wrong with a binding; what is wrong with its server, if there is one, says `faults_of_server`.

    Args:
        binding: of kind http, as the manifest's schema has it.
        servers: of the manifest, by id.
        path: of the binding in the manifest.

    .. versionadded:: 0.1
    """
    server = servers.get(binding["server"])
    if server is None:
        known = ", ".join(sorted(servers)[:5]) or "none"
        return [Fault((*path, "server"), "the id of a server of this manifest", shorten(binding["server"]), known)]
    return list(faults_of_binding(binding, server, path))


def faults_of_server(server: Mapping[str, Any], path: Path = ()) -> list[Fault]:
    """Everything that is wrong with a server: its base URL, its hosts, how its credentials are sent.

    .. versionadded:: 0.1
    """
    return list(_faults_of_server(server, path))


def _faults_of_server(server: Mapping[str, Any], path: Path) -> Iterator[Fault]:
    hosts = server.get("allowed_hosts")
    try:
        base = Base.of(server["base_url"])
    except ValueError as problem:
        yield Fault((*path, "base_url"), str(problem), "something else")
    else:
        if hosts is not None and not base.is_among(hosts):
            yield Fault((*path, "base_url"), "a host that stands in allowed_hosts", shorten(base.netloc))
    for index, auth in enumerate(server.get("auth", ())):
        at = (*path, "auth", index)
        kind, name = auth["kind"], auth.get("name")
        if kind in ("bearer", "basic"):
            if name is not None:
                yield Fault((*at, "name"), f"no name, since {kind} has its own header", shorten(name))
        elif not name:
            yield Fault((*at, "name"), f"the name of the {kind} that carries it", "nothing")
        elif kind == "header" and (
            not _TOKEN.fullmatch(name) or (is_reserved(name) and name.lower() != "authorization")
        ):
            yield Fault((*at, "name"), "the name of a header that carries credentials", shorten(name))
        elif kind == "cookie" and not _TOKEN.fullmatch(name):
            yield Fault((*at, "name"), "the name of a cookie", shorten(name))
        if "username_env" in auth and kind != "basic":
            yield Fault((*at, "username_env"), "nothing, since only basic has a user name", kind)


def faults_of_binding(binding: Mapping[str, Any], server: Mapping[str, Any], path: Path = ()) -> Iterator[Fault]:
    """The faults of a binding whose server is known.

    .. versionadded:: 0.1
    """
    yield from _faults_of_path(binding, (*path, "path"))
    yield from _faults_of_parameters(binding, server, (*path, "parameters"))
    if "body" in binding:
        yield from _faults_of_body(binding["method"], binding["body"], (*path, "body"))
    accept = binding.get("accept")
    if accept is not None and not (accept.isascii() and accept.isprintable()):
        yield Fault((*path, "accept"), "printable ASCII", shorten(accept))


def _faults_of_path(binding: Mapping[str, Any], path: Path) -> Iterator[Fault]:
    template = binding["path"]
    literal = _SLOT.sub("", template)
    if _NO_PATH.search(literal) or "{" in literal or "}" in literal:
        expected = "segments between slashes, with {name} for parameters; no query, fragment, backslash or blank"
        yield Fault(path, expected, shorten(template))
    segments = _SLOT.sub("x", template).split("/")[1:]
    if any(_DOTS.fullmatch(segment) for segment in segments) or "" in segments[:-1]:
        yield Fault(path, "segments that are neither empty nor dots", shorten(template))
    bound = [entry["name"] for entry in binding.get("parameters", ()) if entry["in"] == "path"]
    wanted = _SLOT.findall(template)
    for name in dict.fromkeys(wanted):
        if name not in bound:
            yield Fault(path, f"a parameter with in path and name {shorten(name)}", "none")
    for name in bound:
        if name not in wanted:
            yield Fault(path, f"{{{name[:60]}}} in the path, since a parameter is bound to it", shorten(template))


def _faults_of_parameters(binding: Mapping[str, Any], server: Mapping[str, Any], path: Path) -> Iterator[Fault]:
    credentials = {
        (auth["kind"], _key(auth["kind"], auth["name"])) for auth in server.get("auth", ()) if "name" in auth
    }
    seen: set[tuple[str, str]] = set()
    for index, entry in enumerate(binding.get("parameters", ())):
        at = (*path, index)
        place, name = entry["in"], entry["name"]
        style = entry.get("style") or DEFAULT_STYLE[place]
        if style not in STYLES[place]:
            yield Fault(
                (*at, "style"), f"one of {', '.join(sorted(STYLES[place]))}, which fit a {place}", shorten(style)
            )
        if "media_type" in entry and "style" in entry:
            yield Fault((*at, "media_type"), "either a style or a media type", "both")
        if entry.get("multi_segment") and (place != "path" or style != "simple" or "media_type" in entry):
            yield Fault((*at, "multi_segment"), "a path of style simple", shorten(style if place == "path" else place))
        if place == "header" and not _TOKEN.fullmatch(name):
            yield Fault((*at, "name"), "the name of a header", shorten(name))
        elif place == "header" and is_reserved(name):
            yield Fault((*at, "name"), "a header that a caller may set", shorten(name), "credentials belong into auth")
        elif place == "cookie" and not _TOKEN.fullmatch(name):
            yield Fault((*at, "name"), "the name of a cookie", shorten(name))
        elif _CONTROL.search(name):
            yield Fault((*at, "name"), "a name without control characters", shorten(name))
        key = (place, _key(place, name))
        if key in credentials:
            yield Fault(
                (*at, "name"), f"another {place} than the one that carries the server's credentials", shorten(name)
            )
        if key in seen:
            yield Fault((*at, "name"), f"a {place} that no other parameter is bound to", shorten(name))
        seen.add(key)


def _key(place: str, name: str) -> str:
    return name.lower() if place == "header" else name


def _faults_of_body(method: str, body: Mapping[str, Any], path: Path) -> Iterator[Fault]:
    from pegboard_manifest.bindings.http.body import FORM, MULTIPART, essence_of, is_json

    media_type = body["media_type"]
    essence = essence_of(media_type)
    if not _MEDIA_TYPE.fullmatch(media_type) or "*" in essence:
        yield Fault((*path, "media_type"), "a media type such as application/json", shorten(media_type))
    if method == "TRACE":
        yield Fault(path, "no body, since TRACE has none", shorten(media_type))
    if ("parameter" in body) == ("fields" in body):
        yield Fault(path, "either parameter or fields", "both" if "parameter" in body else "neither")
    elif "fields" in body and not (essence in (FORM, MULTIPART) or is_json(essence)):
        yield Fault((*path, "fields"), "a form or JSON, which have fields", shorten(media_type))
    seen: set[str] = set()
    for index, field in enumerate(body.get("fields", ())):
        at = (*path, "fields", index)
        if field.get("file") and essence != MULTIPART:
            yield Fault((*at, "file"), f"{MULTIPART}, which carries files", shorten(media_type))
        if _CONTROL.search(field["name"]):
            yield Fault((*at, "name"), "a name without control characters", shorten(field["name"]))
        if "media_type" in field and not _MEDIA_TYPE.fullmatch(field["media_type"]):
            yield Fault((*at, "media_type"), "a media type such as image/png", shorten(field["media_type"]))
        if field["name"] in seen:
            yield Fault((*at, "name"), "a field that no other parameter is bound to", shorten(field["name"]))
        seen.add(field["name"])
