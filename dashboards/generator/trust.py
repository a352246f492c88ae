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
    "Series of findings that the steward's series limit leaves out: they are missing in each count and table.",
    f"sum(max by (cluster, family) ({queries.each('kubevirt_steward_series_dropped')}))",
    thresholds=ATTENTION,
    links=(runbook("StewardSeriesDropped"),),
)

NO_ANSWER = table(
    "Kinds that checks can't see, or not all of them",
    "Whoever looks at one of these checks sees what is held, and nothing new. Empty is good only while the steward "
    "answers.",
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
        "NO where a cluster has a steward, or had one lately, and no replica of it answers: its findings are those of "
        "when it last did.",
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
            Column("replicas that answer", value=1, width=160),
            PanelQuery(
                f"sum by (cluster) (max by (cluster, job, instance) ({queries.READY})) or {queries.SENT_REPLICAS}"
            ),
        ),
        (
            Column("checks that answer", value=2, width=160),
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
        "A row for each cluster whose steward is scraped, or was lately. An empty cell is an answer that is missing.",
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
            "Checks for which no replica has an answer: that nothing is found means nothing for them. Those that do "
            "not apply here, or are disabled, do not count.",
            f"sum({_BY} ({unknown}) * (1 - {_BY} ({answering})))",
            thresholds=ATTENTION,
            links=(runbook("StewardCheckUnknown"),),
        ),
        stat(
            "Unanswered places",
            "Namespaces and single objects for which a check has no answer although it has one elsewhere.",
            f"sum({_BY} ({queries.each('kubevirt_steward_check_unknown_partitions', of)}))",
            thresholds=ATTENTION,
            links=(runbook("StewardObjectUndecodable"),),
        ),
        stat(
            "Findings held",
            "Findings that were open when their check last had an answer. Nobody knows whether they still are. They "
            "count in everything below, and are purple there.",
            queries.zero_while_seen(f"sum({findings.held})"),
            thresholds=(Threshold(1, HELD),),
            links=(runbook("StewardCheckUnknown"),),
        ),
        LEFT_OUT,
        stat(
            "Oldest data",
            "For how long the kind that is seen worst may have changed unseen. Minutes are normal, since a quiet watch "
            "only reports now and then.",
            f"clamp_min(max(time() - max by (cluster, kind) ({_CURRENT})), 0)",
            Unit.SECONDS,
            thresholds=(Threshold(600, "orange"),),
            decimals=0,
        ),
    )
    clusters = stewards(findings, width=COLUMNS - (also.width if also else 0))
    beside = (replace(also, height=clusters.height), clusters) if also else (clusters,)
    return BoardRow("Can this be trusted?", (*spread(*panels), *beside))
