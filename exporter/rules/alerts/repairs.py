"""The sidecar that repairs.

There are no alerts where it is not installed. With its defaults it writes nothing: then only what keeps it from
planning is reported. One replica leads, and only that one knows of storms, pauses and refusals. Windows of 6 minutes
bridge missed scrapes, a restart and the change of the leader: `last_over_time` has what a vanished pod said last, until
its successor does.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..model import OF_CLUSTER, Alerting, Area, Rule
from ..values import Values

_REPLICA = "{{ with $labels.pod }}{{ . }}{{ else }}{{ $labels.instance }}{{ end }}"
_API_SERVER = "dry_run_clean|everything_seen"  # the preconditions that are not about the object
_ENABLED = (
    "and on (cluster, remediation)"
    " max by (cluster, remediation) (last_over_time(kubevirt_steward_repair_enabled[6m])) == 1"
)


def _last(metric: str, **labels: str) -> str:
    matchers = ", ".join(f'{name}="{value}"' for name, value in labels.items())
    return f"last_over_time(kubevirt_steward_repair_{metric}{f'{{{matchers}}}' if matchers else ''}[6m])"


def _after(_: Values) -> Iterator[Rule]:
    yield from _storms()
    yield from _refused()
    yield from _objects()
    yield from _replicas()


def _storms() -> Iterator[Rule]:
    yield Alerting(
        alert="StewardRepairStorm",
        expr=f"max by (cluster) ({_last('storm', state='storm')}) == 1",
        wait="5m",  # the findings of objects that are created or drained together
        keep="10m",
        summary=f"The sidecar{OF_CLUSTER} writes nothing: too much is new in many namespaces at once.",
        description="The new findings that the sidecar would repair are so many that they have one cause, and it is not"
        " in the objects. It writes nothing until there are fewer, for a day at most. Look for what changed when they"
        " rose.",
    )
    yield Alerting(
        alert="StewardRepairStorm",
        expr=f"max by (cluster) ({_last('storm', state='cooldown')}) == 1",
        wait="1m",
        severity="info",
        summary=f"A storm of repairs{OF_CLUSTER} is over; the sidecar writes nothing for a while.",
        description="The new findings that the sidecar would repair are few again. It writes nothing until the cooldown"
        " is over, and needs nothing from you.",
    )
    # Whoever has a namespace may bring it about there, so that it wakes nobody up.
    yield Alerting(
        alert="StewardRepairNamespaceStorm",
        expr=f"max by (cluster) ({_last('storm_namespaces', state='storm')}) > 0",
        wait="15m",  # what is created or drained together, and proposals until they are planned
        keep="10m",
        severity="info",
        summary=f"In {{{{ $value }}}} namespaces{OF_CLUSTER} too much is new at once: the sidecar writes nothing"
        " there.",
        description="In {{ $value }} namespaces the new findings of one check are so many that the sidecar writes"
        " nothing there until there are fewer, for a day at most. Other namespaces are repaired.",
    )
    # The sidecar counts pauses of the Lease and of the ledger; those of a namespace or an object, while in the way.
    yield Alerting(
        alert="StewardRepairPaused",
        expr=f"""max by (cluster) ({_last("paused")}) > 0
or max by (cluster) ({_last("blocked", gate="paused")}) > 0
or max by (cluster) ({_last("refused", precondition="object_paused")}) > 0""",
        wait="24h",  # a pause that was forgotten
        keep="10m",
        summary=f"Repairs{OF_CLUSTER} have been paused for a day.",
        description="All repairs, or the repairs of a namespace or an object, have been paused for a day. The sidecar"
        " writes nothing there. Resume them, or set their mode to plan.",
    )


def _refused() -> Iterator[Rule]:
    # What the API server refuses, or can't show: nobody but the cluster's administrator can end it.
    yield Alerting(
        alert="StewardRepairRefusedOften",
        expr=f"""max by (cluster, remediation, precondition) (
  last_over_time(kubevirt_steward_repair_refused{{precondition=~"{_API_SERVER}"}}[6m])
) > 0
{_ENABLED}""",
        wait="1h",  # a webhook or an API server that is away
        keep="10m",
        summary=f"The API server{OF_CLUSTER} keeps the sidecar from carrying out {{{{ $labels.remediation }}}}.",
        description="For an hour precondition {{ $labels.precondition }} of {{ $labels.remediation }} has not held:"
        " {{ $value }} findings wait for it. Fix the webhook or the permission that the refusal names.",
    )
    # A precondition that does not hold is a normal ending; what lasts for hours is for a person.
    yield Alerting(
        alert="StewardRepairRefusedOften",
        expr=f"""max by (cluster, remediation, precondition) (
  last_over_time(kubevirt_steward_repair_refused{{precondition!~"approved|{_API_SERVER}|object_paused|opt_in"}}[6m])
) > 0
{_ENABLED}""",
        wait="6h",  # a precondition that comes to hold by itself
        keep="10m",
        severity="info",
        summary=f"{{{{ $labels.remediation }}}}{OF_CLUSTER} is refused by precondition {{{{ $labels.precondition }}}}.",
        description="For six hours precondition {{ $labels.precondition }} of {{ $labels.remediation }} has not held:"
        " {{ $value }} findings wait for it, and need a person. Follow the runbooks of their own alerts.",
    )


def _objects() -> Iterator[Rule]:
    yield Alerting(
        alert="StewardRepairFailing",
        expr=f"""sum by (cluster, remediation) (increase(kubevirt_steward_repairs_total{{outcome="failed"}}[2h])) > 0
