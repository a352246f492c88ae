"""VMs whose instancetype or preference is missing, unusable, or shared, and what VMs depend on while it may go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from demo.fleet import instancetypes as its
from tests.cluster import fleet
from tests.cluster.resources import CONTROLLER_REVISIONS, INSTANCETYPES, VM_POOLS, VMS
from tests.cluster.stage import Stage, Story, touched
from tests.cluster.stories import acts
from tests.cluster.stories.identities import pool
from tests.manifests import Object

__all__ = ["STORIES"]

Values = Mapping[str, str]
INSTANCETYPE, PREFERENCE = "VirtualMachineInstancetype", "VirtualMachinePreference"
SMALL = {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}}
LARGE = {"cpu": {"guest": 4}, "memory": {"guest": "4Gi"}}


# -- what there is


def _kept(stage: Stage, name: str = "u1", kind: str = INSTANCETYPE, spec: Object | None = None) -> Object:
    made = its.kept(kind, stage.namespace, name, spec or ({} if kind == PREFERENCE else SMALL))
    return stage.client.create(made)


def _copied(stage: Stage, vm: Object, of: Object, **how: Any) -> Object:
    return stage.client.create(its.copy(vm, of, **how))


def _vm(
    stage: Stage, of: Object | None = None, name: str = "db", *, revision: str = "", matcher: Object | None = None
) -> Object:
    """One that is to run, and whose status refers to `revision`; `matcher` is another one than to `of`."""
    vm = fleet.vm(stage.namespace, name)
    vm["spec"]["runStrategy"] = "Always"
    if of is not None:
        its.refer(vm, _role(of), of, revision)
    if matcher is not None:
        vm["spec"]["instancetype" if of is None else _role(of)] = matcher
    return stage.client.make(vm)


def _role(of: Object) -> str:
    return "preference" if of["kind"] == PREFERENCE else "instancetype"


def _sibling(stage: Stage, of: Object) -> Object:
    """The copy that another VM has."""
    return _copied(stage, _vm(stage, of, "copy"), of)


def _kubevirt(stage: Stage, release: str, **configuration: Any) -> None:
    stage.client.make(
        {
            "apiVersion": "kubevirt.io/v1",
            "kind": "KubeVirt",
            "metadata": {"namespace": stage.namespace, "name": "kubevirt"},
            "spec": {"configuration": configuration},
            "status": {"observedKubeVirtVersion": release, "targetKubeVirtVersion": release},
        }
    )


def _values(of: Object, vm: Object | None = None, revision: str = "", **more: str) -> Values:
    """What a person chooses; a copy and another object are only chosen where there are any."""
    meta, role = of["metadata"], _role(of)
    return {
        "GROUP": role,
        "OWNERUID": vm["metadata"]["uid"] if vm else "",
        "REVISION": revision,
        "NEWNAME": meta["name"],
        "NEWKIND": of["kind"],
        "SOURCE": "none",
        "SOURCENAMESPACE": "none",
    } | more


def _from(source: Object) -> Values:
    return {"SOURCE": source["metadata"]["name"], "SOURCENAMESPACE": source["metadata"]["namespace"]}


# -- the object is missing


def _deleted(stage: Stage) -> Values:
    of = _kept(stage)
    source = _sibling(stage, of)
    vm = _vm(stage, of)
    stage.client.delete(INSTANCETYPES, stage.namespace, "u1")
    return _values(of, vm, "", **_from(source))


def _misspelt(stage: Stage) -> Values:
    of = _kept(stage)
    return _values(of, _vm(stage, matcher={"kind": INSTANCETYPE, "name": "ul"}))


def _deleted_under_a_pool(stage: Stage) -> Values:
    of = _kept(stage)
    source = _sibling(stage, of)
    stage.client.delete(INSTANCETYPES, stage.namespace, "u1")
    _pool(stage, of)
    return _values(of, None, "", **_from(source))


def _pool_of_another(stage: Stage) -> Values:
    of = _kept(stage, "u2")
    _pool(stage, {**of, "metadata": {"name": "u1"}})
    return _values(of)


def _pool(stage: Stage, of: Object) -> None:
    made = pool(stage.namespace)
    template = made["spec"]["virtualMachineTemplate"]["spec"]
    template["instancetype"] = {"kind": of["kind"], "name": of["metadata"]["name"]}
    stage.client.create(made)


# -- the revision is missing


def _revision_gone(stage: Stage, kind: str = INSTANCETYPE, *, pinned: bool = False) -> tuple[Object, Object, str]:
    """The object, a VM whose revision was deleted, and the revision's name."""
    of = _kept(stage, "u1", kind, SMALL if kind == INSTANCETYPE else {"cpu": {"preferredCPUTopology": "cores"}})
    name = its.copy_name({"metadata": {"name": "db"}}, of)
    matcher = {"kind": kind, "name": "u1", "revisionName": name}
    vm = _vm(stage, of, revision=name, matcher=matcher if pinned else None)
    stage.running(vm)
    return of, vm, name


