"""Findings as one series each, which a blind, dead or restarted observer does not end.

A finding is what a replica reports that is ready and whose check has an answer. While no replica of the cluster has one
(a missed scrape, a restart, a permission that was lost) the finding is what it was: for as long as `Values.hold` after
the last answer, and a critical one until there is an answer again, unless its cluster is forgotten. What the series
limit left out of the page may be true as well: while it leaves out anything of a family, no finding of that ends. A
check that is switched off, that no replica has any more, or whose subject is gone from the cluster, lets go.

A finding that is missing in one scrape, or in two, is there for `_FLAP`, unless another one of the check is about its
object by then.

What has an answer is asked of the scraped series in the same expression, and never of a recorded one: a group that is
evaluated between a failed scrape and the next recording would take the findings for repaired.

A Prometheus that was away for longer than its look-back has no `held` of before. Every two minutes it notes which
findings it holds (`remembered`), which of them have an alert of their own, and when (`rules:…:remembered`). Its first
evaluation, which sees no earlier one of itself (`rules:…:evaluated`), takes up those of the last note.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..findings.check import Family
from ..metrics.exposition import LABELS
from .model import Recording
from .values import Values

SEVERITY = "finding_severity"  # alerts have a severity of their own, which says how urgent they are
ANSWERING = "check:kubevirt_steward_check_up:answering"
KNOWN = "cluster:kubevirt_steward_build_info:known"
ACKNOWLEDGED = "cause:kubevirt_steward_acknowledged:held"
_EVALUATED = "rules:kubevirt_steward_findings:evaluated"
_REMEMBERED_AT = "rules:kubevirt_steward_findings:remembered"
_FLAP = "3m"
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
    own = {"namespace": values.namespace_label, "severity": SEVERITY}
    return ("cluster", *(own.get(label, label) for label in LABELS))


def held_name(family: str) -> str:
    return f"finding:{family}:held"


def answering() -> Recording:
    return Recording(record=ANSWERING, expr=f"max by (cluster, check) ({answers()})")


def known(values: Values) -> Recording:
    """The clusters that had a steward, for as long as they are not forgotten. The value is the number of replicas."""
    seen = f"last_over_time(kubevirt_steward_build_info[{values.forget}])"
    return Recording(record=KNOWN, expr=f"count by (cluster) ({seen})")


def acknowledged() -> Recording:
    """Until when each cause is acknowledged whose time is not over; while no replica of its cluster says anything, as
    it was: a steward that is away wakes nobody for what is known.
    """
    name = "kubevirt_steward_acknowledged_until_timestamp_seconds"
    return Recording(
        record=ACKNOWLEDGED,
        expr=f"""max by (cluster, cause, {SEVERITY}) (
  label_replace({name}, "{SEVERITY}", "$1", "severity", "(.*)")
) > time()
or ({ACKNOWLEDGED} unless on (cluster) kubevirt_steward_ready) > time()""",
    )


def unless_acknowledged(series: str) -> str:
    """The series of findings, or of causes, without those of a severity that is acknowledged."""
    return f"{f'({series})' if ' or ' in series else series}\nunless on (cluster, cause, {SEVERITY}) {ACKNOWLEDGED}"


def evaluated(part: str, recorded: Iterable[Recording]) -> Recording:
    """When the findings of a part of the rules were recorded last, behind them in their group. It reads those that ask
    for it, which alters nothing: a Prometheus that evaluates rules side by side waits for what a rule reads.
    """
    read = "\n  or ".join(f"count({rule.record}) < 0" for rule in recorded if _EVALUATED in rule.expr)
    return Recording(record=_EVALUATED, expr=f"vector(time())\nunless on () (\n  {read}\n)", labels={"part": part})


def remembered(family: Family, part: str, same: str, alone: str) -> Recording:
    """The held findings of a family; the value is when they were noted. Those whose label `own` is `alert` have an
    alert of their own: `alone` is their series, `same` the labels that these have in common, both empty where all do.
    """
    name = held_name(family.name)
    noted = f"0 * {name} + time()"
    if alone:
        own = f'label_replace(0 * ({name} and on ({same}) {alone}) + time(), "own", "alert", "", "")'
        noted = f"({own}\nor 0 * ({name} unless on ({same}) {alone}) + time())"
    return Recording(record=_memory_name(family.name), expr=f"{noted}\nand on () {_evaluation(part)}")


def remembered_at(part: str) -> Recording:
    """When the held findings of a part were noted last: not before they were taken up again after a restart."""
    return Recording(record=_REMEMBERED_AT, expr=f"vector(time()) and on () {_evaluation(part)}", labels={"part": part})


def held(family: Family, part: str, values: Values, *, quiet: bool, critical: bool) -> tuple[Recording, ...]:
    """The recording rules of a family. The value is since when it is so (seconds since 1970); 1 of one without age.

    Of one that is `quiet` nothing new is reported during an upgrade; one that is `critical` has critical findings.
    """
    name, taken_up = held_name(family.name), _taken_up(family.name, part, values)
    seen = _seen(family, values)
    kept = f"{_kept(family, values, critical=critical)}\nor max without (own) ({taken_up.record})"
    if not quiet:
        return (taken_up, Recording(record=name, expr=f"{seen}\nor {kept}"))
    seen_name = f"finding:{family.name}:seen"
    object_of = _object_of(values)
    return (
        taken_up,
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


def _kept(family: Family, values: Values, *, critical: bool) -> str:
    """What was held and is, since nobody knows better."""
    name = held_name(family.name)
    all_reported = f'kubevirt_steward_series_dropped{{family="{family.name}"}} > 0'
    lately = f"{name}\n    and on (cluster, check) last_over_time({ANSWERING}[{values.hold}])"
    longer = f'\n    or {name}{{{SEVERITY}="critical"}} and on (cluster) {KNOWN}' if critical else ""
    return f"""(
  (
    {lately}{longer}
  )
  unless on (cluster, check) ({answers()} unless on (cluster, job, instance) {all_reported})
  unless on (cluster, check) ({off()})
  unless ({name} and on (cluster) kubevirt_steward_ready == 1 unless on (cluster, check) kubevirt_steward_check_up)
)"""


def taken_up_name(family: str) -> str:
    return f"finding:{family}:taken_up"


def _taken_up(family: str, part: str, values: Values) -> Recording:
    """What the last note before this Prometheus was away holds, in its first evaluation and in no other: recorded once
    for all that read it, since it looks through all notes.
    """
    noted = f'last_over_time({_REMEMBERED_AT}{{part="{part}"}}[{values.hold}])'
    return Recording(
        record=taken_up_name(family),
        expr=f"""(last_over_time({_memory_name(family)}[{values.hold}]) == on () group_left () {noted})
