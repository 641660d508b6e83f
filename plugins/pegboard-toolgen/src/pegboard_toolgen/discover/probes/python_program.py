"""Say as JSON what the command line of a Python program is, without letting the program begin.

Runs under the interpreter of the program (3.8 or later), as text given by `-c`, and knows nothing of the package it
lies in. `sys.argv` is the descriptor for the answer, the name of the program, the file of its script ("" if none) and a
module ("" if none). The entry point comes from the metadata of the distribution that installed the script, else the
script or module itself is run as `__main__`. A click command is asked for its tree. Anything else is called with
`--help` as its only argument while the places where argparse and click begin to parse are ours: the first of them that
is reached dumps what it has and ends the process.

The answer: `{"kind": "click" | "argparse" | "none", "tree": ..., "distribution": {...}, "why": ...}`, bounded.
"""

# The oldest Python that a program may have decides here: no newer syntax, no types, os.path.
# ruff: noqa: B905, BLE001, PTH109, PTH120, PTH123
# mypy: ignore-errors

import contextlib
import json
import os
import sys

MAX_TEXT = 20000
MAX_ITEMS = 2000
MAX_DEPTH = 14
MAX_COMMANDS = 2000


def main():
    descriptor, name, script, module = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
    sys.path[:] = [folder for folder in sys.path if folder not in ("", os.getcwd())]
    sys.argv = [script or name, "--help"]
    distribution = {}

    def answer(kind, tree=None, why=None):
        value = {"kind": kind, "tree": plain(tree), "why": plain(why), "distribution": distribution}
        data = json.dumps(value, sort_keys=True, allow_nan=False).encode("ascii")
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os._exit(0)

    try:
        watch(answer)
        target = None
        if not module:
            target = entry_point(name, script, distribution)
        if target is None:
            run_main(script, module)
            answer("none", why="it ended without a parser of argparse or click")
        command = click_command(target)
        if command is not None:
            answer("click", click_tree(command, name))
        target()
        answer("none", why="it ended without a parser of argparse or click")
    except SystemExit:
        answer("none", why="it ended by itself")
    except BaseException as problem:
        answer("none", why=f"it raised {type(problem).__name__}")


def entry_point(name, script, distribution):
    """The object that the script calls, by the metadata of the distribution that brought it; None if there is none."""
    from importlib import metadata

    text = ""
    if script:
        with open(script, "rb") as file:
            text = file.read(65536).decode("utf-8", "replace")
    for found in metadata.distributions():
        for point in found.entry_points:
            if point.group != "console_scripts" or point.name != name:
                continue
            module, _, attribute = point.value.partition("[")[0].strip().partition(":")
            if module.strip() not in text:
                continue
            distribution["name"] = str(found.metadata.get("Name", ""))
            distribution["version"] = str(found.version)
            distribution["summary"] = str(found.metadata.get("Summary", ""))
            target = __import__("importlib").import_module(module.strip())
            for part in filter(None, attribute.strip().split(".")):
                target = getattr(target, part)
            return target
    return None


def run_main(script, module):
    import runpy

    if module:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    elif script:
        sys.path.insert(0, os.path.dirname(os.path.realpath(script)))
        runpy.run_path(script, run_name="__main__")


def watch(answer):
    """Put ourselves where argparse and click begin to parse."""
    import argparse

    known = argparse.ArgumentParser.parse_known_args

    def parse(parser, *arguments, **named):
        answer("argparse", argparse_tree(parser))

    def parse_known(parser, *arguments, **named):
        # A first, small parser that looks for a configuration file has no help of its own, and the real one follows.
        if not parser.add_help:
            return known(parser, *arguments, **named)
        return parse(parser)

    argparse.ArgumentParser.parse_args = parse
    argparse.ArgumentParser.parse_intermixed_args = parse
    argparse.ArgumentParser.parse_known_args = parse_known
    argparse.ArgumentParser.parse_known_intermixed_args = parse_known

    def begin(command, *arguments, **named):
        answer("click", click_tree(command, command.name or ""))

    def first_context(command, name, arguments, parent=None, **extra):
        # Where a program has a `main` of its own, this is the next thing that happens.
        answer("click", click_tree(command, name or command.name or ""))

    # Typer keeps a `main` of its own, and since 0.26 a whole click.
    for place in ("click.core", "typer._click.core", "typer.core"):
        try:
            core = __import__("importlib").import_module(place)
        except ImportError:
            continue
        for name in ("BaseCommand", "Command", "Group", "MultiCommand", "TyperCommand", "TyperGroup"):
            kind = vars(core).get(name)
            if isinstance(kind, type) and "main" in vars(kind):
                kind.main = begin
            if isinstance(kind, type) and "make_context" in vars(kind):
                kind.make_context = first_context


def click_command(target):
    if any(kind.__module__.split(".")[0] == "typer" and kind.__name__ == "Typer" for kind in type(target).__mro__):
        import typer.main

        return typer.main.get_command(target)
    if callable(getattr(target, "to_info_dict", None)) and callable(getattr(target, "make_context", None)):
        return target
    return None


