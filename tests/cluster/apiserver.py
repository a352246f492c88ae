"""A real API server, with a real etcd under it, on loopback, in a folder that goes when it stops.

With these two alone no pod is scheduled or run, nothing owned is collected as garbage, and a namespace is never deleted
to its end: tests write statuses themselves. RBAC is on. Accounts are known by a token; but for `admin`, which is in
`system:masters`, they may do what the test grants. Every request is in the audit log, writes with their bodies
(those of CRDs without).

`kill` and `start` bring the server back on the same port with the same objects; etcd stays up in between. What it keeps
is noted and put back by `stored`, and `forget` leaves behind what the audit log has by then.
"""

from __future__ import annotations

import base64
import http.client
import json
import secrets
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from exporter.facts.nesting import cut

from ..manifests import Object
from .client import ApiError, Client
from .process import Process, answers, free_ports
from .resources import Resource

__all__ = ["ACCOUNTS", "ApiServer", "Change", "Setup", "Stored", "touches", "write_private"]

# What an API server keeps in its etcd: noted once, and put back later under the server, which goes on running.
#
# Its watches see what is removed and put back as they see any write, so what it has in memory (watch caches, RBAC,
# namespaces) follows. This takes a moment where a new server takes ten seconds of CPU: most of these are for the CRDs.
#
# Not put back is what decides which kinds there are and who is asked about writes, since the server takes its time to
# follow there: `put_back` says so, and the server is of no more use.
#
# Its memory follows within some milliseconds: `touches` says which kinds to ask for at least the revision of the last
# write.

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


ACCOUNTS = {"admin": "system:masters", "steward-exporter": "", "steward-reconcile": ""}

AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "Metadata", "resources": [{"group": "apiextensions.k8s.io"}]},  # megabytes of schema, of no interest
        {"level": "RequestResponse", "verbs": ["create", "update", "patch", "delete", "deletecollection"]},
        {"level": "Metadata"},
    ],
}


@dataclass(frozen=True)
class Setup:
    """Where a server runs and what it has besides. `within` is a command that runs the one behind it, elsewhere."""

    within: tuple[str, ...] = ()
    flags: tuple[str | Path, ...] = ("--disable-admission-plugins", "ServiceAccount")  # nobody makes any
    accounts: Mapping[str, str] = field(default_factory=dict)  # besides ACCOUNTS: what they are called, and their group


PLAIN = Setup()


