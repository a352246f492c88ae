"""Who may see what: asked of the API server before a request is answered, by whose token it has.

Whoever may get `findings.steward.kubevirt-steward.io` sees everything but the metrics, whoever may get the path
/metrics sees these. Anybody else is a tenant, who sees the findings of the namespaces in which they may list VMs, at
the paths that are for tenants. Without an answer of the API server, and without an earlier decision, nobody is let in.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import secrets
import shlex
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable
from hashlib import blake2b

from aiohttp import web

from ...kube.errors import KubeError
from ...kube.reviews import Attributes, Path, Resource, Reviews, User
from ..server.query import values_of
from ..server.rooms import SharedPlaces, most_connections, take
from ..server.sending import error, later
from .browsers import Sessions, ask, browses
from .decisions import BusyError, Outage, Remembered, Times
from .viewer import EVERY_NAMESPACE, Visible, see, sign_in

# The token of a request: as a bearer token, as the password of Basic authentication, or from a proxy in front.

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


# How much the API server is asked about one address that guesses tokens, or one user: nobody is to keep it busy.

_MOST = 1024  # addresses, or users


class Allowances:
    def __init__(self, burst: float, a_second: float, clock: Callable[[], float]) -> None:
        """For each so many questions at once, and so many a second after that; `clock` is in seconds."""
        self._burst, self._a_second, self._clock = burst, a_second, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # how many may come, and when that was

    def may_ask(self, who: str) -> bool:
        return self._now(who) >= 1.0

    def asked(self, who: str) -> None:
        self._left[who] = self._now(who) - 1.0, self._clock()
        self._left.move_to_end(who)
        while len(self._left) > _MOST:
            self._left.popitem(last=False)

    def _now(self, who: str) -> float:
        left, since = self._left.get(who, (self._burst, 0.0))
        return min(self._burst, left + (self._clock() - since) * self._a_second)


# How somebody who is not served is answered: what is missing, and the command that grants it.

_BASIC = 'Basic realm="kubevirt-steward: the password is a token", charset="UTF-8"'
_UNKNOWN = (
    "a bearer token that the API server accepts is required. Create one: `kubectl create token NAME -n NAMESPACE` for "
    "a ServiceAccount. In a browser, enter it as the password, with any user name"
)


def unknown(request: web.Request) -> web.Response:
    response = error(request, 401, _UNKNOWN)
    response.headers.add("WWW-Authenticate", 'Bearer realm="kubevirt-steward"')
    if not request.path.startswith("/api/") and request.path != "/metrics":
        response.headers.add("WWW-Authenticate", _BASIC)  # a browser then asks for it
    return response


def denied(request: web.Request, user: User, what: str, command: str) -> web.Response:
    missing = f"{user.name} has no permission to {what}"
    return error(request, 403, f"{missing}. A cluster administrator can grant it: {command}")


def cluster_binding(user: User, role: str) -> str:
    return f"kubectl create clusterrolebinding {role}-{_short(user)} --clusterrole={role} {_subject(user)}"


def binding(user: User) -> str:
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


METRICS = Path("/metrics")
FINDINGS = Resource("steward.kubevirt-steward.io", "findings", "get")
_VMS = Resource("kubevirt.io", "virtualmachines", "list")

_MOST_TOKENS = 4096
_MOST_DECISIONS = 16_384
_MOST_TENANTS = 256
_MOST_NAMED = 50  # namespaces in one request
_SEARCHES = 2  # tenants at once whose namespaces are looked for
_AT_ONCE = 16  # namespaces of one tenant
_WRONG = 50.0, 5.0  # tokens of one address at once, and a second
_ASKED = 100.0, 10.0  # namespaces that one user names, at once and a second
_SHARE = 8  # of the connections one user, or an address that nobody asks, may have so small a part in use
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")  # of names
_LONGEST_NAME = 63  # of a namespace
_UNANSWERED = (
    "the API server couldn't be asked for your identity and permissions. Try again in some seconds. "
    'The cause is in the log of the steward, in events "token review failed" and "access review failed"'
)
_BUSY = (
    "too many requests by your user or from your address are waiting for the API server's decision. "
    "Try again in some seconds"
)
_ENDED = "Your session has ended: the API server rejects its token. Log in again."
_FULL = (
    "too many requests by your user or from your address are in progress. Wait for their responses, or try again in "
    "some seconds"
)


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
        sessions: Sessions | None = None,
        token_header: str | None = None,
        times: Times | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`tenants` are the paths that tenants may ask for, `others` those that have an authentication of their own, as
        the routes have them; `namespaces` gives all that are known, `uid_of` the UID of one, and `listed` whether those
        are all there are. A decision on a namespace is not one on another that has its name later. With `sessions` a
        browser is asked for its token by a form; `token_header` is where a proxy in front puts that of its user.
        """
        self._reviews, self._tenants, self._others, self._namespaces = reviews, tenants, others, namespaces
        self._uid_of, self._listed, self._sessions, self._header = uid_of, listed, sessions, token_header
        times = times or Times()
        tokens, permissions = Outage("token", clock), Outage("access", clock)
        self._key = secrets.token_bytes(32)

        def users() -> Remembered[bytes, User | None]:
            return Remembered(lambda user: times.user if user else times.stranger, tokens, times, _MOST_TOKENS)

        def decisions() -> Remembered[tuple[User, Attributes, str], bool]:
            return Remembered(
                lambda allowed: times.allowed if allowed else times.denied, permissions, times, _MOST_DECISIONS
            )

        self._users, self._decisions = users(), decisions()
        # Of their own: whoever asks for anything else holds up no scrape, be it the first one.
        self._scrapers, self._scrapes = users(), decisions()
        self._visible = Remembered[tuple[User, bool], frozenset[tuple[str, str]]](
            lambda names: times.namespaces if names else times.denied, permissions, times, _MOST_TENANTS
        )
        self._strangers, self._scraping = Allowances(*_WRONG, clock), Allowances(*_WRONG, clock)
        self._naming = Allowances(*_ASKED, clock)
        places = max(2, most_connections() // _SHARE)
        self._rooms, self._unasked = SharedPlaces(places), SharedPlaces(places)  # by user, and by address
        self._searches = asyncio.Semaphore(_SEARCHES)

    async def __call__(self, request: web.Request) -> web.StreamResponse | None:
        resource = request.match_info.route.resource
        path = resource.canonical if resource else ""
        if path in self._others:
            return None if take(request, self._unasked, request.remote) else later(request, 429, _FULL)
        token = token_of(request, self._header)
        session = self._sessions.token_of(request) if self._sessions and token is None else None
        try:
            user = await self.user(token or session or "", request.remote or "", scrape=path == METRICS.path)
            if user is None:
                return await self._stranger(request, ended=session is not None)
            if not take(request, self._rooms, (user, path == METRICS.path)):
                return later(request, 429, _FULL)
            if session:
                sign_in(request, user.name)
            stopped = await self._decided(request, path, user)
            if isinstance(stopped, web.Response) and stopped.status == 403 and session and browses(request):
                return await ask(request, 403, stopped.text or "", user=user.name)
            return stopped
        except BusyError:
            return later(request, 429, _BUSY)
        except KubeError:
            return later(request, 503, _UNANSWERED)

    async def _stranger(self, request: web.Request, *, ended: bool) -> web.StreamResponse:
        """Asks a browser for a token; `ended` says that the one of its session is accepted no more."""
        if self._sessions is None or not browses(request):
            return unknown(request)
        return await ask(request, 401, _ENDED if ended else "")

    async def aclose(self) -> None:
        """From now on the API server is not asked."""
        for each in (self._visible, self._decisions, self._users, self._scrapes, self._scrapers):
            await each.aclose()

    async def user(self, token: str, address: str, *, scrape: bool = False) -> User | None:
        """Whose a token is that came from this address. Raises KubeError where that can't be found out."""
        if not token:
            return None
        key = blake2b(token.encode(), key=self._key, digest_size=32).digest()
        users = self._scrapers if scrape else self._users
        strangers = self._scraping if scrape else self._strangers
        known = users.knows(key)

        async def ask() -> User | None:
            if known:
                return await self._reviews.user(token, "known", address)
            if not strangers.may_ask(address):
                raise BusyError("too many wrong tokens came from that address")
            user = await self._reviews.user(token, "metrics" if scrape else "", address)
            if user is None:
                strangers.asked(address)
            return user

        return await users.get(key, ask, address)

    async def _may(self, user: User, attributes: Attributes, uid: str = "") -> bool:
        """`uid` is that of the namespace, where it is about one."""
        named = isinstance(attributes, Resource) and bool(attributes.namespace)
        scrape = attributes == METRICS

        async def ask() -> bool:
            if named and not self._naming.may_ask(user.name):
                raise BusyError("too many namespaces were asked for")
            if named:
                self._naming.asked(user.name)
            return await self._reviews.allowed(user, attributes, "namespaces" if named else "metrics" if scrape else "")

        decisions = self._scrapes if scrape else self._decisions
        return await decisions.get((user, attributes, uid), ask, user.name)

    async def _decided(self, request: web.Request, path: str, user: User) -> web.StreamResponse | None:
        if path == METRICS.path:
            if await self._may(user, METRICS):
                return None
            return denied(request, user, "get the path /metrics", cluster_binding(user, "steward-metrics-reader"))
        if await self._may(user, FINDINGS):
            return None
        wanted = "get findings.steward.kubevirt-steward.io"
        if path not in self._tenants:
            return denied(request, user, wanted, cluster_binding(user, "steward-viewer"))
        named = set(values_of(request, "namespace"))
        if len(named) > _MOST_NAMED:
            most = f"The limit is {_MOST_NAMED}"
            return error(request, 400, f"{len(named)} namespaces are too many for one request. {most}")
        visible = await (self._of(user, named) if named else self._all_of(user))
        if visible.names is not None and not visible.names:
            where = "the namespaces asked for" if named else "any namespace"
            wanted = f"{wanted}, nor list virtualmachines.kubevirt.io in {where}"
            return denied(request, user, wanted, binding(user))
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
        found = await self._visible.get((user, self._listed()), lambda: self._searched(user), user.name)
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
