"""A steward that runs: which one, with whose token, what it means where it refuses, and the report of what it finds."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeVar
from urllib.parse import quote

import msgspec

from ...facts.nesting import misfit
from ...facts.times import Since
from ...findings.finding import Unknown
from ...findings.severity import Severity
from ...kube.errors import MALFORMED, refusal_of
from ...kube.get_json import Connection, GetError, JSONServer, Query
from ...questions.causes import CauseReport, HistoryReport, KnownCause, cause_order
from ...questions.drain import Drain, NodeReport
from ...questions.findings import (
    UNSEEN_FLEET,
    FindingReport,
    FleetSummary,
    NotApplicable,
    Report,
    SourceReport,
    UndecodableReport,
)
from ...questions.nearest import meant, shortened
from ...questions.networks import Networks
from ...questions.repairs import Reconcile
from .config import configured
from .filters import ObjectSelection, UsageError
from .names import refuse_no_kind

SECONDS = 30.0
_BYTES = 256 * 2**20  # of some hundred thousand findings
_PLUGIN_SECONDS = 60.0  # to log somebody in, in a browser maybe
_GIVE = "--exporter takes the address of a steward's page; `kubectl port-forward` makes one of a steward in a cluster"
_CA = "--ca-file names its CA (ca.crt of Secret steward-exporter-tls), --server-name the host that it is for"
_MADE = ", as `kubectl create token` prints it"
T = TypeVar("T")


@dataclass(frozen=True)
class Asked:
    """A steward, as long as the connection to it is kept open."""

    server: JSONServer
    connection: Connection

    async def get(self, path: str, of: type[T], query: Query = (), seconds: float = SECONDS) -> T:
        """What it answers. Raises UsageError for a refusal, and for what is no answer of a steward."""
        try:
            answer = await self.connection.get(path, query, seconds=seconds)
            return msgspec.json.decode(answer.body, type=of)
        except GetError as error:
            raise UsageError(_why(self.server, error)) from error
        except MALFORMED as error:
            why = f"answers {path} otherwise than a steward of this release: {misfit(error)}"
            raise UsageError(f"{self.server.url} {why}; {_GIVE}") from error


async def answer_of(arguments: argparse.Namespace, path: str, of: type[T], query: Query = ()) -> T:
    """What the steward that the arguments name answers at a path. Raises UsageError."""
    async with asking(arguments) as steward:
        return await steward.get(path, of, query)


@asynccontextmanager
async def asking(arguments: argparse.Namespace) -> AsyncIterator[Asked]:
    """Raises UsageError, and ConfigError for a kubeconfig that can't be used."""
    url = arguments.exporter.rstrip("/")
    if not url.startswith(("http://", "https://")):
        host = url.rpartition("//")[2][:253]
        raise UsageError(f"--exporter {url[:253]!r} has no scheme; write it as http://{host}, or https://{host}")
    server = await _server(arguments, url)
    try:
        async with server.connected(_BYTES) as connection:
            yield Asked(server, connection)
    except GetError as error:
        raise UsageError(_why(server, error)) from error


async def _server(arguments: argparse.Namespace, url: str) -> JSONServer:
    """With the token of the options, else that of the kubeconfig: over TLS alone, by which the server is known."""
    ca, name = str(arguments.ca_file or ""), arguments.server_name or ""
    if arguments.token_file or not url.startswith("https:"):
        return JSONServer(url, str(arguments.token_file or ""), ca, name)
    from ...kube.credentials import identity_from_environment  # the Kubernetes client is dear to import

    config = configured(arguments).config
    own = await identity_from_environment(config.kubeconfig, config.context, _PLUGIN_SECONDS)
    return JSONServer(url, "", ca, name, own.token, own.ca_file)


def _why(server: JSONServer, error: GetError) -> str:
    if error.status == 401 and not (server.token_file or server.token):
        return f"{server.url} needs a token (401), and your kubeconfig has none; give one with --token-file{_MADE}"
    if error.status == 401:
        return f"{server.url} does not accept the token (401); log in again, or give one with --token-file{_MADE}"
    if error.status == 403:
        return f"{server.url} does not let you see that (403): {error.said or error}"
    if error.status or error.said:
        return error.said or f"{error}; {_GIVE}"
    return _unreachable(server, error)


