"""Whether the steward sees what it reports on."""

from __future__ import annotations

from collections.abc import Iterator

from ..held import STORM, answering
from ..model import Alerting, Area, FindingAlert, Rule
from ..values import Values

__all__ = ["AREA"]

_REPLICA = "{{ with $labels.pod }}{{ . }}{{ else }}{{ $labels.instance }}{{ end }}"
_IN = "{{ with $labels.cluster }} of cluster {{ . }}{{ end }}"

# A sidecar serves the second one, at a port of its own.
_EXPIRY = [f"kubevirt_steward_{of}certificate_expiry_timestamp_seconds" for of in ("", "repair_")]
_EXPIRES = " or ".join(_EXPIRY)
_EXPIRED = " or ".join(f"last_over_time({each}[1d])" for each in _EXPIRY)


def _before(_: Values) -> Iterator[Rule]:
    yield answering()


def _after(values: Values) -> Iterator[Rule]:
    yield from _replicas(values)
    yield _certificates(values.certificate_days)
    yield from _checks()
    yield Alerting(
        alert="StewardFindingStorm",
        expr=f"max by (cluster, area, check, reason) ({STORM})",
        wait="2m",
        keep="15m",
        area="",  # that of the findings
        summary=f"More than {values.storm} findings have reason {{{{ $labels.reason }}}}{_IN}.",
        description="Check {{ $labels.check }} reports {{ $value }} findings of reason {{ $labels.reason }}. So many"
        " have one cause: look for what they share. This alert stands for theirs, which stay quiet until there are"
        f" fewer than {values.storm * 4 // 5}. `steward check --reason {{{{ $labels.reason }}}}` lists them.",
    )


def _replicas(values: Values) -> Iterator[Rule]:
    # A cluster whose series are a day old has no steward any more.
    yield Alerting(
        alert="StewardDown",
        expr="""(
  count by (cluster) (last_over_time(kubevirt_steward_build_info[1d]))
  unless on (cluster) kubevirt_steward_build_info
)
or (absent(kubevirt_steward_build_info) unless on () last_over_time(kubevirt_steward_build_info[1d]))""",
        wait="10m",  # a pod that moves to another node
        summary=f"No replica of the steward{_IN} can be scraped.",
        description="Prometheus gets no metrics from any replica of the steward. Findings stay as they last were for"
        f" {values.hold}; new ones are not seen. Look at the steward's pods, and at the targets of Prometheus.",
    )
    yield Alerting(
        alert="StewardReplicaDown",
        expr=f"""max by (cluster, job, instance, pod) (up{{job=~"{values.job}"}} == 0)
and on (cluster) kubevirt_steward_build_info""",
        wait="15m",
        summary=f"Replica {_REPLICA} of the steward{_IN} can't be scraped.",
        description="Prometheus can't scrape {{ $labels.instance }} {{ $labels.pod }} of job {{ $labels.job }}."
        " Another replica answers, so findings are seen. Look at its pod and its log.",
    )
    yield Alerting(
        alert="StewardNotReady",
        expr="max by (cluster) (max_over_time(kubevirt_steward_ready[6m])) == 0",
        wait="10m",  # listing and evaluating 100,000 VMs takes a minute or two
        summary=f"No replica of the steward{_IN} has an answer yet.",
        description="Every replica still waits for the first list of a kind that it needs, or has not evaluated what it"
        " listed. Findings stay as they last were. /readyz of the steward says what is missing.",
    )
    yield Alerting(
        alert="StewardConfigRejected",
        expr="max by (cluster, job, instance, pod) (kubevirt_steward_config_reload_success == 0)",
        wait="1m",
        summary=f"Replica {_REPLICA} of the steward{_IN} has rejected its configuration.",
        description="The configuration was wrong when {{ $labels.instance }} {{ $labels.pod }} last read it; the one"
        " before is in effect. Its log says what is wrong, and so does `steward config check`.",
    )
    yield Alerting(
        alert="StewardScrapeSlow",
        expr="""max by (cluster, job, instance, pod) (
  quantile_over_time(0.5, kubevirt_steward_scrape_duration_seconds[15m]) > 5
)""",
        wait="10m",
        summary=f"Scrapes of replica {_REPLICA} of the steward{_IN} take {{{{ $value | humanizeDuration }}}}.",
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
        summary=f"The certificate of replica {_REPLICA} of the steward{_IN} {{{{ if lt $value 0.0 }}}}has expired"
        "{{ else }}expires in {{ $value | humanizeDuration }}{{ end }}.",
        description="{{ $labels.instance }} {{ $labels.pod }} serves a certificate that nobody has renewed. Once it has"
        " expired, whoever verifies it gets no answer: Prometheus no metrics, the sidecar no findings. Look at what"
        " issues the certificate; the steward takes a new one without a restart.",
    )


