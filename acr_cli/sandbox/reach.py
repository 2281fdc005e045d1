"""What installing may reach: public addresses, and what the user's own settings name; nothing else.

Packages run code while they are installed, and so may the repository. Whoever sits beside this machine trusts
it: a router's page, a database without a password, the address at which a cloud hands out its keys. So names
are resolved here, and a connection is made to an address that has been looked at, not to a name again.
"""

from __future__ import annotations

import contextlib
import ipaddress
import re
import socket
import urllib.parse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from acr_cli.errors import SandboxUnavailable

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Place = tuple[socket.AddressFamily, tuple[str, int]]
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_INDEXES = (
    *("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"),
    *("UV_INDEX", "UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL"),
    *("NPM_CONFIG_REGISTRY", "npm_config_registry", "GOPROXY"),
)
_PORTS = {"http": 80, "https": 443}

# Of the special ranges (RFC 6890) those behind which something of this machine's surroundings can be. The
# ranges for documentation and benchmarks are not among them: some networks hand them out for the world's.
_NEAR: tuple[_Network, ...] = tuple(
    ipaddress.ip_network(text)
    for text in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.168.0.0/16", "224.0.0.0/4", "240.0.0.0/4", "168.63.129.16/32"),
        *("::/96", "100::/64", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8"),
    )
)
_WITH_IPV4_INSIDE = ipaddress.ip_network("64:ff9b::/96")


class Refused(Exception):
    """A place that installing may not reach; its text says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Upstream:
    """The user's own proxy."""

    host: str
    port: int
    credentials: str = ""  # NAME:PASSWORD


@dataclass(frozen=True, kw_only=True, slots=True)
class Reach:
    """The rules of one install step."""

    named: frozenset[tuple[str, int]] = frozenset()  # places of the user's own settings, wherever they are
    secure: Upstream | None = None  # for https
    plain: Upstream | None = None  # for http
    around: tuple[str, ...] = ()  # what the user reaches without the proxy
    beside: tuple[_Network, ...] = ()  # networks that this machine is in

    def upstream(self, host: str, *, secure: bool) -> Upstream | None:
        """The user's proxy for a host, unless the user reaches it without. Pure."""
        for each in self.around:
            if each in ("*", host) or host.endswith(f".{each.lstrip('.')}"):
                return None
        return self.secure if secure else self.plain

    def addresses(self, host: str, port: int) -> list[Place]:
        """Where to connect to for a host: its addresses that may be reached, in the resolver's order.

        Raises: Refused when there is none that may; OSError when the name is unknown."""
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        places: list[Place] = [
            (family, (str(there[0]).partition("%")[0], port)) for family, _, _, _, there in found
        ]
        if (host, port) in self.named:
            return places
        far = [place for place in places if not self.near(ipaddress.ip_address(place[1][0]))]
        if not far:
            shown = host if host == places[0][1][0] else f"{host} ({places[0][1][0]})"
            raise Refused(f"{shown} is an address of this machine or of the networks around it")
        return far

    def near(self, address: Address) -> bool:
        """Whether an address is this machine's, or of a network that it stands in."""
        return any(
            one in network
            for one in _forms(address)
            for network in (*_NEAR, *self.beside)
            if one.version == network.version
        ) or any(map(_own, _forms(address)))


def _forms(address: Address) -> list[Address]:
    """An address, and the IPv4 addresses that it stands for where a translator is on the way. Pure."""
    forms: list[Address] = [address]
    if isinstance(address, ipaddress.IPv6Address):
        forms += [a for a in (address.ipv4_mapped, address.sixtofour, *(address.teredo or ())) if a]
        if address in _WITH_IPV4_INSIDE:
            forms.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return forms


def _own(address: Address) -> bool:
    """Whether this machine has the address itself: only then can something be bound to it."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.bind((str(address), 0))
        return True
    return False


def reach(environ: Mapping[str, str], *, routes: Path = Path("/proc/net")) -> Reach:
    """The rules that follow from the user's environment; `routes` is the folder of the kernel's tables.

    Raises: SandboxUnavailable for a proxy that cannot be used."""
    shared = _proxy(environ, "all_proxy")
    around = _either(environ, "no_proxy").lower().replace(",", " ").split()
    return Reach(
        named=frozenset(place for name in _INDEXES for place in _places(environ.get(name, ""))),
        secure=_proxy(environ, "https_proxy") or shared,
        plain=_proxy(environ, "http_proxy") or shared,
        around=tuple(around),
        beside=(*_ipv4_routes(routes / "route"), *_ipv6_routes(routes / "ipv6_route")),
    )


def _either(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name) or environ.get(name.upper()) or ""


def _proxy(environ: Mapping[str, str], name: str) -> Upstream | None:
    value = _either(environ, name)
    if not value:
        return None
    parts = urllib.parse.urlsplit(value if "://" in value else f"http://{value}")
    try:
        host, port = parts.hostname, parts.port or 80
    except ValueError:
        host, port = None, 0
    if parts.scheme != "http" or not host:
        raise SandboxUnavailable(
            f"{name.upper()} names no proxy that can be used while dependencies are installed: it must be an"
            " http:// address.",
            hint="Set one, or give the sandbox the network as it is with --network on.",
        )
    user, password = urllib.parse.unquote(parts.username or ""), urllib.parse.unquote(parts.password or "")
    return Upstream(host=host, port=port, credentials=f"{user}:{password}" if user else "")


def _places(value: str) -> Iterator[tuple[str, int]]:
    """Hosts and ports of the addresses in a setting. Pure."""
    for found in re.findall(r"https?://[^\s,|]+", value):
        with contextlib.suppress(ValueError):
            parts = urllib.parse.urlsplit(found)
            if parts.hostname:
                yield parts.hostname.rstrip("."), parts.port or _PORTS[parts.scheme]


def _ipv4_routes(file: Path) -> Iterator[_Network]:
    """Networks that are reached without a gateway, but for a default route into a tunnel."""
    for fields in _table(file)[1:]:
        address, gateway, mask = (int.from_bytes(bytes.fromhex(fields[n]), "little") for n in (1, 2, 7))
        if gateway == 0 and mask.bit_count() >= 8:
            yield ipaddress.ip_network((address, mask.bit_count()), strict=False)


def _ipv6_routes(file: Path) -> Iterator[_Network]:
    for fields in _table(file):
        length = int(fields[1], 16)
        if int(fields[4], 16) == 0 and length >= 32:
            yield ipaddress.ip_network((int(fields[0], 16), length), strict=False)


def _table(file: Path) -> list[list[str]]:
    """The rows of a table of routes; none where the system has no such file."""
    with contextlib.suppress(OSError):
        return [line.split() for line in file.read_text().splitlines()]
    return []
