"""The only place that constructs the sidecar's parts, and ends them in order.

Beside them it asks whether the API server holds the sidecar to its plans, and people to what they may approve.

The sidecar serves its metrics, the plans, and health.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from aiohttp import web
from prometheus_client import generate_latest

from exporter.checks import all_checks
from exporter.config.forms import address
from exporter.config.settings import Config as ExporterConfig
from exporter.findings.check import PER_FLEET, Check
from exporter.kube.background import alongside
from exporter.kube.get_json import JSONServer
from exporter.kube.reviews import Reviews
from exporter.kube.transport import Transport
from exporter.serve.access.access import Access
from exporter.serve.access.decisions import Times
from exporter.serve.application import Guard, application, serving
from exporter.serve.server.certificates import certificates_of
from exporter.serve.server.sending import json_answer
from exporter.store.kind import ApiKind

from .carry_out.alertmanager import Silences, alert_labels
from .carry_out.attempt import Attempts, Shadowing
from .carry_out.execute import IdleWriter, PlanWriter, ServerAnswer
from .carry_out.finding_source import ExporterSource, FindingSource
from .carry_out.fresh_reads import ApiReads
from .carry_out.lease import Election
from .carry_out.lease_record import LeaseApi, NoElection
from .carry_out.ledger_in_lease import LedgerInLease
from .carry_out.metrics import Measures, RepairTotals, ShownRepairs
from .carry_out.outcomes import AttemptOutcomes
from .carry_out.pauses import Pauses
from .carry_out.permission import RunContext
from .carry_out.sidecar import Sidecar
from .carry_out.situation import VMCounts
from .carry_out.verifying import Verifying
from .config.settings import SidecarConfig, may_write, mode_of, shadows
from .decide.gates import Labels
from .decide.repair import Found
from .ledger import Entry, Ledger, Retention
from .ledger.history import History
from .ledger.manual import ManualLedger
from .ledger.settling import Settling
from .permissions.accounts import NAME as POLICY
from .plan.annotations import APPROVALS, PREFIX, paused_by
from .plan.guards import gathered
from .plan.remediation import Remediation
from .plan.remediations import all_remediations

_LONGEST_WAIT = 60.0


def build(
    board: ShownRepairs, measures: Measures, modes: Mapping[str, str], instance: str, guard: Guard | None = None
) -> web.Application:
    """`instance` is the ID of this run."""

    async def plans(request: web.Request) -> web.StreamResponse:
        await _wait(request, board, instance)
        repairs = board.all()
        answer = {
            "generation": f"{instance}.{board.generation}",
            "leading": measures.standing.leading,
            "leader": measures.standing.leader,
            "modes": dict(modes),
            "canaries": measures.standing.canaries,
            "unseen": gathered(each.refused for each in repairs),
            "repairs": repairs,
        }
        return await json_answer(request, instance, answer)

    async def metrics(_: web.Request) -> web.StreamResponse:
        body = generate_latest(measures.registry)
        return web.Response(body=body, headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})

    def readyz() -> str:
        """A replica that waits for the Lease is ready; it reads no findings until it leads."""
        now = measures.standing
        return "" if now.source_up or not now.leading else "the findings haven't been read yet"

    return application({"/api/v1/plans": plans, "/metrics": metrics}, readyz, guard=guard)


async def _wait(request: web.Request, board: ShownRepairs, instance: str) -> None:
    """Until the generation is another one than `since`, for `wait` seconds at most."""
    text, since = request.query.get("wait", ""), request.query.get("since", "")
    if not text.isdecimal() or not since:
        return
    try:
        async with asyncio.timeout(min(float(text), _LONGEST_WAIT)), board.changed:
            await board.changed.wait_for(lambda: f"{instance}.{board.generation}" != since)
    except TimeoutError:
        return


log = logging.getLogger(__name__)
_AGAIN, _MISSING = 300.0, 30.0  # seconds until somebody may have deleted a policy, or applied one that was missing

Ask: TypeAlias = Callable[[], Awaitable[tuple[bool | None, str]]]


class PolicyProof:
    """Where a remediation may write, at the start, and again. It keeps nothing from being written: RBAC and
    the gates hold without a policy, which is the last thing in the way of whoever has the sidecar's token.
    """

    def __init__(self, ask: Mapping[str, Ask], standing: RepairTotals) -> None:
        """For each policy what says whether it refuses what it has to, and why not; None where it was not answered."""
        self._ask, self._standing = ask, standing
        self._unknown: dict[str, str] = {}  # why, of each that was last not known

    async def look(self) -> None:
        for policy, ask in self._ask.items():
            there, why = await ask()
            unknown, self._unknown[policy] = self._unknown.get(policy), why if there is None else ""
            if there is None:
                if unknown != why:
                    log.warning('event="policy check failed" policy=%s why="%s"', policy, why)
                continue
            before = self._standing.policies.get(policy)
            if there is not before and not there:
                log.error('event="policy missing" policy=%s why="%s"', policy, why)
            elif there is not before:
                log.info('event="policy found" policy=%s', policy)
            self._standing.policies = {**self._standing.policies, policy: there}

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(_AGAIN if all(map(self._standing.policies.get, self._ask)) else _MISSING)


_IDENTIFYING = 5.0  # seconds
_POD_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


@dataclass(frozen=True)
class Checks:
    """The checks, as the exporter's configuration sets them."""

    by_id: Mapping[str, Check]
    settings: Mapping[str, Any]
    assumed: str


