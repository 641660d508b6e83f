"""What doctor says of manifests: those that cannot be used, and what their tools will miss when they are called.

Nothing is started, sent or imported: programs are looked for on PATH, modules by their place, variables by their name.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pegboard import Finding, ToolError
from pegboard_manifest.bindings.subprocess.program import MIN_VALUE, Program, secret_names
from pegboard_manifest.canonical import fingerprint_of
from pegboard_manifest.document import ManifestError
from pegboard_manifest.hygiene import is_loopback
from pegboard_manifest.source import ManifestSource
from pegboard_manifest.tools import READS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pegboard import Board
    from pegboard_manifest.document import Manifest

MAX_SHOWN = 10
"""Faults of one manifest, and tools of one kind, that are named one by one."""


def check_manifests(board: Board) -> Iterator[Finding]:
    """Everything that is or will be wrong with the manifests on a board.

    .. versionadded:: 0.1
    """
    for _, source in board.sources:
        if isinstance(source, ManifestSource):
            if isinstance(source.manifest, ManifestError):
                yield from _broken(source.file, source.manifest)
            else:
                yield from findings_of(source.manifest, source.file)


def findings_of(manifest: Manifest, where: str) -> Iterator[Finding]:
    """What one manifest that is right will miss on this host.

    .. versionadded:: 0.1
    """
    yield from _missing_programs(manifest, where)
    yield from _written_secrets(manifest, where)
    yield from _missing_modules(manifest, where)
    yield from _servers(manifest, where)
    yield from _readers(manifest, where)
    yield from _changed(manifest, where)


def _broken(file: str, problem: ManifestError) -> Iterator[Finding]:
    if not problem.faults:
        yield Finding("a manifest cannot be used", file, problem.message, problem.hint or "repair the file")
    for fault in problem.faults[:MAX_SHOWN]:
        why = f"expected {fault.expected}, got {fault.got}"
        yield Finding("a manifest cannot be used", f"{file}: {fault.where}", why, fault.hint or "repair it there")
    if len(problem.faults) > MAX_SHOWN:
        more = f"{len(problem.faults) - MAX_SHOWN} more faults"
        yield Finding("a manifest cannot be used", file, more, "repair those above first")


def _missing_programs(manifest: Manifest, where: str) -> Iterator[Finding]:
    for key, program in manifest.programs.items():
        if not _is_bound(manifest, "program", key):
            continue
        variable = program.get("argv0_env")
        looked_for = Program(program, key, manifest.folder)
        try:
            looked_for.path()
        except ToolError as problem:
            fix = "install it" if not variable else f"install it, or set {variable} to its path"
            yield Finding("a program is not there", f"{where}: programs.{key}", problem.message, fix)


def _written_secrets(manifest: Manifest, where: str) -> Iterator[Finding]:
    for key, program in manifest.programs.items():
        variables = program.get("set_environment", {})
        for name in sorted(secret_names({"environment": variables})):
            if len(variables[name]) >= MIN_VALUE:
                place = f"{where}: programs.{key}.set_environment"
                why = f"{name} is called like one, and manifests are handed on"
                fix = "if it is one, set it where the host runs, and name it under environment"
                yield Finding("a secret may stand in a manifest", place, why, fix, "note")


def _missing_modules(manifest: Manifest, where: str) -> Iterator[Finding]:
    versions = {
        source["name"]: source["version"]
        for source in manifest.document.get("provenance", {}).get("sources", ())
        if source["kind"] == "library" and "version" in source
    }
    for key, module in manifest.modules.items():
        if not _is_bound(manifest, "module", key):
            continue
        place, name = f"{where}: modules.{key}", module["import"]
        distribution = module.get("distribution")
        package = name.partition(".")[0]
        if not _is_importable(package):
            fix = f"pip install {distribution or package}"
            yield Finding("a module is not installed", place, f"there is no module {package!r}", fix)
            continue
        made_of = versions.get(distribution or package)
        installed = _version_of(distribution) if distribution else None
        if distribution and installed is None:
            why = f"{package} is there, and not from {distribution}"
            yield Finding("a module is another one", place, why, f"pip install {distribution}", "warning")
        elif made_of and installed and installed != made_of:
            why = f"the manifest was made of {distribution} {made_of}, and {installed} is installed"
            yield Finding("a module has another version", place, why, "make the manifest anew", "warning")
    if _isolated(manifest) and not _is_importable("trio_parallel"):
        why = "tools of it run in worker processes, and trio-parallel is not installed"
        yield Finding("worker processes are not there", where, why, "pip install 'pegboard[process]'")


def _servers(manifest: Manifest, where: str) -> Iterator[Finding]:
    for key, server in manifest.servers.items():
        if not _is_bound(manifest, "server", key):
            continue
        place = f"{where}: servers.{key}"
        url = os.environ.get(server.get("base_url_env", "")) or server["base_url"]
        parts = urlsplit(url)
        auth = server.get("auth", ())
        if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
            why = "requests go out unencrypted" + (", and carry credentials" if auth else "")
            severity: Any = "error" if auth else "warning"
            yield Finding("a server is reached by http", place, why, "write https in its base_url", severity)
        for one in auth:
            for member in ("secret_env", "username_env"):
                variable = one.get(member)
                if variable and not os.environ.get(variable):
                    required = one.get("required", False)
                    why = f"{variable} is not set" + (", and calls are refused without it" if required else "")
                    fix = f"set {variable} where the host runs"
                    yield Finding("a secret is not set", place, why, fix, "error" if required else "note")


def _readers(manifest: Manifest, where: str) -> Iterator[Finding]:
    off = [
        name
        for name, tool in manifest.tools.items()
        if tool["category"] in READS and tool.get("constraints", {}).get("read_only_mode_supported") is False
    ]
    if off:
        why = f"read_only_mode_supported is false, whatever their category says: {_listed(off)}"
        fix = "if they only read, take that out of their constraints"
        yield Finding("tools that read count as writes", where, why, fix, "note")


def _changed(manifest: Manifest, where: str) -> Iterator[Finding]:
    parts: dict[str, list[str]] = {"face": [], "action": []}
    for name, tool in manifest.tools.items():
        if "fingerprint" in tool:
            made = fingerprint_of(tool, manifest.document)
            for part, names in parts.items():
                if made[part] != tool["fingerprint"][part]:
                    names.append(name)
    for part, means in (("face", "what a model sees of them"), ("action", "what a call of them does")):
        if names := parts[part]:
            why = f"{means} is not what was recorded: {_listed(names)}"
            fix = "look at what was changed, then: pegboard toolgen build"
            yield Finding("a manifest was changed by hand", where, why, fix, "warning")


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:MAX_SHOWN])
    return shown if len(names) <= MAX_SHOWN else f"{shown} and {len(names) - MAX_SHOWN} more"


def _is_bound(manifest: Manifest, member: str, key: str) -> bool:
    return any(tool["binding"].get(member) == key for tool in manifest.tools.values())


def _isolated(manifest: Manifest) -> bool:
    from pegboard_manifest.bindings.python import isolation_of

    bound = [tool for tool in manifest.tools.values() if tool["binding"]["kind"] == "python"]
    return any(isolation_of(tool, manifest) == "process" for tool in bound)


def _is_importable(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):  # something of that name is loaded that says nothing of itself
        return False


def _version_of(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return None


def make_checks() -> Iterable[Any]:
    """The checks of the plugin."""
    return (check_manifests,)
