"""An upgrade of KubeVirt: go, after acts, no, or not known; each row with the first release with which it breaks."""

from __future__ import annotations

from typing import Any

import pytest

from exporter.checks import all_checks
from exporter.cli.commands.upgrade import upgraded
from exporter.domain.features.gates import NEWEST
from exporter.engine.evaluate import at_once
from exporter.questions import impact
from exporter.questions.asked import ImpactQuery, UpgradeQuery
from exporter.questions.impact import READER
from exporter.questions.question import UnaskableError
from exporter.questions.upgrade import QUESTION, Upgrade, exit_code, headline
from exporter.store.source import SyncState

from ....all_of import each_of
from ....drain_rows import Row
from ....evaluation import Evaluation
from ....one_vm import running
from ....rows import full

_KUBEVIRT = {"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt", "version": "v1.7.4"}
# Whose feature gate 1.8 discontinues.
_SHARES: Row = {
    "kind": "VirtualMachine",
    "name": "db",
    "uid": "u1",
    "networks": {},
    "domain": {"devices": {"filesystems": [{"name": "fs", "virtiofs": {}}]}},
    "template": {"volumes": [{"name": "fs", "persistentVolumeClaim": {"claimName": "c"}}]},
}
_OLD_GATE = {"gates": ["ExperimentalVirtiofsSupport"]}


class Stage(Evaluation):
    def __init__(self, *rows: Row, kubevirt: Row | None = None, unseen: tuple[str, ...] = ()) -> None:
        super().__init__(all_checks(), indexes=READER.indexes)
        for row in (_KUBEVIRT | (kubevirt or {}), *rows):
            self.seen(full(row))
        for each in unseen:
            self.sync_state(each, SyncState.MISSING)
        self.evaluate()

    def take(self, to: str = "") -> Upgrade:
        return at_once(QUESTION.steps(self.engine, None, UpgradeQuery(to)))

    def impact(self, to: str) -> Any:
        return at_once(impact.QUESTION.steps(self.engine, None, ImpactQuery(upgrade_to=(to,))))


def test_nothing_speaks_against_it() -> None:
    found = Stage(*running()).take()
    assert (found.verdict, found.now, found.to) == ("go", "v1.7.4", "v1.8.0")
    assert (found.acts, found.obstacles, found.unstored, exit_code(found)) == ((), (), 0, 0)
    assert headline(found) == "Go: nothing speaks against the upgrade of KubeVirt from v1.7.4 to v1.8.0."


def test_each_release_on_the_way_is_a_step_and_a_row_has_the_first_that_breaks_it() -> None:
    stage = Stage(_SHARES | {"runStrategy": "Always"}, kubevirt=_OLD_GATE)
    found = stage.take("1.9")
    assert [each.release for each in found.steps] == ["v1.8.0", "v1.9.0"]
    (row,) = found.rows
    assert (row.release, row.outcome, row.subject.name, row.feature) == ("v1.8.0", "breaks", "db", "virtiofs_storage")
    (act,) = found.acts
    assert (act.release, act.objects, act.next) == ("v1.8.0", 1, row.next)
    assert (found.verdict, exit_code(found)) == ("after", 1)
    assert [each.breaks for each in found.steps] == [1, 0]
    assert headline(found) == "Go after 1 act: the upgrade of KubeVirt from v1.7.4 to v1.9.0, by v1.8.0 and v1.9.0."
    text = upgraded(found, 100)
    assert "  1. Before v1.8.0, for 1 VM (ns/db): " in text
    assert "v1.8.0: 1 object breaks." in text


def test_what_breaks_by_one_step_is_what_the_preview_of_that_change_says() -> None:
    for to in ("1.8", "1.9"):
        stage = Stage(_SHARES | {"runStrategy": "Halted"}, *running(), kubevirt=_OLD_GATE)
        said = {
            (each.finding.reason, each.finding.subject)
            for each in stage.impact(to).findings
            if each.outcome in ("breaks", "worse") and each.change != "goes"
        }
        assert said <= {(each.reason, each.subject) for each in stage.take(to).rows}
        assert said


