"""What must not be shown: which keys name a secret, and where one hides inside a text.

Masking errs on the side of hiding: a value that only looks like a secret costs a person a glance into a file.
"""

from __future__ import annotations

import logging
import re
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pegboard.errors import Step

MASKED = "***"
MAX_LOGGED = 65_536
"""Of a longer text the beginning and the end are logged."""

_WORDS = frozenset(
    [
        "apikey",
        "auth",
        "authorization",
        "bearer",
        "cookie",
        "credential",
        "key",
        "passphrase",
        "passwd",
        "password",
        "pat",
        "pwd",
        "secret",
        "token",
    ]
)
_WORD = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+"
_NAMED = r"(?:api[_-]?key|auth|authorization|credentials?|key|passphrase|passwd|password|pwd|secret|token)"
_INSIDE = [
    (rf"(?i)([?&#;\s]|^)([\w.-]{{0,40}}{_NAMED}[\w.-]{{0,40}}\s*[=:]\s*)[^&;\n]+", rf"\1\2{MASKED}"),
    (r"(?i)\b(bearer|basic|token)(\s+)\S+", rf"\1\2{MASKED}"),
    (r"\b(?:sk|ghp|gho|ghs|xox[abp]|glpat|hf|AKIA)[-_A-Za-z0-9]{12,}", MASKED),
]
# Here and in the configuration's other modules an expression is a text, which `re` compiles at its first use and keeps:
# most starts find nothing to read or to mask.


def words_of(key: str) -> list[str]:
    """The words of a key, lower case: `githubApiKey`, `GITHUB_API_KEY` and `github-api-key` are the same three."""
    return [word.lower() for word in re.findall(_WORD, key[:200])]


def looks_secret(key: str) -> bool:
    """Whether a key of this name holds a secret, by its words: token, key, password, secret and their like.

    .. versionadded:: 0.1
    """
    return any(word in _WORDS or (word.endswith("s") and word[:-1] in _WORDS) for word in words_of(key))


def is_count(key: str, value: object) -> bool:
    """`max_tokens = 100` counts tokens and holds none."""
    plural = any(word.endswith("s") and word[:-1] in _WORDS for word in words_of(key))
    return plural and type(value) in (int, float)


def mask_text(text: str) -> str:
    """The text without the credentials of URLs, `password=...`, `Bearer ...` and well-known shapes of keys.

    .. versionadded:: 0.1
    """
    if "://" in text:
        text = re.sub(r"\S+", _mask_word, text)
    for pattern, instead in _INSIDE:
        text = re.sub(pattern, instead, text)
    return text


def _mask_word(match: re.Match[str]) -> str:
    """A word without what stands between `://` and the last `@`: a password may hold any sign."""
    # The last `@`, as browsers take it (WHATWG URL, authority state); by RFC 3986 a password has none unescaped.
    scheme, slashes, rest = match[0].partition("://")
    _, at, host = rest.rpartition("@")
    return f"{scheme}{slashes}{MASKED}@{host}" if at else match[0]


def mask_path(path: Iterable[Step]) -> tuple[Step, ...]:
    """The path without steps that may be secrets themselves: `[plugins.mcp.tokens]` has tokens for keys.

    The first two name a section and a plugin, a tool or a profile.
    """
    shown: list[Step] = []
    hiding = False
    for depth, step in enumerate(path):
        shown.append(MASKED if hiding and isinstance(step, str) else step)
        hiding = hiding or (depth > 1 and isinstance(step, str) and looks_secret(step))
    return tuple(shown)


def mask_value(value: Any, *, key: str = "") -> Any:
    """A copy of a configured value without what looks like a secret, all the way down.

    Of a list of words, as in `args`, the one after `--api-key` is hidden too.

    .. versionadded:: 0.1
    """
    if isinstance(value, dict):
        if key and looks_secret(key):
            return MASKED if value else {}
        return {str(name): mask_value(item, key=str(name)) for name, item in value.items()}
    if value is None or isinstance(value, bool) or (key and is_count(key, value)):
        return value
    if key and looks_secret(key):
        return MASKED
    if isinstance(value, (list, tuple)):
        flags = [isinstance(item, str) and item.startswith("-") and looks_secret(item) for item in value]
        return [MASKED if after else mask_value(item) for item, after in zip(value, [False, *flags], strict=False)]
    return mask_text(value) if isinstance(value, str) else value


# -- logs


class SecretFilter(logging.Filter):
    """Lets every record through, its warning or traceback without secrets: what a tool, a plugin or a library raised
    says what it was working on, and the log is read by others than who may have that.

    A record whose traceback was masked has it as a text alone, for handlers that would take it from the exception.

    Attributes:
        hide: gives a text without secrets; boards, which know them, set it.
    """

    hide: Callable[[str], str] = staticmethod(mask_text)
    _is_at_it = threading.local()

    def filter(self, record: logging.LogRecord) -> bool:
        """Mask the record where it stands; always True."""
        if (record.levelno < logging.WARNING and not record.exc_info) or getattr(self._is_at_it, "yes", False):
            return True
        self._is_at_it.yes = True  # who is asked for secrets may log as well
        try:
            said = record.getMessage()
            if (masked := self._hidden(said)) != said:
                record.msg, record.args = masked, ()
            if record.exc_info and record.exc_info[1] is not None and not record.exc_text:
                plain = logging.Formatter().formatException(record.exc_info)
                if (masked := self._hidden(plain)) != plain:
                    record.exc_text, record.exc_info = masked, None
        finally:
            self._is_at_it.yes = False
        return True

    def _hidden(self, text: str) -> str:
        if len(text) > MAX_LOGGED:  # no word is cut, which could be half of a key
            begin, end = text[: MAX_LOGGED // 4].rpartition(" ")[0], text[-MAX_LOGGED // 2 :].partition(" ")[2]
            text = f"{begin} [{len(text) - len(begin) - len(end):,} characters left out] {end}"
        return self.hide(text)


LOG_FILTER = SecretFilter()


def get_logger(name: str) -> logging.Logger:
    """The logger of that name, whose warnings and tracebacks hold no secret from now on: keys of well-known shapes,
    values whose names say that they are secret, and every value that a board of this process knows as one.

    .. versionadded:: 0.1
    """
    logger = logging.getLogger(name)
    logger.addFilter(LOG_FILTER)  # a filter is added once
    return logger
