"""What is left of the report for who asks for a part of it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ...domain.features.rules import BY_ID, OF_NETWORKS
from ..nearest import meant, shortened
from .report import Features


class NoSuchFeatureError(LookupError):
    """No feature and no gate has the name; the text is one sentence, with what there is."""


def selected(found: Features, names: Sequence[str] = (), *, unallowed: bool = False) -> Features:
    """The features and gates of the names, with the gates that decide the features and the other way round; all for
    none. With `unallowed` only what somebody asks for without being allowed to, or has findings, or changes.

    Raises NoSuchFeatureError.
    """
    features, gates = found.features, found.gates
    if names:
        known = {*BY_ID, *(each.gate for each in gates), *(gate for each in features for gate in each.decided_by)}
        for name in names:
            if name not in known and not found.unknown:
                there = meant(name, known, "features")
                raise NoSuchFeatureError(f"no feature or feature gate is called {shortened(name)}; {there}")
        wanted = frozenset(names)
        features = tuple(each for each in features if each.feature in wanted or wanted.intersection(each.decided_by))
        deciding = {gate for each in features if each.feature in wanted for gate in each.decided_by}
        deciding |= {
            rule.gate for rule in OF_NETWORKS if rule.id in wanted
        }  # no spec shows who asks, and it has no row
        gates = tuple(each for each in gates if each.gate in wanted | deciding)
    if unallowed:
        features = tuple(each for each in features if each.unallowed)
        gates = tuple(each for each in gates if each.findings or each.changes)
    return msgspec.structs.replace(found, features=features, gates=gates)
