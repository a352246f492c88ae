"""What the steward costs: the row of its board about time, memory, requests and series."""

from __future__ import annotations

from .. import queries
from ..model import BoardRow, PanelQuery, Unit
from ..panels import bars, lines

__all__ = ["BUILD", "COSTS", "REPLICA", "rate"]

REPLICA = "cluster, job, instance"
BUILD = queries.each("kubevirt_steward_build_info")


def rate(metric: str, by: str, window: str = "5m", *matchers: str) -> str:
    """Of the replica that does most: they all do the same."""
    inner = f"max by (cluster, {by}) (rate({queries.each(metric, *matchers)}[{window}]))"
    return f"sum by ({by}) ({inner})"


def _own(function: str, metric: str) -> str:
    """Of the stewards alone: every process has such a metric."""
    return f"{function.format(queries.each(metric))} and on ({REPLICA}) {BUILD}"


COSTS = BoardRow(
    "Resource usage",
    (
        lines(
            "Time in checks",
            "CPU seconds of the five most expensive checks.",
            PanelQuery(f"topk(5, {rate('kubevirt_steward_check_duration_seconds_total', 'check')})", "{{check}}"),
            unit=Unit.SECONDS,
            width=8,
        ),
        lines(
            "CPU",
            "CPU usage in cores, by replica.",
            PanelQuery(
                f"max by ({REPLICA}) ({_own('rate({}[5m])', 'process_cpu_seconds_total')})", "{{cluster}} {{instance}}"
            ),
            unit=Unit.SHORT,
            width=8,
        ),
        lines(
            "Memory",
            "Resident memory, by replica.",
            PanelQuery(
                f"max by ({REPLICA}) ({_own('{}', 'process_resident_memory_bytes')})", "{{cluster}} {{instance}}"
            ),
            unit=Unit.BYTES,
            width=8,
        ),
        lines(
            "Requests to the API server",
            "By verb and status code. Watches count at their start.",
            PanelQuery(
                "sum by (verb, code) (max by (cluster, verb, kind, code) (rate("
                + queries.each("kubevirt_steward_api_requests_total")
                + "[5m])))",
                "{{verb}} {{code}}",
            ),
            unit=Unit.PER_SECOND,
            width=8,
        ),
        lines(
            "Requests to the steward",
            "By path and status code, all replicas together.",
            PanelQuery(
                f"sum by (path, code) (max by ({REPLICA}, path, code) (rate("
                + queries.each("kubevirt_steward_http_requests_total")
                + "[5m])))",
                "{{path}} {{code}}",
            ),
            unit=Unit.PER_SECOND,
            width=8,
        ),
        lines(
            "Scrape",
            "Duration of a scrape, by replica.",
            PanelQuery(
                f"max by ({REPLICA}) ({queries.each('kubevirt_steward_scrape_duration_seconds')})",
                "{{cluster}} {{instance}}",
            ),
            unit=Unit.SECONDS,
            width=8,
        ),
        bars(
            "Series, share of the limit",
            "Families closest to their series limit. Series beyond the limit are omitted.",
            PanelQuery(
                "topk(10, max by (cluster, family) ("
                + queries.each("kubevirt_steward_series")
                + ") / (max by (cluster, family) ("
                + queries.each("kubevirt_steward_series_limit")
                + ") > 0) > 0)",
                "{{cluster}} {{family}}",
                "blue",
            ),
            unit=Unit.RATIO,
            maximum=1,
            width=16,
        ),
        lines(
            "Size of a scrape",
            "Before compression, by replica.",
            PanelQuery(
                f"max by ({REPLICA}) ({queries.each('kubevirt_steward_scrape_size_bytes')})", "{{cluster}} {{instance}}"
            ),
            unit=Unit.BYTES,
            width=8,
        ),
    ),
)
