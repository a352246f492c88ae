"""The engine against an oracle: after every event its findings equal those of an evaluation from scratch."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from exporter.checks import all_checks
from exporter.counts.networks import AddressUsage, subnet_reports
from exporter.engine.affected import everything
from exporter.engine.engine import Engine
from exporter.findings.check import Check
from exporter.findings.finding import Finding
from exporter.kube.watch.listing import Decoder
from exporter.metrics.exposition import Exposition
from exporter.questions.causes import reports
from exporter.store.decode import by_name
from exporter.store.source import Source, SyncState
from tests.amounts import examples, rounds
from tests.cause_counts import from_scratch, said
from tests.engine_rows import KINDS, START, comparable, rows
from tests.evaluation import Evaluation
from tests.rows import full


def blind(engine: Engine, holes: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """(check, partition) of what is evaluated by a namespace that the check can't see whole; `holes` are such pairs."""
    return {
        (check.id, partition)
        for check in engine.checks
        for partition in {*everything(check, engine.cluster), *_extra_keys(check, engine)}
        if any((check.id, namespace) in holes for namespace in check.namespaces(partition, engine.cluster))
    } | {
        # Its last object is gone, and what it was last found for stays open until its namespace can be seen.
        (finding.check, engine.partition_of(finding))
        for finding in engine.findings()
        if (finding.check, finding.subject.namespace) in holes
    }


def _extra_keys(check: Check, engine: Engine) -> Iterator[str]:
    """Partitions that may hold findings of what is gone, while who else counts there can't be seen."""
    for index in check.scope.indexes:
        yield from engine.cluster.keys(index)


def counted(usage: AddressUsage) -> dict[str, Any]:
    return {network: (tuple(subnet_reports(usage, network)), usage.outside(network)) for network in usage.networks()}