def checks_of(config: ExporterConfig) -> Checks:
    enabled = [check for check in all_checks() if check.scope is not PER_FLEET and config.of(check.id).enabled]
    settings = {check.id: config.of(check.id).settings or check.settings() for check in enabled if check.settings}
    return Checks({check.id: check for check in enabled}, settings, config.assume_upstream_version or "")


def kinds_of(remediations: tuple[Remediation, ...]) -> dict[str, ApiKind[Any]]:
    """Every kind that a check or a remediation reads."""
    readers = (*(kind for check in all_checks() for kind in check.reads), *(k for r in remediations for k in r.reads))
    return {kind.name: kind for kind in readers if isinstance(kind, ApiKind)}


@asynccontextmanager
async def run(
    config: SidecarConfig,
    transport: Transport,
    exporter: ExporterConfig,
    *,
    source: FindingSource | None = None,
    identity: str = "",
    clock: Callable[[], float] = time.time,
    reached: Callable[[str], None] = lambda _: None,
    reviews: Reviews | None = None,
    times: Times | None = None,
    wall: Callable[[], float] | None = None,
    arrives: float | None = None,
    policies: bool = True,
) -> AsyncIterator[tuple[str, Sidecar]]:
    """The sidecar, at work while entered, and its URL. With TLS only those are answered who may see what they ask for,
    by the `reviews` of the API server. `wall` is the clock that is compared with the API server's, where that is not
    `clock`, and `arrives` stands for `settleAfter`, in seconds. Without `policies` nobody asks whether the API server
    has them. Raises OSError, LedgerError, ConfigError.
    """
    remediations, tls = all_remediations(), certificates_of(config.tls, config.insecure)
    if tls is not None:
        reviews = reviews or Reviews(transport)
    kinds, checks = kinds_of(remediations), checks_of(exporter)
    async with AsyncExitStack() as ends:
        await transport.load()
        ends.push_async_callback(transport.close)
        ledger = ends.enter_context(_ledger(config, clock))
        keep = config.edit_war.within.total_seconds()
        following, history = (
            AttemptOutcomes(keep=keep),
            History(keep=keep, returns=config.edit_war.returns, clock=clock),
        )
        ledger.recall(history=history, following=following)
        history.forget(clock())
        if not ledger.head.seq:
            history.began(clock())
        in_shadow, writes = history.in_shadow(), may_write(config, remediations)
        board, reads = ShownRepairs(), ApiReads(transport)
        writer = PlanWriter(transport) if writes else IdleWriter(transport)
        in_lease = LedgerInLease(ledger)
        with suppress(TimeoutError):  # it is tried again, beside all else
            async with asyncio.timeout(_IDENTIFYING):
                await in_lease.identify(reads, once=True)
        election: Election | NoElection
        if writes:
            election = _election(config, transport, identity, in_lease)
        else:
            election = NoElection(_lease(config, transport), lambda: shadows(parts.config, remediations))
        modes = {each.id: mode_of(config, each.id, "").value for each in remediations}
        enabled = {each.id for each in remediations if may_write(config, [each])}
        measures = Measures(remediations, modes, board, enabled, lambda: None if tls is None else tls.expires)

        def kept(entry: Entry) -> None:
            history.add(entry)
            in_shadow.add(entry)
            following.add(entry)

        async def annotate(path: str, annotations: Mapping[str, str | None]) -> ServerAnswer:
            await election.assure(writer.seconds)
            return await writer.annotate(path, annotations)

        arrives = config.settle_after.total_seconds() if arrives is None else arrives
        skew = lambda: transport.clocks.skew((wall or clock)())  # noqa: E731
        attempts = Attempts(
            reads,
            writer,
            ledger,
            kinds,
            clock=clock,
            fence=election,
            kept=kept,
            reached=reached,
            remediations=remediations,
            settling=Settling(clock, arrives=arrives, skew=skew),
        )
        parts = RunContext(
            config=config,
            remediations=remediations,
            checks=checks.by_id,
            settings=checks.settings,
            assumed=checks.assumed,
            kinds=kinds,
            reads=reads,
            vms=VMCounts(reads, time.monotonic),
            attempts=attempts,
            kept=kept,
            shadowing=Shadowing(reads, ledger, kinds, kept=kept, reached=reached, remediations=remediations),
            following=following,
            repairs=board,
            measures=measures,
            paused=lambda: _paused(election),
            labels=lambda found: labels_of(found, checks),
            clock=clock,
            skew=skew,
            timer=time.monotonic,
        )
        by_hand = ManualLedger(ledger.directory, arrives=arrives)
        verifying = Verifying(
            following,
            ledger,
            reads,
            kinds,
            checks.by_id,
            checks.settings,
            assumed=checks.assumed,
            measures=measures,
            kept=kept,
            takers=by_hand.takers,
            skew=skew,
        )
        found = source or _exporter(config, clock)
        pauses = Pauses(
            history,
            ledger,
            reads,
            kinds,
            kept=kept,
            annotate=annotate,
            authorized=lambda: measures.standing.authorizing,
        )
        silences = Silences(config.alertmanager, time.monotonic, config.interval.total_seconds())
        sidecar = Sidecar(
            parts, found, ledger, election, verifying, history, pauses, silences, by_hand, shadow=in_shadow
        )
        ours = lease_namespace(config)
        policy_proof = PolicyProof(
            {POLICY: lambda: writer.guarded(ours), APPROVALS: lambda: writer.authorizing(ours)}, measures.standing
        )
        access = Access(reviews, times=times) if reviews else None
        app = build(board, measures, modes, secrets.token_hex(4), access)
        async with (
            serving(app, *address(config.listen), tls, config.hosts) as url,
            aclosing(access) if access else nullcontext(),
            alongside(
                {"identify": in_lease.identify(reads), "elect": election.run(), "repair": sidecar.run()}
                | ({"guard": policy_proof.run()} if writes and policies else {})
            ),
        ):
            yield url, sidecar