def _gone_and_another_has_a_copy(stage: Stage) -> Values:
    of, vm, name = _revision_gone(stage)
    source = _sibling(stage, of)
    stage.client.delete(INSTANCETYPES, stage.namespace, "u1")
    return _values(of, vm, name, **_from(source))


def _gone_and_nothing_has_changed(stage: Stage) -> Values:
    return _values(*_revision_gone(stage))


def _gone_of_a_preference(stage: Stage) -> Values:
    return _values(*_revision_gone(stage, PREFERENCE))


def _pin_gone(stage: Stage) -> Values:
    return _values(*_revision_gone(stage, pinned=True))


def _rebuilt(stage: Stage, values: Values) -> bool:
    """It is what the reference means, with all that KubeVirt needs of it."""
    made = stage.client.get(CONTROLLER_REVISIONS, stage.namespace, values["REVISION"])
    owner = made["metadata"]["ownerReferences"][0]
    return (
        len(made["metadata"]["labels"]) == 5
        and made["data"]["spec"] == SMALL
        and made["data"]["metadata"]["generation"] == 1
        and owner["uid"] == values["OWNERUID"]
        and owner["controller"]
    )


# -- it can't be used, or not for long


def _bad_kind(stage: Stage) -> Values:
    of = _kept(stage)
    return _values(of, _vm(stage, matcher={"kind": "Foo", "name": "u1"}))


def _old_copy(stage: Stage, release: str, *, pinned: bool = False) -> Values:
    _kubevirt(stage, release)
    of = _kept(stage)
    name = "db-u1-old"
    matcher = {"kind": INSTANCETYPE, "name": "u1", "revisionName": name}
    vm = _vm(stage, of, revision=name, matcher=matcher if pinned else None)
    _copied(stage, vm, of, name=name, version="v1alpha2")
    return _values(of, vm, name)


def _failure_stands(stage: Stage) -> Values:
    of = _kept(stage)
    vm = _vm(stage, of, revision=(name := its.copy_name({"metadata": {"name": "db"}}, of)))
    _copied(stage, vm, of)
    failure = {"type": "Failure", "status": "True", "reason": "FailedFindInstancetype", "message": "not found"}
    stage.client.update_status({**vm, "status": {**vm["status"], "conditions": [failure]}})
    return _values(of, vm, name)


def _labelless(stage: Stage) -> Values:
    _kubevirt(stage, "v1.7.0")
    of = _kept(stage)
    vm = _vm(stage, of, matcher={"kind": INSTANCETYPE, "name": "u1", "revisionName": "bare"})
    _copied(stage, vm, of, name="bare", labels={})
    return _values(of, vm, "bare")


def _other_kind(stage: Stage) -> Values:
    of = _kept(stage)
    vm = _vm(stage, of, revision=(name := its.copy_name({"metadata": {"name": "db"}}, of)))
    _copied(stage, vm, of)
    stage.client.patch(VMS, stage.namespace, "db", {"spec": {"instancetype": {"kind": None}}})
    return _values(of, vm, name)


def _of_an_earlier_vm(stage: Stage) -> Values:
    of = _kept(stage)
    vm = _vm(stage, of, revision=(name := its.copy_name({"metadata": {"name": "db"}}, of)))
    earlier = {**vm, "metadata": {**vm["metadata"], "uid": "of-an-earlier-vm"}}
    stage.client.create(its.copy(earlier, of))
    return _values(of, vm, name)


def _without_matcher(stage: Stage) -> Values:
    """KubeVirt 1.7.0 ends at the next start of the VM."""
    _kubevirt(stage, "v1.7.0")
    of = _kept(stage)
    name = its.copy_name({"metadata": {"name": "db"}}, of)
    vm = _vm(stage, of, revision=name)
    _copied(stage, vm, of)
    stage.client.patch(VMS, stage.namespace, "db", {"spec": {"instancetype": None}})
    return _values(of, vm, name)


# -- no copy, or one for two


def _unversioned(stage: Stage) -> Values:
    of = _kept(stage)
    return _values(of, _vm(stage, of))


def _to_be_expanded(stage: Stage) -> Values:
    _kubevirt(stage, "v1.7.0", instancetype={"referencePolicy": "expand"})
    of = _kept(stage)
    return _values(of, _vm(stage, of))


