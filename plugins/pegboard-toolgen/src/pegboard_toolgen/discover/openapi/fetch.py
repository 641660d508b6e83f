"""An OpenAPI document as a value: from a file, a running server, or text; JSON or YAML, bounded in every way.

YAML is built from the parser's events, not by a loader: a loader recurses (in C, where depth ends the process), makes
objects of tags, and unfolds aliases into what no memory holds. Here depth, the number of values with every alias
counted in full, and merges are bounded while the text is read. Keys are the texts that stand there (`200`, `on`);
values are read by the rules of YAML 1.2, so `no` is a text and a date is one too.

From a server: no credentials, no cookies, no proxies or `.netrc` of the environment, redirects to the same origin
alone.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit, urlunsplit

import attrs

from pegboard.config import open_named
from pegboard.limits import DOCUMENT_LEVELS
from pegboard.schema.jsontext import JsonTextError, check_value, loads
from pegboard_httpclient import REDIRECTS, Failure, Kind, redirect_target
from pegboard_manifest import sanitise
from pegboard_toolgen._progress import say
from pegboard_toolgen.discover.openapi.beside import with_files_beside
from pegboard_toolgen.discover.openapi.links import Page, linked
from pegboard_toolgen.drafts import DiscoveryError, LeftOut
from pegboard_toolgen.schemas import canonical

if TYPE_CHECKING:
    from pegboard_httpclient.client import Client

Json = Any

MAX_BYTES = 100_000_000
MAX_YAML_BYTES = 20_000_000
MAX_NODES = 8_000_000
MAX_REDIRECTS = 5
MAX_ASKED = 100
REPAIR = "repair it there, or name another OpenAPI document, in JSON or YAML"
DEADLINE_S = 30.0
READ_S = 10.0

PLACES = (
    "openapi.json",
    "swagger.json",
    "v3/api-docs",
    "api-docs",
    "openapi",
    "openapi.yaml",
    "swagger/v1/swagger.json",
    "swagger/doc.json",
    "api-json",
    "docs-json",
    "documentation/json",
    "api/openapi.json",
    "api/v1/openapi.json",
    "api/schema/",
    "schema/openapi.json",
    "api-docs/openapi.json",
    "openapi/v1.json",
    "q/openapi",
    "v2/api-docs",
    "v1/__api__",
    "spec.json",
    "apispec_1.json",
    "api/swagger.json",
    "api/v1/swagger.json",
    "api/v2/swagger.json",
    "api/spec.yaml",
    "api-docs.json",
    "docs/openapi.json",
    "v1/openapi.json",
    "openapi.yml",
    "swagger.yaml",
    ".well-known/openapi.json",
    ".well-known/api-catalog",
    "docs",
    "api/docs",
    "swagger",
    "api",
)
"""Where frameworks put their document, tried below the URL that was named and then below its origin."""


@attrs.frozen(kw_only=True)
class Source:
    """A document and where it came from.

    Args:
        document: the value.
        url: where a server gave it; None for a file or a mapping.
        location: a URL, or the file's name alone.
        is_base: whether the document was looked for at the usual places below the URL that was named.
        sha256: over canonical JSON, so that the order of keys does not matter.
        left_out: files that it refers to and that were not read.
    """

    document: dict[str, Json]
    url: str | None = None
    location: str = ""
    is_base: bool = False
    sha256: str = ""
    left_out: Sequence[LeftOut] = ()


def read_source(where: str | Path | Mapping[str, Json]) -> Source:
    """The document that a path, a URL or a mapping names. It blocks; a program on trio calls it in a thread.

    Raises:
        DiscoveryError: it cannot be read, is too large, or is not an OpenAPI document.
    """
    if isinstance(where, Mapping):
        return _source(_checked(dict(where)))
    if isinstance(where, str) and re.match(r"(?i)https?://", where):
        return _from_server(where)
    return _from_file(Path(where))


def is_openapi(document: Json) -> bool:
    """Whether a value says that it is an OpenAPI document."""
    return isinstance(document, dict) and ("openapi" in document or "swagger" in document)


def _source(document: Json, **more: Any) -> Source:
    if not is_openapi(document):
        raise DiscoveryError(
            "this is not an OpenAPI document: it says neither openapi nor swagger", hint="name the document itself"
        )
    return Source(
        document=document, sha256=hashlib.sha256(canonical(document).encode("utf-8", "replace")).hexdigest(), **more
    )


def _from_file(path: Path) -> Source:
    try:
        with open_named(path) as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "no such file"
        hint = "name an OpenAPI document, in JSON or YAML, that you may read"
        if re.match(r"[\w.-]+:\d+(?:/|$)", str(path), re.ASCII):
            hint = f"a server is named by its URL: http://{sanitise(str(path), 200, one_line=True)}"
        raise DiscoveryError(f"the document cannot be read: {reason}", hint=hint) from None
    document = parse(data)
    left_out: list[LeftOut] = []
    if is_openapi(document):
        document, left_out = with_files_beside(document, path, parse)
    return _source(document, location=sanitise(path.name, 200, one_line=True), left_out=left_out)


# Text ----------------------------------------------------------------------------------------------------------------


def parse(data: bytes) -> Json:
    """JSON or YAML as a value.

    Raises:
        DiscoveryError: it is neither, or breaks a bound.
    """
    if len(data) > MAX_BYTES:
        raise DiscoveryError(f"the document is larger than {MAX_BYTES:,} bytes")
    try:
        return loads(data, max_depth=DOCUMENT_LEVELS, max_bytes=MAX_BYTES)
    except JsonTextError as problem:
        if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[") and b'"' in data[:200]:
            raise DiscoveryError(f"the document cannot be read as JSON: {_said(problem)}", hint=REPAIR) from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DiscoveryError("the document is not valid UTF-8", hint="save it as UTF-8") from None
    return parse_yaml(text)


def _said(problem: Exception) -> str:
    return sanitise(str(problem), 200, one_line=True)


def _checked(document: Json) -> Json:
    if fault := check_value(document, max_depth=DOCUMENT_LEVELS, max_nodes=MAX_NODES):
        raise DiscoveryError(
            f"the document is not JSON: expected {fault.expected} at {sanitise(fault.where, 60, one_line=True)}"
        )
    return document


def parse_yaml(text: str) -> Json:
    """The one document of a YAML text.

    Raises:
        DiscoveryError: it is not YAML, or breaks a bound.
    """
    if len(text) > MAX_YAML_BYTES:
        raise DiscoveryError(f"the YAML document is larger than {MAX_YAML_BYTES:,} characters")
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        value = _Builder(iter(yaml.parse(text, Loader=loader))).document()
    except (yaml.YAMLError, ValueError) as problem:
        mark = getattr(problem, "problem_mark", None)
        at = f" at line {mark.line + 1}" if mark is not None else ""
        raise DiscoveryError(f"the document is neither JSON nor YAML{at}", hint=REPAIR) from None
    return _checked(value)


@attrs.frozen
class _Built:
    """A value, how many values it is with every alias counted in full, and how deep it goes."""

    value: Json
    weight: int = 1
    height: int = 1


class _Builder:
    """Builds one document from the events of a YAML parser; containers wait on a stack, never on Python's."""

    def __init__(self, events: Iterator[Any]) -> None:
        self.events = events
        self.anchors: dict[str, _Built | None] = {}
        self.merged = 0

    def document(self) -> Json:
        from yaml import events as kinds

        stack: list[_Open] = []
        found: _Built | None = None
        anchor: str | None
        raw: str | None
        for event in self.events:
            if isinstance(event, (kinds.SequenceStartEvent, kinds.MappingStartEvent)):
                if len(stack) >= DOCUMENT_LEVELS:
                    raise DiscoveryError(f"the document is nested more than {DOCUMENT_LEVELS} levels deep")
                stack.append(_Open(isinstance(event, kinds.MappingStartEvent), event.anchor))
                if event.anchor:
                    self.anchors[event.anchor] = None
                continue
            if isinstance(event, (kinds.SequenceEndEvent, kinds.MappingEndEvent)):
                ended = stack.pop()
                built, anchor, raw = self._closed(ended), ended.anchor, None
            elif isinstance(event, kinds.ScalarEvent):
                built, anchor, raw = _Built(_scalar(event)), event.anchor, event.value
            elif isinstance(event, kinds.AliasEvent):
                known = self.anchors.get(event.anchor or "")
                if known is None:
                    raise DiscoveryError("the document has an alias that leads to itself or to nothing")
                built, anchor, raw = known, None, known.value if isinstance(known.value, str) else None
            elif isinstance(event, kinds.DocumentEndEvent):
                break
            else:
                continue
            if anchor:
                self.anchors[anchor] = built
            if stack:
                stack[-1].take(built, raw)
                if stack[-1].weight > MAX_NODES or len(stack) + stack[-1].height > DOCUMENT_LEVELS:
                    raise DiscoveryError("the document unfolds into more than is read")
            else:
                found = built
        return found.value if found else None

    def _closed(self, ended: _Open) -> _Built:
        if ended.key is not _NONE:
            raise DiscoveryError("the document has a key without a value")
        value: Json = ended.items
        if ended.is_mapping:
            value = dict(zip(ended.keys, ended.items, strict=True))
            if "<<" in value:
                value = self._with_merges(value)
        return _Built(value, ended.weight, ended.height)

    def _with_merges(self, value: dict[str, Json]) -> dict[str, Json]:
        merges = value.pop("<<")
        found: dict[str, Json] = {}
        for part in reversed(merges if isinstance(merges, list) else [merges]):
            if isinstance(part, dict):
                self.merged += len(part)
                if self.merged > MAX_NODES:
                    raise DiscoveryError("the document unfolds into more than is read")
                found |= part
        return found | value