def _paused(election: Election | NoElection) -> str | None:
    """By the annotation of the Lease, which each renewal reads anew; None where it could not be read."""
    if isinstance(election, NoElection) and not election.seen:
        return None
    said = paused_by({f"{PREFIX}{name}": text for name, text in election.state.items()})
    return "without a reason" if said == "" else said or ""


def labels_of(found: Found, checks: Checks) -> Labels:
    """Of the alert of a finding."""
    hint = found.hint
    check = checks.by_id.get(hint.check)
    reason = check.reasons.get(hint.reason) if check is not None else None
    return alert_labels(reason.alert if reason is not None else "", hint.check, hint.reason, hint.subject, found.vm)


def _ledger(config: SidecarConfig, clock: Callable[[], float]) -> Ledger:
    given = config.ledger
    kept = Retention(given.max_age.total_seconds(), given.max_size)
    return Ledger.open(Path(given.directory), clock=clock, max_bytes=given.max_file_size, retention=kept)


def _election(config: SidecarConfig, transport: Transport, identity: str, in_lease: LedgerInLease) -> Election:
    return Election(
        transport,
        namespace=lease_namespace(config),
        name=config.lease.name,
        identity=identity or f"{socket.gethostname()}_{secrets.token_hex(4)}",
        duration=config.lease.duration.total_seconds(),
        carry=in_lease.travelling,
    )


def _lease(config: SidecarConfig, transport: Transport) -> LeaseApi:
    return LeaseApi(transport, lease_namespace(config), config.lease.name)


def _exporter(config: SidecarConfig, clock: Callable[[], float]) -> ExporterSource:
    given = config.source
    exporter = JSONServer(
        (given.url or "").rstrip("/"), given.token_file or "", given.ca_file or "", given.server_name or ""
    )
    return ExporterSource(exporter, clock)


def lease_namespace(config: SidecarConfig) -> str:
    """The configured one, else the pod's."""
    return config.lease.namespace or pod_namespace() or "default"


def pod_namespace() -> str:
    """Empty outside of a pod."""
    if _POD_NAMESPACE.exists():
        return _POD_NAMESPACE.read_text("utf-8").strip()
    return os.environ.get("POD_NAMESPACE", "")
