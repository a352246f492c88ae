"""Labels a ControllerRevision that a VM's spec names, so that KubeVirt does not delete it under the VM.

From 1.5 on KubeVirt takes a ControllerRevision without the label object-version for one of an old version of its API:
with the next event of the VM it makes another one of it and deletes this one, while the spec goes on naming it
(pkg/instancetype/upgrade/handler.go of kubevirt/kubevirt). After that the VM neither starts nor stops. With the labels
that KubeVirt gives to those that it makes it leaves this one alone. They say what is in the ControllerRevision:
generation, kind, name, UID and version of the object; which one the VM gets does not depend on them, since a pin goes
before everything else.

It would depend on them where only the status of a VM names the ControllerRevision: KubeVirt passes over one without the
label object-name, and takes the live object. So nothing is done where any VM refers to it by its status alone. One that
holds an old version of the API is left alone too: labelled or not, KubeVirt converts it and deletes it.

Once it is labelled and no VM names it any more it is one that `delete_orphan_revision` deletes.

Undo: take the labels off again. While a VM's spec names the ControllerRevision KubeVirt then deletes it: that has to be
accepted.
"""

from __future__ import annotations

from exporter.domain.instancetypes.indexes import REVISION, revision_key
from exporter.domain.instancetypes.resolving import reference
from exporter.facts.matching import ROLES
from exporter.findings.finding import Finding
from exporter.store.kinds.instancetypes import INSTANCETYPES
from exporter.store.kinds.virtual_machine import VirtualMachine

from ...guards import guard
from ...patterns import EMPTY, PRESENT, Is, Like
from ...plan import Add, Op, Patch, Plan, Refused, Risk, Test, escaped
from ...remediation import Remediation, Scene
from ...undo import Undo, UndoEffect, UndoRequest
from ...writes import Field, Patched, Write
from .._grounds import table
from ._copies import STORED
from ._instancetypes import LABEL, LOSSES, REFERRING, Held, copied, going, held

NAMES = ("generation", "kind", "name", "uid", "version")
_PATH = "/metadata/labels"
_LONGEST = 63  # characters of a label's value


@guard(
    held,
    {
        "content_says_what": "the object in the ControllerRevision has a kind, a name, a UID and a generation",
        "stored_version": f"the object in the ControllerRevision is of {STORED}, which KubeVirt keeps as it is",
        "labels_agree": "no label of KubeVirt that the ControllerRevision has says anything else than its content",
        "pinned_by_all": "no VM refers to the ControllerRevision by its status alone",
    },
    reads=REFERRING,
    indexes=(REVISION,),
)
def _plan(finding: Finding, scene: Scene) -> Plan | Refused:
    found = held(finding, scene)
    if isinstance(found, Refused):
        return found
    says = copied(found.whole)
    if says is None or any(len(value) > _LONGEST for value in says.values()):
        return Refused("content_says_what", f"{found.revision.ref} does not say which object, and of which UID, it is")
    if says["version"] != STORED:
        why = f"{found.revision.ref} holds version {says['version']} of the API, which KubeVirt converts"
        return Refused("stored_version", f"{why}: remove the pin from the VM's spec first")
    labels = table(table(found.whole.get("metadata")).get("labels"))
    for name in NAMES:
        if labels.get(f"{LABEL}{name}", says[name]) != says[name]:
            other = labels[f"{LABEL}{name}"]
            why = f"label {LABEL}{name} of {found.revision.ref} is {other}, and its content says {says[name]}"
            return Refused("labels_agree", why)
    if vm := _by_status(scene, found):
        why = f"{vm.ref} refers to {found.revision.ref} by its status alone"
        return Refused("pinned_by_all", f"{why}: KubeVirt would no longer give it the live object")
    wanted = {f"{LABEL}{name}": says[name] for name in NAMES}
    return REMEDIATION.planned(
        finding,
        Patch(target=found.revision.ref, ops=_ops(bool(labels), dict(labels), wanted)),
        vm=found.vm.name,
        effect=f"KubeVirt leaves {found.revision.ref} alone, which the spec of {found.vm.ref} names. What the VM gets "
        f"is the same: {says['kind']} {says['name']}, generation {says['generation']}. Once no VM names it, it "
        "counts as an orphaned copy, which delete_orphan_revision deletes.",
    )


def _by_status(scene: Scene, found: Held) -> VirtualMachine | None:
    """A VM, whichever, that names the ControllerRevision in its status and not in its spec, in one of its roles."""
    name = found.revision.name
    for each in scene.sharing(REVISION, revision_key(found.revision.namespace, name)):
        if isinstance(each, VirtualMachine):
            references = (reference(each, role) for role in ROLES)
            if any(of is not None and of.revision == name and of.pin != name for of in references):
                return each
    return None


def _ops(any_labels: bool, labels: dict[str, str], wanted: dict[str, str]) -> tuple[Op, ...]:
    if not any_labels:
        return (Add(_PATH, wanted),)
    return tuple(
        Test(path, value) if name in labels else Add(path, value)
        for name, value in wanted.items()
        for path in [f"{_PATH}/{escaped(name)}"]
    )


_LABELS = tuple(Field(f"{_PATH}/{escaped(f'{LABEL}{name}')}", to=PRESENT, was=EMPTY) for name in NAMES)
_COPY = Like(
    data=Like(apiVersion=f"instancetype.kubevirt.io/{STORED}", kind=Is(*(each.name for each in INSTANCETYPES)))
)
REMEDIATION = Remediation(
    id="label_pinned_revision",
    title="Label the ControllerRevision that a VM's spec names",
    writes=(Write("apps", "controllerrevisions", ("patch",), (Patched(*_LABELS, old=_COPY),)),),
    plan=_plan,
    risk=Risk.NONE,
    undo="take the labels off again",
)


# Without its labels KubeVirt deletes the ControllerRevision with the next event of a VM that names it.


@guard(going)
def _weigh(taken: UndoRequest, scene: Scene) -> UndoEffect | Refused:
    ref = taken.plan.target
    return going(scene, ref, f"{ref} has no labels of KubeVirt again, which deletes it under a VM that names it.")


UNDO = Undo(id="label_pinned_revision", weigh=_weigh, losses=LOSSES)