def test_a_patch_and_the_newest_release() -> None:
    assert [each.release for each in Stage().take("v1.7.5").steps] == ["v1.7.5"]
    newest = ".".join(map(str, NEWEST))
    assert Stage(kubevirt={"version": f"v{newest}.0"}).take(newest).verdict == "go"


@each_of(
    ("to", "kubevirt", "said"),
    [
        ("1.6", {}, "KubeVirt v1.7.4 is running, and KubeVirt can't be downgraded to v1.6.0"),
        ("latest", {}, "'latest' is no version of an upstream release; write it as 1.9 or v1.9.0"),
        ("9.9", {}, "the feature gates of v9.9.0 are not known"),
        ("", {"version": f"v{NEWEST[0]}.{NEWEST[1]}.0"}, "is of the newest release that is known"),
        ("1.9", {"version": "v0.0.0-custom"}, "not known"),
    ],
)
def test_what_can_not_be_asked(to: str, kubevirt: Row, said: str) -> None:
    with pytest.raises(UnaskableError) as refused:
        Stage(kubevirt=kubevirt).take(to)
    assert said in str(refused.value)


def test_a_kubevirt_that_is_not_well_is_not_upgraded() -> None:
    broken = {"conditions": [{"type": "Available", "status": "False", "reason": "DeploymentInProgress"}]}
    found = Stage(*running(), kubevirt={"over": {"status": broken}}).take()
    assert (found.verdict, exit_code(found)) == ("no", 1)
    assert "KubeVirtUnavailable" in {each.reason for each in found.obstacles}
    assert headline(found).startswith("No: do not begin the upgrade")
    moving = Stage(*running(), kubevirt={"target": "v1.8.0"}).take()
    assert "An upgrade of KubeVirt to v1.8.0 is under way." in {each.message for each in moving.obstacles}
    assert moving.verdict == "no"


def test_what_becomes_of_the_vms_that_run() -> None:
    rows = [*running("a"), *running("b", migratable=False), *running("c")]
    for methods, counts in (([], (0, 0, 3)), (["LiveMigrate"], (2, 0, 1)), (["LiveMigrate", "Evict"], (2, 1, 0))):
        update = {"over": {"spec": {"workloadUpdateStrategy": {"workloadUpdateMethods": methods}}}}
        of = Stage(*rows, kubevirt=update).take().workloads
        assert (of.migrates, of.evicts, of.stays) == counts, methods
        assert set(of.methods) == set(methods)


def test_a_vmi_that_should_not_be_migrated_is_named_and_not_counted_as_migrated() -> None:
    rows = [*running("a"), *running("c", networks={"blue": "ns/gone"})]
    rows[3] |= {"networks": {"blue": "ns/gone"}}
    update = {"over": {"spec": {"workloadUpdateStrategy": {"workloadUpdateMethods": ["LiveMigrate"]}}}}
    stage = Stage(*rows, kubevirt=update)
    stage.take()
    stage.now += 3600
    found = stage.take()
    assert (found.workloads.migrates, found.workloads.stays, found.workloads.held) == (1, 0, 1)
    assert [each.subject.name for each in found.workloads.held_first] == ["c"]
    assert f"should not be migrated: {found.workloads.held_first[0]}." in upgraded(found, None)
    assert "first see the 1 VMI that KubeVirt would migrate and should not" in headline(found)


def test_what_is_not_known_is_no_go() -> None:
    blind = Stage(*running(), unseen=("VirtualMachine", "VirtualMachineInstance")).take()
    assert (blind.verdict, blind.workloads.migrates, blind.unstored, exit_code(blind)) == ("unknown", None, None, 2)
    assert headline(blind).startswith("It is not known whether something speaks against")
    unstored = [{**running()[0], "uuid": None}]
    assert Stage(*unstored).take().unstored == 1
