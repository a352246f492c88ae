"""Which findings have an alert of their own, and which are one alert of their cause.

The first `Values.objects` findings of a cause have an alert each, with the labels of its object: its owner gets it and
can silence it. With more of them nobody reads a list, and all act on the cause: what comes then is one alert of the
cause. The first are those that are so for longest, so that two Prometheus that scrape at different times agree. A
reason that pages and is an act for each object is never folded: it would join an alert that somebody has seen.

Crossing that number resolves nothing and sends nothing anew. What has an alert of its own (`alone`) keeps it until it
is repaired, and what is in that of its cause (`together`) stays there, whoever is left: only what was not held a moment
before is new. Notes bridge a Prometheus that was away. Findings of different severity are counted apart, so that
warnings hide nothing critical.

Above `_MANY` causes of one reason (`flooded`) what is new and does not page is one alert of the reason, of whatever
cause; so is, in one of its cause, what pages and is never folded else. Whatever pages is in an alert of its own cause.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ..findings.causes import Cause
from .held import ACKNOWLEDGED, SEVERITY, held_name, labels_of, taken_up_name
from .model import Recording
from .values import Values

# What these causes refer to is in the namespace of each of their findings.
_IN_NAMESPACE = (Cause.NAMESPACE, Cause.SUBJECT, Cause.PDB, Cause.IPAM_CLAIM, Cause.NETWORK_THERE)
_REFERS_TO = {
    Cause.NODE: "node",
    Cause.NETWORK: "network",
    Cause.NETWORK_THERE: "network",
    Cause.FEATURE: "feature",
    Cause.NEEDS: "feature",
    Cause.SUBJECT: "vm",
    Cause.IPAM_CLAIM: "vm",
}
_CAUSE = f"cluster, cause, {SEVERITY}"
_REASON = f"cluster, check, reason, {SEVERITY}"
_COUNTS = f'{SEVERITY}!="info"'
_MANY = 300  # alerts of one reason, which nobody reads


@dataclass(frozen=True)
class Grouping:
    """How the findings of a reason are grouped: by what they have one cause, and whether those that are critical page.
    With `by_node` the alert of a cause has a node, as those of its findings: a drain is silenced by it.
    """

    cause: Cause
    pages: bool
    by_node: bool

    @property
    def apart(self) -> bool:
        """Whether each that pages has its own alert, however many there are."""
        return self.pages and self.cause is Cause.NAMESPACE

    def labels(self, values: Values) -> tuple[str, ...]:
        """Those of the alert of a cause."""
        there = (values.namespace_label,) if self.cause in _IN_NAMESPACE else ()
        of = {_REFERS_TO.get(self.cause, ""), "node" if self.by_node else ""} - {""}
        return ("cluster", "check", "reason", "cause", SEVERITY, *there, *sorted(of))


def alone_name(family: str) -> str:
    return f"finding:{family}:alone"


def together_name(family: str) -> str:
    return f"cause:{family}:together"


def same_of(values: Values, *, whatever_reason: bool) -> str:
    """The labels by which a finding is the same one as a moment before."""
    return ", ".join(label for label in labels_of(values) if not (whatever_reason and label in ("reason", "cause")))


def alone_and_together(
    family: str, reasons: Mapping[str, Grouping], values: Values, *, whatever_reason: bool
) -> Iterator[Recording]:
    """With `whatever_reason` an object that has an alert keeps it when its reason changes."""
    alone, together, flooded = alone_name(family), together_name(family), f"reason:{family}:flooded"
    held = f"{held_name(family)}{{{_COUNTS}}}"
    quiet = _quiet(family, reasons)
    same = same_of(values, whatever_reason=whatever_reason)
    apart = _named(held_name(family), (name for name, of in reasons.items() if of.apart), f'{SEVERITY}="critical"')
    many = f"unless on ({_REASON}) count by ({_REASON}) ({apart}) > {_MANY}"
    yield Recording(
        record=flooded,
        expr=f"""count by ({_REASON}) (count by ({_REASON}, cause) ({quiet})) > {_MANY}
or ({flooded} and on ({_REASON}) {together}{{cause=""}})""",
    )
    yield Recording(
        record=alone,
        expr=f"""(
  {held}
  and on ({same}) ({alone} or {taken_up_name(family)}{{own="alert"}})
)
or (
  (
    {held} and on ({_CAUSE}) count by ({_CAUSE}) ({held}) <= {values.objects}
    or {held} < on ({_CAUSE}) group_left () max by ({_CAUSE}) (bottomk by ({_CAUSE}) ({values.objects} + 1, {held}))
    {f"or {apart} {many}" if apart else ""}
  )
  unless on ({_REASON}) {flooded}
  unless on ({same}) ({held} offset 1s or {taken_up_name(family)})
)""".replace("    \n", ""),
    )
    by: dict[tuple[str, ...], list[str]] = {}
    for name, of in sorted(reasons.items()):
        by.setdefault(of.labels(values), []).append(name)
    counts = []
    for labels, names in by.items():
        found = _named(held_name(family), names, _COUNTS)
        counts.append(f"""count by ({", ".join(labels)}) (
  {found} unless {alone}
  unless ({found} and on ({_REASON}) {flooded} unless on ({_CAUSE}) {together})
)""")
    counts.append(f"""count by ({_REASON}) (
  {held} and on ({_REASON}) {flooded} unless {alone}
  unless on ({_CAUSE}) {together}
  unless on ({_CAUSE}) {ACKNOWLEDGED}
)""")
    yield Recording(record=together, expr="\nor ".join(counts))


def _quiet(family: str, reasons: Mapping[str, Grouping]) -> str:
    """What does not page."""
    paging = sorted(name for name, of in reasons.items() if of.pages)
    rest = [name for name in reasons if name not in paging]
    of_rest = _named(held_name(family), rest, _COUNTS)
    of_paging = _named(held_name(family), paging, f'{SEVERITY}!~"critical|info"')
    return " or ".join(filter(None, (of_rest, of_paging)))


def _named(name: str, reasons: Iterable[str], severity: str) -> str:
    """The findings of some reasons; empty where there is none."""
    of = sorted(reasons)
    return f'{name}{{reason{"=" if len(of) == 1 else "=~"}"{"|".join(of)}", {severity}}}' if of else ""
