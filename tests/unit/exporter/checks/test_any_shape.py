"""No check raises, whatever legal shape the objects of its cases take, and no object disturbs what is known of others.

Every field of every object of the cases, and every other one that is read of its kind, is nulled, dropped, doubled and
given values of other types, one at a time and several at once, and then put back. By default one object stands for all
that have the same field in the cases of a check, and gets one of the values of other types; `FUZZ=all` takes each
object of each case, and all values (`make fuzz`).
"""

from __future__ import annotations

import asyncio
import copy
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from zlib import crc32

import pytest

from demo.fleet.sample import sample_fleet
from exporter.checks import all_checks
from exporter.counts import all_states
from exporter.counts.base import Aggregates
from exporter.counts.networks import AddressUsage
from exporter.engine.evaluate import at_once
from exporter.findings.check import Check
from exporter.metrics.states import States
from exporter.questions import all_views, drain, findings, networks
from exporter.store.kinds.node import Node
from exporter.store.reader import Reader
from tests.check_cases import CHECKS, cases_of, evaluated
from tests.evaluation import NOW, Evaluation, api_kinds
from tests.rows import full
from tests.whole_objects import fields, filled

pytestmark = pytest.mark.long

Object = dict[str, Any]
Path = tuple[str | int, ...]
Known = dict[tuple[str, str, str, str], tuple[str, str]]
Blind = set[tuple[str, str]]

NAMES = {
    ("kind",),
    ("apiVersion",),
    ("metadata",),
    ("metadata", "name"),
    ("metadata", "namespace"),
}  # without them it is another object
OTHERS: tuple[Any, ...] = ({"any": 1}, [7], "any text", "[1, {}]", "", 7, -(2**70), 1e300, True)


KINDS = api_kinds()
AT_ONCE = 4
EVERY = os.environ.get("FUZZ") == "all"
ROUNDS = 30 if EVERY else 3  # for each object
PART = 9  # of the values of other types: one of them, another one for each form


@dataclass(frozen=True)
class Mutation:
    path: Path
    what: str  # nulled, dropped, doubled or another type
    value: Any = None

    def of(self, thing: Object) -> Object:
        changed: Any = copy.deepcopy(thing)
        holder: Any = changed
        for step in self.path[:-1]:
            holder = holder[step]
        last = self.path[-1]
        if self.what == "dropped":
            del holder[last]
        elif self.what == "doubled":
            holder[last] = [*holder[last], *copy.deepcopy(holder[last])]
        else:
            holder[last] = self.value
        whole: Object = changed
        return whole

    def __str__(self) -> str:
        value = f" {self.value!r}" if self.what == "another type" else ""
        return f"{'.'.join(str(step) for step in self.path)} {self.what}{value}"


def paths(value: Any, above: Path = ()) -> Iterator[tuple[Path, Any]]:
    steps: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        yield (*above, step), inner
        yield from paths(inner, (*above, step))


def mutations(thing: Object) -> Iterator[Mutation]:
    for path, value in paths(thing):
        if path in NAMES:
            continue
        yield Mutation(path, "nulled")
        yield Mutation(path, "dropped")
        if isinstance(value, list):
            yield Mutation(path, "doubled")
        for other in OTHERS if EVERY else OTHERS[crc32(repr(form(path)).encode()) % PART :: PART]:
            if type(other) is not type(value) or isinstance(value, str):
                yield Mutation(path, "another type", other)


def form(path: Path) -> Path:
    return tuple("*" if isinstance(step, int) else step for step in path)


def forms(path: Path) -> Iterator[Path]:
    """The same with `*` for elements of lists, and for keys of maps."""
    listed = form(path)
    yield listed
    yield from ((*listed[:at], "*", *listed[at + 1 :]) for at in range(1, len(listed)))


def known(evaluation: Evaluation) -> Known:
    """What is open, by object and reason."""
    evaluation.evaluate()
    return {
        (f.subject.kind, f.subject.namespace, f.subject.name, f.fingerprint): (f.reason, f.severity.value)
        for f in evaluation.engine.findings()
    }


def blind(evaluation: Evaluation) -> Blind:
    return {(each.partition, each.why) for each in evaluation.engine.unknowns()}


def of_others(found: Known, thing: Object) -> Known:
    meta = thing["metadata"]
    return {
        key: what for key, what in found.items() if key[:3] != (thing["kind"], meta.get("namespace", ""), meta["name"])
    }


