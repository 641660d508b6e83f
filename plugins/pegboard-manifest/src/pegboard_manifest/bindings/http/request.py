"""From typed arguments to one HTTP request, without I/O: what a golden test can hold to the byte.

A binding is compiled once into a `Template`; a call fills it. The invariant: whatever the arguments are, the URL of a
request has the origin and the path of the server's base URL in front, and as many path segments as the template and the
values that may be several of them, or the call is INVALID_INPUT. The URL that was made is looked at once more for
exactly that, however it came about.

Credentials are not part of it: `auth` puts them in on the way out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import attrs

from pegboard import ErrorCode, Retry, ToolError
from pegboard_manifest.bindings.http.base import DOT_SEGMENT, PATH_SAFE, base_of
from pegboard_manifest.bindings.http.body import Body, json_or_text
from pegboard_manifest.bindings.http.styles import (
    DEFAULT_STYLE,
    cookie_pairs,
    encode,
    header_text,
    path_text,
    query_pairs,
    refuse,
)
from pegboard_manifest.hygiene import refuse_long_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Self

    from pegboard_manifest.bindings.http.base import Base

ACCEPT = "application/json, */*;q=0.5"
MAX_URL = 8_000
"""Of a whole URL, in characters: what every server should take (RFC 9110, section 4.1)."""
MAX_HEADERS = 64_000
"""Of all header values of a request, in characters."""

_SLOT = re.compile(r"\{([^{}/]+)\}")


@attrs.frozen
class Request:
    """What is sent, credentials aside.

    Args:
        method: as the wire has it.
        url: absolute, encoded, ASCII.
        headers: names and values in their order; a name stands there once.
        body: bytes, or None where there is none.

    .. versionadded:: 0.1
    """

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes | None = attrs.field(default=None, repr=lambda body: "None" if body is None else f"<{len(body)} bytes>")

    def to_json(self) -> dict[str, Any]:
        """The request as a golden file keeps it; the body is text where it is UTF-8, else hexadecimal."""
        value: dict[str, Any] = {"method": self.method, "url": self.url, "headers": [list(one) for one in self.headers]}
        if self.body is not None:
            try:
                value["body"] = self.body.decode("utf-8")
            except UnicodeDecodeError:
                value["body_hex"] = self.body.hex()
        return value


@attrs.frozen
class Slot:
    """One parameter of a binding, and where its value goes."""

    parameter: str
    place: str
    name: str
    style: str
    explode: bool
    media_type: str | None
    taken: frozenset[str] = frozenset()
    multi_segment: bool = False

    @classmethod
    def of(cls, entry: Mapping[str, Any], taken: frozenset[str] = frozenset()) -> Self:
        """The slot of a binding's parameter; `taken` are names that an exploded object must not use."""
        place = entry["in"]
        style = entry.get("style") or DEFAULT_STYLE[place]
        explode = entry.get("explode", style == "form")
        return cls(
            entry["parameter"], place, entry["name"], style, explode, entry.get("media_type"), taken,
            entry.get("multi_segment", False),
        )  # fmt: skip

    def value_of(self, arguments: Mapping[str, Any]) -> Any:
        """The argument, or the one text of its media type."""
        value = arguments.get(self.parameter)
        return value if self.media_type is None else json_or_text(value, self.media_type, (self.parameter,))

    def path_text(self, arguments: Mapping[str, Any]) -> str:
        """What stands in the path."""
        value, where = self.value_of(arguments), (self.parameter,)
        return path_text(self.style, self.explode, self.name, value, where, multi_segment=self.multi_segment)

    def query_pairs(self, arguments: Mapping[str, Any]) -> list[str]:
        """What stands in the query."""
        pairs = query_pairs(self.style, self.explode, self.name, self.value_of(arguments), (self.parameter,))
        return self._own(pairs)

    def cookie_pairs(self, arguments: Mapping[str, Any]) -> list[str]:
        """What stands in the header Cookie."""
        return self._own(cookie_pairs(self.explode, self.name, self.value_of(arguments), (self.parameter,)))

    def header_text(self, arguments: Mapping[str, Any]) -> str | None:
        """What stands in the header, or None."""
        return header_text(self.explode, self.value_of(arguments), (self.parameter,))

    def _own(self, pairs: list[str]) -> list[str]:
        for pair in pairs:
            key = pair.partition("=")[0]
            if key in self.taken:
                refuse((self.parameter,), "no member with the name of another parameter", unquote(key))
        return pairs


