"""The runbooks, followed to the letter: their commands against a real API server on which the fault is.

A mitigation counts as done when the check that found the fault finds it no more.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from exporter.checks import all_checks
from exporter.findings.advice import filled, values_of
from exporter.findings.finding import Finding
from exporter.store.source import Undecodable
from tests.cluster.aged_objects import CLUSTER_WIDE, KINDS, aged, objects
from tests.cluster.apiserver import ApiServer
from tests.cluster.client import Client
from tests.cluster.conftest import Tools
from tests.cluster.exporter import grant
from tests.cluster.resources import IPAM_CLAIMS
from tests.cluster.shell import Shell
from tests.cluster.stage import Stage, Story
from tests.cluster.stories import all_stories
from tests.cluster.walk import ABSENT, CHANGES, DEPRECATED, OPENED, Walk
from tests.evaluation import NOW, Evaluation
from tests.manifests import Object
from tests.rules import RULES, Block, blocks, plain, steps

pytestmark = pytest.mark.long

STORIES = all_stories()
OURS = "kubevirt.io/persistent-ipam"
ACROSS = "VMFirmwareUUIDDuplicateAcrossClusters"  # needs two of them: test_fleet.py follows it
RUNBOOKS = sorted(
    path for path in (RULES / "runbooks").glob("*.md") if not path.stem.startswith("Steward") and path.stem != ACROSS
)
BLOCKS = {runbook.stem: blocks(runbook, "sh") for runbook in RUNBOOKS}
STEPS = {runbook.stem: steps(runbook) for runbook in RUNBOOKS}
SORT = re.compile(r"\b(kubectl|steward|virtctl) ([a-z-]+)")  # what is done, whatever its object is
BY_NAME = {str(resource): resource for resource in KINDS.values()}


THOROUGH = pytest.mark.skipif(
    os.environ.get("RUNBOOKS") != "all",
    reason="takes minutes: `make test-runbooks` follows every reason, `make test-long` one for each sort of command",
)


OF_THE_STAGE = {"NodeLost"}
"""Reasons that no story has by the way: its nodes report what those of a cluster do."""
WHERE = "a module of tests/cluster/stories, which may be a new one, has a Story of it in its STORIES"


class Kubectl:
    """Runs a block of a runbook, with the placeholders filled in."""

    def __init__(self, binary: Tools, server: ApiServer, namespace: str, folder: Path) -> None:
        path = f"{binary('kubectl').parent}:{os.environ['PATH']}"
        self._env = {**os.environ, "PATH": path, "KUBECONFIG": str(server.kubeconfig("admin"))}
        self.folder = folder
        self.values = {"NAMESPACE": namespace, "NAME": "db.blue", "VMNAME": "db", "ADDRESS": "10.0.0.5"}
        self.values |= {"LAUNCHERPOD": "virt-launcher-db", "KIND": "VirtualMachine"}
        self.values |= {"KUBEVIRTNAMESPACE": namespace, "KUBEVIRTNAME": "kubevirt"}
        self.values |= {"CORDONEDNODE": "none"}
        self.values |= {"ADDRESSES": '"10.0.0.9/24"', "OWNERUID": "new", "OLDUID": "old"}

    def __call__(self, block: str, **values: str) -> subprocess.CompletedProcess[str]:
        script = self.filled(block, **values)
        return subprocess.run(
            ["bash", "-c", script], env=self._env, cwd=self.folder, capture_output=True, text=True, check=False
        )

    def filled(self, text: str, **values: str) -> str:
        known = {**self.values, **values}
        return re.sub(r"\b[A-Z]{3,}\b", lambda found: known.get(found[0], found[0]), text)


@pytest.fixture
def kubectl(binary: Tools, api_server: ApiServer, namespace: str, tmp_path: Path) -> Kubectl:
    return Kubectl(binary, api_server, namespace, tmp_path)


@pytest.fixture
def shell(binary: Tools, api_server: ApiServer, namespace: str, tmp_path: Path) -> Shell:
    grant(api_server.client())
    exporter = str(api_server.kubeconfig("steward-exporter"))
    in_pod = [sys.executable, "-m", "tests.cluster.in_pod", exporter, namespace]
    return Shell(binary("kubectl"), api_server, in_pod, tmp_path)


@pytest.fixture
def stage(client: Client, namespace: str) -> Iterator[Stage]:
    made = Stage(client, namespace)
    yield made
    made.clear()


PATCHED = re.compile(r"kubectl patch ((?:virtual|kubevirt|controllerrevision)\S+) -n \w*NAMESPACE ([A-Z]+)")


def just_read(client: Client, kubectl: Kubectl, block: str = "") -> dict[str, str]:
    """What a person has in front of them after reading what the block writes: the IPAMClaim, if it does not say."""
    namespace, written = kubectl.values["NAMESPACE"], PATCHED.search(block)
    if written:
        found = client.get(BY_NAME[written[1]], namespace, kubectl.values[written[2]])
        return {"UID": found["metadata"]["uid"], "RESOURCEVERSION": found["metadata"]["resourceVersion"]}
    claim = client.find(IPAM_CLAIMS, namespace, "db.blue")
    if claim is None:
        return {}
    meta, finalizers = claim["metadata"], claim["metadata"].get("finalizers", [])
    index = finalizers.index(OURS) if OURS in finalizers else 0
    return {"UID": meta["uid"], "RESOURCEVERSION": meta["resourceVersion"], "INDEX": str(index)}


# -- every runbook is followed


def followed() -> Iterator[Any]:
    """A story of each runbook that has a sort of command that none before has; all of them where that is asked for."""
    seen: set[tuple[str, ...]] = set()
    for story in STORIES:
        sorts = {found for text, _ in BLOCKS[story.alert] for found in SORT.findall(text)}
        marks = () if sorts - seen else (THOROUGH,)
        seen |= sorts
        yield pytest.param(story, id=story.id, marks=marks)


@pytest.mark.parametrize("story", list(followed()))
def test_a_runbook_s_blocks_end_the_fault_as_they_are_written(
    story: Story, stage: Stage, kubectl: Kubectl, shell: Shell, client: Client, namespace: str
) -> None:
    kubectl.values |= {"NETWORK": stage.network, **(story.seed(stage) or {}), **story.values}
    there = findings(client, namespace)
    assert {finding.reason for finding in there} & OF_THE_STAGE <= {story.reason}
    of = [finding for finding in there if finding.reason == story.reason]
    seen = next((finding for finding in of if finding.subject.name == kubectl.values["NAME"]), of[0])
    kubectl.values |= {**labels(seen), **story.values}
    for name, obj in story.files(stage).items():
        write(shell.folder / name, obj)
    walk = Walk(STEPS[story.alert], shell, kubectl.values)

    walk.diagnose()
    assert not walk.verified()
    if story.stops:
        stage.stop()
    ran = []
    for act in story.acts:
        ran.append(walk.act(act))
        if act.startswith("> "):
            saved = shell.expanded(kubectl.filled(act[2:]))
            edit(shell.folder / saved, *map(kubectl.filled, story.edits))

    if story.leaves:
        assert story.leaves(stage, kubectl.values)
    else:
        assert story.reason not in found(client, namespace)
    assert walk.verified() is (story.reason not in found(client, namespace))
    for command in dict.fromkeys(advice(story, [seen])):
        if not CHANGES.search(command):
            run = shell if command.startswith("steward ") else kubectl
            lines = run(command).stderr.splitlines()
            fine = (DEPRECATED, ABSENT, OPENED)
            assert [line for line in lines if not any(each.search(line) for each in fine)] == [], command
        elif not any(plain(command) in plain(block) for block in ran):
            done = kubectl(command, **just_read(client, kubectl, command))
            assert done.returncode == 0 or "(NotFound)" in done.stderr, done.stderr


def labels(finding: Finding) -> dict[str, str]:
    """The labels of its alert, by the words for them in capitals, and the object's owner."""
    named = {"NAMESPACE": finding.subject.namespace, "NAME": finding.subject.name, "KIND": finding.subject.kind}
    named |= {"VM": finding.vm, "VMNAME": finding.vm, "NODE": finding.node, "NETWORK": finding.network}
    named |= {"FEATURE": finding.feature, "GROUP": finding.group, "REASON": finding.reason}
    named |= {"STEWARD": "kubevirt-steward"}
    return {word: value for word, value in named.items() if value}


