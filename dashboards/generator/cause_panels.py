"""The table of causes: what there is to do, in the order of the page and of `steward check`.

All of it is counted from the findings (`Findings`), so that a cause of which the findings are held is there, and
agrees with what other panels count. kubevirt_steward_cause_objects only says what a cause refers to.
"""

from __future__ import annotations

from typing import Any

from . import queries
from .finding_panels import RUNBOOK, alert_names, with_runbook
from .findings import Findings
from .links import board_link, page_link
from .model import Column, Panel, PanelQuery, Threshold, Unit
from .panels import HELD, SEVERITIES, column, table

__all__ = ["causes_table"]

_BY = "cluster, cause, check, reason"
_REFERENCE = "kind, namespace, name, node, network, feature, group"
# Of each cause once, whichever replica reports it, and for a day also of those that are held.
_REFERENCES = (
    "topk by (cluster, cause) (1, 0 * last_over_time(" + queries.each("kubevirt_steward_cause_objects") + "[1d]))"
)


def causes_table(title: str, description: str, findings: Findings, **more: Any) -> Panel:
    """A row for each cause: the worst severity of its findings first, then the most VMs, then the oldest."""
    ranks = {str(rank): severity for rank, severity in enumerate(reversed(SEVERITIES), 1)}
    columns = (
        Column(
            "severity",
            value=0,
            texts=ranks,
            colours={rank: SEVERITIES[severity] for rank, severity in ranks.items()},
            width=90,
        ),
        column("reason", width=230, links=(page_link("cause"),)),
        column("about", "what it is about"),
        Column("VMs", value=1, width=80),
        Column("findings", value=2, width=90),
        Column("for", value=3, unit=Unit.AGE, width=125),
        Column("held", value=4, thresholds=(Threshold(1, HELD),), width=80),
        column("cluster", width=110, links=(board_link("fleet", "Board Fleet"), page_link("steward"))),
        column("cause", "cause's id", width=170, links=(page_link("cause"),)),
        column("runbook", width=240, links=(RUNBOOK,), texts=alert_names(findings.checks)),
    )
    return table(
        title,
        f"{description} Order as in the web UI and command line: worst severity, most VMs, oldest.",
        columns,
        *(PanelQuery(_described(expr)) for expr in _numbers(findings)),
        sort=("-severity", "-VMs", "-for"),
        **more,
    )


def _numbers(findings: Findings) -> tuple[str, ...]:
    """The severity as a number, VMs, findings, age in seconds, and how many findings are held."""
    one, ranks = f"group by ({_BY})", enumerate(reversed(SEVERITIES), 1)
    worst = [f"{rank} * {one} ({findings.that(queries.severity_is(severity)).found})" for rank, severity in ranks]
    with_vm = findings.that('vm!=""').found
    return (
        " or ".join(reversed(worst)),
        f"count by ({_BY}) (group by ({_BY}, namespace, vm) ({with_vm})) or 0 * {one} ({findings.found})",
        f"count by ({_BY}) ({findings.found})",
        f"max by ({_BY}) ({findings.ages})",
        f"count by ({_BY}) ({findings.held})",
    )


def _described(expr: str) -> str:
    """With what each cause refers to, in one label, and with that of its runbook."""
    on = "on (cluster, cause)"
    whole = f"({expr})"
    referred = f"{whole} + {on} group_left ({_REFERENCE}) {_REFERENCES} or {whole} unless {on} {_REFERENCES}"
    labels = ", ".join(f'"{label}"' for label in _REFERENCE.split(", "))
    return with_runbook(f'label_join({referred}, "about", " ", {labels})')
