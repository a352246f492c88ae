"""The sidecar in an interleaving: the product's attempts and confirmation, driven one call at a time.

It is killed anywhere, and started again with the ledger that it left.

What is assumed of time: no preconditions of a write can say that no VM was created, so what was read has to be younger
at the write than the chain from a new VM to the address of its pod is long. That has three links, of `network.LINK`
seconds each. The product's share: VMs, VMIs and migrations are read last, right before the second plan
(`reconcile.confirm`); after that only the gates, the ledger's entry and the fence follow, and if more than 5 seconds
pass nothing is written (`reconcile.attempt`). So a list, an approval, a dry run or a process that stands still may take
any time here. Only a write that was sent has to arrive within `CALL` seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Iterator
from dataclasses import dataclass, field
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
from reconcile.settling import Settling
from tests.evaluation import api_kinds

from .access import Faults, MemoryLedger, ModelReads, ModelWriter, Turn, Weakened, Write
from .world import World

__all__ = ["CALL", "SLOW", "Clock", "Killed", "Steward", "hint_for"]

CALL, SLOW = 0.06, 8.0
_CHECKS = {check.id: check for check in all_checks()}
_KINDS = api_kinds()


class Killed(BaseException):
    pass


@dataclass
class Clock:
    """Time passes by what the sidecars do. While one is between its last reads and its write, no other is slow."""

    world: World
    hurried: set[str] = field(default_factory=set)

    def passes(self, seconds: float, by: str) -> None:
        self.world.now += min(seconds, CALL) if self.hurried - {by} else seconds


def hint_for(check: str, reason: str, subject: Ref, group: str = "") -> Hint:
    found = Finding(reason=reason, severity=Severity.INFO, subject=subject, message="", group=group)
    return Hint(check, reason, subject, fingerprint(check, found))


class Steward:
    """`wrote` gets each write that the API server took, `dies` is asked at each step whether it is the last one."""

    def __init__(
        self,
        world: World,
        name: str,
        clock: Clock,
        rng: Random,
        *,
        wrote: Callable[[Write], None],
        faults: Faults | None = None,
        weakened: Weakened | None = None,
        dies: Callable[[str], bool] = lambda _: False,
        ledger: Any = None,
    ) -> None:
        self.name, self._world, self._clock, self._rng = name, world, clock, rng
        self._weakened = weakened or Weakened()
        self._dies = dies
        if ledger is None:
            ledger = MemoryLedger(lambda: world.now)
        self.ledger = ledger
        self._faults = faults = faults or Faults()
        self._reads = ModelReads(world, faults, self._weakened)
        self._writer = ModelWriter(world, name, faults, self._weakened, wrote)
        self.results: list[Result] = []
        self.errors: list[Exception] = []
        self._attempts = Attempts(
            self._reads,
            self._writer,  # type: ignore[arg-type] # the same methods
            self.ledger,
            _KINDS | _more_kinds(),
            clock=lambda: world.now,
            kept=self._kept,
            reached=self._reached,
            timer=lambda: world.now,
            # What is not answered was written by then or never is.
            settling=Settling(lambda: world.now, arrives=0.0, timer=lambda: world.now),
        )

    def _kept(self, entry: Entry) -> None:
        self._writer.plan = entry.plan if entry.event is Event.INTENDED else None

    def _reached(self, step: str) -> None:
        if self._dies(step):
            raise Killed(step)

    def attempt(self, remediation: Remediation, hint: Hint) -> Iterator[None]:
        """Until it has ended, or the process has; what has no end in the ledger is settled then."""
        self._reads.begin()
        made: list[Confirmed | Refused] = []
        self._writer.planned = ""

        async def make() -> Confirmed | Refused:
            if made:
                self._clock.hurried.add(self.name)
                if self._weakened.made_once:
                    return made[0]
            check = _CHECKS[hint.check]
            now = self._writer.began = self._world.now
            timer = lambda: self._world.now  # noqa: E731
            made.append(await confirm(hint, check, remediation, self._reads, now=now, timer=timer))
            return made[-1]

        async def permit(first: Confirmed) -> Refused | None:
            self._writer.planned = self._writer.planned or first.plan.hash
            await Turn("gates", slow=len(made) == 1)
            return None

        result = yield from self._driven(self._attempts.run(make, permit, mode="auto"))
        self._clock.hurried.discard(self.name)
        if result is not None:
            self.results.append(result)
        if result is None or result.state == State.UNCLEAR:
            yield from self.settle()

    def settle(self, *, at_last: bool = False) -> Iterator[None]:
        """What has no end; `at_last` it is not killed any more."""
        if at_last:
            self._dies = lambda _: False
        for _ in range(5):
            left = self.ledger.unfinished()
            if not left:
                return
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
                if turn.what != "write":  # which has been sent by then
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


def _more_kinds() -> dict[str, Any]:
    from reconcile.remediations import all_remediations

    return {kind.name: kind for remediation in all_remediations() for kind in remediation.reads}
