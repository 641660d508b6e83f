"""Which hosts a confined program may reach: the entries of `network`, and the names that it is answered.

Nothing here does I/O. An entry is a name with a port (`api.example.org`, `api.example.org:8443`; 443 where none is
said), all names below one (`*.example.org`), or IPv4 addresses (`10.0.0.5:5432`, `10.0.0.0/8:80`). A name never leads
to an address of this machine or of its networks (RFC 6890), for whoever owns the name says where it leads, and may say
otherwise a second later (DNS rebinding); but for one that an entry has as an address, and `localhost`, which says so
itself.

.. versionadded:: 0.1
"""

from __future__ import annotations

import ipaddress
import re
import struct
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["EXPECTED", "Entry", "Names", "Rules", "entry_of", "is_private", "read_entry"]

HTTPS = 443
LOCALHOST = "localhost"
MAX_NAMES = 10_000
"""So many names a program is answered; every name has an address of its own inside."""
EXPECTED = 'a host as in "api.example.org", "api.example.org:8443", "*.example.org" or "10.0.0.5:5432"'
"""What an entry looks like, for messages.

.. versionadded:: 0.1
"""

_ENTRY = re.compile(r"(?P<host>[^:/\s]+(?:/\d{1,2})?)(?::(?P<port>\d{1,5}))?", re.ASCII)
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)", re.ASCII)
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*", re.ASCII)
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
LOCAL = tuple(
    map(
        ipaddress.ip_network,
        (
            "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "168.63.129.16/32", "169.254.0.0/16",
            "172.16.0.0/12", "192.0.0.0/24", "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4",
            "::/96", "::ffff:0:0:0/96", "64:ff9b:1::/48", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
        ),
    )
)  # fmt: skip
"""Networks around a host, and addresses of no host; those of documentation (RFC 5737) are not among them. A machine of
Azure asks 168.63.129.16 for its settings and certificates, and nobody else reaches that."""

LOCAL_NAMES = (".local", ".localhost", ".internal", ".lan", ".home.arpa")
"""How names end that lead into a network around a host."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@attrs.frozen
class Entry:
    """One entry of `network`.

    Args:
        port: the only one that may be reached.
        name: a name, in small letters; `*.` before it: all names below.
        net: addresses, in the place of a name.

    .. versionadded:: 0.1
    """

    port: int
    name: str = ""
    net: ipaddress.IPv4Network | None = None

    def has(self, host: str) -> bool:
        """Whether a name, or an address as text, is of this entry."""
        if self.net is not None:
            address = address_of(host)
            return isinstance(address, ipaddress.IPv4Address) and address in self.net
        return host.endswith(self.name[1:]) if self.name.startswith("*.") else host == self.name


def read_entry(text: str) -> Entry:
    """An entry as a person writes it.

    Raises:
        ValueError: it is not one; the text says what was expected.

    .. versionadded:: 0.1
    """
    found = _ENTRY.fullmatch(text.strip().lower())
    port = int(found["port"] or HTTPS) if found else 0
    if found is None or not 0 < port < 65_536:
        raise ValueError(EXPECTED)
    host = found["host"].removesuffix(".")
    if re.fullmatch(r"[\d.]+(?:/\d+)?", host):
        return Entry(port, net=ipaddress.IPv4Network(host))  # its error is a ValueError too
    labels = host.removeprefix("*.").split(".")
    if len(host) > 253 or not all(map(_LABEL.fullmatch, labels)) or (host.startswith("*") and len(labels) < 2):
        raise ValueError(EXPECTED)
    return Entry(port, host)


class Rules:
    """What may be reached.

    Args:
        entries: those of a person.
        everywhere: also every public host on ports 80 and 443; while a package is installed, and while one looks on.

    .. versionadded:: 0.1
    """

    def __init__(self, entries: Iterable[str] = (), *, everywhere: bool = False) -> None:
        self.written = tuple(entries)
        self.entries = tuple(map(read_entry, self.written))
        self.everywhere = everywhere

    @property
    def ports(self) -> list[int]:
        """Ports that have to be listened on; 80 and 443 always, so that who is refused there can be told."""
        return sorted({80, HTTPS, *(entry.port for entry in self.entries)})

    def knows(self, name: str) -> bool:
        """Whether a name is answered at all."""
        return is_name(name) and (self.everywhere or any(not entry.net and entry.has(name) for entry in self.entries))

    def allows(self, host: str, port: int) -> bool:
        """Whether a name, or an address as text, may be connected to."""
        if any(entry.port == port and entry.has(host) for entry in self.entries):
            return True
        return self.everywhere and port in (80, HTTPS)

    def leads(self, host: str, port: int, address: str) -> bool:
        """Whether a name may lead to this address; a name that is resolved is asked for each of its addresses."""
        found = address_of(address)
        if found is None:
            return False
        if host == LOCALHOST and not found.is_loopback:
            return False
        return is_public(found) or self.names(host, port, address)

    def names(self, host: str, port: int, address: str) -> bool:
        """Whether an entry has this very address, or says `localhost` where that is asked for."""
        found = address_of(address)
        return found is not None and any(
            entry.port == port and (entry.name == host == LOCALHOST if entry.net is None else entry.has(str(found)))
            for entry in self.entries
        )

    def line(self, *more: str) -> str:
        """The line of a configuration that allows these too."""
        shown = ", ".join(f'"{one}"' for one in dict.fromkeys((*self.written, *more)))
        return f"network = [{shown}]"


def is_name(text: str) -> bool:
    """Whether a text can be the name of a host, in small letters."""
    return len(text) <= 253 and all(map(_LABEL.fullmatch, text.split(".")))


def address_of(text: str) -> Address | None:
    """An address out of its text, of IPv4 where IPv6 only wraps one (RFC 4291, 2.5.5). None: it is not an address."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address):
        if address in _NAT64:
            return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
        return address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1] or address
    return address


