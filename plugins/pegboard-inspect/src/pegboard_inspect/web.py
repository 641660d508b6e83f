"""Requests and answers of ASGI, as far as the inspector needs them: JSON in bounds, JSON out, streams that end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from pegboard.limits import JSON_BYTES
from pegboard.schema.envelope import TooLong
from pegboard.schema.jsontext import JsonTextError, loads
from pegboard_serving.bodies import Bodies, BodyError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping

    Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
    Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

MAX_BODY = JSON_BYTES
"""The longest request that is read, in bytes: a file in a form is in it, as base64."""

MIN_COMPRESSED = 2_000
"""Longer answers are compressed for browsers that say that they understand it, in bytes."""

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",  # results that are images and sound
        "media-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",  # no text ever becomes HTML: there is no policy that could make it so
        "trusted-types 'none'",
    )
)
SAFE = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
"""What every answer says."""


class RefusedError(Exception):
    """A request is refused: the status, why, and further headers."""

    def __init__(self, status: int, why: str, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
        super().__init__(why)
        self.status = status
        self.headers = headers


class Body(NamedTuple):
    """What is answered, as it is and compressed; None: too short for that."""

    plain: bytes
    packed: bytes | None
    kind: str

    @classmethod
    def of(cls, plain: bytes, kind: str = "application/json", *, level: int = 1) -> Body:
        """The body of an answer.

        Args:
            plain: as it is.
            kind: its media type.
            level: how hard it is compressed: once for files, at every answer for others.
        """
        import gzip

        return cls(plain, gzip.compress(plain, level) if len(plain) > MIN_COMPRESSED else None, kind)


class Request:
    """One request."""

    def __init__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        self.scope = scope
        self.receive = receive
        self._send = send
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.has_begun = False

    def headers(self, name: bytes) -> list[bytes]:
        """The values of a header, by its name in small letters."""
        return [value for key, value in self.scope["headers"] if key == name]

    def header(self, name: bytes) -> str | None:
        """The value of a header that may be there once."""
        found = self.headers(name)
        return found[0].decode("latin-1") if len(found) == 1 else None

    def query(self, name: str) -> str | None:
        """A value of the query."""
        from urllib.parse import parse_qs

        given: list[str | None] = [*parse_qs(self.scope["query_string"].decode("latin-1")).get(name, ())]
        return given[0] if given else None

    async def json(self, bodies: Bodies, owner: str) -> dict[str, Any]:
        """The body, which is a JSON object.

        Raises:
            RefusedError: it is not, or it is too long or too slow.
        """
        kind = (self.header(b"content-type") or "").partition(";")[0].strip().lower()
        if kind != "application/json":  # a page of another site cannot send this type unasked
            raise RefusedError(415, "expected a body of type application/json")
        try:
            body = await bodies.read(self.scope, self.receive, owner)
            if isinstance(body, TooLong):
                raise RefusedError(413, f"a request may have at most {bodies.limit} bytes")
            value = loads(body or b"", max_bytes=bodies.limit)
        except BodyError as problem:
            raise RefusedError(problem.status, str(problem)) from problem
        except JsonTextError as problem:
            raise RefusedError(400, f"the body is not JSON: {problem}") from problem
        if not isinstance(value, dict):
            raise RefusedError(400, "expected a JSON object")
        return value

    async def wait_left(self) -> None:
        """Wait until the client is gone."""
        while (await self.receive())["type"] != "http.disconnect":
            pass

    # -- answers

    async def begin(self, status: int, kind: str, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
        """The head of an answer, whose body comes piece by piece."""
        self.has_begun = True
        head = [(b"content-type", kind.encode()), *SAFE, *headers]
        await self._send({"type": "http.response.start", "status": status, "headers": head})

    async def write(self, body: bytes, *, more: bool) -> None:
        """A piece of the body."""
        await self._send({"type": "http.response.body", "body": body, "more_body": more})

    async def answer(self, status: int, body: bytes, kind: str, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
        """A whole answer."""
        await self.begin(status, kind, [*headers, (b"content-length", b"%d" % len(body))])
        await self.write(body, more=False)

    async def answer_json(self, value: Any, status: int = 200, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
        """A JSON value as the answer."""
        await self.answer_body(Body.of(as_json(value)), status, headers)

    async def answer_body(self, body: Body, status: int = 200, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
        """A whole answer, compressed where it is long and the browser understands that."""
        if body.packed is not None and "gzip" in (self.header(b"accept-encoding") or ""):
            await self.answer(status, body.packed, body.kind, [*headers, (b"content-encoding", b"gzip")])
        else:
            await self.answer(status, body.plain, body.kind, headers)


def as_json(value: Any) -> bytes:
    """JSON of what the board gives; a half of a surrogate pair costs its own sign and nobody's answer."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str).encode("utf-8", "replace")
