"""What the format of a manifest cannot say: that its parts fit each other.

Every function takes parts that have the right form, and gives faults; none raises, none looks outside of the document.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Any

from pegboard import Fault, RateLimit
from pegboard.schema.jsontext import shorten
from pegboard_manifest.projection import ProjectionError, may_refer, references, resolve, with_own

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from pegboard import Step

    Path = tuple[Step, ...]

_HOST = re.compile(r"(?:[A-Za-z0-9_.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?", re.ASCII)
_CONTROLS = re.compile(r"[\x00-\x20\x7f]")
_ERROR = {"$ref": "#/$defs/error"}
"""What every tool says as its `error_schema`, by convention."""


def cross_faults(
    document: Mapping[str, Any], wrong: Collection[Path] = (), referring: set[str] | None = None
) -> list[Fault]:
    """Everything in a manifest that contradicts something else in it.

    Args:
        document: its sections have the right form.
        wrong: the paths of the parts that have not, as in `("tools", 3)`; they are not looked at.
        referring: the names of the tools whose schemas may refer to definitions are put into it.
    """
    faults: list[Fault] = []
    defs = document.get("$defs", {})
    for name, schema in defs.items():
        faults += _reference_faults(schema, defs, ("$defs", name))
    looks = (("servers", _server_faults), ("programs", _program_faults), ("modules", _module_faults))
    for section, look in looks:
        for key, one in document.get(section, {}).items():
            if (section, key) not in wrong:
                faults += look(one, (section, key))
    if wrong:
        sections = {key: _without(document.get(key, {}), key, wrong) for key in ("servers", "programs", "modules")}
        document = {**document, **sections}
    names: dict[str, int] = {}
    ids: dict[str, int] = {}
    for index, tool in enumerate(document["tools"]):
        path: Path = ("tools", index)
        if path in wrong:
            continue
        for key, seen in (("name", names), ("id", ids)):
            first = seen.setdefault(tool[key], index)
            if first != index:
                faults.append(Fault((*path, key), f"one that tools[{first}] does not have", shorten(tool[key])))
        if may_refer(tool["input_schema"]) or may_refer(tool.get("output_schema")):
            for key in ("input_schema", "output_schema"):
                faults += _reference_faults(tool.get(key, {}), defs, (*path, key))
            if referring is not None:
                referring.add(tool["name"])
        if tool.get("error_schema", _ERROR) != _ERROR or "error" not in defs:
            faults += _reference_faults(tool.get("error_schema", {}), defs, (*path, "error_schema"))
        faults += _tool_faults(tool, document, path)
    return faults


def _without(section: Mapping[str, Any], key: str, wrong: Collection[Path]) -> dict[str, Any]:
    """A section whose wrong parts are there by name alone."""
    return {name: None if (key, name) in wrong else one for name, one in section.items()}


def _tool_faults(tool: Mapping[str, Any], document: Mapping[str, Any], path: Path) -> Iterator[Fault]:
    schema = tool["input_schema"]
    if schema.get("additionalProperties") is not False and schema.get("unevaluatedProperties") is not False:
        yield Fault((*path, "input_schema"), "a closed object: additionalProperties false", "an open one")
    if not isinstance(schema.get("properties", {}), dict):
        yield Fault((*path, "input_schema", "properties"), "an object", shorten(schema["properties"]))
        return
    rate = tool.get("constraints", {}).get("rate_limit")
    if rate is not None:
        try:
            RateLimit.parse(rate)
        except ValueError:
            yield Fault((*path, "constraints", "rate_limit"), "a rate such as '10/minute'", shorten(rate))
    binding = tool["binding"]
    yield from _BINDINGS[binding["kind"]](binding, document, schema.get("properties", {}), (*path, "binding"))


def _reference_faults(schema: Any, defs: Mapping[str, Any], path: Path) -> Iterator[Fault]:
    if not may_refer(schema):
        return
    own = schema.get("$defs")
    try:
        defs = with_own(defs, own) if isinstance(own, dict) else defs
        found = dict.fromkeys(references(schema))
    except ProjectionError as problem:
        yield Fault(path, "references of the form #/$defs/NAME, each name for one thing", shorten(problem.ref))
        return
    for ref in found:
        try:
            resolve(ref, defs)
        except ProjectionError:
            yield Fault(path, "references to definitions that are there", shorten(ref), _near(ref, defs))


def _near(ref: str, defs: Mapping[str, Any]) -> str | None:
    from pegboard.schema import NearNames

    near = NearNames().find(ref.rpartition("/")[2], defs)
    return f"did you mean #/$defs/{near[0]}?" if near else None


class _Uses:
    """Which parameters a binding uses: each has to be in the schema, and each of the schema has to be used."""

    def __init__(self, properties: Mapping[str, Any], path: Path) -> None:
        self.properties = properties
        self.path = path
        self.seen: set[str] = set()

    def use(self, holder: Mapping[str, Any], path: Path) -> Iterator[Fault]:
        name = holder["parameter"]
        self.seen.add(name)
        if name not in self.properties:
            from pegboard.schema import NearNames

            near = NearNames().find(name, self.properties)
            hint = f"did you mean {near[0]!r}?" if near else None
            yield Fault((*path, "parameter"), "a property of the input_schema", shorten(name), hint)

    def unused(self) -> Iterator[Fault]:
        for name in self.properties:
            if name not in self.seen:
                yield Fault(self.path, f"to use the parameter {shorten(name)}", "a binding that leaves it out")


def _id_fault(section: str, document: Mapping[str, Any], key: str, path: Path) -> Iterator[Fault]:
    known = document.get(section, {})
    if key not in known:
        yield Fault(path, f"an id of {section}: {', '.join(list(known)[:5]) or 'there is none'}", shorten(key))


# subprocess


def _program_faults(program: Mapping[str, Any], path: Path) -> Iterator[Fault]:
    words = [(("argv0", index), word) for index, word in enumerate(program["argv0"])]
    values = [(("set_environment", name), value) for name, value in program.get("set_environment", {}).items()]
    folders = [(("allowed_paths", index), folder) for index, folder in enumerate(program.get("allowed_paths", ()))]
    for place, text in (*words, *values, *folders, (("cwd",), program.get("cwd", ""))):
        if "\x00" in text:
            yield Fault((*path, *place), "a text without NUL", shorten(text))


def _subprocess_faults(binding: Any, document: Any, properties: Any, path: Path) -> Iterator[Fault]:
    yield from _id_fault("programs", document, binding["program"], (*path, "program"))
    if "options" in binding:
        yield from _more_faults(binding["options"], properties, (*path, "options"))
        rest = binding["options"]["schema"]["properties"]
        properties = {name: one for name, one in properties.items() if name != binding["options"]["parameter"]} | rest
    uses, ended = _Uses(properties, path), False
    for index, argument in enumerate(binding["arguments"]):
        here: Path = (*path, "arguments", index)
        if argument["kind"] == "terminator":
            if ended:
                yield Fault(here, "one terminator", "a second one")
            ended = True
        elif argument["kind"] == "literal":
            if "\x00" in argument["value"]:
                yield Fault((*here, "value"), "a text without NUL", shorten(argument["value"]))
            if argument["value"] == "--":
                yield Fault(here, "a terminator", "the word --", 'write {"kind": "terminator"}')
            if "when" in argument and argument["when"] not in properties:
                yield Fault((*here, "when"), "a parameter of input_schema", shorten(argument["when"]))
        else:
            yield from uses.use(argument, here)
            yield from _option_faults(argument, here) if argument["kind"] == "option" else ()
        if argument.get("guard") == "none" and not ended:
            yield Fault((*here, "guard"), "dash, or a terminator before it", "none")
        if argument["kind"] == "option" and ended:
            yield Fault(here, "options before the terminator", "one behind it")
    yield from _greedy_faults(binding["arguments"], properties, path)
    if "stdin" in binding:
        yield from uses.use(binding["stdin"], (*path, "stdin"))
    for index, rule in enumerate(binding.get("exits", ())):
        if "stderr" in rule:
            from pegboard_manifest.bindings.subprocess.exits import pattern_fault

            if fault := pattern_fault(rule["stderr"]):
                yield Fault((*path, "exits", index, "stderr"), fault, shorten(rule["stderr"]))
    yield from uses.unused()


def _greedy_faults(arguments: Any, properties: Any, path: Path) -> Iterator[Fault]:
    """An option that takes as many words as there are takes those of a positional right behind it, too."""
    for index, (argument, following) in enumerate(itertools.pairwise(arguments)):
        is_greedy = argument.get("style") == "separate" and "nargs" not in argument
        if is_greedy and following["kind"] == "positional" and argument.get("value", {}).get("format") != "json":
            schema = properties.get(argument["parameter"])
            kinds = schema.get("type") if isinstance(schema, dict) else None
            if kinds == "array" or (isinstance(kinds, list) and "array" in kinds):
                here = (*path, "arguments", index)
                yield Fault(here, "nargs, or a terminator behind it", "a list right before a positional")


def _more_faults(options: Any, properties: Mapping[str, Any], path: Path) -> Iterator[Fault]:
    from pegboard.schema import faults_of_schema

    parameter, rest = options["parameter"], options["schema"]
    shown = properties.get(parameter)
    if not isinstance(shown, dict) or shown.get("type") != "object":
        yield Fault((*path, "parameter"), "a property of the input_schema that is an object", shorten(parameter))
    for name in rest["properties"].keys() & properties.keys():
        yield Fault((*path, "schema", "properties"), "names that the input_schema has not", shorten(name))
    if may_refer(rest):
        yield Fault((*path, "schema"), "a schema that refers to nothing", "one that does")
        return
    for fault in faults_of_schema(rest, foreign=True):
        yield Fault((*path, "schema", *fault.path), fault.expected, fault.got, fault.hint)


def _option_faults(option: Mapping[str, Any], path: Path) -> Iterator[Fault]:
    style, item_style = option["style"], option.get("item_style")
    for key in ("flag", "off_flag"):
        flag = option.get(key, "-x")
        if not flag.strip("-") or "=" in flag or _CONTROLS.search(flag):
            yield Fault((*path, key), "-n or --name", shorten(flag))
    if style == "negatable" and "off_flag" not in option:
        yield Fault(path, "off_flag: what false says", "a negatable without")
    if style == "joined" and option["flag"].startswith("--"):
        yield Fault((*path, "flag"), "one dash for style joined", shorten(option["flag"]))
    if item_style is not None and style != "repeat":
        yield Fault((*path, "item_style"), "style repeat", shorten(style))
    if option.get("bare") and style not in ("equals", "joined"):
        yield Fault((*path, "bare"), "style equals or joined", shorten(style))
    if "nargs" in option and "separate" not in (style, item_style):
        yield Fault((*path, "nargs"), "style separate", shorten(style))
    if "values" in option and ("value" in option or len(option["values"]) != option.get("nargs")):
        yield Fault((*path, "values"), "nargs of them, and no value beside", shorten(option["values"]))


# python


def _module_faults(module: Mapping[str, Any], path: Path) -> Iterator[Fault]:
    yield from _name_faults(module["import"], (*path, "import"))
    for index, name in enumerate(module.get("allow", ())):
        here: Path = (*path, "allow", index)
        if not is_within(name, module["import"]):
            yield Fault(here, f"a name within {module['import']}", shorten(name))
        else:
            yield from _name_faults(name, here)


def is_within(name: str, module: str) -> bool:
    """Whether a qualified name lies in a module, of the package or in a module below it."""
    return (
        name.startswith(f"{module}.") and name.replace(".", "").isidentifier() and ".." not in name and name[-1] != "."
    )


def _name_faults(name: str, path: Path) -> Iterator[Fault]:
    if "._" in f".{name}":
        yield Fault(path, "a public name: no part with a leading underscore", shorten(name))


def _python_faults(binding: Any, document: Any, properties: Any, path: Path) -> Iterator[Fault]:
    yield from _id_fault("modules", document, binding["module"], (*path, "module"))
    module = document.get("modules", {}).get(binding["module"])
    uses = _Uses(properties, path)
    called = [(binding["qualified_name"], (*path, "qualified_name"))]
    if instance := binding.get("instance"):
        called.append((instance["make"], (*path, "instance", "make")))
        if binding["qualified_name"].rpartition(".")[0] != instance["make"]:
            expected = f"a method or property of {instance['make']}"
            yield Fault((*path, "qualified_name"), expected, shorten(binding["qualified_name"]))
        yield from _argument_faults(instance["parameters"], module, uses, (*path, "instance", "parameters"))
    for name, here in called:
        yield from _name_faults(name, here)
        if module is not None and not is_within(name, module["import"]):
            yield Fault(here, f"a name within {module['import']}", shorten(name))
        elif module is not None and "allow" in module and name not in module["allow"]:
            yield Fault(here, "a name in the allow list of its module", shorten(name))
    yield from _argument_faults(binding["parameters"], module, uses, (*path, "parameters"))
    yield from uses.unused()


def _argument_faults(arguments: Any, module: Any, uses: _Uses, path: Path) -> Iterator[Fault]:
    passed: set[str] = set()
    once: set[str] = set()
    for index, one in enumerate(arguments):
        here = (*path, index)
        yield from uses.use(one, here)
        way = one["pass"]
        keyword = one.get("keyword", one["parameter"])
        if way == "positional" and "spread" in once:
            yield Fault((*here, "pass"), "positional before spread", "positional behind it")
        if way in ("spread", "spread_keyword"):
            if way in once:
                yield Fault((*here, "pass"), f"one {way}", "a second one")
            once.add(way)
        if way == "keyword":
            if keyword in passed:
                yield Fault(here, "each keyword once", shorten(keyword))
            passed.add(keyword)
        if one.get("optional") and way != "positional":
            yield Fault((*here, "optional"), "it with positional alone", way)
        wants = one.get("coerce", "none")
        if ("enum" in wants) != ("enum" in one):
            yield Fault(here, "coerce enum and the class as enum, together", "one without the other")
        elif "enum" in one:
            yield from _name_faults(one["enum"], (*here, "enum"))
            if module is not None and not is_within(one["enum"], module["import"]):
                yield Fault((*here, "enum"), f"a class within {module['import']}", shorten(one["enum"]))


# http


def _server_faults(server: Mapping[str, Any], path: Path) -> Iterator[Fault]:
    from pegboard_manifest.bindings.http.faults import faults_of_server

    for index, host in enumerate(server.get("allowed_hosts", ())):
        if not _HOST.fullmatch(host):
            yield Fault((*path, "allowed_hosts", index), "host or host:port", shorten(host))
    yield from faults_of_server(server, path)


def _http_faults(binding: Any, document: Any, properties: Any, path: Path) -> Iterator[Fault]:
    from pegboard_manifest.bindings.http.faults import faults_of_binding

    yield from _id_fault("servers", document, binding["server"], (*path, "server"))
    yield from faults_of_binding(binding, document.get("servers", {}).get(binding["server"]) or {}, path)
    uses = _Uses(properties, path)
    for index, one in enumerate(binding.get("parameters", ())):
        yield from uses.use(one, (*path, "parameters", index))
    body = binding.get("body", {})
    if "parameter" in body:
        yield from uses.use(body, (*path, "body"))
    for index, field in enumerate(body.get("fields", ())):
        yield from uses.use(field, (*path, "body", "fields", index))
    yield from uses.unused()


_BINDINGS = {"subprocess": _subprocess_faults, "python": _python_faults, "http": _http_faults}
