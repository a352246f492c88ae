"""Whether the steward sees what it reports on."""

from __future__ import annotations

from collections.abc import Iterator

from ...checks import all_checks
from ...findings.check import PER_FLEET
from ...findings.severity import Severity
from ..held import ANSWERING, KNOWN, SEVERITY, acknowledged, answering, held_name, known, unless_acknowledged
from ..model import OF_CLUSTER, Alerting, Rule, area
from ..values import Values

_REPLICA = "{{ with $labels.pod }}{{ . }}{{ else }}{{ $labels.instance }}{{ end }}"

# A sidecar serves the second one, at a port of its own.
_EXPIRY = [f"kubevirt_steward_{of}certificate_expiry_timestamp_seconds" for of in ("", "repair_")]
_EXPIRES = " or ".join(_EXPIRY)
_EXPIRED = " or ".join(f"last_over_time({each}[1d])" for each in _EXPIRY)


def _before(values: Values) -> Iterator[Rule]:
    yield answering()
    yield known(values)
    yield acknowledged()


def _after(values: Values) -> Iterator[Rule]:
    yield from _replicas(values)
    yield _certificates(values.certificate_days)
    yield from _checks()


def _replicas(values: Values) -> Iterator[Rule]:
    yield Alerting(
        alert="StewardDown",
        expr=_down(values),
        wait="10m",  # a pod that moves to another node
        summary=f"No replica of the steward{OF_CLUSTER} can be scraped.",
        description="Prometheus gets no metrics from any replica of the steward. Findings stay as they last were for"
        f" {values.hold}, critical ones until it answers again; new ones are not seen. Check the steward's pods, and"
        " the targets of Prometheus.",
    )
    critical = "\n  or ".join(f'{held_name(family)}{{{SEVERITY}="critical"}}' for family in _families())
    yield Alerting(
        alert="StewardDown",
        expr=f"""count by (cluster) (
  {unless_acknowledged(critical)}
)
unless on (cluster) last_over_time({ANSWERING}[{values.hold}])""",
        wait="10m",
        severity="critical",
        summary=f"The steward{OF_CLUSTER} has not answered for {values.hold}; {{{{ $value }}}} critical findings were"
        " open.",
        description=f"No check of the steward has had an answer for {values.hold}. {{{{ $value }}}} critical findings"
        " were open then, and it is unknown whether they still are. This alert stands for the alerts of these"
        " findings, which are neither sent nor resolved until a replica answers. Bring the steward back. If it is gone"
        " for good, remove its rules.",
    )
    yield Alerting(
        alert="StewardReplicaDown",
        expr=f"""max by (cluster, job, instance, pod) (up{{job=~"{values.job}"}} == 0)
and on (cluster) kubevirt_steward_build_info""",
        wait="15m",
        summary=f"Replica {_REPLICA} of the steward{OF_CLUSTER} can't be scraped.",
        description="Prometheus can't scrape {{ $labels.instance }} {{ $labels.pod }} of job {{ $labels.job }}."
        " Another replica answers, so findings are seen. Check its pod and its log.",
    )
    yield Alerting(
        alert="StewardNotReady",
        expr="max by (cluster) (max_over_time(kubevirt_steward_ready[6m])) == 0",
        wait="10m",  # listing and evaluating 100,000 VMs takes a minute or two
        summary=f"No replica of the steward{OF_CLUSTER} has an answer yet.",
        description="Every replica still waits for the first list of a kind that it needs, or has not evaluated what it"
        " listed. Findings stay as they last were. /readyz of the steward says what is missing.",
    )
    yield Alerting(
        alert="StewardConfigRejected",
        expr="max by (cluster, job, instance, pod) (kubevirt_steward_config_reload_success == 0)",
        wait="1m",
        summary=f"Replica {_REPLICA} of the steward{OF_CLUSTER} has rejected its configuration.",
        description="The configuration was wrong when {{ $labels.instance }} {{ $labels.pod }} last read it. The"
        " previous configuration is in effect. Its log says what is wrong, and so does `steward config check`.",
    )
    yield Alerting(
        alert="StewardScrapeSlow",
        expr="""max by (cluster, job, instance, pod) (
  quantile_over_time(0.5, kubevirt_steward_scrape_duration_seconds[15m]) > 5
)""",
        wait="10m",
        summary=f"Scrapes of replica {_REPLICA} of the steward{OF_CLUSTER} take {{{{ $value | humanizeDuration }}}}.",
        description="Prometheus gives a scrape up after its scrape_timeout, 10 s by default, and then sees no finding."
        " Give the steward more CPU, raise the timeout, or lower the series limit.",
    )


