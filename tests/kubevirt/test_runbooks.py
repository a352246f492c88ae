"""The commands of runbooks that only KubeVirt itself can carry out or answer, run to the letter."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.cluster.conftest import Tools
from tests.cluster.resources import CONTROLLER_REVISIONS, INSTANCETYPES, VMS
from tests.kubevirt.control_plane import ControlPlane
from tests.kubevirt.stage import Stage
from tests.shared import REPO
from tests.waiting import wait_until

RUNBOOKS = REPO / "rules/runbooks"
CANCEL = "evacuate/cancel"


def blocks(words: str) -> list[tuple[Path, str]]:
    """The code blocks of all runbooks with these words in them."""
    found = ((path, block) for path in sorted(RUNBOOKS.glob("*.md")) for block in code(path))
    return [(path, block) for path, block in found if words in block]


def code(path: Path) -> list[str]:
    return re.findall(r"^```sh.*?\n(.*?)^```", path.read_text(encoding="utf-8"), flags=re.S | re.M)


def test_a_request_is_cancelled_as_the_runbooks_say(
    kubevirt: ControlPlane, stage: Stage, binary: Tools, tmp_path: Path
) -> None:
    source = stage.running("db", eviction="External")["status"]["nodeName"]
    commands = blocks(CANCEL)
    assert len(commands) > 1
    for path, block in commands:
        stage.evict("db")
        assert stage.evacuation("db") == source, path.name
        script = block.replace("NAMESPACE", stage.namespace).replace("EVACUATIONNODENAME", source).replace("NAME", "db")
        assert run(script, kubevirt, binary, tmp_path) == 0, path.name
        assert stage.evacuation("db") == "", path.name


def test_a_request_for_another_node_is_not_cancelled(
    kubevirt: ControlPlane, stage: Stage, binary: Tools, tmp_path: Path
) -> None:
    source = stage.running("db", eviction="External")["status"]["nodeName"]
    stage.evict("db")
    _, block = blocks(CANCEL)[0]
    script = (
        block.replace("NAMESPACE", stage.namespace).replace("EVACUATIONNODENAME", "control01").replace("NAME", "db")
    )
    assert run(script, kubevirt, binary, tmp_path) != 0
    assert stage.evacuation("db") == source


def run(script: str, kubevirt: ControlPlane, binary: Tools, folder: Path) -> int:
    """What the shell answers, with our kubectl and the admin's kubeconfig."""
    environment = {
        "PATH": f"{binary('kubectl').parent}:{os.environ['PATH']}",
        "KUBECONFIG": str(kubevirt.kubeconfig()),
        "HOME": str(folder),
    }
    return subprocess.run(["bash", "-euo", "pipefail", "-c", script], env=environment, check=False).returncode


@pytest.mark.parametrize("path", sorted(RUNBOOKS.glob("VMEviction*.md")), ids=lambda path: path.stem)
def test_no_runbook_deletes_past_the_eviction_api(path: Path) -> None:
    for block in code(path):
        assert "--disable-eviction" not in block
        assert "dryRun=All" not in block


# -- instancetypes


REVISION_MISSING = "VMInstancetypeRevisionMissing.md"


def followed(words: str, values: dict[str, str], kubevirt: ControlPlane, binary: Tools, folder: Path) -> None:
    """Runs the one block of the runbook that has these words, with its words in capitals filled in."""
    (block,) = (block for block in code(RUNBOOKS / REVISION_MISSING) if words in block)
    script = re.sub(r"\b[A-Z]{3,}\b", lambda found: values.get(found[0], found[0]), block)
    assert run(script, kubevirt, binary, folder) == 0, script


def read(stage: Stage) -> dict[str, str]:
    meta = stage.client.get(VMS, stage.namespace, "db")["metadata"]
    return {"UID": meta["uid"], "OWNERUID": meta["uid"], "RESOURCEVERSION": meta["resourceVersion"]}


