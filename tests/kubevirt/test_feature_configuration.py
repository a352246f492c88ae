"""What is found of the KubeVirt object's gates and settings, held against what KubeVirt says of them and goes by."""

from __future__ import annotations

import contextlib
import json
import subprocess

from tests.cluster.client import ApiError
from tests.cluster.conftest import Tools
from tests.cluster.exporter import Exporter
from tests.kubevirt.control_plane import ControlPlane
from tests.kubevirt.installation import NAMESPACE
from tests.kubevirt.settings import Settings
from tests.kubevirt.stage import Stage
from tests.waiting import wait_until

SAID_TOO = ("RedundantGate", "DeprecatedGate", "InertGate")  # what KubeVirt warns of when somebody lists it
UNKNOWN = ("NoSuchGate", "downwardmetrics")
LISTED = (
    *("GPU", "LiveMigration", "NonRoot", "PSA", "NUMA", "Passt", "Macvtap", "DockerSELinuxMCSWorkaround"),
    *("ExperimentalVirtiofsSupport", "DownwardMetrics", "DownwardMetrics", "HostDisk", *UNKNOWN),
)
ASKS = {"devices": {"downwardMetrics": {}}, "resources": {"requests": {"memory": "64Mi"}}}
REFUSED = "DownwardMetrics feature gate is not enabled"


def found(exporter: Exporter) -> dict[str, str]:
    """The reason of each finding, by the gate or the path."""
    return {each["feature"]: each["reason"] for each in exporter.report("?check=feature_configuration")["findings"]}


def wait_found(exporter: Exporter, wanted: dict[str, str]) -> None:
    with contextlib.suppress(TimeoutError):
        wait_until(lambda: found(exporter) == wanted, 30, "what is found", every=0.02)
    assert found(exporter) == wanted


def warnings(kubevirt: ControlPlane, binary: Tools, gates: list[str]) -> list[str]:
    """What an admin is told who lists these: kubectl prints them."""
    patch = {"spec": {"configuration": {"developerConfiguration": {"featureGates": gates}}}}
    command = [str(binary("kubectl")), "--kubeconfig", str(kubevirt.kubeconfig()), "-n", NAMESPACE]
    command += ["patch", "kubevirt", "kubevirt", "--type=merge", "--dry-run=server", "-p", json.dumps(patch)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return [line for line in done.stderr.splitlines() if line.startswith("Warning: ")]


def test_the_gates_that_kubevirt_warns_of_are_found_and_the_unknown_ones_too(
    kubevirt: ControlPlane, binary: Tools, exporter: Exporter, settings: Settings
) -> None:
    lines = warnings(kubevirt, binary, [*settings.before["developerConfiguration"]["featureGates"], *LISTED])
    warned = {gate for gate in LISTED if any(gate in line for line in lines)}
    assert warned.isdisjoint(UNKNOWN)
    assert len(lines) == len(warned)

    settings.gates(*LISTED, taken=lambda: set(UNKNOWN) <= set(found(exporter)))
    reasons = found(exporter)
    assert {gate for gate, reason in reasons.items() if reason in SAID_TOO} == warned
    assert {gate for gate, reason in reasons.items() if reason not in SAID_TOO} == set(UNKNOWN)
    assert {reasons[gate] for gate in UNKNOWN} == {"UnknownGate"}
    settings.restore()
    wait_found(exporter, {})


def created(stage: Stage) -> bool:
    try:
        stage.vm("db", strategy="Halted", domain=ASKS)
    except ApiError as error:
        if REFUSED in error.message:
            return False
        raise
    return True


def test_an_invalid_configuration_is_ignored_as_a_whole_and_a_restart_leaves_the_defaults(
    kubevirt: ControlPlane, exporter: Exporter, settings: Settings, stage: Stage
) -> None:
    settings.gates("DownwardMetrics", taken=lambda: created(stage))
    settings.put({**settings.before, "network": {"defaultNetworkInterface": "no-such"}}, lambda: found(exporter))
    wait_found(exporter, {"network.defaultNetworkInterface": "InvalidConfiguration"})
    assert stage.refusal("db") == ""  # the gate is listed no more, and on
    with kubevirt.without("virt-api"):
        pass
    wait_until(lambda: REFUSED in stage.refusal("db"), 60, "virt-api has started with the defaults")
    settings.gates("DownwardMetrics", taken=lambda: stage.refusal("db") == "")
    wait_found(exporter, {})
