"""Who may see what: asked of the API server before a request is answered, by whose token it has.

Whoever may get `findings.steward.kubevirt-steward.io` sees everything but the metrics, whoever may get the path
/metrics sees these. Anybody else is a tenant, who sees the findings of the namespaces in which they may list VMs, at
the paths that are for tenants. Without an answer of the API server, and without an earlier decision, nobody is let in.
"""

from __future__ import annotations

import asyncio
import secrets
import shlex
import time
from collections.abc import Callable, Collection, Iterable
from hashlib import blake2b

from aiohttp import web

from ..kube.errors import KubeError
from ..kube.reviews import Attributes, Path, Resource, Reviews, User
from .answers import error
from .credentials import token_of
from .query import values_of
from .remembered import BusyError, Outage, Remembered, Times
from .strangers import Strangers
from .viewer import EVERY_NAMESPACE, Visible, see

__all__ = ["Access"]

METRICS = Path("/metrics")
FINDINGS = Resource("steward.kubevirt-steward.io", "findings", "get")
_VMS = Resource("kubevirt.io", "virtualmachines", "list")

_MOST_TOKENS = 4096
_MOST_DECISIONS = 16_384
_MOST_TENANTS = 256
_MOST_NAMED = 50  # namespaces in one request
_SEARCHES = 2  # tenants at once whose namespaces are looked for
_AT_ONCE = 16  # namespaces of one tenant
_RETRY_AFTER = 5  # seconds
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")  # of names
_LONGEST_NAME = 63  # of a namespace
_BASIC = 'Basic realm="kubevirt-steward: the password is a token", charset="UTF-8"'
_UNKNOWN = (
    "a bearer token that the API server accepts is needed, such as that of `kubectl create token NAME -n NAMESPACE` "
    "for a ServiceAccount; a browser takes it as the password, with any user name"
)
_UNANSWERED = (
    "the API server could not be asked who you are and what you may see; try again in some seconds; "
    'if it stays so, event="access unknown" in the log of the steward says why'
)
_BUSY = "too many requests with tokens that are not known wait, or came from your address; try again in some seconds"


