"""What is made of what sources hand in: lists, objects that can't be read, and how well a kind is seen."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from exporter.kube.watch.listing import Decoder
from exporter.store.decode import by_name
from exporter.store.kinds.ipam_claim import IPAMClaim
from exporter.store.source import FILE, Source, SyncState, Undecodable
from tests.evaluation import NOW, Evaluation
from tests.rows import full
from tests.watch_lines import claim


def seen(evaluation: Evaluation, *things: dict[str, Any]) -> list[Any]:
    decoder = Decoder(evaluation.kinds["IPAMClaim"])
    return [decoder.object(json.dumps(thing).encode()) for thing in things]


def odd(name: str, version: int = 1) -> dict[str, Any]:
    return claim(name, version, undecodable=True)


def held(evaluation: Evaluation) -> dict[str, int]:
    return {each.name: each.rv for each in evaluation.engine.cluster.all(IPAMClaim)}


def unreadable(evaluation: Evaluation) -> set[str]:
    return {each.object_name for each in evaluation.engine.cluster.all(Undecodable)}


async def swap(evaluation: Evaluation, *things: dict[str, Any]) -> None:
    await evaluation.intake.swap(evaluation.kinds["IPAMClaim"], by_name(seen(evaluation, *things)))


async def swap_nodes(evaluation: Evaluation, count: int) -> None:
    decoder = Decoder(evaluation.kinds["Node"])
    rows = (full({"kind": "Node", "name": f"n{number}"}) for number in range(count))
    nodes = by_name(decoder.object(json.dumps(row).encode()) for row in rows)
    await evaluation.intake.swap(evaluation.kinds["Node"], nodes)


async def test_a_list_takes_the_place_of_what_was_held() -> None:
    evaluation = Evaluation(())
    await swap(evaluation, claim("a", 1), claim("b", 2), odd("c"), odd("d"))
    assert (set(held(evaluation)), unreadable(evaluation)) == ({"a", "b"}, {"c", "d"})
    await swap(evaluation, claim("b", 2), claim("c", 3), odd("e"))
    assert (set(held(evaluation)), unreadable(evaluation)) == ({"b", "c"}, {"e"})
    await swap(evaluation)
    assert (held(evaluation), unreadable(evaluation)) == ({}, set())


async def test_nothing_of_a_list_is_kept_but_what_was_made_of_it() -> None:
    evaluation = Evaluation(())
    listed = by_name(seen(evaluation, claim("a", 1), odd("b")))
    await evaluation.intake.swap(evaluation.kinds["IPAMClaim"], listed)
    assert sys.getsizeof(listed) == sys.getsizeof({})
    assert (set(held(evaluation)), unreadable(evaluation)) == ({"a"}, {"b"})


async def test_a_list_leaves_other_kinds_alone() -> None:
    evaluation = Evaluation(())
    vm = {"kind": "VirtualMachine", "name": "db"}
    evaluation.seen(full(vm))
    evaluation.seen(full({**vm, "name": "odd", "undecodable": True}))
    await swap(evaluation, claim("a", 1))
    assert evaluation.engine.cluster.count(evaluation.kinds["VirtualMachine"].record) == 1
    assert unreadable(evaluation) == {"odd"}


async def test_of_two_sightings_in_one_list_the_later_one_counts() -> None:
    evaluation = Evaluation(())
    await swap(evaluation, claim("a", 9), claim("a", 4))
    assert held(evaluation) == {"a": 4}


async def test_a_list_is_the_truth_though_it_is_older_and_says_what_differs() -> None:
    evaluation = Evaluation(())
    await swap(evaluation, claim("a", 900), claim("b", 900))
    changes: list[Any] = []
    evaluation.engine.observe(changes.append)
    await swap(evaluation, claim("a", 7, network="red"), claim("b", 900))
    assert held(evaluation) == {"a": 7, "b": 900}
    assert {change.after.name for change in changes if change.after} == {"a"}


async def test_a_list_of_many_lets_others_have_their_turn_and_is_taken_in_as_one() -> None:
    evaluation = Evaluation(())
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            assert evaluation.engine.step() is False
            await asyncio.sleep(0)

    task = asyncio.create_task(others())
    await swap(evaluation, *(claim(f"c{number}", number + 1) for number in range(1200)))
    task.cancel()
    assert turns == 2
    assert len(held(evaluation)) == 1200


async def test_lists_of_two_kinds_at_once_share_no_turn() -> None:
    evaluation = Evaluation(())
    taken: list[str] = []
    evaluation.engine.observe(lambda change: taken.append(change.kind.__name__))
    turns: list[set[str]] = []

    async def others() -> None:
        while True:
            turns.append(set(taken))
            taken.clear()
            await asyncio.sleep(0)

    task = asyncio.create_task(others())
    await asyncio.gather(
        swap(evaluation, *(claim(f"c{number}", number + 1) for number in range(1200))), swap_nodes(evaluation, 1200)
    )
    task.cancel()
    assert {"IPAMClaim"} in turns
    assert {"Node"} in turns
    assert max(map(len, turns)) == 1


def test_an_object_that_can_not_be_read_keeps_its_last_readable_state() -> None:
    evaluation = Evaluation(())
    evaluation.seen(claim("a", 1))
    evaluation.seen(odd("a", 2))
    evaluation.now = NOW + 60
    evaluation.seen(odd("a", 3))
    (undecodable,) = evaluation.engine.cluster.all(Undecodable)
    assert (str(undecodable.ref), undecodable.first_seen) == ("IPAMClaim ns/a", NOW)
    assert 0 < len(undecodable.why) <= 256
    assert held(evaluation) == {"a": 1}
    evaluation.seen(claim("a", 4))
    assert (held(evaluation), unreadable(evaluation)) == ({"a": 4}, set())


def test_an_object_that_can_not_be_read_may_go() -> None:
    evaluation = Evaluation(())
    evaluation.seen(claim("a", 1))
    evaluation.seen(odd("a", 2))
    evaluation.gone("IPAMClaim", "ns", "a")
    assert (held(evaluation), unreadable(evaluation)) == ({}, set())


def test_an_object_of_which_nothing_is_kept_any_more_goes() -> None:
    evaluation = Evaluation(())
    record = evaluation.kinds["MutatingWebhookConfiguration"].record
    webhook = {"kind": "MutatingWebhookConfiguration", "name": "hooks", "webhook": "ipam-claims.k8s.cni.cncf.io"}
    evaluation.seen(full(webhook))
    assert evaluation.engine.cluster.count(record) == 1
    evaluation.seen(full({**webhook, "webhook": "other.example.org"}))
    assert evaluation.engine.cluster.count(record) == 0


def test_how_well_a_kind_is_seen_has_a_beginning_of_its_own() -> None:
    evaluation = Evaluation(())
    kind = evaluation.kinds["IPAMClaim"]

    def source() -> tuple[SyncState, str, float]:
        found = evaluation.engine.cluster.get(Source, "", "IPAMClaim")
        assert found is not None
        return found.sync_state, found.why, found.since

    evaluation.now = NOW + 1
    evaluation.intake.sync_state(kind, SyncState.STALE, "lost")
    assert source() == (SyncState.STALE, "lost", NOW + 1)
    evaluation.now = NOW + 2
    evaluation.intake.sync_state(kind, SyncState.STALE, "refused")
    assert source() == (SyncState.STALE, "refused", NOW + 1)
    evaluation.now = NOW + 3
    evaluation.intake.sync_state(kind, SyncState.LIVE)
    assert source() == (SyncState.LIVE, "", NOW + 3)


def test_a_file_that_can_not_be_read_is_reported_by_its_name() -> None:
    evaluation = Evaluation(())
    evaluation.intake.unread("dump.yaml", "x" * 300)
    (undecodable,) = evaluation.engine.cluster.all(Undecodable)
    assert (undecodable.kind, undecodable.object_name, undecodable.first_seen) == (FILE, "dump.yaml", NOW)
    assert undecodable.why == "x" * 256


def test_what_is_listed_because_it_may_not_be_watched_stays_seen() -> None:
    """The watch is refused again and again, on a slow cluster also before all is listed."""
    evaluation = Evaluation(())

    def current(*sync_states: SyncState) -> bool:
        for each in sync_states:
            evaluation.sync_state("IPAMClaim", each)
        source = evaluation.engine.cluster.get(Source, "", "IPAMClaim")
        return source is not None and source.current

    assert not current(SyncState.FORBIDDEN)
    assert current(SyncState.READ, SyncState.FORBIDDEN)
    assert not current(SyncState.FAILING)  # the next list
    assert not current(SyncState.FORBIDDEN)
    assert current(SyncState.READ)
