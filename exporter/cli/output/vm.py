"""One VM as text: where it runs, what is wrong with it, where it could go, what would happen to it, what it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ...facts.naming import sentence
from ...findings.finding import VMS
from ...findings.pages import repair_by
from ...questions.drain import TITLES
from ...questions.findings import FindingReport, plan_command
from ...questions.urgency import referred, stakes
from ...questions.vm import NodeAnswer, Places, Verdict, VMWhole, changes, said
from ...questions.vm.report import FeatureUse, InterfaceReport, SizeReport
from ...store.kinds.virtual_machine_instance import FINAL
from .text.layout import HERE, WIDTH, Aim, as_wide_as, indented, paragraph, step
from .text.terminal import one_line

# What a VM is, as text: identity, interfaces, instancetype and preference, features.


def shape(found: VMWhole) -> Iterator[str]:
    """The sections."""
    yield "".join(_identity(found))
    yield "".join(_interfaces(found))
    yield "".join(_sizes(found))
    yield "".join(_features(found))


def _identity(found: VMWhole) -> Iterator[str]:
    of = found.identity
    yield "Identity\n"
    origin = {"spec": "from its spec", "name": "derived from its name", "": ""}[of.origin]
    same = of.uuid.casefold() == of.next_uuid.casefold()
    uuid = of.uuid if of.uuid and not same else of.next_uuid
    text = f"firmware UUID {uuid or 'unknown'}"
    if of.uuid and not same:
        text += f" now, {of.next_uuid} with its next start"
    wrong = f"; {of.invalid}" if of.invalid else ""
    yield paragraph(f"{text}{f' ({origin})' if origin else ''}{wrong}", "  ", "    ")
    serial = of.serial or of.next_serial
    if serial:
        changes = (
            f" now, {of.next_serial or 'none'} with its next start" if of.serial not in ("", of.next_serial) else ""
        )
        yield paragraph(f"serial {serial}{changes}", "  ", "    ")
    if of.keeps:
        yield paragraph(f"keeps state beside its disks: {of.keeps}", "  ", "    ")


def _interfaces(found: VMWhole) -> Iterator[str]:
    if found.interfaces:
        yield "Interfaces\n"
    for each in found.interfaces:
        yield paragraph(_interface(each), "  ", "    ")


def _interface(of: InterfaceReport) -> str:
    parts = [f"{of.network}: {of.nad or 'the pod network'}"]
    parts += ["its unplug was requested"] if of.absent else []
    parts += [f"MAC {', '.join(of.macs)}"] if of.macs else []
    parts += [f"addresses {', '.join(of.addresses)}"] if of.addresses else []
    parts += [f"asks for {', '.join(of.requested)}"] if of.requested else []
    if of.claim is not None:
        parts.append(f"IPAMClaim {of.claim.name} holds {', '.join(of.claimed) or 'no address'}")
    parts += [each for each in (of.missing, f"not known: {of.unknown}" if of.unknown else "") if each]
    return "; ".join(parts)


def _sizes(found: VMWhole) -> Iterator[str]:
    if found.sizes:
        yield "Instancetype and preference\n"
    for each in found.sizes:
        yield paragraph(_size(each), "  ", "    ")


def _size(of: SizeReport) -> str:
    text = f"{of.role} {of.kind} {of.name}"
    if of.mode == "inferred":
        return f"{of.role}: still to be inferred from volume {of.name}"
    text += f", by ControllerRevision {of.revision} ({of.mode})" if of.revision else ", as it is now (no copy)"
    if of.failure:
        return f"{text}; {of.failure}"
    if of.unknown:
        return f"{text}; not known whether it is there, or differs: {of.unknown}"
    if of.differs is None:
        return text if not of.revision else f"{text}; the object is not there to compare it with"
    return f"{text}; " + (
        f"the object differs now in {', '.join(of.differs)}" if of.differs else "as the object is now"
    )


def _features(found: VMWhole) -> Iterator[str]:
    if found.features:
        yield "Features that it asks for\n"
    for each in found.features:
        yield paragraph(_feature(each), "  ", "    ")


def _feature(of: FeatureUse) -> str:
    values = f" ({', '.join(of.values)})" if of.values else ""
    answer = {True: "allowed", False: "not allowed", None: "not known whether it is allowed"}[of.allowed]
    why = f": {'; '.join(of.why)}" if of.why else ""
    where = f" [{of.stage}]" if of.stage else ""
    return f"{of.title}{values}: {answer}{why}{where}"


_NODES = 20  # that are shown one by one
_SOURCES = {
    "phaseTransition": "by a migration's phase",
    "creationTimestamp": "by its creation",
    "condition": "by a condition",
    "startedAt": "by the start of a container",
    "firstSeen": "first seen then",
}


def whole_vm(found: VMWhole, columns: int = WIDTH, aim: Aim = HERE) -> str:
    """`aim` is where the VM was looked at."""
    with as_wide_as(columns):
        return _whole(found, aim)


def _whole(found: VMWhole, aim: Aim) -> str:
    parts: list[str] = [_headline(found) + "".join(_verdicts(found))]
    writers: tuple[Callable[[VMWhole], Iterator[str]], ...] = (_migration, _targets, _drain, _restart, _upgrade)
    sections = [*("".join(each(found)) for each in writers), *shape(found)]
    sections.insert(0, _differences(found))
    sections.insert(0 if found.findings else len(sections), _findings(found, aim))  # none is no news
    sections += ["".join(_unknown(found)), "".join(_not_considered(found))]
    parts += [each for each in sections if each]
    return "\n".join(parts)


def _headline(found: VMWhole) -> str:
    kind = "VM" if found.vm is not None else "VMI"
    name, runs = f"{kind} {found.namespace}/{found.name}", found.runs
    if found.proposed:
        return paragraph(f"{name}, as its manifest would have it. Nothing is created.")
    if runs is None:
        return paragraph(f"{name} does not run (runStrategy {found.run_strategy or 'not set'}).")
    if runs.unknown:
        return paragraph(sentence(f"{name}: whether it runs is not known: {runs.unknown}"))
    if runs.phase in FINAL:
        return paragraph(f"{name} has ended (phase {runs.phase}).")
    if not runs.node:
        why = f": {runs.blocked}" if runs.blocked else ""
        return paragraph(sentence(f"{name} has no node yet; its VMI is {runs.phase or 'new'}{why}"))
    state = [] if runs.phase == "Running" else [f"its VMI is {runs.phase}"]
    state += ["it is paused"] if runs.paused else []
    state += ["its launcher is of an older release of KubeVirt"] if runs.outdated else []
    text = f"{name} is on {runs.node}{_when(runs.since, runs.since_source)}"
    return paragraph(f"{text}{''.join(f'; {each}' for each in state)}.")


def _when(since: str, source: str) -> str:
    if not since:
        return ""
    return f" since {since}" + (f" ({_SOURCES.get(source, source)})" if source else "")


def _migration(found: VMWhole) -> Iterator[str]:
    ability = found.migration
    if ability is None:
        return
    yield "Migration\n"
    by = {"vmi": "its own", "kubevirt": "KubeVirt's default", "builtin": "the default of KubeVirt's release"}
    if ability.strategy:
        yield paragraph(f"evictionStrategy {ability.strategy}, {by[ability.strategy_source]}.", "  ", "    ")
    if ability.features:
        yield paragraph(f"With these no VMI can be migrated: {'; '.join(ability.features)}.", "  ", "    ")
    if (under := found.under_way) is not None:
        to = f", to {under.target}" if under.target else ""
        made = f", made for {under.made_for}" if under.made_for else ""
        text = f"Under way: {under.name} is {under.phase}{_when(under.since, under.since_source)}{to}{made}."
        yield paragraph(text, "  ", "    ")
    stepped: set[tuple[str, ...]] = set()  # a next step of several is said once, under the first of them
    for held in found.held:
        yield paragraph(f"{held.reason or 'Waits'}{_when(held.since, held.since_source)}: {held.why}", "  ", "    ")
        yield _step_once(stepped, held.next, held.commands)
    for failed in found.failures:
        name = f" {failed.migration}" if failed.migration else ""
        said = f": {failed.text}" if failed.text else ""
        lasts = "; each attempt fails so until the VM is restarted" if failed.lasting else ""
        text = f"Failed{f' at {failed.at}' if failed.at else ''}{name}: {failed.failure}, {failed.meaning}{lasts}{said}"
        yield paragraph(text, "  ", "    ")
        yield _step_once(stepped, failed.next, failed.commands)


def _of(found: VMWhole, *acts: str) -> Verdict | None:
    return next((each for each in found.verdicts if each.act in acts), None)


def _verdicts(found: VMWhole) -> Iterator[str]:
    """What may be done to it."""
    for each in said(found.verdicts):
        if len(each.whys) > 1:
            yield paragraph(f"{each.head}:", "  ", "    ")
            for why in each.whys:
                yield paragraph(sentence(why), "  - ", "    ")
        else:
            yield paragraph(f"{': '.join((each.head, *each.whys))}.", "  ", "    ")


def _differences(found: VMWhole) -> str:
    if found.beside is None:
        return ""
    other = found.beside.path
    if not found.differences:
        return f"Nothing that is compared differs in {other}.\n"
    rows = [(each.what, each.here, each.there) for each in found.differences]
    text = paragraph(f"Where {other} differs")
    for what, here, there in rows:
        text += paragraph(f"{what}: {here}", "  ", "    ") + paragraph(f"{other}: {there}", "    ", "      ")
    return text


def _step_once(stepped: set[tuple[str, ...]], following: str, commands: Sequence[str]) -> str:
    if (key := (following, *commands)) in stepped:
        return ""
    stepped.add(key)
    return step(following, commands, "    ")


def _targets(found: VMWhole) -> Iterator[str]:
    if found.targets is not None:
        yield "Where it could migrate to\n"
        yield from _places(found.targets, "other node", _of(found, "migrate"))


def _places(places: Places, noun: str, verdict: Verdict | None, *, briefly: bool = False) -> Iterator[str]:
    """`briefly`: nodes are listed only where none is left."""
    if places.unknown:
        yield paragraph(f"Not known: {places.unknown}.", "  ", "    ")
        return
    nodes = f"{places.in_all} {noun}{'' if places.in_all == 1 else 's'}"
    if places.none:
        counted = f": {', '.join(_counted(*each) for each in places.ruled_out)}" if places.ruled_out else ""
        yield paragraph(f"None of {nodes} could take it{counted}.", "  ", "    ")
        yield step(places.next, places.commands, "    ")
    else:
        alone = "By placement alone, " if verdict is not None and verdict.answer == "no" else ""
        yield paragraph(f"{alone}{places.fitting} of {nodes} could take it.", "  ", "    ")
    shown = places.nodes[:_NODES] if places.none or not briefly else ()
    width = max((len(one_line(each.node)) for each in shown), default=0)
    for each in shown:
        yield paragraph(_answered(each), f"    {one_line(each.node).ljust(width)}  ")
    if shown and (rest := places.in_all - len(shown)):
        yield f"    and {rest} more\n"
    if places.unless and not places.none:
        yield paragraph(f"Any of them may be ruled out by {places.unless}, not evaluated here.", "  ", "    ")


def _counted(count: int, what: str) -> str:
    if count > 1:
        what = what.replace("lacks ", "lack ", 1) if what.startswith("lacks ") else what
        what = what.replace("offers ", "offer ", 1) if what.startswith("offers ") else what
    return f"{count} {what}"


def _not_considered(found: VMWhole) -> Iterator[str]:
    every = (found.targets, found.restart.start if found.restart is not None else None)
    texts = dict.fromkeys(text for each in every if each is not None for text in each.not_considered)
    if texts:
        yield paragraph(f"Not considered of nodes: {'; '.join(texts)}.", "", "  ")


def _answered(node: NodeAnswer) -> str:
    return f"{node.answer}{': ' if node.obstacles else ''}{'; '.join(each.what for each in node.obstacles)}"


def _drain(found: VMWhole) -> Iterator[str]:
    if found.drain_unknown:
        yield "If its node is drained\n"
        yield paragraph(f"Not known: {found.drain_unknown}.", "  ", "    ")
    if (drain := found.drain) is None:
        return
    yield "If its node is drained\n"
    target = f" {drain.target} could take it." if drain.target else ""
    to = f" To: {drain.to}." if drain.to else ""
    reason = f" {drain.reason}:" if drain.reason else ""
    yield paragraph(f"{TITLES[drain.state]}:{reason} {drain.why}{to}{target}", "  ", "    ")
    yield step(drain.next, drain.commands, "    ")


def _restart(found: VMWhole) -> Iterator[str]:
    if (restart := found.restart) is None:
        return
    yield "At its start\n" if found.proposed else "At its next start\n"
    if restart.required:
        yield paragraph(f"Waits for it (RestartRequired): {restart.required}", "  ", "    ")
    verdict = _of(found, "start", "restart")
    if verdict is None or verdict.answer != "changes":  # which says it already
        for line in changes(restart):
            yield paragraph(sentence(line), "  ", "    ")
    yield from _places(restart.start, "node", verdict, briefly=found.targets is not None)


def _upgrade(found: VMWhole) -> Iterator[str]:
    upgrade = found.upgrade
    if upgrade.to:
        yield f"With KubeVirt {upgrade.to}\n"
        if upgrade.unknown:
            yield paragraph(f"Not all is known: {upgrade.unknown}.", "  ", "    ")
        elif not (upgrade.appears or upgrade.goes):
            yield "  No finding of it comes or goes.\n"
        for each in upgrade.appears:
            yield from _finding(each)
        for each in upgrade.goes:
            yield paragraph(f"goes: {each.reason}: {each.message}", "  ", "    ")


def _findings(found: VMWhole, aim: Aim) -> str:
    none = "as far as can be seen.\n" if found.unanswered_in_all else "and every check has an answer for it.\n"
    text = f"Findings ({len(found.findings)})\n" if found.findings else f"No finding is open on it, {none}"
    text += "".join(part for each in found.findings for part in _finding(each, aim, who=each.subject.kind not in VMS))
    others = (("Findings around it", found.around), ("Restores and clones that have not run", found.copies))
    for head, some in others:
        if some:
            text += "".join((f"\n{head}\n", *(part for each in some for part in _finding(each, aim, who=True))))
    return text


def _finding(each: FindingReport, aim: Aim | None = None, *, who: bool = False) -> Iterator[str]:
    """Without `aim` it is not open yet, so nothing plans its repair."""
    subject = f" {each.subject}" if who else ""
    old = f" (may be old: {each.unknown})" if each.unknown else ""
    yield paragraph(f"{each.severity} {each.reason}{subject}: {each.message}{old}", "  ", "    ")
    for line in stakes(each):
        yield paragraph(line, "    ", "      ")
    yield step(each.next, each.commands, "    ", referred=referred(each.next, each.evidence))
    if each.remediation:
        yield paragraph(f"repair: {repair_by(each.remediation)}", "       ", "         ")
        if aim is not None:
            yield indented(aim.of_cluster(plan_command(each)), "       ")


def _unknown(found: VMWhole) -> Iterator[str]:
    if found.unseen:
        yield "Not seen, so the answer may be incomplete\n"
        yield from _listed(f"{each.kind}: {each.why}" for each in found.unseen)
    if found.unread:
        yield paragraph(f"Not read, and may matter: {', '.join(map(str, found.unread))}.")
    if found.unanswered_in_all and not found.unseen:
        yield f"Checks without an answer for it ({found.unanswered_in_all})\n"
        yield from _listed(f"{each.check}: {each.why}" for each in found.unanswered)
    elif found.unanswered_in_all:
        yield f"Checks without an answer for it: {found.unanswered_in_all}\n"


def _listed(lines: Iterable[str]) -> Iterator[str]:
    return (paragraph(each, "  ", "    ") for each in lines)
