"""Which edits KubeVirt is expected to refuse, and whether it does: the predicates of features put to the API server.

Pure: what is expected is a value, and so is what an answer means. Asking is somebody else's.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Iterable
from enum import StrEnum

import msgspec
from msgspec import UnsetType

from ..checks.features.feature_mismatch import CHECK
from ..checks.features.feature_mismatch.evaluation import refusals
from ..domain.features.configuration import Effective
from ..domain.features.configuration import chosen as chosen_kubevirt
from ..domain.features.gates import ASSUME
from ..domain.features.requests import requests_of
from ..facts.record import Ref, UnansweredError
from ..facts.rule import Ground, Request, Rule, Stage
from ..facts.rules import BY_ID
from ..store.cluster import Cluster
from ..store.kinds.kube_virt import KubeVirt
from ..store.kinds.virtual_machine import VirtualMachine
from ..store.source import unseen

__all__ = [
    "EditAnswer",
    "EditProbed",
    "EditProbes",
    "Expected",
    "chosen",
    "expected_edits",
    "probed",
    "summed",
    "unsettled",
]

# The answers to dry-run edits, in the shape that `steward check` and `steward impact` share with their JSON.

_NAMED = 20  # VMs without an answer


class EditProbed(msgspec.Struct, frozen=True, rename="camel"):
    """One VM: what is `expected` of an edit, `taken` or `refused`, and by which features; what the API server `said`,
    taken, refused, forbidden, gone or unclear, and its `answer` in its own words. Where that differs `advice` says what
    to do, and where it `contradicts` one of the two is wrong about a feature.
    """

    vm: Ref
    expected: str
    features: tuple[str, ...]
    said: str
    answer: str
    differs: bool
    contradicts: bool
    advice: str


class EditProbes(msgspec.Struct, frozen=True, rename="camel"):
    """`agree` counts the answers that are as expected, `differences` are the others, and `unanswered` the VMs of which
    nothing was said, the first of them; `unanswered_in_all` counts them. `not_asked` counts the VMs that nobody asked
    for, and `why` says why, or why nobody was asked at all.
    """

    asked: int
    agree: int
    differences: tuple[EditProbed, ...]
    unanswered: tuple[EditProbed, ...]
    unanswered_in_all: int
    not_asked: int
    why: str


_ANSWERS = ("taken", "refused")


def summed(probes: Iterable[EditProbed], not_asked: int, why: str) -> EditProbes:
    every = tuple(probes)
    differences = tuple(each for each in every if each.differs)
    unanswered = tuple(each for each in every if each.said not in _ANSWERS)
    return EditProbes(
        asked=len(every),
        agree=len(every) - len(differences) - len(unanswered),
        differences=tuple(sorted(differences, key=lambda each: (not each.contradicts, each.vm))),
        unanswered=unanswered[:_NAMED],
        unanswered_in_all=len(unanswered),
        not_asked=not_asked,
        why=why,
    )


def unsettled(probes: EditProbes | UnsetType) -> bool:
    """Whether an answer contradicts, or whether there was none where one was wanted."""
    if isinstance(probes, UnsetType):
        return False
    unclear = any(each.said != "gone" for each in probes.unanswered)
    return unclear or any(each.contradicts for each in probes.differences) or (bool(probes.why) and not probes.asked)


# What the API server is expected to answer to an edit of a VM, by what the VM asks for and the cluster allows.

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


# What the answer to a dry-run edit means, and whether it is the expected one.
#
# A refusal at admission is known by its text and not by its status: it may be 400, 403, 422, or 500 for a call that
# KubeVirt passes on. What is no refusal, a timeout included, says nothing of the VM.


class EditAnswer(StrEnum):
    TAKEN = "taken"
    REFUSED = "refused"  # at admission
    FORBIDDEN = "forbidden"  # our ServiceAccount may not ask
    GONE = "gone"
    UNCLEAR = "unclear"  # no answer, or one that says nothing of the VM


_REFUSALS = ("denied the request", "denied request")  # of a webhook, and of a ValidatingAdmissionPolicy
_WHO = re.compile(r"""(?:admission webhook|ValidatingAdmissionPolicy) ["']([^"']{1,253})["']""")
_GATE = "feature gate"  # in whatever KubeVirt refuses for the sake of one
_OURS = "kubevirt.io"
_LONGEST = 300  # characters of an answer that are shown


def probed(expected: Expected, code: int, text: str) -> EditProbed:
    """`code` is 0 where there was no answer; `text` says why then."""
    said = _said(code, text)
    differs, contradicts, advice = False, False, ""
    if said in (EditAnswer.TAKEN, EditAnswer.REFUSED):
        differs, contradicts, advice = _compared(expected, said, text)
    return EditProbed(
        expected.vm,
        "refused" if expected.refused else "taken",
        tuple(rule.id for rule in expected.refusing),
        said.value,
        f"{code or ''} {text}".strip()[:_LONGEST],
        differs,
        contradicts,
        advice,
    )


def _said(code: int, text: str) -> EditAnswer:
    if code >= 400 and any(each in text for each in _REFUSALS):
        return EditAnswer.REFUSED
    if 200 <= code < 300:
        return EditAnswer.TAKEN
    return {403: EditAnswer.FORBIDDEN, 404: EditAnswer.GONE}.get(code, EditAnswer.UNCLEAR)


def _compared(expected: Expected, said: EditAnswer, text: str) -> tuple[bool, bool, str]:
    """Whether it differs from what is expected, whether it contradicts it, and what to do about that."""
    report = (
        f"Report it with the VM and the KubeVirt object, or set {ASSUME} if this is no build of {expected.version}."
    )
    if said is EditAnswer.TAKEN:
        return expected.refused, expected.refused, report if expected.refused else ""
    if expected.refused:
        texts = [rule.message for rule in expected.refusing if rule.message]
        if not texts or any(each in text for each in texts):
            return False, False, ""
        return True, False, f"It is refused for another reason than expected. {report}"
    if _GATE in text or any(rule.message and rule.message in text for rule in expected.asked):
        return True, True, report
    return True, False, _other(text)


def _other(text: str) -> str:
    who = _WHO.search(text)
    name = who[1] if who is not None else "a webhook"
    if not name.endswith(_OURS):
        return f"{name} refuses it, which is none of KubeVirt's: what features ask for is not known from that."
    return "It is refused for what is no feature that is known here; report it if it is one."
