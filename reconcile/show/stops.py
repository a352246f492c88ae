"""Which canaries stopped, of which repair and why, and who resumed them: by the entries of a ledger. Pure."""

from __future__ import annotations

import msgspec

from ..ledger import Entry, Event
from ..ledger.trials import Trials, scope_of
from ..plan.annotations import said_by


class CanaryStop(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True):
    """A remediation in mode `auto` whose first repairs did not hold. `at` and `resumed` are in seconds since 1970, the
    latter None while it is stopped; `by` is who resumed it, and `because` what they said. `object` is as in "Kind
    namespace/name".
    """

    remediation: str
    at: float
    why: str
    object: str
    attempt: str
    check: str = ""
    reason: str = ""
    fingerprint: str = ""
    resumed: float | None = None
    by: str = ""
    because: str = ""


class Stops:
    """Entries go in by `take`, the oldest first."""

    def __init__(self) -> None:
        self.found: list[CanaryStop] = []
        self._trials = Trials()
        self._begun: dict[str, tuple[str, str, str]] = {}  # check, reason and fingerprint, by attempt

    def take(self, entry: Entry) -> Entry:
        """Notes what it says of a canary, and passes it on."""
        if entry.event is Event.INTENDED and entry.canary and entry.plan is not None:
            self._begun[entry.attempt] = entry.plan.check, entry.plan.reason, entry.plan.fingerprint
        struck = {name: canary.strike for name, canary in self._trials.kept.items()}
        self._trials.add(entry)
        for name, canary in self._trials.kept.items():
            strike = canary.strike
            if strike is not None and struck.get(name) is None:
                check, reason, fingerprint = self._begun.get(strike.attempt, ("", "", ""))
                self.found.append(
                    CanaryStop(
                        remediation=name,
                        at=strike.at,
                        why=strike.why,
                        object=strike.object,
                        attempt=strike.attempt,
                        check=check,
                        reason=reason,
                        fingerprint=fingerprint,
                    )
                )
        if entry.event is Event.RESUMED:
            self._resumed(entry)
        return entry

    def _resumed(self, entry: Entry) -> None:
        for stop in self.found:
            if stop.resumed is None and entry.scope == scope_of(stop.remediation):
                by = said_by(entry.by, authorized=entry.authorized)
                stop.resumed, stop.by, stop.because = entry.at, by, entry.why
