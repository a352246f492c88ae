"""Who is answered at all: without TLS only who asks for this host, and never a foreign web page.

A page on the web can have its own name resolve to 127.0.0.1 or to an address of the cluster, and would then read
everything here as its own content; the browser sends that name as Host. An IP address as Host can't be of such a page.
With TLS no certificate of ours is valid for that name, and nothing is answered without a token: any Host is right,
since behind a Service or an ingress there is no saying by which name one asks.

A browser that was given a token sends it along with what a foreign page asks for, so such pages are refused always.
"""

from __future__ import annotations

import ipaddress

from aiohttp import web

_MOST_DIGITS = 5  # of a port


class SameOrigin:
    """Lets in whoever asks for any host, until `answers_to` is called."""

    def __init__(self) -> None:
        self._names: frozenset[str] = frozenset()

    def answers_to(self, *hosts: str) -> None:
        """From now on to these only, localhost, and any IP address."""
        self._names = frozenset(("localhost", *(each.lower().rstrip(".") for each in hosts)))

    def refusal(self, request: web.BaseRequest) -> tuple[int, str] | None:
        """Status and sentence, where it is not to be answered."""
        hosts = request.headers.getall("Host", [])
        if len(hosts) > 1 or (not hosts and request.version >= (1, 1)):
            return 400, f"the request has {'several Host headers' if hosts else 'no Host header'}; send one"
        if not hosts:
            return None
        if self._names and not self._ours(hosts[0]):
            names = " or ".join(sorted(self._names))
            return 421, f"{hosts[0][:100]!r} is not served here; ask for {names} or an IP address, or add it to hosts"
        return _unmet(request) or _foreign(request, hosts[0])

    def _ours(self, host: str) -> bool:
        name = _without_port(host).lower().rstrip(".")
        return bool(name) and (name in self._names or _is_address(name))


def _unmet(request: web.BaseRequest) -> tuple[int, str] | None:
    """What the request expects of a server, and this one does not do."""
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        return 415, "compressed request bodies are not supported. Send the body without Content-Encoding"
    if request.headers.get("Expect", "100-continue").lower() != "100-continue":
        return 417, "only 100-continue is supported. Send the request without Expect"
    return None


def _foreign(request: web.BaseRequest, host: str) -> tuple[int, str] | None:
    """To follow a link to the page is no harm: who links to it can't read it. To send a form is: one of http:// at
    this very host, where anybody on the way could answer, has an Origin of the same host.
    """
    headers = request.headers
    opens = headers.get("Sec-Fetch-Mode") == "navigate" and headers.get("Sec-Fetch-Dest") == "document"
    follows = opens and request.method in ("GET", "HEAD")
    if headers.get("Sec-Fetch-Site") in ("cross-site", "same-site") and not follows:
        return 403, "a page of another site sent this request. Open it in a new tab"
    origin = headers.get("Origin")
    if origin is not None and origin.lower().partition("://")[2] != host.lower():
        return 403, f"a page of {origin[:100]!r} sent this request. Open it in a new tab"
    return None


def _without_port(host: str) -> str:
    """Empty for what is no host."""
    if host.startswith("["):
        name, bracket, port = host[1:].partition("]")
        sound = bool(bracket) and ":" in name
    else:
        name, colon, rest = host.partition(":")
        port, sound = colon + rest, True
    digits = port[1:]
    sound = sound and (not port or port[0] == ":") and len(digits) <= _MOST_DIGITS
    return name if sound and (not digits or (digits.isascii() and digits.isdecimal())) else ""


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