def advice(story: Story, of: list[Finding]) -> Iterator[str]:
    """The commands of the findings that the story's fault yields, but for those that nothing here can run."""
    for finding in of:
        if finding.reason == story.reason:
            untried = [plain(text) for text, untried in BLOCKS[story.alert] if untried]
            skipped = [filled(text, values_of(finding)) for text in untried]
            given = (each for each in finding.commands if not each.startswith("virtctl "))  # which is not here
            yield from (each for each in given if not any(plain(each) in text for text in skipped))


def write(path: Path, obj: Object) -> None:
    path.write_text(json.dumps(obj), encoding="utf-8")  # JSON is YAML


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def found(client: Client, namespace: str) -> set[str]:
    return {finding.reason for finding in findings(client, namespace)}


def findings(client: Client, namespace: str) -> list[Finding]:
    """What the checks find in the test's namespaces, with all that is there months old."""
    evaluation = Evaluation([check for check in all_checks() if check.id != "sources"])
    for kind, resource in KINDS.items():
        if kind in evaluation.kinds:
            for obj in objects(client, kind, resource, namespace):
                evaluation.seen(aged({**obj, "kind": kind}))
    evaluation.evaluate()
    evaluation.now += 86_400  # what says how long it lasted has by now
    evaluation.evaluate()
    return list(evaluation.engine.findings())


