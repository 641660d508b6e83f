"""Routes of web frameworks that no OpenAPI document covers, as a bounded scan of a project's text finds them.

They become no tools and are only named, so `init` looks for them where somebody asks (`--with routes`), or where a
project offers nothing else. Nothing is imported.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

import attrs

from pegboard.limits import SOURCE_LEVELS
from pegboard_manifest import sanitise
from pegboard_toolgen.profile import files_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

MAX_SCANNED = 600
MAX_SOURCE = 400_000
MAX_ROUTES = 200
MAX_LEVELS = SOURCE_LEVELS
_METHOD = r"(?P<method>get|post|put|patch|delete|head|options)"
_ROUTES = tuple(
    (re.compile(pattern, re.MULTILINE), suffixes)
    for pattern, suffixes in (
        # Flask, FastAPI and their like; Starlette and aiohttp; Django
        (
            r"^[ \t]*@(?:\w+\.)+(?P<method>route|get|post|put|patch|delete|head|options|websocket)\("
            r"\s*[rbu]?[\"'](?P<path>[^\"'\n]{1,200})[\"']",
            (".py",),
        ),
        (
            r"\b(?:add_(?P<method>get|post|put|patch|delete|head)|Route)\(\s*[\"'](?P<path>/[^\"'\n]{0,200})[\"']",
            (".py",),
        ),
        (r"^[ \t]*path\(\s*[\"'](?P<path>[^\"'\n]{0,200})[\"']\s*,(?!\s*include\()", ("urls.py",)),
        # Express, Fastify, Koa, Hono
        (
            r"\b(?:app|router|server|api|fastify)\.(?P<method>get|post|put|patch|delete|head|options|all)\("
            r"\s*[\"'`](?P<path>/[^\"'`\n]{0,200})[\"'`]",
            (".js", ".ts", ".mjs", ".cjs"),
        ),
        # net/http, whose pattern may begin with a method; gin, echo and chi
        (
            r"\.Handle(?:Func)?\(\s*[\"`](?:(?P<method>[A-Z]{3,7}) )?(?P<path>/[^\"`\n]{0,200})[\"`]",
            (".go",),
        ),
        (
            r"\.(?P<method>GET|POST|PUT|PATCH|DELETE|Get|Post|Put|Patch|Delete)\(\s*\"(?P<path>/[^\"\n]{0,200})\"",
            (".go",),
        ),
        # axum, and the attributes of actix and rocket
        (r"\.route\(\s*\"(?P<path>/[^\"\n]{0,200})\"", (".rs",)),
        (rf"#\[{_METHOD}\(\s*\"(?P<path>/[^\"\n]{{0,200}})\"", (".rs",)),
        # Spring
        (
            r"@(?P<method>Get|Post|Put|Patch|Delete|Request)Mapping\(\s*(?:(?:value|path)\s*=\s*)?\"(?P<path>[^\"\n]{1,200})\"",
            (".java", ".kt"),
        ),
        # Sinatra, Rails and Laravel
        (rf"^[ \t]*{_METHOD} [\"'](?P<path>/[^\"'\n]{{0,200}})[\"']", (".rb",)),
        (r"\bRoute::(?P<method>get|post|put|patch|delete|any)\(\s*[\"'](?P<path>[^\"'\n]{1,200})[\"']", (".php",)),
    )
)  # fmt: skip
_ANY = frozenset(("route", "all", "any", "request"))
"""What stands where a method does, and is not a method."""


@attrs.frozen(kw_only=True)
class Route:
    """A route of a web framework that no OpenAPI document covers."""

    method: str
    path: str
    where: str


def find_routes(root: Path) -> Iterator[Route]:
    """Routes of web frameworks, of at most `MAX_SCANNED` files, and at most `MAX_ROUTES`."""
    root = root.resolve()
    scanned = itertools.islice(_sources(root), MAX_SCANNED)
    routes = (route for path, patterns in scanned for route in _routes_of(path, patterns, root))
    return itertools.islice(routes, MAX_ROUTES)


def _sources(root: Path) -> Iterator[tuple[Path, list[re.Pattern[str]]]]:
    for path in files_in(root, depth=MAX_LEVELS):
        patterns = [pattern for pattern, suffixes in _ROUTES if path.name.endswith(suffixes)]
        if patterns and not path.is_symlink():
            yield path, patterns


def _routes_of(path: Path, patterns: Iterable[re.Pattern[str]], root: Path) -> Iterator[Route]:
    try:
        with path.open("rb") as file:
            text = file.read(MAX_SOURCE).decode("utf-8", "replace")
    except OSError:
        return
    matches = [match for pattern in patterns for match in itertools.islice(pattern.finditer(text), MAX_ROUTES)]
    for match in sorted(matches, key=lambda match: match.start("path")):
        line = text.count("\n", 0, match.start("path")) + 1
        said = match.groupdict().get("method") or "any"
        yield Route(
            method="ANY" if said.lower() in _ANY else said.upper(),
            path="/" + sanitise(match["path"], 200, one_line=True).lstrip("/"),
            where=f"{path.relative_to(root).as_posix()}:{line}",
        )


_PART = re.compile(r"\{[^{}/]*\}|<[^<>/]*>|(?<=/):\w+|(?<=/)\*\w*")


def not_covered(routes: Iterable[Route], operations: Iterable[tuple[str, str]]) -> tuple[Route, ...]:
    """The routes that no operation covers.

    A route is covered by an operation of its method whose path is the same, or ends with it: what a framework puts
    before the routes of a part of the program does not stand where the route does. Names of parameters do not count.

    Args:
        routes: as they were found.
        operations: method and path of each.
    """
    known: dict[str, set[str]] = {}
    for method, path in operations:
        parts = _PART.sub("{}", path).rstrip("/").split("/")
        ends = {"/".join(["", *parts[start:]]) for start in range(1, len(parts))}
        known.setdefault(method.upper(), set()).update(ends, [""] if parts == [""] else [])
    anything = set().union(*known.values())

    def is_covered(route: Route) -> bool:
        path = _PART.sub("{}", route.path).rstrip("/")
        return path in (anything if route.method == "ANY" else known.get(route.method, ()))

    return tuple(route for route in routes if not is_covered(route))
