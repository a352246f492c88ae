from __future__ import annotations

import sys

from . import exporter, reports, sidecar
from .files import kept

if __name__ == "__main__":
    sys.exit(kept(exporter.generated() | sidecar.generated() | reports.generated()))
