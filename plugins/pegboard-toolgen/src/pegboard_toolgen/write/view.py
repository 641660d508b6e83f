"""The manifest as the outputs need it: projected, cleaned, in one order. Every output is a function of a
`ManifestView` alone.

Nothing here depends on the order of keys, on the machine or on the day, so that the same manifest gives the same bytes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import attrs

from pegboard_manifest import clean_schema, is_read_only, project, sanitise, subschemas
from pegboard_toolgen.parts import FULL
from pegboard_toolgen.write._json import plain

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

DIALECT = "https://json-schema.org/draft/2020-12/schema"
CODES = (
    "INVALID_INPUT",
    "UNAUTHORIZED",
    "FORBIDDEN",
    "NOT_FOUND",
    "CONFLICT",
    "RATE_LIMITED",
    "TIMEOUT",
    "UPSTREAM_ERROR",
    "INTERNAL_ERROR",
    "OUTCOME_UNKNOWN",
)
ERROR: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "code": {"enum": list(CODES)},
        "message": {"type": "string"},
        "details": {"type": "object"},
    },
    "required": ["code", "message"],
}
"""What every error of the board fits, where the manifest says none of its own."""
OBJECT: Mapping[str, Any] = {"type": "object"}
_NOT_A_NAME = re.compile(r"[^a-z0-9]+")
MAX_SKILL_NAME = 64
MAX_LEAD = 400


@attrs.frozen(kw_only=True)
class Variable:
    """A variable of the environment that changes what the tools reach.

    Args:
        kind: `secret`, `username`, `address`, `program` or `passed` (a program may see it).
        required: calls are refused where it is not set.
        default: what holds where it is not set, if a value does.
        about: our words for a person; the ids in them are of the manifest's own alphabet.
    """

    name: str
    kind: str
    required: bool
    about: str
    default: str = ""


@attrs.frozen(kw_only=True)
class ToolView:
    """One tool. `entry` is the manifest's; schemas stand alone and lead nowhere outside."""

    entry: Mapping[str, Any]
    name: str
    title: str
    description: str
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any]
    error_schema: Mapping[str, Any]

    @property
    def category(self) -> str:
        return str(self.entry["category"])

    @property
    def risk(self) -> str:
        return str(self.entry["risk"])

    @property
    def idempotency(self) -> str:
        return str(self.entry["idempotency"])

    @property
    def constraints(self) -> Mapping[str, Any]:
        constraints: Mapping[str, Any] = self.entry.get("constraints", {})
        return constraints

    @property
    def is_read_only(self) -> bool:
        """Whether a board in read-only mode lets it run."""
        return is_read_only(self.entry)

    @property
    def examples(self) -> Sequence[Mapping[str, Any]]:
        examples: Sequence[Mapping[str, Any]] = self.entry["examples"]
        return examples

    @property
    def schema_file(self) -> str:
        return f"schemas/{self.name}.schema.json"


@attrs.frozen(kw_only=True)
class ManifestView:
    """The whole manifest.

    Args:
        project: the manifest's `project`.
        title: the project's name, cleaned, on one line.
        slug: the name as folders, skills and registries take it: lower case letters, digits, single hyphens.
        tools: in the order of names.
        variables: in the order of names.
        parts: what is written beside the lean folder: documents name nothing that is not there.
    """

    document: Mapping[str, Any]
    project: Mapping[str, Any]
    title: str
    slug: str
    tools: Sequence[ToolView]
    variables: Sequence[Variable]
    parts: frozenset[str] = FULL

    @property
    def version(self) -> str:
        return sanitise(str(self.project.get("version", "")), one_line=True)

    @property
    def description(self) -> str:
        """What a page says of the project: the first paragraph, at most `MAX_LEAD` characters of whole sentences."""
        lead = sanitise(re.split(r"\n\s*\n", str(self.project.get("description", "")).strip())[0], one_line=True)
        if len(lead) <= MAX_LEAD:
            return lead
        ends = [found.end() for found in re.finditer(r"[.!?](?=\s)", lead[:MAX_LEAD])]
        return lead[: ends[-1]] if ends else sanitise(lead, MAX_LEAD)

    @property
    def to_try(self) -> ToolView | None:
        """The tool for an example: one that reads where there is one, so that whoever copies it changes nothing."""
        return min(self.tools, key=lambda tool: (not tool.is_read_only, tool.risk != "low", tool.name), default=None)


