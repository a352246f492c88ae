"""What stewards of clusters serve, without the stewards: pages of real families, for Prometheus to scrape.

Findings are those of the checks' case files, so each has the labels that its check gives it; the telemetry has every
family that there is.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec
from prometheus_client import generate_latest

from exporter.checks import all_checks
from exporter.counts import all_states
from exporter.facts.times import Skew
from exporter.findings.check import PER_FLEET
from exporter.findings.finding import Finding
from exporter.findings.severity import Severity
from exporter.metrics.exposition import Exposition
from exporter.metrics.telemetry import BUCKETS, METRICS, PREFIX, CheckState
from exporter.metrics.text import Profile
from reconcile.carry_out.metrics import Measures, ShownRepairs
from reconcile.decide.canary import CanaryState, ShownCanary
from reconcile.decide.gates import GATES, Blocked
from reconcile.decide.repair import Repair
from reconcile.permissions.accounts import NAME as POLICY
from reconcile.plan.annotations import APPROVALS
from reconcile.plan.plan import Refused
from reconcile.plan.remediation import COMMON_PRECONDITIONS
from reconcile.plan.remediations import all_remediations
from tests.check_cases import cases_of, evaluated

__all__ = ["CHECKS", "VMS", "Pages", "Site", "named", "one_of_each"]

CHECKS = tuple(check for check in all_checks() if check.scope is not PER_FLEET)
VMS = 200
POOL = 250  # addresses
EXPIRES = 4102444800  # seconds since 1970: the year 2100


@dataclass(frozen=True)
class Site:
    """The steward of one cluster of 200 VMs: what is open, and the checks that have no answer.

    VMs of clusters with different numbers have different firmware UUIDs. Where there is `trouble` every pool is full,
    and the sidecar's repairs are refused and blocked for each reason that it has. Of its own telemetry it has what the
    `profile` has.
    """

    number: int
    findings: tuple[Finding, ...] = ()
    unknown: frozenset[str] = frozenset()
    trouble: bool = False
    profile: Profile = Profile.DEFAULT

    @cached_property
    def page(self) -> bytes:
        lines = (*self._telemetry(), *_states(self.number, POOL if self.trouble else POOL // 5))
        return _exposition(self.findings) + "".join(lines).encode() + _sidecar(self.trouble)

    def _telemetry(self) -> Iterator[str]:
        values: dict[str, float] = {
            "ready": 1,
            "build_info": 1,
            "config_info": 1,
            "config_reload_success": 1,
            "kind_synced": 1,
            "kind_objects": VMS,
        }
        values["certificate_expiry_timestamp_seconds"] = EXPIRES
        values["kind_current_timestamp_seconds"] = time.time()
        yield "process_start_time_seconds 1.0\n"
        for name, family in METRICS.items():
            if family.type == "histogram":
                yield from _histogram(name) if not family.labels else ()
                continue
            if name == "findings":
                yield from self._counts()
                continue
            suffix = "_total" if family.type == "counter" else ""
            for labels in itertools.product(*(_VALUES.get(label, ("any",)) for label in family.labels)):
                of = dict(zip(family.labels, labels, strict=True))
                value = values.get(name, 0)
                if name == "check_kind_unseen":
                    if of["check"] not in self.unknown or of["kind"] != "Pod":
                        continue  # not there for what is seen
                    value = 1
                if name in ("check_up", "check_state"):
                    value = of.get("state", "answering") == ("unknown" if of["check"] in self.unknown else "answering")
                if family.shown(self.profile, value):
                    yield _line(f"{PREFIX}{name}{suffix}", of, value)

    def _counts(self) -> Iterator[str]:
        """How many of each reason and severity are open; 0 only where the profile has that."""
        counted = Counter((each.check, each.reason, each.severity) for each in self.findings)
        every = ((c.id, reason, s) for c in CHECKS for reason, of in c.reasons.items() for s in of.severities)
        for check, reason, severity in every:
            value = counted[check, reason, severity]
            if METRICS["findings"].shown(self.profile, value):
                labels = {"check": check, "reason": reason, "severity": severity}
                yield _line(f"{PREFIX}findings", labels, value)


_VALUES: Mapping[str, tuple[str, ...]] = {
    "check": tuple(check.id for check in CHECKS),
    "state": tuple(CheckState),
    "kind": tuple(sorted({kind.name for check in CHECKS for kind in check.reads})),
    "family": tuple(sorted({reason.family.name for check in CHECKS for reason in check.reasons.values()})),
    "severity": tuple(Severity),
}


def _histogram(name: str) -> Iterator[str]:
    """Of 100 events that took no time."""
    yield from (_line(f"{PREFIX}{name}_bucket", {"le": f"{each}"}, 100) for each in (*BUCKETS, "+Inf"))
    yield _line(f"{PREFIX}{name}_count", {}, 100)


def _line(name: str, labels: Mapping[str, str], value: float) -> str:
    block = ",".join(f'{label}="{text}"' for label, text in labels.items())
    return f"{name}{{{block}}} {float(value)}\n"


def _exposition(findings: Iterable[Finding]) -> bytes:
    exposition = Exposition(CHECKS)
    exposition.update((), findings)

    async def text() -> bytes:
        return b"".join([part async for part in exposition.render()])

    return asyncio.run(text())


def _states(number: int, used: int) -> Iterator[str]:
    """All at 0 but for pools, of which `used` addresses are, and VMs, each with a firmware UUID of its own."""
    for gauge in (gauge for state in all_states() for gauge in state.gauges):
        value = {"kubevirt_ipam_pool_capacity": POOL, "kubevirt_ipam_pool_used": used}.get(gauge.name, 0)
        for i in range(VMS if "uuid" in gauge.labels else 1):
            uuid = f"{number:04}{i:04}-0000-4000-8000-000000000000"
            of = {"namespace": f"team-{i % 20:02}", "name": f"vm-{i:03}", "uuid": uuid}
            labels = {label: of.get(label, "true" if label == "running" else "any") for label in gauge.labels}
            yield _line(gauge.name, labels, value)


def _sidecar(trouble: bool) -> bytes:
    board, ids = ShownRepairs(), {remediation.id for remediation in all_remediations()}
    if trouble:
        asyncio.run(_troubled(board))
    measures = Measures(all_remediations(), dict.fromkeys(ids, "approve"), board, ids, lambda: EXPIRES)
    measures.standing.leading = measures.standing.ledger_writable = measures.standing.source_up = True
    state: CanaryState = "stopped" if trouble else "over"
    measures.standing.canaries = [ShownCanary(remediation=each, state=state) for each in sorted(ids)]
    measures.standing.skew = Skew(ahead=45.0 if trouble else 0.1, spread=0.0, host="the node of the sidecar")
    measures.standing.policies = dict.fromkeys((POLICY, APPROVALS), not trouble)
    return generate_latest(measures.registry)


async def _troubled(board: ShownRepairs) -> None:
    blocked = tuple(Blocked(gate.id, "") for gate in GATES)
    for each in all_remediations():
        names = (*COMMON_PRECONDITIONS, *each.preconditions, *(gate.id for gate in GATES if gate.reads))
        repair = Repair(
            fingerprint="blocked",
            remediation=each.id,
            check="",
            reason="",
            namespace="",
            mode="approve",
            state="",
            at=0,
        )
        for name in names:
            await board.put(msgspec.structs.replace(repair, fingerprint=name).unplanned(Refused(name, "")))
        await board.put(msgspec.structs.replace(repair, state="blocked", blocked=blocked))


@cache
def _samples() -> Mapping[tuple[str, str, Severity], Finding]:
    """A finding of each reason of each check in each of its severities, out of the case files."""
    found: dict[tuple[str, str, Severity], Finding] = {}
    for check in CHECKS:
        for case in cases_of(check).values():
            expected = () if case["finds"] == "unknown" else case["finds"]
            if not {(check.id, f["reason"], Severity(f["severity"])) for f in expected} <= found.keys():
                for finding in evaluated(check, case).engine.findings():
                    found.setdefault((check.id, finding.reason, finding.severity), finding)
    return found


def one_of_each() -> tuple[Finding, ...]:
    """One of each reason in each of its severities, about objects of their own in 20 namespaces, and two nodes."""
    return tuple(
        _about(finding, f"{i:03}", namespace=f"team-{i % 20:02}") for i, finding in enumerate(_samples().values())
    )


def named(reason: str, suffix: str, *, namespace: str = "", node: str = "") -> Finding:
    """The finding of a reason, in its usual severity, about another object: its name and its VM's end in `suffix`."""
    check = next(check for check in CHECKS if reason in check.reasons)
    usual = _samples()[check.id, reason, check.reasons[reason].severities[0]]
    return _about(usual, suffix, namespace=namespace, node=node)