def click_tree(command, name):
    ENUMERATION[0] = "name"
    budget = [MAX_COMMANDS]
    click = click_of(command)
    return click_node(click, command, click.Context(command, info_name=name), budget, 0)


def click_of(command):
    """The click that a command was made with: there may be one inside of another package."""
    for kind in type(command).__mro__:
        if kind.__name__ == "Command" and kind.__module__.endswith("click.core"):
            return sys.modules[kind.__module__]
    import click

    return click


def click_node(click, command, context, budget, depth):
    """`to_info_dict` of one command, and what it leaves out; of a group one command after the other, so that one that
    does not load costs that one."""
    budget[0] -= 1
    known = command.get_params(context)
    if hasattr(click.Command, "to_info_dict"):
        node = click.Command.to_info_dict(command, context)
        infos = node.pop("params")
    else:
        node = members(command, "name", "help", "epilog", "short_help", "hidden", "deprecated")
        infos = [parameter_info(parameter) for parameter in known]
    parameters = []
    for parameter, info in zip(known, infos):
        info = dict(info)
        for key in (
            "is_eager",
            "expose_value",
            "prompt_required",
            "hide_input",
            "metavar",
            "show_default",
            "deprecated",
        ):
            value = getattr(parameter, key, None)
            info[key] = value if isinstance(value, (str, bool)) else None
        if callable(getattr(parameter, "default", None)):
            info["default"] = None
        parameters.append(info)
    node["params"] = parameters
    settings = getattr(command, "context_settings", None) or {}
    for key in ("ignore_unknown_options", "allow_extra_args", "allow_interspersed_args"):
        node[key] = bool(settings.get(key, getattr(context, key, False)))
    if not hasattr(command, "list_commands"):
        return node
    node["invoke_without_command"] = bool(getattr(command, "invoke_without_command", False))
    node["chain"] = bool(getattr(command, "chain", False))
    node["commands"], node["failed"] = {}, {}
    for name in command.list_commands(context):
        if budget[0] <= 0 or depth >= MAX_DEPTH - 4:
            node["failed"][name] = "there are too many"
            continue
        try:
            child = command.get_command(context, name)
            if child is not None:
                inner = click.Context(child, info_name=name, parent=context)
                with inner.scope(cleanup=False):
                    node["commands"][name] = click_node(click, child, inner, budget, depth + 1)
        except Exception as problem:
            node["failed"][name] = f"it raised {type(problem).__name__}"
    return node


def members(value, *names):
    return {name: getattr(value, name, None) for name in names}


def parameter_info(parameter):
    """What `to_info_dict` says of a parameter, for the click inside of Typer, which has none."""
    info = members(
        parameter, "name", "opts", "secondary_opts", "required", "nargs", "multiple", "default", "envvar", "help",
        "prompt", "is_flag", "count",
    )  # fmt: skip
    if any(kind.__module__ == "enum" for kind in type(info["default"]).__mro__):
        info["default"] = info["default"].value
    known = getattr(parameter, "type_descriptor", None)
    info["param_type_name"] = "option" if any(str(one)[:1] in "-/" for one in info["opts"] or ()) else "argument"
    info["type"] = type_info(getattr(known, "annotation", str), getattr(known, "parameter_info", None))
    return info


def type_info(kind, said):
    """A type of Python, and what Typer was told of it, as `to_info_dict` says it of click's own types."""
    import enum

    inner = [one for one in getattr(kind, "__args__", ()) if isinstance(one, type)]
    origin = getattr(kind, "__origin__", None)
    if getattr(said, "parser", None) is not None:
        return {"param_type": "Func"}
    if origin is list and inner:
        return type_info(inner[0], said)
    if origin is tuple:
        return {"param_type": "Tuple", "types": [type_info(one, said) for one in inner]}
    if origin is not None:  # Literal
        return {"param_type": "Choice", "choices": [str(one) for one in kind.__args__]}
    if not isinstance(kind, type):
        return {"param_type": "String"}
    if issubclass(kind, enum.Enum):
        return {"param_type": "Choice", "choices": [str(one.value) for one in kind]}
    if kind.__name__ in FILE_MODES and kind.__module__.split(".")[0] == "typer":
        return {"param_type": "File", "mode": getattr(said, "mode", None) or FILE_MODES[kind.__name__]}
    if issubclass(kind, os.PathLike):
        return {"param_type": "Path", **members(said, "writable", "allow_dash", "exists")}
    if kind.__name__ == "datetime":
        formats = getattr(said, "formats", None) or ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S"]
        return {"param_type": "DateTime", "formats": list(formats)}
    name = {str: "String", bool: "Bool", int: "Int", float: "Float"}.get(kind, kind.__name__)
    limits = members(said, "min", "max", "clamp")
    if name in ("Int", "Float") and (limits["min"] is not None or limits["max"] is not None):
        return {"param_type": f"{name}Range", **limits}
    return {"param_type": name}


