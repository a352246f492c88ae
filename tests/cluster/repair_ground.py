"""A real API server on which repairs are tested: with an exporter that all tests share, and what was written there."""

from __future__ import annotations

import json
import os
import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from exporter.facts.nesting import cut
from tests.cluster.apiserver import ApiServer
from tests.cluster.client import Client
from tests.cluster.conftest import MakeApiServer
from tests.cluster.exporter import STEADY, Exporter, binding, grant
from tests.cluster.repair_faults import KUBEVIRT
from tests.cluster.resources import EVENTS, LEASES
from tests.cluster.sidecar import Sidecar
from tests.cluster.stage import Stage
from tests.manifests import Object
from tests.waiting import wait_until

STEPS = (
    *("made", "dry_run", "made_again", "intended", "fenced", "written"),
    *("read_back", "looked_again", "event", "done"),
)
"""Of an attempt that writes, in order: the sidecar can be killed at each (`Attempts`, `AttemptEnding`)."""
SETTLING = ("settle_read", "settle_looked", "settle_event", "settled")
"""Of the next process, which settles what the last one has left."""

__all__ = ["ACCOUNT", "SETTLING", "STEPS", "THOROUGH", "Ground", "Written", "ground_of"]

THOROUGH = pytest.mark.skipif(
    os.environ.get("REPAIRS") != "all", reason="takes minutes: `make test-repairs` runs it, and not `make check`"
)

ACCOUNT = "steward-reconcile"  # the sidecar's
_OURS = "steward.kubevirt-steward.io/"
_WRITES = ("create", "update", "patch", "delete", "deletecollection")
Written = tuple[str, str, str]  # verb, resource (with a subresource), name


class Ground:
    def __init__(self, server: ApiServer, exporter: Exporter, folder: Path) -> None:
        self.server, self.exporter, self._folder = server, exporter, folder
        self.client: Client = server.client()
        self._audited = server.audited
        self._writes: list[Object] = []

    def stage(self) -> Stage:
        """A new namespace."""
        name = f"repair-{uuid.uuid4().hex[:8]}"
        self.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        self.free_lease(name)
        return Stage(self.client, name)

    def sidecar(
        self, namespace: str, settings: Mapping[str, Any], replica: str = "", through: Path | None = None, **how: Any
    ) -> Sidecar:
        """One of a namespace, where its Lease is too; one after the other, they have the ledger in common. `through` is
        the kubeconfig of a proxy.
        """
        given = {"lease": {"namespace": namespace, "name": "steward"}, **settings}
        kubeconfig = through or self.server.kubeconfig(ACCOUNT)
        return Sidecar(self._folder / f"{namespace}{replica}", kubeconfig, self.exporter.url, given, forked=True, **how)

    def found(self, namespace: str) -> set[str]:
        """The reasons of its findings."""
        return {each["reason"] for each in self.exporter.report(f"?namespace={namespace}")["findings"]}

    def wait_found(self, namespace: str, reason: str, there: bool = True) -> None:
        what = f"{reason} is {'' if there else 'no longer '}found in {namespace}"
        wait_until(lambda: (reason in self.found(namespace)) is there, 30, what)

    def free_lease(self, namespace: str) -> None:
        """Spares the wait for a holder that was killed, or that there may be: the Lease is as if it was given up."""
        notes = {f"{_OURS}lease-process": "gone", f"{_OURS}lease-released": "gone"}
        if self.client.find(LEASES, namespace, "steward") is None:
            meta = {"namespace": namespace, "name": "steward", "annotations": notes}
            spec = {"leaseDurationSeconds": 15}
            kind = {"apiVersion": LEASES.api_version, "kind": "Lease"}
            self.client.create({**kind, "metadata": meta, "spec": spec})
            return
        given_up = {"metadata": {"annotations": notes}, "spec": {"holderIdentity": None}}
        self.client.patch(LEASES, namespace, "steward", given_up)

    def takes_over(self, namespace: str, sidecar: Sidecar) -> None:
        """Waits until it leads, and accepts its ledger where the Lease is of another one."""

        def leads() -> bool:
            if words := re.findall(r"reconcile ledger --accept ([0-9a-f-]+)", sidecar.log.read_text("utf-8")):
                note = {"metadata": {"annotations": {f"{_OURS}accept-ledger": f"{words[-1]} by the test"}}}
                self.client.patch(LEASES, namespace, "steward", note)
            return sidecar.value("kubevirt_steward_repair_leading") == 1.0

        wait_until(leads, 60, "it leads")

    def events(self, namespace: str) -> list[Object]:
        return [each for each in self.client.list(EVENTS, namespace)["items"] if each["reason"].startswith("Repair")]

    def writes(self, namespace: str = "") -> list[Written]:
        """What the sidecar wrote by now, of one namespace or anywhere: no dry runs, no Events, not the Lease."""
        return [
            (str(each["verb"]), _resource(each), str(each["objectRef"].get("name")))
            for each in self.sent(namespace)
            if each["objectRef"]["resource"] not in ("events", "leases")
        ]

    def asked(self) -> int:
        """How many requests of the sidecar there were."""
        return sum(each["user"]["username"] == ACCOUNT for each in self.server.audit_events())

    def sent(self, namespace: str = "") -> list[Object]:
        """All requests of the sidecar that were no dry run and that the API server took, as in the audit log."""
        with self.server.audit_log.open("rb") as file:
            file.seek(self._audited)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._audited += len(line)
                if ACCOUNT.encode() in line and (entry := json.loads(cut(line).text)) and _written(entry):
                    self._writes.append(entry)
        return [each for each in self._writes if namespace in ("", each["objectRef"].get("namespace"))]


def _written(entry: Object) -> bool:
    if entry["user"]["username"] != ACCOUNT or entry["verb"] not in _WRITES:
        return False
    return not is_dry(entry) and entry["responseStatus"]["code"] < 300


def is_dry(entry: Object) -> bool:
    """Whether the request of an entry of the audit log was a dry run."""
    body = entry.get("requestObject")
    return "dryRun=" in entry["requestURI"] or bool(isinstance(body, dict) and body.get("dryRun"))


def _resource(entry: Object) -> str:
    ref = entry["objectRef"]
    return "/".join(filter(None, (ref["resource"], ref.get("subresource"))))


def deployed(make: MakeApiServer) -> ApiServer:
    """One with KubeVirt deployed, as far as its object says."""
    server = make()
    admin = server.client()
    admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kubevirt"}})
    admin.make(KUBEVIRT)
    return server


@contextmanager
def ground_of(make: MakeApiServer, folder: Path) -> Iterator[Ground]:
    """With KubeVirt deployed, as far as its object says; the exporter waits for no grace."""
    server = deployed(make)
    admin = server.client()
    grant(admin)
    full = binding("cluster-admin")
    full["metadata"]["name"], full["subjects"][0]["name"] = "repairs", ACCOUNT
    admin.apply(full)
    with Exporter(server.kubeconfig("steward-exporter"), STEADY, graces=0) as exporter:
        yield Ground(server, exporter.wait_ready(), folder)
