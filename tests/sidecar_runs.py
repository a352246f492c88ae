"""A sidecar in this process, with an API server, a ledger and findings that a test sets."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exporter.checks import all_checks
from exporter.config.settings import Config as ExporterConfig
from exporter.facts.times import Skew
from exporter.kube.transport import Transport
from reconcile.app import checks_of, kinds_of
from reconcile.carry_out.alertmanager import Silences
from reconcile.carry_out.attempt import Attempts, Shadowing
from reconcile.carry_out.execute import PlanWriter
from reconcile.carry_out.finding_source import Observed, SourceError
from reconcile.carry_out.fresh_reads import ApiReads
from reconcile.carry_out.metrics import Measures, ShownRepairs
from reconcile.carry_out.outcomes import AttemptOutcomes
from reconcile.carry_out.pauses import Pauses
from reconcile.carry_out.permission import RunContext
from reconcile.carry_out.sidecar import Sidecar
from reconcile.carry_out.situation import VMCounts
from reconcile.carry_out.verifying import Verifying
from reconcile.config.settings import SidecarConfig, model_of
from reconcile.decide.repair import Found, Hint, Repair
from reconcile.ledger import Entry, Ledger
from reconcile.ledger.history import History
from reconcile.ledger.manual import ManualLedger
from reconcile.ledger.settling import Settling
from reconcile.plan.remediations import all_remediations
from tests.evaluation import NOW, Evaluation
from tests.fakeapi.apiserver import FakeApiServer
from tests.rows import full
from tests.secure_server import config as kubeconfig

KUBEVIRT = full({"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt"})


NAMESPACES = [full({"kind": "Namespace", "name": name}) for name in ("ns", "other", "kubevirt")]


def orphan(name: str, namespace: str = "ns", **meta: Any) -> dict[str, Any]:
    row = {"kind": "IPAMClaim", "namespace": namespace, "name": f"{name}.blue", "vm": name, "owner": f"gone-{name}"}
    made = full(row)
    made["metadata"] |= meta
    return made


class Leader:
    """The Lease is held; nothing of it travels."""

    leading = True
    leader = "me"

    def __init__(self) -> None:
        self.state: dict[str, str] = {}

    async def assure(self, seconds: float) -> None:
        pass

    async def publish(self, state: Mapping[str, str | None]) -> None:
        self.state |= {name: text or "" for name, text in state.items()}


@dataclass
class Running:
    """A sidecar on an API server; the findings are those of the check on what the server has."""

    server: FakeApiServer
    sidecar: Sidecar
    board: ShownRepairs
    ledger: Ledger
    leader: Leader
    source: Findings
    clock: list[float] = field(default_factory=list)
    skew: list[Skew | None] = field(default_factory=list)
    timer: list[float] = field(default_factory=list)

    async def run(self) -> int:
        return await self.sidecar.once()

    def appear(self, *objects: dict[str, Any]) -> None:
        """On the API server, and for the check."""
        self.server.load(objects)
        self.source.objects = [*self.source.objects, *objects]

    def repair(self, name: str = "db", remediation: str = "delete_orphan_ipam_claim") -> Repair:
        fingerprint = next(f.hint.fingerprint for f in self.source.found() if f.hint.subject.name == f"{name}.blue")
        found = self.board.get(fingerprint, remediation)
        assert found is not None
        return found

    def state(self, name: str = "db") -> str:
        return self.repair(name).state

    def gates(self, name: str = "db") -> list[str]:
        return [each.gate for each in self.repair(name).blocked]

    def writes(self) -> list[tuple[str, str]]:
        """Those that are no dry run, and no Event."""
        return [
            (call.method, call.path.rpartition("/")[2])
            for call in self.server.requests
            if call.method != "GET" and not call.path.endswith("/events") and not _dry(call)
        ]


def _dry(call: Any) -> bool:
    body = json.loads(call.body or "{}")
    return bool("dryRun" in call.query or (isinstance(body, dict) and body.get("dryRun")))


class Findings:
    """Those of `check` on the objects that are given."""

    def __init__(self, objects: list[dict[str, Any]]) -> None:
        self.objects, self.check = objects, "ipam_claims"
        self.fleet, self.ready, self.age, self.down = 1000, True, 0.0, False
        self.unknown: frozenset[str] = frozenset()

    def found(self) -> list[Found]:
        evaluation = Evaluation([check for check in all_checks() if check.id == self.check])
        for each in self.objects:
            evaluation.seen(each)
        evaluation.evaluate()
        return [
            Found(Hint.of(f), f.severity, f.message, f.vm, f.since, cause=f.cause) for f in evaluation.engine.findings()
        ]

    async def observed(self) -> Observed:
        if self.down:
            raise SourceError("cannot read the findings: nobody answers")
        return Observed(tuple(self.found()), self.unknown, self.ready, self.fleet, self.age)

    async def changed(self, seconds: float) -> None:
        raise AssertionError


@asynccontextmanager
async def on(
    tmp_path: Path, settings: dict[str, Any], *objects: dict[str, Any], now: float = NOW
) -> AsyncIterator[Running]:
    """Without a canary, unless the settings say so. `now` is when it is started."""
    settings = {"canary": {"enabled": False}, **settings}
    server = FakeApiServer()
    server.load([*NAMESPACES, KUBEVIRT, *objects])
    await server.start()
    transport = Transport.from_environment(kubeconfig(tmp_path / "kubeconfig", server.url))
    config: SidecarConfig = model_of(all_remediations()).model_validate(settings, by_alias=True, by_name=False)
    clock = [now]
    try:
        with Ledger.open(tmp_path / "ledger", clock=lambda: clock[0]) as ledger:
            yield _made(server, transport, config, ledger, Findings(list(objects)), clock)
    finally:
        await transport.close()
        await server.stop()


def _made(
    server: FakeApiServer,
    transport: Transport,
    config: SidecarConfig,
    ledger: Ledger,
    source: Findings,
    clock: list[float],
) -> Running:
    remediations, checks, reads = all_remediations(), checks_of(ExporterConfig()), ApiReads(transport)
    kinds, board, leader = kinds_of(remediations), ShownRepairs(), Leader()
    entries = list(ledger.entries())
    following, history = AttemptOutcomes(entries, keep=86_400), History.of(entries, clock[0])
    if not entries:
        history.began(clock[0])
    measures = Measures(remediations, {}, board)

    in_shadow = history.in_shadow()

    def kept(entry: Entry) -> None:
        history.add(entry)
        in_shadow.add(entry)
        following.add(entry)

    now = lambda: clock[0]  # noqa: E731
    skew, timer = [Skew(0.0, 0.0, "here")], [0.0]
    settling = Settling(now, timer=lambda: timer[0])
    attempts = Attempts(
        reads,
        PlanWriter(transport),
        ledger,
        kinds,
        clock=now,
        fence=leader,
        kept=kept,
        remediations=remediations,
        settling=settling,
    )
    parts = RunContext(
        config=config,
        remediations=remediations,
        checks=checks.by_id,
        settings=checks.settings,
        assumed="",
        kinds=kinds,
        reads=reads,
        vms=VMCounts(reads, now),
        attempts=attempts,
        shadowing=Shadowing(reads, ledger, kinds, kept=kept, remediations=remediations),
        kept=kept,
        following=following,
        repairs=board,
        measures=measures,
        paused=lambda: leader.state.get("paused", ""),
        labels=lambda _: {},
        clock=now,
        skew=lambda: skew[0],
        timer=lambda: 0.0,
    )
    by_hand = ManualLedger(ledger.directory, timer=lambda: timer[0])
    verifying = Verifying(
        following,
        ledger,
        reads,
        kinds,
        checks.by_id,
        checks.settings,
        measures=measures,
        kept=kept,
        takers=by_hand.takers,
        skew=lambda: skew[0],
    )
    pauses, silences = Pauses(history, ledger, reads, kinds, kept=kept), Silences(config.alertmanager, now, 0.0)
    after = verifying, history, pauses, silences, by_hand
    sidecar = Sidecar(parts, source, ledger, leader, *after, shadow=in_shadow)  # type: ignore[arg-type]
    return Running(server, sidecar, board, ledger, leader, source, clock, skew, timer)  # type: ignore[arg-type]


def auto(**settings: Any) -> dict[str, Any]:
    return {"remediations": {"delete_orphan_ipam_claim": {"mode": "auto", "minAge": "0s"}}, **settings}
