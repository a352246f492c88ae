"""The sidecar in an interleaving: the product's attempts and confirmation, driven one call at a time.

It is killed anywhere, and started again with the ledger that it left.

What is assumed of time: no preconditions of a write can say that no VM was created, so what was read has to be younger
at the write than the chain from a new VM to the address of its pod is long. That has three links, of `network.LINK`
seconds each. The product's share: VMs, VMIs and migrations are read last, right before the second plan
(`reconcile.confirm`); after that only the gates, the ledger's entry and the fence follow, and if more than 5 seconds
pass nothing is written (`reconcile.attempt`). So a list, an approval, a dry run or a process that stands still may take
any time here.

What was sent may arrive up to a minute later (`writer`): at the moment of sending everything has to be right. What
changes before it arrives nobody can know; a sidecar has to say what came of that (`invariants`).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Iterator
from random import Random
from typing import Any

from exporter.checks import all_checks
from exporter.findings import Finding, Severity, fingerprint
from exporter.kube.errors import KubeError
from exporter.model.record import Ref
from reconcile.attempt import Attempts, Result, State
from reconcile.confirm import Confirmed, Hint, confirm
from reconcile.ledger import Entry, Event
from reconcile.plan import Refused
from reconcile.remediation import Remediation
from reconcile.remediations import all_remediations
from tests.evaluation import api_kinds

from .access import Faults, ModelReads, Turn, Weakened
from .clocks import CALL, Clock, WallClock
from .memory import MemoryLedger
from .world import World
from .writer import Intended, ModelWriter, Write

__all__ = ["KINDS", "SLOW", "Killed", "Steward", "hint_for"]

SLOW = 8.0
_ROUNDS = 12  # of looks at what is not settled
_CHECKS = {check.id: check for check in all_checks()}
KINDS = api_kinds() | {kind.name: kind for remediation in all_remediations() for kind in remediation.reads}


class Killed(BaseException):
    pass


def hint_for(check: str, reason: str, subject: Ref, group: str = "") -> Hint:
    found = Finding(reason=reason, severity=Severity.INFO, subject=subject, message="", group=group)
    return Hint(check, reason, subject, fingerprint(check, found))


class Steward:
    """`sends` and `wrote` are those of its writer, `dies` is asked at each step whether it is the last one."""

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
        self._faults = faults = faults or Faults()
        self._reads = ModelReads(world, faults, self._weakened)
        self._writer = ModelWriter(world, name, faults, self._weakened, wrote, sends, skewed=lambda: wall.unnoticed)
        self._planned, self._began, self._made = "", 0.0, 0
        self.results: list[Result] = []
        self.errors: list[Exception] = []
        self._attempts = Attempts(
            self._reads,
            self._writer,  # type: ignore[arg-type] # the same methods
            self.ledger,
            KINDS,
            clock=wall.now,
            kept=self._kept,
            reached=self._reached,
            timer=lambda: world.now,
        )

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
            timer = lambda: self._world.now  # noqa: E731
            check = _CHECKS[hint.check]
            made.append(await confirm(hint, check, remediation, self._reads, now=self.wall.now(), timer=timer))
            return made[-1]

        async def permit(first: Confirmed) -> Refused | None:
            self.permitted(first)
            await Turn("gates", slow=len(made) == 1)
            return None

        yield from self.tried(self._attempts.run(make, permit, mode="auto"))

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
        if result is None or result.state == State.UNCLEAR:
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
                self._clock.passes(self._rng.choice((1.0, 20.0, 40.0)), self.name)
            yield from self._driven(self._attempts.settle(left[0]))

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
                if turn.what not in ("write", "answer"):  # which has been sent by then
                    took += self._faults.paused()
                self._clock.passes(took, self.name)
        except StopIteration as ended:
            result: Result = ended.value
            return result
        except Killed:
            return None
        except KubeError:  # as both say that they raise
            return None
        except Exception as error:  # noqa: BLE001 # whatever it is, it is one too many
            self.errors.append(error)
            return None
