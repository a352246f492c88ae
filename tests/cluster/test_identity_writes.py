"""What runbooks write to firmware: what they are for, and nothing beside it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cluster import fleet
from tests.cluster.client import Client
from tests.cluster.resources import VM_POOLS, VMI_REPLICA_SETS, VMS, Resource
from tests.cluster.shell import Shell
from tests.cluster.stories.identities import BOOTLOADER, NEW, OLD, pool, replica_set
from tests.cluster.test_runbooks import STEPS, shell
from tests.manifests import Object

__all__ = ["shell"]  # a fixture

WRITES = [
    pytest.param(step.text, id=f"{stem}-{number}")
    for stem, found in STEPS.items()
    for number, step in enumerate(found)
    if "kubectl patch" in step.text and "/domain/firmware" in step.text
]


def target(namespace: str, block: str) -> tuple[Resource, Object]:
    """One in the state for which the block is meant."""
    if "virtualmachinepools" in block:
        return VM_POOLS, pool(namespace)
    if "replicasets" in block:
        return VMI_REPLICA_SETS, replica_set(namespace)
    firmware: dict[str, Any] = {"bootloader": BOOTLOADER, "serial": "S1"}
    if '"add"' not in block:
        firmware["uuid"] = OLD
    return VMS, fleet.vm(namespace, "web", firmware=firmware if '{"uuid"' not in block else {})


def firmware_of(thing: Object) -> Object:
    spec = thing["spec"].get("virtualMachineTemplate", thing)["spec"]
    found: Object = spec["template"]["spec"]["domain"].get("firmware", {})
    return found


@pytest.mark.parametrize("block", WRITES)
def test_a_write_changes_what_it_is_for_and_nothing_beside_it(
    block: str, shell: Shell, client: Client, namespace: str
) -> None:
    resource, obj = target(namespace, block)
    before = client.create(obj)
    meta = before["metadata"]
    read = {"NAMESPACE": namespace, "NAME": "web", "RESOURCEVERSION": meta["resourceVersion"]}
    read |= dict.fromkeys(("VM_UID", "POOL_UID", "SET_UID"), meta["uid"])
    read |= {"OLDUUID": OLD, "NEWUUID": NEW, "INUSE": NEW, "OLDSERIAL": "S1", "NEWSERIAL": "S2"}

    done = shell(block, **read, FIRMWARE=f'{{"uuid": "{NEW}", "serial": "S2"}}')

    assert done.returncode == 0, done.stderr
    assert firmware_of(client.get(resource, namespace, "web")) == wanted(block, firmware_of(before))


def wanted(block: str, before: Object) -> Object:
    """What was there, but for what the block is for."""
    if '"value": $FIRMWARE' in block:
        return {"uuid": NEW, "serial": "S2"}
    if '"op": "remove"' in block:
        return {key: value for key, value in before.items() if key != "uuid"}
    return {**before, **({"serial": "S2"} if "NEWSERIAL" in block else {"uuid": NEW})}
