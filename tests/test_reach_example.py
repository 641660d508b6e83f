"""The files of `examples/reach`: the demonstration itself runs with `nox -s reach`."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import yaml

from pegboard_nats.settings import NatsSettings

FOLDER = Path(__file__).parents[1] / "examples" / "reach"


def test_each_service_of_the_compose_file_has_its_configuration() -> None:
    services = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]
    assert set(services) == {"nats", "worker", "host", "status"}
    for name in ("worker", "host", "status"):
        command = services[name]["command"]
        assert command[:2] == ["pegboard", "--config"]
        assert (FOLDER / command[2]).is_file()


@pytest.mark.parametrize("role", ["host", "worker", "watcher"])
def test_each_role_has_its_own_key(role: str) -> None:
    config = tomllib.loads((FOLDER / f"{role}.toml").read_text())
    own = NatsSettings(**config["plugins"]["nats"])
    assert own.credentials == f"nats/{role}.nk"
    assert own.addresses == ("nats://nats:4222",)
