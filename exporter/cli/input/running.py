"""The report of a steward that runs: what it finds, and since when it is a witness of that."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable

import msgspec

from ...findings.finding import Unknown
from ...findings.severity import Severity
from ...kube.errors import MALFORMED
from ...kube.get_json import GetError, JSONServer
from ...store.text.since import Since
from ...views.causes import CauseReport, KnownCause, cause_order
from ...views.drain import Drain, NodeReport
from ...views.findings import FindingReport, NotApplicable, Report, SourceReport, UndecodableReport
from ...views.fleet import UNSEEN_FLEET, FleetSummary
from ...views.repairs import Reconcile
from .filters import UsageError

__all__ = ["acknowledged_of", "narrowed", "refuse_both", "release_and_drains", "report_of"]

_SECONDS = 30.0
_WAIT = 30.0  # seconds
_BYTES = 256 * 2**20  # of some hundred thousand findings


class _Findings(msgspec.Struct, frozen=True, rename="camel"):
    """A tenant's has no sources, and nothing of the sidecar."""

    generation: int
    findings: list[FindingReport]
    unknown: list[Unknown]
    ready: bool
    sources: list[SourceReport] = []
    undecodable: list[UndecodableReport] = []
    not_applicable: list[NotApplicable] = []
    fleet: FleetSummary = UNSEEN_FLEET
    reconcile: Reconcile | msgspec.UnsetType = msgspec.UNSET


class _Causes(msgspec.Struct, frozen=True, rename="camel"):
    causes: list[CauseReport]
    acknowledged: tuple[KnownCause, ...] = ()


def refuse_both(arguments: argparse.Namespace) -> None:
    """Raises UsageError where a running steward is named, and something else to look at."""
    if arguments.exporter and arguments.dump:
        raise UsageError("--exporter asks a running steward, and --from reads a dump; give one of them")
    for name in ("token_file", "ca_file", "server_name"):
        if getattr(arguments, name) and not arguments.exporter:
            raise UsageError(f"--{name.replace('_', '-')} is for a running steward; it needs --exporter")


class _Features(msgspec.Struct, frozen=True):
    version: str


async def release_and_drains(arguments: argparse.Namespace) -> tuple[str, tuple[NodeReport, ...] | None]:
    """KubeVirt's release, and the nodes that are cordoned or drained: empty and None to whom it does not tell them."""
    try:
        async with _server(arguments).connected(_BYTES) as connection:
            features = await connection.get("/api/v1/features", seconds=_SECONDS)
            drain = await connection.get("/api/v1/drain", seconds=_SECONDS)
        found = msgspec.json.decode(drain.body, type=Drain)
        unseen = any(each.kind == "Node" for each in found.unseen)
        return msgspec.json.decode(features.body, type=_Features).version, None if unseen else found.nodes
    except (GetError, *MALFORMED):
        return "", None


def _server(arguments: argparse.Namespace) -> JSONServer:
    return JSONServer(
        arguments.exporter.rstrip("/"),
        str(arguments.token_file or ""),
        str(arguments.ca_file or ""),
        arguments.server_name or "",
    )


async def report_of(arguments: argparse.Namespace, after: int | None = None) -> Report:
    """All that it answers to whom the token is of, with the causes; once that is another generation than `after`, or
    nothing has changed for half a minute. Raises UsageError where it does not answer.
    """
    query = {} if after is None else {"wait": f"{_WAIT:.0f}", "generation": str(after)}
    try:
        async with _server(arguments).connected(_BYTES) as connection:
            found = await connection.get("/api/v1/findings", query, seconds=_SECONDS + _WAIT)
            caused = await connection.get("/api/v1/causes", seconds=_SECONDS)
        return _report(msgspec.json.decode(found.body, type=_Findings), msgspec.json.decode(caused.body, type=_Causes))
    except GetError as error:
        raise UsageError(_why(arguments.exporter, error)) from error
    except MALFORMED as error:
        raise UsageError(f"{arguments.exporter} answers with no findings of a steward: {error}") from error


async def acknowledged_of(arguments: argparse.Namespace) -> tuple[tuple[KnownCause, ...], list[CauseReport]]:
    """What each entry of its configuration comes to, and its causes. Raises UsageError where it does not answer."""
    try:
        async with _server(arguments).connected(_BYTES) as connection:
            caused = await connection.get("/api/v1/causes", seconds=_SECONDS)
        found = msgspec.json.decode(caused.body, type=_Causes)
    except GetError as error:
        raise UsageError(_why(arguments.exporter, error)) from error
    except MALFORMED as error:
        raise UsageError(f"{arguments.exporter} answers with no causes of a steward: {error}") from error
    return found.acknowledged, found.causes


def _report(found: _Findings, caused: _Causes) -> Report:
    return Report(
        found.generation,
        found.findings,
        found.unknown,
        found.sources,
        found.undecodable,
        found.not_applicable,
        found.ready,
        found.fleet,
        found.reconcile,
        causes=caused.causes,
    )


def _why(url: str, error: GetError) -> str:
    if error.status == 401:
        return f"{url} does not accept the token (401); give one that is valid with --token-file"
    if error.status == 403:
        return f"{url} lets you see nothing (403): {error}"
    return str(error)


def narrowed(report: Report) -> Report:
    """With the causes of the findings that are left in it, counted from these."""
    of: dict[str, list[FindingReport]] = {}
    for finding in report.findings:
        of.setdefault(finding.cause, []).append(finding)
    causes = [_of(each, of[each.cause]) for each in report.causes or () if each.cause in of]
    return msgspec.structs.replace(report, causes=sorted(causes, key=cause_order))


def _of(cause: CauseReport, findings: list[FindingReport]) -> CauseReport:
    if len(findings) == cause.findings:
        return cause
    subjects = dict.fromkeys(each.subject for each in findings)
    namespaces = sorted({each.namespace for each in subjects if each.namespace})
    since, source = _oldest(findings)
    return msgspec.structs.replace(
        cause,
        severities=dict(Counter(each.severity for each in sorted(findings, key=_worst_first))),
        severity=max((each.severity for each in findings), key=lambda each: Severity(each).rank),
        objects=len(subjects),
        kinds=dict(sorted(Counter(each.kind for each in subjects).items())),
        vms=len({(each.subject.namespace, each.vm) for each in findings if each.vm}),
        namespaces=len(namespaces),
        first_namespaces=tuple(namespaces[: len(cause.first_namespaces)]),
        findings=len(findings),
        first=tuple(subjects)[: len(cause.first)],
        since=since,
        since_source=source,
    )


def _worst_first(finding: FindingReport) -> int:
    return -Severity(finding.severity).rank


def _oldest(findings: Iterable[FindingReport]) -> tuple[str, str]:
    dated = [(each.since, each.since_source) for each in findings if each.since]
    return min(dated, default=("", Since.FIRST_SEEN.value))
