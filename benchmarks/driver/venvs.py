"""The contestants' virtual environments: made once, kept in `benchmarks/.venvs`, by uv or else by venv and pip."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from driver.catalog import HERE, ROOT, Venv
from driver.processes import clean_environment

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = HERE / ".venvs"
CONSTRAINTS = ROOT / "constraints.txt"
STAMP = "bench-requirements.json"


class VenvError(Exception):
    """A venv cannot be made; the message is its installer's last line."""


def program(venv: Venv, name: str) -> Path:
    """The path of a program in a venv, `python` among them."""
    return FOLDER / venv.name / "bin" / name


def prepare(venv: Venv, *, refresh: bool) -> dict[str, str]:
    """Make the venv ready and return the versions that the report names.

    What comes from the index is installed once, until its requirements change; projects of this repository are
    built and installed again, unless `refresh` is false.

    Raises:
        VenvError: something cannot be installed.
    """
    stamp = FOLDER / venv.name / STAMP
    wanted = {"requirements": venv.requirements, "python": sys.version, "constraints": _constraints_text(venv)}
    known = stamp.is_file() and stamp.read_text() == json.dumps(wanted)
    if not known:
        _create(venv)
        _install(venv, [*venv.requirements, *map(str, venv.projects)])
        stamp.write_text(json.dumps(wanted))
    elif venv.projects and refresh:
        _install(venv, [*map(str, venv.projects)])
    return _versions(venv)


def _create(venv: Venv) -> None:
    folder = FOLDER / venv.name
    shutil.rmtree(folder, ignore_errors=True)
    if _uv():
        _run([_uv(), "venv", "-q", "--python", sys.executable, folder])
    else:
        _run([sys.executable, "-m", "venv", folder])


def _install(venv: Venv, what: list[str]) -> None:
    python = program(venv, "python")
    constraints = ["-c", CONSTRAINTS] if _constraints_text(venv) else []
    if _uv():
        # Without sources: a wheel as users get it, not an editable member of the workspace.
        again = [flag for one in venv.projects for flag in ("--reinstall-package", _distribution(one))]
        uv = [_uv(), "pip", "install", "-q", "--python", python, "--no-sources", "--compile-bytecode"]
        _run([*uv, *again, *constraints, *what])
    else:
        _run([python, "-m", "pip", "install", "-q", *constraints, *what])


def _distribution(project: Path) -> str:
    import tomllib

    name: str = tomllib.loads((project / "pyproject.toml").read_text())["project"]["name"]
    return name


def _constraints_text(venv: Venv) -> str | None:
    """The repository's exact versions bind its own packages and the floors that they are compared with."""
    ours = bool(venv.projects) or venv.name == "floors"
    return CONSTRAINTS.read_text() if ours and CONSTRAINTS.is_file() else None


def _uv() -> str | None:
    return shutil.which("uv")


def _run(command: list[object]) -> None:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, env=clean_environment())
    if done.returncode:
        lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise VenvError(lines[-1][:200] if lines else f"the installer ended with status {done.returncode}")


_VERSIONS = (
    "import json, sys; from importlib.metadata import version; print(json.dumps({n: version(n) for n in sys.argv[1:]}))"
)


def _versions(venv: Venv) -> dict[str, str]:
    command = [str(program(venv, "python")), "-c", _VERSIONS, *venv.shown]
    done = subprocess.run(command, capture_output=True, text=True, env=clean_environment())
    if done.returncode:
        raise VenvError(f"{', '.join(venv.shown)}: not installed")
    versions: dict[str, str] = json.loads(done.stdout)
    return versions
