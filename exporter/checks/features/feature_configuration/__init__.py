"""The lists of feature gates and the settings of the KubeVirt object: what in them does not do what it seems to.

KubeVirt takes any name for a gate without a warning, and from 1.9 on it ignores those that it does not know. Which
gates a release knows and in which stage stands in model/features/gate_table.py, for all releases from 1.0 on. One
invalid value makes KubeVirt ignore the whole configuration: its components go on with the last valid one, and with the
defaults once they restart. While an upgrade is under way, each gate that it switches on or off is reported: 1.9
switches on every Beta gate that nobody disables.

Not seen here: whether a VM asks for what is off (feature_mismatch); gates of releases that are newer than the table; a
downstream build that registers gates of its own; of the names in one list that no release knows, more than the first
hundred.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ....domain.features.configuration import chosen, forecast, understood
from ....domain.features.hco import way_of_setting
from ....domain.features.settings import problems, settings
from ....findings.causes import Cause
from ....findings.check import PER_CLUSTER, Check, View
from ....findings.finding import Finding, Severity
from ....store.kinds.kube_virt import KubeVirt
from ....store.record import UnansweredError
from .hyperconverged import advised_by_hco
from .listed import of_the_lists
from .reasons import REASONS
from .upgrade import at_upgrade

__all__ = ["CHECK"]


def find(view: View) -> Iterator[Finding]:
    kubevirts = sorted(view.all(KubeVirt), key=lambda each: each.ref)
    kubevirt = chosen(kubevirts)
    if not isinstance(kubevirt, str):
        yield from (advised_by_hco(finding, kubevirt) for finding in _of(kubevirt))
        return
    deployed = [each for each in kubevirts if not isinstance(chosen([each]), str)]
    for each in deployed:
        yield Finding(
            reason="SeveralKubeVirts",
            severity=Severity.WARNING,
            subject=each.ref,
            message=f"{kubevirt}: which of them KubeVirt's components read is up to chance",
            related=tuple(other.ref for other in deployed if other is not each),
            evidence={"kubeVirts": [other.ref.path for other in deployed]},
        )


def _of(kubevirt: KubeVirt) -> Iterator[Finding]:
    """Of a configuration that KubeVirt ignores only that. Raises UnansweredError where nobody knows the gates of its
    version.
    """
    invalid = list(_invalid(kubevirt))
    if invalid:
        yield from invalid
        return
    known = understood(kubevirt)
    if isinstance(known, str):
        raise UnansweredError(known)
    coming = forecast(kubevirt)
    yield from of_the_lists(kubevirt, known, coming)
    yield from at_upgrade(kubevirt, known, coming)


def _invalid(kubevirt: KubeVirt) -> Iterator[Finding]:
    try:
        found = problems(settings(kubevirt.configuration))
    except msgspec.DecodeError:
        return  # nobody knows, and `understood` says so
    for path, why in found:
        yield Finding(
            reason="InvalidConfiguration",
            severity=Severity.CRITICAL,
            subject=kubevirt.ref,
            message=f"KubeVirt ignores its whole configuration, since {path} is invalid: {why}",
            feature=path,
            group=path,
            evidence={"why": why} | ({"hyperConverged": way_of_setting(path).place} if kubevirt.managed_by_hco else {}),
        )


CHECK = Check(
    id="feature_configuration",
    title="Feature gates and settings of KubeVirt that do not do what they seem to",
    reads=(KubeVirt.KIND,),
    scope=PER_CLUSTER,
    cause=Cause.FEATURE,
    reasons=REASONS,
    find=find,
    requires=(KubeVirt.KIND,),
)
