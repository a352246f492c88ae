"""What an IPAMClaim is evaluated with: its owner, the pods that use it and its network."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ...findings import Finding, Severity, Since
from ...model.indexes.networks import ADDRESS, CLAIM, NAD, REFERENCE, VM, address, primary, unreadable, vm_key
from ...model.kinds.deployment import CLAIM_CONTROLLER, Deployment
from ...model.kinds.ipam_claim import FINALIZER, IPAMClaim
from ...model.kinds.network_attachment_definition import NetworkAttachmentDefinition, ruling
from ...model.kinds.pod import REFERRED, Pod
from ...model.kinds.virtual_machine import VirtualMachine
from ...model.kinds.virtual_machine_instance import VirtualMachineInstance
from ...model.record import Record, Ref
from ...model.vm_networks import claim_name
from ..advice import advised
from ..base import View
from .owner import ClaimOwner, owner_of
from .reasons import REASONS

__all__ = ["ClaimContext", "Moment", "controller_away", "referred_to", "refers"]

Moment = tuple[float | None, Since]
UNKNOWN_MOMENT: Moment = (None, Since.FIRST_SEEN)


@dataclass(frozen=True)
class ClaimContext:
    view: View
    claim: IPAMClaim

    @property
    def key(self) -> str:
        return f"{self.claim.namespace}/{self.claim.name}"

    @cached_property
    def owner(self) -> ClaimOwner:
        return owner_of(self.view, self.claim)

    @cached_property
    def users(self) -> list[Pod]:
        """Pods that refer to the claim, hold one of its addresses, or are of its VM."""
        view, claim = self.view, self.claim
        names = [name for name in claim.vms if name]
        found: list[Record] = [
            *view.sharing(CLAIM, self.key),
            *(other for ip in claim.hosts for other in view.sharing(ADDRESS, address(claim.network, ip))),
            *(other for name in names for other in view.sharing(VM, vm_key(claim.namespace, name))),
        ]
        pods = {(pod.namespace, pod.name): pod for pod in found if isinstance(pod, Pod)}
        return [pods[place] for place in sorted(pods)]

    @property
    def in_use(self) -> bool:
        """Whether a pod uses it. Raises UnreadableFactError where none does but one that can't be read may."""
        for pod in () if self.users else self.view.sharing(NAD, unreadable(self.claim.namespace)):
            if isinstance(pod, Pod):
                pod.known(*REFERRED)
        return bool(self.users)

    @cached_property
    def pods(self) -> list[Pod]:
        """The launcher pods of the claim's VM that are not completed."""
        own = self.claim.namespace, self.claim.vms
        return [pod for pod in self.users if pod.domain and pod.namespace == own[0] and pod.domain in own[1]]

    @cached_property
    def vm(self) -> VirtualMachine | None:
        return self.view.named(VirtualMachine, self.claim.namespace, self.claim.vms[0])

    @cached_property
    def vmi(self) -> VirtualMachineInstance | None:
        return self.view.named(VirtualMachineInstance, self.claim.namespace, self.claim.vms[0])

    @property
    def runs(self) -> bool:
        """Whether the VM runs or starts."""
        return self.vmi is not None and self.vmi.phase not in ("Succeeded", "Failed")

    @cached_property
    def nads(self) -> list[NetworkAttachmentDefinition]:
        """The NADs of the claim's network, in any namespace, by name."""
        found = self.view.sharing(NAD, self.claim.network) if self.claim.network else ()
        return sorted(
            (record for record in found if isinstance(record, NetworkAttachmentDefinition)),
            key=lambda each: (each.namespace, each.name),
        )

    @cached_property
    def effective(self) -> list[NetworkAttachmentDefinition]:
        """Those of them that allow persistent IPs."""
        return [nad for nad in self.nads if nad.effective]

    @cached_property
    def ruler(self) -> NetworkAttachmentDefinition | None:
        """The one of them whose pool the network most likely has, where several differ."""
        return self.effective[0] if len(self.effective) == 1 else ruling(self.effective)

    @property
    def unreadable_nad(self) -> bool:
        """Whether a NAD in the claim's namespace can't be decoded: it may be of any network."""
        found = self.view.sharing(NAD, unreadable(self.claim.namespace))
        return any(isinstance(record, NetworkAttachmentDefinition) for record in found)

    @cached_property
    def interfaces(self) -> list[tuple[str, str]]:
        """(logical network, NAD or empty) of the VM's networks that the claim's name stands for."""
        vms = [record for record in (self.vmi, self.vm) if record is not None]
        return [
            (network, nad)
            for record in vms
            for network, nad, _ in record.networks
            if claim_name(record.name, network) == self.claim.name
        ]

    def nad(self, key: str) -> NetworkAttachmentDefinition | None:
        """The NAD that a VM refers to by `namespace/name`; empty text is its namespace's primary one."""
        return referred_to(self.view, self.claim.namespace, key)

    def finding(
        self,
        reason: str,
        severity: Severity,
        message: str,
        since: Moment = UNKNOWN_MOMENT,
        *,
        related: Iterable[Ref] = (),
        group: str = "",
        next_step: str = "",
        commands: tuple[str, ...] = (),
        **evidence: Any,
    ) -> Finding:
        """A finding on the claim; empty facts are left out of its evidence.

        `next_step` and `commands` replace those of the reason.
        """
        claim = self.claim
        facts = {
            "vmName": self.owner.ref.name,
            "address": claim.hosts[0] if claim.hosts else "",
            "launcherPod": self.pods[0].name if self.pods else "",
            "ips": list(claim.hosts),
            "finalizers": list(claim.finalizers),
            "pods": [f"{pod.namespace}/{pod.name}" for pod in self.users],
            "ipLoss": ip_loss(claim, in_use=bool(self.users)),
            **evidence,
        }
        found = Finding(
            reason=reason,
            severity=severity,
            subject=claim.ref,
            message=message,
            related=tuple(related),
            vm=claim.vms[0],
            network=claim.network,
            next=next_step,
            since=since[0],
            since_source=since[1] if since[0] is not None else Since.FIRST_SEEN,
            group=group,
            evidence={name: fact for name, fact in facts.items() if fact},
        )
        return advised(found, replace(REASONS[reason], commands=commands)) if commands else found