def view_of(manifest: Mapping[str, Any], parts: Collection[str] = FULL) -> ManifestView:
    """Read a manifest that is valid.

    Raises:
        ProjectionError: a schema of it refers to what is not there.
    """
    document = plain(manifest)
    defs = document.get("$defs", {})
    schemas = _Schemas(defs)
    tools = sorted((_tool(entry, schemas) for entry in document["tools"]), key=lambda tool: tool.name)
    project_ = document["project"]
    return ManifestView(
        document=document,
        project=project_,
        title=sanitise(project_["name"], 128, one_line=True) or "tools",
        slug=slug_of(project_["name"]),
        tools=tools,
        variables=_variables(document),
        parts=frozenset(parts),
    )


def slug_of(name: str) -> str:
    """A name of 1 to 64 lower case letters, digits and single hyphens; `tools` where nothing is left of it."""
    return _NOT_A_NAME.sub("-", name.lower()).strip("-")[:MAX_SKILL_NAME].strip("-") or "tools"


def rebase(schema: Mapping[str, Any], base: str) -> Any:
    """A schema as part of a larger document, at the JSON pointer `base`: its references go on meaning what they meant.

    `project` leaves no references but `#/$defs/NAME`, and none that a pointer could not follow.
    """
    copy = _copied(schema)
    waiting = [copy]
    while waiting:
        one = waiting.pop()
        if not isinstance(one, dict):
            continue
        if isinstance(one.get("$ref"), str) and one["$ref"].startswith("#"):
            one["$ref"] = "#" + base + one["$ref"][1:]
        waiting += subschemas(one)
    return copy


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


def _tool(entry: Mapping[str, Any], schemas: _Schemas) -> ToolView:
    description = sanitise(entry["description"]) or entry["name"]
    return ToolView(
        entry=entry,
        name=entry["name"],
        title=sanitise(entry.get("title", ""), 200, one_line=True),
        description=description,
        input_schema=schemas.of(entry["input_schema"]),
        output_schema=schemas.of(entry.get("output_schema", OBJECT)),
        error_schema=schemas.of(entry.get("error_schema", ERROR)),
    )


class _Schemas:
    """Schemas that stand alone. One that is nothing but a reference, as those of errors are, is made once."""

    def __init__(self, defs: Mapping[str, Any]) -> None:
        self._defs = defs
        self._named: dict[str, Mapping[str, Any]] = {} if "error" in defs else {"#/$defs/error": ERROR}

    def of(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        reference = schema.get("$ref") if len(schema) == 1 else None
        if not isinstance(reference, str):
            return self._made(schema)
        if reference not in self._named:
            self._named[reference] = self._made(schema)
        return self._named[reference]

    def _made(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        alone = project(schema, self._defs)
        whole: Mapping[str, Any] = clean_schema(alone)
        if alone is not schema:  # else it is as plain as the document that it is of
            whole = plain(whole)
        return {key: value for key, value in whole.items() if key != "$schema"}


def _variables(document: Mapping[str, Any]) -> list[Variable]:
    found: dict[str, Variable] = {}

    def say(name: str, kind: str, about: str, *, required: bool = False, default: str = "") -> None:
        if name not in found or (required and not found[name].required):
            found[name] = Variable(name=name, kind=kind, required=required, about=about, default=default)

    for id_, server in sorted(document.get("servers", {}).items()):
        for auth in server.get("auth", ()):
            required = bool(auth.get("required", False))
            say(auth["secret_env"], "secret", f"Credential ({auth['kind']}) for the server {id_}.", required=required)
            if "username_env" in auth:
                say(auth["username_env"], "username", f"User name for the server {id_}.", required=required)
        if "base_url_env" in server:
            say(server["base_url_env"], "address", f"Address of the server {id_}.", default=server["base_url"])
    for id_, program in sorted(document.get("programs", {}).items()):
        if "argv0_env" in program:
            say(program["argv0_env"], "program", f"Path of the program {id_}, where it is not found on PATH.")
        for name in program.get("environment", ()):
            say(name, "passed", f"Passed on to the program {id_} where it is set.")
    return [found[name] for name in sorted(found)]
