"""The dumps that a command is given, and what their clusters are called."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import msgspec

from ...checks import all_checks
from ...config.settings import Config
from ...domain.identity import uid_of
from ...dump import read_dump
from ...engine.finding_store import ClusterComparison
from ...engine.restraints import Restraints
from ...findings.finding import Finding
from ...offline.files import DumpError
from ...offline.wanted import LabelledVMs
from ...questions.causes import causes_of
from ...questions.findings import UNSEEN_FLEET, Report, UndecodableReport, merged, reported, take, with_causes
from ...questions.times import rfc3339
from ...store.cluster import Cluster
from ...store.source import FILE
from ..output.text.terminal import complain, one_line
from .filters import Filters, UsageError, refuse_none
from .names import Names, on_their_nodes, refuse_unknown
from .once import progress_line

_SUFFIXES = (".yaml", ".yml", ".json", ".tar", ".tgz", ".txz", ".zip", ".gz", ".xz")
_STDIN = "-"


class Dump(NamedTuple):
    """`name` is what its cluster is called; empty for one that stands alone and was given none."""

    name: str
    path: str


def dumps_of(given: Sequence[str]) -> tuple[Dump, ...]:
    """Raises UsageError for one without a name before its `=`, and for two of one name."""
    if len(given) == 1:
        return (_dump(given[0]),)
    dumps: dict[str, Dump] = {}
    for dump in map(_dump, given):
        name = dump.name or _called(dump.path)
        if name in dumps:
            raise UsageError(
                f"two dumps are called {name!r}, {dumps[name].path} and {dump.path}; "
                f"give each its cluster's name: --from NAME={dump.path}"
            )
        dumps[name] = Dump(name, dump.path)
    if [dump.path for dump in dumps.values()].count(_STDIN) > 1:
        raise UsageError("standard input can be read once; give all but one --from a file")
    return tuple(dumps.values())


def _dump(text: str) -> Dump:
    """A path that is there is just a path, whatever its name holds."""
    name, equals, path = text.partition("=")
    if not equals or "/" in name or os.path.exists(text):
        return Dump("", text)
    if not name or not path or not name.isprintable():
        raise UsageError(f"--from {text!r} names no cluster and dump; write it as --from NAME=PATH")
    return Dump(name, path)


def _called(path: str) -> str:
    """After the file or directory, without what says how it is packed."""
    if path == _STDIN:
        return "stdin"
    base = one_line(os.path.basename(os.path.abspath(path)))
    stem, suffix = os.path.splitext(base)
    while stem and suffix.lower() in _SUFFIXES and not os.path.isdir(path):
        base = stem
        stem, suffix = os.path.splitext(base)
    return base


# Dumps, evaluated one after the other, each on its own; then what can be seen of them together.
#
# Of a dump that is evaluated there remain what was chosen of its findings and the facts by which clusters are compared:
# the memory that is needed is that of the largest dump, not of all.


@dataclass(frozen=True)
class DumpReading:
    """How each dump is read. `complete` says that each holds the whole of its cluster."""

    config: Config
    filters: Filters
    complete: bool
    names: Names = field(init=False)  # that were seen in any of them
    clusters: dict[str, str] = field(default_factory=dict)  # the names of their dumps, by what tells them apart

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", Names(self.filters.selection.kinds))


def evaluate_each(dumps: Sequence[Dump], reading: DumpReading) -> tuple[Report, dict[str, str]]:
    """What is chosen of all of them, and in words what each held. One of several that can't be read is reported
    at once, and counts as a file that was not read. Raises DumpError where the only one can't be read,
    and UsageError for a name that none of them has.
    """
    filters = reading.filters
    restraints: dict[str, Restraints] = {}  # of each dump
    labelled: set[tuple[str, str]] = set()
    fleet = ClusterComparison(check for check in all_checks() if check.id in filters.checks)
    reports, read = [], {}

    def shown(finding: Finding) -> Finding:
        return restraints[finding.cluster].applied(finding)

    for dump in dumps:
        try:
            report, read[dump.name], restraints[dump.name] = _evaluate(dump, reading, fleet, labelled)
        except DumpError as error:
            if len(dumps) == 1:
                raise
            complain(f"{dump.name}: {error}")
            report, read[dump.name] = _unreadable(dump, error, filters.now), ""
        reports.append(report)
    if all(each.sources for each in reports):
        findings = [finding for each in reports for finding in each.findings]
        refuse_unknown(sorted(filters.namespaces), filters.selection, reading.names, findings)
    if filters.selector is not None:
        filters = replace(filters, labelled=frozenset(labelled))
        refuse_none(filters, unseen="vm" in reading.names.blind)
    compared = tuple(fleet.findings(filters.now))
    across = filters.of(Report(0, [reported(shown(finding)) for finding in compared], [], [], []))
    left = {(finding.cluster, finding.fingerprint) for finding in across.findings}
    of = {dump.name: [each for each in compared if (dump.name, each.fingerprint) in left] for dump in dumps}
    causes = [made for name, own in of.items() for made in causes_of(own, all_checks(), name, shown)]
    return merged((*reports, msgspec.structs.replace(across, causes=causes))), read


def _evaluate(
    dump: Dump, reading: DumpReading, fleet: ClusterComparison, labelled: set[tuple[str, str]]
) -> tuple[Report, str, Restraints]:
    """Adds the VMs that are selected by their labels to those that are `labelled`."""
    filters = reading.filters
    noted = LabelledVMs(filters.selector) if filters.selector is not None else None
    with progress_line(dump.name) as progress:
        engine, tally = asyncio.run(
            read_dump(
                dump.path, filters.now, reading.config, complete=reading.complete, progress=progress, labelled=noted
            )
        )
    if noted is not None:
        places = filters.namespaces or filters.selection.namespaces
        found = (path for path in noted.paths if not places or path.partition("/")[0] in places)
        labelled |= {(dump.name, path) for path in found}
        filters = replace(filters, labelled=frozenset(labelled))
    filters = on_their_nodes(filters, engine.cluster, dump.name)
    reading.names.add(engine.cluster, dump=True)
    _complain_of_twice(dump.name, engine.cluster, reading.clusters)
    report = with_causes(filters.of(take(engine, cluster=dump.name), engine), engine, dump.name)
    report.unknown.extend(fleet.add(dump.name, engine.cluster))
    return report, f"read {tally}", engine.restraints


def _complain_of_twice(name: str, cluster: Cluster, known: dict[str, str]) -> None:
    uid = uid_of(cluster)
    if uid and (other := known.setdefault(uid, name)) != name:
        complain(f"{other} and {name} are of one cluster: their VMs are not compared with each other")


def _unreadable(dump: Dump, error: DumpError, now: float) -> Report:
    undecodable = UndecodableReport(FILE, "", dump.path, "", str(error), rfc3339(now), dump.name)
    return Report(0, [], [], [], [undecodable], ready=False, fleet=UNSEEN_FLEET)
