"""Tools of a manifest as tools of the board.

What a tool does to the world is judged from `category`, `risk` and `idempotency`, with the worst taken where they say
nothing: a tool that is not known to read writes, destroys and must not be repeated. `annotations` of the manifest fill
what these leave open (whether a write of low or medium risk destroys, whether what is not an HTTP API reaches the
world), and lose wherever they contradict. `read_only_mode_supported` takes a reader out of read-only mode, and never
lets a write in.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

from pegboard import Annotations, Example, Limits, Tool
from pegboard_manifest._quick import signature_of
from pegboard_manifest.bindings import make_handler, run_of
from pegboard_manifest.projection import project
from pegboard_manifest.texts import clean_line, clean_schema, clean_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pegboard import Risk
    from pegboard.schema import Signature
    from pegboard_manifest.document import Manifest

TAG = "manifest"
READS = frozenset({"read", "analytics"})
MAX_NAME = 64
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]+")


def tool_of(entry: Mapping[str, Any], manifest: Manifest) -> Tool:
    """One tool of a manifest, as it is on a board; its source says where it comes from.

    .. versionadded:: 0.1
    """
    input_schema, output_schema = entry["input_schema"], entry.get("output_schema")
    if manifest.referring is None or entry["name"] in manifest.referring:
        input_schema = project(input_schema, manifest.defs)
        output_schema = None if output_schema is None else project(output_schema, manifest.defs)
    description, title = entry["description"], entry.get("title")
    if not manifest.is_plain:
        input_schema, output_schema = clean_schema(input_schema), clean_schema(output_schema)
        description = clean_text(description)
    title = title and clean_line(title)
    run = run_of(entry, manifest)
    if "options" in entry["binding"]:
        signature: Signature | None = _options_of(entry["binding"]["options"], manifest)
    else:  # a handler in the loop or in a thread takes its arguments alone: for those the host may take the quick look
        signature = None if run == "async" else signature_of(input_schema, output_schema)
    made = Tool(
        name=entry["name"],
        handler=make_handler(entry, manifest),
        description=description,
        title=title,
        input_schema=input_schema,
        output_schema=output_schema,
        category=manifest.category,
        tags=frozenset((entry["category"], TAG)),
        annotations=annotations_of(entry),
        limits=limits_of(entry),
        examples=[Example(one["input"], clean_text(one.get("description", ""))) for one in entry["examples"]],
        secrets=secrets_of(entry, manifest),
        run=run,
        signature=signature,
    )
    if signature is not None:
        signature.schema = made.input_schema
    return made


def _options_of(options: Mapping[str, Any], manifest: Manifest) -> Signature:
    from pegboard_manifest._options import OptionsSignature

    return OptionsSignature(options if manifest.is_plain else {**options, "schema": clean_schema(options["schema"])})


def annotations_of(entry: Mapping[str, Any]) -> Annotations:
    """What a tool does to the world, by its category, risk and idempotency; unknown is the worst.

    .. versionadded:: 0.1
    """
    declared = entry.get("annotations", {})
    return _annotations(
        entry.get("category"),
        entry.get("risk", "high"),
        entry.get("idempotency") == "idempotent",
        entry.get("constraints", {}).get("read_only_mode_supported", True),
        declared.get("destructiveHint", True),
        True if entry["binding"]["kind"] == "http" else declared.get("openWorldHint"),
    )


def is_read_only(entry: Mapping[str, Any]) -> bool:
    """Whether a board in read-only mode runs a tool.

    .. versionadded:: 0.1
    """
    return annotations_of(entry).read_only


@functools.cache  # of tools by the thousand most are alike
def _annotations(
    category: str | None, risk: Risk, idempotent: bool, supported: bool, destructive: bool, open_world: bool | None
) -> Annotations:
    reads = category in READS and risk != "high" and supported
    destroys = not reads and (destructive or risk == "high" or category == "admin")
    return Annotations(read_only=reads, destructive=destroys, idempotent=idempotent, open_world=open_world, risk=risk)


def limits_of(entry: Mapping[str, Any]) -> Limits:
    """What a call of a tool may use.

    .. versionadded:: 0.1
    """
    timeout_ms = entry.get("timeout_ms")
    rate = entry.get("constraints", {}).get("rate_limit")
    if timeout_ms is None and rate is None:
        return _NO_LIMITS
    return Limits(timeout_s=None if timeout_ms is None else timeout_ms / 1000, rate_limit=rate)


_NO_LIMITS = Limits()


def secrets_of(entry: Mapping[str, Any], manifest: Manifest) -> frozenset[str]:
    """The variables without which the tool's requests are not sent. What goes along where it is set is the binding's
    own affair (`CallContext.hide`).

    .. versionadded:: 0.1
    """
    binding = entry["binding"]
    if binding["kind"] != "http":
        return frozenset()
    server = manifest.servers[binding["server"]]
    if not any(one.get("required") for one in server.get("auth", ())):
        return frozenset()
    from pegboard_manifest.bindings.http.auth import alternatives_of

    alternatives = alternatives_of(server, binding)
    required = [one for one in alternatives[0] if one.get("required")] if len(alternatives) == 1 else []
    return frozenset(one[key] for one in required for key in ("secret_env", "username_env") if key in one)


def other_name(project: str, name: str) -> str:
    """How a tool of a project is called where its own name is taken: the project's comes before it.

    .. versionadded:: 0.1
    """
    word = _NOT_IN_NAMES.sub("_", project).strip("_") or "manifest"
    if word[0].isdigit() or word[0] == "-":
        word = f"_{word}"
    return f"{word}_{name}"[:MAX_NAME]