class Access:
    """The guard of a server."""

    def __init__(
        self,
        reviews: Reviews,
        *,
        tenants: Collection[str] = (),
        others: Collection[str] = (),
        namespaces: Callable[[], Iterable[str]] = lambda: (),
        uid_of: Callable[[str], str] = lambda _: "",
        listed: Callable[[], bool] = lambda: True,
        times: Times | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`tenants` are the paths that tenants may ask for, `others` those that have an authentication of their own, as
        the routes have them; `namespaces` gives all that are known, `uid_of` the UID of one, and `listed` whether those
        are all there are. A decision on a namespace is not one on another that has its name later.
        """
        self._reviews, self._tenants, self._others, self._namespaces = reviews, tenants, others, namespaces
        self._uid_of, self._listed = uid_of, listed
        times = times or Times()
        tokens, permissions = Outage("token", clock), Outage("access", clock)
        self._key = secrets.token_bytes(32)
        self._users = Remembered[bytes, User | None](
            lambda user: times.user if user else times.stranger, tokens, times, _MOST_TOKENS
        )
        self._decisions = Remembered[tuple[User, Attributes, str], bool](
            lambda allowed: times.allowed if allowed else times.denied, permissions, times, _MOST_DECISIONS
        )
        self._visible = Remembered[tuple[User, bool], frozenset[tuple[str, str]]](
            lambda names: times.namespaces if names else times.denied, permissions, times, _MOST_TENANTS
        )
        self._strangers = Strangers(clock)
        self._searches = asyncio.Semaphore(_SEARCHES)

    async def __call__(self, request: web.Request) -> web.StreamResponse | None:
        resource = request.match_info.route.resource
        path = resource.canonical if resource else ""
        if path in self._others:
            return None
        token = token_of(request)
        if token is None:
            return _unknown(request)
        try:
            user = await self._user(token, request.remote or "")
            if user is None:
                return _unknown(request)
            return await self._decided(request, path, user)
        except BusyError:
            return _later(request, 429, _BUSY)
        except KubeError:
            return _later(request, 503, _UNANSWERED)

    async def aclose(self) -> None:
        """From now on the API server is not asked."""
        for each in (self._visible, self._decisions, self._users):
            await each.aclose()

    async def _user(self, token: str, address: str) -> User | None:
        key = blake2b(token.encode(), key=self._key, digest_size=32).digest()
        known = self._users.knows(key)

        async def ask() -> User | None:
            if known:
                return await self._reviews.user(token, "known")
            if not self._strangers.may_ask(address):
                raise BusyError("too many wrong tokens came from there")
            user = await self._reviews.user(token)
            if user is None:
                self._strangers.was_wrong(address)
            return user

        return await self._users.get(key, ask)

    async def _may(self, user: User, attributes: Attributes, uid: str = "") -> bool:
        """`uid` is that of the namespace, where it is about one."""
        queue = "namespaces" if isinstance(attributes, Resource) and attributes.namespace else ""
        return await self._decisions.get(
            (user, attributes, uid), lambda: self._reviews.allowed(user, attributes, queue)
        )

    async def _decided(self, request: web.Request, path: str, user: User) -> web.StreamResponse | None:
        if path == METRICS.path:
            if await self._may(user, METRICS):
                return None
            return _denied(request, user, "get the path /metrics", _cluster_binding(user, "steward-metrics-reader"))
        if await self._may(user, FINDINGS):
            return None
        wanted = "get findings.steward.kubevirt-steward.io"
        if path not in self._tenants:
            return _denied(request, user, wanted, _cluster_binding(user, "steward-viewer"))
        named = set(values_of(request, "namespace"))
        if len(named) > _MOST_NAMED:
            return error(request, 400, f"{len(named)} namespaces are too many for one request; {_MOST_NAMED} are not")
        visible = await (self._of(user, named) if named else self._all_of(user))
        if visible.names is not None and not visible.names:
            where = "the namespaces asked for" if named else "any namespace"
            wanted = f"{wanted}, nor list virtualmachines.kubevirt.io in {where}"
            return _denied(request, user, wanted, _binding(user))
        see(request, visible)
        return None

    async def _of(self, user: User, named: Collection[str]) -> Visible:
        """Of the namespaces that are asked for."""
        if await self._may(user, _VMS):
            return EVERY_NAMESPACE
        return Visible(frozenset([name for name in named if await self._lists(user, name)]))

    async def _all_of(self, user: User) -> Visible:
        if await self._may(user, _VMS):
            return EVERY_NAMESPACE
        found = await self._visible.get((user, self._listed()), lambda: self._searched(user))
        return Visible(frozenset([name for name, uid in found if self._uid_of(name) == uid]))

    async def _lists(self, user: User, namespace: str) -> bool:
        if not _is_name(namespace):
            return False
        return await self._may(user, _vms_in(namespace), self._uid_of(namespace))

    async def _searched(self, user: User) -> frozenset[tuple[str, str]]:
        """Names and UIDs. Not by way of `_may`: many denials of one tenant would push out the decisions of others."""
        found: set[tuple[str, str]] = set()
        async with self._searches:
            known = sorted((name, self._uid_of(name)) for name in self._namespaces())
            for some in (known[at : at + _AT_ONCE] for at in range(0, len(known), _AT_ONCE)):
                asked = (self._reviews.allowed(user, _vms_in(name), "namespaces") for name, _ in some)
                answers = await asyncio.gather(*asked)
                found.update(each for each, allowed in zip(some, answers, strict=True) if allowed)
        return frozenset(found)


def _is_name(text: str) -> bool:
    """Whether a namespace can have it."""
    ends = {text[:1], text[-1:]} <= _PLAIN
    return 0 < len(text) <= _LONGEST_NAME and ends and _PLAIN.issuperset(text.replace("-", ""))


def _vms_in(namespace: str) -> Resource:
    return Resource(_VMS.group, _VMS.resource, _VMS.verb, namespace)


def _later(request: web.Request, status: int, sentence: str) -> web.Response:
    response = error(request, status, sentence)
    response.headers["Retry-After"] = str(_RETRY_AFTER)
    return response


def _unknown(request: web.Request) -> web.Response:
    response = error(request, 401, _UNKNOWN)
    response.headers.add("WWW-Authenticate", 'Bearer realm="kubevirt-steward"')
    if not request.path.startswith("/api/") and request.path != METRICS.path:
        response.headers.add("WWW-Authenticate", _BASIC)  # a browser then asks for it
    return response


def _denied(request: web.Request, user: User, what: str, command: str) -> web.Response:
    return error(request, 403, f"{user.name} may not {what}; an admin of the cluster can grant it: {command}")


def _cluster_binding(user: User, role: str) -> str:
    return f"kubectl create clusterrolebinding {role}-{_short(user)} --clusterrole={role} {_subject(user)}"


def _binding(user: User) -> str:
    role = "kubevirt.io:view"
    return f"kubectl create rolebinding view-vms-{_short(user)} -n NAMESPACE --clusterrole={role} {_subject(user)}"


def _subject(user: User) -> str:
    kind, _, rest = user.name.removeprefix("system:").partition(":")
    if kind == "serviceaccount" and rest.count(":") == 1 and user.name.startswith("system:"):
        return shlex.quote(f"--serviceaccount={rest}")
    return shlex.quote(f"--user={user.name}")


def _short(user: User) -> str:
    """What of the name can be in the name of an object. ServiceAccounts of many namespaces have the same name."""
    name = user.name.removeprefix("system:serviceaccount:")
    plain = "".join(each if each in _PLAIN else " " for each in name.lower())
    return "-".join(plain.split())[:130].strip("-") or "user"
