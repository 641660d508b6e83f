"""Where a key comes from, where it may go, and how it is kept out of every text.

A key comes from the configuration, else from the environment, else from the system's keyring
(`keyring set pegboard OPENAI_API_KEY`). It goes over HTTPS, or to this very machine.
"""

from __future__ import annotations

import logging
import os
import re
from typing import TYPE_CHECKING, Any

from pegboard import ErrorCode
from pegboard_chat.contract import ModelError
from pegboard_httpclient import LOOPBACK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pegboard import Fault

SERVICE = "pegboard"
"""Under which keys lie in the keyring; the user name there is the variable's."""
KEYRING_S = 20.0
"""How long a keyring may take, a person who unlocks it included."""
MASKED = "***"
MIN_SECRET = 4
"""What is shorter hides nothing, and would take every text apart: people set a key of `x` where a server wants any."""
_LONG = 20
"""From this length on a key is a real one, and runs of it are hidden as well: providers show the ends of it."""
_PART = 8
"""The run, in characters."""
_TOKEN = re.compile(rf"[^\s\"'`<>(){{}}\[\],;]{{{_PART},}}")
_KEY_LIKE = re.compile(r"\b(?:(?:sk|gsk|xai|hf)[-_]|AIza)[-_*.…A-Za-z0-9]{6,}")
_HEADER = re.compile(
    r"(\b(?:x-api-key|authorization):\s*(?:bearer\s+)?|\bbearer\s+)(?!token|auth|key|\s)\S{6,}", re.IGNORECASE
)

_ADDRESS = re.compile(r"https?://[^\s/?#@]+(/[^\s?#]*)?", re.IGNORECASE)

log = logging.getLogger("pegboard.chat.wire")


class Headers(dict[str, str]):
    """Headers of a request; their values are in no repr.

    .. versionadded:: 0.1
    """

    def __repr__(self) -> str:
        return f"Headers({', '.join(self)})"


async def find_key(variable: str, configured: str | None, *, service: str = SERVICE) -> str | None:
    """The key for a provider: the configured one, else of the environment, else of the keyring; None: there is none.

    Args:
        variable: of the environment, and the user name in the keyring.
        configured: the setting `api_key`, or None.
        service: under which the keyring has it.

    .. versionadded:: 0.1
    """
    return _said_key(variable, configured) or await _of_keyring(service, variable)


async def key_for(
    provider: str,
    base_url: str,
    variable: str | None,
    configured: str | None = None,
    *,
    address: str = "the base_url",
    needed: bool = True,
) -> str | None:
    """The key that goes to an address; None: none goes there.

    The keyring is not asked for a server of this machine: that needs no key, and may do without the provider's own.

    Args:
        provider: whom an error names.
        base_url: where it goes.
        variable: of the environment, and the user name in the keyring; None: there is no key but the configured one.
        configured: the setting `api_key`, or None.
        address: where the address comes from, as an error says it.
        needed: whether the provider refuses requests without a key.

    Raises:
        ModelError: reason `no_key`, or `refused` where the address is not valid, or would have the key in the clear.

    .. versionadded:: 0.1
    """
    is_here = is_loopback(base_url)
    key = _said_key(variable, configured)
    if key is None and variable is not None and not is_here:
        key = await find_key(variable, None)
    check_address(provider, base_url, has_key=key is not None, variable=address)
    if key is None and needed and variable is not None and not is_here:
        raise no_key(provider, variable)
    return key


def missing_key(base_url: str, variable: str, configured: str | None = None) -> str | None:
    """What has to be set before an address can be asked, as a sentence; None: nothing. The keyring is not asked.

    .. versionadded:: 0.1
    """
    if _said_key(variable, configured) is not None or is_loopback(base_url):
        return None
    return f"set {variable}, or keep it in the keyring: keyring set {SERVICE} {variable}"


def _said_key(variable: str | None, configured: str | None) -> str | None:
    """The key of the configuration, else of the environment."""
    for given in (configured, os.environ.get(variable) if variable is not None else None):
        if given and given.strip():
            return given.strip()
    return None


async def _of_keyring(service: str, variable: str) -> str | None:
    import trio

    found: str | None = None
    with trio.move_on_after(KEYRING_S):
        found = await trio.to_thread.run_sync(
            _ask_keyring, service, variable, abandon_on_cancel=True, limiter=trio.CapacityLimiter(1)
        )
    if found is not None:
        from pegboard.secrets import note_known

        note_known(found)  # no board reads the keyring, and a tool may answer with what lies there
    return found


