"""Which program runs a package: `server = "@scope/name"`.

`npm:NAME` and `pypi:NAME` say where a package is. Otherwise a name with a scope (`@scope/name`) is npm's; one that
begins with `mcp-server-` (`mcp_server_`) is PyPI's, for of the packages called so forty times as many are there as on
npm; and so is one that only PyPI could have, with an upper case letter, an extra in brackets, or `==`. Every other name
is npm's. npm's become `npx -y NAME`, PyPI's `uvx NAME`, or `uvx --from SPEC NAME` where more than the name and a
version is said.
"""

from __future__ import annotations

import re

_SCOPED = re.compile(r"@[a-z0-9~-][a-z0-9._~-]*/[a-z0-9~-][a-z0-9._~-]*(?:@[\w.^~<>=+*-]+)?", re.ASCII)
_NPM = re.compile(r"[a-z0-9~-][a-z0-9._~-]*(?:@[\w.^~<>=+*-]+)?", re.ASCII)
_PYPI = re.compile(
    r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)"
    r"(?P<extra>\[[A-Za-z0-9._, -]+\])?(?P<version>@[\w.+-]+|(?:[=~<>!]=|[<>])[\w.+*,=~<>! -]+)?",
    re.ASCII,
)


def runner_of(package: str) -> tuple[str, ...] | None:
    """The command that runs a package of npm or PyPI; None for what can be the name of none."""
    where, colon, name = package.partition(":")
    if not colon:
        name = package
        where = "pypi" if _is_on_pypi(package) else "npm"
    if where == "npm" and (_SCOPED.fullmatch(name) or _NPM.fullmatch(name)) and not name.startswith("-"):
        return ("npx", "-y", name)
    parts = _PYPI.fullmatch(name) if where == "pypi" else None
    if parts is None:
        return None
    if parts["extra"] or not (parts["version"] or "@").startswith("@"):
        return ("uvx", "--from", name, parts["name"])
    return ("uvx", name)


def _is_on_pypi(package: str) -> bool:
    if package.startswith("@"):
        return False
    return bool(re.match(r"mcp[-_.]server[-_.]", package) or re.search(r"[A-Z\[]|[=~<>!]=", package))
