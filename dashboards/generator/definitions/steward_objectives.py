"""What the steward is to keep: the row of its board about objectives, which rules/slo.yaml records."""

from __future__ import annotations

from exporter.rules.alerts.slo import BURN, LEFT, OBJECTIVES

from .. import queries
from ..links import runbook
from ..model import BoardRow, Column, PanelQuery, Threshold, Unit
from ..panels import column, lines, table

__all__ = ["OBJECTIVES_ROW"]

_USED_UP = (Threshold(-1e9, "orange"), Threshold(0, "text"))
_COLOURS = dict(zip(OBJECTIVES, ("blue", "orange", "purple"), strict=True))


def _of(metric: str, objective: str) -> str:
    return queries.each(metric, f'objective="{objective}"')


OBJECTIVES_ROW = BoardRow(
    "Objectives",
    (
        table(
            "Remaining error budget",
            "Remaining share of the error budget of 30 days for each cluster and objective. Objectives are timely "
            "findings, evaluated checks, and minutes with a ready, scraped replica (rules/slo.yaml).",
            (
                column("cluster"),
                *(
                    Column(objective, value=i, unit=Unit.RATIO, decimals=1, thresholds=_USED_UP)
                    for i, objective in enumerate(OBJECTIVES)
                ),
            ),
            *(PanelQuery(f"min by (cluster) ({_of(LEFT, objective)})") for objective in OBJECTIVES),
            width=12,
            height=8,
            empty="not recorded",
            links=(runbook("StewardErrorBudgetBurn"),),
        ),
        lines(
            "Burn within an hour",
            "Burn rate of the worst cluster, relative to 30 days. 14.4 for an hour raises an alert.",
            *(
                PanelQuery(f"max(sum_over_time({_of(BURN, objective)}[1h])) / 60", objective, _COLOURS[objective])
                for objective in OBJECTIVES
            ),
            unit=Unit.SHORT,
            width=12,
        ),
    ),
)
