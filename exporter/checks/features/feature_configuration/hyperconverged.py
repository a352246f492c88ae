"""Advice where the HyperConverged Cluster Operator owns the KubeVirt object: it reverts what others write there."""

from __future__ import annotations

import msgspec

from ....domain.features.hco import REVERTED, way_of_gate, way_of_setting
from ....findings.finding import Finding
from ....store.kinds.kube_virt import KubeVirt
from .reasons import READ_HYPERCONVERGED, READ_LISTS


def advised_by_hco(finding: Finding, kubevirt: KubeVirt) -> Finding:
    """The finding with where its gate or setting is decided, if that is not in the KubeVirt object."""
    if not kubevirt.managed_by_hco:
        return finding
    setting = finding.reason == "InvalidConfiguration"
    way = way_of_setting(finding.feature) if setting else way_of_gate(finding.feature)
    namespace = kubevirt.namespace
    return msgspec.structs.replace(
        finding,
        next=f"{way.sentence(None)} {REVERTED}",
        commands=tuple(
            each.replace("NAMESPACE", namespace).replace("NAME", kubevirt.name)
            for each in (READ_HYPERCONVERGED, READ_LISTS)
        ),
    )
