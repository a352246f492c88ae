"""Who is answered at all: on loopback only who asks for this address, and no foreign web page.

A page on the web can have its own name resolve to 127.0.0.1, and would then read everything here as its own content;
the browser sends that name as Host. An IP address as Host can't be of such a page.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable

from aiohttp import web

__all__ = ["Door"]

_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:/@\s]+))(?::[0-9]{0,5})?")


class Door:
    """Opened by `listens`; before, and on addresses that others can reach, it lets everybody in: behind a Service or an
    ingress there is no saying by which name one asks.
    """

    def __init__(self) -> None:
        self._names: frozenset[str] = frozenset()

    def listens(self, host: str, addresses: Iterable[str]) -> None:
        """`host` as configured, and the addresses that it turned out to be."""
        local = all(ipaddress.ip_address(each.partition("%")[0]).is_loopback for each in addresses)
        self._names = frozenset(("localhost", host.lower())) if local else frozenset()

    def refusal(self, request: web.BaseRequest) -> tuple[int, str] | None:
        """Status and sentence, where it is not to be answered."""
        hosts = request.headers.getall("Host", [])
        if len(hosts) > 1 or (not hosts and request.version >= (1, 1)):
            return 400, f"the request has {'several Host headers' if hosts else 'no Host header'}; send one"
        if not self._names or not hosts:
            return None
        if not self._ours(hosts[0]):
            names = " or ".join(sorted(self._names))
            return 421, f"{hosts[0][:100]!r} is not served here; ask for {names}, or an IP address"
        return _foreign(request, hosts[0])

    def _ours(self, host: str) -> bool:
        found = _HOST.fullmatch(host)
        if found is None:
            return False
        name = (found[1] or found[2]).lower().rstrip(".")
        return name in self._names or _is_address(name)


def _foreign(request: web.BaseRequest, host: str) -> tuple[int, str] | None:
    """To follow a link to the page is no harm: who links to it can't read it."""
    headers = request.headers
    follows = headers.get("Sec-Fetch-Mode") == "navigate" and headers.get("Sec-Fetch-Dest") == "document"
    if headers.get("Sec-Fetch-Site") in ("cross-site", "same-site") and not follows:
        return 403, "a page of another site asked for this; open it in a tab of its own"
    origin = headers.get("Origin")
    if origin is not None and origin.lower().partition("://")[2] != host.lower():
        return 403, f"a page of {origin[:100]!r} asked for this; open it in a tab of its own"
    return None


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
