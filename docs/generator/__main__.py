from __future__ import annotations

import sys

from . import exporter, names, reports, runbooks, sidecar, support
from .files import kept

if __name__ == "__main__":
    made = exporter.generated() | sidecar.generated() | reports.generated()
    sys.exit(kept(made | names.generated() | runbooks.generated() | support.generated()))