def _shared(stage: Stage, *, pinned: bool) -> Values:
    of = _kept(stage)
    first = _vm(stage, of, "copy", revision=(name := its.copy_name({"metadata": {"name": "copy"}}, of)))
    _copied(stage, first, of)
    matcher = {"kind": INSTANCETYPE, "name": "u1", "revisionName": name}
    vm = _vm(stage, of, revision="" if pinned else name, matcher=matcher if pinned else None)
    return _values(of, vm, name)


# -- it does not fit


def _sets_memory(stage: Stage) -> Values:
    of = _kept(stage)
    vm = fleet.vm(stage.namespace, "db")
    vm["spec"]["template"]["spec"]["domain"]["memory"] = {"guest": "1Gi"}
    return _values(of, stage.client.create(its.refer(vm, "instancetype", of)))


def _too_small(stage: Stage) -> Values:
    _kept(stage)
    _kept(stage, "u4", spec=LARGE)
    wanted = _kept(stage, "p1", PREFERENCE, {"requirements": {"cpu": {"guest": 4}}})
    vm = its.refer(fleet.vm(stage.namespace, "db"), "preference", wanted)
    vm["spec"]["instancetype"] = {"kind": INSTANCETYPE, "name": "u1"}
    return _values(wanted, stage.client.create(vm))


# -- snapshots


