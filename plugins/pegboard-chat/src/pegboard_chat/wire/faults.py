"""What a provider's refusal means: a status and a body become one `ModelError` that says what to do.

The tables below say which status, and which word of a provider where the status says too little, is which reason. What
the provider says itself is shown shortened, in one line, and without keys.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

import attrs

from pegboard import ErrorCode, Retry
from pegboard.limits import ANSWER_LEVELS
from pegboard.schema.jsontext import JsonTextError, loads, shorten_text
from pegboard.text import clean as sanitised
from pegboard_chat.contract import ModelError
from pegboard_chat.wire.keys import Headers, mask
from pegboard_httpclient import retry_after_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

MAX_SAID = 300
"""Of a provider's own words, in characters."""
MAX_READ = 20_000
"""Of a provider's own words so much is looked at."""
MAX_WRITTEN = 2_000
"""Of a call that a provider could not read, in characters."""
MAX_ANSWER_BYTES = 64 * 1024 * 1024

REPEATABLE = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""The statuses that say that nothing was done, or that the providers' own clients take so."""

TOOL_USE_FAILED = "tool_use_failed"
"""Groq's word for a call that its model wrote and that is not valid, beside `failed_generation`: what the model
wrote.
"""
_CODES: dict[int, tuple[ErrorCode, str]] = {
    400: (ErrorCode.INVALID_INPUT, "refused"),
    401: (ErrorCode.UNAUTHORIZED, "wrong_key"),
    402: (ErrorCode.FORBIDDEN, "limit"),
    403: (ErrorCode.FORBIDDEN, "wrong_key"),
    404: (ErrorCode.NOT_FOUND, "no_model"),
    407: (ErrorCode.UPSTREAM_ERROR, "no_network"),
    408: (ErrorCode.TIMEOUT, "timeout"),
    413: (ErrorCode.INVALID_INPUT, "refused"),
    422: (ErrorCode.INVALID_INPUT, "refused"),
    429: (ErrorCode.RATE_LIMITED, "limit"),
    504: (ErrorCode.TIMEOUT, "timeout"),
}
_KINDS = {
    "api_key_invalid": 401,
    "authentication_error": 401,
    "incorrect_api_key": 401,
    "invalid_api_key": 401,
    "unauthenticated": 401,
    "billing_error": 402,
    "insufficient_quota": 402,
    "permission_denied": 403,
    "permission_error": 403,
    "invalid_model": 404,
    "model_not_found": 404,
    "not_found": 404,
    "not_found_error": 404,
    "notfounderror": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "resource_exhausted": 429,
    "failed_precondition": 400,
    "invalid_argument": 400,
    "invalid_request_error": 400,
    "api_error": 500,
    "internal": 500,
    "server_error": 500,
    "unavailable": 503,
    "deadline_exceeded": 504,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""What the providers' words for an error mean as a status: in a stream there is no other."""
_REFINE = frozenset({400, 403, 404, 422, 429})
"""Statuses under which a word may tell more: Gemini answers a wrong key with 400, OpenAI an empty account with 429."""
_FINER = frozenset({401, 402, 404})
_BUSY = frozenset({503, 529})
_KEY_WORDS = re.compile(
    r"(?:incorrect|invalid|wrong) api (?:key|token)|api key (?:is )?(?:not valid|invalid)", re.IGNORECASE
)
"""Of providers that answer a wrong key with 400 and a sentence."""

_TO_DO = {
    "wrong_key": "set {key} to a key that is valid for it",
    "no_model": "choose another model with --model {provider}:MODEL, or check the base_url",
    "limit": "wait a while and ask again",
    "no_money": "add credit to the account, or choose another model with --model",
    "refused": "change what is asked: fewer tools, a shorter conversation, other options",
    "server": "ask again later, or choose another model with --model",
    "timeout": "ask again, or raise timeout_s under [plugins.chat]",
    "tool_use_failed": "ask again, or choose another model with --model",
    "moved": "check the base_url: no redirect is followed, so that the key goes nowhere else",
    "no_network": "look at HTTPS_PROXY, HTTP_PROXY and NO_PROXY",
}
_WHAT = {
    "wrong_key": "does not accept the key",
    "no_model": "has no such model or address",
    "limit": "is asked too often",
    "no_money": "wants to be paid first",
    "refused": "refused the request",
    "server": "failed",
    "timeout": "took too long",
    "tool_use_failed": "could not read a call that its model wrote",
    "moved": "sends elsewhere",
    "no_network": "cannot be reached: the proxy wants to know who asks",
}

_ESCAPE = re.compile(
    r"\\(?:[^u]|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2}))"
)
"""An escape of a JSON string; `half` of a character where its other half is not beside it."""


@attrs.frozen
class Place:
    """Where a model is, and how errors speak of it.

    Args:
        provider: its name, as it stands before the colon of `--model`.
        model: the provider's own name of the model; empty: none is asked, as for a list of them.
        url_of: from the model's name and whether the answer is streamed to the address of the request.
        headers: of every request, the key included.
        key: the key itself, to keep it out of texts; None: the server needs none.
        key_variable: the variable of the environment that the key comes from.
        secrets: what else must stand in no text.
        advice: by `reason`: what to do, where this provider has better words than these tables.

    .. versionadded:: 0.1
    """

    provider: str
    model: str = ""
    url_of: Callable[[str, bool], str] = attrs.field(default=lambda model, stream: "", repr=False)
    headers: Mapping[str, str] = attrs.field(factory=Headers, converter=Headers)
    key: str | None = attrs.field(default=None, repr=False)
    key_variable: str | None = None
    secrets: tuple[str, ...] = attrs.field(default=(), repr=False)
    advice: Mapping[str, str] = attrs.field(factory=dict, repr=False)

    @property
    def hidden(self) -> tuple[str, ...]:
        """Everything that must stand in no text."""
        return (*self.secrets, self.key) if self.key else self.secrets

    def error(self, status: int | None, text: str, headers: Mapping[str, str] | None = None) -> ModelError:
        """What a refusal of this provider means."""
        return error_of(
            self.provider,
            status,
            text,
            headers,
            model=self.model or None,
            key_variable=self.key_variable,
            secrets=self.hidden,
            advice=self.advice,
        )

    def fault(self, code: ErrorCode, reason: str, message: str, **details: Any) -> ModelError:
        """An error that is not an answer of the provider; `message` goes on after its name."""
        return ModelError(code, f"{self.provider} {message}", provider=self.provider, reason=reason, **details)

    def cleaned(self, error: ModelError) -> ModelError:
        """The same error without keys, for one that a dialect made of a provider's text."""
        if not self.hidden:
            return error
        details = {key: _masked(value, self.hidden) for key, value in error.details.items()}
        return ModelError(error.code, mask(error.message, self.hidden), details)


def error_of(
    provider: str,
    status: int | None,
    text: str,
    headers: Mapping[str, str] | None = None,
    *,
    model: str | None = None,
    key_variable: str | None = None,
    secrets: Iterable[str] = (),
    advice: Mapping[str, str] | None = None,
) -> ModelError:
    """What a provider's refusal means.

    Args:
        provider: whom the error names.
        status: of HTTP; None: the error came in the middle of a stream, or in an answer with 200.
        text: the body, or the data of the event; JSON in most cases.
        headers: of the answer, for `Retry-After`.
        model: which was asked.
        key_variable: where the key comes from.
        secrets: what must not stand in the error, whatever the provider sends back.
        advice: by reason: what to do, instead of the general words.

    .. versionadded:: 0.1
    """
    value = _json_or_none(text)
    message = _message_of(value, text)[:MAX_READ]
    meant = _status_meant(status, value, message)
    code, reason = _CODES.get(meant or 0, (ErrorCode.UPSTREAM_ERROR, "server"))
    if reason == "server" and meant is not None and meant < 500:
        reason = "refused"
    if TOOL_USE_FAILED in _kinds_of(value):
        reason = TOOL_USE_FAILED
    topic = "no_money" if meant == 402 else "moved" if meant is not None and 300 <= meant < 400 else reason
    secrets = tuple(secrets)
    after = delay_of(text, headers or {})
    to_do = _advice(topic, reason, advice or {}, after)
    to_do = to_do.replace("{key}", key_variable or "the key of the provider").replace("{provider}", provider)
    about = f" ({status})" if status is not None else ""
    asked = f" {clean(model, secrets, 60)!r}" if model and reason == "no_model" else ""
    quoted = clean(message, secrets)
    quoted = f": {quoted.rstrip('.')}" if quoted else ""
    words = f"{provider} {_WHAT[topic]}{asked}{about}{quoted}; {to_do}"
    details: dict[str, Any] = {"provider": provider, "reason": reason}
    if status is not None:
        details["status"] = status
    if meant == 402:
        details["retry"] = Retry.NEVER.value
    elif code is ErrorCode.RATE_LIMITED or meant in _BUSY:
        details["retry"] = Retry.SAME.value
    if after is not None:
        details["retry_after_s"] = after
    if reason == TOOL_USE_FAILED:
        written = _error_in(value).get("failed_generation")
        written = written if isinstance(written, str) else json.dumps(written)
        details["failed_generation"] = shorten_text(mask(written[:MAX_READ], secrets), MAX_WRITTEN)
    return ModelError(code, words, details)


def _status_meant(status: int | None, value: Any, message: str) -> int | None:
    """The status that a refusal comes to: providers send 400 for a wrong key, and name the kind in the body."""
    known = next((_KINDS[kind] for kind in _kinds_of(value) if kind in _KINDS), None)
    if status == 400 and _KEY_WORDS.search(message):
        known = 401
    meant = status if status is not None else _status_in(value) or known
    return known if known in _FINER and (meant in _REFINE or meant is None) else meant


def _advice(topic: str, reason: str, given: Mapping[str, str], after_s: float | None) -> str:
    """What to do, as the provider's package says it, else in general words."""
    better = given.get(topic) or (given.get(reason) if topic != "moved" else None)
    if not better and topic == "limit" and after_s:
        return f"wait {after_s:g} s and ask again"
    return better or _TO_DO[topic]


def clean(text: str, secrets: Iterable[str] = (), limit: int = MAX_SAID) -> str:
    """A provider's words as they may be shown: one line, without keys, at most `limit` characters."""
    line = sanitised(text[: MAX_READ + 1])[0]
    if len(text) > MAX_READ:
        line = line[: max(line.rfind(" "), 0)]  # nothing is left of a key that the cut went through
    return shorten_text(mask(" ".join(line.split()), secrets), limit)


def delay_of(text: str, headers: Mapping[str, str]) -> float | None:
    """How long a refusal asks to wait, in seconds: by its headers, else, as Gemini says it, by its body."""
    after = retry_after_of(headers)
    return _delay_in(_json_or_none(text)) if after is None else after


def may_repeat(status: int, headers: Mapping[str, str], error: ModelError) -> bool:
    """Whether a refusal lets the same request be sent again: by its status, or because the provider says so."""
    text = {name.lower(): value for name, value in headers.items()}.get("x-should-retry", "").lower()
    if text in ("true", "false"):
        return text == "true"
    return status in REPEATABLE and error.details["retry"] != Retry.NEVER.value


def read_json(provider: str, text: str | bytes, *, secrets: Iterable[str] = ()) -> Any:
    """An answer, or the data of an event, as JSON. Half a character, as servers send that cut one in two, is replaced.

    Raises:
        ModelError: reason `no_json`, or `half_answer` where the text ends before its JSON does.

    .. versionadded:: 0.1
    """
    try:
        return _loads(text)
    except JsonTextError as problem:
        why = problem.reason
        ends = problem.position is not None and problem.position >= len(text.rstrip())
        is_half = bool(text.strip()) and (ends or "unterminated string" in why)
    if is_half:
        raise half_answer(provider)
    shown = text[:2_000].decode("utf-8", "replace") if isinstance(text, bytes) else text[:2_000]
    shown = clean(shown, secrets, 60)
    raise ModelError(
        ErrorCode.UPSTREAM_ERROR,
        f"{provider} answered with what is not JSON ({why}){f': {shown!r}' if shown else ''};"
        " check the base_url, or ask again",
        provider=provider,
        reason="no_json",
    )


def _loads(text: str | bytes) -> Any:
    try:
        return loads(text, max_depth=ANSWER_LEVELS, max_bytes=MAX_ANSWER_BYTES)
    except JsonTextError as problem:
        if "surrogate" not in problem.reason:
            raise
    text = text if isinstance(text, str) else text.decode("utf-8")
    whole = _ESCAPE.sub(lambda found: r"\ufffd" if found["half"] else found[0], text)
    return loads(whole, max_depth=ANSWER_LEVELS, max_bytes=MAX_ANSWER_BYTES)


def half_answer(provider: str) -> ModelError:
    """The error of an answer that ended before its end.

    .. versionadded:: 0.1
    """
    return ModelError(
        ErrorCode.UPSTREAM_ERROR,
        f"{provider} broke off in the middle of its answer; ask again",
        provider=provider,
        reason="half_answer",
    )


def _json_or_none(text: str) -> Any:
    try:
        return loads(text, max_bytes=1_000_000)
    except JsonTextError:
        return None


def _error_in(value: Any) -> Any:
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, dict):
        inner = value.get("error")
        if not isinstance(inner, (dict, str)) and isinstance(value.get("response"), dict):
            inner = value["response"].get("error")
        return inner if isinstance(inner, (dict, str)) and inner else value
    return value


