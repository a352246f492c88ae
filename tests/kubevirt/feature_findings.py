"""What is found of features on a stage."""

from __future__ import annotations

import contextlib

from tests.cluster.exporter import Exporter
from tests.kubevirt.stage import Stage
from tests.manifests import Object
from tests.waiting import wait_until

__all__ = ["MEMORY", "Found", "vm", "vmi", "wait_found"]

Found = tuple[str, str, str, str]  # the subject's kind and name, the reason, the severity

MEMORY: Object = {"resources": {"requests": {"memory": "64Mi"}}}


def wait_found(exporter: Exporter, stage: Stage, *wanted: Found, check: str = "feature_") -> list[Object]:
    """Until this is all that checks whose names begin so find."""

    def reported() -> list[Object]:
        rows: list[Object] = exporter.report(f"?namespace={stage.namespace}")["findings"]
        return [each for each in rows if each["check"].startswith(check)]

    def found() -> list[Found]:
        rows = ((each["subject"], each) for each in reported())
        return sorted((subject["kind"], subject["name"], f["reason"], f["severity"]) for subject, f in rows)

    with contextlib.suppress(TimeoutError):
        wait_until(lambda: found() == sorted(wanted), 30, "what is found", every=0.02)
    assert found() == sorted(wanted)
    return reported()


def vm(name: str, reason: str, severity: str) -> Found:
    return "VirtualMachine", name, reason, severity


def vmi(name: str, reason: str, severity: str) -> Found:
    return "VirtualMachineInstance", name, reason, severity
