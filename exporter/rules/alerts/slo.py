"""What the steward is to keep, for each cluster, over 30 days, and how fast it uses up what it may miss.

Three objectives, each measured once a minute as the share that is missed, over what may be missed: 1 is the pace at
which the error budget lasts for exactly 30 days.

- freshness: of the events of the last five minutes, those that took too long to reach the findings. Without events
  nothing is late.
- coverage: of the checks that apply, those of which no replica has an answer. Only while a replica is ready.
- scrape: whether no replica was scraped that is ready.

The best replica counts, as for alerts. Sums are over the minutes of a window, and what is not known counts as kept: a
Prometheus that is new, or was away, has nothing to report by that alone. A minute is that of the group's interval.

Windows and rates are the usual ones: 2 % of the error budget within an hour, 5 % within six, 10 % within a day and
within three days, each as long as a window of a twelfth of it burns too, so that an alert ends soon after its cause.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..held import KNOWN, answers
from ..model import OF_CLUSTER, Alerting, Area, Recording, Rule
from ..values import Values

BURN = "cluster:kubevirt_steward_objective:burn"
LEFT = "cluster:kubevirt_steward_objective:left"
OBJECTIVES = ("freshness", "coverage", "scrape")
_READY = "kubevirt_steward_ready == 1"
_DELAY = "kubevirt_steward_event_delay_seconds"
_REPLICA = "cluster, job, instance"
_DAYS = 30
# A rate, and minutes: the window, and the one that has to burn too.
_WINDOWS = ((14.4, 60, 5), (6, 360, 30), (3, 1440, 120), (1, 4320, 360))


def _before(values: Values) -> Iterator[Rule]:
    kept = {
        "freshness": (_late(values), values.slo_freshness),
        "coverage": (_unanswered(), values.slo_coverage),
        "scrape": (_gone(), values.slo_scrape),
    }
    for objective in OBJECTIVES:
        missed, percent = kept[objective]
        may = round(1 - float(percent) / 100, 6)
        yield Recording(record=BURN, expr=f"(\n{missed}\n) / {may:g}", labels={"objective": objective})
    minutes = _DAYS * 1440
    yield Recording(record=LEFT, expr=f"1 - sum_over_time({BURN}[{_DAYS}d]) / {minutes}")


def _late(values: Values) -> str:
    seconds = values.slo_delay
    return f"""  min by (cluster) (
    (
      1 - sum by ({_REPLICA}) (increase({_DELAY}_bucket{{le=~"{seconds:g}|{seconds:.1f}"}}[5m]))
      / (sum by ({_REPLICA}) (increase({_DELAY}_count[5m])) > 0)
      or 0 * max by ({_REPLICA}) (kubevirt_steward_ready)
    )
    and on ({_REPLICA}) {_READY}
  )"""


def _unanswered() -> str:
    applies = f"""max by (cluster, check) (
      kubevirt_steward_check_state{{state=~"answering|unknown"}} == 1 and on (cluster, job, instance) {_READY}
    )"""
    return f"""  1 - (
    sum by (cluster) (max by (cluster, check) ({answers()}))
    or 0 * count by (cluster) ({applies})
  )
  / count by (cluster) (
    {applies}
  )"""


def _gone() -> str:
    return f"  0 * max by (cluster) ({_READY}) or 0 * max by (cluster) ({KNOWN}) + 1"


def _after(_: Values) -> Iterator[Rule]:
    burning = "\nor ".join(
        f"(\n  {_pace(long)} > {rate:g}\n  and {_pace(short)} > {rate:g}\n)" for rate, long, short in _WINDOWS
    )
    yield Alerting(
        alert="StewardErrorBudgetBurn",
        expr=f"max by (cluster, objective) (\n{burning}\n)",
        wait="5m",
        keep="10m",
        summary=f"The steward{OF_CLUSTER} uses up the error budget of its {{{{ $labels.objective }}}}"
        ' {{ $value | printf "%.1f" }} times too fast.',
        description='{{ if eq $labels.objective "freshness" }}Events take too long to reach the'
        ' findings.{{ else if eq $labels.objective "coverage" }}Checks that apply have no answer.{{ else }}No replica'
        f" is scraped and ready, again and again or for long.{{{{ end }}}} At this pace the error budget of {_DAYS}"
        ' days is used up {{ $value | printf "%.1f" }} times over.'
        f" {{{{ with printf `{LEFT}{{cluster=%q, objective=%q}}` $labels.cluster $labels.objective | query }}}}Left of"
        " the error budget: {{ . | first | value | humanizePercentage }}.{{ end }}",
    )


def _pace(minutes: int) -> str:
    return f"sum_over_time({BURN}[{minutes}m]) / {minutes}"


AREA = Area(
    name="slo",
    note="Objectives of the steward itself, for each cluster over 30 days.",
    before=_before,
    after=_after,
    interval="1m",
)
