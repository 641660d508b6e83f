"""Which version of the protocol is spoken: without a handshake where the server is modern, else agreed on by one.

The policy is the SDK's own (`Client(mode="auto")`): anything but a modern answer means a handshake, unless the server
says that it is modern alone and shares no version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import mcp_types as types
import trio
from mcp.shared.exceptions import MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_MODERN_VERSION, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from pegboard_mcp.client._errors import LinkError
from pegboard_mcp.client._sdk import DISCOVER_TIMEOUT_SECONDS, JSONRPCDispatcher
from pegboard_mcp.client.transports._link import own_words

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from mcp.client.session import ClientSession

    from pegboard_mcp.definitions import ServerDefinition

CLOSED = "Connection closed"
"""What the SDK says in a server's place when the link ends."""
STATUS = "Server returned an error response"
"""What the SDK says in a server's place that answers with a status and no error of JSON-RPC."""
OTHER_ERA = 'Let it speak the other era: protocol = "legacy", or leave `protocol` out.'
CONFIG_KEY = "pegboard-mcp"
"""Under which name of `capabilities.experimental` the configured `config` of a server stands."""


class Dispatcher(JSONRPCDispatcher):
    """The SDK's dispatcher, which adds the configured `config` to what the client says of itself."""

    config: Mapping[str, Any] | None = None
    capabilities: dict[str, Any] | None = None

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: Any = None, **private: Any
    ) -> dict[str, Any]:
        """As the SDK has it."""
        if method in ("initialize", "server/discover"):
            params = self._introduce(method, dict(params or {}))
        return await super().send_raw_request(method, params, opts, **private)

    def _introduce(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        place, key = params, "capabilities"
        if method == "server/discover":
            place = params["_meta"] = dict(params.get("_meta") or {})
            key = types.CLIENT_CAPABILITIES_META_KEY
        given = dict(place.get(key) or {})
        if self.config is not None:
            given["experimental"] = {**(given.get("experimental") or {}), CONFIG_KEY: dict(self.config)}
        place[key] = self.capabilities = given
        return params


@attrs.frozen
class Agreement:
    """What was agreed on, and what the server says of itself.

    Args:
        version: of the protocol.
        modern: whether that is of the era without a handshake.
        capabilities: what the server says it offers, as JSON.
        server_info: its name and version as JSON, where it says them.
        instructions: what it tells models, where it does.
    """

    version: str
    modern: bool
    capabilities: dict[str, Any]
    server_info: dict[str, Any]
    instructions: str | None


class Negotiation:
    """Agrees with one server.

    Args:
        session: the SDK's, on the open link.
        definition: of the server.
        is_open: whether requests may still be sent.
        explain: what ended the link, or is wrong with it, after a short wait for what the server may still say.
    """

    def __init__(
        self,
        session: ClientSession,
        definition: ServerDefinition,
        *,
        is_open: Callable[[], bool],
        explain: Callable[[], Awaitable[LinkError]],
    ) -> None:
        self._session = session
        self._definition = definition
        self._is_open = is_open
        self._explain = explain
        self._refusal = ""  # what it said to the first request, in its own words

    async def agree(self) -> Agreement:
        """Agree on a version.

        Raises:
            LinkError: there is none to agree on, or the server does not let itself be talked to.
        """
        try:
            await self._settle()
        except MCPError as problem:
            why = await self._explain()
            words = problem.message if problem.message != CLOSED else self._refusal
            given = f"it refused the initialization: {own_words(self._definition, words)}"
            if self._is_open() and why.kind in ("silent", "timeout"):
                raise _refused(given) from None
            if why.kind in ("exited", "closed") and words:  # it spoke before it went
                raise _refused(f"{given}; then {why.why}") from None
            said = _words_of(problem)
            if self._is_open() and why.kind == "refused" and said not in ("", why.why):
                raise LinkError("refused", f"{why.why}: {own_words(self._definition, said)}", why.fix) from None
            raise why from None  # the transport saw what lies behind it
        except (ValidationError, RuntimeError) as problem:
            given = "its answer to the initialization cannot be read"
            if isinstance(problem, RuntimeError):
                given = f"no version of the protocol is shared: {own_words(self._definition, str(problem))}"
            raise _refused(given) from None
        session = self._session
        version = session.protocol_version or ""
        return Agreement(
            version=version,
            modern=version in MODERN_PROTOCOL_VERSIONS,
            capabilities=_json_of(session.server_capabilities),
            server_info=_json_of(session.server_info),
            instructions=session.instructions,
        )

    async def _settle(self) -> None:
        session, era = self._session, self._definition.protocol
        if era == "legacy":
            await session.initialize()
            return
        version = LATEST_MODERN_VERSION
        probe_s = min(DISCOVER_TIMEOUT_SECONDS, self._definition.connect_s / 3)
        for attempt in range(2):
            raw: dict[str, Any] | None = None
            supported: list[str] | None = None
            with trio.move_on_after(probe_s):
                try:
                    raw = await session.send_discover(version)
                except MCPError as problem:
                    if problem.code != types.METHOD_NOT_FOUND and problem.message != CLOSED:
                        self._refusal = problem.message
                    if not self._is_open():  # not by the code: servers refuse a version with -32000 too
                        raise
                    supported = _supported(problem)
                    mutual = [one for one in MODERN_PROTOCOL_VERSIONS if one in (supported or ())]
                    if mutual and attempt == 0:
                        version = mutual[-1]
                        continue
                    if supported is not None and not any(one in HANDSHAKE_PROTOCOL_VERSIONS for one in supported):
                        raise
            if raw is not None and _is_modern(raw):
                session.adopt(types.DiscoverResult.model_validate(raw))
                return
            if era == "modern":
                raise LinkError("refused", "it does not speak the protocol without a handshake", OTHER_ERA)
            try:
                await session.initialize()
            except MCPError as problem:  # a slow start: the probe was given up, and yet it settled the era
                mutual = [one for one in MODERN_PROTOCOL_VERSIONS if one in (_supported(problem) or ())]
                if not mutual or attempt:
                    raise
                version = mutual[-1]
                continue
            return


def _json_of(model: Any) -> dict[str, Any]:
    return model.model_dump(by_alias=True, mode="json", exclude_none=True) if model else {}


def _is_modern(raw: dict[str, Any]) -> bool:
    try:
        result = types.DiscoverResult.model_validate(raw)
    except ValidationError:
        return False
    return any(version in MODERN_PROTOCOL_VERSIONS for version in result.supported_versions)


def _supported(problem: MCPError) -> list[str] | None:
    """The versions that a server names when it refuses one."""
    if problem.code != types.UNSUPPORTED_PROTOCOL_VERSION:
        return None
    try:
        return types.UnsupportedProtocolVersionErrorData.model_validate(problem.data).supported
    except ValidationError:
        return None


def _words_of(problem: MCPError) -> str:
    """What a server says beside a status; empty where it says nothing."""
    if problem.message in (CLOSED, STATUS):
        return ""
    return f"{problem.message}: {problem.data}" if isinstance(problem.data, str) else problem.message


def _refused(why: str) -> LinkError:
    return LinkError("refused", why, "See what the server says on stderr, or try another version of it.")
