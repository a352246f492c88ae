"""Feature gates that are on, and of which a bug is known in the cluster's release of KubeVirt.

A distributor's build counts as the release that it is made of, and may have the fix.

Not seen here: bugs of releases whose branch got no fix, and whether anybody uses what the gate allows.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...domain.features.configuration import effective
from ...findings.causes import Cause
from ...findings.check import PER_CLUSTER, Check, View
from ...findings.finding import Finding
from ...findings.pages import Texts, reasons_of
from ...store.kinds.kube_virt import KubeVirt
from ._known_bugs import bugs_of, found

_TEXTS = Texts("known_gate_bugs")


def find(view: View) -> Iterator[Finding]:
    known = effective(view.all(KubeVirt))
    if isinstance(known, str):
        return  # of an unknown version no bug is known
    kubevirt = next(each for each in view.all(KubeVirt) if each.deleting is None and each.phase)
    for bug in bugs_of(kubevirt, known.version):
        if bug.gate and known.on(bug.gate):
            yield found(_TEXTS, "KnownBugOfGate", bug, kubevirt.ref, kubevirt, known.version)


CHECK = Check(
    id="known_gate_bugs",
    title="Feature gates that a known bug of KubeVirt's release concerns",
    reads=(KubeVirt.KIND,),
    scope=PER_CLUSTER,
    cause=Cause.FEATURE,
    reasons=reasons_of("known_gate_bugs"),
    find=find,
)