# -- nothing is left out


@pytest.mark.parametrize("runbook", RUNBOOKS, ids=lambda runbook: runbook.stem)
def test_each_change_that_a_runbook_makes_is_part_of_a_story(runbook: Path) -> None:
    acts = [act for story in STORIES if story.alert == runbook.stem for act in story.acts]
    changes = [text for text, untried in BLOCKS[runbook.stem] if CHANGES.search(text) and not untried]

    assert [text for text in changes if not any(plain(act) in plain(text) for act in acts)] == [], WHERE


def untried() -> Iterator[Any]:
    for stem, found in BLOCKS.items():
        for number, block in enumerate(found):
            if block.untried:
                yield pytest.param(block, id=f"{stem}-{number}", marks=pytest.mark.skip(reason=block.untried))


@pytest.mark.parametrize("block", list(untried()))
def test_a_command_that_nothing_here_can_run(block: Block) -> None:
    """Skipped, with the runbook's reason."""


# -- what the steward can't see


@pytest.mark.parametrize("kind", KINDS)
def test_an_undecodable_object_can_be_read(kind: str, kubectl: Kubectl, namespace: str) -> None:
    evaluation = Evaluation([check for check in all_checks() if check.id == "sources"])
    within = "" if kind in CLUSTER_WIDE else namespace
    evaluation.engine.put(
        Undecodable(
            within, f"{kind} none", "", 0, kind, "none", "Expected `object`", NOW, evaluation.kinds[kind].resource
        )
    )
    evaluation.evaluate()
    (finding,) = evaluation.engine.findings()

    assert ["(NotFound)" in kubectl(command).stderr for command in finding.commands] == [True]


def test_a_permission_that_is_refused_can_be_asked_for(kubectl: Kubectl) -> None:
    (check,) = (check for check in all_checks() if check.id == "sources")
    asks = [each for each in check.reasons["KindForbidden"].commands if "can-i" in each]
    values = {"RESOURCE": "ipamclaims.k8s.cni.cncf.io", "ACCOUNT": "system:serviceaccount:steward:steward-exporter"}

    assert [kubectl(filled(each, values)).stdout for each in asks] == ["no\n", "no\n"]