def _snapshot(stage: Stage, of: Object, revision: str = "") -> Object:
    """A snapshot of a VM that is gone, whose saved spec names `revision`."""
    api, meta = "snapshot.kubevirt.io/v1beta1", {"namespace": stage.namespace}
    matcher = {"kind": of["kind"], "name": of["metadata"]["name"]} | ({"revisionName": revision} if revision else {})
    saved = fleet.vm(stage.namespace, "db")
    saved["spec"][_role(of)] = matcher
    source = {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": "db"}
    snapshot = stage.client.create(
        {
            "apiVersion": api,
            "kind": "VirtualMachineSnapshot",
            "metadata": {**meta, "name": "s1"},
            "spec": {"source": source},
        }
    )
    stage.client.create(
        {
            "apiVersion": api,
            "kind": "VirtualMachineSnapshotContent",
            "metadata": {**meta, "name": "vmsnapshot-content-s1"},
            "spec": {"virtualMachineSnapshotName": "s1", "source": {"virtualMachine": saved}},
        }
    )
    return snapshot


def _deleted_under_a_snapshot(stage: Stage) -> Values:
    of = _kept(stage)
    source = _sibling(stage, of)
    _snapshot(stage, of)
    stage.client.delete(INSTANCETYPES, stage.namespace, "u1")
    return _values(of, None, "", **_from(source))


def _copy_of_a_snapshot_gone(stage: Stage) -> Values:
    of = _kept(stage)
    name = its.copy_name({"metadata": {"name": "s1"}}, of)
    return _values(of, _snapshot(stage, of, name), name)


# -- presets

_EXCLUDE = "virtualmachineinstancepresets.admission.kubevirt.io/exclude"


def _preset(stage: Stage) -> Values:
    stage.client.create(
        {
            "apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachineInstancePreset",
            "metadata": {"namespace": stage.namespace, "name": "small"},
            "spec": {"selector": {"matchLabels": {"app": "db"}}, "domain": {"devices": {}, "cpu": {"cores": 2}}},
        }
    )
    vmi = fleet.vmi(stage.client.create(fleet.vm(stage.namespace, "db")))
    vmi["metadata"]["annotations"] = {"virtualmachinepreset.kubevirt.io/small": "kubevirt.io/v1"}
    stage.client.make(vmi)
    return {}


def _excluded(stage: Stage, _: Values) -> bool:
    template = stage.client.get(VMS, stage.namespace, "db")["spec"]["template"]
    return bool(template["metadata"]["annotations"][_EXCLUDE] == "true")


def _pool_changed(stage: Stage, _: Values) -> bool:
    template = stage.client.get(VM_POOLS, stage.namespace, "web")["spec"]["virtualMachineTemplate"]
    return bool(template["spec"]["instancetype"] == {"kind": INSTANCETYPE, "name": "u2"})


_NUDGED = touched(VMS, "db")
_SAVE = "> vm.yaml"
_AGAIN, _MATCHER, _KIND = "kubectl create -n NAMESPACE", '"path": "/spec/ROLE/name"', '"/spec/ROLE/kind"'
_REBUILD, _OF_POOL = 'test -n "$SPEC" && kubectl create -f', '"/spec/virtualMachineTemplate/spec/ROLE/name"'
_UNPIN, _DRY, _DROP = '"remove", "path": "/spec/ROLE/revisionName"', "--dry-run=server", "--subresource=status --type"
_REPIN = '"replace", "path": "/spec/ROLE/revisionName"'
_CLEAR, _REFER = (f'"{op}", "path": "/status/REFERENCE/controllerRevisionRef' for op in ("remove", "replace"))

STORIES = [
    Story("VMInstancetypeMissing", "ObjectMissing", _deleted, (_AGAIN, acts.TOUCH_VM)),
    Story("VMInstancetypeMissing", "ObjectMissing", _misspelt, (_MATCHER,)),
    Story(
        "VMInstancetypeMissing",
        "RevisionMissing",
        _gone_and_another_has_a_copy,
        (_REBUILD, acts.TOUCH_VM),
        leaves=_rebuilt,
    ),
    Story("VMInstancetypeMissing", "RevisionMissing", _gone_and_nothing_has_changed, (_REBUILD,)),
    Story("VMInstancetypeMissing", "RevisionMissing", _gone_of_a_preference, (_DRY, _DROP)),
    Story("VMInstancetypeMissing", "RevisionMissing", _pin_gone, (_UNPIN, _DRY, _DROP)),
    Story("VMInstancetypeMissing", "UnknownKind", _bad_kind, (_MATCHER,)),
    Story("VMInstancetypeMissing", "RevisionUndecodable", lambda stage: _old_copy(stage, "v1.7.0"), (_DRY, _DROP)),
    Story(
        "VMInstancetypeMissing",
        "RevisionUndecodable",
        lambda stage: _old_copy(stage, "v1.7.0", pinned=True),
        (_UNPIN, _DRY, _DROP),
    ),
    Story("VMInstancetypeMissing", "FailureStands", _failure_stands, (acts.TOUCH_VM,), leaves=_NUDGED),
    Story("VMInstancetypeMissing", "PoolObjectMissing", _deleted_under_a_pool, (_AGAIN,)),
    Story("VMInstancetypeMissing", "PoolObjectMissing", _pool_of_another, (_OF_POOL,)),
    Story("VMSnapshotInstancetypeMissing", "SnapshotObjectMissing", _deleted_under_a_snapshot, (_AGAIN,)),
    Story(
        "VMSnapshotInstancetypeMissing",
        "SnapshotRevisionMissing",
        _copy_of_a_snapshot_gone,
        (_REBUILD,),
        leaves=_rebuilt,
    ),
    Story("VMInstancetypeRevisionUnfit", "LabellessPin", _labelless, ("kubectl label controllerrevisions",)),
    Story(
        "VMInstancetypeRevisionUnfit",
        "RevisionOutdated",
        lambda stage: _old_copy(stage, "v1.6.0", pinned=True),
        (_UNPIN, acts.TOUCH_VM),
        leaves=_NUDGED,
    ),
    Story("VMInstancetypeRevisionUnfit", "RevisionOfOtherKind", _other_kind, (_KIND,)),
    Story("VMInstancetypeRevisionUnfit", "RevisionNotOwned", _of_an_earlier_vm, (acts.OWN,)),
    Story(
        "VMInstancetypeRevisionUnfit", "RevisionNotOwned", lambda stage: _shared(stage, pinned=True), (_REBUILD, _REPIN)
    ),
    Story(
        "VMInstancetypeRevisionUnfit",
        "RevisionNotOwned",
        lambda stage: _shared(stage, pinned=False),
        (_REBUILD, _REFER),
    ),
    Story("VMInstancetypeRevisionUnfit", "CrashingReference", _without_matcher, (_CLEAR,)),
    Story("VMInstancetypeUnversioned", "Unversioned", _unversioned, (acts.TOUCH_VM,), leaves=_NUDGED),
    Story("VMInstancetypeUnversioned", "ExpandPending", _to_be_expanded, ("kubectl patch kubevirts",)),
    Story("VMInstancetypeUnversioned", "DeletableInUse", _unversioned, (acts.TOUCH_VM,), leaves=_NUDGED),
    Story(
        "VMInstancetypeConflict",
        "FieldConflict",
        _sets_memory,
        (_DRY, _SAVE, acts.REPLACE),
        edits=("        memory:\n          guest: 1Gi\n", ""),
    ),
    Story(
        "VMInstancetypeConflict", "RequirementsUnmet", _too_small, (_SAVE, acts.REPLACE), edits=("name: u1", "name: u4")
    ),
    Story(
        "VMIPresetInUse",
        "PresetInUse",
        _preset,
        (_SAVE, acts.REPLACE),
        leaves=_excluded,
        edits=("  template:\n", f'  template:\n    metadata:\n      annotations:\n        {_EXCLUDE}: "true"\n'),
    ),
]
