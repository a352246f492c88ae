"""What an IPAMClaim is evaluated with: its owner, the pods that use it and its network."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from heapq import nsmallest
from itertools import chain
from typing import Any

from ....facts.pool import AddressPlace
from ....facts.record import Record, Ref, UnreadableFactError, UnseenError
from ....facts.text_cache import Lazy
from ....facts.vm_networks import claim_name
from ....findings.advice import with_commands
from ....findings.check import View
from ....findings.finding import Finding, Since
from ....findings.pages import Texts, reasons_of
from ....findings.severity import Severity
from ....store.indexes.networks import ADDRESS, CLAIM, NAD, NETWORK, VM, address, unreadable, vm_key
from ....store.kinds.ipam_claim import FINALIZER, IPAMClaim
from ....store.kinds.namespace import Namespace
from ....store.kinds.network_attachment_definition import NetworkAttachmentDefinition, pool_of
from ....store.kinds.pod import REFERRED, Pod
from ....store.kinds.virtual_machine import VirtualMachine
from ....store.kinds.virtual_machine_instance import VirtualMachineInstance
from .._referred import NadsOfNetwork, nads_of, referred_to
from .owner import ClaimOwner, OwnerState, owner_of

REASONS = reasons_of("ipam_claims")
TEXTS = Texts("ipam_claims")

# What the IPAMClaims of one VM have in common: looked through once, since there may be thousands of each.

MOST_PODS = 100  # of one VM, or of one claim, that are compared with a claim; a VM that migrates has two


class Common:
    """Of one evaluation."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._launchers: dict[str, list[Pod]] = {}
        self._interfaces: dict[tuple[str, str, str], dict[str, list[tuple[str, str]]]] = {}

    def launchers(self, namespace: str, name: str) -> list[Pod]:
        """The pods of a VM, by name; of very many the first ones."""
        key = vm_key(namespace, name)
        if key not in self._launchers:
            own = key == self._view.partition
            pods = self._view.all(Pod) if own else self._view.members(VM, key, Pod)
            self._launchers[key] = nsmallest(MOST_PODS, pods, key=lambda each: each.name) if len(pods) > 1 else pods
        return self._launchers[key]

    def interfaces(self, vm: VirtualMachine | VirtualMachineInstance, claim: str) -> list[tuple[str, str]]:
        """(logical network, NAD or empty) of the VM's networks that the name of a claim stands for."""
        key = type(vm).__name__, vm.namespace, vm.name
        if key not in self._interfaces:
            found = self._interfaces[key] = {}
            for network, nad, _ in vm.networks:
                found.setdefault(claim_name(vm.name, network), []).append((network, nad))
        return self._interfaces[key].get(claim, [])


# How full the network of an IPAMClaim is: what nobody needs is in the way there.


def utilisation(view: View, ruler: NetworkAttachmentDefinition | None, attachments: frozenset[str]) -> float:
    """The share of the fullest subnet that claims and pods hold, 0 to 1; the pods by these NADs (`namespace/name`),
    which are all of the network. Raises UnreadableFactError where a pod's addresses can't be read.
    """
    if ruler is None:
        return 0.0
    # Thousands of claims may be left over in one network of tens of thousands of pods.
    share = view.derived(NETWORK, ruler.network, partial(_share, view, ruler, attachments))
    if isinstance(share, UnreadableFactError):
        raise share.with_traceback(None)
    return share


def _share(view: View, ruler: NetworkAttachmentDefinition, attachments: frozenset[str]) -> float | UnreadableFactError:
    pool, members = pool_of(ruler), view.sharing(NETWORK, ruler.network)
    numbers: set[int] = set()
    try:
        for each in members:
            if isinstance(each, IPAMClaim):
                numbers.update(each.numbers)
            elif isinstance(each, Pod):
                given = zip(each.addresses, each.numbers, strict=True)
                numbers.update(number for (attachment, _, _), number in given if attachment in attachments)
    except UnreadableFactError as error:
        return error
    return pool.utilisation(pool.used(numbers))


def percent(share: float) -> str:
    """Rounded down, so that 100 % is full."""
    return f"{int(share * 100)} %"