or max by (cluster, remediation) ({_last("blocked", gate="breaker")}) > 0""",
        wait="1m",  # one failure is worth a look: the dry run was accepted
        keep="15m",
        summary=f"Repairs by {{{{ $labels.remediation }}}}{OF_CLUSTER} fail.",
        description="The API server refused a write of {{ $labels.remediation }} although it accepted the dry run, or"
        " the write had no effect. After several failures in a row the remediation rests. The ledger has the requests"
        " and the responses.",
    )
    yield Alerting(
        alert="StewardRepairEditWar",
        expr=f"max by (cluster) ({_last('edit_wars')}) > 0",
        wait="1m",  # it lasts until a person ends it
        keep="10m",
        summary=f"Something reverts repairs of {{{{ $value }}}} objects{OF_CLUSTER}.",
        description="The same repair was reverted again and again, so the sidecar leaves these objects alone:"
        " {{ $value }}. Find the field manager that writes back, and resume the objects.",
    )
    # The gate shuts the remediation off everywhere until a person resumes it, and no series of its findings says so.
    # Nothing more is written meanwhile, so it wakes nobody up: what it left in use has StewardRepairInUse.
    yield Alerting(
        alert="StewardRepairCanaryStopped",
        expr=f"max by (cluster, remediation) ({_last('canary', state='stopped')}) == 1",
        wait="1m",  # it lasts until a person ends it
        keep="10m",
        summary=f"The canary of {{{{ $labels.remediation }}}}{OF_CLUSTER} has stopped: it writes nothing unasked.",
        description="One of the first repairs of {{ $labels.remediation }} in mode auto did not hold. Its finding came"
        " back or stayed, something that it released is in use, a person undid it, or its outcome is not known. The"
        " gate canary names the object and the cause. Resolve the cause first, then resume the remediation or set its"
        " mode to plan.",
    )
    yield Alerting(
        alert="StewardRepairUnclear",
        expr=f"max by (cluster) ({_last('unfinished')}) > 0",
        wait="15m",  # it reads the object again in each run, and may have to wait for some minutes
        keep="10m",
        summary=f"The outcome of {{{{ $value }}}} repairs{OF_CLUSTER} is not known.",
        description="The ledger has {{ $value }} attempts without an end: the sidecar could not read their objects"
        " since, and writes nothing more to them. Its log says what keeps it from reading them.",
    )
    yield Alerting(
        alert="StewardRepairInUse",
        expr=f"max by (cluster) ({_last('in_use')}) > 0",
        wait="1m",  # two users of one address are an outage of both
        keep="10m",
        summary=f"Addresses of {{{{ $value }}}} IPAMClaims{OF_CLUSTER} were released under a user that came meanwhile.",
        description="Right after it released the addresses of {{ $value }} IPAMClaims the sidecar found pods, VMs or"
        " VMIs that use them: the network might allocate them a second time. The ledger, the log and an Event of the"
        " IPAMClaim name these users. Stop them, and start them again.",
    )


def _replicas() -> Iterator[Rule]:
    yield Alerting(
        alert="StewardRepairClockSkew",
        expr=f"""max by (cluster, job, instance, pod) (
  abs({_last("clock_skew_seconds")}) > 30 or {_last("clock_spread_seconds")} > 30
)
and on (cluster, job, instance, pod)
  max by (cluster, job, instance, pod) ({_last("enabled")}) == 1
