"""What runbooks write to firmware: only on what was read, once, and nothing beside it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cluster import fleet
from tests.cluster.client import Client
from tests.cluster.stories.identities import BOOTLOADER, NEW, OLD, pool, replica_set
from tests.cluster.test_runbooks import BY_NAME, GUARDED, PATCHED, REPLACED, Kubectl, just_read, kubectl
from tests.manifests import Object

__all__ = ["kubectl"]  # a fixture

WRITES = [
    pytest.param(block.text, id=f"{stem}-{number}")
    for stem, found in REPLACED.items()
    for number, block in enumerate(found)
    if PATCHED.search(block.text) and "firmware" in block.text
]


def target(namespace: str, block: str) -> Object:
    """One in the state for which the block is meant."""
    if "virtualmachinepools" in block:
        return pool(namespace)
    if "replicasets" in block:
        return replica_set(namespace)
    firmware: dict[str, Any] = {"bootloader": BOOTLOADER, "serial": "S1"}
    if '"add"' not in block:
        firmware["uuid"] = OLD
    return fleet.vm(namespace, "web", firmware=firmware if '{"uuid"' not in block else {})


def firmware_of(thing: Object) -> Object:
    spec = thing["spec"].get("virtualMachineTemplate", thing)["spec"]
    found: Object = spec["template"]["spec"]["domain"].get("firmware", {})
    return found


@pytest.mark.parametrize("block", WRITES)
def test_a_write_takes_effect_once_and_only_on_what_was_read(
    block: str, kubectl: Kubectl, client: Client, namespace: str
) -> None:
    kubectl.values |= {"VMNAME": "web", "NAME": "web", "OLDUUID": OLD, "NEWUUID": NEW}
    kubectl.values |= {"OLDSERIAL": "S1", "NEWSERIAL": "S2", "FIRMWARE": f'{{"uuid": "{NEW}", "serial": "S2"}}'}
    client.create(target(namespace, block))
    read = just_read(client, kubectl, block)

    def now() -> Object:
        found = PATCHED.search(block)
        assert found
        return client.get(BY_NAME[found[1]], namespace, "web")

    before = now()
    for wrong in ({"RESOURCEVERSION": "1"}, {"UID": "another"}):
        assert kubectl(block, **{**read, **wrong}).returncode != 0
        assert now() == before
    done = kubectl(block, **read)
    assert done.returncode == 0, done.stderr
    after = now()
    assert kubectl(block, **read).returncode != 0
    assert now() == after
    assert firmware_of(after) == wanted(block, firmware_of(before))


def wanted(block: str, before: Object) -> Object:
    """What was there, but for what the block is for."""
    if '"value": FIRMWARE' in block or '"value": {"uuid": "NEWUUID"}' in block:
        return {"uuid": NEW, "serial": "S2"} if "FIRMWARE" in block else {"uuid": NEW}
    if '"op": "remove"' in block:
        return {key: value for key, value in before.items() if key != "uuid"}
    return {**before, **({"serial": "S2"} if "NEWSERIAL" in block else {"uuid": NEW})}


def test_every_write_that_is_guarded_is_tried() -> None:
    tried = {each.values[0] for each in (*WRITES, *GUARDED)}
    assert {block.text for found in REPLACED.values() for block in found if "RESOURCEVERSION" in block.text} == tried
