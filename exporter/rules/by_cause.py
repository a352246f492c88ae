"""Which findings have an alert of their own, and which are one alert of their cause.

The first `Values.objects` findings of a cause have an alert each, with the labels of its object: its owner gets it and
can silence it. With more of them nobody reads a list, and all act on the cause: what comes then, or comes at once in
larger numbers, is one alert of the cause.

Crossing that number resolves nothing and sends nothing anew. What has an alert of its own (`alone`) keeps it until it
is repaired, and what is in that of its cause (`together`) stays there: as long as there is any, nothing is taken out of
it. Findings of different severity are counted apart, so that warnings hide nothing critical.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ..findings.causes import Cause
from .held import SEVERITY, held_name, labels_of
from .model import Recording
from .values import Values

__all__ = ["alone_and_together", "alone_name", "together_name"]

# What these causes refer to is in the namespace of each of their findings.
_IN_NAMESPACE = (Cause.NAMESPACE, Cause.SUBJECT, Cause.PDB, Cause.IPAM_CLAIM, Cause.NETWORK_THERE)
_CAUSE = f"cluster, cause, {SEVERITY}"
_COUNTS = f'{SEVERITY}!="info"'


def alone_name(family: str) -> str:
    return f"finding:{family}:alone"


def together_name(family: str) -> str:
    return f"cause:{family}:together"


def alone_and_together(
    family: str, causes: Mapping[str, Cause], values: Values, *, whatever_reason: bool
) -> Iterator[Recording]:
    """`causes` are those of the reasons of the family. With `whatever_reason` an object that has an alert keeps it when
    its reason changes.
    """
    held, alone, together = f"{held_name(family)}{{{_COUNTS}}}", alone_name(family), together_name(family)
    same = [label for label in labels_of(values) if not (whatever_reason and label in ("reason", "cause"))]
    yield Recording(
        record=alone,
        expr=f"""({held} and on ({", ".join(same)}) {alone})
or (
  {held}
  and on ({_CAUSE}) count by ({_CAUSE}) ({held}) <= {values.objects}
  unless on ({_CAUSE}) {together}
)""",
    )
    yield Recording(record=together, expr="\nor ".join(_counts(family, causes, values)))


def _counts(family: str, causes: Mapping[str, Cause], values: Values) -> Iterator[str]:
    there = sorted(reason for reason, cause in causes.items() if cause in _IN_NAMESPACE)
    elsewhere = sorted(causes.keys() - set(there))
    labels = ("cluster", "check", "reason", "cause", SEVERITY)
    for reasons, by in ((there, (*labels, values.namespace_label)), (elsewhere, labels)):
        if reasons:
            held = f"{held_name(family)}{{{_named(reasons)}{_COUNTS}}}"
            yield f"count by ({', '.join(by)}) (\n  {held} unless {alone_name(family)}\n)"


def _named(reasons: Iterable[str]) -> str:
    reasons = list(reasons)
    return f'reason{"=" if len(reasons) == 1 else "=~"}"{"|".join(reasons)}", '
