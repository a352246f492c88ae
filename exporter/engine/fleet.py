"""Evaluates the checks of several clusters, one of which is in memory at a time.

Of each cluster remains what the checks keep of it (`Check.facts`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..findings.check import PER_FLEET, Check, View
from ..findings.evaluate import standing, undecodables
from ..findings.finding import Finding, Unknown
from ..store.cluster import Cluster
from .finding_store import FindingStore


class ClusterComparison:
    def __init__(self, checks: Iterable[Check]) -> None:
        """Those of `checks` that are of several clusters are evaluated."""
        self._checks = tuple(check for check in checks if check.scope is PER_FLEET)
        self._facts: dict[str, dict[str, tuple[Any, ...]]] = {check.id: {} for check in self._checks}

    def add(self, name: str, cluster: Cluster) -> Iterator[Unknown]:
        """Takes in a cluster; gives why not all of it can be compared."""
        for check in self._checks:
            self._facts[check.id][name] = tuple(check.facts(cluster))
            yield from (Unknown(check.id, "", why, name) for why in standing(check, cluster).unseen)
            for each in undecodables(check, cluster):
                yield Unknown(check.id, each.namespace, each.sentence, name)

    def findings(self, now: float) -> Iterator[Finding]:
        """What is found in all of them together; `now` is in seconds since 1970."""
        for check in self._checks:
            view = View(Cluster(()), check, "")
            view.clusters = self._facts[check.id]
            found: dict[str, list[Finding]] = {name: [] for name in view.clusters}
            for finding in filter(None, check.find(view)):
                found[finding.cluster].append(finding)
            for own in found.values():  # each for itself: a copy of a cluster has the same objects
                yield from FindingStore(check).evaluated("", own, now, initial=True).come
