"""What controllers create in an interleaving: the VMI of a VM, the pod of a VMI, the IPAMClaim of either."""

from __future__ import annotations

from demo.fleet.objects import FINALIZERS, IPAM_FINALIZER, filled, owner_of, vmi
from demo.fleet.pods import attached, launcher
from demo.fleet.pods import claim as made_claim
from exporter.facts.firmware import legacy

from .network import NAD
from .world import Obj, meta_of, with_meta

__all__ = ["claimed", "lacking", "launched", "started"]

NETWORK = "tenantblue"


def lacking(thing: Obj, finalizer: str) -> Obj:
    return with_meta(thing, finalizers=[each for each in meta_of(thing).get("finalizers") or () if each != finalizer])


def started(vm: Obj) -> Obj:
    """The VMI of a VM, with the UUID that it has or that is derived from its name."""
    name, spec = meta_of(vm)["name"], vm["spec"]["template"]["spec"]
    given = spec.get("domain") or {}
    firmware = given.get("firmware") or {}
    domain = given | {"firmware": firmware | {"uuid": firmware.get("uuid") or legacy(name)}}
    finalizers = FINALIZERS["VirtualMachineInstance"]
    return vmi("ns", name, spec | {"domain": domain}, phase="Pending", owners=[owner_of(vm)], finalizers=finalizers)


def launched(running: Obj, name: str, reference: str) -> Obj:
    """A launcher pod that has no address yet."""
    return launcher(
        "ns",
        name,
        meta_of(running)["name"],
        vmi_uid=meta_of(running)["uid"],
        node="node01",
        phase="Pending",
        labels={"reference": reference},
        annotations=attached([(NAD, reference)]),
        owners=[owner_of(running)],
    )


def claimed(owner: Obj, ips: list[str] | None = None) -> Obj:
    """The IPAMClaim that ipam-extensions creates for a VM or VMI."""
    name = meta_of(owner)["name"]
    return made_claim(
        "ns",
        f"{name}.blue",
        NETWORK,
        ips,
        vm=name,
        owners=[owner_of(owner)],
        status=filled(),
        finalizers=(IPAM_FINALIZER,),
    )
