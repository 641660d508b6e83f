"""Tools of an HTTP API from its OpenAPI document: 3.0, 3.1 (3.2 as far as it is the same) and Swagger 2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard_manifest import sanitise
from pegboard_toolgen.drafts import Discovery, DiscoveryError, LeftOut
from pegboard_toolgen.schemas import needed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pegboard_toolgen.discover.openapi.operations import OperationReader
    from pegboard_toolgen.discover.openapi.security import Credentials

Json = Any


def discover_openapi(
    where: str | Path | Mapping[str, Json], *, base_url: str | None = None, strict_answers: bool = False
) -> Discovery:
    """Read an OpenAPI document: a draft for each method of each path.

    Args:
        where: the document's path or URL, or the document. A URL that gives no document is taken for the base of a
            server, and the usual places below it are tried.
        base_url: of the server that calls go to, instead of those that the document names.
        strict_answers: hold answers to all that the document says of them, not to names and types alone.

    Raises:
        DiscoveryError: the document cannot be read, or base_url is not valid.

    .. versionadded:: 0.1
    """
    from pegboard_toolgen._prose import line, prose
    from pegboard_toolgen.discover.openapi import security
    from pegboard_toolgen.discover.openapi.fetch import read_source
    from pegboard_toolgen.discover.openapi.operations import OperationReader
    from pegboard_toolgen.discover.openapi.references import Document

    if base_url is not None and (base_url := security.usable(base_url, None)) is None:
        raise DiscoveryError(
            "base_url is not an http or https URL without a user", hint="such as http://127.0.0.1:8000/v1"
        )
    source = read_source(where)
    document = Document(source.document)
    info = source.document.get("info")
    info = info if isinstance(info, dict) else {}
    title = line(info.get("title"), 128).rstrip(" .") or "API"
    base, notes = security.server_of(document, source, base_url)
    # A document may call itself OpenAI and its scheme "api": no variable that other programs read may be sent to where
    # it says. What runs here or was named by the caller is trusted with the short name.
    project = title if base_url is not None or security.is_local(base) else f"API {title}"
    credentials = security.credentials_of(document, project)
    server = security.slug_of(title)
    reader = OperationReader(
        document, (server, base), source.url, credentials, is_fixed=base_url is not None, is_strict=strict_answers
    )
    drafts, left_out, defs = reader.drafts()
    servers = {server: _server(base, project, credentials, reader)}
    for name, url in sorted(reader.servers.items()):
        shared = {"auth": servers[server].get("auth", [])} if security.is_same_origin(url, base) else {}
        servers[name] = {"base_url": url, **(shared if any(shared.values()) else {})}
    kept: dict[str, Json] = {}
    for draft in drafts:
        kept |= needed(draft.input_schema, defs)
    left_out += [*credentials.left_out, *source.left_out]
    left_out += [LeftOut("server", sentence) for sentence in notes]
    if isinstance(webhooks := source.document.get("webhooks"), dict) and webhooks:
        left_out.append(LeftOut("webhooks", "the server sends them; there is nothing to call", "#/webhooks"))
    version = info.get("version")
    version = sanitise(str(version), 64, one_line=True) if isinstance(version, (str, int, float)) else ""
    return Discovery(
        source={
            "kind": "openapi",
            "name": title,
            **({"version": version} if version else {}),
            **({"location": source.location} if source.location else {}),
            "sha256": source.sha256,
        },
        drafts=drafts,
        left_out=left_out,
        servers=servers,
        defs=dict(sorted(kept.items())),
        name=title,
        version=version,
        description=prose(info.get("description"), 4_000),
    )


def _server(base: str, project: str, credentials: Credentials, reader: OperationReader) -> dict[str, Json]:
    """The manifest's entry of the document's own server."""
    from pegboard_toolgen.discover.openapi.security import AUTHORIZATION, sends_authorization, variable_of

    sent = [*credentials.auth]
    if reader.has_authorization and not any(map(sends_authorization, sent)):
        entry = {"kind": "header", "name": AUTHORIZATION, "secret_env": variable_of(project, "authorization")}
        sent.append({"scheme": AUTHORIZATION, **entry} if credentials.is_said else entry)
    return {
        "base_url": base,
        "base_url_env": variable_of(project, "base_url"),
        **({"auth": sent} if sent else {}),
        **({"redirects": "same-origin"} if reader.has_redirects else {}),
    }
