"""Models of pydantic, and its `Field`, as the other records are read, without importing pydantic.

A model is a record like the others: its fields have the schemas that their hints and bounds have anywhere, and each
value is structured before the model's own validators see it. So one type means one thing in every tool, whatever holds
it.

Source: https://pydantic.dev/docs/validation/latest/api/pydantic/fields/ (`FieldInfo`), and `pydantic.main.BaseModel`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator

NOTHING: Any = attrs.NOTHING


class UnfitModelError(TypeError):
    """A model says more than a record can; the message says what."""


def marks_of(field: Any) -> tuple[Any, ...]:
    """What a `Field` says of a hint: its bounds, and its description."""
    return (*field.metadata, *((field.description,) if field.description else ()))


def default_of(field: Any) -> Any:
    """The default of a `Field`, NOTHING where a value must be given.

    Raises:
        UnfitModelError: it is made anew for each call, by something else than a type of containers.
    """
    if field.is_required():
        return NOTHING
    if field.default_factory is None:
        return field.default
    if field.default_factory in (list, dict, set):
        return field.default_factory()
    raise UnfitModelError(
        "its default_factory is the author's own; take None as the default, and make it in the function"
    )


def fields_of(model: Any) -> Iterator[tuple[str, Any, tuple[Any, ...], bool, Any]]:
    """Of each field its key, its hint, what is said of it, whether it is required, and the default to show.

    Raises:
        UnfitModelError: a hint cannot be resolved, or a key cannot be said in one word.
    """
    if not model.__pydantic_complete__ and model.model_rebuild(raise_errors=False) is False:
        raise UnfitModelError(
            f"{model.__name__} names types that are not found; call its model_rebuild() when they are"
        )
    for name, field in model.model_fields.items():
        key = _key_of(name, field)
        if not isinstance(key, str) or not key.isidentifier():
            raise UnfitModelError(f"the alias of the field {name!r} of {model.__name__} is not a Python name")
        made = field.default_factory
        default = NOTHING if field.is_required() or made is not None else field.default
        yield key, field.annotation, marks_of(field), field.is_required(), made() if made in (list, dict) else default


def _key_of(name: str, field: Any) -> Any:
    return field.validation_alias or field.alias or name


def is_written_as_read(model: Any) -> bool:
    """Whether what a model writes of itself is what its fields say, and no more or less."""
    own = model.__pydantic_decorators__
    return (
        not (own.computed_fields or own.field_serializers or own.model_serializers)
        and model.model_config.get("extra") != "allow"
        and all(
            not field.exclude and (field.serialization_alias or name) == _key_of(name, field)
            for name, field in model.model_fields.items()
        )
    )


def written(value: Any) -> Any:
    """What a model gives to be written: what it excludes is left out, and what it computes is there."""
    return value.model_dump(by_alias=True)


def faults_in(problem: BaseException) -> list[tuple[tuple[Any, ...], str]]:
    """What pydantic refused, each with its path below the model; nothing of an exception that is not pydantic's."""
    kind = getattr(sys.modules.get("pydantic_core"), "ValidationError", None)
    if kind is None or not isinstance(problem, kind):
        return []
    errors: Any = problem
    return [(one["loc"], one["msg"]) for one in errors.errors(include_url=False, include_context=False)]
