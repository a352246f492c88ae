"""Who looks: somebody who may see everything, or a tenant, who sees the findings of some namespaces."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web


@dataclass(frozen=True)
class Visible:
    """The namespaces that a tenant may see; all of them where `names` is None. What has no namespace is in none."""

    names: frozenset[str] | None

    def __contains__(self, namespace: object) -> bool:
        return bool(namespace) and (self.names is None or namespace in self.names)


EVERY_NAMESPACE = Visible(None)
_VISIBLE = web.RequestKey("visible", Visible)
_SIGNED_IN = web.RequestKey("signed_in", str)


def see(request: web.BaseRequest, visible: Visible) -> None:
    """From now on the request is that of a tenant."""
    request[_VISIBLE] = visible


def visible_to(request: web.BaseRequest) -> Visible | None:
    """What a tenant may see; None for whoever sees everything."""
    return request.get(_VISIBLE)


def sign_in(request: web.BaseRequest, name: str) -> None:
    """From now on the request is one of the session of this user."""
    request[_SIGNED_IN] = name


def signed_in(request: web.BaseRequest) -> str:
    """The name of the user whose session it is; empty for whoever sends a token with each request."""
    name: str = request.get(_SIGNED_IN, "")
    return name
