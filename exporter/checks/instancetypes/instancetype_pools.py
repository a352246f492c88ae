"""VirtualMachinePools whose template refers to an instancetype or preference that doesn't exist.

The VMs of a pool have ControllerRevisions of their own. Only VMs that the pool creates from now on need the live
object.

Not seen here: templates of tools outside of the cluster, and VirtualMachineTemplates, from which VMs are created only
on request.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...domain.instancetypes.indexes import OBJECT, POOLS, REVISION
from ...domain.instancetypes.resolving import LIVE, reference, target
from ...facts.matching import ROLES, MatcherRole
from ...findings.causes import Cause
from ...findings.check import Check, Lookup, Scope, View
from ...findings.finding import Finding
from ...findings.pages import Texts, reasons_of
from ...findings.severity import Severity
from ...store.kinds.controller_revision import START, ControllerRevision
from ...store.kinds.instancetypes import CLUSTER_WIDE, INSTANCETYPES, RESOURCES
from ...store.kinds.templates import VirtualMachinePool

TEXTS = Texts("instancetype_pools")


def find(view: View) -> Iterator[Finding | None]:
    for pool in view.all(VirtualMachinePool):
        if pool.deleting is None:
            for role in ROLES:
                yield from view.apart(_missing(view, pool, role))


def _missing(view: View, pool: VirtualMachinePool, role: MatcherRole) -> Iterator[Finding]:
    wanted = reference(pool, role)
    if wanted is None or (not wanted.name and not wanted.pin):
        return
    kind, namespace, name = target(pool.namespace, role, wanted)
    if wanted.pin:
        if wanted.pin.startswith(START) or view.named(ControllerRevision, pool.namespace, wanted.pin) is not None:
            return  # most saved specs of VMs have no record, whether they are there or not
        what, resource, name = "ControllerRevision", "controllerrevisions.apps", wanted.pin
    elif not kind:
        return  # the API server takes it, and each VM of it is reported
    elif view.named(LIVE[kind], namespace, name) is not None:
        return
    else:
        what, resource = kind, RESOURCES[kind]
    yield Finding(
        reason="PoolObjectMissing",
        severity=Severity.WARNING,
        subject=pool.ref,
        message=TEXTS.message(
            "PoolObjectMissing", "revision" if wanted.pin else "", role=role.value, kind=what, name=name
        ),
        next=TEXTS.next_if_short("PoolObjectMissing", "named", kind=what, name=name),
        evidence={
            "role": role.value,
            "object": wanted.name,
            **({} if wanted.pin else {"objectKind": what}),
            "resource": resource,
            "condition": f'{resource} "{name}" not found',
        },
        group=role.value,
    )


CHECK = Check(
    id="instancetype_pools",
    title="VirtualMachinePools whose instancetype or preference is missing",
    reads=(VirtualMachinePool.KIND, *INSTANCETYPES, ControllerRevision.KIND),
    scope=Scope("one pool", POOLS),
    looks_up=(OBJECT, Lookup(REVISION, changes_of=(ControllerRevision,))),
    cause=Cause.REFERENT,
    reasons=reasons_of("instancetype_pools"),
    find=find,
    requires=(VirtualMachinePool.KIND, *CLUSTER_WIDE),
)
