"""VMs, VMIs and migrations as KubeVirt writes them, one builder per kind; pods.py and surroundings.py have the rest.

    spec = vmi_spec({"blue": "shop/blue"}, evictionStrategy="LiveMigrate")
    vmi("shop", "web-1", spec, node="node01", uid="u1", conditions=[migratable(True)])

Every builder takes the arguments of `new` for the metadata. What is None or not given is left out.
A state that no cluster can be in raises ValueError.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ..apiserver.resources import RESOURCES, Obj

IPAM_FINALIZER = "kubevirt.io/persistent-ipam"
FINALIZERS = {
    "VirtualMachine": ("kubevirt.io/virtualMachineControllerFinalize",),
    "VirtualMachineInstance": ("kubevirt.io/foregroundDeleteVirtualMachine",),
    "IPAMClaim": (IPAM_FINALIZER,),
    "KubeVirt": ("kubevirt.io/foregroundDeleteKubeVirt",),
    "UserDefinedNetwork": ("k8s.ovn.org/user-defined-network-protection",),
    "ClusterUserDefinedNetwork": ("k8s.ovn.org/user-defined-network-protection",),
    "NetworkAttachmentDefinition": ("k8s.ovn.org/user-defined-network-protection",),  # of one that it rendered
}
"""What the controllers of a kind keep its objects by."""
_UNHELD = ("Pod", "Namespace")  # which end in their own time, without finalizers
_KINDS = {resource.kind: resource for resource in RESOURCES}


def new(
    kind: str,
    namespace: str,
    name: str,
    *,
    uid: str | None = None,
    created: str | None = None,
    deleting: str | None = None,
    generation: int | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    finalizers: Iterable[str] = (),
    owners: Iterable[Obj] = (),
    **body: Any,
) -> Obj:
    """An object of any served kind: `namespace` is empty for a cluster-wide one, `deleting` the deletionTimestamp."""
    resource, held = _KINDS[kind], list(finalizers)
    if bool(namespace) != resource.namespaced:
        raise ValueError(f"{kind} {name} {'needs a' if resource.namespaced else 'has no'} namespace")
    if deleting and not held and kind not in _UNHELD:
        raise ValueError(f"{kind} {name} is being deleted, and no finalizer holds it: it would be gone")
    if deleting and created and deleting < created:
        raise ValueError(f"{kind} {name} is deleted at {deleting}, before {created}")
    meta = filled(
        name=name,
        namespace=namespace or None,
        uid=uid,
        creationTimestamp=created,
        deletionTimestamp=deleting,
        deletionGracePeriodSeconds=0 if deleting else None,
        generation=generation,
        labels=dict(labels or {}) or None,
        annotations=dict(annotations or {}) or None,
        finalizers=held or None,
        ownerReferences=list(owners) or None,
    )
    return {"apiVersion": resource.api_version, "kind": kind, "metadata": meta} | filled(**body)


def filled(**fields: Any) -> Obj:
    """The fields that are not None."""
    return {key: value for key, value in fields.items() if value is not None}


def owner(kind: str, name: str, uid: str, api_version: str = "kubevirt.io/v1") -> Obj:
    """The reference to a controller."""
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def owner_of(obj: Obj) -> Obj:
    return owner(obj["kind"], obj["metadata"]["name"], obj["metadata"]["uid"], obj["apiVersion"])


def condition(kind: str, holds: bool, since: str | None = None, **more: Any) -> Obj:
    return filled(type=kind, status=str(holds), lastTransitionTime=since, **more)


def migratable(able: bool | str, **more: Any) -> Obj:
    """`able` is true, false, or the reason why it is not."""
    reason = able if isinstance(able, str) else None if able else "DisksNotLiveMigratable"
    return condition("LiveMigratable", able is True, reason=reason, **more)


def vmi_spec(
    networks: Mapping[str, str] | None = None,
    *,
    unplugged: Collection[str] = (),
    primary: Collection[str] = (),
    domain: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Obj:
    """`networks` are its interfaces with the NAD that each is on (`namespace/name`, `name`), or `pod`.

    Those in `unplugged` are on their way out, the NAD of the one in `primary` is the pod's default network.
    """
    interfaces, elements = [], []
    for name, nad in (networks or {}).items():
        binding: Obj = {"masquerade": {}} if nad == "pod" else {"bridge": {}}
        interfaces.append({"name": name, **binding, **({"state": "absent"} if name in unplugged else {})})
        multus = {"networkName": nad} | ({"default": True} if name in primary else {})
        elements.append({"name": name} | ({"pod": {}} if nad == "pod" else {"multus": multus}))
    if sum("pod" in each or "default" in each["multus"] for each in elements) > 1:
        raise ValueError("a VMI has at most one network that is the pod's")
    given = dict(domain or {})
    devices = given.pop("devices", {}) | ({"interfaces": interfaces} if interfaces else {})
    return {"domain": filled(**given, devices=devices)} | filled(networks=elements or None, **spec)


def vm(
    namespace: str,
    name: str,
    spec: Obj,
    *,
    run_strategy: str | None = "Halted",
    labels_of_vmi: Mapping[str, str] | None = None,
    status: Obj | None = None,
    **meta: Any,
) -> Obj:
    """A VirtualMachine; `spec` is that of its VMIs."""
    template = filled(metadata={"labels": dict(labels_of_vmi)} if labels_of_vmi else None, spec=spec)
    body = filled(runStrategy=run_strategy, template=template)
    return new("VirtualMachine", namespace, name, spec=body, status=status, **meta)


def vmi(
    namespace: str,
    name: str,
    spec: Obj,
    *,
    node: str | None = None,
    phase: str = "Running",
    evacuation: str | None = None,
    conditions: Iterable[Obj] = (),
    status: Mapping[str, Any] | None = None,
    **meta: Any,
) -> Obj:
    """A VirtualMachineInstance; `evacuation` is the node that it is to leave, `status` goes beside the rest of it."""
    if phase in ("Scheduled", "Running") and not node:
        raise ValueError(f"VMI {name} is {phase} on no node")
    placed = filled(phase=phase, nodeName=node, evacuationNodeName=evacuation, conditions=list(conditions) or None)
    return new("VirtualMachineInstance", namespace, name, spec=spec, status=placed | filled(**(status or {})), **meta)


def migration(
    namespace: str,
    name: str,
    of: str,
    *,
    phase: str | None = "Running",
    since: str | None = None,
    evacuates: str | None = None,
    failure: str | None = None,
    conditions: Iterable[Obj] = (),
    spec: Mapping[str, Any] | None = None,
    **meta: Any,
) -> Obj:
    """A VirtualMachineInstanceMigration of a VMI; `evacuates` is the node that it is made to empty."""
    if failure and phase == "Succeeded":
        raise ValueError(f"migration {name} succeeded, and failed: {failure}")
    state = {"failed": True, "completed": True, "failureReason": failure} if failure else None
    reached = [{"phase": phase, "phaseTransitionTimestamp": since}] if since else None
    return new(
        "VirtualMachineInstanceMigration",
        namespace,
        name,
        annotations={"kubevirt.io/evacuationMigration": evacuates} if evacuates else None,
        spec={"vmiName": of} | dict(spec or {}),
        status=filled(
            phase=phase, phaseTransitionTimestamps=reached, conditions=list(conditions) or None, migrationState=state
        ),
        **meta,
    )