def is_public(address: Address) -> bool:
    """Whether everybody could reach an address, so that reaching it from this host gives nothing more."""
    return not any(address.version == net.version and address in net for net in LOCAL)


def is_private(host: str) -> bool:
    """Whether a name, or an address as text, is of this machine or of its networks, as far as that can be told without
    asking: names of one word, those that nobody outside can look up (RFC 6761, RFC 6762, RFC 9476), and those that end
    in a number, which are addresses in other spellings (`127.1`, `0x7f.1`) and no name of the public tree.

    .. versionadded:: 0.1
    """
    name = host.lower().removesuffix(".")
    address = address_of(name)
    if address is not None:
        return not is_public(address)
    return name.endswith(LOCAL_NAMES) or "." not in name or _NUMBER.fullmatch(name.rpartition(".")[2]) is not None


def entry_of(host: str, port: int) -> str:
    """The entry that allows exactly this.

    .. versionadded:: 0.1
    """
    return host if port == HTTPS else f"{host}:{port}"


# -- names (RFC 1035)

_A, _AAAA, _IN = 1, 28, 1
_NO_SUCH_NAME = 3


class Names:
    """Every name that is allowed has an address of its own inside: by where a program connects to, the name is known
    again, whatever it asked before. They are of 11.77.0.0/16, which looks public to servers that ask nobody else, and
    which nothing answers outside (it belongs to a military network that announces none of it).

    .. versionadded:: 0.1
    """

    def __init__(self, rules: Rules, on_refused: Callable[[str], None]) -> None:
        self._rules = rules
        self._on_refused = on_refused
        self._addresses: dict[str, str] = {}
        self._names: dict[str, str] = {}

    def name_at(self, address: str) -> str:
        """The name that an address inside stands for; an address that stands for none, itself."""
        return LOCALHOST if address == "127.0.0.1" else self._names.get(address, address)

    def _address_of(self, name: str) -> str | None:
        if name in self._addresses:
            return self._addresses[name]
        if not self._rules.knows(name) or len(self._addresses) >= MAX_NAMES:
            return None
        number = len(self._addresses) + 1
        address = self._addresses[name] = f"11.77.{number >> 8}.{number & 255}"
        self._names[address] = name
        return address

    def answer(self, query: bytes) -> bytes | None:
        """The answer to a question of a resolver; None: it is not one. Any bytes give one of the two."""
        asked = read_question(query)
        if asked is None:
            return None
        name, kind, end = asked
        address = self._address_of(name)
        if address is None and kind in (_A, _AAAA) and is_name(name):  # its words are shown
            self._on_refused(name)
        answers = b""
        if address is not None and kind == _A:
            octets = bytes(map(int, address.split(".")))
            answers = struct.pack(">HHHIH", 0xC00C, _A, _IN, 60, 4) + octets
        code = 0 if address is not None else _NO_SUCH_NAME
        head = query[:2] + struct.pack(">HHHHH", 0x8580 | code, 1, 1 if answers else 0, 0, 0)
        return head + query[12:end] + answers


def read_question(query: bytes) -> tuple[str, int, int] | None:
    """Name, kind and end of the one question of a query."""
    if len(query) < 17 or query[2] & 0xF8 or query[4:6] != b"\0\1":
        return None
    labels: list[bytes] = []
    at = 12
    while at < len(query) and query[at]:
        size = query[at]
        if size > 63 or len(labels) > 127:
            return None
        labels.append(query[at + 1 : at + 1 + size])
        at += 1 + size
    if at + 5 > len(query):
        return None
    name = b".".join(labels).decode("ascii", "replace").lower()
    kind, group = struct.unpack_from(">HH", query, at + 1)
    return (name, kind, at + 5) if group == _IN else None
