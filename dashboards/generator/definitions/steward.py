"""The steward itself: whether it sees the cluster, what that costs, and what it left out."""

from __future__ import annotations

from .. import queries
from ..findings import Findings
from ..links import page_link, runbook
from ..model import Board, BoardRow, Column, PanelQuery, Threshold, Unit
from ..panels import ATTENTION, NONE_OR_UNSEEN, bars, column, lines, spread, stat, table
from ..trust import NO_ANSWER, trust
from .common import CLUSTERS, LINKS
from .steward_costs import BUILD, COSTS, REPLICA, rate
from .steward_objectives import OBJECTIVES_ROW

_STATES = queries.each("kubevirt_steward_kind_sync_state")
_KINDS = "cluster, kind"
_SYNC = {
    "starting": "yellow",
    "live": "blue",
    "behind": "light-orange",
    "stale": "orange",
    "failing": "red",
    "forbidden": "red",
    "absent": "text",
    "read": "text",
    "missing": "text",
}


def _of_kind(metric: str, function: str = "{}") -> str:
    return f"max by ({_KINDS}) ({function.format(queries.each(f'kubevirt_steward_kind_{metric}'))})"


def _nine_of_ten(metric: str, by: str, window: str = "1h") -> str:
    buckets = f"max by (cluster, {by}, job, instance) (increase({queries.each(f'{metric}_bucket')}[{window}]))"
    return queries.while_seen(f"histogram_quantile(0.9, sum by ({by}) ({buckets}))", BUILD)


def _flow(way: str) -> str:
    """Within an hour."""
    counted = queries.each(f"kubevirt_steward_findings_{way}_total")
    return queries.while_seen(f"sum(max by (cluster, check, reason) (increase({counted}[1h])))", BUILD)


_RAISED = f"increase({queries.each('kubevirt_steward_check_errors_total')}[1d])"
_FAILED = f"increase({queries.each('kubevirt_steward_kind_errors_total')}[1h])"
_ERRORS = f"sum by ({_KINDS}) (max by ({_KINDS}, error) ({_FAILED}))"
_EXPIRY = " or ".join(
    queries.each(f"kubevirt_steward_{of}certificate_expiry_timestamp_seconds") for of in ("", "repair_")
)
_ERROR = 'result="error"'
_UNANSWERED = f"increase({queries.each('kubevirt_steward_access_reviews_total', _ERROR)}[1d])"
_FOREVER = 1e9  # seconds

KINDS = table(
    "Kinds",
    "Every watched kind by its sync state. Only the data of live kinds is complete. Errors are empty if there never "
    "was one.",
    (
        column("cluster", width=110, links=(page_link("steward"),)),
        column("kind"),
        column("state", width=110, colours=_SYNC),
        Column("objects", value=1, unit=Unit.SHORT, width=100),
        Column("undecodable", value=2, thresholds=ATTENTION, width=120),
        Column("current", value=3, unit=Unit.SECONDS, decimals=0, width=110),
        Column("relists", value=4, width=90),
        Column("errors in 1 h", value=5, thresholds=ATTENTION, decimals=0, width=120),
    ),
    PanelQuery(f"max by (cluster, kind, state) ({_STATES}) == 1"),
    *(
        PanelQuery(f"{expr} * on ({_KINDS}) group_left (state) (max by ({_KINDS}, state) ({_STATES}) == 1)")
        for expr in (
            _of_kind("objects"),
            _of_kind("undecodable_objects"),
            f"(time() - {_of_kind('current_timestamp_seconds')})",
            _of_kind("relists_total"),
            _ERRORS,
        )
    ),
    sort=("state", "kind"),
    empty="not seen",
    height=12,
)