Moment = tuple[float | None, Since]
UNKNOWN_MOMENT: Moment = (None, Since.FIRST_SEEN)
_NAMED = 100  # pods in the evidence


@dataclass(eq=False)
class ClaimContext:
    view: View
    claim: IPAMClaim
    common: Common = field(repr=False)
    _at: dict[str, Iterable[Record]] = field(default_factory=dict, init=False, repr=False)

    @Lazy
    def key(self) -> str:
        return f"{self.claim.namespace}/{self.claim.name}"

    @property
    def addresses(self) -> str:
        return ", ".join(self.claim.hosts) or "no address"

    @Lazy
    def owner(self) -> ClaimOwner:
        return owner_of(self.view, self.claim)

    @Lazy
    def names(self) -> tuple[str, ...]:
        """The names of the VMs that it belongs to: those of its owners, or of its label where there is none."""
        names = dict.fromkeys((self.owner.ref.name, *(owner.name for owner in self.claim.owners)))
        return tuple(name for name in names if name)

    @Lazy
    def holders(self) -> list[Pod]:
        """Pods that refer to the claim, or hold one of its addresses."""
        return _pods(self.view.sharing(CLAIM, self.key), *(self.at(ip) for ip in self.claim.hosts))

    def at(self, ip: str) -> Iterable[Record]:
        """All that holds an address of the claim's network."""
        if ip not in self._at:
            self._at[ip] = self.view.sharing(ADDRESS, address(self.claim.network, ip))
        return self._at[ip]

    @Lazy
    def users(self) -> list[Pod]:
        """The holders, and the pods of its VM; while no owner lives, those of the VM that its label names too."""
        names = self.names if self.owner.state is OwnerState.LIVE else (name for name in self.claim.vms if name)
        return _pods(self.holders, *(self.common.launchers(self.claim.namespace, name) for name in names))

    @property
    def known_users(self) -> list[Pod] | None:
        """The same, None where pods can't be seen."""
        try:
            return self.users
        except UnseenError:
            return None

    @property
    def in_use(self) -> bool:
        """Whether a pod uses it. Raises UnreadableFactError where none does but one that can't be read may."""
        return self._any(self.users)

    @property
    def held(self) -> bool:
        """Whether a pod refers to it or holds one of its addresses. Raises UnreadableFactError as `in_use` does."""
        return self._any(self.holders)

    def _any(self, pods: list[Pod]) -> bool:
        for pod in () if pods else self.view.sharing(NAD, unreadable(self.claim.namespace)):
            if isinstance(pod, Pod):
                pod.known(*REFERRED)
        return bool(pods)

    @Lazy
    def pods(self) -> list[Pod]:
        """The launcher pods of the claim's VM that are not completed."""
        return [pod for pod in self.users if self.own(pod)]

    def own(self, pod: Pod) -> bool:
        """Whether it is a launcher pod of the claim's VM."""
        return bool(pod.domain) and pod.namespace == self.claim.namespace and pod.domain in self.names

    def refers(self, pod: Pod) -> bool:
        """Raises UnreadableFactError for a pod of its namespace that can't be read; one of another does not refer to
        it.
        """
        return self.key in (pod.claims if pod.namespace == self.claim.namespace else pod.known_claims)

    def attachments(self, pod: Pod) -> list[str]:
        """The NADs, by `namespace/name`, of the pod's attachments that refer to the claim; once for each attachment.

        It is looked for in the namespace of the NAD. The reference for the primary network is in no attachment.
        """
        namespace, name = self.claim.namespace, self.claim.name
        return [key for key, claim in pod.selections if claim == name and key.partition("/")[0] == namespace]

    @property
    def vm(self) -> VirtualMachine | None:
        return self.owner.vm

    @property
    def vmi(self) -> VirtualMachineInstance | None:
        return self.owner.vmi

    @Lazy
    def terminating(self) -> bool:
        """Whether its namespace is being deleted."""
        return any(each.terminating for each in self.view.all(Namespace))

    @property
    def runs(self) -> bool:
        """Whether the VM runs or starts."""
        return self.vmi is not None and self.vmi.phase not in ("Succeeded", "Failed")

    @Lazy
    def network(self) -> NadsOfNetwork:
        return nads_of(self.view, self.claim.network)

    @property
    def ruler(self) -> NetworkAttachmentDefinition | None:
        return self.network.ruler

    @Lazy
    def places(self) -> list[tuple[str, AddressPlace]]:
        """Where each address stands in its network; none where that does not allow persistent IPs."""
        if self.ruler is None:
            return []
        pool = pool_of(self.ruler)
        return [(ip, pool.place(ip)) for ip in self.claim.ips]

    @Lazy
    def utilisation(self) -> float:
        """The share of the network's addresses that is in use, 0 to 1."""
        return utilisation(self.view, self.ruler, self.network.keys)

    @property
    def unreadable_nad(self) -> bool:
        """Whether a NAD in the claim's namespace can't be decoded: it may be of any network."""
        return bool(self.view.members(NAD, unreadable(self.claim.namespace), NetworkAttachmentDefinition))

    @Lazy
    def interfaces(self) -> list[tuple[str, str]]:
        """(logical network, NAD or empty) of the VM's networks that the claim's name stands for."""
        return [*self.interfaces_of(self.vmi), *self.interfaces_of(self.vm)]

    def interfaces_of(self, vm: VirtualMachine | VirtualMachineInstance | None) -> list[tuple[str, str]]:
        return self.common.interfaces(vm, self.claim.name) if vm is not None else []

    def nad(self, key: str) -> NetworkAttachmentDefinition | None:
        """The NAD that a VM refers to by `namespace/name`; empty text is its namespace's primary one."""
        return referred_to(self.view, self.claim.namespace, key)

    def finding(
        self,
        reason: str,
        severity: Severity,
        message: str,
        since: Moment = UNKNOWN_MOMENT,
        *,
        related: Iterable[Ref] = (),
        group: str = "",
        next_step: str = "",
        commands: tuple[str, ...] = (),
        **evidence: Any,
    ) -> Finding:
        """A finding on the claim; empty facts are left out of its evidence.

        `next_step` and `commands` replace those of the reason.
        """
        claim, users = self.claim, self.known_users
        pods = [pod for pod in users or () if self.own(pod)]
        facts = {
            "vmName": self.owner.ref.name,
            "address": claim.hosts[0] if claim.hosts else "",
            "launcherPod": pods[0].name if pods else "",
            "ips": list(claim.hosts),
            "finalizers": list(claim.finalizers),
            "pods": [f"{pod.namespace}/{pod.name}" for pod in (users or ())[:_NAMED]],
            "ipLoss": ip_loss(claim, in_use=bool(users)) if users is not None else "",
            **evidence,
        }
        found = Finding(
            reason=reason,
            severity=severity,
            subject=claim.ref,
            message=message,
            related=tuple(related),
            vm=self.owner.ref.name,
            network=claim.network,
            next=next_step,
            since=since[0],
            since_source=since[1] if since[0] is not None else Since.FIRST_SEEN,
            group=group,
            evidence={name: fact for name, fact in facts.items() if fact},
        )
        return with_commands(found, commands) if commands else found


def _pods(*found: Iterable[Record]) -> list[Pod]:
    """Those that are pods, each once, by their names; of very many the first ones."""
    pods = {(pod.namespace, pod.name): pod for pod in chain(*found) if isinstance(pod, Pod)}
    return [pods[place] for place in nsmallest(MOST_PODS, pods)] if len(pods) > 1 else list(pods.values())


def ip_loss(claim: IPAMClaim, *, in_use: bool) -> str:
    """What happens to its addresses when the claim is deleted: they are released once the object is gone."""
    if not claim.hosts:
        return "none: it holds no address"
    when = (
        "when the finalizer is removed" if FINALIZER in claim.finalizers else "as soon as it is deleted: no finalizer"
    )
    if in_use:
        return f"an address in use is released {when}, and can be allocated to another VM or pod"
    return f"its addresses are released {when}; its VM gets new ones at its next start"
