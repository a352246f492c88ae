"""The sidecar that repairs: what it may do, what it did, and what holds it back."""

from __future__ import annotations

from dataclasses import replace

from .. import queries
from ..links import page_link, runbook
from ..model import Board, BoardRow, Column, Panel, PanelQuery, Threshold, Unit
from ..panels import ATTENTION, NONE_OR_UNSEEN, YES_NO, bars, column, each_value, lines, stat, table
from .common import CLUSTERS, LINKS

_OUTCOMES = {"done": "blue", "failed": "red", "unclear": "purple"}
_BY = "cluster, remediation"
_ENABLED = f"max by ({_BY}) ({queries.each('kubevirt_steward_repair_enabled')})"
_SEEN = queries.each("kubevirt_steward_repair_leading")


def _most(name: str) -> str:
    """Of the replicas one leads, and only that one has something to say."""
    return f"sum(max by (cluster) ({queries.each(f'kubevirt_steward_repair_{name}')}))"


def _all(name: str) -> str:
    """1 only where it holds in every cluster."""
    return f"min(max by (cluster) ({queries.each(f'kubevirt_steward_repair_{name}')}))"


def _ended(window: str, *matchers: str) -> str:
    """Attempts; replicas take turns to lead, so what each of them counted is added up."""
    counted = f"increase({queries.each('kubevirt_steward_repairs_total', *matchers)}[{window}])"
    inner = f"max by (cluster, job, instance, remediation, mode, outcome) ({counted})"
    return queries.while_seen(f"sum({inner})", _SEEN)


def _shadowed(window: str) -> str:
    """What would have been written, by remediation, as far as it is not 0."""
    counted = f"increase({queries.each('kubevirt_steward_repairs_shadowed_total')}[{window}])"
    return f"sum by (remediation) (max by (cluster, job, instance, remediation) ({counted})) > 0"


def _mode(mode: str) -> str:
    is_it = queries.each("kubevirt_steward_repair_mode", f'mode="{mode}"')
    return f"max by ({_BY}) ({is_it})"


def _findings(metric: str, label: str) -> PanelQuery:
    """Of each remediation, 0 where it has none of them."""
    counted = f"sum by ({_BY}) (max by ({_BY}, {label}) ({queries.each(f'kubevirt_steward_repair_{metric}')}))"
    return PanelQuery(f"{counted} or 0 * {_ENABLED}")


def _canary(state: str) -> str:
    is_it = queries.each("kubevirt_steward_repair_canary", f'state="{state}"')
    return f"max by ({_BY}) ({is_it})"


REMEDIATIONS = table(
    "Remediations",
    "Mode of each remediation, its findings by the state of their repair, and the state of its first repairs in mode "
    "auto.",
    (
        column("cluster", width=110, links=(page_link("steward"),)),
        column("remediation"),
        Column("mode", value=0, texts={"0": "off", "1": "plan", "2": "shadow", "3": "approve", "4": "auto"}, width=110),
        Column("writes", value=1, texts={"0": "no", "1": "yes"}, width=90),
        Column("findings", value=2, width=100),
        Column("refused", value=3, width=100),
        Column("blocked by a safety check", value=4, width=150),
        Column("reverted", value=5, thresholds=ATTENTION, width=100),
        Column("undone", value=6, width=110),
        Column(
            "canary",
            value=7,
            texts={"0": "over", "1": "one", "2": "two", "3": "stopped"},
            thresholds=(Threshold(3, "orange"),),
            links=(runbook("StewardRepairCanaryStopped"),),
            width=100,
        ),
    ),
    PanelQuery(f"{_mode('plan')} + 2 * {_mode('shadow')} + 3 * {_mode('approve')} + 4 * {_mode('auto')}"),
    PanelQuery(_ENABLED),
    _findings("findings", "state"),
    _findings("refused", "precondition"),
    _findings("blocked", "gate"),
    PanelQuery(
        f"sum by ({_BY}) (max by ({_BY}, job, instance) ({queries.each('kubevirt_steward_repairs_returned_total')}))"
    ),
    PanelQuery(f"max by ({_BY}) ({queries.each('kubevirt_steward_repairs_undone_total')})"),
    PanelQuery(f"{_canary('first')} + 2 * {_canary('second')} + 3 * {_canary('stopped')}"),
    sort=("-findings",),
    empty="no sidecar, or no data",
    width=20,
    height=14,
)


def _bars(title: str, description: str, metric: str, label: str) -> Panel:
    """A bar for each value of a label; `none` where there is none and a sidecar is scraped."""
    counted = f"sum by ({label}) (max by (cluster, remediation, {label}) ({queries.each(metric)}))"
    none = f'label_replace(0 * max({_SEEN}) unless on () {counted}, "{label}", "none", "", "")'
    name = f"{{{{{label}}}}}"
    return bars(title, description, PanelQuery(f"sort_desc({counted})", name, "blue"), PanelQuery(none, name, "text"))


_HELD_BACK = (
    _bars(
        "Refused, by precondition",
        "Repairs without a plan, by the precondition that isn't met.",
        "kubevirt_steward_repair_refused",
        "precondition",
    ),
    _bars("Blocked, by safety check", "Repairs that a safety check blocks.", "kubevirt_steward_repair_blocked", "gate"),
)

