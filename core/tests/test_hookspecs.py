"""The contract with plugins: every hook is documented, tested, and takes what it says."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from pegboard import hookspecs

HOOKS = {
    "provide_settings": (),
    "open_resources": ("settings",),
    "provide_tools": ("settings",),
    "provide_sources": ("settings",),
    "make_validator": ("schema", "foreign"),
    "make_guards": ("tool", "settings"),
    "make_layers": ("tool", "settings"),
    "why_held": ("name", "origin", "board", "settings"),
    "make_executor": ("tool", "settings"),
    "provide_observers": ("settings",),
    "provide_limit_store": ("settings",),
    "provide_dialects": (),
    "provide_checks": ("settings",),
    "register_commands": ("cli",),
    "add_hookspecs": (),
}


def specs() -> dict[str, object]:
    return {name: value for name, value in vars(hookspecs).items() if hasattr(value, "pegboard_spec")}


def test_the_hooks_and_their_arguments_are_these() -> None:
    assert {name: tuple(inspect.signature(spec).parameters) for name, spec in specs().items()} == HOOKS  # type: ignore[arg-type]


@pytest.mark.parametrize("hook", HOOKS)
def test_each_hook_says_when_it_fires_what_none_means_what_may_be_raised_and_since_when(hook: str) -> None:
    text = inspect.getdoc(specs()[hook]) or ""
    assert "Fires " in text
    assert ".. versionadded:: " in text
    if hook != "register_commands":  # it answers nothing
        assert "None" in text
    assert any(word in text for word in ("exception", "raises", "An exception"))


@pytest.mark.parametrize("hook", HOOKS)
def test_each_hook_has_tests(hook: str) -> None:
    here = Path(__file__)
    others = [path for path in here.parent.rglob("test_*.py") if path != here]
    assert any(hook in path.read_text("utf-8") for path in others), hook


@pytest.mark.parametrize("hook", HOOKS)
def test_each_hook_is_typed(hook: str) -> None:
    signature = inspect.signature(specs()[hook])  # type: ignore[arg-type]
    assert signature.return_annotation is not inspect.Signature.empty
    assert all(parameter.annotation is not inspect.Parameter.empty for parameter in signature.parameters.values())
