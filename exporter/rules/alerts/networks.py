"""Networks that are not created or run out of addresses, and the components behind persistent IPs.

How full a pool is, is recorded for each subnet.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...checks.networks.ipam_networks import CHECK, FULL
from ...runbook import anchor
from ..held import ACKNOWLEDGED, ANSWERING, SEVERITY, answers, held_name, off
from ..model import IN_CLUSTER, Alerting, Recording, Rule, area, with_labels
from ..values import Values

_IN = "network {{ $labels.network }}"

_REASON = "PoolPressure"
PRESSURE = CHECK.reasons[_REASON]
_USED = "network:kubevirt_ipam_pool_used:ratio"
_DAYS = "network:kubevirt_ipam_pool:days_left"
_NEARLY_FULL = "network:kubevirt_ipam_pool_used:nearly_full"
_FULL = "network:kubevirt_ipam_pool_used:full"
_REFUSED = "network:kubevirt_ipam_pool_pressure:refused"
_POOL = "cluster, network, subnet"
_CLEARED = 5  # points below its threshold, so that pods that come and go do not start and end an alert
_ANSWERS, _OFF = answers(CHECK.id), off(CHECK.id)


def pool_usage(values: Values) -> Iterator[Rule]:
    """How full each subnet is, of its capacity: held like a finding while no replica has an answer."""
    yield Recording(
        record=_USED,
        expr=f"""(
  sum by ({_POOL}) (
    max by ({_POOL}, use) (kubevirt_ipam_pool_used and on (cluster, job, instance) ({_ANSWERS}))
  )
  / on ({_POOL})
  (max by ({_POOL}) (kubevirt_ipam_pool_capacity and on (cluster, job, instance) ({_ANSWERS})) > 0)
)
or (
  {_USED}
  unless on (cluster) ({_ANSWERS})
  unless on (cluster) ({_OFF})
  and on (cluster) last_over_time({ANSWERING}{{check="{CHECK.id}"}}[{values.hold}])
)""",
    )
    # What is held while nothing answers does not grow, and says nothing of the days left.
    yield Recording(
        record=_DAYS,
        expr=f"""(1 - {_USED}) / (deriv({_USED}[1d]) * 86400 > 0)
and {_USED} offset 1d
and on (cluster) {ANSWERING}{{check="{CHECK.id}"}}""",
    )
    yield _over(_NEARLY_FULL, values.pool_warning)
    yield _over(_FULL, values.pool_full)


def _over(record: str, percent: int) -> Recording:
    """The ratio of a subnet from when it reaches the threshold until it is 5 points below."""
    low = max(percent - _CLEARED, 1)
    expr = f"{_USED} >= {percent / 100:g}\nor ({_USED} >= {low / 100:g} and on ({_POOL}) {record})"
    return Recording(record=record, expr=expr)


def pool_alerts(_: Values) -> Iterator[Rule]:
    """Each waits as long as the other keeps firing: a pool that gets from one to the other is never resolved between.

    A network has one alert at a time, whichever of its subnets is full and however that is known: a finding stands in
    where the ratio of its network is not known. A critical one also counts below 95 %: it then says that an IPAMClaim
    got no address.
    """
    found = f'{held_name(PRESSURE.family.name)}{{reason="{_REASON}", {SEVERITY}='
    known = f"and on (cluster, cause, {SEVERITY}) {ACKNOWLEDGED}"
    yield Recording(
        record=_REFUSED,
        expr=f"""min by (cluster, network) (
  {found}"critical"}}
  unless on (cluster, network) ({_USED} >= {FULL} or {_FULL})
)""",
    )
    yield _pressure(
        f"""max by (cluster, network) (
  {_NEARLY_FULL}
  or {found}"warning"}} unless on (cluster, network) {_USED}
)
unless on (cluster, network) {_FULL}
unless on (cluster, network) {_REFUSED}
unless on (cluster, network) ({found}"warning"}} {known})""",
        severity="warning",
        wait="15m",
        keep="10m",
        summary=f"Network {{{{ $labels.network }}}} is running out of addresses{IN_CLUSTER}.",
        finding=f"At least 80 % of the addresses of a subnet of {_IN} are in use.",
    )
    yield _pressure(
        f"""max by (cluster, network) (
  {_FULL}
  or {found}"critical"}} and on (cluster, network) {_REFUSED}
)
unless on (cluster, network) ({found}"critical"}} {known})""",
        severity="critical",
        wait="10m",
        keep="15m",
        summary=f"Network {{{{ $labels.network }}}} has hardly any free address{IN_CLUSTER}.",
        finding=f"A subnet of {_IN} has hardly any free address, or one of its IPAMClaims got none.",
    )


def _pressure(expr: str, *, severity: str, wait: str, keep: str, summary: str, finding: str) -> Alerting:
    labels = "cluster=%q, network=%q"
    over = (
        f"query (printf `{_NEARLY_FULL}{{{labels}}} or {_FULL}{{{labels}}}` {'$labels.cluster $labels.network ' * 2})"
    )
    days = f"printf `{_DAYS}{{{labels}, subnet=%q}}` $labels.cluster $labels.network $each.Labels.subnet | query"
    return Alerting(
        alert=PRESSURE.alert,
        expr=expr,
        wait=wait,
        keep=keep,
        severity=severity,
        area="networks",
        section=anchor(_REASON),
        summary=summary,
        description=f'{{{{ range $each := {over} | sortByLabel "subnet" }}}}{{{{ $each.Value | humanizePercentage }}}}'
        f" of the addresses of subnet {{{{ $each.Labels.subnet }}}} of {_IN} are in use.{{{{ with {days} }}}} At the"
        ' pace of the last day it is full in {{ . | first | value | printf "%.1f" }} days.{{ end }} {{ else }}'
        f"{finding} {{{{ end }}}}{PRESSURE.impact} {with_labels(PRESSURE.next)}",
    )


AREA = area("networks", before=pool_usage, families=(PRESSURE.family,), after=pool_alerts)
