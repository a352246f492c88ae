"""Configuration and permissions of a sidecar with each repair that loses nothing, where random faults happen."""

from __future__ import annotations

from typing import Any

import yaml

from reconcile.plan.plan import Risk
from reconcile.plan.remediation import Remediation
from reconcile.plan.remediations import all_remediations
from tests.cluster.sidecar import Sidecar, steward
from tests.kubevirt.control_plane import SIDECAR, ControlPlane

__all__ = ["AHEAD", "chosen", "granted", "settings"]

AHEAD = 26 * 3600.0  # seconds: what was made just now is older than the day that some repairs wait for
LOSELESS = (Risk.NONE, Risk.MIGRATION)
# What this one costs, somebody has asked for: a stop that waits for the copy.
BESIDES = ("restash_missing_revision",)
# No VM here has an interface of a network with persistent addresses.
NEVER = ("recreate_ipam_claim",)


def chosen() -> list[Remediation]:
    loses_nothing = [each for each in all_remediations() if each.risk in LOSELESS or each.id in BESIDES]
    return [each for each in loses_nothing if not each.proposes_only and each.id not in NEVER]


def settings(namespace: str, mode: str) -> dict[str, Any]:
    """All of them in this mode, and no limit that a test could reach."""
    own = {"mode": "off", "minAge": "0s", "namespaces": {namespace: mode}}
    return {
        "mode": "off",
        "remediations": {each.id: own for each in chosen()},
        "budgets": {"run": 5, "hour": 10_000, "namespaceHour": 10_000, "fleetShare": 1.0},
        "storm": {"atLeast": 10_000},
        "breaker": {"failures": 1000},
        "editWar": {"returns": 1000},
        "lease": {"namespace": "kubevirt"},
    }


def granted(sidecar: Sidecar, kubevirt: ControlPlane) -> None:
    """The roles of exactly this configuration, and the policy."""
    namespace, name = SIDECAR.split(":")[2:]
    printed = steward("reconcile", "role", "--config", str(sidecar.config), "-n", namespace, "--service-account", name)
    assert printed.returncode == 0, printed.stderr
    for each in yaml.safe_load_all(printed.stdout):
        kubevirt.admin.apply(each)
