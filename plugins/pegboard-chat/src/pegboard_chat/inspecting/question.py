"""What a page may send with a question, checked: it is what a person filled in, or what somebody made of a request."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import attrs

from pegboard import ErrorCode, Fault, ToolError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pegboard_chat.budget import Budget

MAX_TEXT = 1_000_000
"""Characters of a question."""
MAX_MODEL = 300
LEAST = {"max_tool_calls": 0, "max_rounds": 1, "max_tokens": 1}
"""The least of each budget that is counted; those of time and money are any number above zero."""


@attrs.frozen
class Question:
    """One question of a page.

    Args:
        text: what is asked; None: an answer to what was said last.
        model: `provider:model`, or a provider; None: that of the configuration.
        budget: what it may cost.
    """

    text: str | None
    model: str | None
    budget: Budget


def question_of(value: Any, configured: Budget) -> Question:
    """A question, of `{"text", "model", "budget"}`, all of which may be missing.

    Raises:
        ToolError: INVALID_INPUT, with every fault.
    """
    faults: list[Fault] = []
    given: Mapping[str, Any] = value if isinstance(value, dict) else {}
    text, model, wanted = given.get("text"), given.get("model"), given.get("budget") or {}
    if not isinstance(value, dict):
        faults.append(Fault((), "an object", type(value).__name__))
    if text is not None and (not isinstance(text, str) or not text.strip() or len(text) > MAX_TEXT):
        faults.append(Fault(("text",), f"a text of 1 to {MAX_TEXT:,} characters", _got(text)))
    if model is not None and (not isinstance(model, str) or not 0 < len(model) <= MAX_MODEL):
        faults.append(Fault(("model",), "PROVIDER:MODEL", _got(model)))
    if not isinstance(wanted, dict):
        faults.append(Fault(("budget",), "an object", type(wanted).__name__))
        wanted = {}
    known = {field.name for field in attrs.fields(type(configured))}
    for name, most in wanted.items():
        if name not in known:
            faults.append(Fault(("budget", str(name)[:60]), f"one of {', '.join(sorted(known))}", "another member"))
        elif not _is_bound(name, most):
            least = f"a whole number from {LEAST[name]} on" if name in LEAST else "a number above zero"
            faults.append(Fault(("budget", name), f"{least}, or null", _got(most)))
    if faults:
        listed = [fault.to_json() for fault in faults]
        raise ToolError(ErrorCode.INVALID_INPUT, "; ".join(map(str, faults)), faults=listed)
    return Question(text, model, attrs.evolve(configured, **wanted))


def _is_bound(name: str, most: Any) -> bool:
    if most is None:
        return True
    if isinstance(most, bool) or not isinstance(most, int | float) or not math.isfinite(most):
        return False
    return isinstance(most, int) and most >= LEAST[name] if name in LEAST else most > 0


def _got(value: Any) -> str:
    if isinstance(value, str):
        return f"a text of {len(value):,} characters"
    return "nothing" if value is None else repr(value)[:60]
