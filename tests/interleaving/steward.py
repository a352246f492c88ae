"""The sidecar in an interleaving: the product's attempts and confirmation, driven one call at a time.

It is killed anywhere, and started again with the ledger that it left. One that is in mode `shadow` has no writer; what
mode it is in may change between two attempts, by a restart.

What is assumed of time: no preconditions of a write can say that no VM was created, so what was read has to be younger
at the write than the chain from a new VM to the address of its pod is long. That has three links, of `network.LINK`
seconds each. The product's share: VMs, VMIs and migrations are read last, right before the second plan
(`carry_out.confirm`); after that only the gates, the ledger's entry and the fence follow, and if more than 5 seconds
pass nothing is written (`carry_out.attempt`). So a list, an approval, a dry run or a process that stands still may take
any time here.

What was sent may arrive up to a minute later (`writer`): at the moment of sending everything has to be right. What
changes before it arrives nobody can know; a sidecar has to say what came of that (`invariants`).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from exporter.checks import all_checks
from exporter.facts.record import Ref
from exporter.findings.finding import Finding, fingerprint
from exporter.findings.severity import Severity
from exporter.kube.clocks import ServerClocks
from exporter.kube.errors import KubeError
from reconcile.carry_out.attempt import Attempts, AttemptState, Result, Shadowing
from reconcile.carry_out.confirm import Confirmed, confirm
from reconcile.carry_out.execute import IdleWriter
from reconcile.carry_out.lease_record import NotLeadingError
from reconcile.config.settings import Mode, SidecarConfig
from reconcile.decide.canary import on_trial
from reconcile.decide.gates import GATES, Ask, Situation
from reconcile.decide.repair import Hint
from reconcile.decide.storms import Storm
from reconcile.ledger import Entry, Event
from reconcile.ledger.history import History
from reconcile.ledger.settling import Settling
from reconcile.plan.annotations import annotations_of
from reconcile.plan.plan import Refused
from reconcile.plan.remediation import Remediation
from reconcile.plan.remediations import all_remediations

from ..evaluation import api_kinds
from .access import Faults, ModelReads, Turn, Weakened
from .clocks import CALL, Clock, WallClock
from .memory import MemoryLedger
from .world import World
from .writer import Intended, ModelWriter, Write

__all__ = ["CHECKS", "KINDS", "REMEDIATIONS", "SLOW", "Killed", "Leave", "Steward", "hint_for"]

# Which of the product's gates are asked here: those without which a write can do harm.
#
# They are that no earlier write to the object can still arrive, that clocks agree, that the object is not paused, and
# that a canary begins with one repair. The pause of its VM, and the gates that only hold something up, are left out:
# here everything is tried.

_GATES = tuple(each for each in GATES if each.id in ("unclear", "clock", "object_paused", "canary"))
_CONFIG = SidecarConfig()
_QUIET = Situation(
    now=0.0,
    leading=True,
    paused="",
    namespaces={},
    history=History(),
    storm=Storm(),
    fleet=None,
    source_age=None,
    ready=True,
    unknown_checks=None,
    upgrading=None,
    silenced=lambda _: None,
    ledger="",
    skew=None,
    by_hand=tuple,
)


@dataclass
class Leave:
    """To write: `entries` are those of the ledger, `by_hand` those of a ledger beside it."""

    clocks: ServerClocks
    wall: WallClock
    entries: Callable[[], Iterable[Entry]]
    by_hand: Callable[[], Iterable[Entry]]
    but: str = ""  # a gate that is not asked

    def tries(self, remediation: Remediation) -> str:
        """What the next write tries."""
        return on_trial(_CONFIG, remediation, History.of(self.entries(), self.wall.now()))

    def refused(self, made: Confirmed, remediation: Remediation, mode: Mode) -> Refused | None:
        now, plan = self.wall.now(), made.plan
        situation = replace(
            _QUIET,
            now=now,
            skew=self.clocks.skew(now),
            history=History.of(self.entries(), now),
            by_hand=lambda: History.of(self.by_hand(), now).unfinished(),
        )
        ask = Ask(
            remediation=remediation,
            namespace=plan.subject.namespace,
            subject=plan.subject,
            check=plan.check,
            fingerprint=plan.fingerprint,
            mode=mode,
            target=plan.bound_to,
            annotations={str(plan.bound_to): annotations_of(made.whole)},
        )
        for gate in _GATES:
            if gate.id != self.but and mode in gate.modes and (found := gate(ask, situation, _CONFIG)):
                return Refused(found.gate, found.why)
        return None


SLOW = 8.0
_ROUNDS = 100  # of looks at what is not settled
CHECKS = {check.id: check for check in all_checks()}
REMEDIATIONS = {each.id: each for each in all_remediations()}
KINDS = api_kinds() | {kind.name: kind for each in all_remediations() for kind in each.reads}


class Killed(BaseException):
    pass


def hint_for(check: str, reason: str, subject: Ref, group: str = "") -> Hint:
    found = Finding(reason=reason, severity=Severity.INFO, subject=subject, message="", group=group)
    return Hint(check, reason, subject, fingerprint(check, found))


class Steward:
    """`sends` and `wrote` are those of its writer, `dies` is asked at each step whether it is the last one. With
    `on_trial` what it writes is a canary.
    """

    on_trial = False

    def __init__(
        self,
        world: World,
        name: str,
        clock: Clock,
        rng: Random,
        *,
        wrote: Callable[[Write], None],
        sends: Callable[[Write], None] = lambda _: None,
        wall: WallClock | None = None,
        faults: Faults | None = None,
        weakened: Weakened | None = None,
        dies: Callable[[str], bool] = lambda _: False,
        ledger: Any = None,
    ) -> None:
        self.name, self._world, self._clock, self._rng = name, world, clock, rng
        self._weakened = weakened or Weakened()
        self._dies = dies
        self.wall = wall = wall or WallClock(world)
        if ledger is None:
            ledger = MemoryLedger(wall.now)
        self.ledger = ledger
        self._faults = faults or Faults()
        self.by_hand: list[Steward] = []  # whose ledgers are beside this one
        self._wrote, self._sends = wrote, sends
        self.results: list[Result] = []
        self.errors: list[Exception] = []
        self._planned, self._began, self._made = "", 0.0, 0
        self.shadow, self.shadow_since = False, 0.0  # the world's time
        self._starts()

    def _starts(self) -> None:
        """A process, which knows nothing but its ledger, on whatever node: its timer begins anywhere."""
        world, wall, booted = self._world, self.wall, self._rng.choice((0.0, 1e6))
        self._timer = lambda: world.now - booted
        clocks = ServerClocks(self._timer, host="node01")
        self._reads = ModelReads(
            world, self._faults, self._weakened, lambda sent, now, date: clocks.take(sent - booted, now - booted, date)
        )
        self._writer = ModelWriter(
            world,
            self.name,
            self._faults,
            self._weakened,
            self._wrote,
            self._sends,
            skewed=lambda: wall.unnoticed,
            timer=self._timer,
        )
        idle = self.shadow and not self._weakened.loud
        self._shadowing = Shadowing(
            self._reads,
            self.ledger,
            KINDS,
            kept=self._kept,
            reached=self._reached,
            timer=self._timer,
            remediations=self._remediations(),
        )
        self._attempts = Attempts(
            self._reads,
            IdleWriter(None) if idle else self._writer,  # type: ignore[arg-type] # the same methods
            self.ledger,
            KINDS,
            clock=wall.now,
            kept=self._kept,
            reached=self._reached,
            timer=self._timer,
            remediations=self._remediations(),
            settling=Settling(wall.now, skew=lambda: clocks.skew(wall.now()), timer=self._timer),
        )
        self.leave = Leave(clocks, wall, self.entries, self._beside, self._weakened.ungated)

    def configured(self, *, shadow: bool) -> None:
        """Starts it anew in another mode, if it is in another one."""
        if shadow is not self.shadow:
            self.shadow, self.shadow_since = shadow, self._world.now
            self._starts()

    def _remediations(self) -> Iterator[Remediation]:
        for each in REMEDIATIONS.values():  # all else of them is the same
            yield replace(each, send_seconds=float("inf")) if self._weakened.old else each

    def entries(self) -> Iterable[Entry]:
        found: Iterable[Entry] = self.ledger.entries()
        return found

    def _beside(self) -> Iterator[Entry]:
        for each in self.by_hand:
            yield from each.ledger.entries()

    def _kept(self, entry: Entry) -> None:
        if entry.event is Event.INTENDED:
            self._writer.intended = Intended(entry.plan, entry.attempt, entry.undoes, self._planned, self._began)
        else:
            self._writer.intended = Intended()

    def _reached(self, step: str) -> None:
        if self._dies(step):
            raise Killed(step)

    def attempt(self, remediation: Remediation, hint: Hint) -> Iterator[None]:
        """Until it has ended, or the process has; what has no end in the ledger is settled then."""
        self.begins()
        made: list[Confirmed | Refused] = []

        async def make() -> Confirmed | Refused:
            if made and self._weakened.made_once:
                self._clock.hurried.add(self.name)
                return made[0]
            self.reads_now()
            check, now = CHECKS[hint.check], self.wall.now()
            made.append(await confirm(hint, check, remediation, self._reads, now=now, timer=self._timer))
            return made[-1]

        async def permit(first: Confirmed) -> Refused | None:
            self.permitted(first)
            await Turn("gates", slow=len(made) == 1)
            return self.leave.refused(first, remediation, Mode.SHADOW if self.shadow else Mode.AUTO)

        tries = lambda: self.leave.tries(remediation) if self.on_trial else ""  # noqa: E731
        if self.shadow and not self._weakened.loud:
            yield from self.tried(self._shadowing.run(make, permit))
        else:
            yield from self.tried(self._attempts.run(make, permit, mode="auto", canary=tries))

    def begins(self) -> None:
        """An attempt."""
        self._reads.begin()
        self._planned, self._made = "", 0

    def reads_now(self) -> None:
        """For a plan; from the second one on it is in a hurry."""
        self._made += 1
        if self._made > 1:
            self._clock.hurried.add(self.name)
        self._began = self._world.now

    def permitted(self, first: Confirmed) -> None:
        self._planned = self._planned or first.plan.hash

    def tried(self, work: Coroutine[Any, None, Result]) -> Iterator[None]:
        result = yield from self._driven(work)
        self._clock.hurried.discard(self.name)
        if result is not None:
            self.results.append(result)
        if result is None:
            self._starts()
        if result is None or result.state == AttemptState.UNCLEAR:
            yield from self.settle()

    def settle(self, *, at_last: bool = False) -> Iterator[None]:
        """What has no end; `at_last` it is not killed any more, and looks until it has all."""
        if at_last:
            self._dies = lambda _: False
        for number in range(_ROUNDS if at_last else 2):
            left = self.ledger.unfinished()
            if not left:
                return
            if number:
                yield
                self._clock.passes(self._rng.choice((1.0, 30.0, 60.0)), self.name)
            if (yield from self._driven(self._attempts.settle(left[0]))) is None:
                self._starts()

    def _driven(self, work: Coroutine[Any, None, Result]) -> Generator[None, None, Result | None]:
        """What it results in; None where the process was killed."""
        try:
            while True:
                turn: Turn = work.send(None)
                yield
                if self._dies(turn.what):
                    work.close()
                    return None
                took = self._rng.uniform(0.01, SLOW if turn.slow else CALL) + turn.more
                if turn.what != "answer":  # to what was sent
                    took += self._faults.paused()
                self._clock.passes(took, self.name)
        except StopIteration as ended:
            result: Result = ended.value
            return result
        except Killed:
            return None
        except (KubeError, NotLeadingError):  # as both say that they raise
            return None
        except Exception as error:  # noqa: BLE001 # whatever it is, it is one too many
            self.errors.append(error)
            return None
