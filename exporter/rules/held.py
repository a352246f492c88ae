"""Findings as one series each, which a blind or dead steward does not end.

A finding is what a replica reports that is ready and whose check has an answer. While no replica of the cluster has one
(a missed scrape, a restart, a permission that was lost) the finding is what it was, for as long as `Values.hold` after
the last answer: else a steward that was uninstalled would leave its alerts behind. A check that is switched off, or
whose subject is gone from the cluster, lets go of its findings.

What has an answer is asked of the scraped series in the same expression, and never of a recorded one: a group that is
evaluated between a failed scrape and the next recording would take the findings for repaired.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..findings.check import Family
from ..metrics.exposition import LABELS
from .model import Recording
from .values import Values

__all__ = ["ANSWERING", "STORM", "answering", "answers", "folded", "held", "held_name", "labels_of", "off", "storm_of"]

ANSWERING = "check:kubevirt_steward_check_up:answering"
STORM = "reason:kubevirt_steward_findings:storm"
_READY = "and on (cluster, job, instance) kubevirt_steward_ready == 1"
# An upgrade that takes longer than two hours hangs, also one that was there at the first scrape.
_UPGRADE = """max by (cluster) (last_over_time(kubevirt_upgrade_in_progress[6m])) == 1
    unless on (cluster) (
      min by (cluster) (min_over_time(kubevirt_upgrade_in_progress[2h])) == 1
      and on (cluster) last_over_time(kubevirt_upgrade_in_progress[6m] offset 2h)
    )"""


def answers(check: str = "") -> str:
    """The replicas that have an answer of a check, or of each check."""
    of = f'{{check="{check}"}}' if check else ""
    return f"kubevirt_steward_check_up{of} == 1 {_READY}"


def off(check: str = "") -> str:
    """The replicas that do not look by a check, or by each check: switched off, or without its subject."""
    of = f'check="{check}", ' if check else ""
    return f'kubevirt_steward_check_state{{{of}state=~"disabled|not_applicable"}} == 1 {_READY}'


def labels_of(values: Values) -> tuple[str, ...]:
    """The labels of a held finding."""
    return ("cluster", *(values.namespace_label if label == "namespace" else label for label in LABELS))


def held_name(family: str) -> str:
    return f"finding:{family}:held"


def answering() -> Recording:
    return Recording(record=ANSWERING, expr=f"max by (cluster, check) ({answers()})")


def held(family: Family, values: Values, *, quiet: bool) -> tuple[Recording, ...]:
    """The recording rules of a family. The value is since when it is so (seconds since 1970); 1 of one without age."""
    name = held_name(family.name)
    seen = f"""min by ({", ".join(labels_of(values))}) (
  {_series(family, values)}
  and on (cluster, check, job, instance) ({answers()})
)"""
    kept = f"""(
  {name}
  unless on (cluster, check) ({answers()})
  unless on (cluster, check) ({off()})
  and on (cluster, check) last_over_time({ANSWERING}[{values.hold}])
)"""
    if not quiet:
        return (Recording(record=name, expr=f"{seen}\nor {kept}"),)
    seen_name = f"finding:{family.name}:seen"
    object_of = f"cluster, check, kind, {values.namespace_label}, name"
    return (
        Recording(record=seen_name, expr=seen),
        Recording(
            record=name,
            expr=f"""(
  {seen_name}
  unless on (cluster) (
    {_UPGRADE}
  )
)
or ({seen_name} and on ({object_of}) {name})
or {kept}""",
        ),
    )


def storm_of(area: str, families: Iterable[str], values: Values) -> Recording:
    """There for a reason with more findings than `Values.storm`, until a fifth of those are gone."""
    every = " or ".join(f'{held_name(family)}{{severity!="info"}}' for family in families)
    count = f"count by (cluster, check, reason) ({every})"
    return Recording(
        record=STORM,
        expr=f"""{count} > {values.storm}
or ({count} > {values.storm * 4 // 5} and on (cluster, check, reason) {STORM})""",
        labels={"area": area},
    )


def _series(family: Family, values: Values) -> str:
    return folded(f"{family.name}_since_timestamp_seconds" if family.aged else family.name, values)


def folded(series: str, values: Values, labels: Iterable[str] = ("namespace", "name", "node")) -> str:
    """The series, with the labels of the object also where Prometheus gave them other names for those of the target."""
    for label in labels:
        if label != "namespace" or not values.exported:
            series = f'label_replace({series}, "{label}", "$1", "exported_{label}", "(.+)")'
    return series
