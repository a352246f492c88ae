"""What tells a form of our own page from one that somebody else made a browser send.

A browser that has a token of the API server, by Basic authentication or a cookie, sends it along with whatever form it
is made to submit. So each form has a text that only a page which was served to that token can have: it is made with the
token as the key, of what the form does and of when it was made. It is of no use with another token, for another act, or
an hour later, and every replica takes it, since none has to remember it. That it does something once is for whoever
carries it out to see to: the sidecar.
"""

from __future__ import annotations

import hmac
from hashlib import sha256

from aiohttp import web

LASTS = 3600  # seconds
_LONGEST = 12  # digits of when


def form_token(token: str, act: tuple[str, ...], now: float) -> str:
    """`token` is that of the API server by which the page was asked for."""
    return f"{int(now)}.{_digest(token, act, int(now))}"


def refusal(
    request: web.BaseRequest, token: str, act: tuple[str, ...], given: str, now: float
) -> tuple[int, str] | None:
    """Status and sentence for a form that is not ours, or is too old."""
    if not _from_here(request) or request.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
        return 403, "the form was not sent by a page of the steward; open the page itself, and send it from there"
    at = made_at(given)
    if not hmac.compare_digest(given.partition(".")[2].encode(), _digest(token, act, at).encode()):
        return 403, "the form was not made for you, or not for this; load the page again, and send it from there"
    if not now - LASTS <= at <= now + LASTS:
        return 403, "the form is older than an hour; load the page again, and send it from there"
    return None


def made_at(given: str) -> int:
    """When a form was made, in seconds since 1970; 0 for what is none."""
    made = given.partition(".")[0]
    return int(made) if made.isascii() and made.isdecimal() and len(made) <= _LONGEST else 0


def _from_here(request: web.BaseRequest) -> bool:
    """Whether the page that sent it is one of the host that is asked. A proxy in front may end TLS before us; where we
    have TLS ourselves, no page without it is ours.
    """
    scheme, _, host = request.headers.get("Origin", "").lower().partition("://")
    return scheme in (("https",) if request.secure else ("https", "http")) and host == request.host.lower()


def _digest(token: str, act: tuple[str, ...], at: int) -> str:
    text = "\0".join(("steward form", str(at), *act))
    return hmac.new(token.encode(), text.encode(), sha256).hexdigest()
