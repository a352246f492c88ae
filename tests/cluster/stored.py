"""What an API server keeps in its etcd: noted once, and put back later under the server, which goes on running.

Its watches see what is removed and put back as they see any write, so what it has in memory (watch caches, RBAC,
namespaces) follows. This takes a moment where a new server takes ten seconds of CPU: most of these are for the CRDs.

Not put back is what decides which kinds there are and who is asked about writes, since the server takes its time to
follow there: `put_back` says so, and the server is of no more use.

Its memory follows within some milliseconds: `touches` says which kinds to ask for at least the revision of the last
write.
"""

from __future__ import annotations

import base64
import http.client
import json
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tests.cluster.resources import Resource

__all__ = ["Change", "Stored", "touches"]

_ALL = ("/registry/", "/registry0")  # 0 follows the slash
_PAGE = 500
_PATIENCE = 60
_FORMS_THE_SERVER = (
    "/registry/apiextensions.k8s.io/",
    "/registry/mutatingadmissionpolic",
    "/registry/mutatingwebhookconfigurations/",
    "/registry/validatingadmissionpolic",
    "/registry/validatingwebhookconfigurations/",
)
_ITS_OWN = (
    "/registry/apiregistration.k8s.io/",  # it writes whether each is available
    "/registry/leases/kube-system/apiserver-",
    "/registry/masterleases/",
    "/registry/peerserverleases/",
)


class _Kept(NamedTuple):
    changed: str  # the revision of its last change, as etcd writes it
    value: str  # in base64


class Change(NamedTuple):
    """What was done under the server: the keys, and the revision that etcd had after it."""

    keys: frozenset[str]
    revision: str


class Stored:
    """Of the etcd at `url`. Every method raises OSError without an answer."""

    def __init__(self, url: str) -> None:
        split = urlsplit(url)
        self._address = (split.hostname or "", split.port or 0)
        self._noted: dict[str, _Kept] = {}

    def note(self) -> None:
        """Keeps what there is now as what is put back later."""
        connection = self._connection()
        try:
            self._noted = dict(_kept(connection, values=True))
        finally:
            connection.close()

    def put_back(self) -> Change | None:
        """Makes it what was noted. None where that can't be done under a running server; then nothing is changed."""
        connection = self._connection()
        try:
            there = {key: kept.changed for key, kept in _kept(connection, values=False) if not key.startswith(_ITS_OWN)}
            noted = {key: kept for key, kept in self._noted.items() if not key.startswith(_ITS_OWN)}
            new = there.keys() - noted.keys()
            old = {key for key, kept in noted.items() if there.get(key) != kept.changed}
            if any(key.startswith(_FORMS_THE_SERVER) for key in new | old):
                return None
            revision = "0"
            for key in sorted(new):
                revision = _asked(connection, "deleterange", key=_coded(key))["header"]["revision"]
            for key in sorted(old):
                revision = _asked(connection, "put", key=_coded(key), value=noted[key].value)["header"]["revision"]
                self._noted[key] = _Kept(revision, noted[key].value)
            return Change(frozenset(new | old), revision)
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(*self._address, timeout=_PATIENCE)


def touches(change: Change, resource: Resource) -> bool:
    """Whether it is of objects of the resource. Those of a CRD, and of some groups, are kept below their group."""
    below = (f"/registry/{resource.plural}/", f"/registry/{resource.group}/{resource.plural}/")
    return any(key.startswith(below) for key in change.keys)


def _kept(connection: http.client.HTTPConnection, *, values: bool) -> Iterator[tuple[str, _Kept]]:
    """Of all keys of the API server."""
    start, more = _ALL[0], True
    while more:
        asked = {"key": _coded(start), "range_end": _coded(_ALL[1]), "limit": _PAGE, "keys_only": not values}
        answer = _asked(connection, "range", **asked)
        more = answer.get("more", False)
        for row in answer.get("kvs", ()):
            key = base64.b64decode(row["key"]).decode()
            start = f"{key}\0"
            yield key, _Kept(row["mod_revision"], row.get("value", ""))


def _asked(connection: http.client.HTTPConnection, what: str, **words: Any) -> Any:
    connection.request("POST", f"/v3/kv/{what}", json.dumps(words), {"Content-Type": "application/json"})
    response = connection.getresponse()
    content = response.read()
    if response.status != http.client.OK:
        raise OSError(f"etcd answered {what} with {response.status}: {content.decode(errors='replace')}")
    return json.loads(content)


def _coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
