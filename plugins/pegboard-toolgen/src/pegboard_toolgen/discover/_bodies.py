"""What the body of a function shows without running it: which parameters it calls, what it changes, runs and raises.

This is a reading, no proof: it sees names, follows plain calls into the same package some levels deep, and takes what
it does not understand for harmless. Its word is used to be more careful, never to be less.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import attrs
import griffe

from pegboard_toolgen.discover._types import Scope, dotted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pegboard_toolgen.discover._sources import FunctionNode, Tree

MAX_NODES = 20_000
MAX_FOLLOWED = 200
"""Functions that are looked into for one."""

_RUNS = {
    "builtins.eval": "it evaluates text as code",
    "builtins.exec": "it runs text as code",
    "builtins.compile": "it compiles text to code",
    "builtins.__import__": "it imports what its caller names",
    "importlib.import_module": "it imports what its caller names",
    "importlib.__import__": "it imports what its caller names",
    "importlib.util.spec_from_file_location": "it imports what its caller names",
    "runpy.run_path": "it runs a program",
    "runpy.run_module": "it runs a program",
    "os.system": "it runs a shell",
    "os.popen": "it runs a shell",
    "pty.spawn": "it runs a program",
    "ctypes.CDLL": "it loads machine code",
    "shelve.open": "it unpickles",
    "joblib.load": "it unpickles",
    "yaml.load": "it may build any object from YAML",
    "yaml.unsafe_load": "it builds any object from YAML",
    "yaml.full_load": "it may build any object from YAML",
    "yaml.load_all": "it may build any object from YAML",
}
_RUNS_MODULES = {
    "subprocess.": "it runs a program",
    "os.exec": "it runs a program",
    "os.spawn": "it runs a program",
    "os.posix_spawn": "it runs a program",
    "pickle.load": "it unpickles, which runs code",
    "marshal.load": "it loads code",
    "dill.load": "it unpickles, which runs code",
    "cloudpickle.load": "it unpickles, which runs code",
}
_WRITES_MODULES = {
    "shutil.": "changes files",
    "socket.": "speaks to the network",
    "urllib.request.": "speaks to the network",
    "http.client.": "speaks to the network",
    "smtplib.": "speaks to the network",
    "ftplib.": "speaks to the network",
    "requests.": "speaks to the network",
    "httpx.": "speaks to the network",
    "urllib3.": "speaks to the network",
    "tempfile.": "makes files",
    "webbrowser.": "opens a browser",
    "signal.": "changes the process",
}
_WRITES = {
    **{
        f"os.{name}": "changes files"
        for name in [
            "remove",
            "unlink",
            "rename",
            "renames",
            "replace",
            "mkdir",
            "makedirs",
            "rmdir",
            "removedirs",
            "chmod",
            "chown",
            "link",
            "symlink",
            "truncate",
            "utime",
            "mkfifo",
            "mknod",
        ]
    },
    **{
        f"os.{name}": "changes the process"
        for name in ("putenv", "unsetenv", "chdir", "kill", "killpg", "umask", "nice")
    },
    "sys.setrecursionlimit": "changes the process",
    "sys.exit": "ends the process",
    "os._exit": "ends the process",
    "builtins.exit": "ends the process",
    "builtins.quit": "ends the process",
    "builtins.input": "reads from the terminal",
    "random.seed": "changes the process",
    "locale.setlocale": "changes the process",
    "logging.basicConfig": "changes the process",
    "logging.disable": "changes the process",
    "warnings.simplefilter": "changes the process",
    "warnings.filterwarnings": "changes the process",
    "atexit.register": "changes the process",
    "shutil.which": "",
    "shutil.get_terminal_size": "",
    "shutil.disk_usage": "",
    "socket.gethostname": "",
    "socket.inet_aton": "",
    "socket.inet_pton": "",
    "socket.inet_ntoa": "",
    "socket.inet_ntop": "",
}
_WRITES_METHODS = dict.fromkeys(
    ("write_text", "write_bytes", "unlink", "touch", "mkdir", "rmdir", "symlink_to"), "changes files"
)
_CHANGES = frozenset(
    [
        "append",
        "extend",
        "insert",
        "add",
        "update",
        "pop",
        "popitem",
        "clear",
        "remove",
        "discard",
        "setdefault",
        "register",
        "sort",
        "reverse",
    ]
)
_OPENS = (
    *("builtins.open", "io.open", "os.open", "os.listdir", "os.scandir", "os.walk", "shutil.", "pathlib.Path"),
    *(
        f"os.{name}"
        for name in ("remove", "unlink", "rename", "replace", "mkdir", "makedirs", "rmdir", "chmod", "stat")
    ),
)
"""What takes a path first, by how its name begins."""
_JUDGES = frozenset({"isinstance", "hasattr", "getattr", "type", "callable", "issubclass"})
_CACHES = ("cache", "memo")


@attrs.frozen
class Facts:
    """What a body shows.

    Args:
        called: parameters that it calls.
        opened: parameters that it opens or changes as paths.
        asked: attributes that it takes of each parameter.
        walked: parameters that it walks through in a loop.
        judged: parameters whose type it looks at, so that what it asks of them is not asked of all.
        changes: what it changes, in words.
        runs: why it runs code that comes from outside.
        raises: exceptions and what they say, in order.
        prints: it writes to standard output.
        returns: it returns a value somewhere.
        yields: it is a generator.
    """

    called: frozenset[str] = frozenset()
    changes: tuple[str, ...] = ()
    runs: str | None = None
    raises: tuple[tuple[str, str], ...] = ()
    prints: bool = False
    returns: bool = False
    yields: bool = False
    calls: tuple[str, ...] = ()
    opened: frozenset[str] = frozenset()
    asked: Mapping[str, frozenset[str]] = attrs.field(factory=dict)
    walked: frozenset[str] = frozenset()
    judged: frozenset[str] = frozenset()


@attrs.define
class BodyReader:
    """Reads bodies of one tree, each once."""

    tree: Tree
    _own: dict[str, Facts | None] = attrs.field(factory=dict)

    def facts(self, function: griffe.Function) -> Facts | None:
        """What the body of a function and those it calls by name show; None where there is no body."""
        first = self._facts(function)
        if first is None:
            return None
        changes, runs, prints = list(first.changes), first.runs, first.prints
        seen = {function.path}
        waiting = [(path, 1) for path in first.calls]
        while waiting and len(seen) < MAX_FOLLOWED:
            path, depth = waiting.pop(0)
            if path in seen:
                continue
            seen.add(path)
            found = self.tree.get(path)
            if found is None or found.is_alias or not found.is_function:
                continue
            facts = self._facts(found)  # type: ignore[arg-type]
            if facts is None:
                continue
            changes += facts.changes
            prints = prints or facts.prints
            if depth <= 2 and facts.runs and "import" not in facts.runs:
                runs = runs or facts.runs
            waiting += [(inner, depth + 1) for inner in facts.calls]
        return attrs.evolve(first, changes=tuple(dict.fromkeys(changes)), runs=runs, prints=prints)

    def _facts(self, function: griffe.Function) -> Facts | None:
        if function.path not in self._own:
            node = self.tree.node_of(function)
            self._own[function.path] = (
                None if node is None or _is_empty(node) else _Body(self.tree, function).read(node)
            )
        return self._own[function.path]


def _is_empty(node: FunctionNode) -> bool:
    return all(
        isinstance(one, ast.Pass) or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
        for one in node.body
    )


def _inside(node: FunctionNode) -> Iterator[ast.AST]:
    """The nodes of a body, breadth first, bounded."""
    waiting: list[ast.AST] = list(node.body)
    for count, one in enumerate(waiting):
        if count >= MAX_NODES:
            return
        yield one
        waiting += ast.iter_child_nodes(one)


class _Body:
    def __init__(self, tree: Tree, function: griffe.Function) -> None:
        self.tree = tree
        self.function = function
        self.scope = Scope(tree, function)
        self.parameters = {parameter.name.lstrip("*") for parameter in function.parameters}
        self.imports: dict[str, str] = {}
        self.locals: set[str] = set()
        self.globals: set[str] = set()

    def read(self, node: FunctionNode) -> Facts:
        nodes = list(_inside(node))
        self._collect(nodes)
        own = {id(one) for one in _of_this_function(node)}
        called: set[str] = set()
        opened: set[str] = set()
        changes: list[str] = [f"changes the variable {name[:60]} of its module" for name in sorted(self.globals)]
        raises: list[tuple[str, str]] = []
        calls: list[str] = []
        runs = None
        prints = returns = yields = False
        for one in nodes:
            if isinstance(one, ast.Call):
                if isinstance(one.func, ast.Name) and one.func.id in self.parameters:
                    called.add(one.func.id)
                path = self._path(one.func)
                if path and path.startswith(_OPENS) and one.args and isinstance(one.args[0], ast.Name):
                    opened.add(one.args[0].id)
                runs = runs or self._runs(one, path)
                changes += self._changes_by_call(one, path)
                prints = prints or path in {"builtins.print", "sys.stdout.write"}
                if path and self.tree.owns(path):
                    calls.append(path)
            elif isinstance(one, ast.Raise) and id(one) in own:
                raises += self._raised(one)
            elif isinstance(one, ast.Return):
                is_value = one.value is not None and not (
                    isinstance(one.value, ast.Constant) and one.value.value is None
                )
                returns = returns or (is_value and id(one) in own)
            elif isinstance(one, ast.Yield | ast.YieldFrom):
                yields = yields or id(one) in own
            else:
                changes += self._changes_by_assignment(one)
        return Facts(
            frozenset(called),
            tuple(dict.fromkeys(changes)),
            runs,
            tuple(dict.fromkeys(raises)),
            prints,
            returns,
            yields,
            tuple(dict.fromkeys(calls)),
            frozenset(opened & self.parameters),
            *self._uses(nodes),
        )

    def _uses(self, nodes: list[ast.AST]) -> tuple[Mapping[str, frozenset[str]], frozenset[str], frozenset[str]]:
        """How parameters are used: attributes, loops, and whether their type is looked at or they are set anew."""
        asked: dict[str, set[str]] = {}
        walked: set[str] = set()
        judged = self.parameters & self.locals
        for one in nodes:
            if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name):
                asked.setdefault(one.value.id, set()).add(one.attr)
            elif isinstance(one, ast.For | ast.comprehension) and isinstance(one.iter, ast.Name):
                walked.add(one.iter.id)
            elif isinstance(one, ast.Call) and dotted(one.func) in _JUDGES and one.args:
                judged |= {name.id for name in ast.walk(one.args[0]) if isinstance(name, ast.Name)}
            elif isinstance(one, ast.Try):
                judged |= {name.id for part in one.body for name in ast.walk(part) if isinstance(name, ast.Name)}
        told = {name: frozenset(names) for name, names in asked.items() if name in self.parameters}
        return told, frozenset(walked & self.parameters), frozenset(judged & self.parameters)

    def _collect(self, nodes: list[ast.AST]) -> None:
        for one in nodes:
            if isinstance(one, ast.Import):
                for name in one.names:
                    self.imports[name.asname or name.name.partition(".")[0]] = (
                        name.name if name.asname else name.name.partition(".")[0]
                    )
            elif isinstance(one, ast.ImportFrom) and not one.level and one.module:
                for name in one.names:
                    self.imports[name.asname or name.name] = f"{one.module}.{name.name}"
            elif isinstance(one, ast.Global):
                self.globals.update(one.names)
            elif isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store | ast.Del):
                self.locals.add(one.id)
            elif isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                self.locals.add(one.name)
        self.locals -= self.globals

    def _path(self, node: ast.expr) -> str | None:
        """Where what is called comes from; None for what is local."""
        name = dotted(node)
        if name is None:
            return None
        first, _, rest = name.partition(".")
        if first in self.imports:
            return self.imports[first] + ("." + rest if rest else "")
        owner = self.function.parent
        if first in {"self", "cls"} and owner is not None and owner.is_class and rest and "." not in rest:
            return self._method(owner, rest)  # type: ignore[arg-type]
        if first in self.parameters or first in self.locals:
            return None
        return self.scope.resolve(name)

    def _method(self, owner: griffe.Class, name: str) -> str | None:
        for one in [owner, *_parents(owner)]:
            if name in one.members:
                return f"{one.path}.{name}"
        return None

    def _runs(self, call: ast.Call, path: str | None) -> str | None:
        if path is None:
            return None
        why = _RUNS.get(path) or next((why for start, why in _RUNS_MODULES.items() if path.startswith(start)), None)
        if why is None or path in {"subprocess.list2cmdline", "subprocess.CompletedProcess"}:
            return None
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        if path.startswith("yaml.") and any("Safe" in ast.dump(one)[:500] for one in given[1:]):
            return None
        names = {one.id for first in given[:1] for one in ast.walk(first) if isinstance(one, ast.Name)}
        return why if names & (self.parameters | self.locals) else None

    def _changes_by_call(self, call: ast.Call, path: str | None) -> list[str]:
        if path is not None:
            if path in _WRITES:
                return [_WRITES[path]] if _WRITES[path] else []
            if path in {"builtins.open", "io.open", "os.open"} and _opens_to_write(call):
                return ["changes files"]
            for start, why in {**_WRITES_MODULES, **_RUNS_MODULES}.items():
                if path.startswith(start) and not path.endswith(("Error", "Exception")):
                    return [why.removeprefix("it ")]
        if isinstance(call.func, ast.Attribute):
            if call.func.attr in _WRITES_METHODS:
                return [_WRITES_METHODS[call.func.attr]]
            if call.func.attr in _CHANGES and (name := self._global_root(call.func.value)):
                return [f"changes the variable {name[:60]} of its module"]
        return []

    def _changes_by_assignment(self, one: ast.AST) -> list[str]:
        if isinstance(one, ast.Assign | ast.Delete):
            targets = one.targets
        elif isinstance(one, ast.AugAssign | ast.AnnAssign):
            targets = [one.target]
        else:
            return []
        found = []
        for target in targets:
            if isinstance(target, ast.Attribute | ast.Subscript):
                if name := self._global_root(target.value):
                    found.append(f"changes the variable {name[:60]} of its module")
                elif isinstance(target, ast.Attribute) and dotted(target.value) == "self":
                    found.append(f"keeps {target.attr[:60]} in an object that calls share")
        return found

    def _global_root(self, node: ast.expr) -> str | None:
        """The variable of a module that an expression begins with, unless it is a cache."""
        while isinstance(node, ast.Attribute | ast.Subscript):
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        name = node.id
        if name in self.parameters or name in self.locals or name in self.imports or name in {"self", "cls", "super"}:
            return None
        if any(word in name.lower() for word in _CACHES):
            return None
        found = self.tree.get(self.scope.resolve(name)) if self.tree.owns(self.scope.resolve(name)) else None
        if self.scope.resolve(name) in {"os", "sys"} and isinstance(node, ast.Name):
            return name
        return name if found is not None and found.is_attribute else None

    def _raised(self, one: ast.Raise) -> list[tuple[str, str]]:
        """Where the classes of what is raised come from, and what it says where that is a plain text."""
        found = []
        for given in [one.exc.body, one.exc.orelse] if isinstance(one.exc, ast.IfExp) else [one.exc]:
            node = given.func if isinstance(given, ast.Call) else given
            name = dotted(node) if node is not None else None
            if node is None or not name or name in self.parameters or name in self.locals:
                continue
            first = given.args[0] if isinstance(given, ast.Call) and given.args else None
            text = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
            if path := self._path(node):
                found.append((path, text[:500]))
        return found


def _of_this_function(node: FunctionNode) -> Iterator[ast.AST]:
    """Its nodes without those of functions inside it."""
    waiting: list[ast.AST] = list(node.body)
    for count, one in enumerate(waiting):
        if count >= MAX_NODES:
            return
        yield one
        if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(one)


def _opens_to_write(call: ast.Call) -> bool:
    modes = [keyword.value for keyword in call.keywords if keyword.arg == "mode"] or call.args[1:2]
    if not modes:
        return False
    mode = modes[0]
    return not isinstance(mode, ast.Constant) or any(letter in str(mode.value) for letter in "wax+")


def _parents(owner: griffe.Class) -> list[griffe.Class]:
    """The classes above one that lie in the package, nearest first."""
    try:
        return list(owner.mro())[:30]
    except (ValueError, KeyError, griffe.GriffeError, RecursionError):
        return []