def differing(evaluation: Evaluation, before: tuple[Known, Blind]) -> str:
    """How the answers differ from before once all is as it was; what is kept where there is no answer is left out."""
    after = answered(evaluation), blind(evaluation)
    if after != before:
        long_after(evaluation)  # what closed and was found again comes out of its grace
        after = answered(evaluation), blind(evaluation)
    return f"{sorted(after[0].items() ^ before[0].items())} {after[1] ^ before[1]}" if after != before else ""


def answered(evaluation: Evaluation) -> Known:
    """What is open, but for what is kept from earlier where there is no answer now."""
    open_now = known(evaluation)
    kept = {f.fingerprint for f in evaluation.engine.findings() if evaluation.engine.unknown_of(f)}
    return {key: what for key, what in open_now.items() if key[3] not in kept}


def long_after(evaluation: Evaluation) -> None:
    """All graces of what is found are over, so that what is open depends on nothing that was there before."""
    evaluation.evaluate()
    evaluation.now += 366 * 86400.0


def wrong(evaluation: Evaluation, thing: Object, todo: list[Mutation]) -> Iterator[str]:
    """What is wrong with the answers while the object takes each of the shapes in turn."""
    long_after(evaluation)
    first, before = known(evaluation), (answered(evaluation), blind(evaluation))
    check_of = {each.fingerprint: each.check for each in evaluation.engine.findings()}
    nulled: tuple[Known, Blind] | None = None
    for mutation in todo:
        evaluation.seen(mutation.of(thing))
        found, unknown = known(evaluation), blind(evaluation)
        yield from (f"{mutation}: {why}" for _, why in unknown if "raised" in why)
        if mutation.what == "nulled":
            nulled = found, unknown
        elif mutation.what == "dropped" and not free(mutation.path) and (found, unknown) != nulled:
            yield f"{mutation}: it is not as if nulled"
        elif unknown - before[1]:
            # Of checks without an answer: what KubeVirt's version has nothing to do with, another may say without it.
            silent = {each.check for each in evaluation.engine.unknowns()}
            lost = {key for key in of_others(first, thing).keys() - found.keys() if check_of[key[3]] in silent}
            if lost:
                yield f"{mutation}: it has no answer, and findings of others closed: {sorted(lost)}"
        evaluation.seen(thing)
        if left := differing(evaluation, before):
            yield f"{mutation}: put back, and {left}"
            return
        first = known(evaluation)


_FREE = {(each,) for each in ("labels", "annotations", "matchLabels", "nodeSelector", "nodeSelectors", "requests")}


def free(path: Path) -> bool:
    """Whether the last step is an element of a list or a key of a map that users fill, where null is a value; or of the
    data of a ControllerRevision, which KubeVirt decodes strictly: a field is one too many also where it is null.
    """
    return isinstance(path[-1], int) or path[-2:-1] in _FREE or path[:-1] == ("data",)


Seen = set[tuple[str, Path, str, str]]


def new(thing: Object, seen: Seen, *, every: bool = EVERY) -> list[Mutation]:
    """The mutations to try on an object; of each form one, unless all are asked for."""
    todo = []
    for mutation in mutations(thing):
        one = (thing["kind"], form(mutation.path), mutation.what, repr(mutation.value))
        if every or one not in seen:
            seen.add(one)
            todo.append(mutation)
    return todo


def subjects(check: Check) -> Iterator[tuple[str, dict[str, Any], Object]]:
    """The objects of a check's cases; the first of each kind once more with each field that it lacks."""
    whole: set[str] = set()
    for name, case in cases_of(check).items():
        for thing in map(full, case["given"]):
            yield name, case, thing
            if thing["kind"] not in whole:
                whole.add(thing["kind"])
                yield f"{name}, with all fields", case, filled(KINDS[thing["kind"]], thing)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_any_shape_of_an_object_of_a_case(check: Check) -> None:
    mistakes: list[str] = []
    seen: Seen = set()
    for name, case, thing in subjects(check):
        if todo := new(thing, seen):
            evaluation = evaluated(check, case)
            evaluation.seen(thing)
            where = f"{name}: {thing['kind']} {thing['metadata']['name']}"
            mistakes += [f"{where}: {what}" for what in wrong(evaluation, thing, todo)]
    assert mistakes == [], "\n" + "\n".join(mistakes)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_several_shapes_at_once(check: Check) -> None:
    mistakes: list[str] = []
    dice = random.Random(check.id)
    tried: set[str] = set()
    for name, case in cases_of(check).items():
        things = [
            filled(KINDS[each["kind"]], each) if dice.random() < 0.3 else each for each in map(full, case["given"])
        ]
        if not things or (not EVERY and {each["kind"] for each in things} <= tried):
            continue
        tried |= {each["kind"] for each in things}
        mistakes += [f"{name}: {what}" for what in wrong_at_once(evaluated(check, case), things, dice)]
    assert mistakes == [], "\n" + "\n".join(mistakes)