_NONE: Any = object()


@attrs.define
class _Open:
    """A container that is being read."""

    is_mapping: bool
    anchor: str | None
    keys: list[str] = attrs.field(factory=list)
    items: list[Json] = attrs.field(factory=list)
    key: Any = _NONE
    weight: int = 1
    height: int = 1

    def take(self, built: _Built, raw: str | None) -> None:
        if self.is_mapping and self.key is _NONE:
            if raw is None:
                raise DiscoveryError("the document has a key that is not text")
            self.key = raw
            return
        self.weight += built.weight
        self.height = max(self.height, built.height + 1)
        if self.is_mapping:
            self.keys.append(self.key)
            self.key = _NONE
        self.items.append(built.value)


_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,3})?")
_WORDS: dict[str, bool | None] = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
_WORDS |= dict.fromkeys(("true", "True", "TRUE"), True) | dict.fromkeys(("false", "False", "FALSE"), False)


def _scalar(event: Any) -> Json:
    """A scalar by the core schema of YAML 1.2 (section 10.3.2); quoted or tagged ones are texts."""
    text: str = event.value
    if not event.implicit[0] or event.style:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if len(text) > 40 or not _NUMBER.fullmatch(text):
        return text
    number = float(text)
    if number in (float("inf"), float("-inf")):
        return text
    return int(text) if text.lstrip("+-").isdigit() else number


