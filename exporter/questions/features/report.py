"""What users get to know of features and feature gates."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ...facts.record import Ref
from ...facts.rule import Migrates, Rule, Stage
from ...facts.rules import BY_ID


class ValueReport(msgspec.Struct, frozen=True, rename="camel"):
    """What some ask for in a feature, such as a device. `why` says why it is not allowed; empty where it is."""

    value: str
    why: str
    vms: int
    vmis: int


class FeatureReport(msgspec.Struct, frozen=True, rename="camel"):
    """`state` is allowed, refused, or partly where it depends on the value and both are asked for; by_value where it
    depends on it and nobody asks; unchecked in a release that does not look at it; unknown. `why` says why not.
    `bites` is where a refusal does, `migration` what a live migration of a VMI that was started before does then.
    `decided_by` names the gate, or the gates and settings. `next_state` and `next_why` are of the version that is being
    installed, empty without one.

    `requests` counts by kind and phase, `vms` and `vmis` in all; all None while they can't be counted. `first` are some
    who ask, `first_found` some of the subjects of `findings`.
    """

    feature: str
    title: str
    state: str
    why: tuple[str, ...]
    gate: str
    gate_stage: str
    gate_source: str
    decided_by: tuple[str, ...]
    bites: str
    migration: str
    answer: str
    next_state: str
    next_why: tuple[str, ...]
    requests: dict[str, dict[str, int]] | None
    vms: int | None
    vmis: int | None
    values: tuple[ValueReport, ...]
    values_in_all: int
    first: tuple[Ref, ...]
    findings: dict[str, int]
    first_found: tuple[Ref, ...]

    @property
    def asked(self) -> bool:
        return bool(self.vms or self.vmis)

    @property
    def quiet(self) -> bool:
        """Whether nobody asks for it, and nothing was found."""
        return self.vms == 0 and self.vmis == 0 and not self.findings

    @property
    def unallowed(self) -> bool:
        """Whether somebody asks for what is not allowed, or may ask for it, or will."""
        return self.asked and (
            self.state in ("refused", "partly", "unknown")
            or self.next_state in ("refused", "partly")
            or bool(self.findings)
        )


class GateReport(msgspec.Struct, frozen=True, rename="camel"):
    """`stage` is empty for a gate that this version does not know. The three of the version that is being installed
    are None without one. `features` are those that it decides.
    """

    gate: str
    stage: str
    on: bool
    source: str
    next_stage: str | None
    next_on: bool | None
    next_source: str | None
    features: tuple[str, ...]
    findings: dict[str, int]

    @property
    def changes(self) -> bool:
        return self.next_on is not None and self.next_on != self.on


class Features(msgspec.Struct, frozen=True, rename="camel"):
    """`unknown` says why nobody knows the configuration; `gates` is empty then. `unseen` names the kinds that can't be
    seen, without which nothing is counted. `kubevirt` is the object that counts, with its version and, while another
    is being installed, the `target`. `taken_as` is the release as which a version counts that is none of upstream.
    Counts are not `complete` while an object is undecodable that may ask.
    """

    generation: int
    unseen: tuple[str, ...]
    not_applicable: str
    unknown: str
    kubevirt: Ref | None
    version: str
    taken_as: str
    target: str
    complete: bool
    features: tuple[FeatureReport, ...]
    gates: tuple[GateReport, ...]


# The table of all features that docs/features.md has, and its words, which the page has too.

_HEAD = (
    *("Feature", "What", "Decided by", "Releases", "A refusal", "A live migration then", "Nodes need"),
    "KubeVirt answers",
)
BITES = {
    Stage.ADMISSION: "every create and edit of the VM, and every new VMI",
    Stage.EDIT: "every create and edit of the VM; it starts all the same",
    Stage.CREATION: "every new VM and VMI; what is there can be edited",
    Stage.POD: "the launcher pod is not rendered",
    Stage.SCHEDULING: "the launcher pod is not scheduled, or does not come up",
    Stage.LIVE: "ignored without a word",
    Stage.OBJECT: "another object, or a call of the API, is refused",
}
MIGRATES = {
    Migrates.YES: "goes on",
    Migrates.UNSCHEDULABLE: "fails: no node starts the target pod",
    Migrates.UNRENDERED: "fails: the target pod is not rendered",
    Migrates.NEVER: "such a VMI never migrates",
    Migrates.DEGRADED: "goes on without the feature",
    Migrates.UNKNOWN: "not known",
}
_VALUES = {"sev": ("sev", "sev-es", "snp"), "hyperv_strict": ("FLAG", "evmcs")}
"""What is asked for, of those whose nodes differ by it."""


def manual() -> Iterator[str]:
    yield f"| {' | '.join(_HEAD)} |"
    yield f"| {' | '.join('---' for _ in _HEAD)} |"
    for _, rule in sorted(BY_ID.items()):
        yield f"| {' | '.join(_cells(rule))} |"


def _cells(rule: Rule) -> Iterator[str]:
    yield f"`{rule.id}`"
    yield rule.title
    yield ", ".join(f"`{each}`" for each in (rule.gate, *rule.decides) if each) or "the release"
    yield _releases(rule)
    if rule.inverted and not rule.value:
        yield from ("nothing: while the gate is on, nodes are asked for more", "-")
    else:
        yield BITES[rule.stage] if isinstance(rule.stage, Stage) else "a create, or an edit too, by release"
        yield MIGRATES[rule.migrates]
    wanted = dict.fromkeys(need for value in _VALUES.get(rule.id, (_name(rule),)) for need in rule.nodes(value))
    yield ", ".join(f"{kind} `{rest}`" for kind, _, rest in (need.partition(" ") for need in wanted)) or "-"
    yield rule.message.replace("|", "\\|") or "-"


def _name(rule: Rule) -> str:
    return rule.value.replace(" ", "-").upper() or "NAME"


def _releases(rule: Rule) -> str:
    first = ".".join(map(str, rule.since)) if rule.since > (0, 0) else ""
    last = ".".join(map(str, rule.until)) if rule.until < (1_000_000, 0) else ""
    if first and last:
        return f"{first} to {last}"
    return f"from {first}" if first else f"to {last}" if last else "all"