def referred_to(view: View, namespace: str, key: str) -> NetworkAttachmentDefinition | None:
    """The NAD that a VM refers to by `namespace/name`; by empty text, its namespace's primary one.

    Of several primary ones, which is a finding of its own, the first by name.
    """
    return min(
        (
            each
            for each in view.sharing(REFERENCE, key or primary(namespace))
            if isinstance(each, NetworkAttachmentDefinition)
        ),
        key=lambda each: each.name,
        default=None,
    )


def refers(pod: Pod, claim: IPAMClaim) -> bool:
    """Raises UnreadableFactError for a pod of its namespace that can't be read; one of another does not refer to it."""
    found = pod.claims if pod.namespace == claim.namespace else pod.known_claims
    return f"{claim.namespace}/{claim.name}" in found


def ip_loss(claim: IPAMClaim, *, in_use: bool) -> str:
    """What happens to its addresses when the claim is deleted: they are released once the object is gone."""
    if not claim.hosts:
        return "none: it holds no address"
    when = (
        "when the finalizer is removed" if FINALIZER in claim.finalizers else "as soon as it is deleted: no finalizer"
    )
    if in_use:
        return f"an address in use is released {when}, and may be allocated to another VM or pod"
    return f"its addresses are released {when}; its VM gets new ones at its next start"


def controller_away(view: View) -> bool:
    """Whether the IPAM controller is known not to run: what it would do is then missing for that reason."""
    found = [each for each in view.all(Deployment) if each.role == CLAIM_CONTROLLER]
    return bool(found) and not any(each.ready for each in found)