def wrong_at_once(evaluation: Evaluation, things: list[Object], dice: random.Random) -> Iterator[str]:
    for thing in things:
        evaluation.seen(thing)
    long_after(evaluation)
    known(evaluation)
    before = answered(evaluation), blind(evaluation)
    for _ in range(ROUNDS * len(things)):
        mutated = {id(thing): (thing, *several(thing, dice)) for thing in dice.choices(things, k=2)}
        for _, changed, _ in mutated.values():
            evaluation.seen(changed)
        known(evaluation)
        what = "; ".join(f"{thing['kind']} {thing['metadata']['name']}: {how}" for thing, _, how in mutated.values())
        yield from (f"{what}: {why}" for _, why in blind(evaluation) if "raised" in why)
        for thing, _, _ in mutated.values():
            evaluation.seen(thing)
        if left := differing(evaluation, before):
            yield f"{what}: put back, and {left}"
            return


def several(thing: Object, dice: random.Random) -> tuple[Object, str]:
    """An object with some mutations, one after the other, and which they were."""
    made, done = thing, []
    for _ in range(dice.randint(1, AT_ONCE)):
        left = list(mutations(made))
        if not left:  # the ones before have emptied it
            break
        mutation = dice.choice(left)
        made = mutation.of(made)
        done.append(str(mutation))
    return made, ", ".join(done)


def test_every_field_that_is_read_takes_any_shape() -> None:
    mutated: dict[str, set[Path]] = {}
    for check in CHECKS:
        for _, _, thing in subjects(check):
            mutated.setdefault(thing["kind"], set()).update(each for path, _ in paths(thing) for each in forms(path))
    checked = {kind.name for check in CHECKS for kind in check.reads}  # others are read by views alone
    read = {name: set(fields(kind)) - NAMES for name, kind in KINDS.items() if name in checked}
    assert {
        name: each - mutated.get(name, set()) for name, each in read.items() if each - mutated.get(name, set())
    } == {}


class Everything(Evaluation):
    """All that is shown of the demo's fleet: findings, views, state families. Its objects are much alike, and each is
    shown whole after each change: one stands for all that have the same field.
    """

    def __init__(self) -> None:
        readers: tuple[Reader, ...] = (*all_states(), *all_views())
        super().__init__(all_checks(), indexes={index for reader in readers for index in reader.indexes})
        self.aggregates = Aggregates(self.engine.cluster, all_states())
        self.engine.observe(self.aggregates.changed)
        self.states = States(self.engine.cluster, self.aggregates)
        self.fleet = [o for o in sample_fleet(datetime.fromtimestamp(NOW, UTC)).objects if o["kind"] in self.kinds]
        for thing in self.fleet:
            self.seen(thing)

    async def shown(self) -> bytes:
        self.evaluate()
        engine, cluster = self.engine, self.engine.cluster
        rendered = b"".join([part async for part in self.states.render()])
        findings.take(engine)
        at_once(networks.steps(cluster, self.aggregates.of(AddressUsage), engine.findings(), engine.generation))
        at_once(drain.steps(cluster, [node.name for node in cluster.all(Node)], engine.findings(), engine.generation))
        return rendered


def test_any_shape_of_an_object_of_the_fleet() -> None:
    everything = Everything()
    mistakes: list[str] = []
    seen: Seen = set()
    before = asyncio.run(everything.shown())
    for thing in everything.fleet:
        tried = new(thing, seen, every=False)
        some = set(list(dict.fromkeys(each.path for each in tried))[:: 1 if EVERY else 3])
        todo = [
            each
            for each in tried
            if each.path in some and (each.what != "another type" or each.value in (OTHERS[0], OTHERS[2]))
        ]
        where = f"{thing['kind']} {thing['metadata']['name']}"
        mistakes += [f"{where}: {what}" for what in wrong(everything, thing, todo)]
        for mutation in todo:
            everything.seen(mutation.of(thing))
            asyncio.run(everything.shown())
        everything.seen(thing)
        after = asyncio.run(everything.shown())
        if after != before:
            differs = {*after.splitlines()} ^ {*before.splitlines()}
            mistakes.append(f"{where}: put back, and the state families differ: {differs}")
        before = after
    assert mistakes == [], "\n" + "\n".join(mistakes)
