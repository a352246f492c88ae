"""Proposes lists of feature gates without an entry that has no effect.

Whoever administers KubeVirt changes the lists; the steward never does. An entry is taken out only where nothing is
switched on or off by it, in this release and in any later one that is known: a gate in `disabledFeatureGates` has no
effect before 1.9 and keeps a Beta gate off from then on. A name that KubeVirt does not know is taken out from 1.9 on,
which ignores such names; before, a build may have gates of its own. Gates that are in both lists are taken out of one
in the same change, since KubeVirt refuses any other (pkg/virt-operator/webhooks/kubevirt-update-admitter.go of
kubevirt/kubevirt).

The HyperConverged Cluster Operator reverts a direct edit: where it owns the object, the operation to take out of its
annotation `kubevirt.kubevirt.io/jsonpatch` is given instead.

Undo: put the entry back into its list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from exporter.domain.features.configuration import Effective
from exporter.domain.features.gates import NEWEST
from exporter.domain.features.hco import REVERTED, way_of_gate
from exporter.findings.finding import Finding
from exporter.store.kinds.kube_virt import KubeVirt, changed

from ...guards import guard
from ...owners import JSON_PATCH, claimed
from ...plan import Op, Patch, Plan, Proposal, Refused, Replace, Test
from ...remediation import Remediation, Scene
from .._grounds import table

_LISTS = ("featureGates", "disabledFeatureGates")
_PATH = "/spec/configuration/developerConfiguration"
_LONGEST = 253  # characters of a name in a finding
_WITHOUT_EFFECT = ("DEP", "DISC")  # states in which a gate may be listed that nothing asks for


class _Lists(NamedTuple):
    """Both lists as they are written, or as they are to be."""

    enabled: list[Any]
    disabled: list[Any]

    def have(self, gate: str) -> bool:
        return any(_named(each) == gate for listed in self for each in listed)


@guard(
    {
        "not_upgrading": "KubeVirt is not being upgraded",
        "in_a_list": "the finding is about an entry of a list of feature gates",
        "no_effect": "nothing is switched on or off in this release",
        "no_later_effect": "nothing is switched on or off in a later release that is known",
    },
    reads=(KubeVirt.KIND,),
)
def _plan(finding: Finding, scene: Scene) -> Plan | Refused:
    ref, gate = finding.subject, finding.feature
    whole, kubevirt = scene.of(ref), scene.named(KubeVirt, ref.namespace, ref.name)
    if whole is None or kubevirt is None:
        return Refused("same_object", f"{ref} does not exist")
    if kubevirt.deleting is not None:
        return Refused("not_being_deleted", f"{ref} is being deleted")
    if kubevirt.upgrading:
        return Refused("not_upgrading", f"KubeVirt is being upgraded from {kubevirt.version} to {kubevirt.target}")
    lists = _written(whole)
    if not lists.have(gate):
        return Refused("in_a_list", f"{gate} is a setting, not an entry of a list of feature gates")
    now = Effective.of(kubevirt)
    if isinstance(now, str):
        return Refused("everything_seen", now)
    clean = _without(gate, lists, now)
    effects = list(_effects(kubevirt, _configured(whole, clean), finding))
    if effects:
        later, why = effects[0]
        return Refused("no_later_effect" if later else "no_effect", why)
    plan = REMEDIATION.planned(
        finding,
        Patch(target=ref, ops=tuple(_ops(lists, clean))),
        effect=f"Nothing is switched on or off by it, in {now.version.tag} and in later releases up to {_NEWEST}."
        + _meant(finding),
    )
    return msgspec.structs.replace(plan, proposal=_proposal(plan, whole, kubevirt, gate, lists))


def _named(entry: Any) -> str:
    return entry[:_LONGEST] if isinstance(entry, str) else ""


def _written(whole: Mapping[str, Any]) -> _Lists:
    developer = table(table(table(whole.get("spec")).get("configuration")).get("developerConfiguration"))
    return _Lists(*(listed if isinstance(listed, list) else [] for listed in map(developer.get, _LISTS)))


def _without(gate: str, lists: _Lists, now: Effective) -> _Lists:
    both = {_named(each) for each in lists.enabled} & {_named(each) for each in lists.disabled} - {""}
    not_enabled = {each for each in both if not now.gates.on(each)}
    not_disabled = both - not_enabled
    if gate not in both or not now.gates.known(gate):
        not_enabled, not_disabled = not_enabled | {gate}, not_disabled | {gate}
    return _Lists(
        [each for each in lists.enabled if _named(each) not in not_enabled],
        [each for each in lists.disabled if _named(each) not in not_disabled],
    )


def _configured(whole: Mapping[str, Any], lists: _Lists) -> str:
    configuration = dict(table(table(whole.get("spec")).get("configuration")))
    developer = dict(table(configuration.get("developerConfiguration")))
    configuration["developerConfiguration"] = developer | dict(zip(_LISTS, lists, strict=True))
    return msgspec.json.encode(configuration).decode()


_NEWEST = f"v{NEWEST[0]}.{NEWEST[1]}"


def _effects(kubevirt: KubeVirt, configuration: str, finding: Finding) -> Iterator[tuple[bool, str]]:
    """What the change switches, each with whether that is in a later release only."""
    after = changed(kubevirt, configuration=configuration)
    major, minor = kubevirt.release
    later = [f"v{major}.{each}.0" for each in range(minor + 1, NEWEST[1] + 1)] if major == NEWEST[0] else []
    for version in (None, *later):
        was, will = Effective.of(kubevirt, version), Effective.of(after, version)
        if isinstance(was, str) or isinstance(will, str):
            yield version is not None, f"the effect is unknown: {was if isinstance(was, str) else will}"
            continue
        for gate in sorted({*was.gates.names, *was.gates.enabled, *was.gates.disabled}):
            inert = gate == finding.feature and finding.reason == "InertGate"
            if inert and was.gates.state(gate) in _WITHOUT_EFFECT:
                continue
            if _on(was, gate) != _on(will, gate):
                words = "off" if was.gates.on(gate) else "on"
                yield version is not None, f"in {was.version.tag} {gate} would be {words}"


def _on(known: Effective, gate: str) -> tuple[bool, bool]:
    """Whether it is on; of what counts beside that as a gate, for an empty CD-ROM, that too."""
    return known.on(gate), gate == "DeclarativeHotplugVolumes" and known.gates.on(gate)


def _ops(lists: _Lists, clean: _Lists) -> Iterator[Op]:
    for field, before, after in zip(_LISTS, lists, clean, strict=True):
        if before != after:
            yield Test(f"{_PATH}/{field}", before)
            yield Replace(f"{_PATH}/{field}", after)


def _meant(finding: Finding) -> str:
    nearest = finding.evidence.get("nearest")
    return (
        f" If {nearest} is meant, write that instead. That is another change, which can have an effect."
        if nearest
        else ""
    )


def _proposal(plan: Plan, whole: Mapping[str, Any], kubevirt: KubeVirt, gate: str, lists: _Lists) -> Proposal:
    if kubevirt.managed_by_hco:
        return _in_hyperconverged(gate, lists)
    found = claimed(plan, whole)
    if found is not None:
        return found
    ops = plan.step.ops if isinstance(plan.step, Patch) else ()
    of = plan.subject
    return Proposal(
        owner="the KubeVirt administrator",
        where=f"As a JSON patch: kubectl patch kubevirts.kubevirt.io -n {of.namespace} {of.name} --type=json -p PATCH",
        patch=msgspec.json.encode(ops).decode(),
    )


def _in_hyperconverged(gate: str, lists: _Lists) -> Proposal:
    """HCO makes both lists from its own fields; what else is in them comes from its annotation."""
    way = way_of_gate(gate)
    added = [
        {"op": "add", "path": f"{_PATH}/{field}/-", "value": gate}
        for field, listed in zip(_LISTS, lists, strict=True)
        if gate in map(_named, listed)
    ]
    annotated = JSON_PATCH in way.place
    there = f" Remove from it: {msgspec.json.encode(added).decode()}." if annotated else ""
    return Proposal(owner="the HyperConverged Cluster Operator", where=f"{way.sentence(None)}{there} {REVERTED}")


REMEDIATION = Remediation(
    id="clean_feature_gates",
    title="Propose lists of feature gates without entries that have no effect",
    plan=_plan,
    undo="restore the entry in its list",
    proposes_only=True,
)
