"""The token of a request: as a bearer token, or from a browser as the password of Basic authentication."""

from __future__ import annotations

import base64
import binascii
import re

from aiohttp import web

__all__ = ["token_of"]

_LONGEST = 8000  # characters
_TOKEN = re.compile(r"[\x21-\x7e]+")


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
    return token if len(token) <= _LONGEST and _TOKEN.fullmatch(token) else None


def _password(sent: str) -> str:
    """Empty where there is none. The name of the user can be any."""
    try:
        return base64.b64decode(sent, validate=True).decode("ascii").partition(":")[2]
    except (binascii.Error, ValueError):
        return ""
