"""Sessions of browsers that logged in by the form: the cookie is a random id, and the token stays in this process.

A session ends when it is logged out of, after a set time, when the API server accepts its token no more, and with this
process. An id that nobody was given here is none, so that nobody can be given one beforehand.
"""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b

from aiohttp import web

COOKIE = "__Host-steward"
"""With this prefix a browser takes it only over TLS, for this host alone and for all its paths."""
_MOST = 4096
_MOST_OF_ONE = 16  # of one user; the oldest one ends
_BYTES = 32  # of an id
_LONGEST = 64  # characters of one


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
    return _hashed(request.cookies.get(COOKIE, "")[: _LONGEST + 1])


def _hashed(name: str) -> bytes:
    """What is looked up takes no longer the more of it was guessed."""
    return blake2b(name.encode("utf-8", "replace"), digest_size=32).digest()