_STORMS = stat(
    "Namespace storms",
    "Namespaces with too many new findings at once: repairs stop there and continue elsewhere.",
    "sum(max by (cluster) (" + queries.each("kubevirt_steward_repair_storm_namespaces", 'state="storm"') + "))",
    thresholds=ATTENTION,
    decimals=0,
    links=(runbook("StewardRepairNamespaceStorm"),),
)

BOARD = Board(
    "repairs",
    "Repairs",
    "administrators of the sidecar",
    "What the sidecar can repair, what it did, what it refuses, and which safety checks block it.",
    (
        BoardRow(
            "State of the sidecar",
            (
                stat(
                    "A replica is the leader",
                    "Whether a replica holds the Lease, or none is needed because all modes only plan.",
                    _all("leading"),
                    Unit.COUNT,
                    texts=YES_NO,
                    links=(runbook("StewardRepairNotLeading"),),
                    width=4,
                ),
                stat(
                    "Reads findings",
                    "Whether the sidecar can read the exporter's findings.",
                    _all("source_up"),
                    Unit.COUNT,
                    texts=YES_NO,
                    links=(runbook("StewardRepairSourceDown"),),
                    width=4,
                ),
                stat(
                    "Ledger writable",
                    "Nothing is repaired while the ledger can't be written. At red, follow its alert.",
                    _all("ledger_writable"),
                    Unit.COUNT,
                    texts=YES_NO,
                    links=(runbook("StewardRepairLedgerNotWritable"),),
                    width=4,
                ),
                stat(
                    "Last run",
                    "Time since the last run over the findings.",
                    "clamp_min(max(time() - max by (cluster) ("
                    + queries.each("kubevirt_steward_repair_last_run_timestamp_seconds")
                    + " > 0)), 0)",
                    Unit.SECONDS,
                    thresholds=(Threshold(600, "orange"),),
                    decimals=0,
                    width=4,
                ),
                stat(
                    "Pauses",
                    "Pauses in effect: of everything, of namespaces, of objects.",
                    _most("paused"),
                    thresholds=ATTENTION,
                    links=(runbook("StewardRepairPaused"),),
                ),
                stat(
                    "Storm",
                    "Whether new findings in many namespaces stop all repairs. Find their common cause first: it is "
                    "not in the objects.",
                    "max(max by (cluster) (" + queries.each("kubevirt_steward_repair_storm", 'state!="normal"') + "))",
                    Unit.COUNT,
                    texts=YES_NO,
                    thresholds=ATTENTION,
                    links=(runbook("StewardRepairStorm"),),
                ),
            ),
        ),
        BoardRow(
            "Repairs",
            (
                stat(
                    "Unfinished",
                    "Attempts without an end in the ledger: their outcome is unknown.",
                    _most("unfinished"),
                    thresholds=ATTENTION,
                    links=(runbook("StewardRepairUnclear"),),
                    width=4,
                ),
                stat(
                    "Edit wars",
                    "Objects paused because another client reverts each repair.",
                    _most("edit_wars"),
                    thresholds=ATTENTION,
                    links=(runbook("StewardRepairEditWar"),),
                    width=4,
                ),
                stat(
                    "Released in use",
                    "Repairs of the last day that released an address which was then found in use.",
                    _most("in_use"),
                    thresholds=ATTENTION,
                    links=(runbook("StewardRepairInUse"),),
                    width=4,
                ),
                stat(
                    "Clock skew",
                    "Largest difference between the clocks of a sidecar and the API server.",
                    f"max(abs({queries.each('kubevirt_steward_repair_clock_skew_seconds')}))",
                    Unit.SECONDS,
                    thresholds=(Threshold(30, "red"),),
                    decimals=0,
                    links=(runbook("StewardRepairClockSkew"),),
                    width=4,
                ),
                stat("Repaired, 24 h", "Successful attempts.", _ended("1d", 'outcome="done"'), decimals=0, width=4),
                stat(
                    "Unrepaired, 24 h",
                    "Attempts that failed or whose outcome is unknown.",
                    _ended("1d", 'outcome!="done"'),
                    thresholds=ATTENTION,
                    decimals=0,
                    links=(runbook("StewardRepairFailing"),),
                    width=4,
                ),
                lines(
                    "Attempts by outcome",
                    "Attempts within an hour.",
                    *each_value("outcome", _OUTCOMES, lambda only: _ended("1h", only)),
                    width=8,
                ),
                lines(
                    "Duration of a repair",
                    "Time from the first read for an attempt to its end in the ledger, 90th percentile.",
                    PanelQuery(
                        "histogram_quantile(0.9, sum by (le) (max by (cluster, job, instance, remediation, le) "
                        "(increase(" + queries.each("kubevirt_steward_repair_duration_seconds_bucket") + "[1h]))))",
                        "9 of 10 take at most",
                    ),
                    unit=Unit.SECONDS,
                    empty=NONE_OR_UNSEEN,
                    width=8,
                ),
                lines(
                    "Shadowed writes",
                    "Writes within an hour that mode shadow skipped: mode auto would have made them.",
                    PanelQuery(_shadowed("1h"), "{{remediation}}"),
                    empty=NONE_OR_UNSEEN,
                    width=8,
                ),
            ),
        ),
        BoardRow("Blocked repairs", (REMEDIATIONS, replace(_STORMS, height=REMEDIATIONS.height), *_HELD_BACK)),
    ),
    (CLUSTERS, *LINKS),
    place=80,
)
