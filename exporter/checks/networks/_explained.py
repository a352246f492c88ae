"""What a broken stack explains of IPAMClaims and VMs: it is one finding of the stack, and not one of each of them.

Only what would come by itself is withheld; what the failure leaves behind for good, such as a finalizer that nobody
removes any more, and what has nothing to do with it, such as an address that is held twice, is said all the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from ...findings.finding import Finding, Since
from ...store.kinds.components import (
    CLAIM_CONTROLLER,
    NETWORK_CONTROLLER,
    Deployment,
    MutatingWebhookConfiguration,
    own_parts,
)
from ...store.reader import ClusterView

# By the reason of the check ipam_stack. A webhook without a CA bundle keeps pods from being created: of those that
# are there it explains nothing.
EXPLAINED = {
    "ControllerNotReady": ("MissingClaim", "NotReferenced", "EmptyClaim"),
    "ControllerMissing": ("MissingClaim", "NotReferenced", "EmptyClaim"),
    "WebhookMissing": ("NotReferenced", "EmptyClaim"),  # an empty one where its pod does not refer to it
    "ControlPlaneNotReady": ("EmptyClaim",),
}


@dataclass(frozen=True)
class Stack:
    """`broken` are reasons of the check ipam_stack; `since` is when the last of its Deployments became ready."""

    broken: frozenset[str]
    since: float | None

    def shown(self, finding: Finding) -> Finding | None:
        """The finding, unless it is explained; it is as old as the stack is well, so that it has its grace."""
        if any(self._explains(reason, finding) for reason in self.broken):
            return None
        if self.since is None or finding.since is None or finding.since >= self.since:
            return finding
        return msgspec.structs.replace(finding, since=self.since, since_source=Since.CONDITION)

    def _explains(self, reason: str, finding: Finding) -> bool:
        if reason == "WebhookMissing" and finding.reason == "EmptyClaim":
            return finding.evidence.get("cause") == "NotReferenced"
        return finding.reason in EXPLAINED.get(reason, ())


_ALL = frozenset(reason for reasons in EXPLAINED.values() for reason in reasons)


def shown(view: ClusterView, finding: Finding | None) -> Finding | None:
    """The finding, unless the stack explains it; nobody looks at the stack where there is nothing to explain."""
    return _stack_of(view).shown(finding) if finding is not None and finding.reason in _ALL else finding


def _stack_of(view: ClusterView) -> Stack:
    parts, hooks = own_parts(view.all(Deployment)), view.all(MutatingWebhookConfiguration)
    ready = [part.since for part in parts if part.ready and part.since is not None]
    return Stack(frozenset(broken(parts, hooks)), max(ready, default=None))


def broken(parts: Iterable[Deployment], hooks: Iterable[MutatingWebhookConfiguration]) -> Iterable[str]:
    """A component that nobody sees may run elsewhere; that the IPAM controller is missing is known where the other
    one is seen."""
    ready: dict[str, bool] = {}
    for part in parts:
        ready[part.role] = ready.get(part.role, False) or part.ready
    hooked = any(each.claims for each in hooks)
    if not ready.get(CLAIM_CONTROLLER, True):
        yield "ControllerNotReady"
    if not ready.get(NETWORK_CONTROLLER, True):
        yield "ControlPlaneNotReady"
    if CLAIM_CONTROLLER in ready and not hooked:
        yield "WebhookMissing"
    if CLAIM_CONTROLLER not in ready and NETWORK_CONTROLLER in ready and not hooked:
        yield "ControllerMissing"