def without_its_revision(stage: Stage) -> dict[str, str]:
    """A VM that runs, whose revision was deleted, and that KubeVirt does not stop; what a person reads off it."""
    kind, spec = "VirtualMachineInstancetype", {"cpu": {"guest": 1}, "memory": {"guest": "64Mi"}}
    made = stage.client.create(
        {
            "apiVersion": "instancetype.kubevirt.io/v1beta1",
            "kind": kind,
            "metadata": {"namespace": stage.namespace, "name": "small"},
            "spec": spec,
        }
    )
    stage.client.create(
        {
            "apiVersion": VMS.api_version,
            "kind": "VirtualMachine",
            "metadata": {"namespace": stage.namespace, "name": "db"},
            "spec": {
                "runStrategy": "Always",
                "instancetype": {"kind": kind, "name": "small"},
                "template": {"spec": {"domain": {"devices": {}}}},
            },
        }
    )
    stage.wait_running("db")
    vm = stage.client.get(VMS, stage.namespace, "db")
    revision = vm["status"]["instancetypeRef"]["controllerRevisionRef"]["name"]
    stage.client.delete(CONTROLLER_REVISIONS, stage.namespace, revision)
    stage.client.patch(VMS, stage.namespace, "db", {"spec": {"runStrategy": "Halted"}})
    wait_until(lambda: failure(stage) == "FailedFindInstancetype", 60, "KubeVirt misses the revision")
    assert stage.vmi("db") is not None
    return {
        "NAMESPACE": stage.namespace,
        "VMNAME": "db",
        "ROLE": "instancetype",
        "REFERENCE": "instancetypeRef",
        "RESOURCE": "virtualmachineinstancetypes.instancetype.kubevirt.io",
        "OBJECT": "small",
        "OBJECTKIND": kind,
        "OBJECTUID": made["metadata"]["uid"],
        "GENERATION": "1",
        "REVISION": revision,
    }


def failure(stage: Stage) -> str:
    conditions = stage.client.get(VMS, stage.namespace, "db").get("status", {}).get("conditions", ())
    return next((each["reason"] for each in conditions if each["type"] == "Failure"), "")


def test_a_vm_whose_revision_is_created_again_as_the_runbook_says_is_stopped(
    kubevirt: ControlPlane, stage: Stage, binary: Tools, tmp_path: Path
) -> None:
    values = without_its_revision(stage)
    followed("'{.spec}' > SPEC.json", values, kubevirt, binary, tmp_path)
    followed("kind: ControllerRevision", values | read(stage), kubevirt, binary, tmp_path)
    followed("kubectl annotate", values, kubevirt, binary, tmp_path)

    stage.wait_gone("db")
    wait_until(lambda: failure(stage) == "", 60, "KubeVirt finds the revision")
    reference = stage.client.get(VMS, stage.namespace, "db")["status"]["instancetypeRef"]
    assert reference["controllerRevisionRef"]["name"] == values["REVISION"]


def test_a_vm_whose_reference_is_removed_as_the_runbook_says_gets_another_revision_and_is_stopped(
    kubevirt: ControlPlane, stage: Stage, binary: Tools, tmp_path: Path
) -> None:
    values = without_its_revision(stage)
    larger = {"spec": {"memory": {"guest": "128Mi"}}}
    stage.client.patch(INSTANCETYPES, stage.namespace, "small", larger)
    followed("--dry-run=server", values | read(stage), kubevirt, binary, tmp_path)
    assert failure(stage) == "FailedFindInstancetype"
    followed("--subresource=status --type=json", values | read(stage), kubevirt, binary, tmp_path)

    stage.wait_gone("db")
    wait_until(lambda: failure(stage) == "", 60, "KubeVirt has a revision")
    name = stage.client.get(VMS, stage.namespace, "db")["status"]["instancetypeRef"]["controllerRevisionRef"]["name"]
    copied = stage.client.get(CONTROLLER_REVISIONS, stage.namespace, name)
    assert name != values["REVISION"]
    assert copied["data"]["spec"]["memory"]["guest"] == "128Mi"
