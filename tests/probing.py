"""The probe of edits as users meet it, for whoever has an API server to ask."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from exporter.__main__ import main

__all__ = ["differences", "probed_edits"]


def probed_edits(kubeconfig: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    """The exit code and the answers of `steward check --probe-features`, or of other words of the command line."""
    code = main([*(words or ("check", "--probe-features")), "-o", "json", "--kubeconfig", str(kubeconfig)])
    return code, json.loads(capsys.readouterr().out)["probes"]


def differences(probes: Any, namespace: str) -> dict[str, str]:
    """What the API server says of the VMs of a namespace of which it was not expected."""
    return {each["vm"]["name"]: each["said"] for each in probes["differences"] if each["vm"]["namespace"] == namespace}
