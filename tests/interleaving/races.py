"""The races that reconcilers of IP addresses have lost before, in all interleavings with an attempt.

Each is a sequence of calls of others, every one of which may come before any call of the sidecar, or after all. Between
the links from a VM to an address there has to be time (`network.LINK`); an interleaving without is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar

from demo.fleet.objects import owner_of
from demo.fleet.pods import attached
from exporter.facts.record import Ref
from reconcile.plan.remediations import all_remediations

from .access import Faults, Weakened
from .clocks import CALL, Clock
from .invariants import Violation, Watch
from .made import claimed, lacking, launched, started
from .network import LINK
from .people import vm
from .platform import Platform
from .saving import SAVING, begin
from .scenarios import claim_in, surroundings
from .steward import SLOW, Steward, hint_for
from .undoing import Person
from .world import Obj, World, meta_of, with_meta

__all__ = ["RACES", "Race", "raced"]

P = TypeVar("P", Steward, Person)
Call = Callable[[World, Platform], None]
_BEFORE = 4  # moments before the attempt begins, so far apart that any link fits between
_STEPS = 12  # of an attempt, beside its calls
_AGES = 30.0  # seconds between them


@dataclass(frozen=True)
class Race:
    """`calls` with the seconds that have to pass since the one before. `leaks` where nothing may be left at the end."""

    name: str
    issue: str
    what: str
    state: str
    remediation: str
    reason: str
    calls: tuple[tuple[Call, float], ...]
    leaks: bool = False
    pages: int = 0  # that lists of the whole cluster have more than one
    paused: float = 0.0  # seconds before each call
    late: float = 0.0  # seconds for which the write is under way
    undone: bool = False  # whether a person takes it back then
    accepts: bool = False  # whether they accept to lose the address


def _vm_created(world: World, _: Platform) -> None:
    world.create(vm("db", "Always"), "user")


def _vm_started(world: World, _: Platform) -> None:
    found = _there(world, "VirtualMachine", "db")
    world.change(found, "user", lambda now: now | {"spec": now["spec"] | {"runStrategy": "Always"}})


def _vmi_created(world: World, _: Platform) -> None:
    world.create(started(_there(world, "VirtualMachine", "db")), "virt-controller")


def _pod_created(world: World, _: Platform) -> None:
    world.create(launched(_there(world, "VirtualMachineInstance", "db"), "virt-launcher-db-1", "db.blue"), "user")


def _pod_alone(world: World, _: Platform) -> None:
    """Of a VMI that is gone, as on a node that comes back."""
    gone = {"kind": "VirtualMachineInstance", "apiVersion": "kubevirt.io/v1", "metadata": {"name": "db", "uid": "gone"}}
    world.create(launched(gone, "virt-launcher-db-1", "db.blue"), "kubelet")


def _address_given(world: World, platform: Platform) -> None:
    """The one that the IPAMClaim has, or else another one."""
    pod = _there(world, "Pod", "virt-launcher-db-1")
    claim = world.get("IPAMClaim", "db.blue")
    if claim is None:
        return  # the pod waits for another IPAMClaim
    ips = claim["status"]["ips"]
    platform.held[meta_of(pod)["uid"]] = ips[0]
    notes = {**meta_of(pod)["annotations"], **attached([("ns/blue", "db.blue")], {"ns/blue": ips}, "10.244.0.9/24")}
    running = with_meta(pod, annotations=notes) | {"status": pod["status"] | {"phase": "Running"}}
    world.change(pod, "ovn-kubernetes", lambda _: running)


def _claim_adopted(world: World, _: Platform) -> None:
    made, claim = _there(world, "VirtualMachine", "db"), world.get("IPAMClaim", "db.blue")
    if claim is not None:
        world.change(claim, "restore", lambda now: with_meta(now, ownerReferences=[owner_of(made)]))


def _vm_gone(world: World, platform: Platform) -> None:
    """While ipam-extensions is down: nobody reports it to that ever again."""
    platform.controller_up = False
    found = _there(world, "VirtualMachine", "db")
    world.change(found, "virt-controller", lambda now: with_meta(now, finalizers=[]))
    world.delete(("VirtualMachine", "ns", "db"), "user")


def _collected(world: World, _: Platform) -> None:
    world.delete(("IPAMClaim", "ns", "db.blue"), "garbage-collector")


def _claim_gone(world: World, _: Platform) -> None:
    claim = world.get("IPAMClaim", "db.blue")
    if claim is not None:
        world.change(claim, "user", lambda now: with_meta(now, finalizers=[]))
        if not meta_of(claim).get("deletionTimestamp"):
            world.delete(("IPAMClaim", "ns", "db.blue"), "user")


def _claim_again(world: World, platform: Platform) -> None:
    _vm_created(world, platform)
    world.create(claimed(_there(world, "VirtualMachine", "db"), ["10.0.0.5/16"]), "restore")


def _claim_deleted(world: World, _: Platform) -> None:
    if world.get("IPAMClaim", "db.blue") is not None:
        world.delete(("IPAMClaim", "ns", "db.blue"), "user")


def _let_go(world: World, _: Platform) -> None:
    claim = world.get("IPAMClaim", "db.blue")
    if claim is not None:
        world.change(claim, "user", lambda now: lacking(now, "example.org/keep"))


def _begun(kind: str) -> Call:
    """What is to save the VM, or to bring it back, is created."""

    def call(world: World, _: Platform) -> None:
        begin(world, kind)

    return call


def _controller_back(world: World, platform: Platform) -> None:
    platform.restart_controller()


def _there(world: World, kind: str, name: str) -> Obj:
    found = world.get(kind, name)
    assert found is not None
    return found


_OWNER_GONE = ("release_ipam_claim", "StuckTerminatingOwnerGone")
_REPAIRED = ("unprotected", "repair_ipam_claim_metadata", "UnprotectedClaim")
_ADOPTED: tuple[tuple[Call, float], ...] = ((_vm_created, 0.0), (_claim_adopted, 0.0))
_NAMESAKE: tuple[tuple[Call, float], ...] = (
    (_vm_created, 0.0),
    (_vmi_created, LINK),
    (_pod_created, LINK),
    (_address_given, LINK),
)
_STARTED: tuple[tuple[Call, float], ...] = (
    (_vm_started, 0.0),
    (_vmi_created, 0.0),
    (_pod_created, LINK),
    (_address_given, LINK),
)
_RECLAIMED = ("given up", "reclaim_ipam_claim", "StuckTerminatingDeletedByHand")
RACES = (
    Race(
        "pending pod",
        "whereabouts#162",
        "a pod that refers to the IPAMClaim is there before it has its address",
        "stuck",
        *_OWNER_GONE,
        ((_pod_alone, 0.0), (_address_given, LINK)),
    ),
    Race(
        "namesake",
        "whereabouts#176",
        "a VM is created under the name of the one that is gone, and its pod uses the addresses",
        "stuck",
        *_OWNER_GONE,
        _NAMESAKE,
    ),
    Race(
        "namesake in a large cluster",
        "whereabouts#176",
        "the same while listing all pods takes seconds",
        "stuck",
        *_OWNER_GONE,
        _NAMESAKE[:2],
        pages=3,
    ),
    Race(
        "namesake of a slow process",
        "whereabouts#176",
        "the same while the sidecar stands still between any two calls",
        "stuck",
        *_OWNER_GONE,
        _NAMESAKE[:2],
        paused=2.5,
    ),
    Race(
        "namesake of a late release",
        "",
        "the same while the request is under way, and its sender has given up",
        "stuck",
        *_OWNER_GONE,
        _NAMESAKE[:2],
        late=25.0,
    ),
    Race(
        "start of a VM that may lose its address",
        "",
        "a stopped VM is started, whose IPAMClaim was deleted",
        *_RECLAIMED,
        _STARTED,
    ),
    Race("start that is slow", "", "the same, and its VMI is created late", *_RECLAIMED, _STARTED[:2]),
    Race(
        "start while the release is late",
        "",
        "the same while the request is under way, and its sender has given up",
        *_RECLAIMED,
        _STARTED[:3],
        late=25.0,
    ),
    Race(
        "start of a VM that was created again",
        "",
        "a stopped VM is started, which has the IPAMClaim of its predecessor",
        "replaced",
        "adopt_ipam_claim",
        "OwnerUidMismatch",
        _STARTED,
    ),
    Race(
        "taken back under a VM",
        "",
        "an IPAMClaim is deleted, and the finalizer that holds it is taken back",
        *_REPAIRED,
        ((_claim_deleted, 0.0),),
        undone=True,
    ),
    Race(
        "taken back under a VMI",
        "",
        "the same, and somebody has accepted to lose the address; the VM is started",
        *_REPAIRED,
        ((_vmi_created, 0.0), (_claim_deleted, 0.0)),
        undone=True,
        accepts=True,
    ),
    Race(
        "taken back under a pod",
        "",
        "the same, and a pod of the VM is left",
        *_REPAIRED,
        ((_pod_alone, 0.0), (_claim_deleted, 0.0)),
        undone=True,
        accepts=True,
    ),
    Race(
        "another plan",
        "",
        "another finalizer goes, so that the plan is another one than was permitted",
        "held",
        *_OWNER_GONE,
        ((_let_go, 0.0),),
    ),
    Race(
        "owners before claims, released",
        "whereabouts#207",
        "a new VM gets the IPAMClaim after VMs were read",
        "stuck",
        *_OWNER_GONE,
        _ADOPTED,
    ),
    Race(
        "owners before claims, deleted",
        "whereabouts#207",
        "a new VM gets the IPAMClaim after VMs were read",
        "orphan",
        "delete_orphan_ipam_claim",
        "OrphanClaim",
        _ADOPTED,
    ),
    Race(
        "created anew",
        "",
        "the IPAMClaim goes, and one of its name comes with a new VM",
        "orphan",
        "delete_orphan_ipam_claim",
        "OrphanClaim",
        ((_claim_gone, 0.0), (_claim_again, 0.0)),
    ),
    Race(
        "deleted while down",
        "whereabouts#546",
        "the VM is deleted while ipam-extensions is down; the addresses come back nevertheless",
        "live",
        *_OWNER_GONE,
        ((_vm_gone, 0.0), (_collected, 0.0), (_controller_back, 0.0)),
        leaks=True,
    ),
    *(
        Race(f"a {kind} begins", "", "it is created, and no status says so yet", *_REPAIRED, ((_begun(kind), 0.0),))
        for kind in SAVING
    ),
)


class _Run:
    def __init__(self, race: Race, weakened: Weakened | None, dies: Callable[[str], bool]) -> None:
        self.world = World()
        self.platform = Platform(self.world, collecting=False)
        self.watch = Watch(self.world, self.platform)
        surroundings(self.world)
        claim = claim_in(self.world, self.platform, race.state)
        self.claim = self.world.create(claim, "ipam-extensions")
        self.world.born = {uid: since - 3600 for uid, since in self.world.born.items()}
        faults = Faults(pages=lambda: race.pages, paused=lambda: race.paused, late=lambda: race.late)
        clock = Clock(self.world)

        def process(kind: type[P], name: str) -> P:
            made = kind(
                self.world,
                name,
                clock,
                _Steady(),
                wrote=self.watch.wrote,
                sends=self.watch.sends,
                faults=faults,
                weakened=weakened,
                dies=dies,
            )
            self.watch.stewards.append(made)
            return made

        self.steward = process(Steward, "steward-0")
        self.person = process(Person, "steward-undo")
        self.person.others = (self.steward,)
        self.race, self.left = race, list(race.calls)

    def attempt(self) -> Iterator[None]:
        ref = Ref("IPAMClaim", "ns", "db.blue", meta_of(self.claim)["uid"])
        remediation = next(each for each in all_remediations() if each.id == self.race.remediation)
        yield from self.steward.attempt(remediation, hint_for("ipam_claims", self.race.reason, ref))
        yield from self.steward.settle(at_last=bool(self.race.late))
        if self.race.undone and self.person.done_by(self.steward):
            yield from self.person.takes_back(_First(accepts=self.race.accepts))

    def call(self) -> None:
        call, _ = self.left.pop(0)
        call(self.world, self.platform)

    def finish(self) -> tuple[Violation, ...]:
        for _ in range(3 if self.race.leaks else 0):
            self.world.passes(700)
            for _ in self.attempt():
                pass
        ovn = self.platform.ovn_kubernetes()
        for _ in range(3):
            next(ovn)
        self.watch.ended()
        if self.race.leaks and self.platform.pool:
            self.watch.found.append(Violation("nothing leaks", f"{self.platform.pool} are still taken"))
        return tuple(self.watch.found)


class _First(Random):
    """The first of whatever there is to choose from, and of losses too if that is accepted."""

    def __init__(self, *, accepts: bool) -> None:
        super().__init__(0)
        self._accepts = accepts

    def choice(self, seq: Any) -> Any:
        return seq[0]

    def random(self) -> float:
        return 0.0 if self._accepts else 1.0


class _Steady(Random):
    """Every call takes as long as it may."""

    def uniform(self, a: float, b: float) -> float:
        return b


def raced(
    race: Race, weakened: Weakened | None = None, *, most: int = 0
) -> Iterator[tuple[str, tuple[Violation, ...]]]:
    """What is wrong after each interleaving, with the moments of the calls; with `most` only so many, spread evenly."""
    moments = _moments(race, weakened)
    possible = _slots(race, moments)
    for slot in possible[:: max(1, len(possible) // most) if most else 1]:
        yield f"{race.name} at {slot}", _interleaved(race, slot, weakened, lambda _: False)
    for number in range(len(moments) + _STEPS if race.leaks else 0):
        yield f"{race.name}, killed at {number}", _killed(race, number, weakened)


def _moments(race: Race, weakened: Weakened | None) -> list[float]:
    """When each call of the sidecar is made where nobody interferes, after the moments before the first."""
    run = _Run(race, weakened, lambda _: False)
    before = [run.world.now - _AGES * (_BEFORE - number) for number in range(_BEFORE)]
    return [*before, *(run.world.now for _ in run.attempt()), run.world.now + SLOW + CALL]


def _slots(race: Race, moments: list[float]) -> list[tuple[int, ...]]:
    """The moments at which the calls can be made, one after the other."""
    found: list[tuple[int, ...]] = [()]
    for _, least in race.calls:
        found = [
            (*slot, at)
            for slot in found
            for at in range(slot[-1] if slot else 0, len(moments))
            if not slot or not least or moments[at] - moments[slot[-1]] > least
        ]
    return found


def _interleaved(
    race: Race, slot: tuple[int, ...], weakened: Weakened | None, dies: Callable[[str], bool]
) -> tuple[Violation, ...]:
    run = _Run(race, weakened, dies)
    calls = list(slot)
    for moment in range(_BEFORE):
        run.world.passes(_AGES)
        while calls and calls[0] <= moment:
            run.call()
            calls.pop(0)
    for moment, _ in enumerate(run.attempt(), _BEFORE):
        while calls and calls[0] <= moment:
            run.call()
            calls.pop(0)
    while run.left:
        run.world.passes(LINK * 2)
        run.call()
    return run.finish()


def _killed(race: Race, number: int, weakened: Weakened | None) -> tuple[Violation, ...]:
    """After all calls of the others, at one of its own; the ledger then says what is to be settled."""
    asked = iter(range(10_000))
    run = _Run(race, weakened, lambda _: next(asked) == number)
    while run.left:
        run.call()
    run.world.passes(700)
    for _ in run.attempt():
        pass
    return run.finish()
