"""What the servers share that turn a login against the person: what each address answers, of the MCP server, of its
authorization server, and of a good one beside them.

`test_oauth.py` logs in at each as a client does, and says what the person was shown and what was given away.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, ClassVar
from urllib.parse import urlsplit

from attacking import Seen

ORIGIN = "https://tools.evil.example"
SERVER = f"{ORIGIN}/mcp"
EVIL, GOOD = "https://login.evil.example", "https://login.good.example"


@dataclass(frozen=True)
class Asked:
    """A request of the client."""

    url: str
    headers: dict[str, str]
    body: bytes

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def path(self) -> str:
        return urlsplit(self.url).path


@dataclass(frozen=True)
class Answer:
    """What is answered; a body that is a table goes out as JSON."""

    status: int = 200
    body: bytes | dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def content(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


def says(**metadata: Any) -> dict[str, Any]:
    """What is said otherwise; None: nothing is said of that."""
    return metadata


KEYS = ("code-1", "code_verifier", "access_token-1", "refresh_token-1")
"""By which it is seen where codes, verifiers and tokens go."""


def refused(words: str) -> Seen:
    """Nobody is shown a page, nothing is given away, and the person reads these words."""
    return Seen(refused=words, unsent=KEYS)


def shown(*words: str, refused: str = "") -> Seen:
    """The person is shown a page whose address has these words; where they are refused afterwards, nothing is given
    away."""
    return Seen(asked=words, refused=refused, unsent=KEYS if refused else ())


class LoginServer:
    """It does nothing bad yet; a case says what is other."""

    url = SERVER
    resource = SERVER
    issuer = EVIL
    challenge = ""
    """More of the challenge with which the MCP server asks for a login."""
    metadata: ClassVar[dict[str, Any]] = {}
    """More of what every authorization server says of itself; None: not even that."""
    registered: ClassVar[dict[str, Any]] = {}
    token: bytes | dict[str, Any] = b""
    """What the token endpoint answers: bytes, or a table of what is other in the answer."""
    token_status = 200
    iss: str | None = None
    """Who gives the code, as it says."""

    def __init__(self, **more: Any) -> None:
        self.asked: list[Asked] = []
        self.__dict__.update(more)

    def answer(self, asked: Asked) -> Answer:
        """What one address answers."""
        self.asked.append(asked)
        if "oauth-protected-resource" in asked.path:
            return self.of_resource(asked)
        if "oauth-authorization-server" in asked.path:
            found = {**self.of_issuer(asked), **self.metadata}
            return Answer(body={name: value for name, value in found.items() if value is not None})
        if asked.path.endswith("/register"):
            told = {"client_id": "c-1", "client_secret": f"cs-1 {asked.host}"}
            return Answer(201, {**json.loads(asked.body), **told, **self.registered})
        if asked.path.endswith("/token"):
            tokens = {name: f"{name}-1 {asked.host}" for name in ("access_token", "refresh_token")}
            given = {**tokens, "token_type": "Bearer", "expires_in": 3600}
            return Answer(
                self.token_status, self.token or given if isinstance(self.token, bytes) else {**given, **self.token}
            )
        if "authorization" in asked.headers and not self.challenge.startswith("again"):
            return Answer()
        where = f"https://{urlsplit(self.url).netloc}/.well-known/oauth-protected-resource/mcp"
        return Answer(401, headers={"www-authenticate": f'Bearer resource_metadata="{where}"{self.challenge}'})

    def of_resource(self, asked: Asked) -> Answer:
        """What the MCP server says of itself."""
        return Answer(body={"resource": self.resource, "authorization_servers": [self.issuer]})

    def of_issuer(self, asked: Asked) -> dict[str, Any]:
        """What an authorization server says of itself."""
        host = f"https://{asked.host}"
        return {
            "issuer": host,
            "authorization_endpoint": f"{host}/authorize",
            "token_endpoint": f"{host}/token",
            "registration_endpoint": f"{host}/register",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
        }
