"""What an exporter finds of migrations that nobody needs for a drain, and of nodes."""

from __future__ import annotations

from tests.cluster.exporter import Exporter
from tests.kubevirt.stage import Stage
from tests.manifests import Object
from tests.waiting import wait_until

__all__ = ["MOVES", "becomes", "found", "none_of", "reasons"]

MOVES = {"eviction": "LiveMigrate"}


def found(exporter: Exporter, stage: Stage, check: str, reason: str, name: str = "", seconds: float = 90) -> Object:
    """The finding of this reason in the namespace of the stage, or of no namespace; waits for it."""

    def there() -> Object | None:
        reported = exporter.report(f"?check={check}")["findings"]
        ours = (stage.namespace, "")
        named = [f for f in reported if f["subject"]["namespace"] in ours and name in ("", f["subject"]["name"])]
        return next((f for f in named if f["reason"] == reason), None)

    return wait_until(there, seconds, f"{reason} is found")


def becomes(exporter: Exporter, stage: Stage, reason: str, severity: str) -> Object:
    """The finding of the check migrations, once it has this severity."""

    def there() -> Object | None:
        finding = found(exporter, stage, "migrations", reason)
        return finding if finding["severity"] == severity else None

    return wait_until(there, 60, f"{reason} becomes {severity}")


def none_of(exporter: Exporter, stage: Stage, check: str) -> None:
    """Until the check finds nothing in the namespace of the stage."""

    def gone() -> bool:
        return not exporter.report(f"?check={check}&namespace={stage.namespace}")["findings"]

    wait_until(gone, 60, f"{check} finds nothing any more")


def reasons(exporter: Exporter, stage: Stage, name: str) -> list[str]:
    """Of all that was ever found of migrations and evictions of a VM, be it for a moment."""
    ours = (stage.namespace, name)
    checks = ("migrations", "evictions")
    return [f.reason for f in exporter.opened if (f.subject.namespace, f.subject.name) == ours and f.check in checks]
