"""What a change comes to in numbers: VMs that break, each once whatever breaks it, and findings of all else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field

from ...checks.features.feature_mismatch import CHECK
from ...domain.features.rules import BY_ID
from ...findings.preview import Difference
from ...store.cluster import Cluster
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ...store.source import unseen
from .gates import Hit, Users, users
from .who_breaks import SubjectOutcome, outcome_of

# What KubeVirt is set to and nodes lack, by the feature of its finding: whom it concerns.
_GROUND: dict[str, Hit] = {
    "cpu_model_default": lambda vm, requests: (
        not vm.demand.model and all(rule != "obsolete_cpu_models" for rule, _ in requests)
    ),
    "image_volume": lambda _, requests: any(rule == "image_volume" for rule, _ in requests),
    "iommufd": lambda _vm, _requests: True,
    "use_emulation": lambda _vm, _requests: True,
}
_SLICE = 1000

_Key = tuple[str, str, str]


@dataclass
class _Tally:
    broken: set[_Key] = field(default_factory=set)
    others: Counter[SubjectOutcome] = field(default_factory=Counter)

    def __iter__(self) -> Iterator[int]:
        yield len(self.broken)
        yield from (self.others[each] for each in SubjectOutcome if each is not SubjectOutcome.BREAKS)


@dataclass
class Counts:
    """In all, by namespace, and by the feature that it is about. `ground` has whom findings of KubeVirt concern."""

    ground: dict[str, Users]
    all: _Tally = field(default_factory=_Tally)
    namespaces: dict[str, _Tally] = field(default_factory=dict)
    features: dict[str, _Tally] = field(default_factory=dict)

    def take(self, difference: Difference) -> Generator[None, None, None]:
        finding, outcome = difference.finding, outcome_of(difference)
        named = finding.feature in BY_ID or finding.feature in _GROUND
        of_feature = self.features.setdefault(finding.feature, _Tally()) if named else _Tally()
        if outcome is not SubjectOutcome.BREAKS:
            of_namespace = self.namespaces.setdefault(finding.subject.namespace, _Tally())
            for tally in (self.all, of_namespace, of_feature):
                tally.others[outcome] += 1
            return
        for at, key in enumerate(self._broken(difference)):
            of_namespace = self.namespaces.setdefault(key[1], _Tally())
            for tally in (self.all, of_namespace, of_feature):
                tally.broken.add(key)
            if at % _SLICE == _SLICE - 1:
                yield

    def concerned(self, difference: Difference) -> Users | None:
        """Of a finding of KubeVirt that breaks VMs, those that are seen; None of any other."""
        finding = difference.finding
        of_kubevirt = finding.subject.kind == KubeVirt.__name__ and outcome_of(difference) is SubjectOutcome.BREAKS
        return self.ground.get(finding.feature) if of_kubevirt else None

    def _broken(self, difference: Difference) -> Iterable[_Key]:
        """A VM and its VMI are one."""
        found, subject = self.concerned(difference), difference.finding.subject
        if found is not None and found.once:
            return (("VirtualMachine", *key) for key in found.once)
        kind = "VirtualMachine" if subject.kind == VirtualMachineInstance.__name__ else subject.kind
        return ((kind, subject.namespace, subject.name),)


def idle(difference: Difference, ground: dict[str, Users]) -> bool:
    """Whether it is about container disks, and all VMs are seen and none has one: it says nothing to such a cluster."""
    finding = difference.finding
    if finding.subject.kind != KubeVirt.__name__ or finding.feature != "image_volume":
        return False
    of = ground.get(finding.feature)
    return of is not None and not of.once


def ground_users(cluster: Cluster, differences: Iterable[Difference]) -> Generator[None, None, dict[str, Users]]:
    """Whom the findings of KubeVirt among them concern, by their features; none while that can't be seen."""
    if unseen(cluster, tuple(kind.record for kind in CHECK.reads)):
        return {}
    features = {each.finding.feature for each in differences if each.finding.subject.kind == KubeVirt.__name__}
    return (yield from users(cluster, {name: hit for name, hit in _GROUND.items() if name in features}))
