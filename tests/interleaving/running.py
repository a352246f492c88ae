"""One interleaving: who makes the next call is drawn, until the sidecars have done what they wanted."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import Any, TypeVar

from reconcile.decide.repair import Hint

from . import firmware, instancetypes, marks, people, revisions, saving, scenarios
from .access import Weakened
from .clocks import Clock, WallClock
from .invariants import Violation, Watch
from .people import Act
from .platform import Platform
from .scenarios import surroundings
from .steward import REMEDIATIONS, Steward
from .strangers import OF_CLAIMS
from .troubles import deaths, faults
from .undoing import Person
from .world import World

__all__ = ["AREAS", "Area", "Ran", "drawn", "interleave"]

# What an interleaving is about: one area of the product each, so that none costs more for the others.


@dataclass(frozen=True)
class Area:
    """`begin` makes what there is, `acts` are what people and others do with it; `hint` is a remediation with what may
    have been found by then, None where there is nothing of the kind.
    """

    name: str
    share: float  # of the interleavings
    begin: Callable[[World, Platform, Random], None]
    acts: tuple[Act, ...]
    hint: Callable[[World, Random], tuple[str, Hint] | None]


_SAVING = (saving.snapshot, saving.restore, saving.restored_from_outside, saving.clone, saving.backup)
AREAS = (
    Area("claims", 0.45, scenarios.begin, (*people.ACTS, *OF_CLAIMS, *_SAVING), scenarios.claim_hint),
    Area("firmware", 0.2, firmware.begin, (*firmware.ACTS, *_SAVING), firmware.hint),
    Area("marks", 0.1, marks.begin, (*marks.ACTS, *_SAVING), marks.hint),
    Area("instancetypes", 0.15, instancetypes.begin, instancetypes.ACTS, instancetypes.hint),
    Area("revisions", 0.1, revisions.begin, revisions.ACTS, revisions.hint),
)


def drawn(rng: Random, name: str = "") -> Area:
    """One of them, or that of the name."""
    if name:
        return next(each for each in AREAS if each.name == name)
    return rng.choices(AREAS, [each.share for each in AREAS])[0]


_STEPS = 20_000
P = TypeVar("P", Steward, Person)
_UNDOES = 0.5  # of the interleavings, if there is anything to take back
_SHADOWS = 0.1  # of the sidecars are in mode shadow now and then


@dataclass(frozen=True)
class Ran:
    """What came of one interleaving."""

    seed: str
    violations: tuple[Violation, ...]
    writes: int
    results: tuple[str, ...]
    trace: tuple[str, ...] = ()


def interleave(
    seed: str,
    weakened: Weakened | None = None,
    *,
    traced: bool = False,
    area: str = "",
    ledger: Callable[[str, Callable[[], float]], Any] = lambda *_: None,
) -> Ran:
    """The same seed gives the same interleaving; `area` is the name of one, drawn where it is empty.

    `ledger` makes that of a sidecar by its name and its clock; else it is in memory."""
    rng = Random(seed)
    world = World()
    platform = Platform(world, writes_owner=rng.random() < 0.3)
    watch = Watch(world, platform)
    surroundings(world)
    about = drawn(Random(f"{seed} area"), area)
    about.begin(world, platform, rng)
    clock = Clock(world)
    actors: dict[str, Iterator[None]] = platform.actors()
    for number in range(rng.choice((0, 1, 1, 2, 3))):
        act = rng.choice(about.acts)
        actors[f"{act.__name__} {number}"] = act(world, platform, rng)

    def process(kind: type[P], name: str) -> P:
        wall = WallClock.drawn(world, rng)
        made = kind(
            world,
            name,
            clock,
            rng,
            wrote=watch.wrote,
            sends=watch.sends,
            wall=wall,
            faults=faults(rng),
            weakened=weakened,
            dies=deaths(rng),
            ledger=ledger(name, wall.now),
        )
        watch.stewards.append(made)
        return made

    stewards = [process(Steward, f"steward-{number}") for number in range(rng.choice((1, 1, 2)))]
    cast = Cast(actors, dict.fromkeys(each.name for each in stewards))
    for steward in stewards:
        actors[steward.name] = _repairs(about, world, steward, clock, cast, rng, _modes(f"{seed} {steward.name}"))
    if rng.random() < _UNDOES:
        cast.person = process(Person, "steward-undo")
        cast.person.others = tuple(stewards)
        for steward in stewards:
            steward.by_hand.append(cast.person)
        actors[cast.person.name] = _undoes(cast.person, cast, rng)
    trace: list[str] = []
    if traced:
        world.watches.append(lambda c: trace.append(f"{world.now:.2f} {c.by}: {c.key} {_short(c.after)}"))
    _scheduled(cast, rng)
    watch.ended()
    results = tuple(result.refused or result.state for steward in watch.stewards for result in steward.results)
    return Ran(seed, tuple(watch.found), watch.writes, results, tuple(trace))


def _short(after: object) -> str:
    return "gone" if after is None else ""


@dataclass
class Cast:
    """Who acts, and who `working` has to come to an end: a person only once there is something to take back."""

    actors: dict[str, Iterator[None]]
    working: dict[str, None]
    person: Person | None = None

    def wrote(self) -> None:
        if self.person is not None:
            self.working[self.person.name] = None
            self.person = None


def _scheduled(cast: Cast, rng: Random) -> None:
    """Until those who work are done; of all others any may be faster or slower, or stand still for a while."""
    actors, working = cast.actors, cast.working
    names = list(actors)
    weights = [rng.choice((1, 1, 2, 6)) for _ in names]
    drawn = list(accumulate(weights))
    for _ in range(_STEPS):
        if not working:
            return
        name = names[bisect(drawn, rng.random() * drawn[-1], 0, len(drawn) - 1)]
        try:
            next(actors[name])
        except StopIteration:
            at = names.index(name)
            del names[at], weights[at]
            drawn = list(accumulate(weights))
            working.pop(name, None)
    raise AssertionError("an interleaving has no end")


def _modes(seed: str) -> Callable[[], bool]:
    """Whether the next attempt is in mode shadow: in a few interleavings every other one is."""
    rng = Random(f"{seed} modes")
    return (lambda: rng.random() < 0.5) if rng.random() < _SHADOWS else lambda: False


def _repairs(
    about: Area, world: World, steward: Steward, clock: Clock, cast: Cast, rng: Random, shadow: Callable[[], bool]
) -> Iterator[None]:
    """Attempts, each for what was found a while ago."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        hinted = about.hint(world, rng)
        if hinted is None:
            break
        remediation, hint = hinted
        for _ in range(rng.choice((0, 0, 3, 10))):
            yield
        steward.configured(shadow=shadow())
        yield from steward.attempt(REMEDIATIONS[remediation], hint)
        if Person.done_by(steward):
            cast.wrote()
        wait = rng.choice((0.0, 0.0, 130.0, 700.0))
        while wait and clock.hurried:
            yield
        world.passes(wait)
    yield from steward.settle(at_last=True)


def _undoes(person: Person, cast: Cast, rng: Random) -> Iterator[None]:
    while cast.person is not None:
        yield
    yield from person.takes_back(rng)
    yield from person.settle(at_last=True)
