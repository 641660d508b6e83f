"""What a server gives out for clients to bring back, sealed: `requestState`, ids of sessions and of tasks.

Each belongs to the process that gave it out, and the next request may meet another one. So it says whose it is, what it
is there and until when it is good, and an HMAC under the key that all instances share says that one of them wrote it,
for this very use. There is nothing secret in it; nobody else can make one, or change one.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import secrets
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from pegboard import ErrorCode, ToolError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pegboard_serving import Caller

log = logging.getLogger("pegboard.mcp.serve")

MAC_BYTES = 32
MAX_SEALED = 2_000
"""The longest sealed text that is looked at, in characters: more than the longest name of an instance comes to."""
REPEATED = frozenset({"_meta", "requestState", "inputResponses"})
"""Members of a request's params that may differ when it is repeated."""
STATE = "state"
"""What a sealed text is good for: the state of a suspended request, ..."""
SESSION = "session"
"""... the id of a session of the handshake era, ..."""
TASK = "task"
"""... the id of a task."""
APART_S = 60.0
"""Clocks of machines differ a little, in seconds."""
MAX_TWINS = 100
EXTENSION = "io.modelcontextprotocol/tasks"
"""What a client declares that takes tasks."""


class Name(NamedTuple):
    """Of an instance: the configured one of its machine, and which process there; that is another after a restart."""

    machine: str
    process: str

    @property
    def program(self) -> str:
        """What the processes of one program have in common."""
        return self.process.partition("-")[0]


def new_program() -> str:
    """The name of a program; that of each of its processes begins with it."""
    return secrets.token_hex(8)


RESULT_MAC_CHARS = 8
"""A model has to repeat the id of a result: of its seal, which only says where to ask, a part is enough."""


class Sealed(NamedTuple):
    """What stands in a sealed text: whose it is, and under which id."""

    name: Name
    id: str


class Seal:
    """Makes texts that only who has the key can make.

    Args:
        key: what all instances share; None: nobody else has it.
    """

    def __init__(self, key: str | None = None) -> None:
        raw = secrets.token_bytes(32) if key is None else key.encode("utf-8", "surrogatepass")
        self._key = hashlib.sha256(b"pegboard-mcp seal\0" + raw).digest()

    def seal(self, kind: str, values: list[Any], *, bound_to: str = "", for_s: float | None = None) -> str:
        """Seal JSON values.

        Args:
            kind: what it is good for; it opens as nothing else.
            values: can be read by everybody.
            bound_to: what has to be the same when it is opened; it is not in it.
            for_s: how long it is good, by the wall clock; None: for ever.
        """
        until = None if for_s is None else time.time() + for_s
        content = json.dumps([until, *values], separators=(",", ":")).encode()
        return _text_of(self.mac(kind, content, bound_to) + content)

    def open(self, kind: str, text: Any, *, bound_to: str = "") -> list[Any] | None:
        """What was sealed; None: it was not, or for something else, or its time is over."""
        if not isinstance(text, str) or not text.isascii() or len(text) > MAX_SEALED:
            return None
        try:
            raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        except ValueError:
            return None
        if _text_of(raw) != text:  # the decoder passes over what is not a sign of it
            return None
        mac, content = raw[:MAC_BYTES], raw[MAC_BYTES:]
        if not hmac.compare_digest(mac, self.mac(kind, content, bound_to)):
            return None
        until, *values = json.loads(content)
        return values if until is None or time.time() < until else None

    def mac(self, kind: str, content: bytes, bound_to: str) -> bytes:
        """What only who has the key can make of it."""
        # Each part before the last has a length of its own, so that no two of them can be cut in another place.
        bound = hashlib.sha256(bound_to.encode("utf-8", "surrogatepass")).digest()
        return hmac.digest(self._key, hashlib.sha256(kind.encode()).digest() + bound + content, "sha256")


def _text_of(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


class Handles:
    """What this instance gives out to clients, and what it is given back.

    Args:
        seal: under the key of all instances.
        own: the name of this one.
    """

    def __init__(self, seal: Seal | None = None, own: Name | None = None) -> None:
        self.seal = seal or Seal()
        self.own = own or Name("", new_program())
        self.is_over: Callable[[Name], bool] = lambda name: False
        """Whether an instance is known to be no more."""
        self.is_shared = seal is not None
        self._began_s = time.time()
        self._twins: set[str] = set()

    def give(self, kind: str, id_: str, *, bound_to: str = "", for_s: float | None = None) -> str:
        """A handle of something that this instance has."""
        return self.seal.seal(kind, [*self.own, id_, int(time.time())], bound_to=bound_to, for_s=for_s)

    def read(self, kind: str, text: Any, *, bound_to: str = "") -> Sealed | None:
        """Whose it is, and what; None: no instance gave it out for this."""
        values = self.seal.open(kind, text, bound_to=bound_to)
        match values:
            case [str(machine), str(process), str(id_), int(given_s)]:
                name = Name(machine, process)
                self._look_for_twin(name, given_s)
                return Sealed(name, id_)
        return None  # or by another version, which has other values in it

    def has_twin(self, name: Name) -> bool:
        """Whether an instance is one of another program that is called as this one, and serves at the same time."""
        return name.program in self._twins and name.machine == self.own.machine

    def _look_for_twin(self, name: Name, given_s: int) -> None:
        """Who gives out something long after this one began, under its name, is not the one that was before it."""
        if (
            not name.machine
            or name.machine != self.own.machine
            or name.program == self.own.program
            or name.program in self._twins
            or given_s < self._began_s + APART_S
            or len(self._twins) >= MAX_TWINS
        ):
            return
        self._twins.add(name.program)
        log.warning(
            "another program serves as the instance %r at the same time; give each machine a name of its own: instance"
            " in [plugins.mcp]",
            name.machine,
        )

    def result_id(self) -> str:
        """An id of a result that this instance stores."""
        content = f"{self.own.machine}.{self.own.process}.{secrets.token_hex(6)}"
        return f"{content}.{self._mark(content)}"

    def owner_of_result(self, id_: Any) -> Name | None:
        """Which instance stores a result; None: no instance gave out that id."""
        if not isinstance(id_, str) or len(id_) > MAX_SEALED:
            return None
        content, _, mark = id_.rpartition(".")
        parts = content.rsplit(".", 2)
        if len(parts) != 3 or not hmac.compare_digest(
            mark.encode("utf-8", "surrogatepass"), self._mark(content).encode()
        ):
            return None
        return Name(parts[0], parts[1])

    def _mark(self, content: str) -> str:
        return _text_of(self.seal.mac("result", content.encode("utf-8", "surrogatepass"), ""))[:RESULT_MAC_CHARS]


def bound_to(caller: Caller, method: str, params: Mapping[str, Any]) -> str:
    """What the state of a request is bound to: who asks, and what exactly; the same in every instance."""
    asked = {key: value for key, value in params.items() if key not in REPEATED and value is not None}
    return json.dumps([*caller, method, asked], sort_keys=True, separators=(",", ":"), default=str)


def owner_text(caller: Caller) -> str:
    """What the id of a task is bound to: who made the call."""
    return json.dumps(caller)


def elsewhere() -> ToolError:
    """Another instance has it, and cannot be reached from here."""
    message = "another instance has this, and cannot be reached from here; send the same request again"
    return ToolError(ErrorCode.UPSTREAM_ERROR, message, reason="instance", retry="same")


def lost() -> ToolError:
    """The instance that had it is known to be no more."""
    message = "the instance that had this is gone; how far it came is not known"
    return ToolError(ErrorCode.OUTCOME_UNKNOWN, message, reason="instance")