def argparse_tree(parser, depth=0, seen=()):
    import argparse

    groups = []
    for group in parser._mutually_exclusive_groups:
        members = [parser._actions.index(action) for action in group._group_actions if action in parser._actions]
        groups.append({"required": bool(group.required), "members": members})
    return {
        "prog": parser.prog,
        "description": expanded(parser, parser.description),
        "epilog": expanded(parser, parser.epilog),
        "prefix_chars": parser.prefix_chars,
        "fromfile_prefix_chars": parser.fromfile_prefix_chars,
        "groups": groups,
        "actions": [
            argparse_action(argparse, parser, action, depth, (*seen, id(parser))) for action in parser._actions
        ],
    }


def expanded(parser, text):
    if not isinstance(text, str):
        return None
    try:
        return text % {"prog": parser.prog}
    except (TypeError, ValueError, KeyError):
        return text


def argparse_action(argparse, parser, action, depth, seen):
    names = [kind.__name__ for kind in type(action).__mro__ if kind.__module__ == "argparse"]
    kind = action.type
    text = action.help
    if text is argparse.SUPPRESS:
        text, hidden = None, True
    else:
        hidden = False
        with contextlib.suppress(TypeError, ValueError, KeyError):
            text = parser._get_formatter()._expand_help(action) if isinstance(text, str) else None
    default = action.default
    item = {
        "action": names[0] if names else "",
        "flags": list(action.option_strings),
        "dest": action.dest if isinstance(action.dest, str) else None,
        "nargs": action.nargs,
        "const": action.const,
        "default": None if default is argparse.SUPPRESS else default,
        "type": None if kind is None else getattr(kind, "__qualname__", type(kind).__name__),
        "mode": getattr(kind, "_mode", None) if isinstance(kind, getattr(argparse, "FileType", ())) else None,
        "choices": None,
        "required": bool(action.required),
        "help": text,
        "hidden": hidden,
        "metavar": action.metavar if isinstance(action.metavar, (str, tuple, list)) else None,
    }
    if isinstance(action, argparse._SubParsersAction):
        item["action"] = "_SubParsersAction"
        item["parsers"] = {}
        item["aliases"] = {}
        item["helps"] = {choice.dest: choice.help for choice in action._choices_actions}
        known = {}
        for name, child in action.choices.items():
            if id(child) in known:
                item["aliases"][name] = known[id(child)]
            elif depth < MAX_DEPTH - 8 and id(child) not in seen and isinstance(child, argparse.ArgumentParser):
                known[id(child)] = name
                item["parsers"][name] = argparse_tree(child, depth + 1, seen)
    elif action.choices is not None:
        item["choices"] = choices(action.choices)
    return item


def choices(values):
    if isinstance(values, range):
        return {"range": [values.start, values.stop, values.step]}
    try:
        return list(values)[: MAX_ITEMS + 1]
    except TypeError:
        return None


def places():
    import site

    found = {
        sys.prefix,
        sys.base_prefix,
        sys.exec_prefix,
        os.path.dirname(os.__file__),
        os.path.dirname(sys.executable),
    }
    found.update(getattr(site, "getsitepackages", list)())
    return sorted((place for place in found if place and place not in ("/", "/usr", "/usr/local")), key=len)[::-1]


def plain(value, depth=0):
    """The value as JSON. What has no JSON, and what differs from machine to machine or day to day, becomes its type."""
    if value is None or value is True or value is False:
        return value
    if any(kind.__module__ == "enum" for kind in type(value).__mro__):
        # click takes the names of an enumeration's members, argparse what its type makes of a text.
        return plain(getattr(value, ENUMERATION[0], None), depth + 1)
    if isinstance(value, str):
        text = str(value)[:MAX_TEXT]
        for place in PLACES:
            text = text.replace(place, "...")
        return text
    if isinstance(value, int):
        return int(value) if abs(value) < 1 << 63 else {"$type": "int"}
    if isinstance(value, float):
        return float(value) if value == value and abs(value) != float("inf") else {"$type": "float"}
    if depth >= MAX_DEPTH * 3:
        return {"$type": type(value).__name__}
    if isinstance(value, dict):
        return {str(key)[:MAX_TEXT]: plain(item, depth + 1) for key, item in list(value.items())[:MAX_ITEMS]}
    if isinstance(value, (list, tuple)):
        return [plain(item, depth + 1) for item in value[:MAX_ITEMS]]
    if isinstance(value, (set, frozenset)):
        items = [plain(item, depth + 1) for item in value]
        return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))[:MAX_ITEMS]
    if isinstance(value, os.PathLike):
        return plain(str(os.fspath(value)), depth + 1)
    return {"$type": type(value).__name__}


FILE_MODES = {"FileText": "r", "FileTextWrite": "w", "FileBinaryRead": "rb", "FileBinaryWrite": "wb"}
PLACES = places()
ENUMERATION = ["value"]
if __name__ == "__main__":
    main()
