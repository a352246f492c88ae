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
    "What each of them may do, how many findings it is for by what is known of their repair, and how far the first "
    "repairs are of one in mode auto.",
    (
        column("cluster", width=110, links=(page_link("steward"),)),
        column("remediation"),
        Column("mode", value=0, texts={"0": "off", "1": "plan", "2": "shadow", "3": "approve", "4": "auto"}, width=110),
        Column("writes", value=1, texts={"0": "no", "1": "yes"}, width=90),
        Column("findings", value=2, width=100),
        Column("refused", value=3, width=100),
        Column("blocked by a gate", value=4, width=150),
        Column("reverted", value=5, thresholds=ATTENTION, width=100),
        Column("taken back", value=6, width=110),
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
    empty="no sidecar, or not seen",
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
        "Repairs whose plan is refused, by the precondition that does not hold.",
        "kubevirt_steward_repair_refused",
        "precondition",
    ),
    _bars("Blocked, by gate", "Repairs that a gate blocks.", "kubevirt_steward_repair_blocked", "gate"),
)

_STORMS = stat(
    "Namespace storms",
    "Namespaces in which so much is new at once that nothing is repaired there; others go on.",
    "sum(max by (cluster) (" + queries.each("kubevirt_steward_repair_storm_namespaces", 'state="storm"') + "))",
    thresholds=ATTENTION,
    decimals=0,
    links=(runbook("StewardRepairNamespaceStorm"),),
)

BOARD = Board(
    "repairs",
    "Repairs",
    "whoever lets the sidecar write",
    "What the sidecar may repair, what it did, what it refuses, and what holds it back.",
    (
        BoardRow(
            "Does it work?",
            (
                stat(
                    "A replica leads",
                    "Whether a replica holds the Lease, or none is needed since everything only plans.",
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
                    "Nothing is repaired while the ledger cannot be written.",
                    _all("ledger_writable"),
                    Unit.COUNT,
                    texts=YES_NO,
                    links=(runbook("StewardRepairLedgerNotWritable"),),
                    width=4,
                ),
                stat(
                    "Last run",
                    "How long ago the findings were last gone through.",
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
                    "Whether so much is new in many namespaces at once that nothing is repaired: the cause is not in "
                    "the objects then.",
                    "max(max by (cluster) (" + queries.each("kubevirt_steward_repair_storm", 'state!="normal"') + "))",
                    Unit.COUNT,
                    texts=YES_NO,
                    thresholds=ATTENTION,
                    links=(runbook("StewardRepairStorm"),),
                ),
            ),
        ),
        BoardRow(
            "What it did",
            (
                stat(
                    "Unfinished",
                    "Attempts without an end in the ledger: what came of them is not known.",
                    _most("unfinished"),
                    thresholds=ATTENTION,
                    links=(runbook("StewardRepairUnclear"),),
                    width=4,
                ),
                stat(
                    "Edit wars",
                    "Objects that are paused since somebody reverts each repair.",
                    _most("edit_wars"),
                    thresholds=ATTENTION,
                    links=(runbook("StewardRepairEditWar"),),
                    width=4,
                ),
                stat(
                    "Released in use",
                    "Repairs of the last day after which something was found to use the address that they released.",
                    _most("in_use"),
                    thresholds=ATTENTION,
                    links=(runbook("StewardRepairInUse"),),
                    width=4,
                ),
                stat(
                    "Clock skew",
                    "How far the clock of a sidecar is from the API server's, at most.",
                    f"max(abs({queries.each('kubevirt_steward_repair_clock_skew_seconds')}))",
                    Unit.SECONDS,
                    thresholds=(Threshold(30, "red"),),
                    decimals=0,
                    links=(runbook("StewardRepairClockSkew"),),
                    width=4,
                ),
                stat(
                    "Repaired, 24 h", "Attempts that ended well.", _ended("1d", 'outcome="done"'), decimals=0, width=4
                ),
                stat(
                    "Unrepaired, 24 h",
                    "Attempts that failed, or of which it is not known how they ended.",
                    _ended("1d", 'outcome!="done"'),
                    thresholds=ATTENTION,
                    decimals=0,
                    links=(runbook("StewardRepairFailing"),),
                    width=4,
                ),
                lines(
                    "Attempts by how they ended",
                    "Attempts within an hour.",
                    *each_value("outcome", _OUTCOMES, lambda only: _ended("1h", only)),
                    width=8,
                ),
                lines(
                    "Time of a repair",
                    "From the first read for an attempt to its end in the ledger: that of nine in ten.",
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
                    "Would have been written",
                    "Writes within an hour that mode shadow left out: auto would have made them.",
                    PanelQuery(_shadowed("1h"), "{{remediation}}"),
                    empty=NONE_OR_UNSEEN,
                    width=8,
                ),
            ),
        ),
        BoardRow("What holds it back", (REMEDIATIONS, replace(_STORMS, height=REMEDIATIONS.height), *_HELD_BACK)),
    ),
    (CLUSTERS, *LINKS),
    place=80,
)
