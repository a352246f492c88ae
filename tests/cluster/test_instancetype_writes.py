"""What runbooks write to references of instancetypes and preferences: only on what was read, and once."""

from __future__ import annotations

import pytest

from exporter.demo import instancetypes as its
from tests.cluster import fleet
from tests.cluster.client import Client
from tests.cluster.stories.identities import pool
from tests.cluster.test_runbooks import BY_NAME, PATCHED, REPLACED, Kubectl, just_read, kubectl
from tests.manifests import Object

__all__ = ["SIZED", "kubectl"]  # the latter is a fixture

KIND, REVISION = "VirtualMachineInstancetype", "rev"
SIZED = [
    pytest.param(block.text, id=f"{stem}-{number}")
    for stem, found in REPLACED.items()
    for number, block in enumerate(found)
    if stem.startswith(("VMInstancetype", "VMPoolInstancetype")) and "RESOURCEVERSION" in block.text
]
VALUES = {
    "ROLE": "instancetype",
    "REFERENCE": "instancetypeRef",
    "REVISION": REVISION,
    "NAME": REVISION,
    "NEWNAME": "other",
    "NEWKIND": "VirtualMachineClusterInstancetype",
    "OBJECT": "u1",
    "OBJECTUID": "a-uid",
    "GENERATION": "1",
    "KUBEVIRT": "kubevirt",
}


def make(client: Client, namespace: str) -> None:
    """A VM that is pinned to a revision, which its status names too; the revision, a pool, and KubeVirt."""
    of = client.create(its.kept(KIND, namespace, "u1", {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}}))
    vm = fleet.vm(namespace, "db")
    ref: Object = {"name": "u1", "kind": KIND}
    vm["spec"]["instancetype"] = {**ref, "revisionName": REVISION}
    vm["status"] = {"instancetypeRef": {**ref, "controllerRevisionRef": {"name": REVISION}}}
    copy = its.copy(client.make(vm), of)
    copy["metadata"]["name"] = REVISION
    client.create(copy)
    sized = pool(namespace)
    sized["metadata"]["name"] = REVISION
    client.create(sized)
    client.make(
        {
            "apiVersion": "kubevirt.io/v1",
            "kind": "KubeVirt",
            "metadata": {"namespace": namespace, "name": "kubevirt"},
            "spec": {"configuration": {"instancetype": {"referencePolicy": "expand"}}},
        }
    )


@pytest.mark.parametrize("block", SIZED)
def test_a_write_takes_effect_once_and_only_on_what_was_read(
    block: str, kubectl: Kubectl, client: Client, namespace: str
) -> None:
    make(client, namespace)
    kubectl.values |= VALUES | {"KUBEVIRTNAMESPACE": namespace}
    written = PATCHED.search(block)
    assert written

    def now() -> Object:
        return client.get(BY_NAME[written[1]], namespace, kubectl.values[written[2]])

    before, read = now(), just_read(client, kubectl, block)
    for wrong in ({"RESOURCEVERSION": "1"}, {"UID": "another"}):
        assert kubectl(block, **{**read, **wrong}).returncode != 0
        assert now() == before

    done = kubectl(block, **read)
    assert done.returncode == 0, done.stderr
    if "--dry-run=server" in block:
        assert now() == before
        return
    assert now() != before
    assert kubectl(block, **read).returncode != 0
