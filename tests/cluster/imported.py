"""Imports what any command of `steward` imports at some time, for processes to be forked off: see `forks`."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages

import exporter.cli
import reconcile.cli

__all__: list[str] = []

for package in (exporter.cli, reconcile.cli):
    for found in walk_packages(package.__path__, f"{package.__name__}."):
        import_module(found.name)
for name in ("exporter.__main__", "tests.cluster.sidecar_process"):
    import_module(name)