def _checks() -> Iterator[Rule]:
    yield Alerting(
        alert="StewardCheckUnknown",
        expr="""max by (cluster, check) (max_over_time(kubevirt_steward_check_state{state!="unknown"}[6m])) == 0
or max by (cluster, check) (min_over_time(kubevirt_steward_check_unknown_partitions[6m])) > 0""",
        wait="15m",
        summary=f"Check {{{{ $labels.check }}}} of the steward{_IN} has no answer.",
        description="Check {{ $labels.check }} has no answer"
        " {{ if eq $value 0.0 }}for the whole cluster{{ else }}for {{ $value }} namespaces or VMs{{ end }}."
        " What it found before is kept; what is new is not seen. `steward check` says why.",
    )
    # A counter that is above 0 when it is first scraped has not increased since.
    yield Alerting(
        alert="StewardCheckErrors",
        expr="""max by (cluster, check) (
  increase(kubevirt_steward_check_errors_total[15m]) > 0
  or (kubevirt_steward_check_errors_total > 0 unless kubevirt_steward_check_errors_total offset 15m)
)""",
        wait="1m",  # one error is a bug
        keep="15m",
        summary=f"Check {{{{ $labels.check }}}} of the steward{_IN} raises.",
        description="Check {{ $labels.check }} raised in the last quarter of an hour, and has no answer for what it"
        " raised on. This is a bug of the steward: its log has the traceback to report.",
    )
    yield Alerting(
        alert="StewardSeriesDropped",
        expr="max by (cluster, family) (min_over_time(kubevirt_steward_series_dropped[6m])) > 0",
        wait="10m",
        summary=f"The steward{_IN} exports {{{{ $value }}}} series of {{{{ $labels.family }}}} too few.",
        description="The series limit leaves out {{ $value }} series of {{ $labels.family }}: no alert reports the"
        " findings behind them. Repair what there is so much of, or raise seriesLimit.",
    )


AREA = Area(
    name="steward",
    note="Whether the steward sees what it reports on. Findings of all areas are held while it does not.",
    before=_before,
    findings=(
        FindingAlert(
            name="StewardBlind",
            by=("name", "reason"),
            summary="The steward can't see kind {{ $labels.name }}",
            description="Checks that read it have no answer; what they found before is kept.",
            wait="10m",  # an API server that restarts
            cluster_wide=True,
            says={
                "KindForbidden": "The API server refuses to list or watch {{ $labels.name }}: apply the ClusterRole of"
                " the running release.",
                "KindFailing": "The API server has never listed {{ $labels.name }}: it answers with errors, or not at"
                " all.",
                "KindStale": "The connection for {{ $labels.name }} is lost and does not come back.",
                "KindAbsent": "The cluster does not serve {{ $labels.name }}: install KubeVirt, or restore its CRDs.",
            },
        ),
        FindingAlert(
            name="StewardObjectUndecodable",
            by=("kind",),
            counted=True,
            summary="The steward can't read objects of kind {{ $labels.kind }}",
            description="Objects of kind {{ $labels.kind }} do not have the shape that they should have: {{ $value }}"
            " of them. Checks that read the kind have no answer in their namespaces. `steward check` names them.",
            wait="15m",
            cluster_wide=True,
        ),
    ),
    after=_after,
)