def _unreachable(server: JSONServer, error: GetError) -> str:
    untrusted = getattr(error.__cause__, "certificate_error", None)
    if untrusted is not None:
        why = getattr(untrusted, "verify_message", "") or str(untrusted)
        return f"the certificate of {server.url} can't be verified: {why}; {_CA}"
    why = refusal_of(error)
    return f"{server.url} is not reachable: {why}; {_GIVE}" if why else str(error)


_WAIT = 30.0  # seconds


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
    unknown: list[Unknown] = []
    history: HistoryReport | msgspec.UnsetType = msgspec.UNSET


class _Place(msgspec.Struct, frozen=True):
    node: str = ""


class _VM(msgspec.Struct, frozen=True):
    runs: _Place | None = None


class _Features(msgspec.Struct, frozen=True):
    version: str


async def release_and_drains(arguments: argparse.Namespace) -> tuple[str, tuple[NodeReport, ...] | None]:
    """KubeVirt's release, and the nodes that are cordoned or drained: empty and None to whom it does not tell them."""
    try:
        async with asking(arguments) as steward:
            features = await steward.get("/api/v1/features", _Features)
            found = await steward.get("/api/v1/drain", Drain)
    except UsageError:
        return "", None
    return features.version, None if any(each.kind == "Node" for each in found.unseen) else found.nodes


async def report_of(arguments: argparse.Namespace, after: int | None = None) -> Report:
    """All that it answers to whom the token is of, with the causes; once that is another generation than `after`, or
    nothing has changed for half a minute. Raises UsageError where it does not answer.
    """
    query = {} if after is None else {"wait": f"{_WAIT:.0f}", "generation": str(after)}
    async with asking(arguments) as steward:
        found = await steward.get("/api/v1/findings", _Findings, query, SECONDS + _WAIT)
        return _report(found, await steward.get("/api/v1/causes", _Causes))


async def acknowledged_of(arguments: argparse.Namespace) -> tuple[tuple[KnownCause, ...], list[CauseReport], bool]:
    """What each entry of its configuration comes to, its causes, and whether there may be no others. Raises UsageError
    where it does not answer.
    """
    found = await answer_of(arguments, "/api/v1/causes", _Causes)
    return found.acknowledged, found.causes, not found.unknown


async def nodes_of(
    arguments: argparse.Namespace, selection: ObjectSelection, findings: Collection[FindingReport]
) -> frozenset[tuple[str, str]]:
    """The nodes of the VMs that are asked for, as far as the steward tells. Raises UsageError for what is asked for,
    what no finding is about, and what the steward does not know.
    """
    refuse_no_kind(selection, findings)
    nodes: set[tuple[str, str]] = set()
    async with asking(arguments) as steward:
        for vm in selection.vms:
            found = any(map(ObjectSelection(vms=(vm,)).picks, findings))
            namespace, slash, name = vm.partition("/")
            if not slash and not found:
                raise UsageError(f"no finding is about a VM {vm}; a running steward is asked for vm/NAMESPACE/{vm}")
            try:
                whole = await steward.get(f"/api/v1/vms/{quote(namespace)}/{quote(name)}", _VM) if slash else _VM()
            except UsageError as error:
                if not found and getattr(error.__cause__, "status", 0) != HTTPStatus.FORBIDDEN:  # to a tenant
                    raise
                continue
            nodes |= {("", whole.runs.node)} if whole.runs is not None and whole.runs.node else set()
        for node in selection.nodes:
            if not any(map(ObjectSelection(nodes=(node,)).picks, findings)):
                await steward.get("/api/v1/drain", msgspec.Raw, [("node", node)])
        networks = set(selection.networks) - {each.network for each in findings}
        if networks:
            known = [each.network for each in (await steward.get("/api/v1/networks", Networks)).networks]
            for each in sorted(networks - set(known)):
                raise UsageError(f"no network is called {shortened(each)!r}; {meant(each, known, 'networks')}")
    for kind, path in selection.objects:
        if not any(map(ObjectSelection(objects=((kind, path),)).picks, findings)):
            raise UsageError(f"no finding is about {kind}/{path}; a running steward does not tell whether it is there")
    return frozenset(nodes)


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
        history=caused.history,
    )


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
        opened=msgspec.UNSET,  # these are of all its findings
        closed=msgspec.UNSET,
    )


def _worst_first(finding: FindingReport) -> int:
    return -Severity(finding.severity).rank


def _oldest(findings: Iterable[FindingReport]) -> tuple[str, str]:
    dated = [(each.since, each.since_source) for each in findings if each.since]
    return min(dated, default=("", Since.FIRST_SEEN.value))
