"""What has to hold of a write of the sidecar at the moment at which the API server took it, said a second time.

Nothing of the product decides here: objects are those of the audit log. A condition on other objects than the written
one counts as broken once it was so for `READ` seconds: no precondition of a write can name them, and what is read right
before a write is at most that old.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from exporter.domain.identity.firmware import legacy
from reconcile.plan.plan import Call, Plan
from tests.kubevirt.audit_history import AuditHistory, Place, State, Taken
from tests.kubevirt.power_rules import ENDED, NODES, PODS, READ, VMIS, VMS, kept_off, paused, saved, started
from tests.manifests import Object

__all__ = ["READ", "RULES", "bound", "broken"]

FINALIZER = "kubevirt.io/persistent-ipam"
CLAIMS: Place = ("k8s.cni.cncf.io", "ipamclaims")
VMIMS: Place = ("kubevirt.io", "virtualmachineinstancemigrations")
REVISIONS: Place = ("apps", "controllerrevisions")
NETWORKS = "k8s.v1.cni.cncf.io/networks"

Rule = Callable[[Taken, Plan, AuditHistory], Iterator[str]]


def broken(write: Taken, plan: Plan, history: AuditHistory) -> list[str]:
    """What did not hold, one clause each; empty for a write that was right."""
    rules = (RULES[plan.remediation], paused, saved)
    return [*bound(write), *(each for rule in rules for each in rule(write, plan, history))]


def bound(write: Taken) -> Iterator[str]:
    """Whether it names the UID and the resourceVersion of the object that it met; where a write came between whose end
    is not known, a later resourceVersion, which the API server compares itself.
    """
    if write.verb == "create" or write.subresource.startswith("evacuate"):
        return
    meta = (write.before or {}).get("metadata") or {}
    named = _preconditions(write)
    for field in ("uid", "resourceVersion"):
        if not named.get(field):
            yield f"has no precondition on {field}"
        elif named[field] != meta.get(field) and not (field == "resourceVersion" and _later(write, named[field])):
            yield f"was taken for {field} {named[field]} of an object with {meta.get(field)}"


def _later(write: Taken, version: str) -> bool:
    return write.unsure and write.before is not None and int(version) > int(write.before["metadata"]["resourceVersion"])


def _preconditions(write: Taken) -> Mapping[str, Any]:
    body = write.body
    if isinstance(body, list):
        return {op["path"].rpartition("/")[2]: op["value"] for op in body if op["op"] == "test"}
    if isinstance(body, dict):
        found: Mapping[str, Any] = body.get("preconditions") or body.get("metadata") or {}
        return found
    return {}


def _names(claim: Object) -> set[str]:
    meta = claim["metadata"]
    owners = {each["name"] for each in meta.get("ownerReferences") or () if each["kind"].startswith("VirtualMachine")}
    label = (meta.get("labels") or {}).get("kubevirt.io/vm")
    return owners | ({label} if label else set())


def _orphan_claim(write: Taken, plan: Plan, history: AuditHistory) -> Iterator[str]:
    claim = write.before or {}
    if FINALIZER not in (claim["metadata"].get("finalizers") or ()):
        yield "deletes an IPAMClaim without KubeVirt's finalizer"
    names, namespace = _names(claim), write.key[2]
    for place in (VMS, VMIS):
        for each in history.there(place, namespace, write.at, for_seconds=READ):
            if each["metadata"]["name"] in names:
                yield f"deletes an IPAMClaim of {place[1]} {each['metadata']['name']}, which is there"
    for pod in history.there(PODS, namespace, write.at, for_seconds=READ):
        if pod.get("status", {}).get("phase") in ENDED:
            continue
        notes = pod["metadata"].get("annotations") or {}
        refers = claim["metadata"]["name"] in _referred(notes.get(NETWORKS, ""))
        if refers or (pod["metadata"].get("labels") or {}).get("vm.kubevirt.io/name") in names:
            yield f"deletes an IPAMClaim that pod {pod['metadata']['name']} uses"


def _referred(text: str) -> list[str]:
    try:
        found = json.loads(text) if text.startswith("[") else []
    except ValueError:
        return []
    return [str(each.get("ipam-claim-reference")) for each in found if isinstance(each, dict)]


def _claim_metadata(write: Taken, plan: Plan, history: AuditHistory) -> Iterator[str]:
    before, after = (write.before or {}), (write.after or {})
    old = before["metadata"].get("ownerReferences") or []
    for owner in after.get("metadata", {}).get("ownerReferences") or ():
        if owner in old:
            continue
        place = VMS if owner["kind"] == "VirtualMachine" else VMIS
        states = history.states((*place, write.key[2], owner["name"]))
        if not any(_is(each, owner["uid"]) and each.since <= write.at for each in states):
            yield f"makes {owner['kind']} {owner['name']} with UID {owner['uid']} the owner, which never was there"
    if before.get("spec") != after.get("spec") or before.get("status") != after.get("status"):
        yield "changes more than the metadata of an IPAMClaim"


def _is(state: State, uid: str) -> bool:
    return state.thing is not None and state.thing["metadata"]["uid"] == uid


def _uuid(thing: Object | None) -> str:
    spec = (thing or {}).get("spec") or {}
    own = spec.get("template", {}).get("spec", spec)
    return str(((own.get("domain") or {}).get("firmware") or {}).get("uuid") or "")


def _persisted(write: Taken, plan: Plan, history: AuditHistory) -> Iterator[str]:
    name, uid = write.key[3], (write.before or {})["metadata"]["uid"]
    written, vmi = _uuid(write.after), history.at((*VMIS, *write.key[2:]), write.at)
    owned = vmi is not None and any(each["uid"] == uid for each in vmi["metadata"].get("ownerReferences") or ())
    if vmi is not None and owned and written.lower() != _uuid(vmi).lower():
        yield f"writes UUID {written}, and the VMI runs with {_uuid(vmi)}"
    states = history.states((*VMIS, *write.key[2:]))
    if vmi is None and written.lower() != legacy(name) and all(_uuid(each.thing) != written for each in states):
        yield f"writes UUID {written}, which is neither of the name nor of a VMI"
    if vmi is not None and (meant := _edited(write, vmi, history)):
        yield f"takes back UUID {meant}, which somebody wrote while the VMI ran"


def _edited(write: Taken, vmi: Object, history: AuditHistory) -> str:
    """The UUID in the spec before the write, if a person wrote it after the VMI began; empty where none did."""
    found = _uuid(write.before)
    if not found:
        return ""
    began = history.states((*VMIS, *write.key[2:]))
    since = next(each.since for each in began if _is(each, vmi["metadata"]["uid"]))
    states = history.states((*VMS, *write.key[2:]))
    for before, state in zip([None, *states], states, strict=False):
        old = _uuid(before.thing) if before is not None else ""
        if since < state.since <= write.at and _uuid(state.thing) == found != old and state.by == "admin":
            return found
    return ""


def _reassigned(write: Taken, plan: Plan, history: AuditHistory) -> Iterator[str]:
    vmi = history.at((*VMIS, *write.key[2:]), write.at - READ)
    if vmi is not None and vmi.get("status", {}).get("phase") not in (*ENDED, None):
        yield "gives another UUID to a VM that runs"
    new = _uuid(write.after)
    for each in history.there(VMS, "", write.at, for_seconds=READ):
        if _uuid(each) == new and each["metadata"]["uid"] != (write.after or {})["metadata"]["uid"]:
            yield f"gives UUID {new}, which VM {each['metadata']['name']} has"


def _orphan_pdb(write: Taken, plan: Plan, history: AuditHistory) -> Iterator[str]:
    meta, spec = (write.before or {})["metadata"], (write.before or {}).get("spec") or {}
    uids = {each["uid"] for each in meta.get("ownerReferences") or ()}
    uids.add((spec.get("selector", {}).get("matchLabels") or {}).get("kubevirt.io/created-by", ""))
    for each in history.there(VMIS, write.key[2], write.at, for_seconds=READ):
        if each["metadata"]["uid"] in uids:
            yield f"deletes the PDB of VMI {each['metadata']['name']}, which is there"


def _refers(vm: Object, revision: str) -> bool:
    spec, status = vm.get("spec") or {}, vm.get("status") or {}
    for role in ("instancetype", "preference"):
        kept = (status.get(f"{role}Ref") or {}).get("controllerRevisionRef") or {}
        if revision in ((spec.get(role) or {}).get("revisionName"), kept.get("name")):
            return True
    return False


def _orphan_revision(write: Taken, plan: Plan, history: AuditHistory) -> Iterator[str]:
    for vm in history.there(VMS, write.key[2], write.at, for_seconds=READ):
        if _refers(vm, write.key[3]):
            yield f"deletes the copy of an instancetype that VM {vm['metadata']['name']} refers to"


def _restored_revision(write: Taken, plan: Plan, history: AuditHistory) -> Iterator[str]:
    if write.verb != "create":
        lost = next(op.value for op in getattr(plan.step, "ops", ()) if op.path.endswith("controllerRevisionRef/name"))
        if history.at((*REVISIONS, write.key[2], lost), write.at - READ) is not None:
            yield f"drops the reference to {lost}, which is there"
        return
    made = write.after or {}
    was = [each.thing for each in history.states(write.key) if each.thing and each.since < write.at]
    if was and was[-1]["data"].get("spec") != made["data"].get("spec"):
        yield "creates the copy with another content than it had"
    (owner,) = made["metadata"]["ownerReferences"]
    vm = history.at((*VMS, write.key[2], owner["name"]), write.at)
    if vm is None or vm["metadata"]["uid"] != owner["uid"] or not _refers(vm, write.key[3]):
        yield "creates a copy that its VM does not refer to"


def _cancelled(write: Taken, plan: Plan, history: AuditHistory) -> Iterator[str]:
    """The audit log has no body of it, which went through to KubeVirt's own API server: the plan has it."""
    assert isinstance(plan.step, Call)
    name = str(plan.step.body.get("evacuationNodeName", ""))
    if not name:
        yield "cancels an evacuation without naming the node"
    vmi = history.at((*VMIS, *write.key[2:]), write.at - READ) or {}
    there = (vmi.get("status") or {}).get("nodeName") == name  # what has left already is waited for by no drain
    if there and history.lasted((*NODES, "", name), write.at, READ, kept_off):
        yield f"cancels the request to leave {name}, which is being drained"


