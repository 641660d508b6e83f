"""Replaces keys and passwords on their way to models and to servers that they do not belong to.

What is replaced: keys of well-known shapes (`shapes`), and every value that this host knows as a secret, wherever it
was configured. What stands there instead says what it was, so that a model does not take it for the value.

A result is masked in sessions of which a model reads the results (`Session.masks_secrets`), after the call: a program,
a nested call and a person at a terminal get what the tool answered. Arguments are masked before the guards, which judge
what is used: for tools of somebody else's server or service, and for those that reach beyond the host. A server's own
secrets belong to it, and so do those that a tool declares.
"""

from __future__ import annotations

import base64
import json
import logging
import re
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import attrs

from pegboard import secrets
from pegboard._encodings import decoded
from pegboard.content import CONTENT_TYPES, TextContent, text_in
from pegboard.errors import ErrorCode, Retry, ToolError
from pegboard.limits import ENCODED_LEVELS
from pegboard.results import ToolResult, noted
from pegboard.secrets.parted import parted_in, parted_shapes
from pegboard.secrets.shapes import (
    MIN_SECRET,
    NAMED,
    has_pairs,
    is_distinct,
    is_named_secret,
    long_words,
    replace_shapes,
)
from pegboard.secrets.texts import bytes_of_base64, has_text, with_texts, with_texts_of, with_texts_of_block

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pegboard.config._policies import PolicyTable
    from pegboard.tools import Tool

    Found = set[str]
    """The kinds of what was replaced."""
    Masked = tuple[Any, list[str]]
    """Arguments as they are sent, and the kinds of what was replaced."""

log = logging.getLogger("pegboard")

KNOWN = "secret of this host"
TOO_LONG = "text that is too long to look through"
MAX_BYTES = 4 * 1024 * 1024
"""Bytes of one block that are looked through, which takes a tenth of a second for each MiB of text; a longer one is
withheld. Bytes that are not text are not looked through."""

MAX_ENCODED = 131_072
"""Characters of a text in which other forms are looked for, beside those of the text as a whole."""


def _is_short(result: ToolResult) -> bool:
    """Whether no text in it is as long as a key, as of most tools that count something: it is not made anew."""
    for block in result.content:
        if type(block) is not TextContent or len(block.text) >= MIN_SECRET:
            return False
    details = result.details
    return (
        result.error is None
        and not has_text(result.data, MIN_SECRET)
        and not (details and has_text(details, MIN_SECRET))
    )


class _Remembered(dict[str, str]):
    """What each text of one value becomes: a result says most things twice, in its content and in its data."""

    def __init__(self, change: Callable[[str], str]) -> None:
        self._change = change

    def __missing__(self, text: str) -> str:
        changed = self[text] = self._change(text)
        return changed


