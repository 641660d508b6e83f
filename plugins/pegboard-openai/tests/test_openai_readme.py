"""The README says what the package does."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import attrs

from pegboard_openai import plugin
from pegboard_openai._providers import PORTS, providers_of
from pegboard_openai.settings import OpenAISettings, ServerSettings

TEXT = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def test_the_example_prints_what_the_page_shows() -> None:
    ((code, expected),) = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", TEXT, re.DOTALL)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec", dont_inherit=True), {"__name__": "readme"})
    assert printed.getvalue() == expected


def test_every_setting_and_provider_and_port_stands_there() -> None:
    for cls in (OpenAISettings, ServerSettings):
        for field in attrs.fields(cls):
            assert field.name in TEXT
    for provider in providers_of(OpenAISettings()):
        assert f"`{provider.name}:MODEL`" in TEXT
    for port, server in PORTS.items():
        assert f"{server} ({port})" in TEXT
    assert OpenAISettings().local_ports == tuple(PORTS)
    for dialect in plugin.provide_dialects():
        assert f"`{dialect.name}`" in TEXT
