"""Cancels the evacuation requests for one node, once nobody drains it any more."""

from __future__ import annotations

from typing import Any

import msgspec

from exporter.cli.input.once import aim_of
from exporter.cli.output.text.terminal import complain, one_line, say
from exporter.domain.drains.eviction import cordoned, drain_taints
from exporter.facts.record import Ref
from exporter.findings.finding import Finding, fingerprint
from exporter.findings.severity import Severity
from exporter.kube.errors import AbsentError
from exporter.store.decode import ObjectDecoder
from exporter.store.kind import ApiKind
from exporter.store.kinds import kube_virt, node, virtual_machine_instance

from ..carry_out.attempt import AttemptState
from ..carry_out.confirm import Confirmed
from ..carry_out.fresh_reads import Reads, document
from ..config.settings import Mode
from ..decide.repair import Found, Hint
from ..plan.plan import Call, Refused
from ..plan.remediations._grounds import table
from ..plan.remediations.drains.cancel_stale_evacuation import REMEDIATION
from ..plan.requests import ref_of
from .applying import Applying
from .plan_text import shown
from .session import Session
from .several import readable, repair_of
from .writing import agreed

# The evacuations of one node: whom it asks to leave, and whether it is closed, read afresh each time.

_CHECK, _REASONS = next(iter(REMEDIATION.answers.items()))


async def asked_to_leave(reads: Reads, name: str) -> list[Ref]:
    """The VMIs whose evacuation request names a node, wherever they are, in order. Raises KubeError."""
    kind = virtual_machine_instance.KIND
    objects = map(document, await reads.listed(kind, await reads.served(kind), None))
    return sorted(
        ref_of(kind.name, each) for each in objects if table(each.get("status")).get("evacuationNodeName") == name
    )


async def closed(reads: Reads, name: str) -> str:
    """Why a drain of a node may wait for its VMIs to leave, one clause; empty where nothing says so. Raises KubeError,
    ValueError where it does not exist.
    """
    raw = await reads.get(node.KIND, await reads.served(node.KIND), "", name)
    if raw is None:
        raise ValueError(f"node {name} doesn't exist: KubeVirt can't cancel evacuation requests for it")
    found = _record(node.KIND, raw)
    if cordoned(found):
        return f"node {name} is cordoned"
    kubevirts = await _all_of(reads, kube_virt.KIND)
    if taints := [taint for each in (*kubevirts, None) for taint in drain_taints(found, each)]:
        return f"node {name} has taint {taints[0]}"
    maintained = [each for each in await _all_of(reads, node.MAINTENANCE) if each.node == name]
    standing = sorted(each.name for each in maintained if each.deleting is None)
    return f"NodeMaintenance {standing[0]} is for node {name}" if standing else ""


async def _all_of(reads: Reads, kind: ApiKind[Any]) -> list[Any]:
    try:
        version = await reads.served(kind)
    except AbsentError:
        return []
    return [_record(kind, raw) for raw in await reads.listed(kind, version, None)]


def _record(kind: ApiKind[Any], raw: bytes | msgspec.Raw) -> Any:
    """Raises ValueError for an object that can't be decoded: nobody knows what it says."""
    seen = ObjectDecoder(kind).object(raw)
    if seen.why:
        raise ValueError(f"{kind.name} {seen.name} can't be decoded: {seen.why}")
    return seen.record


async def planned(at: Session, name: str, vmi: Ref) -> tuple[Found, Confirmed | Refused]:
    """The plan that cancels the request of a VMI for a node, by whichever of its reasons the check reports; else why
    there is none.
    """
    refused: list[tuple[Found, Refused]] = []
    for reason in _REASONS:
        finding = Finding(reason=reason, severity=Severity.WARNING, subject=vmi, message="")
        found = Found(Hint(_CHECK, reason, vmi, fingerprint(_CHECK, finding)), finding.severity.value, "", vm=vmi.name)
        made = await at.planned(found, REMEDIATION)
        step = made.plan.step if isinstance(made, Confirmed) else None
        if isinstance(made, Refused):
            refused.append((found, made))
        elif isinstance(step, Call) and step.body.get("evacuationNodeName") == name:
            return found, made
        else:
            refused.append((found, Refused("finding_holds", f"{vmi} now has an evacuation request for another node")))
    return min(refused, key=lambda each: each[1].precondition == "finding_holds")  # which says least


_OVER = ("finding_holds", "same_object", "not_being_deleted")  # it is over without us


async def called_off(at: Session, name: str) -> int:
    """Shows the plans, asks, and carries them out; the exit code. Raises ValueError, KubeError, SourceError,
    LedgerError.
    """
    if why := await closed(at.reads, name):
        complain(f"{why}: a drain might wait for its VMIs to leave. Uncordon it first")
        return 1
    asked = await asked_to_leave(at.reads, name)
    made = [await planned(at, name, each) for each in asked]
    repairs = [repair_of(found, REMEDIATION, plan, Mode.APPLY) for found, plan in made]
    say(readable(shown(repairs), at.arguments) if made else f"No VMI has an evacuation request for {name}.\n")
    plans = [(found, plan) for found, plan in made if isinstance(plan, Confirmed)]
    if not plans or not agreed(at.arguments, f"Cancel {len(plans)} of {len(made)} requests?"):
        return 1 if made else 0
    async with Applying.begun(at, await at.observed()) as applying:
        code = await _all(at, name, plans, applying)
    return code or (1 if len(plans) < len(made) else 0)


async def _all(at: Session, name: str, plans: list[tuple[Found, Confirmed]], applying: Applying) -> int:
    """One after the other; whichever does not end as it should ends it. The exit code."""

    async def closed_again() -> Refused | None:
        why = await closed(at.reads, name)
        return Refused("not_being_drained", f"{why} again: a drain might wait for its VMIs to leave") if why else None

    written = 0
    for number, (found, plan) in enumerate(plans):
        result = await applying.carried_out(found, REMEDIATION, plan, written, closed_again)
        subject = one_line(str(found.hint.subject))
        if result.state == AttemptState.DONE:
            written += 1
            say(f"{subject}: request cancelled, attempt {result.attempt}.\n")
            if not result.why:
                continue
            complain(result.why)
        elif result.state == AttemptState.REFUSED and result.refused in _OVER:
            say(f"{subject}: no request left to cancel. {one_line(result.why)}\n")
            continue
        else:
            what = f"refused, {result.refused}" if result.state == AttemptState.REFUSED else result.state
            complain(aim_of(at.arguments).command(f"{subject}: {what}: {result.why}"))
        refused = result.state == AttemptState.REFUSED
        complain(f"stopped; {len(plans) - number - (0 if refused else 1)} of {len(plans)} are unchanged")
        return 1 if refused else 2
    return 0
