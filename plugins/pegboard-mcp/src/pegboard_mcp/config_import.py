"""Servers of other programs' files, converted for `pegboard config import`.

Variables stay variables, folders that only an editor knows become paths, and a secret that stands there as it is
becomes `${VAR}`: a project's file is shared, and a secret must not come into it in silence.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import attrs

from pegboard.config import expand_home, looks_secret, mask_text
from pegboard_mcp.definitions import CONFINEMENT
from pegboard_mcp.files import Names, Path_, Reference, changed, fill, missing, project_of, variable_of
from pegboard_mcp.packages import CONTAINERS, program_of
from pegboard_mcp.rules import TableRules
from pegboard_mcp.secrets import secrets_of_args, secrets_of_url

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pegboard import Fault
    from pegboard_mcp.foreign import ForeignFile, ForeignTable

Hide = Callable[[str, Path_, bool], str]
"""Writes a plain part of a text; told where it stands, and whether there are variables beside it."""

_DOLLAR = re.compile(r"\$(?=[${]|\Z)")
_FILLED = "x"
ORDER = (
    "description", "command", "args", "cwd", "env", "env_file", "confine", "read", "transport", "url", "headers",
    "oauth", "encoding", "roots", "allowed_tools", "disabled_tools",
)  # fmt: skip


@attrs.define
class ConfigImport:
    """What is imported.

    Args:
        tables: the servers by name, in our own keys.
        moved: the variables that stand for secrets now: for each, where its secret stands in the file.
        asked: the variables that VS Code asks a person for.
        unconfined: servers that run in containers, which no sandbox of ours holds.
        ignored: keys that mean nothing here, by server.
        faults: what cannot be imported.
    """

    tables: dict[str, dict[str, Any]] = attrs.Factory(dict)
    moved: dict[str, list[Path_]] = attrs.Factory(dict)
    asked: dict[str, str] = attrs.Factory(dict)
    unconfined: list[str] = attrs.Factory(list)
    ignored: dict[str, tuple[str, ...]] = attrs.Factory(dict)
    faults: list[Fault] = attrs.Factory(list)


def import_servers(
    path: Path, file: ForeignFile, tables: Iterable[ForeignTable], *, with_secrets: bool, confine: bool = True
) -> ConfigImport:
    """Convert these servers of a file.

    Args:
        path, file: where it is, and what it says.
        tables: the servers.
        with_secrets: copy secrets as they are.
        confine: have programs run in a sandbox, whatever the file says of that.
    """
    taken = ConfigImport()
    names = Names(path, file.inputs)
    variables = _Variables(taken)
    for one in tables:
        said = {key: value for key, value in one.table.items() if key not in CONFINEMENT}
        one = attrs.evolve(one, table=said)
        wrong = _faults_of(one, names, path)
        taken.faults += [attrs.evolve(fault, path=one.place_of(fault.path)) for fault in wrong]
        if wrong:
            continue
        own = _as_ours(dict(one.table), project_of(path))
        if "command" in own and confine:
            if program_of(str(own["command"])) in CONTAINERS:
                taken.unconfined.append(one.name)
            else:
                own |= {"confine": True} | _given(own, project_of(path))
        hide = _no_secret if with_secrets else _Hiding(one, variables).hide
        own = changed(own, _rewriting(names, hide, taken))
        taken.tables[one.name] = {key: own[key] for key in ORDER if key in own}
        if one.ignored:
            taken.ignored[one.name] = one.ignored
    return taken


def _given(table: Mapping[str, Any], base: Path) -> dict[str, Any]:
    """The folders that its command names, for it to read; never all of a home, and nothing to write: a person says so.

    A folder with a variable in its name is not known here.
    """
    home = expand_home("~")
    words = [table["cwd"]] if "cwd" in table else []
    words += [word for word in table.get("args", ()) if isinstance(word, str) and re.match(r"[./~]", word)]
    found = [os.path.normpath(base / expand_home(word)) for word in words if "$" not in word]
    folders = [one for one in found if os.path.isdir(one) and Path(one) not in (home, *home.parents)]  # noqa: PTH112
    return {"read": list(dict.fromkeys(folders))} if folders else {}


def _faults_of(one: ForeignTable, names: Names, path: Path) -> list[Fault]:
    """What is wrong with a server whatever its variables hold; that they are not set just now is nothing wrong."""
    unknown: list[Fault] = []
    open_places: set[Path_] = set()

    def note(text: str, at: Path_) -> str:
        for part in names.parts(text):
            if isinstance(part, Reference):
                open_places.add(at)
                if part.variable is None and part.value is None:
                    unknown.append(missing(part, at))
        return text

    changed(one.table, note)
    filled, _ = fill(one.table, names, _Anything())
    rules = TableRules(one.name, filled, project_of(path))
    rules.define()
    # A variable may hold a number or a list, but never a table: see "Variables" of the configuration.
    open_places -= {("env",), ("headers",)}
    return [*unknown, *(fault for fault in rules.faults if fault.path not in open_places)]


class _Anything(dict[str, str]):
    """An environment in which every variable is set."""

    def get(self, key: str, default: Any = None) -> Any:
        return _FILLED


def _as_ours(table: dict[str, Any], base: Path) -> dict[str, Any]:
    """The table as a person would write it here.

    Paths that begin at the file's project begin at the root, for ours begin at the working directory.
    """

    def whole(text: Any) -> Any:
        if not isinstance(text, str) or text.startswith(("~", "$", "file:")):
            return text
        return os.path.normpath(base / text)

    if table.get("transport") in ("stdio", "http"):  # told by the command or the URL
        del table["transport"]
    if "envFile" in table:
        table["env_file"] = table.pop("envFile")
    for key in ("cwd", "env_file"):
        if key in table:
            table[key] = whole(table[key])
    if isinstance(table.get("roots"), list):
        table["roots"] = [whole(root) for root in table["roots"]]
    return table


def _rewriting(names: Names, hide: Hide, taken: ConfigImport) -> Callable[[str, Path_], str]:
    """What writes a text of the file as a text of ours."""

    def one(part: str | Reference, at: Path_, has_variables: bool) -> str:
        if isinstance(part, str):
            return hide(part, at, has_variables)
        if part.variable is None:
            return escaped(part.value or "")
        if part.asked:
            taken.asked[part.variable] = part.written
        if part.default is None or looks_secret(part.variable):
            return f"${{{part.variable}}}"
        return f"${{{part.variable}:-{part.default}}}"

    def rewrite(text: str, at: Path_) -> str:
        parts = names.parts(text)
        return "".join(one(part, at, len(parts) > 1) for part in parts)

    return rewrite


def escaped(text: str) -> str:
    """A text in which no dollar sign means a variable."""
    return _DOLLAR.sub("$$", text)


def _no_secret(text: str, at: Path_, has_variables: bool) -> str:
    return escaped(text)


class _Variables:
    """The variables that stand for secrets: one secret has one, two secrets never share one."""

    def __init__(self, taken: ConfigImport) -> None:
        self._taken = taken
        self._names: dict[str, str] = {}

    def name(self, secret: str, wishes: tuple[str, ...], place: Path_) -> str:
        """The variable for a secret: the first wish that is free."""
        name = self._names.get(secret)
        if name is None:
            known = set(self._names.values())
            numbered = (f"{wishes[-1]}_{number}" for number in range(2, 10_000))
            name = next(wish for wish in (*wishes, *numbered) if wish not in known)
            self._names[secret] = name
        self._taken.moved.setdefault(name, []).append(place)
        return name


class _Hiding:
    """Puts variables in the place of one server's secrets."""

    def __init__(self, one: ForeignTable, variables: _Variables) -> None:
        self._one = one
        self._variables = variables
        args = one.table.get("args")
        self._args = [arg for arg in args if isinstance(arg, str)] if isinstance(args, list) else []

    def hide(self, text: str, at: Path_, has_variables: bool) -> str:
        """A plain part of a text, its secrets replaced."""
        if at[0] in ("env", "headers"):
            return self._hide_value(text, at, str(at[1]), has_variables)
        if at[0] == "url":
            return self._replaced(text, at, secrets_of_url(text))
        if at[0] == "args":
            return self._replaced(text, at, {one for one in secrets_of_args(self._args) if "${" not in one})
        return escaped(text)

    def _hide_value(self, text: str, at: Path_, key: str, has_variables: bool) -> str:
        if has_variables or not text.strip():  # what is secret in it is in its variables
            return escaped(text)
        scheme, blank, rest = text.partition(" ")
        if at[0] == "headers" and blank and scheme.lower() in ("bearer", "basic", "token"):
            return f"{scheme} {self._variable(rest.strip(), at)}"
        if "://" in text and secrets_of_url(text):
            return self._replaced(text, at, secrets_of_url(text))
        if looks_secret(key) or mask_text(text) != text:
            return self._variable(text, at)
        return escaped(text)

    def _replaced(self, text: str, at: Path_, secrets: set[str]) -> str:
        """The text with a variable in the place of each secret; the longest first."""
        found = sorted((secret for secret in secrets if secret and secret in text), key=len, reverse=True)
        if not found:
            return escaped(text)
        first = found[0]
        before, _, after = text.partition(first)
        variable = self._variable(first, at)
        return self._replaced(before, at, secrets) + variable + self._replaced(after, at, secrets)

    def _variable(self, secret: str, at: Path_) -> str:
        place = self._one.place_of(at)
        return f"${{{self._variables.name(secret, self._wishes(at, secret), place)}}}"

    def _wishes(self, at: Path_, secret: str) -> tuple[str, ...]:
        server = variable_of(self._one.name)
        if at[0] == "env":
            name = str(at[1])
            fits = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name, re.ASCII)
            return (*((name,) if fits else ()), f"{server}_{variable_of(name)}")
        if at[0] == "headers":
            name = "TOKEN" if str(at[1]).lower() == "authorization" else variable_of(str(at[1]))
            return (f"{server}_{name}",)
        if at[0] == "args":
            return (f"{server}_{self._flag_of(secret)}",)
        return (f"{server}_{_part_of_url(str(self._one.table['url']), secret)}",)

    def _flag_of(self, secret: str) -> str:
        """The word for a secret among the arguments: `API_KEY` for what follows `--api-key`."""
        for before, arg in zip(["", *self._args], self._args, strict=False):
            if secret in arg:
                flag = before if arg == secret else re.split(r"[=:]", arg)[0]
                return variable_of(flag) if looks_secret(flag) and len(flag) <= 60 else "SECRET"
        return "SECRET"


def _part_of_url(url: str, secret: str) -> str:
    """The word for a secret of a URL: `USER`, `PASSWORD`, or the name of its parameter."""
    parts = urlsplit(url)
    if secret == parts.password:
        return "PASSWORD"
    if secret == parts.username:
        return "USER"
    named = (item.partition("=") for item in parts.query.split("&"))
    return next((variable_of(key) for key, _, value in named if secret in value), "SECRET")
