"""What somebody may read of a VM who sees its namespace alone: what follows from there, and from what is everybody's.

Which nodes could take it follows from what runs there, and whether a network or a node is well from objects that are
not theirs. All of that is left out, and said to be.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ...facts.rules import OF_NETWORKS
from ...findings.finding import Finding, Unknown
from ..findings import FindingReport
from .report import FeatureUse, InterfaceReport, Places, UpgradeOutcome, VMWhole
from .verdicts import verdicts

HIDDEN = "what is outside of its namespace is not shown to you"
_NETWORKS = frozenset(rule.id for rule in OF_NETWORKS)


def for_owner(found: VMWhole, findings: Iterable[FindingReport], forbidding: Iterable[Finding]) -> VMWhole:
    """`findings` are those on it as the owner may read them, `forbidding` those that forbid something to be done to it,
    of which those in its namespace count.
    """
    namespace = found.namespace
    ability, restart = found.migration, found.restart
    own = msgspec.structs.replace(
        found,
        generation=0,  # which grows with what is found elsewhere
        migration=msgspec.structs.replace(ability, obstacle="", refused=()) if ability is not None else None,
        held=(),
        failures=tuple(msgspec.structs.replace(each, next="", commands=()) for each in found.failures),
        targets=Places(unknown=HIDDEN) if found.targets is not None else None,
        drain=None,
        drain_unknown=HIDDEN if ability is not None else "",
        restart=msgspec.structs.replace(
            restart,
            refused=tuple(each for each in restart.refused if not each.startswith("NAD ")),
            start=Places(unknown=HIDDEN),
        )
        if restart is not None
        else None,
        upgrade=UpgradeOutcome(unknown=HIDDEN),
        interfaces=tuple(_interface(each, namespace) for each in found.interfaces),
        features=tuple(_feature(each) for each in found.features if each.feature not in _NETWORKS),
        findings=tuple(findings),
        around=(),
        copies=(),
        unseen=(),
        unread=tuple(each for each in found.unread if each.namespace == namespace),
        unanswered=(Unknown("every check", "", HIDDEN),),
        unanswered_in_all=1,
    )
    mine = [each for each in forbidding if each.subject.namespace == namespace]
    return msgspec.structs.replace(own, verdicts=verdicts(own, mine, (), ()))


def _feature(each: FeatureUse) -> FeatureUse:
    """Why nobody knows may name where KubeVirt is."""
    return each if each.allowed is not None else msgspec.structs.replace(each, why=(HIDDEN,))


def _interface(each: InterfaceReport, namespace: str) -> InterfaceReport:
    """Whether a NAD of another namespace is there is nothing to be said."""
    if not each.nad or each.nad.partition("/")[0] == namespace:
        return each
    return msgspec.structs.replace(each, missing="", unknown="")
