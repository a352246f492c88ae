"""The runbooks of features, followed where KubeVirt's own webhooks refuse what they say it refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.case_files import read_yaml
from tests.cluster.client import ApiError
from tests.cluster.conftest import Tools
from tests.cluster.resources import PVCS, STORAGE_CLASSES, VMS
from tests.kubevirt.control_plane import ControlPlane
from tests.kubevirt.installation import NAMESPACE
from tests.kubevirt.releases import PERSISTENT_STATE, needs
from tests.kubevirt.settings import KUBEVIRT, Settings
from tests.kubevirt.shell import run, script
from tests.kubevirt.stage import Stage
from tests.manifests import Object
from tests.waiting import wait_until

GATES = ("DownwardMetrics", "ExperimentalIgnitionSupport")
IGNITION = "kubevirt.io/ignitiondata"
MEMORY: Object = {"resources": {"requests": {"memory": "64Mi"}}}
METRICS: Object = {"devices": {"downwardMetrics": {}}, **MEMORY}
MISMATCH, BLOCKED = "VMFeatureMismatch", "VMFeatureBlocked"
Follow = Callable[..., bool]


@pytest.fixture
def follow(kubevirt: ControlPlane, stage: Stage, binary: Tools, tmp_path: Path) -> Follow:
    """Runs the one block of a runbook with these words in it, and says whether it succeeded."""
    known = {
        "NAMESPACE": stage.namespace,
        "NAME": "db",
        "VMNAME": "db",
        "FEATURE": "downward_metrics",
        "REASON": "none",
    }
    known |= {"FEATURE": "", "REASON": "none", "KUBEVIRTNAMESPACE": NAMESPACE, "KUBEVIRTNAME": KUBEVIRT}

    def followed(runbook: str, words: str, **overruled: str) -> bool:
        return run(script(runbook, words, known, **overruled), kubevirt, binary, tmp_path) == 0

    return followed


def edit(path: Path, change: Callable[[Object], object]) -> None:
    obj = read_yaml(path.read_text(encoding="utf-8"))
    change(obj)
    path.write_text(yaml.safe_dump(obj), encoding="utf-8")


def template(vm: Object) -> Object:
    found: Object = vm["spec"]["template"]
    return found


@pytest.fixture
def refused(settings: Settings, stage: Stage) -> str:
    """UID of the VMI of `db`, which runs with two features that were switched off since."""
    settings.gates(*GATES, taken=lambda: True)
    wait_until(lambda: _made(stage), 30, "KubeVirt admits the VM", every=0.2)
    uid = stage.wait_running("db")["metadata"]["uid"]
    settings.put(settings.before, lambda: "not enabled" in stage.refusal("db"))
    return str(uid)


def _made(stage: Stage) -> bool:
    try:
        stage.vm("db", domain=METRICS, annotations={IGNITION: "{}"})
    except ApiError as error:
        if "not enabled" in error.message:
            return False
        raise
    return True


def test_a_vm_that_can_not_be_edited_is_changed_in_one_edit_and_restarted(
    stage: Stage, follow: Follow, refused: str, tmp_path: Path
) -> None:
    file = tmp_path / "vm.yaml"
    assert not follow(MISMATCH, "kubectl annotate")
    assert follow(MISMATCH, "> vm.yaml")
    edit(file, lambda vm: template(vm)["spec"]["domain"]["devices"].pop("downwardMetrics"))
    assert not follow(MISMATCH, "--dry-run=server -f vm.yaml"), "one of two was left"
    edit(file, lambda vm: template(vm)["metadata"].pop("annotations"))
    assert follow(MISMATCH, "--dry-run=server -f vm.yaml")
    assert not follow(MISMATCH, "kubectl annotate"), "nothing was written"

    assert follow(MISMATCH, "replace -f vm.yaml")
    assert follow(MISMATCH, "kubectl annotate")
    vmi = stage.vmi("db")
    assert vmi is not None
    assert vmi["metadata"]["uid"] == refused, "it runs on"

    assert stage.act("db", "restart").code is None
    stage.wait_ended(vmi)
    assert "downwardMetrics" not in stage.wait_running("db")["spec"]["domain"]["devices"]


def test_one_that_has_to_be_stopped_is_down_until_its_features_are_allowed(
    stage: Stage, follow: Follow, refused: str, tmp_path: Path
) -> None:
    assert "denied the request" in stage.act("db", "stop").message
    assert not follow(MISMATCH, "virtualmachineinstances/VMNAME -f", VMI_UID="of-another")
    assert follow(MISMATCH, "virtualmachineinstances/VMNAME -f", VMI_UID=refused)
    stage.wait_gone("db")
    wait_until(lambda: "not enabled" in failure(stage), 60, "KubeVirt fails to start it")
    assert stage.vmi("db") is None

    def allow(kubevirt: Object) -> None:
        kubevirt["spec"]["configuration"]["developerConfiguration"]["featureGates"] += GATES

    def allowed() -> bool:
        """Unless virt-operator has written meanwhile."""
        assert follow(BLOCKED, "> kubevirt.yaml")
        edit(tmp_path / "kubevirt.yaml", allow)
        return follow(BLOCKED, "--dry-run=server -f kubevirt.yaml") and follow(BLOCKED, "replace -f kubevirt.yaml")

    wait_until(allowed, 30, "the gates are listed")
    stage.wait_running("db")


def failure(stage: Stage) -> str:
    conditions = stage.client.get(VMS, stage.namespace, "db").get("status", {}).get("conditions", ())
    return next((each["message"] for each in conditions if each["type"] == "Failure"), "")


@needs(PERSISTENT_STATE)
def test_a_volume_of_a_missing_class_is_deleted_and_made_of_one_that_is_there(
    kubevirt: ControlPlane, settings: Settings, stage: Stage, follow: Follow
) -> None:
    def volumes() -> list[Object]:
        found: list[Object] = stage.client.list(PVCS, stage.namespace, labelSelector="persistent-state-for=db")["items"]
        return found

    classed = {"apiVersion": STORAGE_CLASSES.api_version, "kind": "StorageClass", "provisioner": "example.com/none"}
    settings.put({**settings.before, "vmStateStorageClass": "missing"}, lambda: True)
    stage.vm("db", domain={"devices": {"tpm": {"persistent": True}}, **MEMORY})
    wait_until(volumes, 60, "KubeVirt makes a volume")
    kubevirt.admin.create({**classed, "metadata": {"name": stage.namespace}})
    try:
        settings.put({**settings.before, "vmStateStorageClass": stage.namespace}, lambda: True)
        assert follow(BLOCKED, "persistentvolumeclaims/PVC")

        def another() -> bool:
            return [each["spec"]["storageClassName"] for each in volumes()] == [stage.namespace]

        wait_until(another, 90, "KubeVirt makes another volume")
    finally:
        kubevirt.admin.delete(STORAGE_CLASSES, None, stage.namespace)