class Fleet(RuleBasedStateMachine):
    @initialize()
    def start(self) -> None:
        self.evaluation = Evaluation(all_checks())
        self.objects: dict[tuple[str, str, str], dict[str, Any]] = {}
        self.lost: set[str] = set()
        self.shown: dict[str, Finding] = {}
        self.exposition = Exposition(all_checks())
        self.evaluation.engine.listen(self._listen)
        self.usage = AddressUsage(self.evaluation.engine.cluster)
        self.evaluation.engine.observe(self.usage.changed)
        self.evaluation.engine.listen(self.exposition.update)
        self.version = 0
        self.history: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
        for row in START:
            self.change(row)

    def _listen(self, gone: Any, come: Any) -> None:
        for finding in gone:
            assert self.shown.pop(finding.fingerprint) == finding
        for finding in come:
            assert finding.fingerprint not in self.shown
            self.shown[finding.fingerprint] = finding

    def _versioned(self, row: dict[str, Any]) -> dict[str, Any]:
        self.version += 1
        thing = full(row)
        thing["metadata"]["resourceVersion"] = str(self.version)
        return thing

    @rule(row=rows())
    def change(self, row: dict[str, Any]) -> None:
        thing = self._versioned(row)
        key = row["kind"], row["namespace"], row["name"]
        self.objects[key] = thing
        self.history.setdefault(key, []).append(thing)
        if row["kind"] not in self.lost:
            self.evaluation.seen(thing)

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        if not self.objects:
            return
        key = data.draw(st.sampled_from(sorted(self.objects)))
        del self.objects[key]
        if key[0] not in self.lost:
            self.evaluation.gone(*key)

    @rule(data=st.data())
    def repeat_an_old_event(self, data: st.DataObject) -> None:
        """An earlier state of an object that is still the same one, by its uid, and that was readable."""
        key = data.draw(st.sampled_from(sorted(self.objects))) if self.objects else None
        if key is None or key[0] in self.lost:
            return
        now = self.objects[key]["metadata"]
        earlier = [
            thing
            for thing in self.history[key]
            if thing["metadata"]["uid"] == now["uid"] and "not" not in str(thing["metadata"]["creationTimestamp"])
        ]
        if earlier and "not" not in str(now["creationTimestamp"]) and self.held(key):
            self.evaluation.seen(data.draw(st.sampled_from(earlier)))

    def held(self, key: tuple[str, str, str]) -> bool:
        """Whether something is kept of the object: of what is not, no version is known either."""
        kind = self.evaluation.kinds[key[0]]
        return (
            self.evaluation.engine.cluster.get(kind.record, key[1] if key[0] != "Namespace" else key[2], key[2])
            is not None
        )

    @precondition(lambda self: not self.lost)
    @rule(
        kind=st.sampled_from(KINDS),
        sync_state=st.sampled_from((SyncState.BEHIND, SyncState.STALE, SyncState.FORBIDDEN, SyncState.ABSENT)),
    )
    def lose_a_kind(self, kind: str, sync_state: SyncState) -> None:
        self.lost.add(kind)
        self.evaluation.sync_state(kind, sync_state)

    @precondition(lambda self: self.lost)
    @rule()
    def come_back(self) -> None:
        self.list_again(next(iter(self.lost)))

    @rule(kind=st.sampled_from(KINDS))
    def list_again(self, kind: str) -> None:
        decoder = Decoder(self.evaluation.kinds[kind])
        seen = [decoder.object(json.dumps(o).encode()) for key, o in self.objects.items() if key[0] == kind]
        swap = self.evaluation.intake.swap(self.evaluation.kinds[kind], by_name(seen))
        with pytest.raises(StopIteration):
            swap.send(None)  # few objects: it never waits
        self.lost.discard(kind)
        self.evaluation.sync_state(kind, SyncState.LIVE)

    @invariant()
    def findings_equal_an_evaluation_from_scratch(self) -> None:
        self.evaluation.evaluate()
        engine = self.evaluation.engine
        fresh = Evaluation(all_checks())
        for kind in sorted(self.lost):
            fresh.sync_state(kind, engine.cluster.get(Source, "", kind).sync_state)  # type: ignore[union-attr]
        for thing in reversed(self.objects.values()):  # the order in which things came must not count
            fresh.seen(thing)
        fresh.evaluate()
        unknown = {(each.check, each.partition) for each in engine.unknowns()}

        assert comparable(engine.findings()) == comparable(self.shown.values())
        assert said(reports(engine.causes, engine.checks, None)) == from_scratch(engine.findings())
        holes = {(check, partition) for check, partition in unknown if partition}
        if not self.lost:
            assert unknown == {(each.check, each.partition) for each in fresh.engine.unknowns()}
        unseen = holes | blind(engine, holes) | blind(fresh.engine, holes)
        assert self.of(engine, unseen) == self.of(fresh.engine, unseen)

    def of(self, engine: Engine, unseen: set[tuple[str, str]]) -> list[tuple[Any, ...]]:
        """What is evaluated now: findings of blind checks and partitions are the last ones known."""
        seeing = {check.id for check in engine.checks if not self.lost & {kind.name for kind in check.reads}}
        return comparable(
            f
            for f in engine.findings()
            if f.check in seeing and f.evidence.get("kind") not in self.lost
            if (f.check, engine.partition_of(f)) not in unseen
        )

    @invariant()
    def uses_equal_a_count_from_scratch(self) -> None:
        fresh = AddressUsage.over(self.evaluation.engine.cluster)
        list(fresh.settle())
        list(self.usage.settle())
        assert counted(self.usage) == counted(fresh)

    @invariant()
    def counts_equal_what_is_open(self) -> None:
        self.evaluation.evaluate()
        for (check, reason, severity), count in self.exposition.counts.items():
            open_now = [f for f in self.shown.values() if (f.check, f.reason, f.severity) == (check, reason, severity)]
            assert count == len(open_now)


Fleet.TestCase.settings = examples(
    0.4,
    stateful_step_count=rounds(12, 30),
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink),
)
TestFleet = Fleet.TestCase