def _migrated(write: Taken, plan: Plan, history: AuditHistory) -> Iterator[str]:
    name = (write.after or {})["spec"]["vmiName"]
    vmi = history.at((*VMIS, write.key[2], name), write.at)
    if vmi is None or not vmi.get("status", {}).get("evacuationNodeName"):
        if (history.at((*VMIS, write.key[2], name), write.at - READ) or {}).get("status", {}).get("evacuationNodeName"):
            return
        yield f"migrates VMI {name}, which nobody asked to leave"
    for each in history.there(VMIMS, write.key[2], write.at - 0.001, for_seconds=READ):
        done = each.get("status", {}).get("phase") in ENDED
        if each["spec"]["vmiName"] == name and not done:
            yield f"migrates VMI {name}, of which {each['metadata']['name']} has not finished"


def _guarded(write: Taken, plan: Plan, history: AuditHistory) -> Iterator[str]:
    name = write.key[3]
    if not any(name in _asked_for(each) for each in history.there(VMS, write.key[2], write.at)):
        yield f"guards {name}, which no VM uses"
    if (write.before or {}).get("spec") != (write.after or {}).get("spec"):
        yield "changes the spec of an instancetype"


def _asked_for(vm: Object) -> set[str]:
    return {str((vm["spec"].get(role) or {}).get("name")) for role in ("instancetype", "preference")}


def _never(what: str) -> Rule:
    def rule(_: Taken, __: Plan, ___: AuditHistory) -> Iterator[str]:
        yield what

    return rule


RULES: dict[str, Rule] = {
    "cancel_stale_evacuation": _cancelled,
    "clean_feature_gates": _never("is a proposal, and was written"),
    "delete_orphan_ipam_claim": _orphan_claim,
    "delete_orphan_pdb": _orphan_pdb,
    "delete_orphan_revision": _orphan_revision,
    "guard_instancetype": _guarded,
    "handle_external_eviction": _never("is a proposal, and was written"),
    "migrate_marked_vmi": _migrated,
    "persist_firmware_uuid": _persisted,
    "reassign_firmware_uuid": _reassigned,
    "release_ipam_claim": _never("loses an address, and was not to run"),
    "repair_ipam_claim_metadata": _claim_metadata,
    "restash_missing_revision": _restored_revision,
    "start_stopped_vm": started,
    "stop_blocked_vmi": _never("shuts a guest down, and was not to run"),
}