BOARD = Board(
    "steward",
    "Steward",
    "administrators of the steward",
    "Completeness of the steward's data, its delays, its requests to the API server, and omitted series.",
    (
        trust(Findings(everywhere=True)),
        BoardRow(
            "Replicas",
            (
                *spread(
                    stat(
                        "Versions",
                        "Different running versions. More than one is expected only during an update of the steward.",
                        f"count(count by (version) ({BUILD}))",
                        thresholds=(Threshold(2, "orange"),),
                    ),
                    stat(
                        "Configurations",
                        "Different configurations in effect within one cluster.",
                        f"max(count by (cluster) (count by (cluster, hash) "
                        f"({queries.each('kubevirt_steward_config_info')})))",
                        thresholds=(Threshold(2, "orange"),),
                    ),
                    stat(
                        "Configuration refused",
                        "Replicas whose configuration file was invalid when last read. They keep the previous "
                        "configuration.",
                        f"sum(1 - min by ({REPLICA}) ({queries.each('kubevirt_steward_config_reload_success')}))",
                        thresholds=ATTENTION,
                    ),
                    stat(
                        "Check errors, 24 h",
                        "Crashes of checks. A crashed check can't be evaluated.",
                        queries.while_seen(f"sum(max by (cluster, check) ({_RAISED}))", BUILD),
                        thresholds=ATTENTION,
                        decimals=0,
                        links=(runbook("StewardCheckErrors"),),
                    ),
                    stat(
                        "Certificate valid for",
                        "Time until the first certificate of a replica or its sidecar expires. At a week, check its "
                        "issuer.",
                        f"min({_EXPIRY}) - time()",
                        Unit.AGE,
                        thresholds=(Threshold(-_FOREVER, "orange"), Threshold(7 * 86400, "text")),
                        empty="no TLS, or no data",
                        links=(runbook("StewardCertificateExpires"),),
                    ),
                    stat(
                        "Access unknown",
                        "Token and access reviews that failed. New users are then rejected, and so is Prometheus.",
                        queries.zero_where(
                            queries.while_seen(f"sum(max by (cluster, review) ({_UNANSWERED}))", BUILD), BUILD
                        ),
                        thresholds=ATTENTION,
                        decimals=0,
                        links=(runbook("StewardDown"),),
                    ),
                ),
                table(
                    "Replicas",
                    "Every scraped replica. Versions and configurations should be the same.",
                    (
                        column("cluster", width=110, links=(page_link("steward"),)),
                        column("instance"),
                        column("version", width=110),
                        column("hash", "configuration", width=140),
                        Column("ready", value=1, texts={"0": "no", "1": "yes"}, width=80),
                        Column("memory", value=2, unit=Unit.BYTES, decimals=0, width=110),
                        Column("up for", value=3, unit=Unit.AGE, width=180),
                    ),
                    PanelQuery(
                        f"max by ({REPLICA}, version, hash) ({BUILD} * on ({REPLICA}) group_left (hash) "
                        f"max by ({REPLICA}, hash) ({queries.each('kubevirt_steward_config_info')}))"
                    ),
                    *(
                        PanelQuery(
                            f"max by ({REPLICA}, version, hash) ({expr} * on ({REPLICA}) group_left (version, hash) "
                            f"({BUILD} * on ({REPLICA}) group_left (hash) "
                            f"max by ({REPLICA}, hash) ({queries.each('kubevirt_steward_config_info')})))"
                        )
                        for expr in (
                            queries.each("kubevirt_steward_ready"),
                            queries.each("process_resident_memory_bytes"),
                            f"(time() - {queries.each('process_start_time_seconds')})",
                        )
                    ),
                    height=7,
                    empty="not seen",
                ),
            ),
        ),
        BoardRow(
            "Kinds and their data",
            (
                KINDS,
                NO_ANSWER,
                lines(
                    "Events",
                    "Watch events of the five busiest kinds.",
                    PanelQuery(f"topk(5, {rate('kubevirt_steward_kind_events_total', 'kind')})", "{{kind}}"),
                    unit=Unit.PER_SECOND,
                    width=8,
                ),
                lines(
                    "Delay from event to finding",
                    "In seconds, 90th percentile of events.",
                    PanelQuery(_nine_of_ten("kubevirt_steward_event_delay_seconds", "le"), "9 of 10 within"),
                    unit=Unit.SECONDS,
                    width=8,
                ),
                lines(
                    "Opened and closed findings",
                    "Within an hour. Findings of the first evaluation after a start count as opened.",
                    PanelQuery(_flow("opened"), "opened", "orange"),
                    PanelQuery(_flow("closed"), "closed", "blue"),
                    width=8,
                ),
            ),
        ),
        OBJECTIVES_ROW,
        COSTS,
        BoardRow(
            "Duration of findings",
            (
                bars(
                    "Open for, by check",
                    "Duration of the findings that closed within 24 hours, 90th percentile.",
                    PanelQuery(
                        "histogram_quantile(0.9, sum by (check, le) (max by (cluster, check, reason, le) (increase("
                        + queries.each("kubevirt_steward_finding_open_seconds_bucket")
                        + f"[1d])))) > 0 and on () {BUILD}",
                        "{{check}}",
                        "blue",
                    ),
                    unit=Unit.AGE,
                    width=24,
                    empty=NONE_OR_UNSEEN,
                ),
            ),
        ),
    ),
    (CLUSTERS, *LINKS),
    hours=6,
    place=110,
)