# A server ------------------------------------------------------------------------------------------------------------


class _UnreachedError(DiscoveryError):
    """There is no server to ask anything else."""


def _from_server(url: str) -> Source:
    import trio

    return trio.run(_find_document, _clean_url(url))


async def _find_document(url: str) -> Source:
    import trio

    from pegboard import __version__
    from pegboard_httpclient.client import Client

    ends = trio.current_time() + DEADLINE_S
    client = Client(user_agent=f"pegboard/{__version__}", trust_env=False)
    try:
        first = await _get(client, url, ends)
        if (document := _document_in(first)) is not None:
            return _source(document, url=first.url, location=first.url.split("?")[0])
        waiting, asked = [*linked(first), *_places(url)], {url, first.url}
        while waiting and len(asked) < MAX_ASKED and trio.current_time() <= ends:
            place = waiting.pop(0)
            if place in asked:
                continue
            asked.add(place)
            try:
                answer = await _get(client, place, ends)
            except _UnreachedError:  # one that breaks may have others that do not
                continue
            if (document := _document_in(answer)) is not None:
                return _source(document, url=answer.url, location=answer.url.split("?")[0], is_base=True)
            waiting[:0] = linked(answer)
    finally:
        await client.aclose()
    why = first.why or "the answer is not an OpenAPI document"
    raise DiscoveryError(f"no OpenAPI document was found there: {why}", hint="name the URL of the document itself")


