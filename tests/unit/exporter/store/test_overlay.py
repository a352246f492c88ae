"""A changed cluster, of which there is no copy: it answers as one that was built with the change."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from demo.fleet.sample import sample_fleet
from exporter.checks import all_checks
from exporter.engine.affected import affected, everything
from exporter.engine.evaluate import evaluate
from exporter.facts.record import Record
from exporter.kube.watch.listing import Decoder
from exporter.store.cluster import Cluster
from exporter.store.index import ByName, Index
from exporter.store.overlay import Edit, Overlay
from tests.amounts import drawn, examples, rounds
from tests.engine_rows import START, comparable, rows
from tests.evaluation import NOW, Evaluation, api_kinds
from tests.impacts import sized
from tests.rows import full

CHECKS = tuple(check for check in all_checks() if check.id not in ("sources", "firmware_across_clusters"))
DECODERS = {name: Decoder(kind) for name, kind in api_kinds().items()}
Object = dict[str, Any]
Key = tuple[str, str, str]
HIDDEN = "an unreadable object"


def key_of(thing: Object) -> Key:
    return thing["kind"], thing["metadata"].get("namespace", ""), thing["metadata"]["name"]


def record_of(thing: Object) -> Record | None:
    return DECODERS[thing["kind"]].object(json.dumps(thing).encode()).record


def cluster_with(things: Iterable[Object]) -> Cluster:
    evaluation = Evaluation(all_checks())
    for thing in things:
        evaluation.seen(thing)
    return evaluation.engine.cluster


def edit(objects: dict[Key, Object], key: Key, after: Object | None) -> Edit:
    """Makes the same change in the objects."""
    before = objects.pop(key, None)
    if after is not None:
        objects[key] = after
    there, other = (record_of(thing) if thing is not None else None for thing in (before, after))
    if other is not None:
        return Edit.put(other)
    return Edit.removed(there) if there is not None else Edit(api_kinds()[key[0]].record, key[1], key[2])


def partitions(*clusters: Cluster) -> Iterator[tuple[Any, str]]:
    for check in CHECKS:
        found = {each for cluster in clusters for each in everything(check, cluster)}
        found |= {each for cluster in clusters for index in check.scope.indexes for each in cluster.keys(index)}
        yield from ((check, partition) for partition in sorted(found))


def answers(cluster: Cluster, *others: Cluster) -> dict[tuple[str, str], Any]:
    """Of every partition that the cluster has, and of those that the others have."""
    found = {}
    for check, partition in partitions(cluster, *others):
        answer = evaluate(check, cluster, partition)
        assert answer.error is None
        unknown = HIDDEN if answer.hidden_by is not None else answer.unknown
        found[check.id, partition] = comparable(answer.findings), unknown, answer.not_applicable
    return found


def holds(objects: dict[Key, Object], edits: Iterable[tuple[Key, Object | None]]) -> None:
    below = cluster_with(objects.values())
    before = answers(below)
    overlay, concerned = Overlay(below), set()
    for key, after in edits:
        change = overlay.apply(edit(objects, key, after))
        for check in CHECKS:
            if change is not None and change.kind in check.reach and check.concerned_by(change):
                concerned |= {(check.id, partition) for partition in affected(check, overlay, change)}
    rebuilt = cluster_with(reversed(objects.values()))

    after_all = answers(rebuilt, below)
    assert answers(overlay, below) == after_all
    assert {kind: overlay.count(kind) for kind in below.kinds()} == {k: rebuilt.count(k) for k in below.kinds()}
    assert {kind: overlay.has(kind) for kind in below.kinds()} == {kind: rebuilt.has(kind) for kind in below.kinds()}
    assert answers(below) == before
    there = answers(below, rebuilt)
    changed = {key for key in after_all if there[key] != after_all[key]}
    # No edit makes or ends an unreadable object, which is said of its namespace: of what is not there it is said too.
    assert {key for key in changed if (there[key][1] == HIDDEN) == (after_all[key][1] == HIDDEN)} <= concerned


def readable(row: dict[str, Any]) -> Object:
    return full(row | {"undecodable": False})


@st.composite
def changed_fleets(draw: st.DrawFn) -> tuple[dict[Key, Object], list[tuple[Key, Object | None]]]:
    objects = {key_of(thing): thing for thing in map(full, (*START, *draw(st.lists(rows(), max_size=6))))}
    edits: list[tuple[Key, Object | None]] = [
        (key, None) for key in draw(st.lists(st.sampled_from(sorted(objects)), max_size=3, unique=True))
    ]
    edits += [(key_of(thing), thing) for thing in map(readable, draw(st.lists(rows(), min_size=1, max_size=4)))]
    return objects, [(key, thing) for key, thing in edits if key not in objects or record_of(objects[key])]


@pytest.mark.long
@examples(0.4)
@given(changed_fleets())
def test_a_changed_fleet_answers_as_one_that_was_built_so(
    fleet: tuple[dict[Key, Object], list[tuple[Key, Object | None]]],
) -> None:
    holds(*fleet)


@drawn
@pytest.mark.parametrize("seed", range(rounds(2, 6)))
def test_objects_taken_out_of_the_sample_fleet(seed: int) -> None:
    fleet = sample_fleet(datetime.fromtimestamp(NOW, UTC)).objects
    objects = {key_of(thing): thing for thing in fleet if thing["kind"] in DECODERS}
    gone = random.Random(seed).sample(sorted(key for key, thing in objects.items() if record_of(thing)), 12)
    holds(objects, [(key, None) for key in gone])


@drawn
@pytest.mark.parametrize("seed", range(rounds(3, 12)))
def test_instancetypes_revisions_and_their_vms_taken_out_and_put_in(seed: int) -> None:
    dice = random.Random(seed)
    objects, others = ({key_of(thing): thing for thing in map(full, sized(dice))} for _ in range(2))
    edits: list[tuple[Key, Object | None]] = [(key, None) for key in dice.sample(sorted(objects), 4)]
    edits += [(key, others[key]) for key in dice.sample(sorted(others), 6)]
    holds(objects, edits)


# -- indexes that are read through others


class Leaf(Record, frozen=True, gc=False):
    word: str


class Branch(Record, frozen=True, gc=False):
    leaf: str


class Root(Record, frozen=True, gc=False):
    branch: str


def _branch(record: Record, _: ByName) -> Iterable[str]:
    return (f"ns/{record.branch}",) if isinstance(record, Root) else ()


def _leaf(record: Record, lookup: ByName) -> Iterable[str]:
    for key in _branch(record, lookup):
        branch = lookup(Branch, *key.split("/"))
        yield f"ns/{branch.leaf}" if isinstance(branch, Branch) else "ns/none"


def _word(record: Record, lookup: ByName) -> Iterable[str]:
    """One word for a leaf, and for the root that is two hops away from it."""
    for key in (f"ns/{record.name}",) if isinstance(record, Leaf) else _leaf(record, lookup):
        leaf = lookup(Leaf, *key.split("/"))
        yield leaf.word if isinstance(leaf, Leaf) else "none"


BRANCH = Index("branch", _branch)
LEAF = Index("leaf", _leaf, through=((Branch, BRANCH),))
WORD = Index("word", _word, through=((Branch, BRANCH), (Leaf, LEAF)))
LISTENED = Index("listened", _word, through=((Branch, BRANCH), (Leaf, LEAF)), dependents=(Root,))
INDEXES = (WORD, LISTENED, LEAF)


def planted(records: Iterable[Record]) -> Cluster:
    cluster = Cluster(INDEXES)
    for record in records:
        cluster.put(record)
    return cluster


def under(cluster: Cluster) -> dict[str, Any]:
    """All that stands under each key."""
    found: dict[str, Any] = {}
    for index in (*INDEXES, BRANCH):
        for key in {*cluster.keys(index), "ns/none", "none", *WORDS}:
            members, listeners = set(cluster.sharing(index, key)), set(cluster.dependents(index, key))
            first, size = cluster.first(index, key), cluster.shared_by(index, key)
            assert (first in members) if members else first is None
            assert size == len(members)
            for most in (1, 2, 20):
                some = cluster.some(index, key, most)
                assert len(some) == len({*some} & members) == min(most, size)
            if members or listeners:
                found[f"{index.id} {key}"] = members, listeners
        assert set(cluster.keys(index)) == {key for key in cluster.keys(index) if cluster.shared_by(index, key)}
    return found


WORDS = ("red", "green", "blue")


def plant(dice: random.Random) -> Record:
    name, to = str(dice.randrange(5)), str(dice.randrange(5))
    if dice.random() < 0.2:
        return Leaf("ns", name, "", 0, dice.choice(WORDS))
    # Of the roots there are more than a small bucket holds.
    return Branch("ns", name, "", 0, to) if dice.random() < 0.3 else Root("ns", f"{name}{to}", "", 0, name)


@drawn
@pytest.mark.parametrize("seed", range(rounds(4, 20)))
def test_what_is_read_through_a_changed_record_moves_with_it(seed: int) -> None:
    dice = random.Random(seed)
    records = {(type(each), each.name): each for each in (plant(dice) for _ in range(80))}
    below = planted(records.values())
    before, version = under(below), below.version
    overlay = Overlay(below)
    for _ in range(6):
        after = plant(dice)
        key = type(after), after.name
        if dice.random() < 0.5 and key in records:
            overlay.apply(Edit.removed(records.pop(key)))
        else:
            overlay.apply(Edit.put(after))
            records[key] = after

    rebuilt = planted(records.values())
    assert under(overlay) == under(rebuilt)
    for kind in (Root, Branch, Leaf):
        assert set(overlay.all(kind)) == set(rebuilt.all(kind)) == set(overlay.within(kind, "ns"))
        assert overlay.count(kind) == rebuilt.count(kind)
        assert overlay.has(kind) == rebuilt.has(kind)
    assert (under(below), below.version) == (before, version)


def test_an_edit_that_changes_no_fact_touches_nothing_whatever_its_version() -> None:
    below = planted([Leaf("ns", "0", "u", 7, "red")])
    overlay = Overlay(below)
    assert overlay.apply(Edit.put(Leaf("ns", "0", "u", 9, "red"))) is None
    assert overlay.apply(Edit(Leaf, "ns", "1")) is None
    (kept,) = below.all(Leaf)
    assert kept.rv == 7


def test_what_follows_from_the_records_under_a_key_is_made_again_only_where_they_changed() -> None:
    below = planted(Leaf("ns", str(at), "", 0, word) for at, word in enumerate(WORDS))
    overlay = Overlay(below)
    for word in WORDS:
        below.derived(WORD, word, partial(str, f"{word} below"))
    overlay.apply(Edit.put(Leaf("ns", "0", "", 0, "green")))
    assert [overlay.derived(WORD, word, lambda: "above") for word in WORDS] == ["above", "above", "blue below"]
    assert [below.derived(WORD, word, lambda: "again") for word in WORDS] == [f"{word} below" for word in WORDS]
