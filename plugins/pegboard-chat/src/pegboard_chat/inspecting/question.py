"""What a page may send with a question, checked: it is what a person filled in, or what somebody made of a request."""

from __future__ import annotations

import binascii
import sys
from typing import TYPE_CHECKING, Any

import attrs

from pegboard import ConfigError, ErrorCode, Fault, ToolError
from pegboard.text import clean
from pegboard_chat.attachments import MAX_ATTACHED_BYTES, block_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pegboard import Content
    from pegboard_chat.budget import Budget

MAX_TEXT = 1_000_000
"""Characters of a question."""
MAX_MODEL = 300
MAX_ATTACHED = 8
"""Files of one question."""
MAX_NAME = 200
LEAST = {"max_tool_calls": 0, "max_rounds": 1, "max_tokens": 1}
"""The least of each budget that is counted; those of time and money are any number above zero."""


@attrs.frozen
class Question:
    """One question of a page.

    Args:
        text: what is asked; None: an answer to what was said last.
        model: `provider:model`, or a provider; None: that of the configuration.
        budget: what it may cost.
        attached: files of it, as blocks.
    """

    text: str | None
    model: str | None
    budget: Budget
    attached: tuple[Content, ...] = ()


def question_of(value: Any, configured: Budget) -> Question:
    """A question, of `{"text", "model", "budget", "attached"}`, all of which may be missing; `attached` is a list of
    `{"name", "data"}`, the bytes as base64.

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
    attached = _attached(given.get("attached"), faults)
    if attached and text is None:
        faults.append(Fault(("text",), "a question, which the files go with", "nothing"))
    if faults:
        listed = [fault.to_json() for fault in faults]
        raise ToolError(ErrorCode.INVALID_INPUT, "; ".join(map(str, faults)), faults=listed)
    return Question(text, model, attrs.evolve(configured, **wanted), tuple(attached))


def _attached(value: Any, faults: list[Fault]) -> list[Content]:
    """The files as blocks; what is wrong with any of them is added to the faults."""
    files = [] if value is None else value
    if not isinstance(files, list) or len(files) > MAX_ATTACHED:
        faults.append(Fault(("attached",), f"a list of at most {MAX_ATTACHED} files", _got(value)))
        return []
    return [block for place, file in enumerate(files) for block in _block(file, ("attached", place), faults)]


def _block(file: Any, path: tuple[str | int, ...], faults: list[Fault]) -> Iterator[Content]:
    given: Mapping[str, Any] = file if isinstance(file, dict) else {}
    name, data = given.get("name"), given.get("data")
    if not isinstance(name, str) or not isinstance(data, str):
        faults.append(Fault(path, "a name, and bytes as base64", _got(file)))
        return
    shown = " ".join(clean(name)[0].replace("\\", "/").rpartition("/")[2].split())[:MAX_NAME] or "file"
    try:
        content = binascii.a2b_base64(data, strict_mode=True)
        if len(content) > MAX_ATTACHED_BYTES:
            faults.append(Fault(path, f"a file of at most {MAX_ATTACHED_BYTES:,} bytes", f"{len(content):,} bytes"))
            return
        yield block_of(shown, content)
    except (binascii.Error, ValueError):
        faults.append(Fault((*path, "data"), "bytes as base64", _got(data)))
    except ConfigError as problem:
        faults.append(Fault(path, "a text in UTF-8", problem.message))


def _is_bound(name: str, most: Any) -> bool:
    if most is None:
        return True
    if isinstance(most, bool) or not isinstance(most, int | float) or not abs(most) <= sys.float_info.max:
        return False
    return isinstance(most, int) and most >= LEAST[name] if name in LEAST else most > 0


def _got(value: Any) -> str:
    if isinstance(value, str):
        return f"a text of {len(value):,} characters"
    return "nothing" if value is None else repr(value)[:60]
