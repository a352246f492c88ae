"""Says what there is to know before a launcher pod is deleted whose VMI does not exist.

virt-controller makes a launcher pod for a VMI, which owns it, and garbage collection deletes it after the VMI. One that
is left has lost its owner, as after `kubectl delete vmi --cascade=orphan`, or is not collected. KubeVirt's webhook does
not find the VMI and refuses each eviction of the pod, so a drain never gets past it
(pkg/virt-api/webhooks/validating-webhook/admitters/pod-eviction-admitter.go of kubevirt/kubevirt).

Whether a guest runs in it, only the pod itself knows: no object of the API says so any more. Deleting it would kill
that guest, and leaving it has two guests write to the same disks as soon as its VM is started again. So this is a
proposal, for whoever can look into the pod, and nothing is ever deleted here.

Undo: none. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exporter.findings.finding import Finding
from exporter.store.kinds.node import Node
from exporter.store.kinds.pod import Pod
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration

from ...guards import guard
from ...plan import Patch, Plan, Proposal, Refused, Risk
from ...remediation import Remediation, Scene
from .._grounds import ending, table, tables

_LOST = "memory of a guest that runs in the pod, and its disks without a PVC"


@guard(
    ending,
    {"no_migration": "no migration of its VMI is unfinished", "node_ready": "the node that it is on is Ready"},
    reads=(Pod.KIND, Node.KIND, VirtualMachine.KIND, VirtualMachineInstanceMigration.KIND),
)
def _plan(finding: Finding, scene: Scene) -> Plan | Refused:
    ref = finding.subject
    whole, pod = scene.of(ref), scene.named(Pod, ref.namespace, ref.name)
    if whole is None or pod is None:
        return Refused("same_object", f"{ref} with UID {ref.uid} is no longer there")
    if refused := ending(scene, ref, whole):
        return refused
    for migration in scene.within(VirtualMachineInstanceMigration, ref.namespace):
        if migration.vmi == pod.domain and not migration.finished:
            return Refused("no_migration", f"{migration.ref} is not finished: the pod might belong to it")
    node = scene.named(Node, "", pod.node)
    if node is None or not node.ready:
        return Refused("node_ready", f"node {pod.node} isn't Ready: its guests are unknown and can't be stopped")
    return REMEDIATION.planned(
        finding,
        Patch(target=ref, ops=()),
        effect="Nothing is written. Check whether a guest runs in the pod before you delete the pod by its UID.",
        loses=(_LOST,),
        proposal=Proposal(owner=_owner(pod, whole), where=_where(scene, pod, whole), patch=_options(pod)),
    )


def _owner(pod: Pod, whole: Mapping[str, Any]) -> str:
    """Why nobody ends it."""
    owners = tables(table(whole.get("metadata")).get("ownerReferences"))
    if not owners:
        return f"none: {pod.ref} has no owner, and its VMI {pod.domain} no longer exists"
    kind, name, uid = (owners[0].get(each) for each in ("kind", "name", "uid"))
    return f"garbage collection, which has not deleted {pod.ref} although {kind} {name} with UID {uid} is gone"


def _where(scene: Scene, pod: Pod, whole: Mapping[str, Any]) -> str:
    volumes = tables(table(whole.get("spec")).get("volumes"))
    claims = [str(name) for each in volumes if (name := table(each.get("persistentVolumeClaim")).get("claimName"))]
    disks = f" It holds PVC {', '.join(claims)}, which a second guest would write to." if claims else ""
    vm = scene.named(VirtualMachine, pod.namespace, pod.domain)
    starts = f" Do not start {vm.ref} (run strategy {vm.run_strategy}) before that." if vm is not None else ""
    return (
        f"Ask virsh list --all in container compute of {pod.ref} on node {pod.node}, shut a guest down from inside, "
        f"then delete the pod by its UID, {pod.uid}.{starts}{disks}"
    )


def _options(pod: Pod) -> str:
    return f'{{"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {{"uid": "{pod.uid}"}}}}'


REMEDIATION = Remediation(
    id="handle_orphan_launcher",
    title="Show what a launcher pod without a VMI holds before its deletion",
    plan=_plan,
    risk=Risk.DOWNTIME,
    proposes_only=True,
    note="It says why KubeVirt doesn't end the pod, which PVCs the pod holds, and whether its VM would start again.",
)
