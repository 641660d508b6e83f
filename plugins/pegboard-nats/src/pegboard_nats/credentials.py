"""Who a link is, to its server: nkeys (Ed25519), and the files of credentials that hold a JWT with one.

A seed is `S`, the letter of its role, 32 bytes and a checksum, as base32 without padding; the public key the same
without the `S`. Source: the nkeys of NATS (`nats-io/nkeys`), and ADR-14 for JWT. Nothing of a seed is ever in a `repr`,
in an error or in a log.
"""

from __future__ import annotations

import base64
import binascii
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pegboard import PluginError
from pegboard.config import open_named

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

SEED = 18 << 3
ROLES = {"account": 0, "operator": 14 << 3, "user": 20 << 3}
"""The prefixes of the roles; they show as the letters `A`, `O` and `U`."""

MAX_FILE = 64 * 1024
_BLOCK = re.compile(r"-{3,}\s*BEGIN (NATS USER JWT|USER NKEY SEED)\s*-{3,}\s*(\S+)\s*-{3,}\s*END")
_SEED = re.compile(r"^\s*(S[AOU][A-Z2-7]{56})\s*$", re.MULTILINE)


class KeyPair:
    """A private key of NATS.

    Raises:
        ValueError: the text is not a seed.
    """

    def __init__(self, seed: str) -> None:
        raw = _decode(seed)
        if len(raw) != 34 or raw[0] & 0xF8 != SEED:
            raise ValueError("it is not a seed of an nkey")
        self._role = (raw[0] & 0x07) << 5 | (raw[1] & 0xF8) >> 3
        if self._role not in ROLES.values():
            raise ValueError("it is the seed of another role than account, operator or user")
        self._raw = raw[2:]

    def __repr__(self) -> str:
        return f"<KeyPair {self.public}>"

    @classmethod
    def generate(cls, role: str = "user") -> KeyPair:
        """A new one."""
        import os

        return cls(_seed_of(ROLES[role], os.urandom(32)))

    @property
    def _key(self) -> Ed25519PrivateKey:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(self._raw)

    @property
    def seed(self) -> str:
        """The secret, as files have it."""
        return _seed_of(self._role, self._raw)

    @property
    def public(self) -> str:
        """The public key, as a server's configuration has it."""
        return _encode(bytes([self._role]) + self._key.public_key().public_bytes_raw())

    def sign(self, nonce: str) -> str:
        """The signature of a server's nonce, as CONNECT has it."""
        return base64.urlsafe_b64encode(self._key.sign(nonce.encode())).rstrip(b"=").decode()


def _seed_of(role: int, raw: bytes) -> str:
    return _encode(bytes([SEED | role >> 5, (role & 0x1F) << 3]) + raw)


def _encode(raw: bytes) -> str:
    checked = raw + binascii.crc_hqx(raw, 0).to_bytes(2, "little")
    return base64.b32encode(checked).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    padded = text.encode() + b"=" * (-len(text) % 8)
    try:
        checked = base64.b32decode(padded)
    except binascii.Error:
        raise ValueError("it is not base32") from None
    raw, checksum = checked[:-2], checked[-2:]
    if binascii.crc_hqx(raw, 0).to_bytes(2, "little") != checksum:
        raise ValueError("its checksum is wrong: a letter is missing, or is another")
    return raw


class Credentials:
    """What CONNECT says of who we are.

    Args:
        pair: signs the server's nonce.
        jwt: the account's word for who the pair is; None: the server's configuration knows its public key.
        options: a user and password or a token, as the address of a server has them.
    """

    def __init__(
        self, pair: KeyPair | None = None, jwt: str | None = None, options: Mapping[str, str] | None = None
    ) -> None:
        self._pair = pair
        self._jwt = jwt
        self._options = dict(options or {})

    def __repr__(self) -> str:
        return f"<Credentials {self._pair!r}>"

    def options(self, nonce: str) -> dict[str, Any]:
        """The fields of CONNECT, for a server that gave this nonce."""
        if self._pair is None or not nonce:
            return dict(self._options)
        signed = {"sig": self._pair.sign(nonce)}
        return signed | ({"jwt": self._jwt} if self._jwt else {"nkey": self._pair.public})


def read_credentials(path: str) -> Credentials:
    """Read a file of credentials (`.creds`), or one that holds the seed of an nkey.

    Raises:
        PluginError: it cannot be read, or is neither.
    """
    name = Path(path).name  # callers read what is wrong, and no path of this machine is theirs to know
    try:
        with open_named(path) as file:
            text = file.read(MAX_FILE).decode()
    except OSError as problem:
        why = (problem.strerror or type(problem).__name__).lower()
        raise PluginError(f"the credentials {name} cannot be read: {why}", hint="repair `credentials`") from None
    except UnicodeDecodeError:
        text = ""
    blocks = dict(_BLOCK.findall(text))
    seed = blocks.get("USER NKEY SEED") or (found[1] if (found := _SEED.search(text)) else None)
    if seed is None:
        raise PluginError(
            f"the credentials {name} hold no seed of an nkey",
            hint="name a .creds file, or a file that holds one seed (SU...) alone",
        )
    try:
        return Credentials(KeyPair(seed), blocks.get("NATS USER JWT"))
    except ValueError as problem:
        raise PluginError(f"the credentials {name} cannot be used: {problem}", hint="take the file anew") from None
