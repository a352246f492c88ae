"""The first repairs of a remediation in mode `auto`, interleaved with all that can go wrong with them.

Five IPAMClaims lack their finalizer. One sidecar at a time repairs them, looks at what came of it, and is killed,
stands still, or loses the Lease to another one, on a node whose clock may be wrong or jumps; the ledger is the same.
Its writes may arrive late, also after its end, and somebody takes finalizers away again.

What has to hold is told by the world and its time, not by the ledger: see `Trial`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from random import Random

from demo.apiserver.errors import ApiError
from demo.fleet import pods
from demo.fleet.objects import IPAM_FINALIZER, owner_of
from exporter.facts.record import Ref
from reconcile.carry_out.lease_record import NotLeadingError
from reconcile.carry_out.metrics import Measures, ShownRepairs
from reconcile.carry_out.outcomes import AttemptOutcomes
from reconcile.carry_out.verifying import Verifying
from reconcile.config.settings import SidecarConfig
from reconcile.decide.repair import Hint
from reconcile.ledger import Entry, Event
from reconcile.plan.remediations import all_remediations

from .access import Weakened
from .clocks import Clock, WallClock
from .invariants import Violation
from .memory import MemoryLedger
from .people import vm
from .scenarios import surroundings
from .steward import CHECKS, KINDS, REMEDIATIONS, Killed, Steward, hint_for
from .troubles import deaths, faults
from .world import Obj, World, meta_of, with_meta
from .writer import Write

__all__ = ["Tried", "tried"]

_REPAIR = "repair_ipam_claim_metadata"
_CLAIMS = 5
_ROUNDS = 14
_STAYS = SidecarConfig().canary_of(_REPAIR).stays.total_seconds()
_APART = 70.0  # seconds: two clocks that are not noticed to be wrong, and a Date that has whole seconds
_LATE = 61.0  # seconds after which no request arrives here
_STRUCK = frozenset({Event.RETURNED, Event.PERSISTS})


@dataclass(frozen=True)
class Tried:
    """What came of one interleaving: `stayed` is how many repairs held."""

    seed: str
    violations: tuple[Violation, ...]
    writes: int
    stayed: int
    struck: int


@dataclass
class _Sent:
    name: str
    attempt: str
    at: float
    arrived: float | None = None

    def over(self, now: float) -> bool:
        return self.arrived is not None and now - self.arrived >= _STAYS - _APART

    def open(self, now: float) -> bool:
        return not self.over(now) if self.arrived is not None else now - self.at <= _LATE


@dataclass
class Trial:
    """Holds each write that is sent to what was sent before: by when it arrived, and by what was seen to come back."""

    world: World
    ledger: MemoryLedger
    sent: list[_Sent] = field(default_factory=list)
    found: list[Violation] = field(default_factory=list)
    dismissed: set[str] = field(default_factory=set)  # attempts that had held, or come back, when it was resumed

    def sends(self, write: Write) -> None:
        now, name = self.world.now, write.key[2]
        before, over = [each for each in self.sent if each.open(now)], [each for each in self.sent if each.over(now)]
        if len(over) < 3:
            most = 1 if not over else 3
            if len(before) + len(over) >= most:
                names = ", ".join(f"{each.name} at {each.at:.0f}" for each in before)
                self._violated("one, then two", f"{write.by} writes {name} at {now:.0f} while {names} is not over")
            if any(entry.event in _STRUCK and entry.attempt not in self.dismissed for entry in self._since_resumed()):
                self._violated("a strike stops it", f"{write.by} writes {name} after a repair came back")
            if len(self.ledger.unfinished()) > 1:
                self._violated("one without an end", f"{write.by} writes {name} while another attempt has no end")
        self.sent.append(_Sent(name, write.attempt, now))

    def wrote(self, write: Write) -> None:
        for each in reversed(self.sent):
            if each.name == write.key[2] and each.arrived is None:
                each.arrived = self.world.now
                return

    def resumed(self) -> None:
        """A person has seen to what came back: it begins anew, with what is still followed."""
        struck = {entry.attempt for entry in self._since_resumed() if entry.event in _STRUCK}
        stayed = {entry.attempt for entry in self.ledger.kept if entry.event is Event.STAYED}
        if not struck:
            return
        self.dismissed |= struck | stayed
        self.sent = [each for each in self.sent if each.attempt not in self.dismissed]
        self.ledger.append(Event.RESUMED, scope=f"remediation {_REPAIR}", by="alice")

    def _since_resumed(self) -> list[Entry]:
        entries = self.ledger.kept
        resumed = max((at for at, entry in enumerate(entries) if entry.event is Event.RESUMED), default=-1)
        return entries[resumed + 1 :]

    def _violated(self, invariant: str, what: str) -> None:
        self.found.append(Violation(invariant, what))


class _Looking(Steward):
    """A process that holds the Lease until it is deposed. It looks after what is in the ledger."""

    on_trial = True
    deposed = False

    def _starts(self) -> None:
        super()._starts()
        self._attempts._fence = self
        self._following = AttemptOutcomes(self.ledger.entries(), keep=86_400)
        remediations = all_remediations()
        measures = Measures(remediations, {}, ShownRepairs())
        self._verifying = Verifying(
            self._following,
            self.ledger,
            self._reads,
            KINDS,
            CHECKS,
            {},
            measures=measures,
            kept=self._kept,
            skew=lambda: self.leave.clocks.skew(self.wall.now()),
        )

    async def assure(self, seconds: float) -> None:
        if self.deposed:
            raise NotLeadingError("another one leads")

    def _kept(self, entry: Entry) -> None:
        super()._kept(entry)
        self._following.add(entry)

    def looks(self, found: set[str]) -> Iterator[None]:
        self._reads.begin()
        work = self._verifying.look(self.wall.now(), 120.0, found, lambda _: _STAYS)
        yield from self._driven(work)  # type: ignore[arg-type] # it has no result


def _wall(world: World, rng: Random) -> WallClock:
    """Wrong ones are wrong for long, or jump in the middle of a trial."""
    ahead, then = rng.choice((0.0, 0.0, 0.0, -20.0, -3600.0, -3600.0, 3600.0)), rng.choice((0.0, 20.0, -3600.0))
    jumps = rng.choice((float("inf"), float("inf"), 200.0, 2000.0, 5000.0))
    return WallClock(world, ahead, world.now + jumps, then)


def _claims(world: World) -> None:
    for number in range(_CLAIMS):
        made = world.create(vm(f"vm{number}", "Halted", uid=f"u-vm{number}", created="2026-06-01T00:00:00Z"), "user")
        ips = [f"10.0.0.{number + 5}/16"]
        claim = pods.claim(
            "ns",
            f"vm{number}.blue",
            "tenantblue",
            ips,
            created="2026-06-01T00:00:00Z",
            vm=f"vm{number}",
            owners=[owner_of(made)],
            finalizers=[],
        )
        world.create(claim, "ipam-extensions")
    world.born = {uid: since - 7200 for uid, since in world.born.items()}


def _hint(claim: Obj) -> Hint:
    meta = meta_of(claim)
    return hint_for("ipam_claims", "UnprotectedClaim", Ref("IPAMClaim", "ns", meta["name"], meta["uid"]))


def _bare(world: World) -> list[Obj]:
    return [each for each in world.all("IPAMClaim") if IPAM_FINALIZER not in (meta_of(each).get("finalizers") or ())]


def _reverts(world: World, rng: Random) -> None:
    for each in world.all("IPAMClaim"):
        if each not in _bare(world) and rng.random() < 0.5:
            world.change(each, "acme", lambda now: with_meta(now, finalizers=[]))
            return


def tried(seed: str, weakened: Weakened | None = None) -> Tried:
    """The same seed gives the same interleaving."""
    rng = Random(seed)
    world, clock = World(), None
    surroundings(world)
    _claims(world)
    clock = Clock(world)
    walls: list[WallClock] = []
    ledger = MemoryLedger(lambda: walls[-1].now())
    trial = Trial(world, ledger)
    reverting = rng.random() < 0.3

    def process(number: int) -> _Looking:
        walls.append(_wall(world, rng))
        return _Looking(
            world,
            f"steward-{number}",
            clock,
            rng,
            wrote=trial.wrote,
            sends=trial.sends,
            wall=walls[-1],
            faults=faults(rng),
            weakened=weakened,
            dies=deaths(rng),
            ledger=ledger,
        )

    steward, number = process(0), 0
    for _ in range(_ROUNDS):
        if rng.random() < 0.25:  # another replica leads, with the ledger as it is
            number += 1
            steward = process(number)
        _round(world, steward, rng, reverting=reverting)
        world.passes(rng.choice((1.0, 1.0, 130.0, 1800.0, 1800.0, 3500.0, 3700.0)))
        if rng.random() < 0.2:
            trial.resumed()
    for error in steward.errors:
        trial.found.append(Violation("no error", repr(error)))
    events = [entry.event for entry in ledger.kept]
    struck = sum(each in _STRUCK for each in events)
    return Tried(seed, tuple(trial.found), len(trial.sent), events.count(Event.STAYED), struck)


def _round(world: World, steward: _Looking, rng: Random, *, reverting: bool) -> None:
    """What a run does: settles, looks, and tries whatever is found; other things happen between any two calls."""
    stale = {_hint(each).fingerprint for each in _bare(world)} if rng.random() < 0.2 else None
    between = partial(_between, world, steward, rng, reverting=reverting)
    _runs(steward.settle(), between)
    _runs(steward.looks({_hint(each).fingerprint for each in _bare(world)} if stale is None else stale), between)
    for claim in rng.sample(_bare(world), k=min(len(_bare(world)), rng.choice((1, 2, 5)))):
        if not steward._following.awaited(_hint(claim).fingerprint):
            _runs(steward.attempt(REMEDIATIONS[_REPAIR], _hint(claim)), between)
    steward.deposed = False


def _between(world: World, steward: _Looking, rng: Random, *, reverting: bool) -> None:
    drawn = rng.random()
    if drawn < 0.01 and reverting:
        _reverts(world, rng)
    elif drawn > 0.998:
        steward.deposed = True


def _runs(work: Iterator[None], between: Callable[[], None]) -> None:
    try:
        for _ in work:
            between()
    except (Killed, ApiError):
        return
