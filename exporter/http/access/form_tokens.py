"""What tells a form of our own page from one that somebody else made a browser send.

A browser that has a token of the API server, by Basic authentication or a cookie, sends it along with whatever form it
is made to submit. So each form has a text that only a page which was served to that token can have: it is made with the
token as the key, of what the form does and of when it was made. It is of no use with another token, for another act, or
an hour later, and every replica takes it, since none has to remember it.
"""

from __future__ import annotations

import hmac
from hashlib import sha256

from aiohttp import web

__all__ = ["LASTS", "form_token", "refusal"]

LASTS = 3600  # seconds
_LONGEST = 12  # digits of when


def form_token(token: str, act: tuple[str, ...], now: float) -> str:
    """`token` is that of the API server by which the page was asked for."""
    return f"{int(now)}.{_digest(token, act, int(now))}"


def refusal(
    request: web.BaseRequest, token: str, act: tuple[str, ...], given: str, now: float
) -> tuple[int, str] | None:
    """Status and sentence for a form that is not ours, or is too old."""
    origin, site = request.headers.get("Origin"), request.headers.get("Sec-Fetch-Site", "same-origin")
    if origin is None or site != "same-origin":
        return 403, "the form was not sent by a page of the steward; open the page itself, and send it from there"
    made, _, digest = given.partition(".")
    at = int(made) if made.isascii() and made.isdecimal() and len(made) <= _LONGEST else 0
    if not hmac.compare_digest(digest.encode(), _digest(token, act, at).encode()):
        return 403, "the form was not made for you, or not for this; load the page again, and send it from there"
    if not now - LASTS <= at <= now + LASTS:
        return 403, "the form is older than an hour; load the page again, and send it from there"
    return None


def _digest(token: str, act: tuple[str, ...], at: int) -> str:
    text = "\0".join(("steward form", str(at), *act))
    return hmac.new(token.encode(), text.encode(), sha256).hexdigest()
