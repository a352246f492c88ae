"""What the API server is expected to answer to an edit of a VM, by what the VM asks for and the cluster allows."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable

import msgspec

from ...checks.features.feature_mismatch import CHECK
from ...checks.features.feature_mismatch.refusals import refusals
from ...domain.features.configuration import Effective
from ...domain.features.configuration import chosen as chosen_kubevirt
from ...domain.features.requests import requests_of
from ...domain.features.rule import Ground, Request, Rule, Stage
from ...domain.features.rules import BY_ID
from ...store.cluster import Cluster
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.record import Ref, UnansweredError
from ...store.source import unseen

_OF_EDITS = (Stage.ADMISSION, Stage.EDIT)
_SLICE = 500  # VMs looked at between two looks at the event loop


class Expected(msgspec.Struct, frozen=True):
    """An edit of a VM is `refused` or taken. `asked` are the rules that an edit is checked by and that few VMs ask for,
    `refusing` all by which it is refused. `alike` is the same for VMs that have to get the same answer, and `version`
    the one of KubeVirt that it is expected of.
    """

    vm: Ref
    refused: bool
    asked: tuple[Rule, ...]
    refusing: tuple[Rule, ...]
    alike: tuple[tuple[Request, ...], bool]
    version: str


def expected_edits(
    cluster: Cluster, rules: Collection[str] | None = None
) -> Generator[None, None, tuple[Expected, ...]]:
    """Of the VMs that ask for what is checked at admission, and of all whose edits are refused; with `rules`, of the
    VMs that ask for one of these features. Stops after every few VMs.

    Raises UnansweredError where nobody knows what is allowed, or which VMs there are.
    """
    if blind := unseen(cluster, (kind.record for kind in CHECK.reads)):
        raise UnansweredError(f"{', '.join(blind)} can't be seen")
    kubevirt = chosen_kubevirt(cluster.all(KubeVirt))
    known = kubevirt if isinstance(kubevirt, str) else Effective.of(kubevirt)
    if isinstance(known, str) or isinstance(kubevirt, str):
        raise UnansweredError(str(known))
    found = []
    for at, vm in enumerate(list(cluster.all(VirtualMachine))):
        if at % _SLICE == _SLICE - 1:
            yield
        if vm.deleting is not None:
            continue  # the webhook looks at none that is being deleted
        requests = requests_of(vm, cluster.get, kubevirt)
        expected = _expected(vm, requests, known)
        if _wanted(expected, requests, rules):
            found.append(expected)
    return tuple(found)


def _expected(vm: VirtualMachine, requests: tuple[Request, ...], known: Effective) -> Expected:
    rules = dict.fromkeys(BY_ID[rule] for rule, _ in requests)
    asked = tuple(rule for rule in rules if rule.bites(known) in _OF_EDITS and not (rule.common or rule.inverted))
    refusing = tuple(rule for rule in refusals(Ground(known), requests) if rule.bites(known) in _OF_EDITS)
    refused = bool(refusing or vm.invalid)
    return Expected(vm.ref, refused, asked, refusing, (requests, bool(vm.invalid)), str(known.version))


def _wanted(expected: Expected, requests: Iterable[Request], rules: Collection[str] | None) -> bool:
    if rules is not None:
        return any(rule in rules for rule, _ in requests)
    return expected.refused or bool(expected.asked)


def chosen(expected: Iterable[Expected], most: int) -> tuple[Expected, ...]:
    """At most so many: of those that are alike one after the other, refused ones first, so that few tell the most."""
    alike: dict[tuple[tuple[Request, ...], bool], int] = {}
    ranked = []
    for each in sorted(expected, key=lambda each: each.vm):
        rank = alike[each.alike] = alike.get(each.alike, -1) + 1
        ranked.append((rank, not each.refused, each.vm, each))
    return tuple(each for *_, each in sorted(ranked, key=lambda place: place[:3])[:most])
