"""What tests of manifests share."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(autouse=True)
def _streams_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function of a manifest that is called without a host leaves stand-ins before stdin and stdout, which a source
    takes away when its host ends. pytest puts back its own stdout after each test, and no stdin."""
    for name in ("stdin", "stdout"):
        monkeypatch.setattr(sys, name, getattr(sys, name))
