"""Servers of a document and their credentials: a base URL, and names of the variables that will hold the secrets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit, urlunsplit

import attrs

from pegboard_manifest import faults_of_http_server, sanitise
from pegboard_toolgen._prose import shown
from pegboard_toolgen.discover.openapi.references import Document, pointer_of
from pegboard_toolgen.discover.openapi.swagger2 import scheme_of
from pegboard_toolgen.drafts import LeftOut
from pegboard_toolgen.schemas import UnusableError, is_clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pegboard_toolgen.discover.openapi.fetch import Source

Json = Any

NO_SERVER = "http://127.0.0.1"
"""Stands for a server that nobody named; the variable of its base URL takes its place."""
AUTHORIZATION = "Authorization"
"""The scheme of a header that operations take as a parameter, where no other scheme sends it."""
_LINK_LOCAL = re.compile(r"169\.254\.|fe[89ab][0-9a-f]:|0\.0\.0\.0$|::$|metadata\.", re.IGNORECASE)
_VARIABLE = re.compile(r"\{([^{}]*)\}")


def slug_of(text: str, default: str = "api") -> str:
    """A text as an id of the manifest: small letters, digits and hyphens."""
    slug = re.sub(r"[^a-z0-9]+", "-", sanitise(text, 200, one_line=True).lower()).strip("-")[:40].strip("-")
    return slug or default


def variable_of(project: str, *texts: str) -> str:
    """A project's title and more texts as the name of an environment variable."""
    words = [sanitise(project, 200, one_line=True).replace("'", "")]
    words += [re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", sanitise(text, 200, one_line=True)) for text in texts]
    name = "_".join(re.sub(r"[^A-Za-z0-9]+", "_", word).strip("_").upper()[:40].strip("_") for word in words).strip("_")
    name = re.sub("_{2,}", "_", name) or "API"
    return name if not name[0].isdigit() else f"API_{name}"


@attrs.frozen
class Credentials:
    """What a server's auth will send: entries of the manifest, the parameters that they take the place of, and what
    was left out.

    Args:
        auth: as in the manifest, sorted by the scheme's name.
        places: (place, name in small letters) of what the auth sends, and the scheme that sends it.
        left_out: schemes that no tool can use.
        schemes: what the document calls a scheme, and how the auth calls it.
        is_said: the document says of an operation, or of all, which schemes it takes. One that never does leaves open
            whether nothing is wanted or it was forgotten: everything that is set is sent then.
    """

    auth: list[dict[str, Json]]
    places: Mapping[tuple[str, str], str]
    left_out: list[LeftOut]
    schemes: Mapping[str, str] = attrs.field(factory=dict)
    is_said: bool = False

    def security_of(self, said: Json, parameters: Iterable[Mapping[str, Json]]) -> list[list[str]] | None:
        """The alternatives of one operation for its binding; None where the document says it of no operation.

        A scheme that cannot be sent is left out of what is wanted beside it; alone it stays, as what cannot be met. A
        parameter that a scheme sends asks for that scheme.
        """
        if not self.is_said:
            return None
        found: list[list[str]] = []
        for one in [one for one in said[:20] if isinstance(one, dict)] if isinstance(said, list) else ():
            names = [name for name in one if isinstance(name, str)][:10]
            sent = [self.schemes[name] for name in names if name in self.schemes]
            kept = list(dict.fromkeys(sent)) or [sanitise(name, 100, one_line=True) or "?" for name in names]
            if kept not in found:
                found.append(kept)
        for parameter in parameters:
            wanted = self._sending(parameter["in"], parameter["name"].lower())
            if wanted and not any(scheme in one for one in found for scheme in wanted):
                found = [[*one, wanted[0]] for one in found if one] or [[scheme] for scheme in wanted]
        return found

    def _sending(self, place: str, name: str) -> list[str]:
        if (place, name) == ("header", "authorization"):
            return [one["scheme"] for one in self.auth if sends_authorization(one)] or [AUTHORIZATION]
        return [self.places[place, name]] if (place, name) in self.places else []


def credentials_of(document: Document, project: str) -> Credentials:
    """The security schemes of a document; secrets are named by the project and the scheme, never held."""
    auth: list[dict[str, Json]] = []
    places: dict[tuple[str, str], str] = {}
    schemes: dict[str, str] = {}
    is_said = _says_security(document)
    left_out: list[LeftOut] = []
    for name, where, scheme in _schemes(document):
        try:
            entry = _auth_of(name, document.follow(scheme), project)
            if fault := next(iter(faults_of_http_server({"base_url": NO_SERVER, "auth": [entry]})), None):
                raise UnusableError(f"it cannot be sent: expected {fault.expected}")
        except UnusableError as problem:
            left_out.append(LeftOut(f"security:{sanitise(name, 100, one_line=True)}", str(problem), where))
            continue
        scheme_id = sanitise(name, 100, one_line=True) or "?"
        same = next((one for one in auth if {**one, "scheme": ""} == {"scheme": "", **entry}), None)
        if same is None:
            auth.append({"scheme": scheme_id, **entry} if is_said else entry)
        schemes[name] = same.get("scheme", scheme_id) if same else scheme_id
        if entry["kind"] in ("header", "query", "cookie"):
            places.setdefault((entry["kind"], entry["name"].lower()), schemes[name])
    return Credentials(auth, places, left_out, schemes, is_said)


def sends_authorization(entry: Mapping[str, Json]) -> bool:
    """Whether an entry of the auth is the header Authorization."""
    return entry["kind"] in ("bearer", "basic") or entry.get("name", "").lower() == AUTHORIZATION.lower()


def _says_security(document: Document) -> bool:
    paths = document.root.get("paths")
    items = [item for item in paths.values() if isinstance(item, dict)] if isinstance(paths, dict) else []
    operations = (one for item in items for one in item.values() if isinstance(one, dict))
    return any(isinstance(one.get("security"), list) for one in (document.root, *operations))


def _schemes(document: Document) -> Iterator[tuple[str, str, Json]]:
    steps = ("securityDefinitions",) if document.is_swagger_2 else ("components", "securitySchemes")
    schemes: Json = document.root
    for step in steps:
        schemes = schemes.get(step) if isinstance(schemes, dict) else None
    if isinstance(schemes, dict):
        for name in sorted(schemes)[:50]:
            yield name, pointer_of(*steps, name), schemes[name]


def _auth_of(name: str, scheme: Mapping[str, Json], project: str) -> dict[str, Json]:
    scheme = scheme_of(scheme)
    kind, how = scheme.get("type"), str(scheme.get("scheme", "")).lower()
    said = re.sub(r"_AUTH(ENTICATION)?$", "", variable_of("", name))
    prefix = variable_of(project, said)
    if kind == "http" and how == "basic":
        return {"kind": "basic", "username_env": f"{prefix}_USERNAME", "secret_env": f"{prefix}_PASSWORD"}
    if (kind == "http" and how == "bearer") or kind in ("oauth2", "openIdConnect"):
        return {"kind": "bearer", "secret_env": prefix if prefix.endswith("TOKEN") else f"{prefix}_TOKEN"}
    if kind == "apiKey" and scheme.get("in") in ("header", "query", "cookie"):
        key = scheme.get("name")
        if not isinstance(key, str) or not is_clean(key) or not 0 < len(key) <= 128:
            raise UnusableError("the name of its key cannot be sent")
        env = prefix if prefix.endswith(("KEY", "TOKEN", "SECRET")) else f"{prefix}_KEY"
        return {"kind": scheme["in"], "name": key, "secret_env": env}
    raise UnusableError(f"credentials of this kind ({shown(how or kind or 'none')}) cannot be sent")


# Servers -------------------------------------------------------------------------------------------------------------


def server_of(document: Document, source: Source, base_url: str | None) -> tuple[str, list[str]]:
    """The base URL of the document's first usable server, and what has to be said about it.

    What the caller names wins. A document that was found below a URL that the caller named as the service's own, or on
    this machine, belongs to the server that gave it: what it says of other hosts is a copy of somewhere else.
    """
    if base_url is not None:
        return base_url, []
    named = next((url for said in _said(document) if (url := usable(said, source.url))), None)
    if source.url is None:
        if named:
            return named, []
        why = "the document names no server that can be used: give base_url, or set the variable of its base URL"
        path = next((one for said in _said(document) if (one := usable(said, NO_SERVER)) and one != NO_SERVER), None)
        if path is None or not path.startswith(f"{NO_SERVER}/"):
            return NO_SERVER, [why]
        return path, [f"{why}, with the path {shown(path.removeprefix(NO_SERVER))} that it names"]
    path = urlsplit(named).path.rstrip("/") if named else ""
    origin = urlunsplit((*urlsplit(source.url)[:2], "", "", ""))
    if named is None or (is_local(source.url) and not is_local(named)) or source.is_base:
        notes = (
            []
            if named is None or named == origin + path
            else [f"the document names {shown(named)}; calls go to the server that gave it"]
        )
        return origin + path, notes
    return named, []


def usable(url: Json, base: str | None) -> str | None:
    """A URL of the document as a base URL, or None: resolved, http or https, without user, query or fragment.

    A document from elsewhere names no server of this machine, nor one that only machines beside it see.
    """
    if not isinstance(url, str) or len(url) > 2_000 or " " in url or "\\" in url or sanitise(url, 2_000) != url:
        return None
    try:
        parts = urlsplit(urljoin(base, url) if base else url)
        if parts.scheme.lower() not in ("http", "https") or not parts.hostname or (parts.port or 1) < 0:
            return None
    except ValueError:
        return None
    if (
        parts.username is not None
        or parts.password is not None
        or not re.fullmatch(r"[A-Za-z0-9.\-_:\[\]]+", parts.netloc)
    ):
        return None
    found = urlunsplit((parts.scheme.lower(), parts.netloc, parts.path.rstrip("/"), "", ""))
    if base and not is_local(base) and (is_local(found) or _LINK_LOCAL.match(parts.hostname)):
        return None
    return None if faults_of_http_server({"base_url": found}) else found


def _said(document: Document) -> Iterator[Json]:
    if document.is_swagger_2:
        yield from _swagger_2(document.root)
    else:
        yield from urls_of(document.root.get("servers"))


def _swagger_2(root: Mapping[str, Json]) -> Iterator[str]:
    host, path = root.get("host"), root.get("basePath")
    path = path if isinstance(path, str) and path.startswith("/") else "/"
    schemes = (
        [item for item in root.get("schemes") or [] if item in ("http", "https")]
        if isinstance(root.get("schemes"), list)
        else []
    )
    if isinstance(host, str) and host:
        # As the server that gave the document speaks, where it says nothing: a reference without a scheme.
        for scheme in sorted(schemes, reverse=True) or [""]:
            yield f"{scheme}://{host}{path}" if scheme else f"//{host}{path}"
        if not schemes:
            yield f"https://{host}{path}"
    else:
        yield path


def urls_of(servers: Json) -> Iterator[Json]:
    """The URLs of `servers`, with the defaults of their variables."""
    for server in servers[:50] if isinstance(servers, list) else []:
        if not isinstance(server, dict) or not isinstance(server.get("url"), str):
            continue
        url = _filled(server["url"], server.get("variables"))
        if url is not None:
            yield url


def _filled(url: str, variables: Json) -> str | None:
    known = variables if isinstance(variables, dict) else {}

    def value(match: re.Match[str]) -> str:
        said = known.get(match[1])
        said = said if isinstance(said, dict) else {}
        default = said.get(
            "default", next(iter(said.get("enum") or []), None) if isinstance(said.get("enum"), list) else None
        )
        return str(default) if isinstance(default, (str, int)) else "{}"

    url = _VARIABLE.sub(value, url[:2_000])
    return None if "{" in url else url


def is_same_origin(url: str, other: str) -> bool:
    """Whether credentials of one URL may go to the other (RFC 6454)."""
    return urlsplit(url.lower())[:2] == urlsplit(other.lower())[:2]


def is_local(url: str) -> bool:
    """Whether a URL leads to this machine."""
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.") or host.endswith(".localhost")
