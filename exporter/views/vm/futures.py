"""What a drain of its node, a restart, and the next release of KubeVirt would do to a VM."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from ...domain.features.gates import NEWEST, next_release
from ...domain.identity.firmware import comparable
from ...domain.identity.identity import next_boot
from ...domain.instancetypes.resolving import ReferenceMode
from ...engine.engine import Engine
from ...findings.check import Check
from ...store.kinds.controller_revision import ControllerRevision
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.node import Node
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ...store.overlay import Overlay
from ..drain import VMReport
from ..drain import steps as drain_steps
from ..findings import order, supposed
from ..impact.proposals import NoSuchObjectError
from ..impact.settings_changes import Wish, configured
from .context import OneVM
from .evaluating import evaluated
from .moving import runs_now
from .obstacles import not_starting_now, refused_at_start
from .places import places
from .report import Places, RestartOutcome, UpgradeOutcome
from .shape import resolved
from .wanted import for_start


def drained(
    context: OneVM, vmi: VirtualMachineInstance, engine: Engine
) -> Generator[None, None, tuple[VMReport | None, str]]:
    """As the preview of a drain of its node alone has it; or why nobody knows."""
    findings = list(engine.findings())
    drain = yield from drain_steps(context.cluster, [vmi.node], findings, engine.generation)
    found = (vm for node in drain.nodes for vm in node.vms if vm.vm == vmi.ref)
    report = next(found, None)
    if report is not None:
        return report, ""
    why = "; ".join(each.why for each in drain.unseen if each.kind in ("Node", "VirtualMachineInstance", "Pod"))
    return None, why or f"node {vmi.node} does not exist"


# -- its next start


def restarted(context: OneVM, vm: VirtualMachine) -> Generator[None, None, RestartOutcome]:
    vmi = context.vmi
    changes, loses = _new_identity(vm, vmi)
    blocked, now = refused_at_start(context, vm), not_starting_now(context, vm, runs=runs_now(vmi))
    start = yield from start_places(context)
    return RestartOutcome(
        required=vm.restart_required,
        identity=changes,
        loses=loses,
        revisions=tuple(_new_revisions(context, vmi)) if vmi is not None else (),
        refused=tuple(dict.fromkeys(blocked)),
        not_now=tuple(now),
        start=start,
    )


def start_places(context: OneVM) -> Generator[None, None, Places]:
    """Which nodes could take its next launcher pod."""
    if why := context.blind(Node):
        return Places(unknown=why)
    wanted = for_start(context)
    if isinstance(wanted, str):
        return Places(unknown=wanted)
    return (yield from places(context.cluster, wanted))


def _new_identity(vm: VirtualMachine, vmi: VirtualMachineInstance | None) -> tuple[str, str]:
    """How its firmware UUID changes, and what the change empties."""
    following, running = next_boot(vm), vmi.identity if vmi is not None else ""
    if vmi is None or not following or not running or following == running:
        return "", ""
    loses = "persistent TPM" if "persistent TPM" in (vm.sealed, vmi.sealed) else ""
    when = "its next reboot" if vm.reboots_anew else "its next start"
    source = "of its spec" if vm.uuid.strip() else "that is derived from its name"
    new = comparable(vm.uuid) if vm.uuid.strip() else following
    return f"with {when} its firmware UUID becomes {new}, the one {source}; now it is {vmi.uuid}", loses


def _new_revisions(context: OneVM, vmi: VirtualMachineInstance) -> Iterator[str]:
    """The copies that it gets and did not start with, as far as the spec that it started with says."""
    began = context.view.named(ControllerRevision, vmi.namespace, vmi.started_with) if vmi.started_with else None
    for each in resolved(context):
        what = f"{each.role.value} {each.reference.name}"
        if each.mode is ReferenceMode.UNVERSIONED and each.failure is None:
            yield f"it gets {what} as that is then: it has no copy of it"
        elif began is not None and each.revision_name and each.revision_name not in began.pins:
            yield f"it gets {what} by ControllerRevision {each.revision_name}, which it did not start with"


# -- the next release of KubeVirt


def upgraded(context: OneVM, engine: Engine) -> Generator[None, None, UpgradeOutcome]:
    """The checks on the cluster as it would be, of this VM alone."""
    if isinstance(context.known, str):
        return UpgradeOutcome(unknown=context.known)
    release = next_release(context.known.version)
    if release is None:
        return UpgradeOutcome(unknown=f"no release after {NEWEST[0]}.{NEWEST[1]} is known")
    to = f"v{release[0]}.{release[1]}.0"
    try:
        proposal = configured(context.cluster, Wish(upgrade_to=to))
    except (ValueError, NoSuchObjectError) as error:
        return UpgradeOutcome(to, str(error))
    overlay = Overlay(context.cluster)
    for edit in proposal.edits:
        overlay.apply(edit)
    before, _ = yield from evaluated(context, engine, context.cluster, _reads_kubevirt)
    after, unknown = yield from evaluated(context, engine, overlay, _reads_kubevirt)
    appears = [supposed(*each) for key, each in after.items() if key not in before]
    goes = [supposed(*each) for key, each in before.items() if key not in after]
    why = unknown[0].why if unknown else ""
    return UpgradeOutcome(to, why, tuple(sorted(appears, key=order)), tuple(sorted(goes, key=order)))


def _reads_kubevirt(check: Check) -> bool:
    return KubeVirt in check.reach
