"""The commands of runbooks that only KubeVirt itself can carry out or answer, run to the letter."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from http.client import CONFLICT
from pathlib import Path

import pytest

from tests.cluster.client import ApiError
from tests.cluster.conftest import Tools
from tests.cluster.resources import CONTROLLER_REVISIONS, INSTANCETYPES, VMS
from tests.kubevirt.control_plane import ControlPlane
from tests.kubevirt.releases import EVACUATE_CANCEL, MISSING_SIZE_TAKEN, needs
from tests.kubevirt.shell import run, script
from tests.kubevirt.stage import Stage
from tests.manifests import Object
from tests.shared import REPO
from tests.waiting import wait_until

RUNBOOKS = REPO / "rules/runbooks"
CANCEL = "evacuate/cancel"
Follow = Callable[[str, str, Mapping[str, str]], None]


def blocks(words: str) -> list[tuple[Path, str]]:
    """The code blocks of all runbooks with these words in them."""
    found = ((path, block) for path in sorted(RUNBOOKS.glob("*.md")) for block in code(path))
    return [(path, block) for path, block in found if words in block]


def code(path: Path) -> list[str]:
    return re.findall(r"^```sh.*?\n(.*?)^```", path.read_text(encoding="utf-8"), flags=re.S | re.M)


@needs(EVACUATE_CANCEL)
def test_a_request_is_cancelled_as_the_runbooks_say(
    kubevirt: ControlPlane, stage: Stage, binary: Tools, tmp_path: Path
) -> None:
    source = stage.running("db", eviction="External")["status"]["nodeName"]
    commands = blocks(CANCEL)
    assert len(commands) > 1
    for path, block in commands:
        stage.evict("db")
        assert stage.evacuation("db") == source, path.name
        assert run(f"NAMESPACE={stage.namespace} NAME=db\n{block}", kubevirt, binary, tmp_path) == 0, path.name
        assert stage.evacuation("db") == "", path.name


@needs(EVACUATE_CANCEL)
def test_a_request_for_another_node_is_not_cancelled(
    kubevirt: ControlPlane, stage: Stage, binary: Tools, tmp_path: Path
) -> None:
    source = stage.running("db", eviction="External")["status"]["nodeName"]
    stage.evict("db")
    _, block = blocks(CANCEL)[0]
    read, cancels = block.split("\n", 1)
    assert read.startswith("EVACUATIONNODENAME=$(")
    script = f"NAMESPACE={stage.namespace} NAME=db EVACUATIONNODENAME=control01\n{cancels}"
    assert run(script, kubevirt, binary, tmp_path) != 0
    assert stage.evacuation("db") == source


@pytest.mark.parametrize("path", sorted(RUNBOOKS.glob("VMEviction*.md")), ids=lambda path: path.stem)
def test_no_runbook_deletes_past_the_eviction_api(path: Path) -> None:
    for block in code(path):
        assert "--disable-eviction" not in block
        assert "dryRun=All" not in block


# -- instancetypes


MISSING, UNFIT = "VMInstancetypeMissing", "VMInstancetypeRevisionUnfit"
KIND = "VirtualMachineInstancetype"


@pytest.fixture
def follow(kubevirt: ControlPlane, binary: Tools, tmp_path: Path) -> Follow:
    """Runs the one block of a runbook with these words in it, with what it leaves to the reader filled in. What
    KubeVirt has written meanwhile is read again, as a person does who is refused.
    """

    def followed(runbook: str, words: str, values: Mapping[str, str]) -> None:
        def ran() -> bool:
            return run(script(runbook, words, values), kubevirt, binary, tmp_path) == 0

        wait_until(ran, 20, f"{runbook} can be followed: {words}")

    return followed


def small(stage: Stage) -> Object:
    spec = {"cpu": {"guest": 1}, "memory": {"guest": "64Mi"}}
    meta = {"namespace": stage.namespace, "name": "small"}
    return stage.client.create({"apiVersion": INSTANCETYPES.api_version, "kind": KIND, "metadata": meta, "spec": spec})


def sized(stage: Stage, name: str) -> str:
    """Creates a VM that runs with that instancetype; gives the name of its revision."""
    stage.client.create(
        {
            "apiVersion": VMS.api_version,
            "kind": "VirtualMachine",
            "metadata": {"namespace": stage.namespace, "name": name},
            "spec": {
                "runStrategy": "Always",
                "instancetype": {"kind": KIND, "name": "small"},
                "template": {"spec": {"domain": {"devices": {}}}},
            },
        }
    )
    stage.wait_running(name)
    return revision_of(stage, name)


def revision_of(stage: Stage, name: str) -> str:
    reference = stage.client.get(VMS, stage.namespace, name)["status"]["instancetypeRef"]
    return str(reference["controllerRevisionRef"]["name"])


def refers(stage: Stage, revision: str) -> bool:
    """Writes the revision into the status of db; false if KubeVirt has written there meanwhile."""
    vm = stage.client.get(VMS, stage.namespace, "db")
    vm["status"]["instancetypeRef"]["controllerRevisionRef"]["name"] = revision
    try:
        stage.client.update_status(vm)
    except ApiError as err:
        if err.code != CONFLICT:
            raise
        return False
    return True


def seen(stage: Stage, name: str) -> dict[str, str]:
    """What a person fills in; `name` is that of the alert."""
    unused = dict.fromkeys(("SOURCE", "SOURCENAMESPACE", "NEWNAME", "NEWKIND", "KUBEVIRTNAMESPACE"), "none")
    alert = {"NAMESPACE": stage.namespace, "NAME": name, "VMNAME": "db", "KIND": "VirtualMachine"}
    return unused | alert | {"GROUP": "instancetype", "REASON": "none"}


def without_its_revision(stage: Stage) -> str:
    """A VM that runs, whose revision was deleted, and that KubeVirt does not stop; the name of the revision."""
    small(stage)
    revision = sized(stage, "db")
    stage.client.delete(CONTROLLER_REVISIONS, stage.namespace, revision)
    stage.client.patch(VMS, stage.namespace, "db", {"spec": {"runStrategy": "Halted"}})
    wait_until(lambda: failure(stage) == "FailedFindInstancetype", 60, "KubeVirt misses the revision")
    assert stage.vmi("db") is not None
    return revision


def failure(stage: Stage) -> str:
    conditions = stage.client.get(VMS, stage.namespace, "db").get("status", {}).get("conditions", ())
    return next((each["reason"] for each in conditions if each["type"] == "Failure"), "")


@needs(MISSING_SIZE_TAKEN)
def test_a_vm_whose_revision_is_created_again_as_the_runbook_says_is_stopped(stage: Stage, follow: Follow) -> None:
    revision = without_its_revision(stage)
    follow(MISSING, "kind: ControllerRevision", seen(stage, "db"))
    follow(MISSING, "kubectl annotate", seen(stage, "db"))

    stage.wait_gone("db")
    wait_until(lambda: failure(stage) == "", 60, "KubeVirt finds the revision")
    assert revision_of(stage, "db") == revision


@needs(MISSING_SIZE_TAKEN)
def test_a_vm_whose_reference_is_removed_as_the_runbook_says_gets_another_revision_and_is_stopped(
    stage: Stage, follow: Follow
) -> None:
    revision = without_its_revision(stage)
    larger = {"spec": {"memory": {"guest": "128Mi"}}}
    stage.client.patch(INSTANCETYPES, stage.namespace, "small", larger)
    follow(MISSING, "--dry-run=server", seen(stage, "db"))
    assert failure(stage) == "FailedFindInstancetype"
    follow(MISSING, "--subresource=status --type=json", seen(stage, "db"))

    stage.wait_gone("db")
    wait_until(lambda: failure(stage) == "", 60, "KubeVirt has a revision")
    copied = stage.client.get(CONTROLLER_REVISIONS, stage.namespace, revision_of(stage, "db"))
    assert copied["metadata"]["name"] != revision
    assert copied["data"]["spec"]["memory"]["guest"] == "128Mi"


def test_a_vm_that_shares_a_revision_has_its_own_after_the_runbook_and_outlives_the_other(
    stage: Stage, follow: Follow
) -> None:
    small(stage)
    shared = sized(stage, "first")
    own = sized(stage, "db")
    wait_until(lambda: refers(stage, shared), 60, "its status refers to the other VM's revision")
    stage.client.delete(CONTROLLER_REVISIONS, stage.namespace, own)
    follow(UNFIT, "kind: ControllerRevision", seen(stage, shared))
    follow(UNFIT, '"op": "replace", "path": "/status/$REFERENCE', seen(stage, shared))

    stage.client.delete(VMS, stage.namespace, "first")
    wait_until(lambda: stage.client.find(VMS, stage.namespace, "first") is None, 60, "the other VM is gone")
    assert revision_of(stage, "db") == own
    stage.client.patch(VMS, stage.namespace, "db", {"spec": {"runStrategy": "Halted"}})
    stage.wait_gone("db")
    assert failure(stage) == ""
