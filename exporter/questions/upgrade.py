"""An upgrade of KubeVirt, asked before it begins: go, go after these acts, or no; release by release.

KubeVirt is upgraded from one minor release to the next only (operations/updating_and_deletion of the user guide), so
each release on the way is evaluated: what breaks is said with the first one with which it does. Whom a finding breaks
and when is said by the preview of a change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator

import msgspec

from ..checks import all_checks
from ..domain.acts import Act, Among
from ..domain.features.configuration import chosen
from ..domain.features.gates import NEWEST, next_release
from ..engine.engine import Engine
from ..facts.naming import counted, joined, named
from ..facts.record import Ref
from ..facts.versions import Version, parse
from ..findings.finding import Finding, Unknown
from ..findings.severity import Severity
from ..store.cluster import Cluster
from ..store.kinds.kube_virt import KubeVirt
from ..store.kinds.virtual_machine_instance import PENDING, VirtualMachineInstance
from ..store.source import unseen
from .asked import UpgradeQuery
from .impact import READER, GateChange, Impact, SubjectOutcome
from .impact import steps as previewed
from .impact.settings_changes import Wish, configured
from .question import NotThereError, Question, UnaskableError
from .trust import exit_code as ended

MOST = 500  # rows of an answer of the API
_OF_KUBEVIRT = ("kubevirt_available", "feature_configuration")  # checks whose findings are to be mended before
_UNSTORED = "NotPersisted"  # a VM whose firmware UUID KubeVirt derives from its name at each start
_WORSE = (SubjectOutcome.BREAKS.value, SubjectOutcome.WORSE.value)


class UpgradeRow(msgspec.Struct, frozen=True, rename="camel"):
    """A finding that an upgrade brings, or makes worse, with the first `release` on the way with which it does. `when`
    says when it is felt then, `next` what to do about it, before.
    """

    release: str
    outcome: str
    severity: str
    reason: str
    subject: Ref
    vm: str
    feature: str
    message: str
    when: str
    next: str


class UpgradeAct(msgspec.Struct, frozen=True, rename="camel"):
    """What to do before the upgrade to `release`, for `objects` of which `first` are some."""

    release: str
    reason: str
    next: str
    objects: int
    first: tuple[Ref, ...]


class ReleaseStep(msgspec.Struct, frozen=True, rename="camel"):
    """One release on the way: how many objects break with it, and the feature gates that it switches."""

    release: str
    breaks: int
    worse: int
    gates: tuple[GateChange, ...]


class Obstacle(msgspec.Struct, frozen=True):
    """Why KubeVirt should not be upgraded now."""

    reason: str
    subject: Ref
    message: str
    next: str


class Held(msgspec.Struct, frozen=True):
    """A VMI that should not be migrated, and the reason of the finding that says so."""

    subject: Ref
    reason: str

    def __str__(self) -> str:
        return f"{self.subject.namespace}/{self.subject.name} ({self.reason})"


class Workloads(msgspec.Struct, frozen=True, rename="camel"):
    """What happens to the VMIs that run, by workloadUpdateMethods: KubeVirt `migrates` them into launchers of its own
    release, or `evicts` them, which shuts their guests down, and the others `stay` in the old one until they restart.
    `methods` are in effect; None where VMIs can't be seen. Of those that KubeVirt would migrate, open findings say of
    `held` that their migrations fail, or do harm; `held_first` are some of them, with a reason each.
    """

    methods: tuple[str, ...]
    migrates: int | None = None
    evicts: int | None = None
    stays: int | None = None
    held: int = 0
    held_first: tuple[Held, ...] = ()


class Upgrade(msgspec.Struct, frozen=True, rename="camel"):
    """`verdict` is `go`, `after` (the acts), `no` (by the obstacles) or `unknown`. `rows` are some of `rows_in_all`.
    `unstored` counts the VMs whose firmware UUID KubeVirt derives from their names, None while that is not known.
    `unknown` is what no check can say, the first of it, and `unknown_in_all` how much that is.
    """

    generation: int
    verdict: str
    now: str
    to: str
    steps: tuple[ReleaseStep, ...]
    obstacles: tuple[Obstacle, ...]
    acts: tuple[UpgradeAct, ...]
    rows: tuple[UpgradeRow, ...]
    rows_in_all: int
    bugs: tuple[str, ...]
    workloads: Workloads
    unstored: int | None
    unread: tuple[Ref, ...]
    unknown: tuple[Unknown, ...]
    unknown_in_all: int


def exit_code(found: Upgrade, *, whole: bool = True) -> int:
    """0 to go, 1 where something is to be done before, 2 where that is not known."""
    blind = bool(found.unread or found.unknown_in_all) or found.unstored is None
    return ended(found=found.verdict in ("no", "after"), unknown=blind or found.verdict == "unknown" or not whole)


def _answered(engine: Engine, _: None, asked: UpgradeQuery, most: int | None = None) -> Generator[None, None, Upgrade]:
    """Raises UnaskableError."""
    cluster = engine.cluster
    try:
        way = _way(cluster, asked.to)
    except (ValueError, NotThereError) as error:
        raise UnaskableError(str(error)) from error
    rows: dict[tuple[str, Ref, str, str], UpgradeRow] = {}
    steps: list[ReleaseStep] = []
    bugs: dict[str, None] = {}
    unknown: dict[Unknown, None] = {}
    unread: tuple[Ref, ...] = ()
    switched: set[str] = set()
    for release in way:
        impact = yield from previewed(engine, configured(cluster, Wish(upgrade_to=release)))
        gates = tuple(each for each in impact.gates if each.name not in switched)
        switched.update(each.name for each in gates)
        for row in _rows(impact, release):
            rows.setdefault((row.reason, row.subject, row.feature, row.outcome), row)
        bugs |= dict.fromkeys(_bugs(impact))
        own = [each for each in rows.values() if each.release == release]
        counts = Counter(each.outcome for each in own)
        steps.append(ReleaseStep(release, counts[_WORSE[0]], counts[_WORSE[1]], gates))
        unknown |= dict.fromkeys(impact.unknown)
        unread = impact.unread
        yield
    workloads = yield from _workloads(engine)
    ordered = sorted(rows.values(), key=_order(way))
    obstacles = tuple(_obstacles(engine))
    found = Upgrade(
        generation=engine.generation,
        verdict="",
        now=_running(cluster),
        to=way[-1] if way else "",
        steps=tuple(steps),
        obstacles=obstacles,
        acts=tuple(_acts(ordered)),
        rows=tuple(ordered[:most]),
        rows_in_all=len(ordered),
        bugs=tuple(bugs),
        workloads=workloads,
        unstored=_unstored(engine),
        unread=unread,
        unknown=tuple(sorted(unknown)[:100]),
        unknown_in_all=len(unknown),
    )
    return msgspec.structs.replace(found, verdict=_verdict(found))


def _running(cluster: Cluster) -> str:
    kubevirt = chosen(cluster.all(KubeVirt))
    return "" if isinstance(kubevirt, str) else kubevirt.upstream or kubevirt.version


def _way(cluster: Cluster, to: str) -> list[str]:
    """The releases on the way, each by its first version but the last, which may be a patch; the next one where none is
    asked for. Raises ValueError and NotThereError.
    """
    now = parse(_running(cluster))
    if now is None:
        configured(cluster, Wish(upgrade_to=to or ".".join(map(str, NEWEST))))  # says why
        raise ValueError("the running version of KubeVirt is not known, so nothing can be said of an upgrade")
    first = next_release(now)
    if not to and first is None:
        raise ValueError(f"KubeVirt {now.tag} is of the newest release that is known")
    asked = to or ".".join(map(str, first or NEWEST))
    configured(cluster, Wish(upgrade_to=asked))  # refuses what is no version, and what would be a downgrade
    target = parse(asked) or parse(f"{asked}.0")
    assert target is not None
    return [each.tag for each in _releases(now, target)]


def _releases(now: Version, target: Version) -> Iterator[Version]:
    if target.release == now.release:
        yield max(now, target)
        return
    at: Version | None = now
    while at is not None and (release := next_release(at)) is not None and release < target.release:
        at = parse(f"{release[0]}.{release[1]}.0")
        if at is not None:
            yield at
    yield target


def _rows(impact: Impact, release: str) -> Iterator[UpgradeRow]:
    for each in impact.findings:
        if each.outcome not in _WORSE or each.change == "goes":
            continue
        of = each.finding
        yield UpgradeRow(
            *(release, each.outcome, of.severity, of.reason, of.subject, of.vm, of.feature),
            *(of.message, each.when, of.next),
        )


def _bugs(impact: Impact) -> Iterator[str]:
    """Those that come."""
    for each in impact.findings:
        if each.change == "appears" and each.finding.reason.startswith("KnownBug"):
            yield each.finding.message


def _order(way: list[str]) -> Callable[[UpgradeRow], tuple[int, int, int, Ref, str]]:
    def key(row: UpgradeRow) -> tuple[int, int, int, Ref, str]:
        return way.index(row.release), _WORSE.index(row.outcome), -Severity(row.severity).rank, row.subject, row.reason

    return key


_FIRST = 5  # objects of an act that are named


def _acts(rows: Iterable[UpgradeRow]) -> Iterator[UpgradeAct]:
    """The same act for several objects is one."""
    found: dict[tuple[str, str, str], list[Ref]] = {}
    for each in rows:
        if each.outcome == _WORSE[0]:
            found.setdefault((each.release, each.reason, each.next), []).append(each.subject)
    for (release, reason, following), subjects in found.items():
        yield UpgradeAct(release, reason, following, len(subjects), tuple(subjects[:_FIRST]))


def _obstacles(engine: Engine) -> Iterator[Obstacle]:
    """What is the matter with KubeVirt itself, and what is found of every VM of the cluster."""
    kubevirt = chosen(engine.cluster.all(KubeVirt))
    if isinstance(kubevirt, KubeVirt) and kubevirt.upgrading:
        to = kubevirt.target or "another version"
        yield Obstacle("", kubevirt.ref, f"An upgrade of KubeVirt to {to} is under way.", "Wait until it is done.")
    for each in sorted(engine.findings(), key=lambda each: (each.reason, each.subject)):
        if each.severity is not Severity.INFO and _of_kubevirt(each):
            yield Obstacle(each.reason, each.subject, each.message, each.next)


def _of_kubevirt(finding: Finding) -> bool:
    everywhere = finding.forbids is not None and finding.forbids.among is Among.CLUSTER
    return everywhere or finding.check in _OF_KUBEVIRT


_TURN = 500  # VMIs


def _workloads(engine: Engine) -> Generator[None, None, Workloads]:
    cluster = engine.cluster
    kubevirt = chosen(cluster.all(KubeVirt))
    methods = kubevirt.updates if isinstance(kubevirt, KubeVirt) else ()
    if unseen(cluster, (VirtualMachineInstance,)):
        return Workloads(methods)
    running = [e for e in cluster.all(VirtualMachineInstance) if not e.final and e.node and e.phase not in PENDING]
    moving = [e for e in running if e.migratable == "True"] if "LiveMigrate" in methods else []
    evicts = len(running) - len(moving) if "Evict" in methods else 0
    held: list[Held] = []
    for number, each in enumerate(moving):
        if number % _TURN == 0:
            yield
        found = engine.restraints.of(each.namespace, each.name, each.node)
        reasons = (f.reason for f in found if f.forbids is not None and Act.MIGRATE in f.forbids.acts)
        if reason := min(reasons, default=""):
            held.append(Held(each.ref, reason))
    held.sort(key=lambda one: one.subject)
    migrates = len(moving) - len(held)
    stays = len(running) - len(moving) - evicts
    return Workloads(methods, migrates, evicts, stays, len(held), tuple(held[:_FIRST]))


def workloads_said(of: Workloads) -> Iterator[str]:
    """Sentences."""
    if of.migrates is None:
        yield "What happens to running VMIs is not known, because they can't be seen."
        return
    methods = f"workloadUpdateMethods {', '.join(of.methods)}" if of.methods else "no workloadUpdateMethods"
    yield f"With {methods}, KubeVirt migrates {of.migrates} of the VMIs that run and shuts down {of.evicts}."
    yield f"{of.stays} stay in launchers of the old release until they restart or migrate."
    if of.held:
        yield f"KubeVirt also tries to migrate VMIs that should not be migrated: {named(of.held_first, of.held)}."


def _unstored(engine: Engine) -> int | None:
    """None while the check has no answer somewhere."""
    (check,) = (each.id for each in all_checks() if _UNSTORED in each.reasons)
    if any(each.check == check for each in engine.unknowns()) or check not in {each.id for each in engine.checks}:
        return None
    return sum(1 for each in engine.findings() if each.reason == _UNSTORED)


def _verdict(found: Upgrade) -> str:
    if found.obstacles:
        return "no"
    if found.acts:
        return "after"
    return "unknown" if found.unread or found.unknown_in_all else "go"


def headline(found: Upgrade) -> str:
    """The verdict in a sentence."""
    way = f"KubeVirt from {found.now} to {found.to}"
    held = found.workloads.held
    by = f", by {joined([each.release for each in found.steps])}" if len(found.steps) > 1 else ""
    if found.verdict == "go":
        whom = f"; first see the {counted(held, 'VMI')} that KubeVirt would migrate and should not" if held else ""
        return f"Go: nothing speaks against the upgrade of {way}{by}{whom}."
    if found.verdict == "no":
        return f"No: do not begin the upgrade of {way} now."
    if found.verdict == "after":
        count = len(found.acts)
        return f"Go after {count} {'act' if count == 1 else 'acts'}: the upgrade of {way}{by}."
    return f"It is not known whether something speaks against the upgrade of {way}{by}."


QUESTION = Question(
    "upgrade",
    UpgradeQuery,
    Upgrade,
    _answered,
    READER,
    bounded=lambda engine, counted, asked: _answered(engine, counted, asked, MOST),
)
"""What an upgrade of KubeVirt would do, and what to do before."""
