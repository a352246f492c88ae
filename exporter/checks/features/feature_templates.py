"""VirtualMachineInstanceReplicaSets whose template asks for a feature that the cluster does not allow.

The VMIs that are there run on; the next one can't be created, or its launcher pod can't be rendered.

Not seen here: VirtualMachinePools, of whose VMs each is reported by itself; what no node supports; templates of tools
outside of the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...domain.features.configuration import Effective, chosen
from ...facts.naming import filled
from ...facts.record import UnansweredError
from ...facts.rule import Ground, Rule, Stage
from ...facts.rules import BY_ID
from ...facts.rules.networks import IMPLICIT
from ...findings.causes import Cause
from ...findings.check import PER_NAMESPACE, Check, View
from ...findings.finding import Finding
from ...findings.pages import Texts, command, reasons_of
from ...findings.severity import Severity
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.templates import VirtualMachineInstanceReplicaSet
from .feature_mismatch.evaluation import Allowing, change_of, edit_of, next_step, refusals, refused
from .feature_mismatch.states import because

_DEFAULT = ("", IMPLICIT)
_BITES = (Stage.ADMISSION, Stage.CREATION, Stage.POD)

_TEXTS, _COMMANDS = Texts("feature_templates"), reasons_of("feature_templates")["TemplateRequestsDisabled"].commands


def find(view: View) -> Iterator[Finding]:
    kubevirt = chosen(view.all(KubeVirt))
    known = kubevirt if isinstance(kubevirt, str) else Effective.of(kubevirt)
    for each in view.all(VirtualMachineInstanceReplicaSet):
        if each.deleting is not None:
            continue
        if isinstance(kubevirt, str) or isinstance(known, str):
            # What every VM asks for by default says nothing of this one.
            if any(
                not BY_ID[rule].common or parameter.rpartition(" ")[2] not in _DEFAULT for rule, parameter in each.asks
            ):
                raise UnansweredError(str(known))
            continue
        ground = Ground(known)
        for rule, whys in refusals(ground, each.asks).items():
            if rule.bites(known) in _BITES:
                change = change_of(rule, known, kubevirt.managed_by_hco, refused(rule, ground, each.asks))
                yield _finding(each, rule, whys, kubevirt, known, change)


def _finding(
    each: VirtualMachineInstanceReplicaSet,
    rule: Rule,
    whys: tuple[str, ...],
    kubevirt: KubeVirt,
    known: Effective,
    change: Allowing,
) -> Finding:
    facts: dict[str, Any] = {
        "stage": rule.bites(known).value,
        "why": list(whys),
        "answer": rule.message,
        "gate": rule.gate,
    }
    facts |= {"version": str(known.version), "replicas": each.replicas, "change": change.full}
    return Finding(
        reason="TemplateRequestsDisabled",
        severity=Severity.WARNING,
        subject=each.ref,
        message=_TEXTS.message("TemplateRequestsDisabled", feature=rule.phrase_of(each.ref.kind), why=because(whys)),
        feature=rule.id,
        group=rule.id,
        next=next_step(_TEXTS, "TemplateRequestsDisabled", rule, known, change),
        commands=tuple(
            filled(text, {"NAMESPACE": each.namespace, "NAME": each.name})
            for text in (*_COMMANDS, *((edit_of(kubevirt),) if change.full else ()), command("edit_replica_set"))
        ),
        evidence={name: fact for name, fact in facts.items() if fact != ""},
    )


CHECK = Check(
    id="feature_templates",
    title="Templates of VMIs that ask for features that the cluster does not allow",
    reads=(VirtualMachineInstanceReplicaSet.KIND, KubeVirt.KIND),
    scope=PER_NAMESPACE,
    cause=Cause.FEATURE,
    reasons=reasons_of("feature_templates"),
    find=find,
)
