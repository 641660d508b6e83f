"""The validator on jsonschema-rs: faster than the core's own where that walks, and for the few schemas that the core
declines. It takes all schemas where it is installed.

What the library decides alone would not be enough here: it takes NaN where nothing is said of a number, tries every
alternative of a reference again at every level, and raises on what is not JSON. So

- a value is walked for what no JSON text could have brought, where the schema leaves room for it;
- a schema whose references could multiply beyond bounds is left to the core's walker, which counts its steps;
- nothing is ever fetched: a reference that points outside makes the schema one that this validator does not hold;
- formats describe, and refuse nothing.

The library is imported and a schema compiled at the first value that is not a flat object of plain members as they
should be, unless only the library can tell whether it can hold the schema at all.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pegboard import Fault, hookimpl, thaw
from pegboard.schema import DRAFT_7, FlatObject, dialect_of, faults_of_schema, is_plain
from pegboard.schema.jsontext import MAX_CHECKED, check_value, shorten, shorten_text
from pegboard.validation import MAX_WALKED, declined

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pegboard import Validator
    from pegboard.schema import Document, Finder

MAX_FAULTS = 50


@hookimpl
def make_validator(schema: Any, foreign: bool) -> Validator | None:
    """Hold every schema that is one, and that points nowhere outside."""
    if is_plain(schema):
        return RustValidator(schema)
    if faults_of_schema(schema, foreign=foreign):
        return None
    validator = RustValidator(schema)
    if declined(schema) and not validator.compile():
        return None  # what the core declines the library may not hold either: it is compiled here and now
    return validator


class RustValidator:
    """A schema that is compiled when it is first needed.

    Args:
        schema: one without faults.

    .. versionadded:: 0.1
    """

    __slots__ = ("_document", "_finds", "_flat", "_is_valid", "_schema")
    reads_only = True

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._finds: Finder | None = None
        self._is_valid: Callable[[Any], bool] | None = None
        self._document: Document | None = None

    def __getattr__(self, name: str) -> Any:
        """`_flat`, when a value is first looked at: most tools of a large board are never called."""
        if name != "_flat":
            raise AttributeError(name)
        self._flat = FlatObject.of(self._schema)
        return self._flat

    def __call__(self, value: Any) -> Sequence[Fault]:
        """Every fault of `value`; none where it is right."""
        is_valid = self._is_valid
        if is_valid is None:
            if self._flat is not None and self._flat.faults_of(value) == []:
                return ()  # seen at a glance; the import takes as long as the rest of a short call
            is_valid = self._compiled()
        try:
            right = is_valid(value)
        except (ValueError, RecursionError):
            # What is not JSON raises, and so do subclasses of list and int that the library does not know.
            if fault := check_value(value):
                return [fault]
            value = json.loads(json.dumps(value))
            right = is_valid(value)
        if not right:
            return self._faults(value)
        fault = check_value(value, max_nodes=MAX_CHECKED) if self._finds is not None and self._finds(value) else None
        return [fault] if fault else ()

    def _faults(self, value: Any) -> Sequence[Fault]:
        if dialect_of(self._schema) is None:
            return self._own_faults(value)
        return self._walk(value) or self._own_faults(value)

    def _walk(self, value: Any) -> Sequence[Fault]:
        from pegboard.schema import Document, faults_of_value

        if self._document is None:
            self._document = Document(self._schema)
        return faults_of_value(self._schema, value, visits=MAX_WALKED, document=self._document)

    def compile(self) -> bool:
        """Compile now, and say whether the library can hold the schema."""
        from jsonschema_rs import ReferencingError

        from pegboard.schema import hidden_values, may_explode

        try:
            self._is_valid = _compile(self._schema).is_valid
        except (ValueError, ReferencingError, RecursionError):  # its ValidationError is a ValueError
            return False
        self._finds = hidden_values(self._schema, is_converted=True)
        if may_explode(self._schema):
            self._is_valid = self._is_valid_by_walking
            return not declined(self._schema)  # the walker cannot tell what the core declines
        return True

    def _compiled(self) -> Callable[[Any], bool]:
        if not self.compile():
            # Only patterns, references and dialects are refused, and those were compiled when the tool was registered.
            self._is_valid = self._is_valid_by_walking
        assert self._is_valid is not None
        return self._is_valid

    def _is_valid_by_walking(self, value: Any) -> bool:
        return not self._walk(value)

    def _own_faults(self, value: Any) -> list[Fault]:
        faults: list[Fault] = []
        for error in _compile(self._schema).iter_errors(value):
            if len(faults) == MAX_FAULTS:
                break
            path = tuple(error.instance_path)
            expected = f"a value that fits {shorten_text(error.kind.name)}: {shorten(error.kind.value)}"
            faults.append(Fault(path, expected, shorten(_at(value, path))))
        return faults or [Fault((), "a value that fits the schema", shorten(value))]


def _at(value: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


def _compile(schema: Any) -> Any:
    import jsonschema_rs  # 50 ms that only the first validated call pays

    schema = thaw(schema)  # the library knows no subclass of list
    dialect = dialect_of(schema)
    if dialect is None:
        return jsonschema_rs.validator_for(schema, offline=True, validate_formats=False)
    make = jsonschema_rs.Draft7Validator if dialect == DRAFT_7 else jsonschema_rs.Draft202012Validator
    return make(schema, offline=True, validate_formats=False)
