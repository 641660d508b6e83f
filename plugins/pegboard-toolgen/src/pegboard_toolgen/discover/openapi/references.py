"""Where a document's references lead: JSON pointers inside it, never outside; and its schemas, each converted once.

A schema that is pointed to becomes a `$defs` entry under a name that its pointer alone decides, so circles stay
circles and no other operation changes a name. Conversion waits in a queue: a chain of references costs no depth.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from pegboard_manifest import sanitise
from pegboard_toolgen._prose import shown
from pegboard_toolgen.discover.openapi.beside import PLACE
from pegboard_toolgen.schemas import (
    DEFS,
    Dialect,
    LostReferenceError,
    UnusableError,
    Work,
    break_circles,
    convert,
    needed,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

Json = Any

MAX_HOPS = 32
MAX_PARTS = 100
"""Of `allOf`, of one object, with the parts of parts."""
MAX_FITTED = 2_000_000
"""Parts of schemas that are looked at to fit all of them; Stripe's document takes 140,000."""
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Document:
    """One OpenAPI document, to be asked for its parts.

    Args:
        root: the value; says `openapi` or `swagger`.
    """

    def __init__(self, root: Mapping[str, Json]) -> None:
        self.root = root
        self.is_swagger_2 = "swagger" in root and "openapi" not in root
        version = str(root.get("openapi", ""))
        self.dialect: Dialect = (
            "swagger 2" if self.is_swagger_2 else "openapi 3.0" if version.startswith("3.0") else "2020-12"
        )
        self.work = Work()
        self.fitting = Work(MAX_FITTED)

    def at(self, ref: str) -> Json:
        """What a reference points to.

        Raises:
            LostReferenceError: it points outside of the document, or to nothing.
        """
        here: Json = self.root
        for step in steps_of(ref):
            if isinstance(here, dict) and step in here:
                here = here[step]
            elif (
                isinstance(here, list) and step.isascii() and step.isdigit() and len(step) < 7 and int(step) < len(here)
            ):
                here = here[int(step)]
            else:
                raise LostReferenceError(f"the reference {shown(_as_written(ref))} points to nothing")
        return here

    def follow(self, value: Json) -> dict[str, Json]:
        """An object of the document, behind its references; anything else is an empty one.

        Raises:
            LostReferenceError: a reference leads nowhere, outside or in a circle.
        """
        said: dict[str, Json] = {}
        for _ in range(MAX_HOPS):
            if not isinstance(value, dict):
                return {}
            ref = value.get("$ref")
            if not isinstance(ref, str):
                return {**value, **said}
            # OpenAPI 3.1, 4.8.23: texts beside a reference stand for those that it leads to.
            said = {key: value[key] for key in ("summary", "description") if key in value} | said
            value = self.at(ref)
        raise LostReferenceError("a reference leads in a circle")


def steps_of(ref: str) -> tuple[str, ...]:
    """The steps of a reference into the same document (RFC 6901, section 6)."""
    before, _, pointer = ref.partition("#")
    if before or (pointer and not pointer.startswith("/")):
        raise LostReferenceError(f"the reference {shown(ref)} points outside of the document")
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in unquote(pointer).split("/")[1:])


def _as_written(ref: str) -> str:
    """A reference into a file beside the document, as the document has it."""
    if not ref.startswith(f"#/{PLACE}/"):
        return ref
    name, _, rest = ref.removeprefix(f"#/{PLACE}/").partition("/")
    return name.replace("~1", "/").replace("~0", "~") + (f"#/{rest}" if rest else "")


def pointer_of(*steps: str) -> str:
    """The JSON pointer of a place, as text."""
    return sanitise("#/" + "/".join(step.replace("~", "~0").replace("/", "~1") for step in steps), 1_000, one_line=True)


