"""What to do about a finding: its next step, its commands with the names filled in, its runbook and its remediation.

One source for every surface. A command stands in the runbook of its alert to the letter, with words in capitals for
names; here they get the finding's values.

Of a departure the domain says which remedy it is, and with which values; a check, a preview and a report take its text
from here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from ..domain.acts import Act, Among, acts_of
from ..domain.drains.departure import Remedy
from ..domain.identity import Standing
from ..facts.naming import filled
from ..facts.record import Ref
from ..runbook import link
from .check import Reason
from .finding import Finding
from .pages import Texts

__all__ = ["advised", "filled", "values_of", "with_commands"]


def advised(finding: Finding, reason: Reason) -> Finding:
    """The finding with all that its reason declares of advice; what the check has set itself stays."""
    values = values_of(finding)
    return msgspec.structs.replace(
        finding,
        next=finding.next or filled(reason.next, values),
        commands=finding.commands or tuple(filled(each, values) for each in reason.commands),
        runbook=link(reason.alert, finding.reason),
        remediation=(reason.remediation if finding.remediation is None else finding.remediation) or None,
        does=reason.does if finding.does is None else finding.does,
        forbids=reason.forbids if finding.forbids is None else finding.forbids,
    )


def with_commands(finding: Finding, commands: Iterable[str]) -> Finding:
    """With these in place of the commands of its reason."""
    values = values_of(finding)
    return msgspec.structs.replace(finding, commands=tuple(filled(each, values) for each in commands))


def values_of(finding: Finding) -> dict[str, str]:
    """What stands for the words in capitals: of the subject, node, network, and texts in the evidence by key.

    Not a UUID: it is shown in the evidence only, and UUID is a word of sentences.
    """
    subject = finding.subject
    texts = ((key.upper(), value) for key, value in finding.evidence.items() if isinstance(value, str))
    values = {key: value for key, value in texts if key != "UUID"}
    values |= {"NAMESPACE": subject.namespace, "NAME": subject.name, "UID": subject.uid}
    values |= {"NODE": finding.node, "NETWORK": finding.network, "FEATURE": finding.feature}
    return values | ({"VMNAME": finding.vm} if finding.vm else {})


# The next step of a finding beside the other open findings of its VM.
#
# Each finding knows its own advice only. Where that is what another finding of the VM warns of, as a restart is of a VM
# that could not start again, the next step begins with the other finding, and the commands that would do it are left
# out. What forbids and what is forbidden is declared by the reasons (`Reason.does`, `Reason.forbids`); no text is read.

_EVERYWHERE = ("", "")
_TURNS = 50  # findings of a VM


class Advice(msgspec.Struct, frozen=True):
    """A next step of `subject` and what it does, whoever gives it."""

    reason: str
    subject: Ref
    next: str
    commands: tuple[str, ...]
    does: tuple[Act, ...]


def key_of(finding: Finding) -> tuple[str, str]:
    """What findings have in common that are about one VM; of what is of no VM, the object; and of what is about each VM
    of a namespace, or of the cluster, that.
    """
    subject = finding.subject
    among = finding.forbids.among if finding.forbids is not None else Among.OWN
    if among is Among.CLUSTER:
        return _EVERYWHERE
    if among is Among.NAMESPACE:
        return _namespace_key(subject.namespace)
    return subject.namespace, finding.vm or f"{subject.kind}/{subject.name}"


def places_of(namespace: str, node: str = "", nads: Iterable[str] = ()) -> tuple[tuple[str, str], ...]:
    """By which findings are kept that are about each VM in a place: on a node, in a namespace, on a NAD (as
    `namespace/name`), and anywhere.
    """
    parts = (nad.partition("/") for nad in dict.fromkeys(nads))
    on = [(where, f"NetworkAttachmentDefinition/{name}") for where, _, name in parts if name]
    at = (("", f"Node/{node}"),) if node else ()
    return *at, _namespace_key(namespace), *on, _EVERYWHERE


def _namespace_key(name: str) -> tuple[str, str]:
    return "", f"Namespace/{name}"


def with_others(finding: Finding, others: Iterable[Finding]) -> Finding:
    """As it is shown beside `others`, which are about the same VM."""
    if not finding.does or not finding.next:
        return finding
    own = Advice(finding.reason, finding.subject, finding.next, finding.commands, finding.does)
    made = restrained(own, others)
    return finding if made is own else msgspec.structs.replace(finding, next=made.next, commands=made.commands)


def with_standing(finding: Finding, standing: Standing) -> Finding:
    """As it is shown of this VM, or of a VMI that no VM owns."""
    if not standing.alone and not (standing.fleeting and finding.does):
        return finding
    own = Advice(finding.reason, finding.subject, finding.next, finding.commands, finding.does or ())
    made = of_standing(own, standing)
    return finding if made is own else msgspec.structs.replace(finding, next=made.next, commands=made.commands)


def restrained(own: Advice, others: Iterable[Finding]) -> Advice:
    """The advice as it may be given beside the other findings of the VM; itself where none of them forbids it.

    Findings with its own reason are no others: its text says the same of them.
    """
    firsts: dict[str, str] = {}
    forbidden: set[Act] = set()
    for other in others:
        if other.forbids is None or other.reason == own.reason:
            continue
        acts = [act for act in own.does if act in other.forbids.acts and (act.of_vm or other.subject == own.subject)]
        if acts:
            forbidden.update(acts)
            firsts.setdefault(other.reason, _first(other, acts, other.forbids.why))
    if not firsts:
        return own
    kept = tuple(each for each in own.commands if forbidden.isdisjoint(acts_of(each)))
    return msgspec.structs.replace(
        own, next=" ".join((*(firsts[each] for each in sorted(firsts)), own.next)), commands=kept
    )


_BY_VM = re.compile(r"\bvirtualmachines\.kubevirt\.io -n \S+ \S")
_OF_VMS = frozenset((Act.START, Act.STOP, Act.RESTART))
_ENDS = frozenset((Act.STOP, Act.STOP_NOW, Act.RESTART, Act.END))
_LOSES = "A stop or restart loses what the guest wrote to {}."
_ALONE = "No VM owns the VMI: nothing but a replica set starts it again. Save its manifest first."


def of_standing(own: Advice, standing: Standing) -> Advice:
    """The advice with what a stop loses. About a VMI that no VM owns, it is without the commands about a VM."""
    if standing.fleeting and own.next and not _ENDS.isdisjoint(own.does):
        own = msgspec.structs.replace(own, next=f"{own.next} {_LOSES.format(standing.fleeting)}")
    return _of_vmi_alone(own) if standing.alone else own


def _of_vmi_alone(own: Advice) -> Advice:
    kept = tuple(each for each in own.commands if not _BY_VM.search(each) and _OF_VMS.isdisjoint(acts_of(each)))
    ends = not _OF_VMS.isdisjoint(own.does)
    if kept == own.commands and not ends:
        return own
    return msgspec.structs.replace(own, next=f"{_ALONE} {own.next}" if ends else own.next, commands=kept)


def _first(other: Finding, acts: Iterable[Act], why: str) -> str:
    """Where the other one asks for the same in the end, it says when."""
    what = " or ".join(act.value for act in acts)
    if not set(acts).isdisjoint(other.does or ()):
        return f"First follow {other.reason}, which says when to {what}: {why}."
    return f"Before you {what}, see {other.reason}: {why}."


def in_turn(findings: Iterable[Finding]) -> list[Finding]:
    """Those of one VM in the order in which they are to be followed: what forbids an act of another comes before it.
    Of very many only the first are put in order.
    """
    every, turn = list(findings), []
    left = every[:_TURNS]
    forbidden = Counter(key for each in left if (key := _forbidden(each)))
    while left:
        turn.append(next((each for each in left if not _waits(each, forbidden)), left[0]))
        left.remove(turn[-1])
        if key := _forbidden(turn[-1]):
            forbidden[key] -= 1
    return turn + every[_TURNS:]


def _forbidden(finding: Finding) -> tuple[str, frozenset[Act]] | None:
    acts = frozenset(finding.forbids.acts) if finding.forbids is not None else frozenset()
    return (finding.reason, acts) if acts else None


def _waits(finding: Finding, forbidden: Mapping[tuple[str, frozenset[Act]], int]) -> bool:
    """Whether findings of another reason, of which some are left, forbid an act that it asks for."""
    does = finding.does or ()
    return bool(does) and any(
        left and reason != finding.reason and not acts.isdisjoint(does) for (reason, acts), left in forbidden.items()
    )


_PAGES = {"NodeUnheard": Texts("launchers")}
_EVICTIONS = Texts("evictions")


def next_step(remedy: Remedy, values: Mapping[str, str]) -> str:
    """With values in place of words in capitals. A case without a text of its own has the text of its reason."""
    reason, case = remedy.of
    if not reason:
        return filled(remedy.next, values)
    page = _PAGES.get(reason, _EVICTIONS)
    try:
        text = page.next(reason, case)
    except KeyError:
        text = page.next(reason)
    return filled(text, values)