def _kinds_of(value: Any) -> list[str]:
    """The words by which a provider names the error, the most telling first."""
    error = _error_in(value)
    if not isinstance(error, dict):
        return []
    words = [error.get("code"), error.get("type"), error.get("status")]
    details = error.get("details")
    if isinstance(details, list):
        words = [one.get("reason") for one in details[:8] if isinstance(one, dict)] + words
    return [word.lower() for word in words if isinstance(word, str)]


def _status_in(value: Any) -> int | None:
    error = _error_in(value)
    for name in ("code", "status_code", "status"):
        found = error.get(name) if isinstance(error, dict) else None
        if isinstance(found, int) and 400 <= found < 600:
            return found
    return None


def _delay_in(value: Any) -> float | None:
    """`retryDelay` of https://cloud.google.com/apis/design/errors, such as `"34s"`."""
    error = _error_in(value)
    details = error.get("details") if isinstance(error, dict) else None
    for one in details[:8] if isinstance(details, list) else ():
        delay = one.get("retryDelay") if isinstance(one, dict) else None
        if isinstance(delay, str) and (seconds := _number(delay.removesuffix("s"))) is not None:
            return seconds
    return None


def _message_of(value: Any, text: str) -> str:
    error = _error_in(value)
    if isinstance(error, str):
        return error
    if isinstance(error, dict):
        for name in ("message", "detail", "error_description", "msg", "title"):
            found = error.get(name)
            if isinstance(found, list) and found:  # of FastAPI, as vLLM answers
                found = "; ".join(str(one.get("msg", "")) for one in found[:3] if isinstance(one, dict))
            if isinstance(found, str) and found.strip():
                return found
        return ""
    if re.match(r"\s*<(?:!doctype|html|\?xml)", text[:200], re.IGNORECASE):
        title = re.search(r"<title[^>]{0,200}>([^<]{1,200})", text[:20_000], re.IGNORECASE)
        return title[1] if title else "a web page"
    return text


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _masked(value: Any, secrets: tuple[str, ...]) -> Any:
    if isinstance(value, str):
        return mask(value, secrets)
    if isinstance(value, dict):
        return {key: _masked(item, secrets) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_masked(item, secrets) for item in value]
    return value
