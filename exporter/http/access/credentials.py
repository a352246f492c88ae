"""The token of a request: as a bearer token, as the password of Basic authentication, or from a proxy in front."""

from __future__ import annotations

import base64
import binascii

from aiohttp import web

_LONGEST = 8000  # characters


def token_of(request: web.BaseRequest, header: str | None = None) -> str | None:
    """None where there is no token, more than one, or what can't be one. `header` is that in which a proxy puts it;
    what is there goes before Authorization, in which such proxies may put something else.
    """
    if header and (handed := request.headers.getall(header, [])):
        return handed[0] if len(handed) == 1 and is_token(handed[0]) else None
    given = request.headers.getall("Authorization", [])
    if len(given) != 1 or len(given[0]) > 2 * _LONGEST:
        return None
    scheme, _, sent = given[0].partition(" ")
    token = sent.strip(" ")
    if scheme.lower() == "basic":
        token = _password(token)
    elif scheme.lower() != "bearer":
        return None
    return token if is_token(token) else None


def is_token(text: str) -> bool:
    """Whether it can be one."""
    return 0 < len(text) <= _LONGEST and text.isascii() and text.isprintable() and " " not in text


def _password(sent: str) -> str:
    """Empty where there is none. The name of the user can be any."""
    try:
        return base64.b64decode(sent, validate=True).decode("ascii").partition(":")[2]
    except (binascii.Error, ValueError):
        return ""
