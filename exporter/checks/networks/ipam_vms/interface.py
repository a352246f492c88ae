"""One interface of a VM, with the NAD that it refers to and the IPAMClaim that it should have."""

from __future__ import annotations

from dataclasses import dataclass

from ....facts.record import Ref
from ....facts.text_cache import Lazy
from ....facts.vm_networks import claim_name
from ....findings.check import View
from ....findings.finding import Finding, Since
from ....findings.severity import Severity
from ....store.kinds.ipam_claim import IPAMClaim
from ....store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ....store.kinds.pod import Pod
from ....store.kinds.virtual_machine import VirtualMachine
from ....store.kinds.virtual_machine_instance import VirtualMachineInstance
from .._referred import ReferredNads


class Siblings:
    """All interfaces of a VM, of which there may be thousands: looked through once for all of them."""

    def __init__(self, view: View, vm: VirtualMachine | VirtualMachineInstance, nads: ReferredNads) -> None:
        self._view, self._vm, self._nads = view, vm, nads
        self._beside: dict[Ref, Siblings] = {}

    def beside(self, other: VirtualMachine | VirtualMachineInstance) -> Siblings:
        """The interfaces of another VM."""
        return self._beside.setdefault(other.ref, Siblings(self._view, other, self._nads))

    def nad(self, key: str) -> NetworkAttachmentDefinition | None:
        """The NAD by `namespace/name`; of the pod network, the primary one of the namespace, where there is one."""
        return self._nads.of(self._vm.namespace, key)

    @Lazy
    def by_claim(self) -> dict[str, list[str]]:
        """The logical networks that have an IPAMClaim, by its name."""
        found: dict[str, list[str]] = {}
        for network, key, _ in self._vm.networks:
            nad = self.nad(key)
            if nad is not None and nad.effective:
                found.setdefault(claim_name(self._vm.name, network), []).append(network)
        return found

    @Lazy
    def attached(self) -> frozenset[str] | None:
        """The NADs that launcher pods of the VM are attached to; None while it has no pod."""
        pods = [pod for pod in self._view.all(Pod) if pod.domain]
        return frozenset(key for pod in pods for key, _ in pod.selections) if pods else None

    @Lazy
    def owner(self) -> VirtualMachine | None:
        """The VM that ipam-extensions makes the owner of the claims: it goes by the name alone."""
        return self._view.named(VirtualMachine, self._vm.namespace, self._vm.name)

    @Lazy
    def of_another(self) -> str:
        """The IPAMClaim of an interface that is not the VM's own: no further one is created beside it."""
        expected = self.owner.uid if self.owner is not None else self._vm.uid
        for name in self.by_claim:
            claim = self._view.named(IPAMClaim, self._vm.namespace, name)
            if claim is not None and ([each.uid for each in claim.owners] != [expected] or claim.other_owners):
                return name
        return ""

    @Lazy
    def without_nad(self) -> str:
        """An interface whose NAD is missing or can't be decoded: no claim is created before that is repaired."""
        for network, key, _ in self._vm.networks:
            nad = self.nad(key) if key else None
            if key and (nad is None or not nad.readable):
                return network
        return ""


@dataclass(eq=False)
class Interface:
    view: View
    vm: VirtualMachine | VirtualMachineInstance
    network: str  # the logical name
    key: str  # `namespace/name` of the NAD; empty for the pod network
    unplugged: bool
    siblings: Siblings

    @Lazy
    def nad(self) -> NetworkAttachmentDefinition | None:
        return self.siblings.nad(self.key)

    @Lazy
    def persistent(self) -> bool:
        return self.nad is not None and self.nad.effective

    @Lazy
    def claim_name(self) -> str:
        return claim_name(self.vm.name, self.network)

    @Lazy
    def claim(self) -> IPAMClaim | None:
        return self.view.named(IPAMClaim, self.vm.namespace, self.claim_name)

    @Lazy
    def vmi(self) -> VirtualMachineInstance | None:
        return self.view.named(VirtualMachineInstance, self.vm.namespace, self.vm.name)

    @property
    def runs(self) -> bool:
        return self.vmi is not None and self.vmi.phase not in ("Succeeded", "Failed")

    @property
    def reported(self) -> bool:
        """Whether what both a VM and its VMI show is reported of this one: of the VM, where there is one."""
        return isinstance(self.vm, VirtualMachine) or self.siblings.owner is None

    @property
    def plugging(self) -> bool:
        """Whether no launcher pod of the VM has the interface yet: it was added while the VM runs."""
        attached = self.siblings.attached
        return bool(self.key) and attached is not None and self.key not in attached

    def finding(
        self,
        reason: str,
        severity: Severity,
        message: str,
        since: float | None = None,
        *,
        next_step: str = "",
        **evidence: object,
    ) -> Finding:
        """`next_step` replaces that of the reason."""
        nad_namespace, _, nad_name = self.key.partition("/")
        facts = {
            "kind": self.vm.ref.kind,
            "interface": self.network,
            "claim": self.claim_name,
            "nadNamespace": nad_namespace,
            "nadName": nad_name,
            **evidence,
        }
        return Finding(
            reason=reason,
            severity=severity,
            subject=self.vm.ref,
            message=message,
            related=(self.nad.ref,) if self.nad else (),
            network=self.nad.network if self.nad else "",
            next=next_step,
            since=since,
            since_source=Since.CREATION if since is not None else Since.FIRST_SEEN,
            evidence={name: fact for name, fact in facts.items() if fact},
        )


def interfaces_of(view: View, vm: VirtualMachine | VirtualMachineInstance, nads: ReferredNads) -> list[Interface]:
    siblings = Siblings(view, vm, nads)
    return [Interface(view, vm, network, key, unplugged, siblings) for network, key, unplugged in vm.networks]