def _ask_keyring(service: str, variable: str) -> str | None:
    try:
        import keyring

        found = keyring.get_password(service, variable)
    except Exception as problem:  # noqa: BLE001 - a backend is third-party code, and without it there is simply no key
        log.debug("the keyring gave no %s: %s", variable, type(problem).__name__)
        return None
    return found.strip() or None if found else None


def mask(text: str, secrets: Iterable[str | None]) -> str:
    """A text of a provider without keys: the very secrets, longer parts of them, and what looks like a key.

    .. versionadded:: 0.1
    """
    known = sorted({secret for secret in secrets if secret and len(secret) >= MIN_SECRET}, key=len, reverse=True)
    for secret in known:
        text = text.replace(secret, MASKED)
    text = _HEADER.sub(rf"\1{MASKED}", _KEY_LIKE.sub(MASKED, text))
    long = [secret for secret in known if len(secret) >= _LONG]
    parts = {secret[at : at + _PART].casefold() for secret in long for at in range(len(secret) - _PART + 1)}
    if parts:
        text = _TOKEN.sub(lambda found: MASKED if _shares(found[0].casefold(), parts) else found[0], text)
    return MASKED if any(secret in text for secret in known) else text


def _shares(token: str, parts: set[str]) -> bool:
    return any(token[at : at + _PART] in parts for at in range(len(token) - _PART + 1))


def is_loopback(url: str) -> bool:
    """Whether an address is this very machine, by its name.

    .. versionadded:: 0.1
    """
    return _parts(url)[1] in LOOPBACK


def check_address(provider: str, url: str, *, has_key: bool, variable: str = "the base_url") -> None:
    """Refuse an address that is not valid, and one over which a key would go in the clear.

    Args:
        provider: whom an error names.
        url: the address, as it was configured.
        has_key: whether a key goes there.
        variable: where the address comes from, as an error says it.

    Raises:
        ModelError: reason `refused`.

    .. versionadded:: 0.1
    """
    scheme, host = _parts(url)
    if scheme not in ("http", "https") or not host or any(map(str.isspace, host)):
        raise ModelError(
            ErrorCode.INVALID_INPUT,
            f"{provider}: {variable} is not an address of a server; it begins with https:// or http:// and a host",
            provider=provider,
            reason="refused",
        )
    if has_key and scheme == "http" and host not in LOOPBACK:
        raise ModelError(
            ErrorCode.FORBIDDEN,
            f"{provider}: the key would go to {host} unencrypted; let {variable} begin with https://, or take the key"
            " away if the server needs none",
            provider=provider,
            reason="refused",
        )


def faults_of_address(value: Any, path: tuple[str, ...] = ("base_url",)) -> Iterator[Fault]:
    """What is wrong with an address of a configuration, for `find_faults`: it is not valid, or holds more than one.

    What stands in an address is shown and logged, so nothing that is secret may: no user, no password, no query.

    .. versionadded:: 0.1
    """
    from pegboard import Fault

    if isinstance(value, str) and not _ADDRESS.fullmatch(value.strip()):
        hint = "keys belong into api_key" if "@" in value or "?" in value else None
        yield Fault(path, "an address such as https://host/v1", "something else", hint)


def check_headers(provider: str, headers: Mapping[str, str], variable: str | None = None) -> None:
    """Refuse a header that HTTP cannot carry, which is a key that was copied wrong.

    Raises:
        ModelError: reason `wrong_key`; the header is not shown.

    .. versionadded:: 0.1
    """
    for value in headers.values():
        if not (value.isascii() and value.isprintable()):
            raise ModelError(
                ErrorCode.UNAUTHORIZED,
                f"{provider}: the key holds characters that no key has; set {variable or 'it'} anew",
                provider=provider,
                reason="wrong_key",
            )


def _parts(url: str) -> tuple[str, str]:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        _ = parts.port
        return parts.scheme.lower(), parts.hostname or ""
    except ValueError:
        return "", ""


def no_key(provider: str, variable: str, **more: Any) -> ModelError:
    """The error of a provider that has no key.

    .. versionadded:: 0.1
    """
    return ModelError(
        ErrorCode.UNAUTHORIZED,
        f"{provider} needs a key: set {variable}, or keep it in the keyring: keyring set {SERVICE} {variable}",
        provider=provider,
        reason="no_key",
        **more,
    )
