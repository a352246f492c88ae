"""One request as the API server sees it: the call, and what its path leads to."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from aiohttp import web

from .errors import bad_request, page_not_found
from .resources import Obj, ServedResource

NOTED = ("Accept", "Accept-Encoding", "Authorization", "Content-Type", "User-Agent")
"""Request headers that are kept."""


@dataclass(frozen=True, slots=True)
class ApiCall:
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def watch(self) -> bool:
        return self.method == "GET" and self.query.get("watch", "") in ("1", "true")

    def json(self) -> Obj:
        try:
            body = json.loads(self.body)
        except ValueError as err:
            raise bad_request(f"couldn't parse the body as JSON: {err}") from err
        if not isinstance(body, dict):
            raise bad_request("the body of the request is not an object")
        return body


async def read(request: web.BaseRequest) -> ApiCall:
    headers = {name: request.headers[name] for name in NOTED if name in request.headers}
    return ApiCall(request.method, request.path, dict(request.query), headers, await request.read())


@dataclass(frozen=True, slots=True)
class PathTarget:
    """What a path below a group's version leads to."""

    resource: ServedResource
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return self.namespace, self.name


Lookup = Callable[[str, str, str], ServedResource | None]
"""group, version, plural to the resource, where it is served."""


def target(path: str, lookup: Lookup) -> PathTarget:
    """Reads a path such as /apis/kubevirt.io/v1/namespaces/shop/virtualmachines/web-1/status."""
    parts = path.strip("/").split("/")
    if parts[0] == "api":
        parts = ["apis", "", *parts[1:]]
    if parts[0] != "apis" or len(parts) < 4:
        raise page_not_found()
    group, version, rest = parts[1], parts[2], parts[3:]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and lookup(group, version, rest[2]) is not None:
        namespace, rest = rest[1], rest[2:]
    resource = lookup(group, version, rest[0])
    misplaced = resource is not None and namespace and not resource.namespaced
    if resource is None or misplaced or len(rest) > 3:
        raise page_not_found()
    name, subresource = [*rest[1:], "", ""][:2]
    return PathTarget(resource, namespace, name, subresource)
