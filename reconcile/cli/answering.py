"""Whether what was seen answers what a command is asked for: that there is nothing to repair is said of no less."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from exporter.cli.input.filters import UsageError, concerning
from exporter.cli.output.text.terminal import complain, one_line
from exporter.store.text.naming import counted

from ..observe.source import Found, Observed
from ..plan.remediation import Remediation
from .session import answered_checks

_NAMED = 5


def refuse_unfound(observed: Observed, ids: Collection[str]) -> None:
    """Raises UsageError for the id of a finding or a cause that is not there."""
    for wanted in ids:
        if not any(is_of(each, wanted) for each in observed.findings):
            raise UsageError(
                f"no finding and no cause has the id {wanted[:60]}, or it is gone; `steward reconcile plan` lists "
                "those with a repair"
            )


def is_of(found: Found, wanted: str) -> bool:
    """Whether it is the finding or of the cause that an id is of."""
    return found.hint.fingerprint.startswith(wanted) or found.cause.startswith(wanted)


def complain_unanswered(observed: Observed, remediations: Collection[Remediation], namespace: str | None) -> bool:
    """Says why these remediations may have more to do in a namespace, None for all; gives whether they may."""
    why = list(_unanswered(observed, answered_checks(remediations), namespace))
    for each in why[:_NAMED]:
        complain(f"there may be more to repair: {one_line(each)}")
    if len(why) > _NAMED:
        complain(f"there may be more to repair, for {len(why) - _NAMED} more reasons; `steward check` has them")
    return bool(why)


def _unanswered(observed: Observed, checks: Collection[str], namespace: str | None) -> Iterator[str]:
    if checks and set(checks) <= observed.not_applicable.keys():
        yield from sorted({observed.not_applicable[each] for each in checks})
        return
    places = frozenset([namespace]) if namespace else frozenset[str]()
    unknown = [each for each in observed.unanswered if each.check in checks]
    by_why: dict[str, set[str]] = {}
    for each in concerning(unknown, places) if places else unknown:
        by_why.setdefault(each.why, set()).add(each.check)
    for why, of in sorted(by_why.items(), key=lambda item: (-len(item[1]), item[0])):
        yield f"{why} ({counted(len(of), 'check')})"
    if not observed.ready and not by_why:
        yield "not everything was seen yet"
