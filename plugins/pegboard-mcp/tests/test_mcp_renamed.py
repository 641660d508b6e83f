"""Former names of pegboard-mcp work for one more release, and warn."""

from __future__ import annotations

from importlib import import_module

import pytest

from pegboard_mcp import Prompt, capabilities

NAMES = [("Offers", "Capabilities"), ("find_offers", "find_capabilities"), ("open_offers", "open_capabilities")]


@pytest.mark.parametrize(("name", "present"), [*NAMES, ("Prompt", "Prompt"), ("ResourceTemplate", "ResourceTemplate")])
def test_the_module_of_prompts_and_resources_has_its_former_name_too(name: str, present: str) -> None:
    with pytest.warns(
        DeprecationWarning, match=f"pegboard_mcp.offers.{name} is called pegboard_mcp.capabilities.{present}"
    ):
        assert getattr(import_module("pegboard_mcp.offers"), name) is getattr(capabilities, present)
    assert Prompt is capabilities.Prompt
