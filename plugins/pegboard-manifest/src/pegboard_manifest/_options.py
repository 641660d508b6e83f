"""Parameters that a model does not see one by one: of a program with a hundred options most stand in one object.

A binding's `options` names the parameter of that object and says in a schema what it takes. The host validates what a
model sees; what the object holds is judged here, as the host's binder, so that faults are said and strings repaired as
those of any argument, on every interface, before a guard is asked. The handler gets all parameters side by side.

    {"url": "...", "options": {"max_time": 5}}  ->  {"url": "...", "max_time": 5}

An option whose value is null is not one that was left out: its fault says what it is for, so that a model can ask. One
that stands beside the object is refused, and its fault says where it belongs: what a call means is said in one way.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import attrs

from pegboard.schema import Signature
from pegboard.schema.jsontext import shorten_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pegboard import Fault

MAX_HINT = 300


class OptionsSignature(Signature):
    """The signature of a tool that takes some of its parameters in one object.

    Args:
        options: of a subprocess binding, right by the manifest's format, its texts clean.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(context_parameter="context", context_positional=True)
        self._options = options

    def quick(self) -> None:
        """No quick look: the object has to be looked into."""

    def binder(self) -> Callable[[Mapping[str, Any]], Any]:
        """From arguments that fit what a model sees to those of the handler, or the faults of the object."""
        from pegboard.schema import Document, faults_of_value

        options, schema = self._options, self._options["schema"]
        parameter, document = options["parameter"], Document(schema)

        def bind(arguments: Mapping[str, Any]) -> dict[str, Any] | tuple[Fault, ...]:
            if faults := faults_of_value(schema, arguments.get(parameter, {}), document=document):
                return tuple(_told(fault, parameter, schema["properties"]) for fault in faults)
            return dict(side_by_side(options, arguments))

        return bind

    def tell_faults(self, faults: Sequence[Fault]) -> Sequence[Fault]:
        """Of a name that the input schema does not have, but the object: where it belongs."""
        shown = (self.schema or {}).get("properties", {})
        return [
            self._told_at_top(fault, shown) if len(fault.path) == 1 and fault.path[0] not in shown else fault
            for fault in faults
        ]

    def _told_at_top(self, fault: Fault, shown: Mapping[str, Any]) -> Fault:
        from pegboard.schema import NearNames

        parameter, rest, name = self._options["parameter"], self._options["schema"]["properties"], str(fault.path[0])
        if name in rest:
            expected, got = f"a member of {parameter}", "an argument of its own"
            return attrs.evolve(fault, expected=expected, got=got, hint=f"write {_inside(parameter, name)}")
        near = NearNames().find(name, [*shown, *rest])
        if not near or near[0] in shown:
            return fault
        return attrs.evolve(fault, hint=f"did you mean {shorten_text(near[0])}? Write {_inside(parameter, near[0])}")


def side_by_side(options: Mapping[str, Any] | None, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments of a call, with those that stand in the object beside the others."""
    if options is None or not isinstance(inside := arguments.get(options["parameter"]), dict):
        return arguments
    return {**{name: value for name, value in arguments.items() if name != options["parameter"]}, **inside}


def _inside(parameter: str, name: str) -> str:
    """How an option is given, as a model writes it."""
    quoted = (json.dumps(shorten_text(one), ensure_ascii=False) for one in (parameter, name))
    return "{{{}: {{{}: ...}}}}".format(*quoted)


def _told(fault: Fault, parameter: str, properties: Mapping[str, Any]) -> Fault:
    """A fault at its place in the arguments, with what the option is for."""
    option = properties.get(str(fault.path[0])) if fault.path else None
    about = option.get("description", "") if isinstance(option, dict) else ""
    hint = fault.hint or shorten_text(about, MAX_HINT) or None
    return attrs.evolve(fault, path=(parameter, *fault.path), hint=hint)
