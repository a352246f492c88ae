"""The modules of kinds: what each of them has to have."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from exporter.store import kinds
from exporter.store.kind import ApiKind


def test_each_record_knows_its_kind() -> None:
    modules = [import_module(f"{kinds.__name__}.{found.name}") for found in pkgutil.iter_modules(kinds.__path__)]
    found = [
        (module.__name__, each) for module in modules for each in vars(module).values() if isinstance(each, ApiKind)
    ]
    assert len(found) > 30
    wrong = [name for name, kind in found if getattr(kind.record, "KIND", None) is not kind]
    assert not wrong, f"after KIND = …, each of them has to say RECORD.KIND = KIND: {wrong}"