class Schemas:
    """The document's schemas, converted for one direction.

    Args:
        document: where they stand.
        answers: whether it is what the server sends (see `pegboard_toolgen.schemas.convert`).
    """

    def __init__(self, document: Document, *, answers: bool) -> None:
        self.document = document
        self.answers = answers
        self.defs: dict[str, Json] = {}
        self.broken: dict[str, str] = {}
        self.notes: dict[str, list[str]] = {}
        self._waiting: dict[str, Json] = {}

    def convert(self, schema: Json, notes: list[str]) -> Json:
        """A schema of the document; what it points to waits for `settle`."""
        return convert(
            schema,
            dialect=self.document.dialect,
            refer=self._refer,
            answers=self.answers,
            notes=notes,
            work=self.document.work,
            behind=self._behind,
        )

    def _behind(self, schema: Json) -> dict[str, Json]:
        try:
            return object_behind(self.document, schema)
        except LostReferenceError:
            return {}

    def settle(self) -> None:
        """Convert everything that was pointed to."""
        while self._waiting:
            name, schema = self._waiting.popitem()
            notes: list[str] = []
            try:
                self.defs[name] = self.convert(schema, notes)
            except LostReferenceError as problem:
                self.defs[name] = {}
                notes.append(f"Any value is taken where {problem}.")
            except UnusableError as problem:
                self.defs[name] = {}
                self.broken[name] = str(problem)
            if notes:
                self.notes[name] = notes
        whole, self.defs = self.defs, break_circles(self.defs)
        for name, schema in self.defs.items():
            if schema is not whole[name]:
                self.notes.setdefault(name, []).append("A circle of schemas that would never end was cut.")

    def notes_of(self, schema: Json) -> list[str]:
        """What was lost in the schemas that a schema needs."""
        return [note for name in needed(schema, self.defs) for note in self.notes.get(name, ())] if self.notes else []

    def why_unusable(self, schema: Json) -> str | None:
        """Why a schema cannot be used: something that it needs could not be converted."""
        if not self.broken:
            return None
        return next((self.broken[name] for name in needed(schema, self.defs) if name in self.broken), None)

    def _refer(self, ref: str) -> Json:
        name = name_of(steps_of(ref), is_swagger_2=self.document.is_swagger_2)
        if name not in self.defs and name not in self._waiting:
            self._waiting[name] = self.document.at(ref)
        return {"$ref": DEFS + name}


def name_of(steps: tuple[str, ...], *, is_swagger_2: bool) -> str:
    """The name of a schema under `$defs`, from its pointer alone."""
    usual = ("definitions",) if is_swagger_2 else ("components", "schemas")
    last = steps[-1] if steps else "document"
    if steps[:-1] == usual and _PLAIN_NAME.fullmatch(last):
        return f"in.{last}"
    digest = hashlib.sha256(
        "/".join(step.replace("~", "~0").replace("/", "~1") for step in steps).encode("utf-8", "replace")
    )
    return f"in.{re.sub('[^A-Za-z0-9_]+', '_', last)[:40]}.{digest.hexdigest()[:8]}"


# Behind references ---------------------------------------------------------------------------------------------------


def object_behind(document: Document, schema: Json) -> dict[str, Json]:
    """A schema behind its references, with what the parts of `allOf` say, and all of their properties.

    Raises:
        LostReferenceError: a part cannot be found.
    """
    return _put_together(document, schema, [MAX_PARTS])


def _put_together(document: Document, schema: Json, left: list[int]) -> dict[str, Json]:
    body = document.follow(schema)
    parts = body.get("allOf")
    left[0] -= 1
    if not isinstance(parts, list) or not parts or left[0] < len(parts):
        return body
    own = {key: value for key, value in body.items() if key != "allOf"}
    found: dict[str, Json] = {}
    properties: dict[str, Json] = {}
    required: list[Json] = []
    for part in [*(_put_together(document, item, left) for item in parts), own]:
        needs = part.get("required")
        properties |= properties_of(part)
        required += needs if isinstance(needs, list) else []
        found |= {key: part[key] for key in part if key != "additionalProperties" or part[key] is not False}
    return {**found, **({"properties": properties} if properties else {}), "required": required}


def properties_of(schema: Mapping[str, Json]) -> dict[str, Json]:
    """The properties that a schema names itself."""
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}
