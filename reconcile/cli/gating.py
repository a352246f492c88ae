"""What the gates say to a command of a person: those that the sidecar asks, on what can be read from here."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..app import labels_of
from ..carry_out.alertmanager import Silences
from ..carry_out.confirm import Confirmed
from ..carry_out.finding_source import Observed
from ..carry_out.permission import pausable
from ..carry_out.situation import VMCounts, labels_of_namespace, of_namespace, upgrading
from ..config.settings import Mode, mode_of
from ..decide.gates import Ask, Blocked, Situation, blocked, half_used
from ..decide.repair import Found
from ..ledger.history import History
from ..plan.plan import Refused
from ..plan.remediation import Remediation
from .leases import standing
from .ledger_pages import history_of
from .session import Session

_SIDECAR = frozenset({Mode.SHADOW, Mode.APPROVE, Mode.AUTO})


class Gating:
    """Asks the gates. What was read once for all findings is kept for one command."""

    def __init__(self, at: Session, observed: Observed, directory: Path | None, ledger: str = "") -> None:
        """`directory` is that of the ledger that the command reads, None where there is none; `ledger` says why it
        can't be written.
        """
        self._at, self._observed, self._ledger = at, observed, ledger
        self._directory, self._vms = directory, VMCounts(at.reads, time.monotonic)
        self._situation: Situation | None = None
        self._shadow = History(shadow=True)
        self._namespaces: dict[str, Mapping[str, Any] | None] = {}
        self._labels: dict[str, Mapping[str, str] | None] = {}

    async def blocked(
        self, found: Found, remediation: Remediation, made: Confirmed, mode: Mode, written: int = 0
    ) -> tuple[Blocked, ...]:
        """What is in the way of a plan that is carried out in a mode, after so many writes of the same command."""
        at, namespace = self._at, found.namespace
        if self._situation is None:
            self._situation = await self._now()
            self._shadow = self._situation.history.in_shadow()
        if namespace not in self._namespaces:
            self._namespaces[namespace] = await of_namespace(at.reads, namespace)
        ask = Ask(
            remediation=remediation,
            namespace=namespace,
            subject=found.hint.subject,
            check=found.hint.check,
            fingerprint=found.hint.fingerprint,
            mode=mode,
            target=made.plan.bound_to,
            vm=made.plan.vm or found.vm,
            since=found.since,
            labels=labels_of(found, at.checks),
            annotations=await pausable(at.reads, made, found),
            planned=written,
        )
        if at.config.by_labels(remediation.id, namespace) and namespace not in self._labels:
            self._labels[namespace] = await labels_of_namespace(at.reads, namespace)
        situation = replace(self._situation, namespaces=self._namespaces, labels=self._labels)
        if mode is Mode.SHADOW:
            situation = replace(situation, history=self._shadow)
        if half_used(situation, at.config):
            situation = replace(situation, vms={namespace: await self._vms.within(namespace)})
        return blocked(ask, situation, at.config)

    async def refused(
        self, found: Found, remediation: Remediation, made: Confirmed, mode: Mode, written: int = 0
    ) -> Refused | None:
        """The first gate that is closed, right before a write: all is read again."""
        self._situation = None
        self._namespaces.clear()
        self._labels.clear()
        return first(await self.blocked(found, remediation, made, mode, written))

    async def _now(self) -> Situation:
        """A person needs no Lease: the preconditions of the write keep two of them apart. Whoever approves leaves the
        write to the sidecar that holds it.
        """
        at, observed, now = self._at, self._observed, time.time()
        paused, storms = await standing(at)
        return Situation(
            now=now,
            leading=True,
            paused=paused,
            namespaces={},
            history=history_of(self._directory, now) if self._directory is not None else History(),
            storm=storms.fleet,
            fleet=await self._vms.total(),
            source_age=observed.age,
            ready=observed.ready,
            unknown_checks=observed.unknown,
            upgrading=await upgrading(at.reads),
            silenced=await Silences(at.config.alertmanager, time.monotonic, 0.0).silenced(),
            ledger=self._ledger,
            skew=at.transport.clocks.skew(now),
            by_hand=tuple,  # their entries are among the others
            storms=storms.namespaces,
        )


async def mode_at(at: Session, remediation: str, namespace: str) -> Mode:
    """By the configuration, and by the labels of the namespace where it depends on them."""
    labels = await labels_of_namespace(at.reads, namespace) if at.config.by_labels(remediation, namespace) else {}
    return mode_of(at.config, remediation, namespace, labels)


def asked_as(mode: Mode) -> Mode:
    """As what a plan is considered that is only shown: what its mode does not carry out, a person may."""
    return mode if mode in _SIDECAR else Mode.APPLY


def first(gates: tuple[Blocked, ...]) -> Refused | None:
    return Refused(gates[0].gate, gates[0].why) if gates else None