def _certificates(days: int) -> Rule:
    # Whoever verifies it scrapes nothing any more once it has expired: then what was scraped last says why.
    return Alerting(
        alert="StewardCertificateExpires",
        expr=f"""min by (cluster, job, instance, pod) (
  {_EXPIRES}
) - time() < {days * 86400}
or (
  min by (cluster, job, instance, pod) (
    {_EXPIRED}
  ) - time() < 0
  unless on (cluster, job) (
    {_EXPIRES}
  )
)""",
        wait="15m",  # a Secret that is on its way to the pod
        summary=f"The certificate of replica {_REPLICA} of the steward{OF_CLUSTER} {{{{ if lt $value 0.0 }}}}has"
        " expired{{ else }}expires in {{ $value | humanizeDuration }}{{ end }}.",
        description="{{ $labels.instance }} {{ $labels.pod }} serves a certificate that has not been renewed. Once it"
        " has expired, no client that verifies it gets an answer: Prometheus gets no metrics, the sidecar no findings."
        " Check the issuer of the certificate. The steward takes a new one without a restart.",
    )


def _down(values: Values) -> str:
    """The clusters that should have a steward, and have none that can be scraped."""
    answer = "kubevirt_steward_build_info"
    if values.clusters:
        listed = (f'label_replace(vector(1), "cluster", "{each}", "", "")' for each in values.clusters.split(","))
        return f"(\n  {f'{chr(10)}  or '.join(listed)}\n)\nunless on (cluster) {answer}"
    # A cluster that is scraped and has never answered, and one that is not even scraped.
    there = [KNOWN, f'count by (cluster) (last_over_time(up{{job=~"{values.job}"}}[10m]))']
    there += [f"count by (cluster) ({values.presence})"] if values.presence else []
    # Nothing is concluded from the absence of both: a shard of Prometheus may have other targets.
    return f"(\n  {f'{chr(10)}  or '.join(there)}\n)\nunless on (cluster) {answer}"


def _families() -> list[str]:
    """The families that have critical findings, sorted."""
    checks = (check for check in all_checks() if check.scope is not PER_FLEET)
    reasons = (reason for check in checks for reason in check.reasons.values())
    return sorted({reason.family.name for reason in reasons if reason.alert and Severity.CRITICAL in reason.severities})


# The other states have no series at 0 in the least profile.
_NO_ANSWER = """0 * max by (cluster, check) (last_over_time(kubevirt_steward_check_state{state="unknown"}[6m]) == 1)
  unless on (cluster, check) (max_over_time(kubevirt_steward_check_state{state!="unknown"}[6m]) == 1)
  or max by (cluster, check) (min_over_time(kubevirt_steward_check_unknown_partitions[6m])) > 0"""
_UNSEEN = "last_over_time(kubevirt_steward_check_kind_unseen[6m]) == 1"


def _checks() -> Iterator[Rule]:
    # Not inhibited by the alert of the kind: who silences that one does not mean the checks.
    yield Alerting(
        alert="StewardCheckUnknown",
        expr=f"""count by (cluster, kind) (
  max by (cluster, check, kind) ({_UNSEEN})
  and on (cluster, check) (
  {_NO_ANSWER}
  )
)
or (
  {_NO_ANSWER}
) unless on (cluster, check) ({_UNSEEN})""",
        wait="15m",
        summary="{{ with $labels.check }}Check {{ . }} of the steward{{ else }}Checks of the steward, {{ $value }} of"
        f" them{{{{ end }}}}{OF_CLUSTER}: no answer{{{{ with $labels.kind }}}}, since kind {{{{ . }}}} can't be fully"
        " seen{{ end }}.",
        description="{{ if $labels.kind }}{{ $value }} checks read kind {{ $labels.kind }} and have no answer for the"
        " whole cluster, or for the namespaces of objects that can't be read.{{ else }}Check {{ $labels.check }} has"
        " no answer {{ if eq $value 0.0 }}for the whole cluster{{ else }}for {{ $value }} namespaces or"
        " VMs{{ end }}.{{ end }} Earlier findings are kept; new ones are not seen. `steward check` says why.",
    )
    # A counter that is above 0 when it is first scraped has not increased since: of a process that is older than that,
    # it is the Prometheus that is new.
    yield Alerting(
        alert="StewardCheckErrors",
        expr="""max by (cluster, check) (
  increase(kubevirt_steward_check_errors_total[15m]) > 0
  or (
    kubevirt_steward_check_errors_total > 0 unless kubevirt_steward_check_errors_total offset 15m
    and on (cluster, job, instance) (time() - process_start_time_seconds < 1200)
  )
)""",
        wait="1m",  # one error is a bug
        keep="15m",
        summary=f"Check {{{{ $labels.check }}}} of the steward{OF_CLUSTER} raises.",
        description="Check {{ $labels.check }} raised in the last quarter of an hour, and has no answer for the"
        " objects that it raised on. This is a bug of the steward: its log has the traceback to report.",
    )
    yield Alerting(
        alert="StewardSeriesDropped",
        expr="max by (cluster, family) (kubevirt_steward_series_dropped) > 0",
        wait="1m",
        keep="10m",
        summary=f"The steward{OF_CLUSTER} exports {{{{ $value }}}} series of {{{{ $labels.family }}}} too few.",
        description="The series limit leaves out {{ $value }} series of {{ $labels.family }}, the least severe ones"
        " first. No alert reports the findings behind them, and no finding of the family ends while series are left"
        " out. Repair the findings of the family, or raise seriesLimit.",
    )


AREA = area("steward", before=_before, after=_after)