class SecretMask:
    """What one board masks.

    Bytes are looked through where they are a text, and so is a text that as a whole is bytes in base64.

    Args:
        settings: `[secrets]`.
        known: every value that the host knows as a secret; asked for at the first call that needs it, and at the first
            after `forget_known`.
        own: those of them that belong to a tool, or to a source by its name.
        is_third_party: whether somebody else's server or service is sent the arguments of a tool.
    """

    def __init__(
        self,
        settings: PolicyTable,
        known: Callable[[], Iterable[str]],
        own: Callable[[Tool | str], Iterable[str]],
        is_third_party: Callable[[Tool], bool],
    ) -> None:
        self._settings = settings
        self._ask_known = known
        self._own = own
        self._is_third_party = is_third_party
        self._known: dict[str, str] | None = None
        self._asked_at = secrets.changes
        self._told: set[tuple[str, str]] = set()

    def mask_result(self, tool: Tool, result: ToolResult) -> ToolResult:
        """The result of a tool as a model may read it."""
        settings = self._settings
        policy = settings.judge(settings.said_from(tool), None) if settings.sources else settings.default
        if policy == "allow" or _is_short(result):
            return result
        found: Found = set()
        change = _Remembered(partial(self._masked, found=found)).__getitem__
        named = partial(self._masked_member, found=found, change=change)
        masked = with_texts(result, change, partial(self._masked_bytes, found=found), named)
        if not found:
            return result
        if policy == "refuse":
            return ToolResult.of_error(_refusal(tool.name, found, "answered with", "from", executed=True))
        self._tell(tool, "a result", found)
        return noted(masked, {"masked": sorted(found)})

    def mask_value(self, value: Any, source: str | None, target: str | None) -> Any:
        """What is not of a tool, as a model or a source may read it; see `Session.masked`."""
        settings = self._settings
        said = settings.sources.get(source or "") if target is None else settings.targets.get(target)
        policy = said or settings.default
        if policy == "allow":
            return value
        found: Found = set()
        own = frozenset(self._own(target)) if target is not None else None
        change = _Remembered(partial(self._masked, found=found, own=own)).__getitem__
        if isinstance(value, CONTENT_TYPES):
            masked: Any = with_texts_of_block(value, change, partial(self._masked_bytes, found=found, own=own))
        else:
            named = partial(self._masked_member, found=found, change=change) if target is None else None
            masked = with_texts_of(value, change, named)
        if found and policy == "refuse":
            does, table = ("answered with", "from") if target is None else ("is given", "to")
            raise _refusal(source or target or "this", found, does, table, executed=target is None)
        return masked if found else value

    def of_arguments(self, tool: Tool) -> Callable[[Any], Masked | None] | None:
        """What looks through the arguments of a tool: it returns what is sent and what was masked, or None where
        nothing was, and raises a `ToolError` where that is refused. None: all is let through."""
        said = self._settings.said_to(tool)
        policy = self._settings.judge(None, said)
        if policy == "allow" or (said is None and not self._is_third_party(tool)):
            return None

        def masked(arguments: Any) -> Masked | None:
            if not has_text(arguments, MIN_SECRET):
                return None
            found: Found = set()
            own = frozenset(self._own(tool))
            sent = with_texts_of(arguments, partial(self._masked, found=found, own=own))
            if not found:
                return None
            if policy == "refuse":
                raise _refusal(tool.name, found, "is given", "to", executed=False)
            self._tell(tool, "arguments", found)
            return sent, sorted(found)

        return masked

    def _tell(self, tool: Tool, what: str, found: Found) -> None:
        """Tell whoever runs the host, the first time aloud."""
        level = logging.DEBUG if (tool.name, what) in self._told else logging.WARNING
        log.log(level, "masked in %s of tool %s: %s", what, tool.name, ", ".join(sorted(found)))
        self._told.add((tool.name, what))

    def _masked_bytes(
        self, data: bytes, found: Found, own: frozenset[str] | None = None, levels: int = ENCODED_LEVELS
    ) -> bytes:
        """Bytes without keys, where they are a text; a text of too many is withheld."""
        if (read := text_in(data[:MAX_BYTES])) is None:
            return data
        if len(data) > MAX_BYTES:
            found.add(TOO_LONG)
            return f"[withheld: {len(data):,} bytes of text are too many to look through for keys]".encode()
        text, encoding = read
        masked = self._masked(text, found, own, levels)
        return data if masked == text else masked.encode(encoding)

    def _masked_member(self, name: str, text: str, found: Found, change: Callable[[str], str]) -> str:
        """A text that is a member of an object: its name may say that it is a secret."""
        masked = change(text)
        if masked != text or not is_named_secret(name, text):
            return masked
        found.add(NAMED)
        return _instead(NAMED)

    def _masked(self, text: str, found: Found, own: frozenset[str] | None = None, levels: int = ENCODED_LEVELS) -> str:
        """A text without keys.

        Args:
            own: the keys of whom it is sent to; None: it is answered. A value that has a name alone is masked then,
                and not where it is sent: whoever logs in somewhere sends a password.
        """
        if len(text) < MIN_SECRET:
            return text
        if levels and (inner := bytes_of_base64(text)) is not None:  # as the bytes of blocks stand in JSON
            masked = self._masked_bytes(inner, found, own, levels - 1)
            if masked != inner:
                return base64.b64encode(masked).decode("ascii")
        words = long_words(text)
        folded = words.lower()
        for form, value in self._values().items() if words else ():
            if form in words and value not in (own or ()):
                found.add(KNOWN)
                text = text.replace(form, _instead(KNOWN))
            if form == value and value.lower() in folded and value not in (own or ()):
                text, count = re.subn(re.escape(value), _instead(KNOWN), text, flags=re.IGNORECASE)
                found.update([KNOWN] if count else ())

        def instead(key: str, kind: str) -> str | None:
            if own is not None and (key in own or kind == NAMED):
                return None
            found.add(kind)
            return _instead(kind)

        text = replace_shapes(text, instead)
        if len(text) > MAX_ENCODED or not levels:
            return text
        text = self._masked_parted(text, found, own)
        return self._masked_parts(text, found, own, levels) if words or has_pairs(text) else text

    def _masked_parted(self, text: str, found: Found, own: frozenset[str] | None) -> str:
        """A text without the keys that stand in it in parts."""
        known = {value for value in self._values().values() if value not in (own or ())}
        spans = [(start, end, KNOWN) for start, end, _ in parted_in(text, known)]
        spans += [(start, end, kind) for start, end, key, kind in parted_shapes(text) if key not in (own or ())]
        for start, end, kind in _apart(spans):
            found.add(kind)
            text = text[:start] + _instead(kind) + text[end:]
        return text

    def _masked_parts(self, text: str, found: Found, own: frozenset[str] | None, levels: int) -> str:
        """A text without what stands in it in another form, and holds a key: in percent, base64, hexadecimal."""
        pieces: list[tuple[int, int, str]] = []
        for part in decoded(text, 1):
            is_whole = (part.start, part.end) == (0, len(text))  # the same text, written otherwise
            masked = self._masked(part.text, found, own, 0 if is_whole else levels - 1)
            if masked == part.text:
                continue
            if is_whole:
                return masked
            if not pieces or part.start >= pieces[-1][1]:
                pieces.append((part.start, part.end, masked))
        for start, end, masked in reversed(pieces):
            text = text[:start] + masked + text[end:]
        return text

    def forget_known(self) -> None:
        """Ask anew which values are secrets, at the next call that needs them."""
        self._known = None

    def _values(self) -> dict[str, str]:
        """Every form in which a known secret may stand in a text, the longest first, and the secret."""
        if self._known is None or self._asked_at != secrets.changes:
            self._asked_at = secrets.changes
            forms = {form: value for value in self._ask_known() if is_distinct(value) for form in forms_of(value)}
            self._known = dict(sorted(forms.items(), key=lambda item: -len(item[0])))
        return self._known


