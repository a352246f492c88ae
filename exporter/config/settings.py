"""What can be set, with its defaults. A check's own settings are a struct in the check's module (`Check.settings`)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any, Literal

import msgspec

from ..checks.base import Setting

__all__ = ["CheckSettings", "Config", "MetricsSettings", "PaceSettings", "SeriesLimitSettings"]


class PaceSettings(msgspec.Struct, frozen=True, rename="camel"):
    """How the API server is asked."""

    watch: Annotated[timedelta, Setting("How long a watch lasts before it is opened again.", low="30s", high="1h")] = (
        timedelta(seconds=270)
    )
    stale_after: Annotated[
        timedelta, Setting("Without a connection for so long, what is known of a kind is stale.", low="5s", high="1h")
    ] = timedelta(seconds=60)
    look_again: Annotated[
        timedelta, Setting("Between two looks whether a right was granted or a CRD installed.", low="1s", high="1h")
    ] = timedelta(seconds=10)
    longest_wait: Annotated[
        timedelta, Setting("The longest wait between two tries after failures.", low="1s", high="10m")
    ] = timedelta(seconds=30)


class SeriesLimitSettings(msgspec.Struct, frozen=True, rename="camel"):
    """How many series findings may take, and states as many again.

    What is left out is counted in `kubevirt_steward_series_dropped`.
    """

    family: Annotated[int, Setting("Series of one metric family.", "series", low=2, high=10_000_000)] = 50_000
    total: Annotated[int, Setting("Series of all families together.", "series", low=2, high=10_000_000)] = 200_000


class MetricsSettings(msgspec.Struct, frozen=True, rename="camel"):
    """Which families are there that are not by themselves: a field for each state that has it as its `option`."""

    firmware_uuid_info: Annotated[
        bool,
        Setting("Serve `kubevirt_vm_firmware_uuid_info`, a series for each VM, which rules/fleet.yaml reads."),
    ] = False


class CheckSettings(msgspec.Struct, frozen=True):
    """What is set of one check; `settings` is its own struct, None where it has none."""

    enabled: bool = True
    settings: Any = None


class Config(msgspec.Struct, frozen=True, rename="camel"):
    """The configuration of the exporter."""

    listen: Annotated[
        str, Setting("Where page, metrics and API are served. Who reaches it can read all findings.", "address")
    ] = "127.0.0.1:9877"
    kubeconfig: Annotated[
        str | None, Setting("Path of a kubeconfig. Without it: $KUBECONFIG, ~/.kube/config, else the pod's account.")
    ] = None
    context: Annotated[str | None, Setting("Context of the kubeconfig. Without it: its current one.")] = None
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], Setting("The least severity that is logged.")
    ] = "warning"
    log_format: Annotated[Literal["logfmt", "json"], Setting("How a log line is written.")] = "logfmt"
    settle: Annotated[
        timedelta,
        Setting("From a change to its evaluation, so that what belongs together has arrived.", low="0s", high="1m"),
    ] = timedelta(milliseconds=250)
    pace: PaceSettings = PaceSettings()
    series_limit: SeriesLimitSettings = SeriesLimitSettings()
    metrics: MetricsSettings = MetricsSettings()
    checks: Mapping[str, CheckSettings] = {}

    def of(self, check_id: str) -> CheckSettings:
        return self.checks.get(check_id, CheckSettings())
