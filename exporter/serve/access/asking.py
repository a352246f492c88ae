"""The form that asks a browser for a token, and where it leads afterwards."""

from __future__ import annotations

from aiohttp import web

from ..html.rendering import page_of
from ..server.sending import accepts

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