def tell_model(result: ToolResult, kinds: Iterable[str]) -> ToolResult:
    """The result with a text that says what was masked in the arguments: not every model is shown `details`."""
    if result.error is not None:
        return result
    told = TextContent(f"note: masked in the arguments before they were sent: {', '.join(kinds)}")
    return attrs.evolve(result, content=(*result.content, told))


def forms_of(value: str) -> set[str]:
    """A value as it is, and as it stands in JSON, in an address and in a header of basic authentication."""
    raw = value.encode("utf-8", "surrogateescape")
    encoded = base64.b64encode(raw).decode().rstrip("=")
    return {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], quote(raw, safe=""), encoded}


def _apart(spans: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Those of them that lie apart, from the last to the first."""
    kept: list[tuple[int, int, str]] = []
    for span in sorted(spans, key=lambda one: -one[1]):
        if not kept or span[1] <= kept[-1][0]:
            kept.append(span)
    return kept


def _instead(kind: str) -> str:
    return f"[masked: {kind}]"


def _refusal(name: str, found: Found, does: str, table: str, *, executed: bool) -> ToolError:
    kinds = ", ".join(sorted(found))
    return ToolError(
        ErrorCode.FORBIDDEN,
        f"{name} {does} what must not leave here ({kinds}), and the configuration refuses that; "
        f'to allow it, say "{name}" = "allow" under [secrets.{table}]',
        reason="secrets",
        kinds=sorted(found),
        executed=executed,
        retry=Retry.CHANGED.value,
    )
