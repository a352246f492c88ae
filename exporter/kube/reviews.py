"""Who somebody is, and what they may do: TokenReviews, SubjectAccessReviews, and those of oneself.

These are the only POST requests of the exporter. The API server keeps nothing of them.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import msgspec

from .errors import MALFORMED, KubeError, MalformedError, UnreachableError
from .get_json import whole
from .transport import Transport

_BYTES = 1 << 20  # of an answer
_AT_ONCE = 8  # reviews of each queue
_SECONDS = 5.0

_ANONYMOUS, _UNAUTHENTICATED = "system:anonymous", "system:unauthenticated"
ALLOWED, DENIED, ERROR = "allowed", "denied", "error"


class User(msgspec.Struct, frozen=True):
    """As the API server knows whoever has a token; all of it is given back when it is asked what they may do."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


class Path(msgspec.Struct, frozen=True):
    """To get a path that is no resource of the API."""

    path: str

    @property
    def fields(self) -> dict[str, Any]:
        return {"nonResourceAttributes": {"path": self.path, "verb": "get"}}


class Resource(msgspec.Struct, frozen=True):
    """An empty namespace means all of them."""

    group: str
    resource: str
    verb: str
    namespace: str = ""

    @property
    def fields(self) -> dict[str, Any]:
        return {"resourceAttributes": msgspec.structs.asdict(self)}


Attributes = Path | Resource


class _User(msgspec.Struct, frozen=True):
    username: str | None = None
    uid: str | None = None
    groups: list[str] | None = None
    extra: dict[str, list[str] | None] | None = None


class _TokenStatus(msgspec.Struct, frozen=True):
    authenticated: bool | None = None
    user: _User | None = None


class _TokenReview(msgspec.Struct, frozen=True):
    status: _TokenStatus = _TokenStatus()


class _AccessStatus(msgspec.Struct, frozen=True):
    allowed: bool | None = None
    denied: bool | None = None


class _AccessReview(msgspec.Struct, frozen=True):
    status: _AccessStatus = _AccessStatus()


_Answer = TypeVar("_Answer", _TokenReview, _AccessReview)


class _Self(msgspec.Struct):
    username: str


class _SelfStatus(msgspec.Struct, rename="camel"):
    user_info: _Self


class _SelfReview(msgspec.Struct):
    status: _SelfStatus


class _Turns:
    """So many at once. Those who wait have their turns by whom they are of: whoever has many holds up nobody else."""

    def __init__(self, at_once: int) -> None:
        self._free = at_once
        self._lines: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()  # whose turn is next comes first

    @asynccontextmanager
    async def of(self, who: str) -> AsyncIterator[None]:
        if self._free:
            self._free -= 1
        else:
            mine = asyncio.get_running_loop().create_future()
            self._lines.setdefault(who, deque()).append(mine)
            try:
                await mine
            except asyncio.CancelledError:
                if not mine.cancelled():  # the turn came at the same time
                    self._next()
                raise
        try:
            yield
        finally:
            self._next()

    def _next(self) -> None:
        while self._lines:
            who, line = self._lines.popitem(last=False)
            first = line.popleft()
            if line:
                self._lines[who] = line
            if not first.done():
                first.set_result(None)
                return
        self._free += 1


class Reviews:
    """`counts` has the reviews by which it is, token or access, and their result: allowed, denied or error."""

    def __init__(self, transport: Transport, *, seconds: float = _SECONDS, at_once: int = _AT_ONCE) -> None:
        """`seconds` is the longest time for one review, that in which it waits for others included."""
        self._transport, self._seconds = transport, seconds
        # Of its own each queue: whoever sends many wrong tokens holds up nobody whose token is known.
        self._turns = defaultdict[tuple[str, str], _Turns](lambda: _Turns(at_once))
        self.counts: Counter[tuple[str, str]] = Counter()

    async def user(self, token: str, queue: str = "", who: str = "") -> User | None:
        """Whose token it is; None where the API server does not accept it, or takes it for nobody's. It waits for
        others of its queue only, and has its turn by `who` asks, such as an address. Raises KubeError.
        """
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        status = (await self._asked("token", queue, who, body, _TokenReview)).status
        user = status.user
        known = status.authenticated is True and user is not None and bool(user.username)
        if user is not None and (user.username == _ANONYMOUS or _UNAUTHENTICATED in (user.groups or ())):
            known = False  # it looked at no token
        self.counts["token", ALLOWED if known else DENIED] += 1
        if not known or user is None:
            return None
        extra = sorted((key, tuple(values or ())) for key, values in (user.extra or {}).items())
        return User(user.username or "", user.uid or "", tuple(user.groups or ()), tuple(extra))

    async def allowed(self, user: User, attributes: Attributes, queue: str = "") -> bool:
        """Raises KubeError."""
        spec: dict[str, Any] = {"user": user.name, "uid": user.uid, "groups": list(user.groups)}
        spec |= {"extra": {key: list(values) for key, values in user.extra}, **attributes.fields}
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        status = (await self._asked("access", queue, user.name, body, _AccessReview)).status
        allowed = status.allowed is True and status.denied is not True
        self.counts["access", ALLOWED if allowed else DENIED] += 1
        return allowed

    async def _asked(self, review: str, queue: str, who: str, body: dict[str, Any], answer: type[_Answer]) -> _Answer:
        plural = f"{body['kind'].lower()}s"
        path = f"/apis/{body['apiVersion']}/{plural}"
        try:
            async with (
                asyncio.timeout(self._seconds),
                self._turns[review, queue].of(who),
                self._transport.open("POST", path, read_seconds=self._seconds, body=body) as response,
            ):
                content = await whole(response, _BYTES)
            return msgspec.json.decode(content, type=answer)
        except TimeoutError as error:
            self.counts[review, ERROR] += 1
            raise UnreachableError(f"no answer to a request for {plural} within {self._seconds:g} s") from error
        except MALFORMED as error:
            self.counts[review, ERROR] += 1
            raise MalformedError(f"the answer to a request for {plural} can't be decoded: {error}") from error
        except KubeError:
            self.counts[review, ERROR] += 1
            raise


async def own_name(transport: Transport) -> str:
    """The name by which the API server knows whose credentials the transport has. Raises KubeError."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    return (await _of_oneself(transport, body, _SelfReview)).status.user_info.username


async def own_permission(transport: Transport, attributes: Attributes) -> bool:
    """Whether whoever has the credentials of the transport may do something. Raises KubeError."""
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": attributes.fields}
    status = (await _of_oneself(transport, body, _AccessReview)).status
    return status.allowed is True and status.denied is not True


_Own = TypeVar("_Own", _SelfReview, _AccessReview)


async def _of_oneself(transport: Transport, body: dict[str, Any], answer: type[_Own]) -> _Own:
    plural = f"{body['kind'].lower()}s"
    async with transport.open("POST", f"/apis/{body['apiVersion']}/{plural}", read_seconds=10.0, body=body) as response:
        content = await whole(response, _BYTES)
    try:
        return msgspec.json.decode(content, type=answer)
    except MALFORMED as error:
        raise MalformedError(f"the answer to a request for {plural} can't be decoded: {error}") from error
