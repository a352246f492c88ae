"""What a test makes go wrong: which requests it befalls, how often, and what happens to the answer.

    server.faults.add(Fault("/ipamclaims", watch=True, times=2, cut_after=300))
    server.faults.add(Fault("/pods", watch=False, answer=too_many_requests(retry_after=2)))

The first fault that matches a request is used, once per request; without `times` it stays
until it is removed.

Not here: what an API server does by itself on request. Old versions (`compact`), a kind
that vanishes (`unserve`) and lost connections (`drop_connections`) are calls of FakeApiServer.
"""

from collections.abc import Callable
from dataclasses import dataclass

from demo.apiserver import errors as demo_errors
from demo.apiserver.calls import ApiCall, PathTarget
from demo.apiserver.errors import ApiError, PlainError

Answer = Callable[[ApiCall, PathTarget | None], ApiError]
"""Makes the refusal of a request; some texts name what was asked for."""

Rewrite = Callable[[bytes], list[bytes]]
"""One line of a watch in, the lines to send instead out."""


@dataclass(eq=False, slots=True, kw_only=True)
class _Effects:
    answer: Answer | None = None
    """Refuses, instead of answering."""
    before: Callable[[], object] | None = None
    """Is called before the answer is made; for data that change between two pages."""
    cut_after: int | None = None
    """Closes the connection after so many bytes of the body."""
    frozen: bool = False
    """Sends the headers, then nothing: the connection stays, events are kept back."""
    drip: float | None = None
    """Sends byte by byte, with so many seconds between them."""
    rewrite: Rewrite | None = None
    """Replaces each line of a watch by others; see twice, Swapped and Garbled."""


@dataclass(eq=False, slots=True)
class Fault(_Effects):
    path: str = ""
    """Befalls requests whose path contains this."""
    method: str = ""
    watch: bool | None = None
    """Watches only, or all but watches."""
    paged: bool | None = None
    """Later pages of a list only, or all but those."""
    skip: int = 0
    """So many matching requests get away."""
    times: int | None = None

    def takes(self, call: ApiCall) -> bool:
        """Whether it befalls this request; counts it if so."""
        if not self._matches(call):
            return False
        if self.skip:
            self.skip -= 1
            return False
        if self.times is not None:
            self.times -= 1
        return True

    def _matches(self, call: ApiCall) -> bool:
        return (
            self.times != 0
            and self.path in call.path
            and self.method in ("", call.method)
            and self.watch in (None, call.watch)
            and self.paged in (None, "continue" in call.query)
        )


class Faults:
    def __init__(self) -> None:
        self._faults: list[Fault] = []

    def add(self, fault: Fault) -> Fault:
        self._faults.append(fault)
        return fault

    def remove(self, fault: Fault) -> None:
        self._faults.remove(fault)

    def clear(self) -> None:
        self._faults.clear()

    def take(self, call: ApiCall) -> Fault | None:
        return next((fault for fault in self._faults if fault.takes(call)), None)


def unauthorized() -> Answer:
    return lambda _call, _target: ApiError(401, "Unauthorized", "Unauthorized")


def forbidden(user: str = "system:serviceaccount:monitoring:steward-exporter") -> Answer:
    """RBAC's refusal, which names verb, resource and scope."""

    def answer(call: ApiCall, target: PathTarget | None) -> ApiError:
        if target is None:
            return ApiError(403, "Forbidden", f'forbidden: User "{user}" cannot get path "{call.path}"', details={})
        resource = target.resource
        named = f' "{target.name}"' if target.name else ""
        scope = f'in the namespace "{target.namespace}"' if target.namespace else "at the cluster scope"
        message = (
            f'{resource.qualified}{named} is forbidden: User "{user}" cannot {_verb(call, target)} '
            f'resource "{resource.plural}" in API group "{resource.group}" {scope}'
        )
        details = {"group": resource.group, "kind": resource.plural} | ({"name": target.name} if target.name else {})
        return ApiError(403, "Forbidden", message, details=details)

    return answer


def page_not_found() -> Answer:
    """Of a path that no handler of the API server has, such as the group of a CRD while it starts."""
    return lambda _call, _target: demo_errors.page_not_found()


def expired() -> Answer:
    return lambda _call, _target: ApiError(410, "Expired", "The resourceVersion for the provided list is too old.")


def too_many_requests(retry_after: int = 1) -> Answer:
    """What the server's own flow control sends: plain text."""
    text = "Too many requests, please try again later."
    return lambda _call, _target: PlainError(429, text, {"Retry-After": str(retry_after)})


def internal_error() -> Answer:
    return lambda _call, _target: ApiError(500, "", "etcdserver: request timed out")


def unavailable() -> Answer:
    text = "the server is currently unable to handle the request"
    return lambda _call, _target: ApiError(503, "ServiceUnavailable", text)


def twice(line: bytes) -> list[bytes]:
    """Every event comes two times."""
    return [line, line]


class Swapped:
    """The first two events come in the wrong order; the others are left alone."""

    def __init__(self) -> None:
        self._held: bytes | None = None
        self._done = False

    def __call__(self, line: bytes) -> list[bytes]:
        if self._done:
            return [line]
        if self._held is None:
            self._held = line
            return []
        self._done = True
        return [line, self._held]


class Garbled:
    """The n-th event, counted from 0, is no JSON."""

    def __init__(self, at: int = 0, line: bytes = b'{"type":"ADDED","object":{"kin\x00\n') -> None:
        self._left = at
        self._line = line

    def __call__(self, line: bytes) -> list[bytes]:
        self._left -= 1
        return [self._line if self._left == -1 else line]


def _verb(call: ApiCall, target: PathTarget) -> str:
    if call.method == "GET":
        return "watch" if call.watch else "get" if target.name else "list"
    return {"POST": "create", "PUT": "update", "PATCH": "patch"}.get(call.method, "delete")