class ApiServer:
    """etcd and kube-apiserver, from the two binaries. `start` returns when it is ready; `stop` ends and removes all."""

    def __init__(self, etcd: Path, kube_apiserver: Path, setup: Setup = PLAIN) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="steward-apiserver-"))
        etcd_port, peer_port, port = free_ports(3)
        self.ports = (port, etcd_port)  # where it is asked from here
        self.url = f"https://127.0.0.1:{port}"
        self.ca_file = self.folder / "certs" / "apiserver.crt"  # the server writes its CA's certificate behind its own
        self.service_account_key = self.folder / "service-accounts.key"
        self.audit_log = self.folder / "audit.log"
        self.audited = 0  # bytes of it that are of no interest any more
        self._audited_at = ""
        self._data = self.folder / "etcd"
        self._etcd_url = f"http://127.0.0.1:{etcd_port}"
        self.stored = Stored(self._etcd_url)
        self._setup = setup
        self._groups = {**ACCOUNTS, **setup.accounts}
        self._tokens = {account: secrets.token_hex(16) for account in self._groups}
        self._clients: list[Client] = []
        self._write_files()
        command = [*setup.within, *self._etcd_command(etcd, peer_port)]
        self._etcd = Process("etcd", command, self.folder / "etcd.log")
        command = [*setup.within, *self._server_command(kube_apiserver, port)]
        self._server = Process("kube-apiserver", command, self.folder / "kube-apiserver.log")

    def start(self) -> None:
        """Starts what does not run, and waits until it is ready. RuntimeError with the end of the log if it fails."""
        if not self._etcd.running:
            self._etcd.start(lambda: answers(f"{self._etcd_url}/health"))
        self._server.start(self._ready)

    @property
    def running(self) -> bool:
        return self._etcd.running and self._server.running

    def forget(self) -> None:
        """The next one to use it gets clients and an audit log of its own."""
        for client in self._clients:
            client.close()
        self._clients.clear()
        self.audited = self.audit_log.stat().st_size
        self._audited_at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")

    def kill(self) -> None:
        """SIGKILL to the API server: connections break in the middle of what they carry."""
        self._server.kill()

    def restart(self) -> None:
        """As a rollout does it: the server ends its watches and goes; then it is started again."""
        self._server.stop()
        self.start()

    def backup(self) -> Path:
        """A copy of what etcd holds. Both are stopped for it, and started again."""
        copy = Path(tempfile.mkdtemp(prefix="backup-", dir=self.folder)) / "etcd"
        self._server.stop()
        self._etcd.stop()
        shutil.copytree(self._data, copy)
        self.start()
        return copy

    def restore(self, backup: Path) -> None:
        """Stops both, puts etcd back to the backup, and starts both: resourceVersions are given out a second time."""
        self._server.stop()
        self._etcd.stop()
        shutil.rmtree(self._data)
        shutil.copytree(backup, self._data)
        self.start()

    def stop(self) -> None:
        """Ends both and removes the folder. There is no start after it."""
        for client in self._clients:
            client.close()
        self._server.kill()
        self._etcd.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def token(self, account: str) -> str:
        return self._tokens[account]

    def client(self, account: str = "admin", **headers: str) -> Client:
        """A client that is closed with the server, or earlier; `headers` go with all that it asks."""
        made = Client(self.url, self.ca_file, self.token(account), headers=headers)
        self._clients.append(made)
        return made

    def kubeconfig(self, account: str, token: str | None = None) -> Path:
        """A file, readable for its owner alone, with which any client gets in as `account`, or with the token given."""
        path = self.folder / f"{account.replace(':', '-')}.kubeconfig"  # a colon separates two files
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": account,
            "clusters": [{"name": "test", "cluster": {"server": self.url, "certificate-authority": str(self.ca_file)}}],
            "users": [{"name": account, "user": {"token": token or self.token(account)}}],
            "contexts": [{"name": account, "context": {"cluster": "test", "user": account}}],
        }
        write_private(path, json.dumps(content))  # JSON is YAML
        return path

    def audit_events(self) -> Iterator[Object]:
        """What the audit log says by now, oldest first. The entry of a request may come shortly after its answer, and
        that of a watch of earlier days when it ends.
        """
        with self.audit_log.open("rb") as file:
            file.seek(self.audited)
            for line in file:
                if not line.endswith(b"\n"):
                    continue
                entry = json.loads(cut(line).text)  # whatever a body holds, Python reads it
                entry["user"].setdefault("username", "")  # a request that names nobody
                if entry["requestReceivedTimestamp"] >= self._audited_at:
                    yield entry

    def _ready(self) -> bool:
        if not self.ca_file.exists():
            return False
        try:
            with Client(self.url, self.ca_file, self.token("admin"), timeout=20) as client:
                return bool(client.connection.request("GET", "/readyz") == "ok")
        except (OSError, ApiError):  # not listening yet, and not ready yet
            return False

    def _write_files(self) -> None:
        rows = [f'{self._tokens[name]},{name},{name},"{groups}"\n' for name, groups in self._groups.items()]
        write_private(self.folder / "tokens.csv", "".join(rows))
        write_private(self.service_account_key, _ec_key())
        (self.folder / "audit.yaml").write_text(json.dumps(AUDIT_POLICY), encoding="utf-8")

    def _etcd_command(self, binary: Path, peer_port: int) -> list[str | Path]:
        return [
            *(binary, "--data-dir", self._data),
            *("--listen-client-urls", self._etcd_url, "--advertise-client-urls", self._etcd_url),
            *("--listen-peer-urls", f"http://127.0.0.1:{peer_port}"),
            *("--unsafe-no-fsync", "--log-level", "error"),
            *("--watch-progress-notify-interval", "5s"),  # as kubeadm sets it, for bookmarks of quiet kinds
        ]

    def _server_command(self, binary: Path, port: int) -> list[str | Path]:
        key = self.service_account_key
        return [
            *(binary, "--etcd-servers", self._etcd_url, "--secure-port", str(port)),
            *("--bind-address", "127.0.0.1", "--advertise-address", "127.0.0.1"),
            *("--cert-dir", self.folder / "certs", "--service-cluster-ip-range", "10.96.0.0/24"),
            *("--service-account-key-file", key, "--service-account-signing-key-file", key),
            *("--service-account-issuer", "https://kubernetes.default.svc"),
            *("--endpoint-reconciler-type", "none", *self._setup.flags),
            *("--authorization-mode", "RBAC", "--token-auth-file", self.folder / "tokens.csv"),
            *("--audit-policy-file", self.folder / "audit.yaml", "--audit-log-path", self.audit_log),
            *("--audit-log-maxsize", "100000"),  # MB: past 100 by default, it goes on in another file
        ]


def write_private(path: Path, content: str) -> None:
    """At once: whoever reads it meanwhile has all of it, as it is or as it was."""
    made = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    made.touch(mode=0o600)
    made.write_text(content, encoding="utf-8")
    made.replace(path)


def _ec_key() -> str:
    """A fresh P-256 private key in PEM: RFC 5915 asks for the number and the curve's name, and the rest is frame."""
    number = secrets.randbelow(2**255) + 1  # the curve's order is just below 2**256
    der = bytes.fromhex("30310201010420") + number.to_bytes(32, "big") + bytes.fromhex("a00a06082a8648ce3d030107")
    return f"-----BEGIN EC PRIVATE KEY-----\n{base64.encodebytes(der).decode()}-----END EC PRIVATE KEY-----\n"
