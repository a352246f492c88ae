"""The table of all features that docs/features.md has, and its words, which the page has too."""

from __future__ import annotations

from collections.abc import Iterator

from ...domain.features.rule import Migrates, Rule, Stage
from ...domain.features.rules import BY_ID

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