def _document_in(answer: Page) -> Json:
    """The OpenAPI document that an answer is, or None."""
    if answer.why or not answer.data or answer.data.lstrip()[:1] == b"<":
        return None
    try:
        document = parse(answer.data)
    except DiscoveryError:
        return None
    return document if is_openapi(document) else None


def _clean_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise DiscoveryError("this is not a URL") from None
    if not host or not parts.netloc.isascii() or " " in url or sanitise(url, 2_000) != url:
        raise DiscoveryError("this is not a URL")
    if parts.username is not None or parts.password is not None:
        raise DiscoveryError("a URL with credentials is not read", hint="save the document to a file and name that")
    return urlunsplit((parts.scheme.lower(), parts.netloc, parts.path or "/", parts.query, ""))


def _places(url: str) -> list[str]:
    base = url.split("?")[0]
    base = base if base.endswith("/") else f"{base}/"
    roots = dict.fromkeys((base, urljoin(url, "/")))
    return [urljoin(root, place) for root in roots for place in PLACES]


async def _get(client: Client, url: str, ends: float) -> Page:
    """What a server answers.

    Raises:
        _UnreachedError: there is no server.
    """
    headers = (("Accept", "application/json, application/yaml;q=0.9, */*;q=0.5"), ("Accept-Encoding", "identity"))
    say(f"asking {url.split('?')[0]}")
    for _ in range(MAX_REDIRECTS + 1):
        answer = await client.send("GET", url, headers, max_bytes=MAX_BYTES, deadline=ends, idle_s=READ_S)
        if isinstance(answer, Failure):
            return _without_answer(answer, url)
        try:
            link = answer.headers.get("link", "")
            if answer.status not in REDIRECTS:
                if answer.status != 200:
                    return Page(url, link=link, why=f"the server answered {answer.status}")
                body = await answer.whole()
                return _without_answer(body, url) if isinstance(body, Failure) else Page(url, body, link)
        finally:
            await answer.aclose()
        location = answer.headers.get("location", "")
        target = redirect_target(url, location)
        if target is None:
            elsewhere = "to another origin; name that URL itself" if location else "to nowhere"
            return Page(url, link=link, why=f"the server redirects {elsewhere}")
        url = target
    return Page(url, why="the server redirects without an end")


def _without_answer(failure: Failure, url: str) -> Page:
    problem = _fault_of(failure, url)
    if isinstance(problem, _UnreachedError):
        raise problem
    return Page(url, why=str(problem))


def _fault_of(failure: Failure, url: str) -> DiscoveryError:
    """Why there is no document."""
    match failure.kind:
        case Kind.LATE:
            return DiscoveryError(f"the server took more than {DEADLINE_S:g} seconds")
        case Kind.IDLE:
            return DiscoveryError(f"the server sent nothing more for {READ_S:g} seconds")
        case Kind.TOO_LONG:
            return DiscoveryError(f"the document is larger than {MAX_BYTES:,} bytes")
        case Kind.PACKED:
            return DiscoveryError(f"the server {failure.said}")
        case Kind.LOST | Kind.UNSENDABLE:
            return _UnreachedError("the server did not answer: the connection broke")
    why, fix = failure.words(urlsplit(url).netloc, "the URL")
    return _UnreachedError(f"the server did not answer: {why}", hint=fix)
