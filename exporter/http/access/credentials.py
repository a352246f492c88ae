"""The token of a request: as a bearer token, or from a browser as the password of Basic authentication."""

from __future__ import annotations

import base64
import binascii

from aiohttp import web

__all__ = ["token_of"]

_LONGEST = 8000  # characters


def token_of(request: web.BaseRequest) -> str | None:
    """None where there is no token, more than one, or what can't be one."""
    given = request.headers.getall("Authorization", [])
    if len(given) != 1 or len(given[0]) > 2 * _LONGEST:
        return None
    scheme, _, sent = given[0].partition(" ")
    token = sent.strip(" ")
    if scheme.lower() == "basic":
        token = _password(token)
    elif scheme.lower() != "bearer":
        return None
    sound = token.isascii() and token.isprintable() and " " not in token
    return token if 0 < len(token) <= _LONGEST and sound else None


def _password(sent: str) -> str:
    """Empty where there is none. The name of the user can be any."""
    try:
        return base64.b64decode(sent, validate=True).decode("ascii").partition(":")[2]
    except (binascii.Error, ValueError):
        return ""
