"""What a drain of each node alone would do is what the preview of that drain says, and the nodes are in order."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest

from demo.fleet.sample import sample_fleet
from exporter.checks import all_checks
from exporter.cli.commands.drain import maintained
from exporter.engine.evaluate import at_once
from exporter.questions.asked import DrainQuery, MaintenanceQuery
from exporter.questions.drain import QUESTION as DRAIN
from exporter.questions.drain import READER, STAYS
from exporter.questions.maintenance import QUESTION, VERDICTS, Maintenance, exit_code, progress
from exporter.questions.question import NotThereError, UnaskableError
from exporter.store.source import SyncState

from ....drain_rows import Row, migration, node
from ....evaluation import NOW, Evaluation
from ....one_vm import running
from ....rows import full


class Stage(Evaluation):
    def __init__(self, *rows: Row, unseen: tuple[str, ...] = ()) -> None:
        super().__init__(all_checks(), indexes=READER.indexes)
        self.seen(full({"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt"}))
        for row in rows:
            thing = row if "apiVersion" in row else full(row)
            if thing["kind"] in self.kinds:
                self.seen(thing)
        for each in unseen:
            self.sync_state(each, SyncState.MISSING)
        self.evaluate()

    def take(self, *nodes: str, **asked: Any) -> Maintenance:
        return at_once(QUESTION.steps(self.engine, None, MaintenanceQuery(nodes, **asked)))

    def bounded(self, **asked: Any) -> Maintenance:
        assert QUESTION.bounded is not None
        return at_once(QUESTION.bounded(self.engine, None, MaintenanceQuery(**asked)))


def verdicts(found: Maintenance) -> dict[str, str]:
    return {each.node: each.verdict for each in found.nodes}


@pytest.fixture(scope="module")
def fleet() -> Stage:
    return Stage(*sample_fleet(datetime.fromtimestamp(NOW, UTC)).objects)


def test_of_each_node_it_says_what_the_preview_of_its_drain_says(fleet: Stage) -> None:
    found = fleet.take()
    assert len(found.nodes) == 5
    assert {each.verdict for each in found.nodes} >= {"moves", "blocked"}
    for each in found.nodes:
        (alone,) = at_once(DRAIN.steps(fleet.engine, None, DrainQuery((each.node,)))).nodes
        assert each.vms == len(alone.vms) == sum(each.counts.values())
        stays = Counter(vm.state.value for vm in alone.vms if vm.state in STAYS)
        assert each.counts.get("blocked", 0) == stays["blocked"]
        assert each.counts.get("shut down", 0) == stays["shuts_down"]
        held = {(one.vm, one.reason, one.next) for one in each.held}
        assert held <= {(vm.vm, vm.reason, vm.next) for vm in alone.vms}
        assert set(each.owners) == {one.vm.namespace for one in each.held}
    assert found == fleet.bounded()


def test_the_nodes_are_in_the_order_in_which_they_can_go() -> None:
    stage = Stage(
        *(node(f"node0{n}") for n in range(1, 6)),
        *running("a", node="node01"),
        *running("b", node="node01"),
        *running("c", node="node02"),
        *running("d", node="node03", migratable=False),
        *running("e", node="node04", strategy="None"),
    )
    found = stage.take()
    assert list(verdicts(found).items()) == [
        ("node05", "empty"),
        ("node02", "moves"),
        ("node01", "moves"),
        ("node04", "shuts down"),
        ("node03", "blocked"),
    ]
    assert list(VERDICTS) == ["empty", "moves", "shuts down", "unknown", "blocked"]
    assert exit_code(found) == 1
    assert exit_code(stage.take("node01", "node02")) == 0
    text = maintained(found, 120)
    assert "1 without a VM, 2 from which all VMs move, 1 of which VMs are shut down, 1 that can't be drained." in text
    assert "node03, of ns:" in text


def test_progress_of_a_drain_that_is_under_way() -> None:
    stage = Stage(
        node("node01", cordoned=True),
        node("node02"),
        *running("a", evacuation="node01"),
        *running("b", evacuation="node01"),
        *running("c"),
        migration("m", "a", "Running"),
        migration("gone", "z", "Succeeded"),
    )
    (first,) = [each for each in stage.take().nodes if each.node == "node01"]
    assert (first.counts["moving"], first.asked, first.moved) == (1, 2, 1)
    assert progress(first) == "1 moved, 1 moving, 1 asked"


def test_pages_leave_none_out() -> None:
    stage = Stage(*(node(f"node{n:03}") for n in range(130)))
    assert (len(stage.bounded().nodes), stage.bounded().in_all) == (25, 130)
    assert len(stage.bounded(limit="1000").nodes) == 100
    pages = [stage.bounded(limit="50", page=str(page)) for page in (1, 2, 3)]
    assert [len(each.nodes) for each in pages] == [50, 50, 30]
    assert len({each.node for page in pages for each in page.nodes}) == 130
    assert len(stage.take().nodes) == 130


def test_what_can_not_be_seen_or_asked() -> None:
    blind = Stage(node("node01"), unseen=("Node",)).take()
    assert (blind.nodes, [each.kind for each in blind.unseen], exit_code(blind)) == ((), ["Node"], 2)
    stage = Stage(node("node01"))
    with pytest.raises(NotThereError, match=r"no node is called 'node1'; did you mean node01\?"):
        stage.take("node1")
    with pytest.raises(UnaskableError, match="limit is a whole number from 1 on"):
        stage.take(limit="none")
