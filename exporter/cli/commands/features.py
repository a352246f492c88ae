"""`steward features`: what the cluster allows, who asks for it, and which feature gates are on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...facts.naming import named
from ...questions.features import QUESTION, FeatureReport, Features, GateReport
from ...questions.trust import exit_code
from ..asking import CommandQuestion
from ..output.text.layout import grid
from ..output.text.terminal import one_line

# What KubeVirt allows as text: features that somebody asks for, then the feature gates.


def listed_features(found: Features, columns: int | None, *, folded: bool) -> str:
    """`columns` of the terminal, None elsewhere; `folded` counts only what there is nothing to know of."""
    blank = [each for each in found.features if folded and _blank(each)]
    shown = [each for each in found.features if not folded or not (_quiet(each) or _blank(each))]
    parts = [_of(found), grid(_HEAD, [_row(each) for each in shown], columns) if shown else ""]
    if not found.features and not found.gates and not found.unseen and not found.not_applicable:
        parts.append("Nothing is asked for that is not allowed.\n")
    parts += [title + grid(_MORE, rows, columns) for title, rows in map(_details, shown) if rows]
    if blank:
        many = f"{len(blank)} features" if len(blank) > 1 else "1 feature"
        parts.append(f"Of {many} it is not known whether they are allowed{_uncounted(blank)}; name one to see it.\n")
    quiet = len(found.features) - len(shown) - len(blank)
    if quiet:
        many = f"{quiet} features that nobody asks for are" if quiet > 1 else "1 feature that nobody asks for is"
        parts.append(f"{many} not refused; name one to see it.\n")
    gates = [each for each in found.gates if not folded or not _usual(each)]
    if gates:
        parts.append(grid(_GATES[: None if found.target else 4], [_gate(each, found) for each in gates], columns))
    usual = Counter(each.on for each in found.gates if folded and _usual(each))
    if usual:
        parts.append(f"Beside these, {usual[True]} feature gates are always on, and {usual[False]} are off.\n")
    return "\n".join(filter(None, parts))


_HEAD = ("FEATURE", "STATE", "VMS", "RUNNING", "VMIS", "BITES", "DECIDED BY", "FINDINGS")
_MORE = ("WHAT", "WHICH")
_GATES = ("GATE", "STAGE", "STATE", "DECIDES", "THEN")
_STATES = {"by_value": "by value", "unchecked": "not checked"}


def _quiet(each: FeatureReport) -> bool:
    """Whether there is nothing to know about it."""
    return each.quiet and each.state in ("allowed", "by_value", "unchecked")


def _blank(each: FeatureReport) -> bool:
    """Whether nobody knows if it is allowed, and nobody is known to ask for it."""
    return each.state == "unknown" and (each.vms is None or each.quiet)


def _uncounted(blank: list[FeatureReport]) -> str:
    return ", nor who asks for them" if any(each.vms is None for each in blank) else ", and nobody asks for them"


def _of(found: Features) -> str:
    if found.kubevirt is None:
        return ""
    upgrade = f", being upgraded to {found.target}" if found.target else ""
    version = f"{found.version or 'of an unknown version'}{f', taken as {found.taken_as}' if found.taken_as else ''}"
    return one_line(f"KubeVirt {found.kubevirt.path} {version}{upgrade}.") + "\n"


def _row(each: FeatureReport) -> tuple[str, ...]:
    state = _STATES.get(each.state, each.state)
    if each.next_state not in ("", each.state):
        state += f", then {_STATES.get(each.next_state, each.next_state)}"
    running = each.requests["VirtualMachine"]["running"] if each.requests is not None else None
    counts = ("?" if number is None else str(number) for number in (each.vms, running, each.vmis))
    by = each.decided_by
    decided = f"{by[0]} ({each.gate_source})" if each.gate and each.gate_source else ", ".join(by)
    return (each.feature, state, *counts, each.bites or "?", decided or "-", _findings(each.findings))


def _findings(findings: dict[str, int]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in findings.items()) or "-"


def _details(each: FeatureReport) -> tuple[str, list[tuple[str, ...]]]:
    """What is to be known of one that is not allowed, or will not be, and that somebody asks for."""
    rows: list[tuple[str, ...]] = []
    if each.unallowed:
        rows += [("not allowed", why) for why in each.why]
        rows += [("not allowed then", why) for why in each.next_why if why not in each.why]
        if each.answer and (each.why or each.next_why):
            rows.append(("KubeVirt answers", each.answer))
        asked = max(each.vms or 0, each.vmis or 0, len(each.first))
        if each.first:
            rows.append(("asked for by", named([ref.path for ref in each.first], asked)))
        if each.first_found:
            rows.append(("findings on", named([ref.path for ref in each.first_found], sum(each.findings.values()))))
    return f"{each.feature}: {each.title}\n", rows


def _usual(each: GateReport) -> bool:
    """Whether it is as it is for everybody, now and then."""
    return each.source in ("always", "off") and not each.findings and not each.changes and bool(each.stage)


def _gate(each: GateReport, found: Features) -> tuple[str, ...]:
    state = _on(each.on) if each.source == "off" else f"{_on(each.on)} ({each.source})"
    row = (each.gate, each.stage or "unknown", state, ", ".join(each.features) or "-")
    if not found.target:
        return row
    if each.next_on is None:
        return (*row, "unknown")
    changed = (each.next_on, each.next_stage) != (each.on, each.stage)
    return (*row, f"{_on(each.next_on)}, {each.next_stage or 'unknown'}" if changed else "-")


def _on(on: bool) -> str:
    return "on" if on else "off"


def _lacking(found: Features, check: str) -> Iterator[str]:
    if found.not_applicable:
        yield f"not applicable: {found.not_applicable}"
    if found.unknown:
        yield f"what the cluster allows is unknown: {found.unknown}"
    if found.unseen:
        yield f"nothing is counted while {', '.join(found.unseen)} can't be seen; {check} says why"
    elif not found.complete:
        yield f"there may be more than is counted: an object is undecodable; {check} names it"


def _code(found: Features, in_time: bool) -> int:
    return exit_code(unknown=bool(found.not_applicable or found.unknown) or not found.complete or not in_time)


run = CommandQuestion(
    QUESTION,
    text=lambda found, asked, columns, _: listed_features(found, columns, folded=not any(asked)),
    formats={"name": lambda found: "".join(f"{each.feature}\n" for each in found.features)},
    code=_code,
    lacking=_lacking,
).run
