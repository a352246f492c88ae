"""Networks that are not created or run out of addresses, and the components behind persistent IPs."""

from __future__ import annotations

from ..model import area
from ..pools import PRESSURE, pool_alerts, pool_usage

AREA = area("networks", before=pool_usage, families=(PRESSURE.family,), after=pool_alerts)
