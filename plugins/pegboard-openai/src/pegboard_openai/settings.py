"""`[plugins.openai]`: keys, addresses, and compatible servers by name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import attrs

from pegboard import Fault, setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

OWN_NAMES = frozenset({"openai", "openai-responses", "local"})
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")


@attrs.frozen
class ServerSettings:
    """One compatible server, a provider of its own: `[plugins.openai.servers.NAME]`."""

    base_url: str = setting(widens=True, help="where it answers, with its version, as in https://api.mistral.ai/v1")
    api_key: str | None = setting(None, secret=True, widens=True, help="its key; none is needed on loopback")
    key_variable: str | None = setting(None, widens=True, help="the environment variable that holds its key")
    model: str | None = setting(
        None, widens=True, help="the model where only the server is named; else the first that it lists"
    )
    responses: bool = setting(False, help="ask by the responses API instead of chat completions")


@attrs.frozen
class OpenAISettings:
    """The settings of pegboard-openai."""

    api_key: str | None = setting(None, secret=True, widens=True, help="the key; else OPENAI_API_KEY, else the keyring")
    base_url: str | None = setting(
        None, widens=True, help="where the API is, with its version; else OPENAI_BASE_URL, else OpenAI's own"
    )
    model: str | None = setting(None, widens=True, help="the model where only the provider is named")
    local_ports: tuple[int, ...] = setting(
        (8080, 11434, 1234, 8000), widens=True, help="ports of this machine where the provider local looks"
    )
    servers: Mapping[str, ServerSettings] = setting(
        factory=dict, widens=True, help="compatible servers, each a provider of its name"
    )

    @classmethod
    def find_faults(cls, raw: Mapping[str, Any]) -> Iterable[Fault]:
        """Addresses that are not valid, and names that no provider can have."""
        from pegboard_chat.wire import faults_of_address

        if raw.get("base_url") is not None:
            yield from faults_of_address(raw["base_url"])
        servers = raw.get("servers")
        for name, server in servers.items() if isinstance(servers, dict) else ():
            path = ("servers", str(name))
            if name in OWN_NAMES:
                yield Fault(path, "a name that is not taken", repr(name), "choose another one")
            elif not (isinstance(name, str) and _NAME.fullmatch(name)):
                yield Fault(path, "a name of small letters, digits, - and _", repr(str(name)[:40]))
            if isinstance(server, dict) and "base_url" in server:
                yield from faults_of_address(server["base_url"], (*path, "base_url"))