@attrs.frozen(eq=False)
class Template:
    """A binding and its server, ready for arguments.

    Args:
        method: as the wire has it.
        base: where it goes.
        path: literal texts and slots in turn, base path included.
        slashes: how many the path has, but for those of values that may be several segments.
        queries: slots of the query.
        headers: slots of headers.
        cookies: slots of cookies.
        body: how the body is made, or None.
        accept: what is asked for.

    .. versionadded:: 0.1
    """

    method: str
    base: Base
    path: tuple[str | Slot, ...]
    slashes: int
    queries: tuple[Slot, ...]
    headers: tuple[Slot, ...]
    cookies: tuple[Slot, ...]
    body: Body | None
    accept: str

    @classmethod
    def of(
        cls,
        binding: Mapping[str, Any],
        server: Mapping[str, Any],
        *,
        base: Base | None = None,
        schema: Mapping[str, Any] | None = None,
        defs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Compile a binding.

        Args:
            binding: of kind http.
            server: that it names.
            base: where requests go; None: as the server says.
            schema: of the tool's input, which says what is base64.
            defs: those of the manifest.

        Raises:
            ToolError: INTERNAL_ERROR: the binding has faults that `faults_of` would have found; FORBIDDEN: the host.
        """
        from pegboard_manifest.bindings.http.faults import faults_of_binding

        for fault in faults_of_binding(binding, server):
            raise ToolError(
                ErrorCode.INTERNAL_ERROR,
                f"the tool's binding is at fault: {fault}",
                reason="binding",
                retry=Retry.NEVER.value,
            )
        base = base_of(server) if base is None else base
        entries = binding.get("parameters", ())
        slots = [Slot.of(entry, _taken(entry, entries, server)) for entry in entries]
        by_name = {slot.name: slot for slot in slots if slot.place == "path"}
        parts: list[str | Slot] = [base.path]
        for index, part in enumerate(_SLOT.split(binding["path"])):
            parts.append(by_name[part] if index % 2 else quote(part, safe=PATH_SAFE))
        body = binding.get("body")
        return cls(
            binding["method"],
            base,
            tuple(part for part in parts if part != ""),
            sum(part.count("/") for part in parts if isinstance(part, str)),
            tuple(slot for slot in slots if slot.place == "query"),
            tuple(slot for slot in slots if slot.place == "header"),
            tuple(slot for slot in slots if slot.place == "cookie"),
            None if body is None else Body.of(body, schema, defs),
            binding.get("accept") or ACCEPT,
        )

    def fill(self, arguments: Mapping[str, Any]) -> Request:
        """The request for these arguments.

        Raises:
            ToolError: INVALID_INPUT: a value that cannot be sent, with its place and how to repair it.
        """
        refuse_long_texts(arguments)
        parts = [part if isinstance(part, str) else part.path_text(arguments) for part in self.path]
        path = "".join(parts)
        slashes = self.slashes + sum(
            text.count("/")
            for part, text in zip(self.path, parts, strict=True)
            if getattr(part, "multi_segment", False)
        )
        query = "&".join([pair for slot in self.queries for pair in slot.query_pairs(arguments)])
        headers = [("Accept", self.accept)]
        for slot in self.headers:
            if (text := slot.header_text(arguments)) is not None:
                if slot.name.lower() == "accept":
                    headers[0] = ("Accept", text)
                else:
                    headers.append((slot.name, text))
        if cookies := [pair for slot in self.cookies for pair in slot.cookie_pairs(arguments)]:
            headers.append(("Cookie", "; ".join(cookies)))
        content = None if self.body is None else self.body.content(self.method, arguments)
        if content is not None:
            headers.append(("Content-Type", content[0]))
        self._check(path, slashes, query, headers)
        url = f"{self.base.origin}{path}?{query}" if query else f"{self.base.origin}{path}"
        return Request(self.method, url, tuple(headers), None if content is None else content[1])

    def _check(self, path: str, slashes: int, query: str, headers: list[tuple[str, str]]) -> None:
        """The last look at what was made; that no value gets this far is `styles`' own work."""
        prefix = self.base.path
        stays = path.startswith(f"{prefix}/") and path.count("/") == slashes and path.isascii()
        if not stays or DOT_SEGMENT.search(path) or "\\" in path or "?" in path or "#" in path:
            raise ToolError(
                ErrorCode.INVALID_INPUT,
                "the arguments would lead to another path than the tool's own; leave slashes and dots out of them;"
                " nothing was sent",
                reason="arguments",
            )
        if len(self.base.origin) + len(path) + 1 + len(query) > MAX_URL:
            raise ToolError(
                ErrorCode.INVALID_INPUT,
                f"the arguments make a URL of more than {MAX_URL:,} characters; shorten them; nothing was sent",
                reason="arguments",
            )
        if sum(len(value) for _, value in headers) > MAX_HEADERS:
            raise ToolError(
                ErrorCode.INVALID_INPUT,
                f"the arguments make headers of more than {MAX_HEADERS:,} characters; shorten them; nothing was sent",
                reason="arguments",
            )


def request_of(
    binding: Mapping[str, Any],
    server: Mapping[str, Any],
    arguments: Mapping[str, Any],
    *,
    schema: Mapping[str, Any] | None = None,
    defs: Mapping[str, Any] | None = None,
) -> Request:
    """The request that a call with these arguments sends, without credentials. Pure: for golden tests.

    Args:
        binding: of kind http.
        server: that it names; `base_url_env` is not looked at.
        arguments: of the call, by the tool's parameter names.
        schema: of the tool's input; where it says `contentEncoding: base64`, files and bytes are read so.
        defs: those of the manifest, where the schema refers to them.

    Raises:
        ToolError: INVALID_INPUT: a value that cannot be sent; INTERNAL_ERROR: the binding is at fault.

    .. versionadded:: 0.1
    """
    return Template.of(binding, server, schema=schema, defs=defs).fill(arguments)


def _taken(entry: Mapping[str, Any], entries: Iterable[Mapping[str, Any]], server: Mapping[str, Any]) -> frozenset[str]:
    """Names that an exploded object's members must not have: they are other parameters', or credentials'."""
    place = entry["in"]
    others = [one["name"] for one in entries if one["in"] == place and one is not entry]
    auth = [one["name"] for one in server.get("auth", ()) if one["kind"] == place and "name" in one]
    return frozenset(map(encode, [*others, *auth]))
