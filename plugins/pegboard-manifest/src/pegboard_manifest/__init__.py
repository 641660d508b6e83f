"""Tools from a `tool.manifest.json`: what it binds is run as it says, and no code is generated.

For programs that write manifests, or make something else of one: reading and judging them, the schema of a tool on its
own (`project`), each tool as a board has it (`tool_of`), texts of a project made fit for a model, fingerprints. Tests
of a manifest are in `pegboard_manifest.testing`. Each name is imported when it is asked for.

.. versionadded:: 0.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard.starting import lazy_names

if TYPE_CHECKING:
    from pegboard_manifest.bindings.http.faults import faults_of_binding as faults_of_http_binding
    from pegboard_manifest.bindings.http.faults import faults_of_server as faults_of_http_server
    from pegboard_manifest.bindings.http.faults import is_reserved as is_reserved_header
    from pegboard_manifest.bindings.http.statuses import code_of as code_of_status
    from pegboard_manifest.canonical import fingerprint_of, fingerprint_of_document
    from pegboard_manifest.document import Manifest, ManifestError
    from pegboard_manifest.document import load as load_manifest
    from pegboard_manifest.document import of_document as manifest_of
    from pegboard_manifest.document import parse as parse_manifest
    from pegboard_manifest.hygiene import is_loopback, sanitise
    from pegboard_manifest.projection import ProjectionError, project, subschemas
    from pegboard_manifest.texts import clean_schema, clean_text
    from pegboard_manifest.tools import is_read_only, tool_of

__all__ = [
    "Manifest",
    "ManifestError",
    "ProjectionError",
    "clean_schema",
    "clean_text",
    "code_of_status",
    "faults_of_http_binding",
    "faults_of_http_server",
    "fingerprint_of",
    "fingerprint_of_document",
    "is_loopback",
    "is_read_only",
    "is_reserved_header",
    "load_manifest",
    "manifest_of",
    "parse_manifest",
    "project",
    "sanitise",
    "subschemas",
    "tool_of",
]

__getattr__ = lazy_names(
    __name__,
    {
        ".bindings.http.faults": (
            "faults_of_http_binding = faults_of_binding",
            "faults_of_http_server = faults_of_server",
            "is_reserved_header = is_reserved",
        ),
        ".bindings.http.statuses": ("code_of_status = code_of",),
        ".canonical": ("fingerprint_of", "fingerprint_of_document"),
        ".document": (
            "Manifest",
            "ManifestError",
            "load_manifest = load",
            "manifest_of = of_document",
            "parse_manifest = parse",
        ),
        ".hygiene": ("is_loopback", "sanitise"),
        ".projection": ("ProjectionError", "project", "subschemas"),
        ".texts": ("clean_schema", "clean_text"),
        ".tools": ("is_read_only", "tool_of"),
    },
)
