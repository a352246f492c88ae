"""What the predicates of one VM share: its references resolved, and how a finding about one of them is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from ....domain.identity import owned
from ....domain.instancetypes.resolving import ReferenceMode, Resolution, resolve, undecodable
from ....facts.matching import ROLES, MatcherRole, kind_of
from ....findings.advice import filled, values_of
from ....findings.check import View
from ....findings.finding import Finding, Since
from ....findings.pages import Texts, command, reasons_of
from ....findings.severity import Severity
from ....store.kinds.controller_revision import ControllerRevision, Stash
from ....store.kinds.instancetypes import RESOURCES
from ....store.kinds.kube_virt import KubeVirt
from ....store.kinds.virtual_machine import VirtualMachine
from ....store.kinds.virtual_machine_instance import VirtualMachineInstance

REASONS = reasons_of("instancetype_vms")
TEXTS = Texts("instancetype_vms")

_CLUSTER_WIDE = tuple(role.cluster_wide for role in ROLES)
_READ_OBJECT = command("read_object")
_READ_CLUSTER_OBJECT = _READ_OBJECT.replace(" -n NAMESPACE", "")
_WANT_TO_RUN = ("Always", "Once", "RerunOnFailure")


_OLD = ("v1alpha1", "v1alpha2")
# pkg/instancetype/compatibility of kubevirt/kubevirt, in earlier releases pkg/instancetype
_NOT_DECODED, _REPORTED = "failed to decode object in ControllerRevision", "condition Failure of the VM says so"


def old_version(stash: Stash) -> str:
    """The version that it is of by its label or its content, where KubeVirt 1.7 does not decode that; else empty."""
    return next((each for each in (stash.object_version, stash.version) if each.rpartition("/")[2] in _OLD), "")


class Context(NamedTuple):
    view: View
    vm: VirtualMachine
    kubevirt: KubeVirt | None
    instancetype: Resolution | None
    preference: Resolution | None

    @classmethod
    def of(cls, view: View, vm: VirtualMachine) -> Context:
        kubevirt = min(view.all(KubeVirt), key=lambda each: each.ref, default=None)
        return cls(view, vm, kubevirt, *(resolve(vm, role, view.named, kubevirt) for role in ROLES))

    def resolved(self, role: MatcherRole) -> Resolution | None:
        return self.instancetype if role is MatcherRole.INSTANCETYPE else self.preference

    @property
    def release(self) -> tuple[int, int]:
        """(0, 0) where it is not known."""
        return self.kubevirt.release if self.kubevirt is not None else (0, 0)

    @property
    def policy(self) -> str:
        return self.kubevirt.reference_policy if self.kubevirt is not None else "reference"

    @property
    def running(self) -> bool:
        vmi = self.view.named(VirtualMachineInstance, self.vm.namespace, self.vm.name)
        return owned(vmi, self.vm) is not None

    @property
    def state(self) -> str:
        """The variant of a text that depends on whether the VM runs."""
        return "running" if self.running else "stopped"

    @property
    def severity(self) -> Severity:
        """Of what keeps it from starting: critical if the VM runs or should run."""
        needed = self.vm.run_strategy in _WANT_TO_RUN or self.running
        return Severity.CRITICAL if needed else Severity.WARNING

    def undecodable(self, revision: ControllerRevision, role: MatcherRole) -> str:
        """Why KubeVirt can't decode the object in a ControllerRevision, by what it knows, or as it reports itself of an
        old version; empty if it can.
        """
        failed = self.vm.failure == "FailedCreate" and _NOT_DECODED in self.vm.failed
        reported = failed and revision.stash is not None and old_version(revision.stash)
        return undecodable(revision, role, self.release) or (_REPORTED if reported else "")

    def finding(
        self,
        reason: str,
        severity: Severity,
        role: MatcherRole,
        message: str,
        *,
        since: float | None = None,
        source: Since = Since.CREATION,
        evidence: Mapping[str, Any] | None = None,
        step: str = "",
        without: str = "",
    ) -> Finding:
        """`since` is the VM's creation, where that is as good a beginning as any, or comes from another `source`.
        `step` is the next one, where that depends on the case, and `without` the command that has no part in it.
        """
        resolution = self.resolved(role)
        facts: dict[str, Any] = {"role": role.value}
        related = []
        if resolution is not None:
            kind = resolution.kind or kind_of(role, "")
            facts |= {"object": resolution.reference.name, "objectKind": kind, "resource": RESOURCES[kind]}
            facts |= {"revision": resolution.revision_name, "mode": resolution.mode.value}
            found = resolution.revision or (resolution.live if resolution.mode is ReferenceMode.UNVERSIONED else None)
            related = [found.ref] if found is not None else []
        facts |= evidence or {}
        made = Finding(
            reason=reason,
            severity=severity,
            subject=self.vm.ref,
            related=tuple(related),
            message=message,
            next=step,
            since=since,
            since_source=source if since is not None else Since.FIRST_SEEN,
            evidence={name: fact for name, fact in facts.items() if fact not in ("", None)},
            group=role.value,
        )
        declared = REASONS[reason].commands
        commands = tuple(each for each in declared if each != without)
        if facts.get("objectKind") in _CLUSTER_WIDE:
            commands = tuple(_READ_CLUSTER_OBJECT if each == _READ_OBJECT else each for each in commands)
        if commands == declared:
            return made
        values = values_of(made)
        return msgspec.structs.replace(made, commands=tuple(filled(each, values) for each in commands))
