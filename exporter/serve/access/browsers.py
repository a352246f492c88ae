"""What is done for browsers alone: their sessions, the form that asks for a token, and foreign pages are refused.

The cookie of a session is a random id, and the token stays in this process.

A session ends when it is logged out of, after a set time, when the API server accepts its token no more, and with this
process. An id that nobody was given here is none, so that nobody can be given one beforehand.

Who is answered at all: without TLS only who asks for this host, and never a foreign web page.

A page on the web can have its own name resolve to 127.0.0.1 or to an address of the cluster, and would then read
everything here as its own content; the browser sends that name as Host. An IP address as Host can't be of such a page.
With TLS no certificate of ours is valid for that name, and nothing is answered without a token: any Host is right,
since behind a Service or an ingress there is no saying by which name one asks.

A browser that was given a token sends it along with what a foreign page asks for, so such pages are refused always.
"""

from __future__ import annotations

import ipaddress
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b

from aiohttp import web

from ..html.rendering import page_of
from ..server.sending import accepts

COOKIE = "__Host-steward"
"""With this prefix a browser takes it only over TLS, for this host alone and for all its paths."""
_MOST = 4096
_MOST_OF_ONE = 16  # of one user; the oldest one ends
_BYTES = 32  # of an id
_LONGEST_TOKEN = 64  # characters of one


@dataclass(frozen=True, slots=True)
class _Session:
    token: str
    user: str
    until: float


class Sessions:
    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Each for so many seconds."""
        self._seconds, self._clock = seconds, clock
        self._of: OrderedDict[bytes, _Session] = OrderedDict()  # by a hash of the id, the oldest first

    def token_of(self, request: web.BaseRequest) -> str | None:
        session = self._of.get(_key(request))
        if session is None or session.until <= self._clock():
            return None
        return session.token

    def begin(self, request: web.BaseRequest, response: web.StreamResponse, token: str, user: str) -> None:
        """With an id of its own; the one that the request came with ends."""
        self._drop(request)
        self._make_room(user)
        new = secrets.token_urlsafe(_BYTES)
        self._of[_hashed(new)] = _Session(token, user, self._clock() + self._seconds)
        _set(response, new, int(self._seconds))

    def end(self, request: web.BaseRequest, response: web.StreamResponse) -> None:
        """Also in the browser."""
        self._drop(request)
        if COOKIE in request.cookies:
            _set(response, "", 0)

    def _drop(self, request: web.BaseRequest) -> None:
        self._of.pop(_key(request), None)

    def _make_room(self, user: str) -> None:
        now = self._clock()
        for key in [key for key, each in self._of.items() if each.until <= now]:
            del self._of[key]
        own = [key for key, each in self._of.items() if each.user == user]
        for key in own[: max(0, len(own) - _MOST_OF_ONE + 1)]:
            del self._of[key]
        while len(self._of) >= _MOST:
            self._of.popitem(last=False)


def _set(response: web.StreamResponse, value: str, seconds: int) -> None:
    response.set_cookie(COOKIE, value, max_age=seconds, path="/", secure=True, httponly=True, samesite="Strict")


def _key(request: web.BaseRequest) -> bytes:
    return _hashed(request.cookies.get(COOKIE, "")[: _LONGEST_TOKEN + 1])


def _hashed(name: str) -> bytes:
    """What is looked up takes no longer the more of it was guessed."""
    return blake2b(name.encode("utf-8", "replace"), digest_size=32).digest()


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


__all__ = ["LOGIN", "LOGOUT", "ask", "browses", "own_path"]

LOGIN, LOGOUT = "/login", "/logout"
_LONGEST = 2000  # characters of a path that is kept


def browses(request: web.BaseRequest) -> bool:
    """Whether somebody looks at it in a browser, so that a form is an answer."""
    wanted = ",".join(request.headers.getall("Accept", []))
    shown = not request.path.startswith("/api/") and request.path != "/metrics"
    return shown and request.method in ("GET", "HEAD") and accepts(wanted, "text/html") > 0


async def ask(
    request: web.Request, status: int, sentence: str = "", *, user: str = "", to: str | None = None
) -> web.StreamResponse:
    """`sentence` is what went wrong; `user` is who is logged in, and may not see this; `to` is the page afterwards."""
    values = {
        "sentence": sentence,
        "user": user,
        "next": own_path(request.path_qs if to is None else to),
        # A browser sends the cookie of a session only from a page of this site, so one that comes from
        # elsewhere asks once more from here.
        "arrives": status == web.HTTPUnauthorized.status_code and not sentence and _arrives(request),
    }
    return await page_of(request, "login.html", values, status)


def _arrives(request: web.BaseRequest) -> bool:
    """Whether it follows a link on a page of another site."""
    return request.method == "GET" and request.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site")


def own_path(text: str) -> str:
    """The path of a page here; that of the overview for anything else, such as the address of another site."""
    plain = text.isascii() and text.isprintable() and "\\" not in text and len(text) <= _LONGEST
    if not plain or not text.startswith("/") or text.startswith("//"):
        return "/"
    return "/" if text.partition("?")[0] in (LOGIN, LOGOUT) else text
