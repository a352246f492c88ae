"""/login and /logout: a browser gets a session for a token that the API server accepts.

What a form of another site sends never comes here: it has that site's Origin, which is refused at the door.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import parse_qs

from aiohttp import web

from ...kube.errors import KubeError
from ...kube.reviews import User
from ..server.connections import body_of
from ..server.sending import as_text
from .access import is_token
from .browsers import LOGIN, LOGOUT, Sessions, ask, own_path
from .decisions import BusyError

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_LONGEST = 1 << 15  # bytes of a form
_PATIENCE = 10.0  # seconds in which it has to arrive
_WRONG = "The API server rejects this token. It expired or belongs to another cluster. Create a new one."
_NONE = "Invalid token. Paste the complete token and nothing else."
_BUSY = "Too many wrong tokens came from your address. Try again in some seconds."
_AWAY = "The API server couldn't be asked to review this token. Try again in some seconds."


class Login:
    def __init__(self, user_of: Callable[[str, str], Awaitable[User | None]], sessions: Sessions) -> None:
        """`user_of` a token that came from an address."""
        self._user_of, self._sessions = user_of, sessions

    @property
    def gets(self) -> dict[str, Handler]:
        return {LOGIN: self._form}

    @property
    def posts(self) -> dict[str, Handler]:
        return {LOGIN: self._enter, LOGOUT: self._leave}

    async def _form(self, request: web.Request) -> web.StreamResponse:
        return await ask(request, 200, to=request.query.get("next", "/"))

    async def _enter(self, request: web.Request) -> web.StreamResponse:
        sent = await _sent(request)
        if sent is None:
            return as_text(413, f"a form can have {_LONGEST} bytes and must arrive within {_PATIENCE:.0f} seconds")
        to = own_path(sent.get("next", "/"))
        token = "".join(sent.get("token", "").split())  # what is copied from a terminal may be in several lines
        if not is_token(token):
            return await ask(request, 400, _NONE, to=to)
        try:
            user = await self._user_of(token, request.remote or "")
        except BusyError:
            return await ask(request, 429, _BUSY, to=to)
        except KubeError:
            return await ask(request, 503, _AWAY, to=to)
        if user is None:
            return await ask(request, 401, _WRONG, to=to)
        response = web.Response(status=303, headers={"Location": to})
        self._sessions.begin(request, response, token, user.name)
        return response

    async def _leave(self, request: web.Request) -> web.StreamResponse:
        response = web.Response(status=303, headers={"Location": LOGIN})
        self._sessions.end(request, response)
        return response


async def _sent(request: web.Request) -> dict[str, str] | None:
    """None where it is too long or too slow."""
    try:
        body = await body_of(request, _LONGEST, _PATIENCE)
    except (TimeoutError, ValueError):
        return None
    return {name: values[0] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}
