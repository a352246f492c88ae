"""The row that a board begins with: whether somebody answers, and what is not known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from . import queries
from .findings import Findings
from .links import board_link, page_link, runbook
from .model import COLUMNS, BoardRow, Column, Panel, PanelQuery, Threshold, Unit
from .panels import ATTENTION, HELD, column, spread, stat, table

__all__ = ["LEFT_OUT", "NO_ANSWER", "answers", "stewards", "trust"]

_CURRENT = queries.each("kubevirt_steward_kind_current_timestamp_seconds")
_BY = "max by (cluster, check)"
_YES_OR_NO = {"0": "NO", "1": "yes"}
_ALARM = Threshold(0, "red")

LEFT_OUT = stat(
    "Series left out",
    "Series of findings beyond the steward's series limit: all counts and tables miss them.",
    f"sum(max by (cluster, family) ({queries.each('kubevirt_steward_series_dropped')}))",
    thresholds=ATTENTION,
    links=(runbook("StewardSeriesDropped"),),
)

NO_ANSWER = table(
    "Kinds that checks can't read completely",
    "These checks have only stale findings and report no new ones. An empty table is good only while the steward "
    "responds.",
    (
        column("cluster", width=150, links=(page_link("steward"),)),
        column("check", links=(page_link("steward"),)),
        column("kind"),
    ),
    PanelQuery(f"max by (cluster, check, kind) ({queries.each('kubevirt_steward_check_kind_unseen')}) > 0"),
    height=6,
    sort=("cluster", "check"),
    links=(runbook("StewardCheckUnknown"),),
)


def answers(what: str = "Steward answers") -> Panel:
    return stat(
        what,
        "NO if a cluster has a steward now or recently, but no responding replica. Its findings are then stale. Follow "
        "StewardDown.",
        f"min({queries.ANSWERS})",
        texts=_YES_OR_NO,
        thresholds=(_ALARM, Threshold(1, "transparent")),
        loud=True,
        links=(runbook("StewardDown"),),
    )


def stewards(findings: Findings, *more: tuple[Column, PanelQuery], **layout: Any) -> Panel:
    """A row for each cluster: whether anybody answers there, and how much. `more` are further columns."""
    of = queries.checks_are(findings.checks)
    unknown = queries.each("kubevirt_steward_check_state", 'state="unknown"', of)
    answering = queries.each("kubevirt_steward_check_state", 'state="answering"', of)
    sent = "" if findings.checks else f" or {queries.SENT_UNKNOWN}"  # of all checks together
    numbers = (
        (
            Column("answers", value=0, texts=_YES_OR_NO, thresholds=(_ALARM, Threshold(1, "text")), width=90,
                   links=(page_link("steward"),)),
            PanelQuery(queries.ANSWERS),
        ),
        (
            Column("responding replicas", value=1, width=160),
            PanelQuery(
                f"sum by (cluster) (max by (cluster, job, instance) ({queries.READY})) or {queries.SENT_REPLICAS}"
            ),
        ),
        (
            Column("evaluated checks", value=2, width=160),
            PanelQuery(f"sum by (cluster) ({_BY} ({answering})) or {queries.sent_answering(of)}"),
        ),
        (
            Column("unanswered checks", value=3, width=180, thresholds=ATTENTION),
            PanelQuery(f"sum by (cluster) ({_BY} ({unknown}) * (1 - {_BY} ({answering}))){sent}"),
        ),
        (
            Column("findings held", value=4, width=120, thresholds=(Threshold(1, HELD),)),
            PanelQuery(queries.zero_by_cluster(f"sum by (cluster) ({findings.held})")),
        ),
        *more,
    )  # fmt: skip
    return table(
        "Stewards, by cluster",
        "One row for each cluster whose steward is scraped now or was recently. An empty cell means no data.",
        (
            column("cluster", links=(board_link("fleet", "Board Fleet"), page_link("steward"))),
            *(each for each, _ in numbers),
        ),
        *(query for _, query in numbers),
        **{"height": 5, "empty": "not seen", "sort": ("answers", "-unanswered checks"), **layout},
    )


def trust(findings: Findings, also: Panel | None = None) -> BoardRow:
    """Of the checks of these findings. `also` is one more panel, if any, beside the table of clusters."""
    of = queries.checks_are(findings.checks)
    unknown = queries.each("kubevirt_steward_check_state", 'state="unknown"', of)
    answering = queries.each("kubevirt_steward_check_state", 'state="answering"', of)
    panels = (
        answers(),
        stat(
            "Unanswered checks",
            "Checks that no replica can evaluate. Their missing findings prove nothing. Disabled and not applicable "
            "checks do not count.",
            f"sum({_BY} ({unknown}) * (1 - {_BY} ({answering})))",
            thresholds=ATTENTION,
            links=(runbook("StewardCheckUnknown"),),
        ),
        stat(
            "Unanswered places",
            "Namespaces and single objects that a check can't evaluate although it evaluates others.",
            f"sum({_BY} ({queries.each('kubevirt_steward_check_unknown_partitions', of)}))",
            thresholds=ATTENTION,
            links=(runbook("StewardObjectUndecodable"),),
        ),
        stat(
            "Findings held",
            "Findings that were open at the last evaluation of their check. Their present state is unknown. They "
            "count in all panels below, in purple.",
            queries.zero_while_seen(f"sum({findings.held})"),
            thresholds=(Threshold(1, HELD),),
            links=(runbook("StewardCheckUnknown"),),
        ),
        LEFT_OUT,
        stat(
            "Oldest data",
            "Age of the oldest data of a kind. Minutes are expected, because a quiet watch rarely reports.",
            f"clamp_min(max(time() - max by (cluster, kind) ({_CURRENT})), 0)",
            Unit.SECONDS,
            thresholds=(Threshold(600, "orange"),),
            decimals=0,
        ),
    )
    clusters = stewards(findings, width=COLUMNS - (also.width if also else 0))
    beside = (replace(also, height=clusters.height), clusters) if also else (clusters,)
    return BoardRow("Completeness of the data", (*spread(*panels), *beside))
