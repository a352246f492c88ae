"""Which PDBs select a pod: asked for each VM of a namespace, where there may be thousands of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import chain, islice

from ...store.kinds.pod import Pod
from ...store.kinds.pod_disruption_budget import PodDisruptionBudget
from ...store.selector import Selector

ENOUGH = 100  # PDBs of one pod that are looked for: from two on no eviction passes


class Selecting:
    """Files each selector under a label that it requires, the rarest one, so that hardly any other is tried on a pod.

    Pods whose labels don't differ in what the selectors look at share one answer.
    """

    def __init__(self, pdbs: Iterable[PodDisruptionBudget]) -> None:
        self._pdbs: dict[Selector, list[PodDisruptionBudget]] = {}
        for pdb in sorted(pdbs, key=lambda each: each.name):
            if pdb.selector is not None:
                self._pdbs.setdefault(pdb.selector, []).append(pdb)
        required = {selector: _required(selector) for selector in self._pdbs}
        numbers = Counter(pair for each in required.values() for pairs in each for pair in pairs)
        self._keys = {each.key for selector in self._pdbs for each in selector.requirements}
        self._filed: dict[tuple[str, str], list[Selector]] = {}
        self._others: list[Selector] = []
        for selector, each in required.items():
            if not each:
                self._others.append(selector)
                continue
            rarest = each[0] if len(each) == 1 else min(each, key=lambda pairs: sum(numbers[pair] for pair in pairs))
            for pair in rarest:
                self._filed.setdefault(pair, []).append(selector)
        self._known: dict[tuple[tuple[str, str], ...], tuple[PodDisruptionBudget, ...]] = {}

    def of(self, pod: Pod) -> tuple[PodDisruptionBudget, ...]:
        """By name. Of more than ENOUGH, one more than that."""
        labels = pod.labels
        looked_at = tuple((key, value) for key, value in labels.items() if key in self._keys)
        found = self._known.get(looked_at)
        if found is None:
            filed = (self._filed.get(pair, ()) for pair in looked_at)
            selectors = (each for each in chain(self._others, *filed) if each.matches(labels))
            pdbs = islice(chain.from_iterable(map(self._pdbs.__getitem__, selectors)), ENOUGH + 1)
            found = self._known[looked_at] = tuple(sorted(pdbs, key=lambda each: each.name))
        return found


def _required(selector: Selector) -> list[tuple[tuple[str, str], ...]]:
    """For each label of which it requires certain values, these."""
    return [
        tuple((each.key, value) for value in dict.fromkeys(each.values))
        for each in selector.requirements
        if each.operator == "In"
    ]
