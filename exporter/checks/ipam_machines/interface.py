"""One interface of a machine, with the definition that it refers to and the claim that it should have."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ...findings import Finding, Severity
from ...model.ipam_claim import IPAMClaim
from ...model.machine_networks import claim_name
from ...model.network_attachment_definition import NetworkAttachmentDefinition
from ...model.pod import Pod
from ...model.virtual_machine import VirtualMachine
from ...model.virtual_machine_instance import VirtualMachineInstance
from ..base import View
from ..ipam_claims.situation import referred_to

__all__ = ["Interface", "interfaces_of"]


@dataclass(frozen=True)
class Interface:
    view: View
    machine: VirtualMachine | VirtualMachineInstance
    network: str  # the logical name
    key: str  # `namespace/name` of the definition; empty for the pod network
    unplugged: bool
    siblings: tuple[tuple[str, str], ...]  # (network, key) of all interfaces of the machine

    @cached_property
    def definition(self) -> NetworkAttachmentDefinition | None:
        """The definition; of the pod network, the primary one of the namespace, where there is one."""
        return referred_to(self.view, self.machine.namespace, self.key)

    @property
    def persistent(self) -> bool:
        return self.definition is not None and self.definition.effective

    @property
    def claim_name(self) -> str:
        return claim_name(self.machine.name, self.network)

    @cached_property
    def claim(self) -> IPAMClaim | None:
        return self.view.named(IPAMClaim, self.machine.namespace, self.claim_name)

    @cached_property
    def instance(self) -> VirtualMachineInstance | None:
        return self.view.named(VirtualMachineInstance, self.machine.namespace, self.machine.name)

    @property
    def runs(self) -> bool:
        return self.instance is not None and self.instance.phase not in ("Succeeded", "Failed")

    @property
    def pods(self) -> list[Pod]:
        return self.view.all(Pod)

    def sibling_without_definition(self) -> str:
        """An interface whose definition is not there or can't be read: no claim is made before it is."""
        for network, key in self.siblings:
            definition = referred_to(self.view, self.machine.namespace, key) if key else None
            if key and (definition is None or not definition.readable):
                return network
        return ""

    def finding(self, reason: str, severity: Severity, message: str, **evidence: object) -> Finding:
        facts = {
            "kind": self.machine.ref.kind,
            "interface": self.network,
            "claim": self.claim_name,
            "definition": self.key,
            **evidence,
        }
        return Finding(
            reason=reason,
            severity=severity,
            subject=self.machine.ref,
            message=f"interface {self.network}: {message}",
            related=(self.definition.ref,) if self.definition else (),
            network=self.definition.network if self.definition else "",
            evidence={name: fact for name, fact in facts.items() if fact},
        )


def interfaces_of(view: View, machine: VirtualMachine | VirtualMachineInstance) -> list[Interface]:
    siblings = tuple((network, key) for network, key, _ in machine.networks)
    return [Interface(view, machine, network, key, unplugged, siblings) for network, key, unplugged in machine.networks]
