"""`examples/reach/compose.yaml` without an engine: each service finds what it needs in what is mounted for it."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import yaml

EXAMPLE = Path(__file__).parents[3] / "examples" / "reach"
TEXT = (EXAMPLE / "compose.yaml").read_text()
COMPOSE = yaml.safe_load(TEXT)
INIT = next(line for line in TEXT.splitlines() if "pegboard nats init" in line).strip("# ")
HOME = PurePosixPath("/reach")
"""Where the image of the services begins."""


def pegboard(*words: str) -> list[str]:
    return [sys.executable, "-m", "pegboard", "--plugin", "nats", "--plugin", "calculator", *words]


def mounts_of(name: str) -> dict[PurePosixPath, str]:
    """What a service finds where, and the file beside the compose file that it is."""
    service = COMPOSE["services"][name]
    found = {
        PurePosixPath(one["target"]): COMPOSE["secrets"][one["source"]]["file"] for one in service.get("secrets", ())
    }
    for one in service["volumes"]:
        if isinstance(one, dict):
            assert one["read_only"]
            found[PurePosixPath(one["target"])] = one["source"]
        elif not one.startswith("streams:"):
            source, target, mode = one.split(":")
            assert mode == "ro"
            found[PurePosixPath(target)] = source
    return found


@pytest.fixture(scope="module")
def reach(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the example, once the configuration and the keys are written as its first lines say."""
    folder = tmp_path_factory.mktemp("example") / "reach"
    shutil.copytree(EXAMPLE, folder)
    words = shlex.split(INIT)
    subprocess.run(pegboard(*words[1:]), cwd=folder, check=True, capture_output=True, timeout=60)
    return folder


@pytest.mark.parametrize("name", COMPOSE["services"])
def test_each_file_that_is_mounted_is_there(reach: Path, name: str) -> None:
    assert [one for one in mounts_of(name).values() if not (reach / one).is_file()] == []


@pytest.mark.parametrize(
    ("name", "role"), [("nats", None), ("worker", "worker"), ("host", "host"), ("status", "watcher")]
)
def test_no_service_is_given_the_key_of_another(name: str, role: str | None) -> None:
    """A tool that reads files at a worker would call as any user with the key of a host."""
    keys = [one for one in mounts_of(name).values() if one.endswith(".nk")]
    assert keys == ([] if role is None else [f"./nats/{role}.nk"])


def test_the_streams_are_kept_in_the_volume() -> None:
    assert "streams:/streams" in COMPOSE["services"]["nats"]["volumes"]
    assert shlex.split(INIT)[-2:] == ["--store", "/streams"]
    assert COMPOSE["services"]["nats"]["command"][1] in map(str, mounts_of("nats"))


def test_a_container_that_has_just_started_can_be_told_to_end() -> None:
    """As the first process of its container it hears no signal before it has asked to."""
    services = {name: one.get("init") for name, one in COMPOSE["services"].items() if name != "nats"}
    assert services == dict.fromkeys(services, True)


def test_no_key_is_sent_to_whatever_builds_the_image() -> None:
    folder = EXAMPLE / COMPOSE["services"]["worker"]["build"]
    assert [one.name for one in folder.iterdir()] == ["Dockerfile"]
    _, _, packages = (folder / "Dockerfile").read_text().partition("pip install --no-cache-dir ")
    ours = Path(__file__).parents[2]
    assert [one for one in packages.splitlines()[0].split() if not (ours / one).is_dir()] == []


def test_no_registry_is_asked_for_what_is_built() -> None:
    """Of a service with both, the image is pulled where somebody has one of that name."""
    assert [name for name, one in COMPOSE["services"].items() if "build" in one and "image" in one] == []


def test_the_services_do_what_they_say(reach: Path, tmp_path: Path, start_server: Any) -> None:
    """With what is mounted for them, and nothing else."""
    pytest.importorskip("pegboard_calculator")
    config = (reach / mounts_of("nats")[PurePosixPath("/etc/nats/nats-server.conf")]).read_text()
    assert "0.0.0.0:4222" in config
    config = config.replace('"/streams"', json.dumps(str(tmp_path / "streams")))
    server = start_server("\n".join(line for line in config.splitlines() if not line.startswith("listen")))

    def command_of(name: str) -> dict[str, Any]:
        folder = tmp_path / name
        for target, source in mounts_of(name).items():
            own = folder / target.relative_to(HOME)
            own.parent.mkdir(parents=True, exist_ok=True)
            own.write_bytes((reach / source).read_bytes().replace(b"nats://nats:4222", server.url.encode()))
        program, *words = COMPOSE["services"][name]["command"]
        assert program == "pegboard"
        places = {f"XDG_{one}_HOME": str(folder / one) for one in ("CONFIG", "STATE", "CACHE")}
        return {"args": pegboard(*words), "cwd": folder, "env": {**os.environ, **places}, "text": True}

    with subprocess.Popen(**command_of("worker"), stderr=subprocess.PIPE) as worker:
        try:
            assert worker.stderr is not None
            assert worker.stderr.readline().startswith("serving 1 tool in the group 'maths'")
            asked = subprocess.run(**command_of("host"), capture_output=True, timeout=60, check=False)
            assert (asked.stdout, asked.returncode) == ("42\n", 0), asked.stderr
            status = subprocess.run(**command_of("status"), capture_output=True, timeout=60, check=False)
            assert (status.returncode, status.stderr) == (0, "")
            assert "maths" in status.stdout
        finally:
            worker.terminate()
        assert worker.wait(60) == 0