or max by (cluster, job, instance, pod) ({_last("blocked", gate="clock")}) > 0""",
        wait="5m",  # as long as an answer counts
        keep="10m",
        summary=f"The clocks of sidecar replica {_REPLICA}{OF_CLUSTER} and the API server do not agree.",
        description="{{ $labels.instance }} {{ $labels.pod }} can't tell how old anything is: its clock and the API"
        " server's are more than 30 s apart, or it has not been answered with a date. It writes nothing meanwhile."
        " Let NTP set the clock that is wrong.",
    )
    # Only a sidecar that may write reports it. Nothing is wrong yet: it is in the way of whoever has its token.
    yield Alerting(
        alert="StewardRepairPolicyMissing",
        expr=f"max by (cluster, job, instance, pod, policy) ({_last('policy_present')}) == 0",
        wait="15m",  # roles and policy are applied after the sidecar, and it asks every few minutes
        keep="10m",
        summary=f"Policy {{{{ $labels.policy }}}} does not exist for replica {_REPLICA} of the sidecar{OF_CLUSTER}.",
        description="{{ $labels.instance }} {{ $labels.pod }} is allowed to write, but the API server did not refuse"
        " the dry run that policy {{ $labels.policy }} has to refuse. Without steward-reconcile any client with the"
        " sidecar's token can write any field of the objects that its roles allow. Without steward-approvals any user"
        " with permission to annotate an object can approve its repair, under any name. Apply the output of steward"
        " reconcile role.",
    )
    # The configuration before is in effect, with its modes and gates: whoever wrote this one can wait until morning.
    yield Alerting(
        alert="StewardRepairConfigRejected",
        expr=f"max by (cluster, job, instance, pod) ({_last('config_reload_success')}) == 0",
        wait="1m",
        keep="10m",
        summary=f"Replica {_REPLICA} of the sidecar{OF_CLUSTER} has rejected its configuration.",
        description="The configuration was wrong when {{ $labels.instance }} {{ $labels.pod }} last read it, or needs"
        " a restart. The previous configuration is in effect, and so are its modes. Its log says why.",
    )
    yield Alerting(
        alert="StewardRepairLedgerNotWritable",
        expr=f"max by (cluster, job, instance, pod) ({_last('ledger_writable')}) == 0",
        wait="5m",  # a volume that is slow to come
        keep="10m",
        summary=f"Replica {_REPLICA} of the sidecar{OF_CLUSTER} can't write its ledger.",
        description="{{ $labels.instance }} {{ $labels.pod }} can't write the ledger of repairs, or refuses it since"
        " it is not the one that the Lease was held with. It repairs nothing meanwhile. Its log says which. Check the"
        " volume of the ledger.",
    )
    # The second part is for a sidecar that can't be scraped any more.
    yield Alerting(
        alert="StewardRepairNotLeading",
        expr=f"""(
  max by (cluster) ({_last("enabled")}) == 1
  or max by (cluster) (
    up == 0 and on (cluster, job, instance) last_over_time(kubevirt_steward_repair_enabled[6h]) == 1
  )
)
unless on (cluster) max by (cluster) ({_last("leading")}) == 1""",
        wait="10m",  # a node that is drained, and a Lease that runs out
        keep="10m",
        summary=f"No replica of the sidecar{OF_CLUSTER} carries out repairs.",
        description="A remediation is in mode approve or auto, and no replica of the sidecar holds the Lease: nothing"
        " is repaired. Check the holder of the Lease, and the sidecar's log.",
    )
    yield Alerting(
        alert="StewardRepairSourceDown",
        expr=f"""max by (cluster) (
  {_last("source_up")}
  and on (cluster, job, instance) {_last("leading")} == 1
) == 0""",
        wait="10m",  # an exporter that restarts, and lists everything anew
        keep="10m",
        summary=f"The sidecar{OF_CLUSTER} can't read the findings.",
        description="The sidecar gets no findings from the exporter: it plans nothing and repairs nothing. Its log has"
        " the requests and the responses.",
    )


AREA = Area(
    name="repairs",
    note="The sidecar that repairs. There are no alerts where it is not installed, and with its defaults it writes"
    " nothing: then only what keeps it from planning is reported.",
    after=_after,
)