def _about(finding: Finding, suffix: str, *, namespace: str = "", node: str = "") -> Finding:
    subject, of_vm = finding.subject, f"-{suffix}"
    if subject.kind not in _ONE_OF_A_KIND:
        subject = msgspec.structs.replace(
            subject, namespace=subject.namespace and namespace, name=subject.name + of_vm, uid=subject.uid + of_vm
        )
    made = msgspec.structs.replace(
        finding,
        subject=subject,
        vm=finding.vm and finding.vm + of_vm,
        node=finding.node and (node or finding.node),
        fingerprint=f"{finding.reason}-{suffix}",
    )
    check = next(check for check in CHECKS if check.id == finding.check)
    return msgspec.structs.replace(made, cause=check.cause_id(made))


_ONE_OF_A_KIND = ("Kind", "KubeVirt", "Node", "Service", "Deployment", "MutatingWebhookConfiguration")


@dataclass
class Pages:
    """Serves the page of each site, by its name, at /NAME/metrics. One that is taken out is not there any more."""

    sites: dict[str, Site] = field(default_factory=dict)

    def __post_init__(self) -> None:
        sites = self.sites

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site = sites.get(self.path.split("/")[1])
                if site is None:
                    self.send_error(404)
                    return
                page = site.page
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(page)))
                self.end_headers()
                self.wfile.write(page)

            def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def scrape_config(self, replicas: int = 2) -> dict[str, object]:
        """Each site is a cluster of its own, with this many replicas that agree."""
        targets = [
            {"targets": [self.address], "labels": {"__metrics_path__": f"/{name}/metrics", "cluster": name, **replica}}
            for name in self.sites
            for replica in ({"instance": f"{name}-{i}", "pod": f"steward-{i}"} for i in range(replicas))
        ]
        return {"job_name": "steward", "honor_labels": True, "static_configs": targets}