unless on () {_evaluation(part)}""",
    )


def _memory_name(family: str) -> str:
    return f"finding:{family}:remembered"


def _evaluation(part: str) -> str:
    return f'{_EVALUATED}{{part="{part}"}}'


def _object_of(values: Values) -> str:
    return f"cluster, check, kind, {values.namespace_label}, name"


def _seen(family: Family, values: Values) -> str:
    name = f"{family.name}_since_timestamp_seconds" if family.aged else family.name
    now, lately = (_labelled(each, values) for each in (name, f"last_over_time({name}[{_FLAP}])"))
    return f"""min by ({", ".join(labels_of(values))}) (
  (
    {now}
    or {lately} unless on ({_object_of(values)}) {now}
  )
  and on (cluster, check, job, instance) ({answers()})
)"""


def _labelled(series: str, values: Values) -> str:
    return f'label_replace({folded(series, values)}, "{SEVERITY}", "$1", "severity", "(.*)")'


def folded(series: str, values: Values, labels: Iterable[str] = ("namespace", "name", "node")) -> str:
    """The series, with the labels of the object also where Prometheus gave them other names for those of the target."""
    for label in labels:
        if label != "namespace" or not values.exported:
            series = f'label_replace({series}, "{label}", "$1", "exported_{label}", "(.+)")'
    return series
